//! Where assumptions are defined at all.
//!
//! Everywhere else a query ranges over the assignments that make no divisor zero. Whoever evaluates an assumption on actual sizes, as the
//! guards of an exported module are, meets the others too.
use super::facts::{Facts, symbolic_divisors};
use super::ladder::quickly;
use crate::expr::{Expr, Pool};
use crate::range::ValueRange;

/// The divisors in the assumptions that may be zero, each with what is known when its assumption is evaluated: the ranges and the
/// assumptions before it.
pub fn open_divisors(pool: &mut Pool, facts: &Facts) -> Vec<(Facts, Expr)> {
    if symbolic_divisors(pool, facts.conditions()).is_empty() {
        return Vec::new();
    }
    let mut before = Facts::new();
    for (symbol, low, high) in facts.ranges() {
        if let Some(range) = ValueRange::between_options(low.cloned(), high.cloned()) {
            before.declare(pool, symbol, range);
        }
    }
    let mut open = Vec::new();
    let mut seen: Vec<Expr> = Vec::new();
    for &condition in facts.conditions() {
        for divisor in symbolic_divisors(pool, &[condition]) {
            if seen.contains(&divisor) {
                continue;
            }
            seen.push(divisor);
            let nonzero = pool.ne(divisor, Expr::ZERO);
            if quickly(pool, &mut before, nonzero) != Some(true) {
                open.push((before.clone(), divisor));
            }
        }
        before.assume(pool, condition);
    }
    open
}
