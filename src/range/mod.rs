//! Layer 1 (placeholder until the real one lands).
#![allow(missing_docs)]
use crate::expr::Int;
#[derive(Clone, Debug, Default)]
pub struct ValueRange {
    pub lo: Option<Int>,
    pub hi: Option<Int>,
}
impl ValueRange {
    pub fn between(lo: Int, hi: Int) -> Self {
        Self { lo: Some(lo), hi: Some(hi) }
    }
    pub fn between_options(lo: Option<Int>, hi: Option<Int>) -> Option<Self> {
        Some(Self { lo, hi })
    }
    pub fn at_least(lo: Int) -> Self {
        Self { lo: Some(lo), hi: None }
    }
    pub fn upper(&self) -> Option<Int> {
        self.hi.clone()
    }
    pub fn lower(&self) -> Option<Int> {
        self.lo.clone()
    }
}
#[derive(Clone, Debug, Default)]
pub struct Domain {
    pub range: ValueRange,
}
