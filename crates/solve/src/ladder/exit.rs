//! The way out: every assignment that an answer gives is replayed here, whole, as the last step.
use super::{check, entails};
use crate::facts::{Consistency, Facts};
use crate::replay::replays;
use crate::verdict::{Answer, Budget, Verdict, Witness};
use sizewise_expr::{Expr, Pool};

/// Decides whether the facts imply `goal`.
///
/// `Implied` and `Refuted` are claims about all assignments within the ranges that make no divisor of an
/// assumption or the goal zero and satisfy every assumption. `Implied` also says that there is one.
pub fn decide(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget) -> Answer {
    let mut answer = entails(pool, facts, goal, budget);
    // What is not divided the ladder has replayed as a whole, by the same function.
    if let Verdict::Refuted { witness } = &mut answer.verdict
        && facts.is_divided()
    {
        let (goal, found) = (pool.truth(goal), std::mem::take(witness));
        answer.verdict = match attested(pool, facts, Some(goal), found, budget) {
            Some(witness) => Verdict::Refuted { witness },
            None => without_witness(facts),
        };
    }
    answer
}

/// An assignment of all symbols that agrees with one of some, satisfies the facts and falsifies the goal (if one is
/// given), as the exact evaluator sees it. `None` if none is known.
pub fn attested(
    pool: &mut Pool,
    facts: &mut Facts,
    goal: Option<Expr>,
    witness: Witness,
    budget: &Budget,
) -> Option<Witness> {
    let whole = match facts.is_divided() {
        true => facts.completed(pool, witness, |pool, part| check(pool, part, budget))?,
        false => witness,
    };
    replays(pool, facts, goal, &whole).then_some(whole)
}

/// What is known where facts about other symbols have no known assignment.
fn without_witness(facts: &Facts) -> Verdict {
    match &facts.consistency {
        Consistency::Inconsistent(because) => Verdict::Inconsistent { because: because.clone() },
        _ => {
            let reason = "the goal does not follow from the facts about its symbols, but no assignment that \
                          satisfies all facts was found";
            Verdict::Unknown { reason: reason.to_string() }
        }
    }
}
