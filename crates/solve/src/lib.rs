//! Does a set of facts imply a goal?
//!
//! [`Facts`] hold the ranges of symbols and assumptions. [`decide`] runs a ladder of rungs, the cheapest
//! first, until it reaches one of the verdicts *implied*, *refuted* (with a witness that the exact evaluator
//! has replayed), *inconsistent* or *unknown*. A query ranges over all assignments within the ranges that
//! make no divisor zero, whether the division is evaluated or not.
mod bits;
mod bounds;
mod cases;
mod certificate;
mod closing;
mod compact;
mod compiled;
mod components;
mod definedness;
mod differences;
mod division;
pub mod egraph;
mod enumerate;
mod exact_floats;
mod example;
mod exhaust;
mod facts;
mod feasible;
mod judge;
mod ladder;
mod linear;
mod minimize;
mod models;
mod nearby;
mod number;
mod open_requirements;
mod premises;
mod program;
mod reduce;
mod replay;
mod rewriting;
mod sampler;
mod search;
mod settle;
mod simplify;
#[cfg(feature = "smt")]
mod smt;
mod smtlib;
mod store;
mod subproblems;
mod unbounded;
mod unsat_core;
mod up_to;
mod verdict;
mod work;
mod worklist;

#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod program_tests;

pub use bounds::{Bounds, bounds, bounds_from, bounds_traced, greatest};
pub use certificate::{certificate, certificate_as_asked};
pub use compiled::Compiled;
pub use definedness::requirements;
pub use facts::Facts;
pub use feasible::{Feasibility, feasible};
#[cfg(feature = "smt")]
pub use ladder::by_z3_alone;
pub use ladder::{decide, implies, known, prepare, quickly, quickly_knowing};
pub use minimize::{Minimized, minimize, minimize_traced, without_redundant};
pub use open_requirements::open_requirements;
pub use premises::narrow;
pub use replay::replays;
pub use settle::{Means, settle};
pub use simplify::{simplify, simplify_traced};
pub use smtlib::obligation;
pub use store::{Class, StoreView};
pub use unsat_core::{minimal_unsat_core, unsat_core};
pub use up_to::up_to;
pub use verdict::{Answer, Attempt, Budget, FactId, Premise, Rung, Trace, Verdict, Witness};
pub use work::Work;

/// Whether Z3 is built in.
pub const HAS_SMT: bool = cfg!(feature = "smt");
