//! Errors as they are shown that say no more than others: one finding is one error, and the stronger condition is shown.
//!
//! Of `n >= 3` and `n >= 5` the second is left, and `c % 4 == 0` beside `c == 4` is none. Which conditions follow from others was
//! asked of them as they were recorded; here it is asked of them as they are shown, once it is known what needs them.
use super::examine::Examination;
use super::prove::by_rewriting;
use crate::report::{ConditionKind, GuardReport, GuardVerdict, Traced, origin};
use sizewise_expr::{Expr, Pool};
use sizewise_solve::{Budget, Facts, decide};

/// The most errors that are compared.
const MAX_COMPARED: usize = 16;

/// An error: its place in the report, and its condition as it is shown.
type Shown = (usize, Expr);

impl Examination<'_, '_> {
    /// Marks the errors that say no more than others do. What an operator needs is said beside a stronger condition that only the
    /// export keeps.
    pub(super) fn weaker_ones(&mut self) {
        let violated = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .zip(self.violated.iter().map(|o| o.condition));
        let is_own = |guard: &GuardReport| !guard.follows && guard.kind != ConditionKind::Runtime;
        let own = violated.filter(|(i, _)| is_own(&self.report.guards[*i])).take(MAX_COMPARED);
        let mut kept: Vec<Shown> = own.map(|(i, condition)| (i, self.said(i, condition))).collect();
        // What only the export keeps goes first, then what needs a condition that another one is stronger than.
        let mut tried = kept.clone();
        tried.sort_by_key(|(i, _)| is_needed(&self.report.guards[*i]));
        let mut pool = self.assumptions.env.pool.clone();
        for (i, condition) in tried {
            let others: Vec<Shown> = kept.iter().copied().filter(|(other, _)| *other != i).collect();
            let stronger = others.iter().find(|other| self.imply(&mut pool, &[**other], condition));
            let stronger = stronger.copied();
            if stronger.is_none() && !self.imply(&mut pool, &others, condition) {
                continue;
            }
            kept = others;
            self.report.guards[i].follows = true;
            if let Some((other, _)) = stronger {
                self.say_beside(other, i);
            }
        }
    }

    /// A condition as it is shown.
    fn said(&self, i: usize, condition: Expr) -> Expr {
        self.simple.iter().find(|(at, _)| *at == i).map_or(condition, |(_, simple)| *simple)
    }

    /// Whether errors imply a condition under what the spec says.
    fn imply(&self, pool: &mut Pool, errors: &[Shown], condition: Expr) -> bool {
        if errors.is_empty() {
            return false;
        }
        let mut facts: Facts = self.assumptions.env.known_facts().clone();
        for &(_, error) in errors {
            facts.assume(pool, error);
        }
        decide(pool, &mut facts, condition, &by_rewriting(&Budget::default())).verdict.is_implied()
    }

    /// Says beside an error what an operator needs that the error implies.
    fn say_beside(&mut self, error: usize, weaker: usize) {
        let guards = &mut self.report.guards;
        if is_needed(&guards[error]) || !is_needed(&guards[weaker]) || guards[error].beside.is_some() {
            return;
        }
        guards[error].beside = Some(format!("`{}` is {}", guards[weaker].shown, origin(&guards[weaker])));
    }
}

/// Whether an operator needs the condition of an error.
fn is_needed(guard: &GuardReport) -> bool {
    guard.node.is_some() && guard.traced != Traced::Compared
}
