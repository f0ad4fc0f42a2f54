//! Conjunctions, part by part, and questions without the facts about other symbols: what follows from some facts is often
//! hard to see of all together.
use super::exit::attested;
use super::quick::by_range;
use super::{Ladder, Settled, among, among_many, check};
use crate::facts::{Consistency, Facts};
use crate::replay::replays;
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
    /// Looks for assignments that satisfy the facts about some symbols each, where none was found of all together.
    pub(super) fn satisfied_apart(&mut self) -> Consistency {
        if !self.facts.fall_apart() {
            return Consistency::Unsettled;
        }
        let budget = self.budget;
        let found = self.facts.completed(self.pool, Witness::new(), |pool, facts| check(pool, facts, budget));
        match found {
            Some(model) if replays(self.pool, self.facts, None, &model) => {
                self.facts.remember(model);
                Consistency::Consistent
            }
            _ => match &self.facts.consistency {
                Consistency::Inconsistent(because) => Consistency::Inconsistent(because.clone()),
                _ => Consistency::Unsettled,
            },
        }
    }

    /// Settles a goal that was left open: each part of a conjunction by itself, under the facts that concern it. All parts
    /// together have the budget of one question.
    pub(super) fn part_by_part(&mut self, open: String, last: Rung) -> Settled {
        let whole = [self.goal];
        let parts = self.pool.as_func(self.goal, Func::And).unwrap_or(&whole).to_vec();
        if parts.len() > MAX_PARTS {
            return Settled::Open(open, last);
        }
        let budget = self.budget.shared(parts.len() as u32);
        let mut rung = Rung::Range;
        for part in parts {
            let is_whole = part == self.goal;
            if !is_whole && by_range(self.pool, self.facts, part, |_| Some(true)) == Some(true) {
                continue;
            }
            let settled = match self.concerns_all_facts(part) {
                true if is_whole => None,
                true => Some(self.among_all_facts(part, &budget)),
                false => self.apart(part, &budget),
            };
            match settled {
                Some(Settled::Closed(by)) => rung = rung.max(by),
                Some(Settled::Satisfied(witness, by)) if self.falsifies(&witness) => {
                    return Settled::Satisfied(witness, by);
                }
                _ => return Settled::Open(open, last),
            }
        }
        Settled::Closed(rung)
    }

    /// Whether no fact is about other symbols only, or none are told apart. A part without symbols is false only if the facts
    /// are satisfiable, all of them.
    fn concerns_all_facts(&mut self, part: Expr) -> bool {
        let facts = &mut *self.facts;
        facts.is_whole()
            || part.as_literal_bool().is_some()
            || facts.concerning(self.pool, part) == facts.conditions().len()
    }

    fn among_all_facts(&mut self, part: Expr, budget: &Budget) -> Settled {
        let negation = self.pool.not(part);
        let (pool, facts) = (&mut *self.pool, &mut *self.facts);
        let trace = Vec::new();
        let mut alone = Ladder { pool, facts, asked: part, goal: part, budget, explains: false, trace };
        alone.settle(&[negation], Some(part))
    }

    /// Settles a part under the facts that concern it. What it asks of divisors is less than what the whole asks: where
    /// it is false nowhere, the whole is not false because of it. `None` where it stays open.
    fn apart(&mut self, part: Expr, budget: &Budget) -> Option<Settled> {
        let answer = self.facts.with_subproblem(self.pool, part, |pool, concerned| {
            among(pool, &mut concerned.facts, part, budget, false)
        });
        match answer.verdict {
            Verdict::Implied { .. } | Verdict::Inconsistent { .. } => {
                Some(Settled::Closed(answer.decided_by))
            }
            Verdict::Refuted { witness } => {
                let whole =
                    self.facts.completed(self.pool, witness, |pool, facts| check(pool, facts, budget))?;
                Some(Settled::Satisfied(whole, answer.decided_by))
            }
            Verdict::Unknown { .. } => None,
        }
    }
}
