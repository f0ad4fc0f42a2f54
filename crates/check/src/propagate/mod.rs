//! Layer 6: runs an exported program on fake tensors.
//!
//! The [`Interpreter`] walks the graph, calls the fake kernel of each node, and compares what comes out with
//! what the program records. Conditions that kernels meet gather in its [`ShapeEnv`](sizewise_env::ShapeEnv)
//! with the step that met them. With integer sizes the same walk answers what happens to inputs of given
//! shapes.
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
pub use execute::propagate;
pub use interpreter::{Interpreter, Mode, Stop};
pub use run::Run;
pub use step::{Comparison, Derived, Failure, FailureKind, Mismatch, Named, Step};
