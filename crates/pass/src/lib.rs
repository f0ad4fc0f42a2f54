//! Building programs, and passes from program to program.
//!
//! A [`Tracer`] records calls as nodes and infers their shapes as they are made; [`retrace`] repeats a program's calls
//! with others between them, and [`rewrite()`] replaces those that fit a [`Pattern`]. A [`Pass`] makes a program of a
//! program; a [`Pipeline`] runs several and holds the program to the rules of its dialect after each one.
mod assertions;
mod dead_code;
mod decompose;
mod derive;
mod edge_noops;
mod edge_numbers;
mod edge_operands;
mod edge_promotion;
mod error;
mod fold;
mod functionalize;
mod lower;
mod names;
mod pattern;
mod pipeline;
mod purity;
mod rewrite;
mod subexpressions;
mod tracer;

pub use decompose::{decompose, decompose_these, decomposed_operators};
pub use error::PassError;
pub use functionalize::{functionalize, without_writes};
pub use lower::lower_to_edge;
pub use pattern::{Match, Pattern, rewrite};
pub use pipeline::{Pass, Pipeline};
pub use tracer::{OldCall, Proxy, TraceError, Traced, Tracer, retrace};
