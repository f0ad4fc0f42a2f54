//! Tools for programs: what they cost, how large their values get, what changes from one to another, verifiers of the dialects, passes, lowering, and the replay of recorded `ShapeEnv` traces.
pub mod cost;
pub mod diff;
pub mod pass;
mod recorded_values;
pub mod replay;
mod sharing;
pub mod sizing;
pub mod verify;

pub use recorded_values::recorded_values;
