//! The judge of witnesses: the exact evaluator.
use super::facts::Facts;
use super::verdict::Witness;
use crate::expr::{Evaluator, Expr, Func, Int, Pool, Symbol, Value};
use rustc_hash::FxHashMap;

/// Whether an assignment lies in the ranges of `facts`, makes no divisor zero, satisfies every assumption and falsifies `goal` (where
/// one is given).
pub fn replays(pool: &Pool, facts: &Facts, goal: Option<Expr>, witness: &Witness) -> bool {
    let values: FxHashMap<Symbol, &Int> = witness.iter().map(|(s, v)| (*s, v)).collect();
    for (symbol, low, high) in facts.ranges() {
        let Some(v) = values.get(&symbol) else { return false };
        if low.is_some_and(|l| *v < l) || high.is_some_and(|h| *v > h) {
            return false;
        }
    }
    let value = |s: Symbol| values.get(&s).map(|v| Value::Int((*v).clone()));
    holds_at(pool, facts.conditions(), facts.nonzero(), goal, value)
}

/// Whether conditions hold at an assignment, the goal does not, and no divisor is zero: neither those of `nonzero` nor any other.
pub fn holds_at(
    pool: &Pool,
    conditions: &[Expr],
    nonzero: &[Expr],
    goal: Option<Expr>,
    value: impl Fn(Symbol) -> Option<Value>,
) -> bool {
    let mut evaluator = Evaluator::new(pool, value);
    let mut roots: Vec<Expr> = conditions.to_vec();
    roots.extend(goal);
    let mut divisors: Vec<Expr> = nonzero.to_vec();
    for e in pool.reachable(&roots).into_iter().chain(pool.reachable(nonzero)) {
        if let Some((Func::FloorDiv | Func::Mod, args)) = pool.as_call(e) {
            divisors.push(args[1]);
        }
    }
    divisors.iter().all(|&d| evaluator.int(d).is_ok_and(|v| !v.is_zero()))
        && conditions.iter().all(|&c| evaluator.truth(c) == Ok(true))
        && goal.is_none_or(|g| evaluator.truth(g) == Ok(false))
}
