//! Which of the assumptions may have no value.
use super::definedness::{may_be_undefined, requirements};
use super::facts::Facts;
use super::ladder::quickly;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Pool};

/// The conditions under which the assumptions have a value and that are not known to hold. Each comes with
/// what is known when its assumption is evaluated: the ranges and the assumptions before it.
pub fn open_requirements(pool: &mut Pool, facts: &Facts) -> Vec<(Facts, Expr)> {
    let conditions = facts.conditions().to_vec();
    if !pool.reachable(&conditions).into_iter().any(|e| may_be_undefined(pool, e)) {
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
    for condition in conditions {
        for requirement in requirements(pool, &[condition]) {
            if seen.contains(&requirement) {
                continue;
            }
            seen.push(requirement);
            if quickly(pool, &mut before, requirement) != Some(true) {
                open.push((before.clone(), requirement));
            }
        }
        before.assume(pool, condition);
    }
    open
}
