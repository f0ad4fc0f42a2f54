//! The ladder: rungs in order of cost, until one settles the question.
mod conjunction;
mod exit;
mod quick;
mod steps;

pub(super) use exit::attested;
pub use exit::decide;
pub use quick::{known, quickly, quickly_knowing};

use super::definedness::{may_be_undefined, only_divides, requirements};
use super::facts::{Consistency, Facts};
use super::reduce::folded;
use super::replay::replays;
use super::verdict::{Answer, Attempt, Budget, Premise, Rung, Verdict, Witness};
use quick::by_range;
use sizewise_expr::{Expr, Int, Pool, Symbol, is_cancelled};
use steps::MAX_RELAXED;

/// With more conditions than this in the components of a question, verdicts alone are looked up or follow from ranges.
const MAX_REASONED: usize = 400;

/// Goals that more conditions concern are not tried near the example.
const MAX_NEARBY: usize = 32;

/// The steps that try to refute or satisfy a conjunction, cheapest first.
const STEPS: &[LadderStep] = &[
    LadderStep::Differences,
    LadderStep::Relaxation,
    LadderStep::Search { points: 100 },
    LadderStep::Exhaust,
    LadderStep::Linear { share: 16 },
    LadderStep::Cases { share: 8 },
    LadderStep::EGraph,
    LadderStep::Search { points: 1_500 },
    LadderStep::Linear { share: 1 },
    LadderStep::Cases { share: 1 },
    LadderStep::Search { points: u32::MAX },
    LadderStep::Wide,
    #[cfg(feature = "smt")]
    LadderStep::Smt { share: 16 },
    #[cfg(feature = "smt")]
    LadderStep::Smt { share: 1 },
];

/// One way of settling a conjunction.
#[derive(Clone, Copy, Debug)]
enum LadderStep {
    /// Chains of inequalities, where there are many.
    Differences,
    /// One look at the linear relaxation.
    Relaxation,
    /// Search, until this many assignments have been evaluated in all.
    Search { points: u32 },
    /// Every assignment of a small box, or some of a large one, by the exact evaluator. Used where compiled
    /// code cannot compute a condition.
    Exhaust,
    /// The same where compiled code is likely to overflow.
    Wide,
    /// Linear reasoning with this share of the budget.
    Linear { share: u32 },
    /// Number theory, and cases that are reduced anew, with this share of the budget.
    Cases { share: u32 },
    /// Equality saturation.
    EGraph,
    /// Z3 with this share of the budget.
    #[cfg(feature = "smt")]
    Smt { share: u32 },
}

/// [`decide`] before it sees to the rest of a witness, which gives values to the symbols of the goal and those that
/// facts connect with them.
fn entails(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget) -> Answer {
    among(pool, facts, goal, budget, true)
}

/// Whether [`decide`] finds that the facts imply `goal`. This is cheaper, because it prepares nothing for
/// later questions.
pub fn implies(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget) -> bool {
    let goal = pool.truth(goal);
    facts.declare_free(pool, goal);
    if facts.is_divided()
        && let Some(follows) = facts.follows_at_once(pool, goal)
    {
        return follows && are_consistent(pool, facts, budget);
    }
    among(pool, facts, goal, budget, false).verdict.is_implied()
}

/// [`entails`], or without preparing for more questions and without naming premises.
fn among(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget, more: bool) -> Answer {
    let goal = pool.truth(goal);
    facts.go_by(budget);
    facts.declare_free(pool, goal);
    facts.divide_for(pool, goal);
    if facts.is_divided() {
        return among_many(pool, facts, goal, budget, more);
    }
    let asked = goal;
    let goal = facts.simpler(pool, goal);
    let mut ladder = Ladder { pool, facts, asked, goal, budget, explains: more, trace: Vec::new() };
    let (verdict, decided_by) = ladder.run();
    Answer { verdict, decided_by, trace: ladder.trace }
}

/// The answer of Z3 alone to the whole question in one check, without any other rung: the baseline of
/// benchmarks. With `chosen`, it runs the procedure that the ladder runs, else the one that it chooses by
/// itself. A counterexample counts once it has been replayed.
#[cfg(feature = "smt")]
pub fn by_z3_alone(pool: &mut Pool, facts: &Facts, goal: Expr, rlimit: u32, chosen: bool) -> Option<bool> {
    use super::smt::{Procedure, Question, Response, check_by};
    let goal = pool.truth(goal);
    let ranges: Vec<_> = facts.ranges().map(|(s, l, h)| (s, l.cloned(), h.cloned())).collect();
    let mut conditions = facts.conditions().to_vec();
    conditions.push(pool.not(goal));
    let nonzero = facts.divisors(pool, Some(goal));
    let question = Question { ranges: &ranges, conditions: &conditions, nonzero: &nonzero, rlimit };
    let procedure = if chosen { Procedure::Counted } else { Procedure::Default };
    match check_by(procedure, pool, &question).0 {
        Response::Unsatisfiable => Some(true),
        Response::Candidate(witness) => replays(pool, facts, Some(goal), &witness).then_some(false),
        Response::Unknown(_) => None,
    }
}

/// Decides under the facts that have to do with the goal.
fn among_many(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget, more: bool) -> Answer {
    let settled = |verdict, decided_by| Answer { verdict, decided_by, trace: Vec::new() };
    if facts.are_few() && facts.is_empty(pool) {
        let because = facts.all_premises(pool);
        return settled(Verdict::Inconsistent { because }, Rung::Range);
    }
    check_components(pool, facts, budget, more);
    if let Consistency::Inconsistent(because) = &facts.consistency {
        return settled(Verdict::Inconsistent { because: because.clone() }, Rung::Search);
    }
    if facts.is_empty(pool) {
        let because = facts.all_premises(pool);
        return settled(Verdict::Inconsistent { because }, Rung::Range);
    }
    let is_defined = |pool: &Pool| !pool.reachable(&[goal]).into_iter().any(|e| may_be_undefined(pool, e));
    if !more && facts.components_settled() && facts.store.truth(pool, goal) == Some(true) && is_defined(pool)
    {
        return settled(Verdict::Implied { because: Vec::new() }, Rung::EGraph);
    }
    let mut answer = facts.with_subproblem(pool, goal, |pool, subproblem| {
        let mut answer = among(pool, &mut subproblem.facts, goal, budget, more);
        if let Verdict::Implied { because } | Verdict::Inconsistent { because } = &mut answer.verdict {
            *because = subproblem.to_outer_ids(because);
        }
        answer
    });
    let what = match &answer.verdict {
        Verdict::Implied { .. } => "follows",
        Verdict::Refuted { .. } => "does not follow from the facts about its symbols",
        Verdict::Unknown { .. } => {
            let everywhere = is_defined(pool);
            return conjunction::each_part(pool, facts, goal, budget, everywhere).unwrap_or(answer);
        }
        _ => return answer,
    };
    if !facts.components_settled() {
        let reason = format!("the goal {what}, but no assignment that satisfies the other facts was found");
        answer.verdict = Verdict::Unknown { reason };
    }
    answer
}

/// Prepares facts for the first question: ranges and conditions tighten each other, and an assignment that
/// satisfies them is sought within the budget. [`decide`] does this if it has not been done.
pub fn prepare(pool: &mut Pool, facts: &mut Facts, budget: &Budget) {
    if facts.is_divided() {
        check_components(pool, facts, budget, true);
        return;
    }
    check(pool, facts, budget);
    facts.models.vary(pool);
}

/// Decides which components are consistent, where that is open. If they are few, prepares them for `more` questions.
pub(super) fn check_components(pool: &mut Pool, facts: &mut Facts, budget: &Budget, more: bool) {
    if facts.are_few() && facts.is_empty(pool) {
        return;
    }
    facts.check_components(pool, more, |pool, part, prepares| match prepares {
        true => prepare(pool, part, budget),
        false => check(pool, part, budget),
    });
}

/// Whether many facts are known to be consistent.
fn are_consistent(pool: &mut Pool, facts: &mut Facts, budget: &Budget) -> bool {
    check_components(pool, facts, budget, false);
    !matches!(facts.consistency, Consistency::Inconsistent(_))
        && !facts.is_empty(pool)
        && facts.components_settled()
}

/// Finds out whether the facts contradict each other.
fn check(pool: &mut Pool, facts: &mut Facts, budget: &Budget) {
    let goal = pool.bool(true);
    facts.table(pool);
    Ladder { pool, facts, asked: goal, goal, budget, explains: true, trace: Vec::new() }.inconsistent();
}

/// Whether the facts exclude that a goal is false, where the caller has not found that by cheaper means. `seen` says
/// that the hints give the goal a value, and that it is true there: if they satisfy the facts, it is not asked whether
/// these contradict each other, nor whether the goal has a value.
pub(super) fn rules_out(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget, seen: bool) -> bool {
    let goal = pool.truth(goal);
    facts.declare_free(pool, goal);
    if !facts.is_whole() {
        let conditions = facts.concerning(pool, goal);
        if conditions > MAX_REASONED
            || seen && conditions <= MAX_NEARBY && facts.hold_at_hints(pool) && facts.fails_nearby(pool, goal)
        {
            return false;
        }
        if facts.is_divided() || facts.is_mixed(pool) {
            if conditions == 0
                && let Some(follows) = facts.follows_at_once(pool, goal)
            {
                return follows;
            }
            return facts.with_subproblem(pool, goal, |pool, part| {
                rules_out(pool, &mut part.facts, goal, budget, seen)
            });
        }
    }
    if !seen || !facts.hold_at_hints(pool) {
        return among(pool, facts, goal, budget, false).verdict.is_implied();
    }
    let asked = goal;
    let simpler = facts.simpler(pool, goal);
    let goal = folded(pool, facts.table(pool), simpler);
    let goal = if goal == simpler { goal } else { facts.simpler(pool, goal) };
    Ladder { pool, facts, asked, goal, budget, explains: false, trace: Vec::new() }.rules_out()
}

/// The result for a conjunction of the facts and something else.
enum Settled {
    /// No assignment satisfies it.
    Closed(Rung),
    /// An assignment satisfies it; it has been replayed.
    Satisfied(Witness, Rung),
    /// Neither was shown.
    Open(String, Rung),
}

/// The result of one step, before any replay.
enum Finding {
    Closed,
    Candidate(Witness),
    Open(String),
}

/// One run of the ladder.
struct Ladder<'a> {
    pool: &'a mut Pool,
    facts: &'a mut Facts,
    /// The goal as the caller gave it.
    asked: Expr,
    /// The same with doubles replaced by integers as far as that is exact.
    goal: Expr,
    budget: &'a Budget,
    /// Whether an answer names its premises.
    explains: bool,
    trace: Vec<Attempt>,
}

impl Ladder<'_> {
    fn note(&mut self, rung: Rung, outcome: impl Into<String>) {
        self.trace.push(Attempt { rung, outcome: outcome.into() });
    }

    /// Whether no assignment makes the goal false. The facts allow one at which it is true.
    fn rules_out(&mut self) -> bool {
        if let Some(value) = self.pool.as_bool(self.goal) {
            return value;
        }
        self.facts.remember_hints();
        if self.falsified().is_some() {
            return false;
        }
        let negation = self.pool.not(self.goal);
        by_range(self.pool, self.facts, self.goal, |_| Some(true)) == Some(true)
            || self.varied().is_none()
                && matches!(self.settle(&[negation], Some(self.asked)), Settled::Closed(_))
    }

    /// A known assignment at which the goal is false.
    fn falsified(&mut self) -> Option<Witness> {
        let witness = self.facts.models.failing(self.pool, self.goal, 0)?;
        self.falsifies(&witness).then_some(witness)
    }

    /// A variation of a known assignment at which the goal is false.
    fn varied(&mut self) -> Option<Witness> {
        let witness = self.facts.models.failing_variation(self.pool, self.goal)?;
        self.falsifies(&witness).then_some(witness)
    }

    fn run(&mut self) -> (Verdict, Rung) {
        if self.facts.is_empty(self.pool) {
            return (Verdict::Inconsistent { because: self.facts.all_premises(self.pool) }, Rung::Range);
        }
        if let Some(because) = self.inconsistent() {
            return (Verdict::Inconsistent { because }, Rung::Search);
        }
        if self.pool.as_bool(self.goal) == Some(true) {
            // Ranges may have made integers of doubles.
            let itself = !self.explains || self.pool.as_bool(self.asked) == Some(true);
            let because = if itself { Vec::new() } else { self.all_premises() };
            return self.implied_by(because, Rung::NormalForm);
        }
        if self.facts.store.truth(self.pool, self.goal) == Some(true) {
            return self.implied(Rung::EGraph);
        }
        if let Some(witness) = self.falsified() {
            return (Verdict::Refuted { witness }, Rung::Search);
        }
        if by_range(self.pool, self.facts, self.goal, |_| Some(true)) == Some(true) {
            return self.implied(Rung::Range);
        }
        if let Some(witness) = self.varied() {
            return (Verdict::Refuted { witness }, Rung::Search);
        }
        let negation = self.pool.not(self.goal);
        let settled = match self.settle(&[negation], Some(self.asked)) {
            Settled::Open(reason, rung) => self.part_by_part(reason, rung),
            settled => settled,
        };
        match settled {
            Settled::Closed(rung) => self.implied(rung),
            Settled::Satisfied(witness, rung) => (Verdict::Refuted { witness }, rung),
            Settled::Open(reason, rung) => (Verdict::Unknown { reason }, rung),
        }
    }

    /// Takes the steps on the facts with `extra`, which is the negation of `goal` where there is one.
    fn settle(&mut self, extra: &[Expr], goal: Option<Expr>) -> Settled {
        let mut problem = None;
        let mut spent = 0;
        let mut last = Rung::Search;
        for &step in STEPS {
            if is_cancelled() {
                return Settled::Open("cancelled".to_string(), last);
            }
            let (rung, finding) = match step {
                LadderStep::Differences if self.facts.parts().len() <= MAX_RELAXED => continue,
                LadderStep::Differences => (Rung::Linear, self.differences(extra)),
                LadderStep::Relaxation => (Rung::Linear, self.relaxation(extra)),
                LadderStep::Search { points } => (Rung::Search, self.search(extra, points, &mut spent)),
                LadderStep::Exhaust if !self.is_beyond_code(goal) => continue,
                LadderStep::Wide if !self.is_wide(goal) => continue,
                LadderStep::Exhaust | LadderStep::Wide => (Rung::Search, self.exhaust(goal)),
                LadderStep::Linear { share } => (Rung::Linear, self.linear(&mut problem, extra, share)),
                LadderStep::Cases { share } => (Rung::Linear, self.cases(&mut problem, goal, share)),
                LadderStep::EGraph => (Rung::EGraph, self.saturation(extra)),
                #[cfg(feature = "smt")]
                LadderStep::Smt { share } => (Rung::Smt, self.ask(extra, share)),
            };
            match finding {
                Finding::Closed => return Settled::Closed(rung),
                Finding::Candidate(witness) if replays(self.pool, self.facts, goal, &witness) => {
                    return Settled::Satisfied(witness, rung);
                }
                Finding::Candidate(_) => self.note(rung, "an assignment that does not replay"),
                Finding::Open(why) => self.note(rung, why),
            }
            last = rung;
        }
        // The result of the last step of each rung.
        let mut reasons: Vec<String> = Vec::new();
        for rung in [Rung::EGraph, Rung::Linear, Rung::Search, Rung::Smt] {
            let said = self.trace.iter().rev().find(|a| a.rung == rung);
            reasons.extend(said.map(|a| format!("{rung}: {}", a.outcome)));
        }
        Settled::Open(reasons.join("; "), last)
    }

    fn falsifies(&self, witness: &Witness) -> bool {
        replays(self.pool, self.facts, Some(self.asked), witness)
    }

    /// Whether the facts are known to contradict each other; looks for a satisfying assignment where that is open.
    fn inconsistent(&mut self) -> Option<Vec<Premise>> {
        if let Consistency::Open = self.facts.consistency {
            // What the goal requires is no fact, and other goals are asked of the same facts.
            let goal = std::mem::replace(&mut self.goal, self.pool.bool(true));
            self.facts.consistency = self.satisfy();
            self.goal = goal;
        }
        match &self.facts.consistency {
            Consistency::Inconsistent(because) => Some(because.clone()),
            _ => None,
        }
    }

    /// Looks for an assignment that satisfies the facts.
    fn satisfy(&mut self) -> Consistency {
        if let Some(model) = self.facts.model() {
            if replays(self.pool, self.facts, None, &model) {
                return Consistency::Consistent;
            }
            self.facts.forget_models();
        }
        if self.facts.is_empty(self.pool) {
            return Consistency::Inconsistent(self.facts.all_premises(self.pool));
        }
        let hinted = self.facts.has_hints().then(|| self.facts.at_hints_or_ends());
        for candidate in [Some(self.corner()), hinted].into_iter().flatten() {
            if replays(self.pool, self.facts, None, &candidate) {
                self.facts.remember(candidate);
                return Consistency::Consistent;
            }
        }
        // Doubles of an example may be no integers.
        if self.facts.has_hints() && self.facts.hold_at_hints(self.pool) {
            return Consistency::Consistent;
        }
        match self.settle(&[], None) {
            Settled::Closed(_) => Consistency::Inconsistent(self.facts.all_premises(self.pool)),
            Settled::Satisfied(model, _) => {
                self.facts.remember(model);
                Consistency::Consistent
            }
            Settled::Open(..) => self.satisfied_apart(),
        }
    }

    /// Each symbol at the end of what the table leaves it.
    fn corner(&mut self) -> Witness {
        let symbols: Vec<Symbol> = self.facts.ranges().map(|(s, ..)| s).collect();
        let value = |ladder: &mut Self, s: Symbol| {
            let e = ladder.pool.symbol_expr(s);
            let domain = ladder.facts.table(ladder.pool).domain(ladder.pool, e);
            let (low, high) = (domain.range.lo.finite(), domain.range.hi.finite());
            low.or(high).cloned().unwrap_or_else(|| domain.congruence.next(&Int::ZERO))
        };
        symbols.into_iter().map(|s| (s, value(self, s))).collect()
    }

    /// `Implied` by everything that was assumed; the store remembers it.
    fn implied(&mut self, rung: Rung) -> (Verdict, Rung) {
        self.facts.store.remember(self.pool, self.goal, true);
        let because = if self.explains { self.facts.all_premises(self.pool) } else { Vec::new() };
        self.implied_by(because, rung)
    }

    /// `Implied`, if the facts are known to be satisfiable where the goal has a value.
    fn implied_by(&mut self, because: Vec<Premise>, rung: Rung) -> (Verdict, Rung) {
        let unknown = |reason: &str| (Verdict::Unknown { reason: reason.to_string() }, rung);
        if !matches!(self.facts.consistency, Consistency::Consistent) {
            return unknown(
                "nothing contradicts the goal, but no assignment that satisfies the facts was found",
            );
        }
        match self.is_defined_somewhere() {
            Some(true) => (Verdict::Implied { because }, rung),
            Some(false) if only_divides(self.pool, self.asked) => {
                (Verdict::Inconsistent { because: self.all_premises() }, rung)
            }
            Some(false) => unknown("the goal has no value at any assignment that the facts allow"),
            None => unknown("no assignment was found at which the goal has a value"),
        }
    }

    /// Whether the facts allow an assignment at which the goal, which is false at none of them, has a value.
    fn is_defined_somewhere(&mut self) -> Option<bool> {
        if !self.pool.reachable(&[self.asked]).into_iter().any(|e| may_be_undefined(self.pool, e)) {
            return Some(true);
        }
        let denial = self.pool.not(self.asked);
        let holds = |ladder: &Self, model: &Witness| replays(ladder.pool, ladder.facts, Some(denial), model);
        if self.facts.model().is_some_and(|model| holds(self, &model)) {
            return Some(true);
        }
        let mut extra = requirements(self.pool, &[self.asked]);
        extra.push(self.asked);
        let trace = std::mem::take(&mut self.trace);
        let settled = self.settle(&extra, Some(denial));
        self.trace = trace;
        match settled {
            Settled::Satisfied(..) => Some(true),
            Settled::Closed(_) => Some(false),
            Settled::Open(..) => None,
        }
    }

    /// Everything that was assumed, and that the goal's divisors are not zero.
    fn all_premises(&self) -> Vec<Premise> {
        let mut premises = self.facts.all_premises(self.pool);
        let divisors = self.facts.divisors(self.pool, Some(self.asked));
        premises.extend(divisors.into_iter().map(Premise::Nonzero));
        premises.sort_unstable();
        premises.dedup();
        premises
    }
}
