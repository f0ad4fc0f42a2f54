<<<<<<< HEAD
//! Layer 3: does a set of facts imply a goal?
//!
//! [`Facts`] hold the ranges of symbols and assumptions; [`decide`] climbs a ladder of rungs, the cheapest first, to one of the
//! verdicts *implied*, *refuted* (with a witness that the exact evaluator has replayed), *inconsistent* or *unknown*. A query ranges
//! over all assignments within the ranges that make no divisor zero, whether the division is evaluated or not.
mod facts;
mod ladder;
mod program;
mod replay;
mod search;
#[cfg(feature = "smt")]
mod smt;
mod verdict;

pub use facts::Facts;
pub use ladder::decide;
pub use verdict::{Answer, Attempt, Budget, FactId, Premise, Rung, Verdict, Witness};
=======
//! Layer 3 (placeholder until the real one lands).
#![allow(missing_docs)]
use crate::{
    expr::{Expr, Pool, Symbol},
    range::{Domain, ValueRange},
};
#[derive(Clone, Debug, Default)]
pub struct Facts {
    ranges: rustc_hash::FxHashMap<Symbol, ValueRange>,
}
impl Facts {
    pub fn new() -> Self {
        Self::default()
    }
    pub fn declare(&mut self, _: &mut Pool, s: Symbol, r: ValueRange) {
        self.ranges.insert(s, r);
    }
    pub fn assume(&mut self, _: &mut Pool, _: Expr) {}
    pub fn domain(&mut self, pool: &mut Pool, e: Expr) -> Domain {
        if let Some(v) = pool.as_int(e) {
            return Domain::point(v);
        }
        pool.as_symbol(e).and_then(|s| self.ranges.get(&s).cloned()).unwrap_or_default().into()
    }
}
pub fn quickly(pool: &mut Pool, _: &mut Facts, e: Expr) -> Option<bool> {
    pool.as_bool(e)
}
>>>>>>> range
