//! Removes conditions that follow from others.
use super::prove::by_rewriting;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Pool, Symbol};
use sizewise_solve::{Budget, Facts, Verdict, decide, quickly, without_redundant};

/// Of larger sets, only what the ranges imply is removed.
const MAX_CONDITIONS: usize = 48;

/// A set of conditions that is equivalent to the given ones under the ranges, without those found redundant.
pub fn minimal(pool: &mut Pool, ranges: &[(Symbol, ValueRange)], conditions: &[Expr]) -> Vec<Expr> {
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
const MAX_COMPARED: usize = 160;
/// Once this many conditions were found that do not follow, no more are looked for.
const MAX_ROOTS: usize = 16;

/// Which of the conditions follow from the facts and the others. `broken` says of some assignments that satisfy the
/// facts which of the conditions they break; `None` is not known.
pub fn consequences(
    pool: &mut Pool,
    facts: &Facts,
    conditions: &[Expr],
    broken: &[Vec<Option<bool>>],
) -> Vec<bool> {
    let budget = Budget { points: 500, branches: 0, work: 5_000, ..Budget::small() };
    let rewriting = by_rewriting(&Budget::default());
    let implied = |pool: &mut Pool, known: &mut Facts, condition: Expr| match decide(
        pool, known, condition, &rewriting,
    )
    .verdict
    {
        Verdict::Unknown { .. } => decide(pool, known, condition, &budget).verdict.is_implied(),
        verdict => verdict.is_implied(),
    };
    let mut follows = vec![false; conditions.len()];
    // A condition follows from the roots only if each assignment that breaks it breaks one of them.
    let may_follow = |i: usize, roots: &[usize]| {
        !roots.is_empty()
            && broken.iter().all(|at| at[i] != Some(true) || roots.iter().any(|&r| at[r] != Some(false)))
    };
    let mut roots: Vec<usize> = Vec::new();
    let mut known = facts.clone();
    for (i, &condition) in conditions.iter().enumerate().take(MAX_COMPARED) {
        follows[i] = may_follow(i, &roots) && implied(pool, &mut known, condition);
        if !follows[i] && roots.len() < MAX_ROOTS {
            known.assume(pool, condition);
            roots.push(i);
        }
    }
    // Earlier ones may follow from later ones.
    for root in roots.clone() {
        let others: Vec<usize> = roots.iter().copied().filter(|&r| r != root).collect();
        if !may_follow(root, &others) {
            continue;
        }
        let mut known = facts.clone();
        for &other in &others {
            known.assume(pool, conditions[other]);
        }
        if implied(pool, &mut known, conditions[root]) {
            follows[root] = true;
            roots = others;
        }
    }
    follows
}

/// The declared ranges of symbols.
pub fn declared_ranges(facts: &Facts) -> Vec<(Symbol, ValueRange)> {
    let range = |low: Option<&Int>, high: Option<&Int>| {
        ValueRange::between_options(low.cloned(), high.cloned()).unwrap_or_else(ValueRange::all)
    };
    facts.ranges().map(|(symbol, low, high)| (symbol, range(low, high))).collect()
}
