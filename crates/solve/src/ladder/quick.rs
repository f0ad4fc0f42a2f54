//! What is known at once: by the store, or by ranges and congruences.
use crate::facts::Facts;
use sizewise_expr::range::{DomainTable, is_idempotent};
use sizewise_expr::{Expr, Func, Node, Pool};

/// What the store of facts knows of a goal: it is constant in normal form, was settled before, or the values of its
/// class settle it. Nothing is supposed and tried, and it is not asked whether the facts are consistent.
pub fn known(pool: &mut Pool, facts: &mut Facts, goal: Expr) -> Option<bool> {
    let goal = pool.truth(goal);
    if let Some(value) = pool.as_bool(goal) {
        return Some(value);
    }
    let settled = facts.store.truth(pool, goal);
    settled.or_else(|| facts.table(pool).decide(pool, goal))
}

/// The truth of a goal by cheap means: canonical form, ranges and congruences. Sound, takes microseconds, and
/// does not ask whether the facts are consistent.
pub fn quickly(pool: &mut Pool, facts: &mut Facts, goal: Expr) -> Option<bool> {
    quickly_knowing(pool, facts, goal, |_| None)
}

/// Like [`quickly`], for a caller that may know an assignment, allowed by the facts, at which the goal is
/// true or false (`possible`). Then the opposite answer is not sought.
pub fn quickly_knowing(
    pool: &mut Pool,
    facts: &mut Facts,
    goal: Expr,
    possible: impl FnOnce(&Pool) -> Option<bool>,
) -> Option<bool> {
    let goal = pool.truth(goal);
    if let Some(value) = known(pool, facts, goal) {
        return Some(value);
    }
    if is_free(pool, facts, goal) {
        return None;
    }
    let possible = possible(pool);
    let settled = by_contradiction(pool, facts, goal, possible)?;
    facts.store.remember(pool, goal, settled);
    Some(settled)
}

/// Whether the goal compares a sum of symbols that no assumption mentions, each of which occurs once. Then
/// the range of the sum is exact, and if that decides nothing, both outcomes are possible.
fn is_free(pool: &Pool, facts: &Facts, goal: Expr) -> bool {
    let free = |e: Expr| pool.as_symbol(e).is_some_and(|symbol| !facts.mentions(symbol));
    match pool.as_call(goal) {
        Some((Func::Not, [inner])) => is_free(pool, facts, *inner),
        Some((Func::IsZero | Func::NotPositive, [e])) => match pool.node(*e) {
            Some(Node::Sum { terms, .. }) => terms.iter().all(|(monomial, _)| free(*monomial)),
            _ => free(*e),
        },
        _ => false,
    }
}

/// The truth of the goal by ranges and congruences: directly, or because its negation contradicts them. The
/// opposite of an outcome that is known to be `possible`, or that does not matter, is not sought.
pub(super) fn by_range(
    pool: &mut Pool,
    facts: &mut Facts,
    goal: Expr,
    possible: impl FnOnce(&Pool) -> Option<bool>,
) -> Option<bool> {
    if let Some(value) = facts.table(pool).decide(pool, goal) {
        return Some(value);
    }
    let possible = possible(pool);
    by_contradiction(pool, facts, goal, possible)
}

/// The truth of the goal because assuming the opposite contradicts ranges and congruences.
fn by_contradiction(pool: &mut Pool, facts: &mut Facts, goal: Expr, possible: Option<bool>) -> Option<bool> {
    let negation = pool.not(goal);
    let table = facts.table(pool);
    if possible != Some(false) && contradicts(pool, table, negation) {
        return Some(true);
    }
    (possible != Some(true) && contradicts(pool, table, goal)).then_some(false)
}

fn contradicts(pool: &Pool, table: &mut DomainTable, condition: Expr) -> bool {
    let mark = table.mark();
    let mut contradiction = false;
    for _ in 0..if is_idempotent(pool, condition) { 1 } else { 3 } {
        match table.assume(pool, condition) {
            Err(_) => contradiction = true,
            Ok(true) => continue,
            Ok(false) => {}
        }
        break;
    }
    table.undo(mark);
    contradiction
}
