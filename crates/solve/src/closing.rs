//! Whether conditions imply a goal, by the cheap methods alone: what is asked again and again to find the premises that
//! an answer needs.
use super::bits;
use super::cases::{self, Allowance};
use super::exact_floats::{exact, has_floats};
use super::facts::{Facts, symbolic_divisors};
use super::linear::{self, Effort, Relaxed};
use super::reduce::Reduced;
use super::rewriting;
use super::verdict::{FactId, Premise};
use sizewise_expr::range::DomainTable;
use sizewise_expr::{Expr, Pool, is_cancelled};

/// A method of finding a proof.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Method {
    /// Ranges and congruences.
    Ranges,
    /// Also a little linear reasoning.
    Linear,
    /// Also more linear reasoning, number theory and cases.
    Cases,
    /// Rewrite rules.
    Rules,
}

impl Method {
    /// All, cheapest first.
    pub const ALL: [Method; 4] = [Method::Ranges, Method::Linear, Method::Cases, Method::Rules];
}

/// The conditions that premises stand for.
pub(super) fn conditions(pool: &mut Pool, facts: &Facts, premises: &[Premise]) -> Vec<Expr> {
    let mut conditions: Vec<Expr> = Vec::with_capacity(premises.len() + 4);
    for premise in premises {
        let condition = match premise {
            Premise::Fact(FactId(i)) => facts.conditions().get(*i as usize).copied(),
            Premise::Lower(s) => facts.bound(pool, *s, false),
            Premise::Upper(s) => facts.bound(pool, *s, true),
            Premise::Nonzero(e) => Some(pool.ne(*e, Expr::ZERO)),
        };
        conditions.extend(condition);
    }
    conditions
}

/// Whether conditions imply a goal (or contradict each other), by this method and all cheaper ones, but by rules alone.
pub(super) fn closes(pool: &mut Pool, conditions: Vec<Expr>, goal: Option<Expr>, method: Method) -> bool {
    if method == Method::Rules {
        return rewriting::contradicts(pool, &conditions, goal);
    }
    let mut conditions = conditions;
    // The divisors of the premises are not zero, nor are those of the goal.
    let mut roots = conditions.clone();
    roots.extend(goal);
    for d in symbolic_divisors(pool, &roots) {
        conditions.push(pool.ne(d, Expr::ZERO));
    }
    let mut table = DomainTable::new();
    if contradiction(pool, &mut table, &conditions) {
        return true;
    }
    let mut goal = goal;
    let as_integers = integers(pool, &mut table, &mut conditions, &mut goal);
    if as_integers && contradiction(pool, &mut table, &conditions) {
        return true;
    }
    if let Some(goal) = goal {
        if table.decide(pool, goal) == Some(true) {
            return true;
        }
        conditions.push(pool.not(goal));
        if contradiction(pool, &mut table, &conditions) {
            return true;
        }
    }
    if method == Method::Ranges {
        return false;
    }
    let mut reduced = Reduced::new(pool, &conditions);
    let (branches, work) = if method == Method::Linear { (20, 8_000) } else { (60, 60_000) };
    let mut effort = Effort { branches, work };
    match linear::refute(pool, &mut reduced, &mut effort) {
        Relaxed::Closed => true,
        Relaxed::Candidate(_) => false,
        Relaxed::Open if method == Method::Linear => false,
        Relaxed::Open => {
            let mut left = Allowance::new(40, 60_000, 8_000);
            cases::refute(pool, &mut reduced, &mut left) == Relaxed::Closed
        }
    }
}

/// Whether conditions contradict each other by their ranges and congruences, each being assumed as long as that tightens
/// something, but only a few times.
fn contradiction(pool: &Pool, table: &mut DomainTable, conditions: &[Expr]) -> bool {
    for _ in 0..3 {
        let mut changed = false;
        for &c in conditions {
            // Cancelled work finds nothing.
            if is_cancelled() {
                return false;
            }
            match table.assume(pool, c) {
                Ok(more) => changed |= more,
                Err(_) => return true,
            }
        }
        if !changed {
            return false;
        }
    }
    false
}

/// Replaces bitwise operations by arithmetic, and doubles by integers where the domains show that rounding changes
/// nothing. Whether anything was replaced.
fn integers(
    pool: &mut Pool,
    table: &mut DomainTable,
    conditions: &mut [Expr],
    goal: &mut Option<Expr>,
) -> bool {
    let mut replaced = false;
    let mut replace = |e: &mut Expr, simpler: Expr| {
        replaced |= simpler != *e;
        *e = simpler;
    };
    for e in conditions.iter_mut().chain(goal) {
        if pool.has_bits() {
            let simpler = bits::arithmetic(pool, *e);
            replace(e, simpler);
        }
        if has_floats(pool, *e) {
            let simpler = exact(pool, table, *e);
            replace(e, simpler);
        }
    }
    replaced
}
