//! The steps of the ladder: what each rung makes of the facts with the negated goal.
use super::{Finding, Ladder};
use crate::cases::{self, Allowance};
use crate::components::default_value;
use crate::differences::{self, Solved};
use crate::egraph::{RuleSet, Stop};
use crate::exhaust::{Exhausted, exhaust};
use crate::linear::{self, Effort};
use crate::models::Search;
use crate::program::{has_wide_constant, is_beyond_code};
use crate::reduce::Reduced;
use crate::replay::replays;
use crate::rewriting;
use crate::search::conjuncts;
use crate::verdict::Witness;
use crate::work::Work;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Symbol};

/// More facts than this are not relaxed in one look.
pub(super) const MAX_RELAXED: usize = 40;
/// Of so many conditions more, Z3 may do half as much, a third, and so on.
#[cfg(feature = "smt")]
const MAX_COUNTED: usize = 32;
/// Goals of more alternatives are not relaxed.
const MAX_ALTERNATIVES: usize = 4;

impl Ladder<'_> {
    /// Whether compiled code is likely to overflow on the facts or the goal.
    pub(super) fn is_wide(&self, goal: Option<Expr>) -> bool {
        let roots: Vec<Expr> = self.facts.conditions().iter().copied().chain(goal).collect();
        has_wide_constant(self.pool, &roots)
    }

    /// Whether compiled code cannot compute the facts or the goal.
    pub(super) fn is_beyond_code(&self, goal: Option<Expr>) -> bool {
        // What it needs of divisors is no part of a goal from which they were cancelled.
        let mut roots = self.facts.divisors(self.pool, goal);
        roots.extend(self.facts.conditions().iter().copied().chain(goal));
        is_beyond_code(self.pool, &roots)
    }

    /// Whether equality saturation contradicts the facts with `extra`.
    pub(super) fn saturation(&mut self, extra: &[Expr]) -> Finding {
        let rounds = self.budget.iterations as usize;
        if rounds == 0 {
            return Finding::Open("the budget leaves the e-graph out".to_string());
        }
        let mut graph = self.facts.store.branch(self.pool);
        extra.iter().for_each(|&e| graph.assume(self.pool, e));
        let limits = rewriting::limits(rounds);
        let outcome = graph.saturate(self.pool, RuleSet::builtin(), &limits, None);
        self.facts.work += Work {
            rounds: outcome.iterations as u64,
            nodes: outcome.nodes as u64,
            attempts: outcome.attempts,
            uses: outcome.uses as u64,
            ..Work::default()
        };
        match outcome.stop {
            Stop::Contradiction => Finding::Closed,
            Stop::Saturated => Finding::Open("no rule teaches anything more".to_string()),
            stop => Finding::Open(format!("no contradiction, {stop} (budget: {rounds} rounds of rules)")),
        }
    }

    /// Whether chains of inequalities contradict each other, or a solution of them is one of everything.
    pub(super) fn differences(&mut self, extra: &[Expr]) -> Finding {
        let mut literals = self.facts.range_conditions(self.pool);
        literals.extend(self.facts.parts().iter().map(|(e, _)| *e));
        extra.iter().for_each(|&e| conjuncts(self.pool, e, &mut literals));
        match differences::solve(self.pool, &literals) {
            Solved::Contradiction(_) => Finding::Closed,
            Solved::Solution(values) => {
                let symbols: Vec<Symbol> = self.facts.ranges().map(|(s, ..)| s).collect();
                let free = |s| self.facts.range(s).map(default_value).unwrap_or_default();
                let value = |s: Symbol| {
                    let e = self.pool.known_symbol_expr(s);
                    (s, e.and_then(|e| values.get(&e).cloned()).unwrap_or_else(|| free(s)))
                };
                Finding::Candidate(symbols.into_iter().map(value).collect())
            }
            Solved::Open => Finding::Open("chains of inequalities are too tangled".to_string()),
        }
    }

    /// Whether the facts leave no case of `extra` a rational solution.
    pub(super) fn relaxation(&mut self, extra: &[Expr]) -> Finding {
        let open = || Finding::Open("the linear relaxation has a solution".to_string());
        let &[negation] = extra else { return open() };
        if self.budget.work == 0 || self.facts.parts().len() > MAX_RELAXED {
            return open();
        }
        let mut literals: Vec<Expr> = self.facts.parts().iter().map(|(e, _)| *e).collect();
        let known = literals.len();
        let alternatives = match self.pool.as_func(negation, Func::Or) {
            Some(parts) => parts.to_vec(),
            None => vec![negation],
        };
        if alternatives.len() > MAX_ALTERNATIVES {
            return open();
        }
        for case in alternatives {
            // An excluded value leaves the values below and above.
            let sides = match self
                .pool
                .as_func(case, Func::Not)
                .and_then(|a| self.pool.as_func(a[0], Func::IsZero))
            {
                Some(&[p]) => vec![self.pool.lt(p, Expr::ZERO), self.pool.lt(Expr::ZERO, p)],
                _ => vec![case],
            };
            for side in sides {
                literals.truncate(known);
                conjuncts(self.pool, side, &mut literals);
                let table = self.facts.table(self.pool);
                let (infeasible, entries) = linear::infeasible(self.pool, table, &literals);
                self.facts.work.entries += u64::from(entries);
                if !infeasible {
                    return open();
                }
            }
        }
        Finding::Closed
    }

    pub(super) fn search(&mut self, extra: &[Expr], points: u32, spent: &mut u32) -> Finding {
        let points = points.min(self.budget.points).saturating_sub(*spent);
        let (found, left) = self.facts.models.search(self.pool, extra, points);
        *spent += points - left;
        self.facts.work.points += u64::from(points - left);
        match found {
            Search::Candidate(witness) => Finding::Candidate(witness),
            Search::None => Finding::Closed,
            Search::Open => {
                let mut said = format!("none of {spent} assignments is a solution");
                if *spent >= self.budget.points {
                    said.push_str(&format!(" (budget: {} assignments)", self.budget.points));
                }
                Finding::Open(said)
            }
        }
    }

    /// Every assignment of a small box, or some of a large one, by the exact evaluator.
    pub(super) fn exhaust(&mut self, goal: Option<Expr>) -> Finding {
        match exhaust(self.pool, self.facts, goal, self.budget.points) {
            Exhausted::Found(witness) => Finding::Candidate(witness),
            Exhausted::None => Finding::Closed,
            Exhausted::Open(tried) => Finding::Open(format!("none of {tried} assignments is a solution")),
        }
    }

    /// The facts and `extra`, reduced.
    pub(super) fn reduced(&mut self, extra: &[Expr]) -> Reduced {
        let mut conditions = self.facts.range_conditions(self.pool);
        conditions.extend(self.facts.parts().iter().map(|(e, _)| *e));
        for d in self.facts.divisors(self.pool, Some(self.goal)) {
            conditions.push(self.pool.ne(d, Expr::ZERO));
        }
        conditions.extend_from_slice(extra);
        Reduced::new(self.pool, &conditions)
    }

    /// Linear reasoning on the facts with `extra`.
    pub(super) fn linear(&mut self, problem: &mut Option<Reduced>, extra: &[Expr], share: u32) -> Finding {
        if self.budget.terms == 0 {
            return Finding::Open("the budget leaves linear reasoning out".to_string());
        }
        if problem.is_none() {
            let limit = self.pool.limit_work(u64::from(self.budget.terms));
            *problem = Some(self.reduced(extra));
            self.pool.restore_work(limit);
        }
        let Some(reduced) = problem else { return Finding::Open(String::new()) };
        let (branches, work) = (self.budget.branches / share, self.budget.work / share);
        let mut effort = Effort { branches, work };
        let limit = self.pool.limit_work(u64::from(self.budget.terms / share));
        let outcome = linear::refute(self.pool, reduced, &mut effort);
        self.facts.work.branches += u64::from(branches - effort.branches);
        self.facts.work.entries += u64::from(work - effort.work);
        let spent = self.pool.is_spent();
        self.pool.restore_work(limit);
        match outcome {
            linear::Relaxed::Closed => Finding::Closed,
            linear::Relaxed::Open if spent => self.terms_spent(share),
            linear::Relaxed::Open => Finding::Open(match (effort.branches, effort.work) {
                (0, _) => format!("linear reasoning does not close (budget: {branches} branches)"),
                (_, 0) => format!("linear reasoning does not close (budget: {work} entries of tableaus)"),
                _ => "linear reasoning finds nothing more to split".to_string(),
            }),
            linear::Relaxed::Candidate(values) => match self.witness(problem.as_ref(), values) {
                Some(witness) => Finding::Candidate(witness),
                None => Finding::Open("a linear solution has no value for a replaced symbol".to_string()),
            },
        }
    }

    fn terms_spent(&self, share: u32) -> Finding {
        let terms = self.budget.terms / share;
        Finding::Open(format!("expressions grow too large (budget: {terms} terms)"))
    }

    /// Number theory and case splits on the facts with the negated goal.
    pub(super) fn cases(&mut self, problem: &mut Option<Reduced>, goal: Option<Expr>, share: u32) -> Finding {
        let Some(reduced) = problem else { return Finding::Open(String::new()) };
        let limit = self.pool.limit_work(u64::from(self.budget.terms / share));
        let proposed = crate::number::solutions(self.pool, reduced);
        let (cases, steps) = (self.budget.branches / share, self.budget.points / share);
        let mut left = Allowance::new(cases, self.budget.work / share, steps);
        let outcome = cases::refute(self.pool, reduced, &mut left);
        self.facts.work += left.spent();
        let spent = self.pool.is_spent();
        self.pool.restore_work(limit);
        for values in proposed {
            if let Some(witness) = self.witness(problem.as_ref(), values)
                && replays(self.pool, self.facts, goal, &witness)
            {
                return Finding::Candidate(witness);
            }
        }
        match outcome {
            linear::Relaxed::Closed => Finding::Closed,
            linear::Relaxed::Open if spent => self.terms_spent(share),
            linear::Relaxed::Open => Finding::Open(match (left.cases, left.steps, left.work) {
                (0, ..) => format!("no proof by cases (budget: {cases} cases)"),
                (_, 0, _) => format!("no proof by number theory (budget: {steps} assignments)"),
                (.., 0) => {
                    format!("no proof by cases (budget: {} entries of tableaus)", self.budget.work / share)
                }
                _ => "no more cases to look at".to_string(),
            }),
            linear::Relaxed::Candidate(values) => match self.witness(problem.as_ref(), values) {
                Some(witness) => Finding::Candidate(witness),
                None => Finding::Open("a solution has no value for a replaced symbol".to_string()),
            },
        }
    }

    /// An assignment of the facts' symbols from one of the reduced problem's.
    pub(super) fn witness(
        &self,
        problem: Option<&Reduced>,
        mut values: FxHashMap<Symbol, Int>,
    ) -> Option<Witness> {
        problem?.extend(self.pool, &mut values)?;
        let free = |low: Option<&Int>, high: Option<&Int>| low.or(high).cloned().unwrap_or_default();
        let value = |(s, low, high)| (s, values.get(&s).cloned().unwrap_or_else(|| free(low, high)));
        Some(self.facts.ranges().map(value).collect())
    }

    /// Puts the facts with `extra` to Z3.
    #[cfg(feature = "smt")]
    pub(super) fn ask(&mut self, extra: &[Expr], share: u32) -> Finding {
        use crate::smt::{NONLINEAR_SHARE, Procedure, Question, Response, check_by, is_nonlinear};
        let rlimit = self.budget.rlimit / share;
        if rlimit == 0 {
            return Finding::Open("the budget leaves Z3 out".to_string());
        }
        let ranges: Vec<_> = self.facts.ranges().map(|(s, l, h)| (s, l.cloned(), h.cloned())).collect();
        let mut conditions: Vec<Expr> = self.facts.parts().iter().map(|(e, _)| *e).collect();
        conditions.extend_from_slice(extra);
        // Each unit of Z3's count takes longer, the more conditions there are.
        let rlimit = rlimit / (conditions.len() / MAX_COUNTED).max(1) as u32;
        let nonzero = self.facts.divisors(self.pool, Some(self.goal));
        if share < NONLINEAR_SHARE && is_nonlinear(self.pool, &conditions) {
            let share = self.budget.rlimit / NONLINEAR_SHARE;
            return Finding::Open(format!("Z3 gave up on a nonlinear question (budget: rlimit {share})"));
        }
        let question = Question { ranges: &ranges, conditions: &conditions, nonzero: &nonzero, rlimit };
        let (response, solver) = check_by(Procedure::Counted, self.pool, &question);
        self.facts.work += Work { solver, ..Work::default() };
        match response {
            Response::Unsatisfiable => Finding::Closed,
            Response::Candidate(model) => Finding::Candidate(model),
            Response::Unknown(reason) => Finding::Open(reason),
        }
    }
}
