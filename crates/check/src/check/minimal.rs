//! Removes conditions that follow from others.
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use sizewise_solve::{Budget, Facts, Verdict, decide, quickly, without_redundant};

/// Of larger sets, only what the ranges imply is removed.
const MAX_CONDITIONS: usize = 48;

/// A set of conditions that is equivalent to the given ones under the ranges, without those found redundant.
pub(super) fn minimal(pool: &mut Pool, ranges: &[(Symbol, ValueRange)], conditions: &[Expr]) -> Vec<Expr> {
    if conditions.is_empty() {
        return Vec::new();
    }
    let mut alone = Facts::new();
    for (symbol, range) in ranges {
        alone.declare(pool, *symbol, range.clone());
    }
    let open: Vec<Expr> =
        conditions.iter().copied().filter(|&c| quickly(pool, &mut alone, c) != Some(true)).collect();
    if open.len() > MAX_CONDITIONS {
        return open;
    }
    without_redundant(pool, ranges, &open, &Budget::small())
}

/// The conditions beyond this many are not compared with those before them.
const MAX_COMPARED: usize = 16;

/// Which of the conditions, in order, follow from the facts and the conditions before them.
pub(super) fn consequences(pool: &mut Pool, facts: &Facts, conditions: &[Expr]) -> Vec<bool> {
    if conditions.len() < 2 {
        return vec![false; conditions.len()];
    }
    let budget = Budget { points: 500, branches: 4, work: 5_000, ..Budget::small() };
    let mut known = facts.clone();
    let mut follows = Vec::with_capacity(conditions.len());
    for (i, &condition) in conditions.iter().enumerate() {
        let implied = i > 0
            && i < MAX_COMPARED
            && matches!(decide(pool, &mut known, condition, &budget).verdict, Verdict::Implied { .. });
        if !implied && i < MAX_COMPARED {
            known.assume(pool, condition);
        }
        follows.push(implied);
    }
    follows
}

/// The declared ranges of symbols.
pub(super) fn declared_ranges(facts: &Facts) -> Vec<(Symbol, ValueRange)> {
    let range = |low: Option<&Int>, high: Option<&Int>| {
        ValueRange::between_options(low.cloned(), high.cloned()).unwrap_or_else(ValueRange::all)
    };
    facts.ranges().map(|(symbol, low, high)| (symbol, range(low, high))).collect()
}
