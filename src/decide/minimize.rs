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

/// A set of guards made smaller.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Minimized {
    /// What is left, each as simple as was found.
    pub kept: Vec<Expr>,
    /// Guards (by their position) that the others and the ranges imply, with premises that suffice: [`Premise::Fact`] is a position in
    /// the list of guards.
    pub dropped: Vec<(usize, Vec<Premise>)>,
}

/// Leaves out guards that follow from the ranges and the guards that stay, and simplifies those. `nonzero` are divisors that
/// are not 0 beside those in the guards. Guards that contradict each other become the single guard `False`.
pub fn minimize(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    nonzero: &[Expr],
    guards: &[Expr],
    budget: &Budget,
) -> Minimized {
    let guards: Vec<Expr> = guards.iter().map(|&g| pool.truth(g)).collect();
    let mut reading = Reading::new();
    // The costliest go first, later ones before earlier ones: a guard is more often implied by those recorded before it.
    let mut order: Vec<usize> = (0..guards.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse((reading.operators(pool, guards[i]), i)));
    let mut alive = vec![true; guards.len()];
    let mut dropped = Vec::new();
    for &i in order.iter().take(MAX_GUARDS) {
        let mut facts = facts_of(pool, ranges, nonzero, &guards, |j| j != i && alive[j]);
        // The divisors of a guard stay excluded when it goes.
        for d in facts.divisors(pool, Some(guards[i])) {
            facts.exclude_zero(pool, d);
        }
        prepare(pool, &mut facts, budget);
        match decide(pool, &mut facts, guards[i], budget).verdict {
            Verdict::Implied { because } => {
                alive[i] = false;
                dropped.push((i, because));
            }
            Verdict::Inconsistent { .. } => {
                return Minimized { kept: vec![pool.bool(false)], dropped: Vec::new() };
            }
            Verdict::Refuted { .. } | Verdict::Unknown { .. } => {}
        }
    }
    let all: Vec<Expr> = guards.clone();
    let mut facts = facts_of(pool, ranges, nonzero, &all, |_| true);
    let dropped = dropped
        .into_iter()
        .map(|(i, _)| {
            let because: Vec<Premise> = facts
                .all_premises()
                .into_iter()
                .filter(|p| !matches!(p, Premise::Fact(f) if !alive[f.0 as usize]))
                .collect();
            (i, narrow(pool, &facts, Some(guards[i]), &because))
        })
        .collect();
    facts.models.clear();
    let mut kept: Vec<Expr> = Vec::new();
    let survivors: Vec<usize> = (0..guards.len()).filter(|&i| alive[i]).collect();
    let mut current: Vec<Expr> = guards;
    for &i in &survivors {
        let facts = facts_of(pool, ranges, nonzero, &current, |j| j != i && alive[j]);
        let mut facts = facts;
        let simple = simplify(pool, &mut facts, current[i], budget);
        current[i] = simple;
    }
    for &i in &survivors {
        if pool.as_bool(current[i]) != Some(true) && !kept.contains(&current[i]) {
            kept.push(current[i]);
        }
    }
    Minimized { kept, dropped }
}

fn facts_of(
    pool: &mut Pool,
    ranges: &[(Symbol, ValueRange)],
    nonzero: &[Expr],
    guards: &[Expr],
    wanted: impl Fn(usize) -> bool,
) -> Facts {
    let mut facts = Facts::new();
    for (symbol, range) in ranges {
        facts.declare(pool, *symbol, range.clone());
    }
    for &d in nonzero {
        facts.exclude_zero(pool, d);
    }
    let always = pool.bool(true);
    for (i, &guard) in guards.iter().enumerate() {
        // A place is kept for those left out, so that positions agree with the numbers of the facts.
        facts.assume(pool, if wanted(i) { guard } else { always });
    }
    facts
}
