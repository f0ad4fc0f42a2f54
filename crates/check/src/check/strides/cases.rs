//! Layout choices by case: small sizes are propagated separately.
//!
//! The stride of a dimension with one element does not matter, and operators lay out results differently if
//! there is such a dimension. So a layout choice that holds for all larger sizes may not hold there. The program
//! is propagated again with that size in place of its symbol, which gives the strides that views meet there.
//! What is proved in each case holds for all sizes.
use super::needs_strides_of;
use crate::check::evaluate::Evaluator;
use crate::check::obligation::{Obligation, Source, step_obligations};
use crate::check::prove::{Proof, Prover};
use crate::propagate::{propagate, propagate_as_computed};
use crate::report::GuardVerdict;
use crate::spec::Assumptions;
use sizewise_env::ShapeEnv;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_solve::{Budget, Verdict, decide};

/// The most cases for which the program is propagated again.
const MAX_PROPAGATIONS: u32 = 24;
/// Sizes up to this one are separate cases.
const LARGEST_CASE: i64 = 4;
/// The least size that is neither empty nor fits every other by broadcasting.
const ORDINARY: i64 = 2;

/// The result of all cases.
pub(in crate::check) enum Settled {
    /// The program runs on every allowed input, or fails for reasons other than strides.
    Proved,
    /// In one case a condition is violated.
    Broken(Box<Proof>),
    /// A case stays open.
    Open,
}

/// Checks cases until the budget of propagations is used up.
pub(in crate::check) struct Cases<'a, 'p> {
    pub evaluator: &'a Evaluator<'p>,
    pub budget: Budget,
    left: u32,
    /// Sizes up to this one are separate cases.
    largest: i64,
    /// Whether only what runs counts, and what is recorded of the outputs, but not of values inside the program.
    as_it_runs: bool,
}

impl<'a, 'p> Cases<'a, 'p> {
    pub fn new(evaluator: &'a Evaluator<'p>, budget: Budget) -> Cases<'a, 'p> {
        Cases { evaluator, budget, left: MAX_PROPAGATIONS, largest: LARGEST_CASE, as_it_runs: false }
    }

    /// For conditions at whose counterexamples the program runs: of values inside it, what is recorded may be wrong at sizes
    /// of 0 and nowhere else.
    pub fn as_it_runs(evaluator: &'a Evaluator<'p>, budget: Budget) -> Cases<'a, 'p> {
        Cases { largest: 0, as_it_runs: true, ..Cases::new(evaluator, budget) }
    }

    /// Decides the conditions that a propagation has left open. Where they do not hold, sizes of 0 and 1 are put
    /// in place of a symbol.
    pub fn settle(&mut self, case: &Assumptions<'p>, open: &[Expr]) -> Settled {
        let mut rest = case.clone();
        loop {
            let left_open: Vec<Expr> =
                open.iter().copied().filter(|&condition| !self.holds(&mut rest, condition)).collect();
            let Some((name, least)) = smallest(&mut rest, &left_open, self.largest) else {
                return if left_open.is_empty() { Settled::Proved } else { Settled::Open };
            };
            match self.prove(&rest.with(name, least.clone())) {
                Settled::Proved => {}
                other => return other,
            }
            let above = ValueRange::at_least(&least + &Int::ONE);
            if !rest.env.narrow(name, above) {
                return Settled::Proved;
            }
        }
    }

    /// Whether everything is proved with a value in place of a symbol; not so if the symbol cannot have the value.
    pub fn proves(&mut self, root: &Assumptions<'p>, symbol: Symbol, value: &Int) -> bool {
        let is_possible = root.env.known_facts().range(symbol).is_none_or(|range| range.contains(value));
        is_possible && matches!(self.prove(&root.with(symbol, value.clone())), Settled::Proved)
    }

    fn holds(&self, case: &mut Assumptions<'p>, condition: Expr) -> bool {
        let (pool, facts) = case.env.facts();
        matches!(
            decide(pool, facts, condition, &self.budget).verdict,
            Verdict::Implied { .. } | Verdict::Inconsistent { .. }
        )
    }

    /// Propagates the program in a case and proves what it needs there.
    fn prove(&mut self, case: &Assumptions<'p>) -> Settled {
        let Some(left) = self.left.checked_sub(1) else { return Settled::Open };
        self.left = left;
        let (program, operators) = (self.evaluator.contract().program, self.evaluator.operators());
        let run = match self.as_it_runs {
            true => propagate_as_computed(program, case, operators),
            false => propagate(program, case, operators),
        };
        let Ok(mut run) = run else { return Settled::Open };
        // A kernel may not know what happens at this size, and data may decide whether the program runs there: the program
        // as it is recorded does not check that.
        if self.as_it_runs && !(run.unsupported.is_empty() && run.asserts.is_empty()) {
            return Settled::Open;
        }
        let sound = run.failures.is_empty() && run.mismatches.is_empty() && run.unreadable.is_empty();
        if !sound {
            return self.example(case);
        }
        let mut base = case.env.clone();
        let prover =
            Prover { assumptions: case, evaluator: self.evaluator, budget: self.budget.clone(), emit: None };
        let mut open: Vec<Expr> = Vec::new();
        for obligation in step_obligations(&run) {
            let proof = prover.decide(&mut base, &mut run.env, &obligation);
            match proof.verdict {
                GuardVerdict::Implied => {}
                GuardVerdict::Violated => return Settled::Broken(Box::new(proof)),
                GuardVerdict::Unknown => open.push(obligation.condition),
            }
        }
        for (origin, condition) in run.layout_choices.clone() {
            if needs_strides_of(&run, origin).is_none() {
                continue;
            }
            let obligation = choice(condition, Some(origin));
            if prover.decide(&mut base, &mut run.env, &obligation).verdict != GuardVerdict::Implied {
                open.push(condition);
            }
        }
        if open.is_empty() {
            return Settled::Proved;
        }
        self.settle(case, &open)
    }

    /// A step of a case fails: sizes that are refused are a counterexample. The smallest are tried, and ordinary ones, as what is
    /// empty or has one element fits almost everything.
    fn example(&self, case: &Assumptions<'p>) -> Settled {
        let mut ordinary = case.env.clone();
        let symbols: Vec<Symbol> = ordinary.known_facts().ranges().map(|(symbol, ..)| symbol).collect();
        for symbol in symbols {
            // A symbol with no such size keeps those that it has.
            let mut narrowed = ordinary.clone();
            if narrowed.narrow(symbol, ValueRange::at_least(ORDINARY.into())) {
                ordinary = narrowed;
            }
        }
        for env in [case.env.clone(), ordinary] {
            if let Some(proof) = self.refused(case, env) {
                return Settled::Broken(Box::new(proof));
            }
        }
        Settled::Open
    }

    /// Sizes that `env` allows, if the program refuses them.
    fn refused(&self, case: &Assumptions<'p>, mut env: ShapeEnv) -> Option<Proof> {
        let (pool, facts) = env.facts();
        let never = pool.bool(false);
        let Verdict::Refuted { witness } = decide(pool, facts, never, &self.budget).verdict else {
            return None;
        };
        let prover =
            Prover { assumptions: case, evaluator: self.evaluator, budget: self.budget.clone(), emit: None };
        let proof = prover.refuted(&choice(never, None), witness, "search");
        (proof.verdict == GuardVerdict::Violated).then_some(proof)
    }
}

/// A choice of strides as something to be proved.
pub(in crate::check) fn choice(condition: Expr, origin: Option<sizewise_env::Origin>) -> Obligation {
    Obligation { condition, source: Source::Strides, origin }
}

/// The symbol in conditions with the least possible value, if that is small enough to be a case.
fn smallest(case: &mut Assumptions, conditions: &[Expr], largest: i64) -> Option<(Symbol, Int)> {
    let symbols = case.env.pool.free_symbols(conditions);
    let mut least: Option<(Symbol, Int)> = None;
    for symbol in symbols {
        let e = case.env.pool.symbol_expr(symbol);
        let (Some(lower), upper) = case.env.bounds(e) else { continue };
        let is_point = upper.is_some_and(|upper| upper == lower);
        if case.env.symbol(symbol).is_none() || is_point || lower > largest.into() || lower.is_negative() {
            continue;
        }
        if least.as_ref().is_none_or(|(_, other)| lower < *other) {
            least = Some((symbol, lower));
        }
    }
    least
}
