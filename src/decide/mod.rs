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
