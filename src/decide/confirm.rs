//! Checking an answer again from what it came with, by means much cheaper than finding it.
use super::facts::Facts;
use super::premises::proves;
use super::replay::replays;
use super::verdict::{Verdict, Witness};
use crate::expr::{Expr, Pool};

/// An assignment that satisfies the facts, if one is at hand after a decision: what shows that they do not contradict each other.
pub fn model(pool: &mut Pool, facts: &mut Facts) -> Option<Witness> {
    let model = if facts.is_wide() { facts.complete(pool, Vec::new()) } else { facts.models.first()? };
    replays(pool, facts, None, &model).then_some(model)
}

/// The divisors that a question excludes from being zero: those of the facts, and of the goal.
pub fn divisors(pool: &Pool, facts: &Facts, goal: Expr) -> Vec<Expr> {
    facts.divisors(pool, Some(goal))
}

/// Whether a verdict from elsewhere is right. `Implied` needs a model of the facts and premises from which the goal is proved once more;
/// `Refuted` is replayed; of `Inconsistent` the contradiction is proved once more. `Unknown` claims nothing. `false` means only that the
/// verdict is not to be believed: it may be right, but cheap means do not show it.
pub fn confirms(
    pool: &mut Pool,
    facts: &mut Facts,
    goal: Expr,
    verdict: &Verdict,
    model: Option<&Witness>,
) -> bool {
    let goal = pool.truth(goal);
    facts.declare_free(pool, goal);
    match verdict {
        Verdict::Implied { because } => {
            model.is_some_and(|model| replays(pool, facts, None, model))
                && proves(pool, facts, Some(goal), because)
        }
        Verdict::Refuted { witness } => replays(pool, facts, Some(goal), witness),
        Verdict::Inconsistent { because } => proves(pool, facts, None, because),
        Verdict::Unknown { .. } => true,
    }
}
