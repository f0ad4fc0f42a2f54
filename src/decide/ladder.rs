//! The ladder: rungs in order of cost, until one settles the question.
use super::exact_floats::{exact, has_floats};
use super::facts::{Consistency, Facts};
use super::linear::{self, Effort};
use super::models::Search;
use super::reduce::Reduced;
use super::replay::replays;
use super::verdict::{Answer, Attempt, Budget, Premise, Rung, Verdict, Witness};
use crate::expr::{Expr, Func, Int, Node, Pool};
use crate::range::DomainTable;

/// Assignments tried before linear reasoning.
const QUICK_POINTS: u32 = 1_500;

/// Decides whether the facts imply `goal`.
///
/// `Implied` and `Refuted` are claims about all assignments within the ranges that make no divisor of an assumption or the goal zero
/// and satisfy every assumption; `Implied` also says that there is one.
pub fn decide(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget) -> Answer {
    let goal = pool.truth(goal);
    facts.declare_free(pool, goal);
    let goal = match has_floats(pool, goal) {
        true => exact(pool, facts.table(pool), goal),
        false => goal,
    };
    let mut climb = Climb { pool, facts, goal, points: budget.points, budget, trace: Vec::new() };
    let (verdict, decided_by) = climb.run();
    Answer { verdict, decided_by, trace: climb.trace }
}

/// Does what can be done before the first question: ranges and conditions learn from each other, and an assignment that satisfies them
/// is found, if that is possible within the budget. [`decide`] does it where it has not been done.
pub fn prepare(pool: &mut Pool, facts: &mut Facts, budget: &Budget) {
    let goal = pool.bool(true);
    facts.table(pool);
    Climb { pool, facts, goal, points: budget.points, budget, trace: Vec::new() }.inconsistent();
}

/// What a cheap look settles: canonical form, ranges and congruences. Sound, takes microseconds, and does not ask whether the facts
/// are consistent.
pub fn quickly(pool: &mut Pool, facts: &mut Facts, goal: Expr) -> Option<bool> {
    quickly_knowing(pool, facts, goal, None)
}

/// As [`quickly`], where the goal is known to be `possible` under some assignment that the facts admit: the opposite is not sought.
pub fn quickly_knowing(
    pool: &mut Pool,
    facts: &mut Facts,
    goal: Expr,
    possible: Option<bool>,
) -> Option<bool> {
    let goal = pool.truth(goal);
    if let Some(value) = pool.as_bool(goal) {
        return Some(value);
    }
    if let Some(value) = facts.table(pool).decide(pool, goal) {
        return Some(value);
    }
    if is_free(pool, facts, goal) {
        return None;
    }
    by_contradiction(pool, facts, goal, possible)
}

/// Whether the goal compares a sum of symbols that no assumption mentions, each of which occurs once: then its range is exact, and where that
/// decides nothing both outcomes are possible.
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

/// The truth of the goal by ranges and congruences: directly, or because assuming the opposite contradicts them.
fn by_range(pool: &mut Pool, facts: &mut Facts, goal: Expr) -> Option<bool> {
    if let Some(value) = facts.table(pool).decide(pool, goal) {
        return Some(value);
    }
    by_contradiction(pool, facts, goal, None)
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
    for _ in 0..3 {
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

/// What linear reasoning says about the facts and something else.
enum Linear {
    Closed,
    Candidate(Witness),
    Open,
}

struct Climb<'a> {
    pool: &'a mut Pool,
    facts: &'a mut Facts,
    goal: Expr,
    points: u32,
    budget: &'a Budget,
    trace: Vec<Attempt>,
}

impl Climb<'_> {
    fn note(&mut self, rung: Rung, outcome: impl Into<String>) {
        self.trace.push(Attempt { rung, outcome: outcome.into() });
    }

    fn run(&mut self) -> (Verdict, Rung) {
        if self.facts.is_empty(self.pool) {
            return (Verdict::Inconsistent { because: self.facts.all_premises(self.pool) }, Rung::Range);
        }
        if let Some(because) = self.inconsistent() {
            return (Verdict::Inconsistent { because }, Rung::Search);
        }
        if self.pool.as_bool(self.goal) == Some(true) {
            return self.implied(Vec::new(), Rung::NormalForm);
        }
        if let Some(witness) = self.failing_model() {
            return (Verdict::Refuted { witness }, Rung::Search);
        }
        if by_range(self.pool, self.facts, self.goal) == Some(true) {
            return self.implied(self.facts.all_premises(self.pool), Rung::Range);
        }
        let negation = self.pool.not(self.goal);
        let (found, left) = self.facts.models.search(self.pool, &[negation], self.points.min(QUICK_POINTS));
        self.points = left;
        match found {
            Search::Candidate(witness) if replays(self.pool, self.facts, Some(self.goal), &witness) => {
                return (Verdict::Refuted { witness }, Rung::Search);
            }
            Search::None => return self.implied(self.facts.all_premises(self.pool), Rung::Search),
            _ => {}
        }
        match self.linear(&[negation]) {
            Linear::Closed => return self.implied(self.facts.all_premises(self.pool), Rung::Linear),
            Linear::Candidate(witness) if replays(self.pool, self.facts, Some(self.goal), &witness) => {
                return (Verdict::Refuted { witness }, Rung::Linear);
            }
            _ => self.note(Rung::Linear, "neither a contradiction nor a solution of the linear relaxation"),
        }
        let (found, left) = self.facts.models.search(self.pool, &[negation], self.points);
        self.points = left;
        match found {
            Search::Candidate(witness) if replays(self.pool, self.facts, Some(self.goal), &witness) => {
                return (Verdict::Refuted { witness }, Rung::Search);
            }
            Search::None => return self.implied(self.facts.all_premises(self.pool), Rung::Search),
            _ => self.note(Rung::Search, "no counterexample found"),
        }
        self.smt(negation)
    }

    /// Linear reasoning on the facts with `extra`.
    fn linear(&mut self, extra: &[Expr]) -> Linear {
        let mut conditions = self.facts.range_conditions(self.pool);
        conditions.extend(self.facts.parts().iter().map(|(e, _)| *e));
        for d in self.facts.divisors(self.pool, Some(self.goal)) {
            conditions.push(self.pool.ne(d, Expr::ZERO));
        }
        conditions.extend_from_slice(extra);
        let mut reduced = Reduced::new(self.pool, &conditions);
        let mut effort = Effort { branches: self.budget.branches, pivots: self.budget.pivots };
        match linear::refute(self.pool, &mut reduced, &mut effort) {
            linear::Outcome::Closed => Linear::Closed,
            linear::Outcome::Open => Linear::Open,
            linear::Outcome::Candidate(mut values) => {
                if reduced.extend(self.pool, &mut values).is_none() {
                    return Linear::Open;
                }
                let free = |low: Option<&Int>, high: Option<&Int>| low.or(high).cloned().unwrap_or_default();
                let witness = self
                    .facts
                    .ranges()
                    .map(|(s, low, high)| (s, values.get(&s).cloned().unwrap_or_else(|| free(low, high))))
                    .collect();
                Linear::Candidate(witness)
            }
        }
    }

    /// A known satisfying assignment at which the goal is false.
    fn failing_model(&mut self) -> Option<Witness> {
        let witness = self.facts.models.failing(self.pool, self.goal)?;
        replays(self.pool, self.facts, Some(self.goal), &witness).then_some(witness)
    }

    /// Whether the facts are known to contradict each other; looks for a satisfying assignment where that is open.
    fn inconsistent(&mut self) -> Option<Vec<Premise>> {
        if let Consistency::Open = self.facts.consistency {
            self.facts.consistency = self.satisfy();
        }
        match &self.facts.consistency {
            Consistency::Inconsistent(because) => Some(because.clone()),
            _ => None,
        }
    }

    /// Looks for an assignment that satisfies the facts.
    fn satisfy(&mut self) -> Consistency {
        if let Some(model) = self.facts.models.first() {
            if replays(self.pool, self.facts, None, &model) {
                return Consistency::Consistent;
            }
            self.facts.models.clear();
        }
        if self.facts.is_empty(self.pool) {
            return Consistency::Inconsistent(self.facts.all_premises(self.pool));
        }
        let mut points = self.budget.points;
        for limit in [QUICK_POINTS.min(points), points] {
            let (found, left) = self.facts.models.search(self.pool, &[], limit);
            points = points.saturating_sub(limit - left);
            match found {
                Search::Candidate(model) if self.accept(&model) => return Consistency::Consistent,
                Search::None => return Consistency::Inconsistent(self.facts.all_premises(self.pool)),
                _ => {}
            }
            if limit <= QUICK_POINTS {
                match self.linear(&[]) {
                    Linear::Closed => return Consistency::Inconsistent(self.facts.all_premises(self.pool)),
                    Linear::Candidate(model) if self.accept(&model) => return Consistency::Consistent,
                    _ => {}
                }
            }
        }
        self.satisfy_by_smt()
    }

    /// Keeps an assignment that satisfies the facts.
    fn accept(&mut self, model: &Witness) -> bool {
        let holds = replays(self.pool, self.facts, None, model);
        if holds {
            self.facts.models.remember(self.pool, model);
        }
        holds
    }

    /// `Implied`, if the facts are known to be satisfiable.
    fn implied(&mut self, because: Vec<Premise>, rung: Rung) -> (Verdict, Rung) {
        match self.facts.consistency {
            Consistency::Consistent => (Verdict::Implied { because }, rung),
            _ => {
                let reason =
                    "nothing contradicts the goal, but no assignment that satisfies the facts was found";
                (Verdict::Unknown { reason: reason.to_string() }, rung)
            }
        }
    }

    #[cfg(not(feature = "smt"))]
    fn satisfy_by_smt(&mut self) -> Consistency {
        Consistency::Unsettled
    }

    #[cfg(feature = "smt")]
    fn satisfy_by_smt(&mut self) -> Consistency {
        use super::smt::Response;
        match self.ask(&[]) {
            Response::Unsatisfiable => Consistency::Inconsistent(self.facts.all_premises(self.pool)),
            Response::Candidate(model) if self.accept(&model) => Consistency::Consistent,
            _ => Consistency::Unsettled,
        }
    }

    #[cfg(not(feature = "smt"))]
    fn smt(&mut self, _: Expr) -> (Verdict, Rung) {
        let reason = "no rung settles it, and this build has no SMT solver".to_string();
        (Verdict::Unknown { reason }, Rung::Search)
    }

    #[cfg(feature = "smt")]
    fn smt(&mut self, negation: Expr) -> (Verdict, Rung) {
        use super::smt::Response;
        match self.ask(&[negation]) {
            Response::Unsatisfiable => self.implied(self.facts.all_premises(self.pool), Rung::Smt),
            Response::Candidate(witness) => {
                if replays(self.pool, self.facts, Some(self.goal), &witness) {
                    return (Verdict::Refuted { witness }, Rung::Smt);
                }
                (Verdict::Unknown { reason: "Z3's model does not replay".to_string() }, Rung::Smt)
            }
            Response::Unknown(reason) => (Verdict::Unknown { reason }, Rung::Smt),
        }
    }

    #[cfg(feature = "smt")]
    fn ask(&self, extra: &[Expr]) -> super::smt::Response {
        use super::smt::{Question, Response, check};
        let ranges: Vec<_> = self.facts.ranges().map(|(s, l, h)| (s, l.cloned(), h.cloned())).collect();
        let mut conditions: Vec<Expr> = self.facts.parts().iter().map(|(e, _)| *e).collect();
        conditions.extend_from_slice(extra);
        let nonzero = self.facts.divisors(self.pool, Some(self.goal));
        let mut last = Response::Unknown("Z3 was not asked".to_string());
        for share in [16, 1] {
            let rlimit = self.budget.rlimit / share;
            if rlimit == 0 {
                continue;
            }
            last = check(
                self.pool,
                &Question { ranges: &ranges, conditions: &conditions, nonzero: &nonzero, rlimit },
            );
            if !matches!(last, Response::Unknown(_)) {
                break;
            }
        }
        last
    }
}
