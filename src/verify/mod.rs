//! Layer 3: does a program keep the rules of its dialect?
//!
//! Rules of structure and signature are checked on an [`Outline`], which can hold programs that break them; the others
//! on a [`Program`]. Every violation is reported, each with the rule it breaks. What is known of operators beyond
//! their schemas comes in through [`KnownOperators`].
mod arguments;
mod aten;
mod backend;
mod calls;
mod edge;
mod edge_dtypes;
mod graphs;
mod higher_order;
mod metadata;
mod rule;
mod signature;
mod state;
mod structure;
mod table;
mod violation;

pub use aten::edge_operator_stays;
pub use calls::is_edge_own;
pub use graphs::KnownOperators;
pub use rule::{Level, Profile, Rule, Section};
pub use table::markdown;
pub use violation::Violation;

use crate::ir::Program;
use crate::ir::outline::Outline;

/// What a verifier is to hold a program to, beside its dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Whether dimension orders are given by the operators of `dim_order_ops`, as is ExecuTorch's default, or by memory
    /// formats.
    pub dim_order: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { dim_order: true }
    }
}

/// What is wrong with a program's structure and signature. A program without findings here can be read.
pub fn verify_outline(outline: &Outline) -> Vec<Violation> {
    let mut found = Vec::new();
    structure::check(outline, &mut found);
    signature::check(outline, &mut found);
    state::check(outline, &mut found);
    found
}

/// What is wrong with the operators, values and records of a well-formed program.
pub fn verify_program(
    program: &Program,
    profile: Profile,
    operators: &dyn KnownOperators,
    options: Options,
) -> Vec<Violation> {
    let mut checks = graphs::Checks::new(program, profile, operators, options);
    metadata::check(&mut checks);
    calls::check(&mut checks);
    higher_order::check(&mut checks);
    if profile.has(Section::Aten) {
        aten::check(&mut checks);
    }
    if profile.has(Section::Core) {
        aten::check_core(&mut checks);
    }
    if profile.has(Section::Edge) {
        edge::check(&mut checks);
    }
    if profile.has(Section::Backend) {
        backend::check(&mut checks);
    }
    checks.found
}
