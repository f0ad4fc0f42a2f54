//! Facts about symbols that have a maximum each.
use super::facts::Facts;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Int, Pool, Sort};

/// The facts, where every integer symbol without a declared maximum gets the maximum `limit`. The conditions
/// are in integer arithmetic if that makes doubles exact.
pub fn up_to(pool: &mut Pool, facts: &Facts, limit: &Int) -> Facts {
    let mut capped = Facts::new();
    for (symbol, low, high) in facts.ranges() {
        let e = pool.symbol_expr(symbol);
        let high = match high {
            None if pool.sort(e) == Sort::Int => Some(limit.clone()),
            high => high.cloned(),
        };
        match ValueRange::between_options(low.cloned(), high) {
            Some(range) => capped.declare(pool, symbol, range),
            None => return facts.clone(),
        }
    }
    for &divisor in facts.nonzero() {
        capped.exclude_zero(pool, divisor);
    }
    for &e in &facts.required().defined {
        capped.require_value(pool, e);
    }
    for &condition in facts.conditions() {
        capped.assume(pool, condition);
    }
    capped
}
