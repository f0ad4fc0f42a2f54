//! The judge of assignments: the exact evaluator.
use sizewise_expr::{EvalError, Evaluator, Expr, Func, Pool, Symbol, Value};

/// Requirements in addition to the conditions, because construction has dropped them.
#[derive(Clone, Debug, Default)]
pub(super) struct Required {
    /// Divisors that are not to be zero.
    pub nonzero: Vec<Expr>,
    /// Operations that are to have a value.
    pub defined: Vec<Expr>,
}

/// Judges assignments, one after the other.
pub(super) struct Judge<'a> {
    pool: &'a Pool,
    conditions: &'a [Expr],
    goal: Option<Expr>,
    /// Divisors that are not to be zero.
    divisors: Vec<Expr>,
    /// Operations that are to have a value, whether or not the truth of the conditions depends on it.
    partial: Vec<Expr>,
}

/// The truth of the conditions at an assignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Judgement {
    /// The conditions hold, the goal does not.
    Holds,
    /// They do not, or an operation has no value.
    Fails,
    /// A number is too large to be computed.
    Open,
}

impl<'a> Judge<'a> {
    /// A judge of these conditions with the opposite of a goal.
    pub fn new(pool: &'a Pool, conditions: &'a [Expr], required: &Required, goal: Option<Expr>) -> Judge<'a> {
        let Required { nonzero, defined } = required;
        let beside = nonzero.iter().chain(defined).copied();
        let roots: Vec<Expr> = conditions.iter().copied().chain(goal).chain(beside).collect();
        let (mut divisors, mut partial) = (nonzero.clone(), Vec::new());
        for e in pool.reachable(&roots) {
            match pool.as_call(e) {
                Some((Func::FloorDiv | Func::Mod, args)) => divisors.push(args[1]),
                // An integer beside a double may be too large to become one.
                Some((func, _)) if func.is_partial() || pool.may_be_integer(e) => partial.push(e),
                _ => {}
            }
        }
        Judge { pool, conditions, goal, divisors, partial }
    }

    /// The truth of the conditions at an assignment.
    pub fn at(&self, value: impl Fn(Symbol) -> Option<Value>) -> Judgement {
        let mut evaluator = Evaluator::new(self.pool, value);
        let mut judgement = Judgement::Holds;
        for (e, wanted) in self.wanted() {
            match evaluator.truth(e) {
                Ok(truth) if wanted.is_none_or(|wanted| wanted == truth) => {}
                Err(EvalError::TooLarge | EvalError::Unbound(_)) => judgement = Judgement::Open,
                _ => return Judgement::Fails,
            }
        }
        judgement
    }

    /// What does not hold at an assignment.
    pub fn failing(&self, value: impl Fn(Symbol) -> Option<Value>) -> Vec<Expr> {
        let mut evaluator = Evaluator::new(self.pool, value);
        let mut holds = |e: Expr, wanted: Option<bool>| {
            evaluator.truth(e).is_ok_and(|truth| wanted.is_none_or(|wanted| wanted == truth))
        };
        self.wanted().filter(|&(e, wanted)| !holds(e, wanted)).map(|(e, _)| e).collect()
    }

    /// Everything that is looked at, with the truth that it is to have; any, if it only has to have a value.
    fn wanted(&self) -> impl Iterator<Item = (Expr, Option<bool>)> {
        let nonzero = self.divisors.iter().map(|&d| (d, Some(true)));
        let defined = self.partial.iter().map(|&e| (e, None));
        let truths = self.conditions.iter().map(|&c| (c, Some(true)));
        nonzero.chain(defined).chain(truths).chain(self.goal.map(|g| (g, Some(false))))
    }
}
