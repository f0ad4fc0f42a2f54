//! Equivalent sets of guards without redundant members.
use super::facts::Facts;
use super::ladder::{decide, prepare};
use super::premises::narrow;
use super::simplify::simplify;
use super::verdict::{Budget, Premise, Verdict};
use crate::egraph::Reading;
use crate::expr::{Expr, Pool, Symbol};
use crate::range::ValueRange;

/// Larger sets are returned with only what ranges make redundant left out.
const MAX_GUARDS: usize = 400;

/// Of larger sets, the ways to make them smaller are not compared in simplified form.
const MAX_COMPARED: usize = 6;

/// A set of guards made smaller.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Minimized {
    /// What is left, each as simple as was found.
    pub kept: Vec<Expr>,
    /// Guards (by their position) that the others and the ranges imply, with premises that suffice: [`Premise::Fact`] is a position in
    /// the list of guards.
    pub dropped: Vec<(usize, Vec<Premise>)>,
}

/// Leaves out guards that follow from the ranges and the guards that stay, and simplifies those.
///
/// A guard demands that it is defined, too: one that says more only where its divisors are not zero is left out only if the others
/// keep them from being zero. A divisor that construction has cancelled has to be part of the guard (`And(Ne(d, 0), guard)`).
/// Guards that contradict each other become the single guard `False`.
pub fn minimize(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    budget: &Budget,
) -> Minimized {
    let guards: Vec<Expr> = guards.iter().map(|&g| pool.truth(g)).collect();
    let mut reading = Reading::new();
    let costs: Vec<u32> = guards.iter().map(|&g| reading.operators(pool, g)).collect();
    // Which guards are redundant depends on which are left out first: the costliest, the latest, or the simplest to begin with.
    let mut orders: Vec<Vec<usize>> = vec![(0..guards.len()).collect(); 3];
    orders[0].sort_by_key(|&i| std::cmp::Reverse((costs[i], i)));
    orders[1].reverse();
    orders[2].sort_by_key(|&i| (costs[i], i));
    let mut ways: Vec<Vec<bool>> = Vec::new();
    for order in orders {
        let mut alive = vec![true; guards.len()];
        for &i in order.iter().take(MAX_GUARDS) {
            match redundant(pool, ranges, &guards, &alive, i, budget) {
                Some(true) => alive[i] = false,
                Some(false) => {}
                None => return Minimized { kept: vec![pool.bool(false)], dropped: Vec::new() },
            }
        }
        let left = alive.iter().filter(|a| **a).count();
        if !ways.contains(&alive) {
            ways.push(alive);
        }
        if left <= 1 {
            break;
        }
    }
    // The fewest, then the simplest, are best. Small sets are compared as they are once they are simplified.
    let size = |costs: &[u32], alive: &[bool]| -> (usize, u32) {
        let left = costs.iter().zip(alive).filter(|(_, a)| **a);
        (left.clone().count(), left.map(|(c, _)| *c).sum())
    };
    if ways.iter().any(|alive| size(&costs, alive).0 > MAX_COMPARED) {
        ways.sort_by_key(|alive| size(&costs, alive));
        ways.truncate(1);
    }
    let simplified = ways.into_iter().map(|alive| {
        let (current, alive) = simplified(pool, ranges, &guards, alive, budget);
        let costs: Vec<u32> = current.iter().map(|&g| reading.operators(pool, g)).collect();
        (size(&costs, &alive), current, alive)
    });
    let Some((_, current, alive)) = simplified.min_by_key(|(size, ..)| *size) else {
        return Minimized::default();
    };
    let facts = facts_of(pool, ranges, &guards, |_| true);
    let usable: Vec<Premise> = facts
        .all_premises(pool)
        .into_iter()
        .filter(|p| !matches!(p, Premise::Fact(f) if !alive[f.0 as usize]))
        .collect();
    let mut smaller = Minimized::default();
    for i in 0..guards.len() {
        if !alive[i] {
            smaller.dropped.push((i, narrow(pool, &facts, Some(guards[i]), &usable)));
        } else if pool.as_bool(current[i]) != Some(true) && !smaller.kept.contains(&current[i]) {
            smaller.kept.push(current[i]);
        }
    }
    smaller
}

/// The guards that are alive as simple as they get, without those that their simple forms show to be redundant.
fn simplified(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    mut alive: Vec<bool>,
    budget: &Budget,
) -> (Vec<Expr>, Vec<bool>) {
    let mut current = guards.to_vec();
    for i in 0..guards.len() {
        if alive[i] {
            current[i] = simpler(pool, ranges, &current, &alive, i, budget);
        }
    }
    for i in (0..guards.len()).rev() {
        if alive[i] && redundant(pool, ranges, &current, &alive, i, budget) == Some(true) {
            alive[i] = false;
        }
    }
    (current, alive)
}

/// Whether the other guards imply one, and that it is defined; `None` when they contradict each other.
fn redundant(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    alive: &[bool],
    i: usize,
    budget: &Budget,
) -> Option<bool> {
    let mut facts = facts_of(pool, ranges, guards, |j| j != i && alive[j]);
    prepare(pool, &mut facts, budget);
    if !defined(pool, &mut facts, guards[i], budget) {
        return Some(false);
    }
    match decide(pool, &mut facts, guards[i], budget).verdict {
        Verdict::Implied { .. } => Some(true),
        Verdict::Inconsistent { .. } => None,
        Verdict::Refuted { .. } | Verdict::Unknown { .. } => Some(false),
    }
}

/// Whether the facts keep every divisor in `e` from being zero.
fn defined(pool: &mut Pool, facts: &mut Facts, e: Expr, budget: &Budget) -> bool {
    let known = facts.divisors(pool, None);
    // Inner divisors are older, so each is decided after those inside it.
    for d in facts.divisors(pool, Some(e)) {
        if !known.contains(&d) {
            let nonzero = pool.ne(d, Expr::ZERO);
            if !decide(pool, facts, nonzero, budget).verdict.is_implied() {
                return false;
            }
        }
    }
    true
}

/// A guard made simpler under the others.
fn simpler(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    alive: &[bool],
    i: usize,
    budget: &Budget,
) -> Expr {
    let mut facts = facts_of(pool, ranges, guards, |j| j != i && alive[j]);
    prepare(pool, &mut facts, budget);
    if defined(pool, &mut facts, guards[i], budget) {
        simplify(pool, &mut facts, guards[i], budget)
    } else {
        guards[i]
    }
}

fn facts_of(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    guards: &[Expr],
    wanted: impl Fn(usize) -> bool,
) -> Facts {
    let mut facts = Facts::new();
    for (symbol, range) in ranges {
        facts.declare(pool, *symbol, range.clone());
    }
    let always = pool.bool(true);
    for (i, &guard) in guards.iter().enumerate() {
        // A place is kept for those left out, so that positions agree with the numbers of the facts.
        facts.assume(pool, if wanted(i) { guard } else { always });
    }
    facts
}
