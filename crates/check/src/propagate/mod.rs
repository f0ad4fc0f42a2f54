//! Runs an exported program on fake tensors.
//!
//! The [`Interpreter`] walks the graph, calls the fake kernel of each node, and compares the results with the
//! recorded values. The conditions of kernels are recorded in its [`ShapeEnv`](sizewise_env::ShapeEnv) with the
//! step that needs them. With integer sizes the same walk evaluates the program on inputs of given shapes.
pub mod arguments;
mod calls;
#[cfg(test)]
mod calls_tests;
mod casting;
mod compare;
mod element_count;
mod execute;
mod frame;
mod hop;
mod interpreter;
pub mod recorded;
mod results;
mod run;
mod step;
#[cfg(test)]
#[path = "../../../../tests/text_programs/mod.rs"]
mod text_programs;
mod uses;

pub use element_count::most_elements;
pub use execute::{propagate, propagate_as_computed};
pub use interpreter::{Interpreter, Mode, Stop};
pub use results::flat;
pub use run::Run;
pub use step::{Comparison, Derived, Entry, Failure, FailureKind, Mismatch, Named, Step};
