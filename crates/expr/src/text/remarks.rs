//! Remarks on a text, returned with its expression: the operations in it that may have no value.
use super::reader::Reader;
use crate::{Expr, Func};

impl Reader<'_, '_> {
    /// Remembers a divisor that may be zero.
    pub(super) fn divisor(&mut self, divisor: Expr) {
        if !self.remarks {
            return;
        }
        let nonzero = self.pool.is_constant(divisor)
            && self.pool.constant_value(divisor).is_some_and(|value| value.as_bool());
        if !nonzero {
            self.divisors.insert(divisor);
        }
    }

    /// Remembers an operation that may have no value, if `e` is one.
    pub(super) fn operation(&mut self, e: Expr) {
        if self.remarks && self.is_partial(e) {
            self.partial.insert(e);
        }
    }

    /// Whether `e` is an operation, no division of integers, that may have no value.
    fn is_partial(&self, e: Expr) -> bool {
        match self.pool.as_call(e) {
            Some((Func::FloorDiv | Func::Mod, _)) | None => false,
            Some((func, _)) => func.is_partial(),
        }
    }

    /// The operations that may have no value and are no part of what was read.
    pub(super) fn dropped(&self, e: Expr) -> Vec<Expr> {
        if self.partial.is_empty() {
            return Vec::new();
        }
        let kept = self.pool.reachable(&[e]);
        self.partial.iter().copied().filter(|part| !kept.contains(part)).collect()
    }
}
