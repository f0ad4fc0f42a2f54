//! Minimal unsat cores: facts that contradict each other, none of which can be left out.
//!
//! Minimal by deletion: each premise is left out in turn, last first, and stays out if the others still
//! contradict each other. The rest is an unsat core that becomes satisfiable without any one of its members,
//! as far as the ladder can tell.
use super::facts::{Consistency, Facts};
use super::ladder::decide;
use super::premises::narrow;
use super::verdict::{Budget, Premise, Verdict};
use sizewise_expr::Pool;

/// Larger sets are only narrowed by the cheap rungs.
const MAX_PREMISES: usize = 32;

/// A minimal unsat core of the facts, in the order of [`Premise`]. `None` if they are not found to be inconsistent.
pub fn unsat_core(pool: &mut Pool, facts: &mut Facts, budget: &Budget) -> Option<Vec<Premise>> {
    let goal = pool.bool(false);
    match decide(pool, facts, goal, budget).verdict {
        Verdict::Inconsistent { because } => {
            let minimal = minimal_unsat_core(pool, facts, &because, budget);
            // The next question is answered with it.
            facts.consistency = Consistency::Inconsistent(minimal.clone());
            Some(minimal)
        }
        _ => None,
    }
}

/// A minimal unsat core within a set of premises that contradict each other.
pub fn minimal_unsat_core(
    pool: &mut Pool,
    facts: &Facts,
    because: &[Premise],
    budget: &Budget,
) -> Vec<Premise> {
    let mut kept = narrow(pool, facts, None, because);
    kept.sort_unstable();
    kept.dedup();
    if kept.len() <= MAX_PREMISES {
        // All attempts together take no more than one question.
        let share = budget.shared(u32::try_from(kept.len()).unwrap_or(u32::MAX));
        for i in (0..kept.len()).rev() {
            let mut fewer = kept.clone();
            fewer.remove(i);
            if contradictory(pool, facts, &fewer, &share) {
                kept = fewer;
            }
        }
    }
    kept
}

/// Whether premises alone contradict each other.
fn contradictory(pool: &mut Pool, facts: &Facts, premises: &[Premise], budget: &Budget) -> bool {
    let mut alone = facts.restricted_to(pool, premises);
    let goal = pool.bool(false);
    matches!(decide(pool, &mut alone, goal, budget).verdict, Verdict::Inconsistent { .. })
}
