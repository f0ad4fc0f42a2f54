//! Does a program keep the rules of its dialect?
//!
//! Rules of structure and signature are checked on an [`Outline`], which can hold programs that break them; the others
//! on a [`Program`]. Every violation is reported, each with the rule it breaks. What is known of operators beyond
//! their schemas comes in through [`KnownOperators`].
mod arguments;
mod aten;
mod backend;
mod calls;
mod contract;
mod edge;
mod edge_dtypes;
mod edge_yaml;
mod graphs;
mod higher_order;
mod lowered_module;
mod metadata;
mod recorded_values;
mod rule;
mod signature;
mod state;
mod structure;
mod table;
mod violation;

pub use aten::{edge_operator_stays, is_core_or_excepted};
pub use calls::is_edge_own;
pub use edge_dtypes::{Combinations, EdgeDtypes};
pub use graphs::KnownOperators;
pub use recorded_values::recorded_values;
pub use rule::{Level, Profile, Rule, Section};
use sizewise_ir::Program;
use sizewise_ir::outline::Outline;
use std::borrow::Cow;
pub use table::markdown;
pub use violation::Violation;

/// What a verifier is to hold a program to, beside its dialect.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether dimension orders are given by the operators of `dim_order_ops`, as is ExecuTorch's default, or by memory
    /// formats.
    pub dim_order: bool,
    /// Operators that are allowed although they are not of the core ATen set, wrapped or not (ExecuTorch's
    /// `_core_aten_ops_exception_list`): `aten.selu.default`.
    pub core_exceptions: Vec<String>,
    /// ATen operators that are allowed although they are not of the core ATen set, unless they are views
    /// (`preserve_ops`).
    pub preserved: Vec<String>,
    /// The dtypes that Edge operators take and give.
    pub edge_dtypes: Cow<'static, EdgeDtypes>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            dim_order: true,
            core_exceptions: Vec::new(),
            preserved: Vec::new(),
            edge_dtypes: Cow::Borrowed(EdgeDtypes::shipped()),
        }
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
    options: &Options,
) -> Vec<Violation> {
    let mut checks = graphs::Checks::new(program, profile, operators, options);
    metadata::check(&mut checks);
    contract::check(&mut checks);
    state::check_sizes(&mut checks);
    state::check_mutation(&mut checks);
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
        state::check_read(&mut checks);
    }
    if profile.has(Section::Backend) {
        backend::check(&mut checks);
    }
    checks.found
}
