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

/// The conditions that a tracer checks as well.
pub mod clauses {
    pub use super::hop::scan::{map, scan};
}

pub use element_count::most_elements;
pub use execute::{propagate, propagate_as_computed};
pub use interpreter::{Interpreter, Mode, Stop};
pub use results::flat;
pub use run::Run;
use sizewise_env::OpClause;
pub use step::{Comparison, Derived, Entry, Failure, FailureKind, Mismatch, RecordedSymbol, Step};

/// The conditions of operators that take graphs, and of autocast.
pub fn conditions() -> impl Iterator<Item = &'static OpClause> {
    hop::CLAUSES.into_iter().chain([casting::CLAUSES]).flatten().copied().flatten().copied()
}

/// What a condition of an operator says, by its code; `None` for a code that is not known.
pub fn condition_text(code: &str) -> Option<&'static str> {
    let mut known = conditions().chain(sizewise_kernels::conditions());
    known.find(|clause| clause.code == code).map(|clause| clause.says)
}
