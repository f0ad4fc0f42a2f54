//! What operators do with the inputs of a counterexample where the exported module's own checks do not come first.
//!
//! An exported module asks its guards and assertions before its operators see anything, so a guard that torch recorded for what
//! an operator needs hides the operator. Where an operator refuses the counterexample, it is what needs the condition; where all
//! take it, only the export keeps it.
use super::evaluate::Unchecked;
use super::examine::Examination;
use super::nearby::is_check;
use super::place::place;
use crate::propagate::Step;
use crate::report::{ConditionKind, GuardReport, GuardVerdict, Traced};
use sizewise_env::Clause;
use sizewise_expr::{Expr, Int, Symbol, Value as Number};
use sizewise_solve::Witness;

/// The most errors whose counterexamples are run.
const MAX_RUN: usize = 12;
/// How far from a counterexample others are looked for, and how many are run.
const NEARBY: [i64; 8] = [1, -1, 2, -2, 3, -3, 4, -4];
const MAX_NEARBY: usize = 6;

impl Examination<'_, '_> {
    /// Names the operators that refuse counterexamples of which only guards, assertions and ranges have been named so far, and says
    /// where none does.
    pub(super) fn without_checks(&mut self) {
        let violated: Vec<usize> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .collect();
        let own = violated.into_iter().take(self.violated.len()).enumerate();
        let own = own.filter(|(_, i)| self.hides_operators(*i)).take(MAX_RUN).collect::<Vec<_>>();
        for (at, i) in own {
            let Some(witness) = self.witness(i) else { continue };
            let Some(shapes) = self.silent_prover().shapes_at(&witness) else { continue };
            match self.evaluator.unchecked(&shapes) {
                Unchecked::Runs => self.report.guards[i].unneeded = true,
                Unchecked::Fails { step, clause, message } if !self.is_of_another(at, i, &step, &clause) => {
                    let is_new = names_none(&self.report.guards[i]);
                    if !is_new || !self.runs_nearby(at, &witness) {
                        refused_by(&mut self.report.guards[i], &step, clause, &message);
                    }
                }
                _ => {}
            }
        }
    }

    /// Whether the exported module's own check is all that an error names.
    fn hides_operators(&self, i: usize) -> bool {
        let guard = &self.report.guards[i];
        let is_check = guard.node.is_none() || is_assertion(guard);
        let is_on_sizes = !matches!(guard.kind, ConditionKind::Runtime | ConditionKind::Overflow);
        !guard.follows && is_on_sizes && (is_check || says_check(guard))
    }

    /// The counterexample of an error.
    fn witness(&self, i: usize) -> Option<Witness> {
        let pool = &self.assumptions.env.pool;
        let sizes = self.report.guards[i].witness.as_ref()?.iter();
        sizes
            .map(|(name, size)| {
                let size = size.to_string().trim_matches('"').parse::<Int>().ok()?;
                Some((pool.find_symbol(name)?, size))
            })
            .collect()
    }

    /// Whether all operators take other sizes near a counterexample that break the condition too, and no other one: what fails at
    /// the counterexample then needs less.
    fn runs_nearby(&self, at: usize, witness: &Witness) -> bool {
        let env = &self.assumptions.env;
        let (pool, facts) = (&env.pool, env.known_facts());
        let condition = self.violated[at].condition;
        let guards = self.report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated);
        let own = self.violated.iter().zip(guards).enumerate().filter(|(_, (_, guard))| !guard.follows);
        let others: Vec<Expr> =
            own.filter(|(other, _)| *other != at).map(|(_, (o, _))| o.condition).collect();
        let symbols = pool.free_symbols(&[condition]);
        let moved = NEARBY.iter().flat_map(|by| symbols.iter().map(move |symbol| (*symbol, *by)));
        let mut tried = 0;
        for (symbol, by) in moved {
            let mut sizes = witness.clone();
            let Some((_, size)) = sizes.iter_mut().find(|(known, _)| *known == symbol) else { continue };
            *size = &*size + &Int::from(by);
            let is_in_range =
                facts.range(symbol).is_none_or(|range| range.contains(size)) && !size.is_negative();
            let value = |s: Symbol| {
                let given =
                    sizes.iter().find(|(known, _)| *known == s).map(|(_, size)| Number::Int(size.clone()));
                given.or_else(|| env.symbol(s)?.hint.clone())
            };
            let holds = |e: Expr| pool.eval(e, value).ok().map(|value| value.as_bool());
            let is_allowed = facts.conditions().iter().all(|&e| holds(e) == Some(true));
            let is_alone = others.iter().all(|&e| holds(e) == Some(true));
            if !(is_in_range && is_allowed && is_alone && holds(condition) == Some(false)) {
                continue;
            }
            let Some(shapes) = self.silent_prover().shapes_at(&sizes) else { continue };
            tried += 1;
            if matches!(self.evaluator.unchecked(&shapes), Unchecked::Runs) {
                return true;
            }
            if tried == MAX_NEARBY {
                break;
            }
        }
        false
    }

    /// Whether another error that the counterexample breaks as well names what fails there.
    fn is_of_another(&self, at: usize, i: usize, step: &Step, clause: &Option<String>) -> bool {
        let guards = self.report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated);
        let pool = &self.assumptions.env.pool;
        self.violated.iter().zip(guards).enumerate().any(|(other, (obligation, guard))| {
            let is_same = guard.node.as_deref() == Some(&*step.node()) && guard.clause == *clause;
            other != at && !guard.follows && is_same && !self.holds_in_example(pool, i, obligation.condition)
        })
    }
}

/// Whether an error names no operator yet, and may name one.
fn names_none(guard: &GuardReport) -> bool {
    guard.node.is_none() && guard.traced != Traced::Asked || is_assertion(guard)
}

/// Whether an assertion of numbers is what an error names.
fn is_assertion(guard: &GuardReport) -> bool {
    guard.clause.as_deref() == Some(Clause::ScalarAssertion.name())
}

/// Whether what is said to happen is a check of the module, and no operator's.
fn says_check(guard: &GuardReport) -> bool {
    guard.consequence.as_deref().is_some_and(is_check)
}

/// Says that an operator refuses the counterexample.
fn refused_by(guard: &mut GuardReport, step: &Step, clause: Option<String>, message: &str) {
    if names_none(guard) {
        (guard.node, guard.op, guard.clause) = (Some(step.node()), Some(step.op()), clause);
        guard.more_nodes = 0;
        if step.code().is_some() || guard.code.is_none() {
            place(guard, step, Traced::Fails);
        }
        guard.traced = Traced::Fails;
    }
    if says_check(guard) && guard.node.as_deref() == Some(&*step.node()) {
        guard.consequence =
            Some(format!("{} fails: {message} (the exported module refuses it before)", step.node()));
    }
}
