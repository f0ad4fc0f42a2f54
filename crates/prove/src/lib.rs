//! A prover that writes certificates: given a claim that is known to be true, it looks for a proof that the checker
//! follows.
mod claim;
mod integers;
mod products;
mod search;
mod simplex;
mod state;
mod step;
pub mod text;

pub use claim::{Hints, certify};
