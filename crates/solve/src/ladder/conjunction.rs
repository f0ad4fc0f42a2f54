//! Conjunctions, part by part: what follows from each fact alone is often hard to see of all parts together.
use super::exit::attested;
use super::quick::by_range;
use super::{Ladder, Settled, among_many};
use crate::facts::Facts;
use crate::verdict::{Answer, Budget, Rung, Verdict, Witness};
use sizewise_expr::{Expr, Func, Pool};

/// Conjunctions of more parts are not taken apart.
const MAX_PARTS: usize = 8;

/// That each part of a goal follows from the facts that concern it: so the goal is false nowhere. An assignment is found at
/// which it has a value, unless it has one `everywhere`.
pub(super) fn each_part(
    pool: &mut Pool,
    facts: &mut Facts,
    goal: Expr,
    budget: &Budget,
    everywhere: bool,
) -> Option<Answer> {
    let parts = pool.as_func(goal, Func::And)?.to_vec();
    if parts.len() > MAX_PARTS {
        return None;
    }
    let whole = budget;
    let budget = budget.shared(parts.len() as u32);
    let (mut premises, mut rung) = (Vec::new(), Rung::Range);
    for part in parts {
        let answer = among_many(pool, facts, part, &budget, true);
        let Verdict::Implied { because } = answer.verdict else { return None };
        premises.extend(because);
        rung = rung.max(answer.decided_by);
    }
    if !everywhere {
        let denial = pool.not(goal);
        if attested(pool, facts, Some(denial), Witness::new(), whole).is_none() {
            let answer = among_many(pool, facts, denial, whole, false);
            let Verdict::Refuted { witness } = answer.verdict else { return None };
            attested(pool, facts, Some(denial), witness, whole)?;
        }
    }
    premises.sort_unstable();
    premises.dedup();
    Some(Answer { verdict: Verdict::Implied { because: premises }, decided_by: rung, trace: Vec::new() })
}

impl Ladder<'_> {
    /// Settles a goal that is a conjunction and was left open. All parts together have the budget of one question.
    pub(super) fn part_by_part(&mut self, open: String, last: Rung) -> Settled {
        let parts: Vec<Expr> = self.pool.as_func(self.goal, Func::And).unwrap_or_default().to_vec();
        if parts.is_empty() || parts.len() > MAX_PARTS {
            return Settled::Open(open, last);
        }
        let budget = self.budget.shared(parts.len() as u32);
        let mut rung = Rung::Range;
        for part in parts {
            let (pool, facts) = (&mut *self.pool, &mut *self.facts);
            if by_range(pool, facts, part, |_| Some(true)) == Some(true) {
                continue;
            }
            let negation = pool.not(part);
            let mut alone = Ladder {
                pool,
                facts,
                asked: part,
                goal: part,
                budget: &budget,
                explains: false,
                trace: Vec::new(),
            };
            match alone.settle(&[negation], Some(part)) {
                Settled::Closed(by) => rung = rung.max(by),
                Settled::Satisfied(witness, by) if self.falsifies(&witness) => {
                    return Settled::Satisfied(witness, by);
                }
                _ => return Settled::Open(open, last),
            }
        }
        Settled::Closed(rung)
    }
}
