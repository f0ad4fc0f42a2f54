//! What several errors say together of one size: `t % 8 == 0` for `t % (t // 8) == 0` and `t // (t // 8) == 8`.
use super::examine::Examination;
use super::put_simply::is_bound;
use super::readable::readable;
use super::simpler::simpler;
use super::summary;
use crate::report::GuardVerdict;
use sizewise_expr::{Expr, Func, Pool};
use sizewise_solve::{Budget, Facts, decide};

/// The most sizes of which it is looked for.
const MAX_SIZES: usize = 8;
/// Of more errors it is not asked whether they follow.
const MAX_ERRORS: usize = 24;

/// An error: its place among the report's conditions, and its condition.
type Error = (usize, Expr);

impl Examination<'_, '_> {
    /// Shows what the errors that speak of one size say together, where that is simpler. What follows from it is no error of
    /// its own.
    pub(super) fn say_jointly(&mut self) {
        let errors: Vec<Error> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .zip(self.violated.iter().map(|o| o.condition))
            .filter(|(i, _)| !self.report.guards[*i].follows)
            .take(MAX_ERRORS)
            .collect();
        let involved: Vec<usize> = errors.iter().map(|(i, _)| *i).collect();
        let involved: Vec<usize> =
            involved.into_iter().filter(|i| self.report.guards[*i].shown.contains("//")).collect();
        if errors.len() < 2 || involved.is_empty() {
            return;
        }
        let mut pool = self.assumptions.env.pool.clone();
        let mut facts = self.assumptions.env.known_facts().clone();
        let mut said: Vec<usize> = Vec::new();
        let conditions: Vec<Expr> = errors.iter().map(|(_, condition)| *condition).collect();
        for symbol in pool.free_symbols(&conditions).into_iter().take(MAX_SIZES) {
            let own: Vec<Error> =
                errors.iter().copied().filter(|(_, e)| pool.free_symbols(&[*e]) == [symbol]).collect();
            let is_involved = own.iter().any(|(i, _)| involved.contains(i));
            let found = (own.len() > 1 && is_involved).then(|| self.joint(&mut pool, &facts, &own)).flatten();
            let Some(found) = found else { continue };
            for (i, _) in own {
                self.report.guards[i].follows = !found.iter().any(|(shows, _)| *shows == i);
            }
            for (i, part) in found {
                facts.assume(&mut pool, part);
                self.show(&pool, &facts, i, part);
                said.push(i);
            }
        }
        if said.is_empty() {
            return;
        }
        let bounds: Vec<Expr> = conditions.into_iter().filter(|e| is_bound(&pool, *e)).collect();
        for bound in bounds {
            facts.assume(&mut pool, bound);
        }
        for (i, condition) in errors {
            let is_own = said.contains(&i) || is_bound(&pool, condition) || self.report.guards[i].follows;
            if !is_own && decide(&mut pool, &mut facts, condition, &Budget::small()).verdict.is_implied() {
                self.report.guards[i].follows = true;
            }
        }
    }

    /// The parts of what conditions on one size say together, each with an error whose example breaks it.
    fn joint(&self, pool: &mut Pool, facts: &Facts, own: &[Error]) -> Option<Vec<Error>> {
        let conditions: Vec<Expr> = own.iter().map(|(_, condition)| *condition).collect();
        let all = pool.and(&conditions);
        let simple = simpler(pool, facts, &[], all)?;
        let parts = pool.as_func(simple, Func::And).map_or_else(|| vec![simple], <[Expr]>::to_vec);
        let mut free: Vec<usize> = own.iter().map(|(i, _)| *i).collect();
        // What is hardest to break takes its error first: a bound is broken by few examples.
        let mut found = Vec::new();
        for part in parts.into_iter().rev() {
            let at = free.iter().position(|&i| !self.holds_in_example(pool, i, part))?;
            found.push((free.remove(at), part));
        }
        Some(found)
    }

    fn show(&mut self, pool: &Pool, facts: &Facts, at: usize, part: Expr) {
        let shown = summary::shown_in(self.assumptions, pool, readable(pool, facts, part));
        // It is a form of several conditions, of which the module's check at the example is one.
        let guard = &mut self.report.guards[at];
        (guard.shown, guard.recorded) = (shown, None);
        self.simple.retain(|(known, _)| *known != at);
        self.simple.push((at, part));
    }
}
