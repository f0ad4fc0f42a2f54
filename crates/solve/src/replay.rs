//! Whether a witness is one.
use super::facts::Facts;
use super::judge::{Judge, Judgement};
use super::verdict::Witness;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value};

/// Whether an assignment lies in the ranges of `facts`, gives every operation a value, satisfies every
/// assumption and falsifies `goal` (if one is given).
pub fn replays(pool: &Pool, facts: &Facts, goal: Option<Expr>, witness: &Witness) -> bool {
    let values: FxHashMap<Symbol, &Int> = witness.iter().map(|(s, v)| (*s, v)).collect();
    for (symbol, low, high) in facts.ranges() {
        let Some(v) = values.get(&symbol) else { return false };
        if low.is_some_and(|l| *v < l) || high.is_some_and(|h| *v > h) {
            return false;
        }
        if pool.symbol_sort(symbol) == Sort::Float && v.to_exact_f64().is_none() {
            return false;
        }
    }
    let value = |s: Symbol| values.get(&s).map(|v| Value::Int((*v).clone()));
    Judge::new(pool, facts.conditions(), facts.required(), goal).at(value) == Judgement::Holds
}
