//! Violated conditions in their simplest form.
use super::examine::Examination;
use super::simpler::simpler;
use super::summary;
use crate::report::GuardVerdict;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol, Value};

/// Shorter conditions without quotients are simple enough.
const MAX_SIMPLE: usize = 16;
/// The most conditions that are put simply.
const MAX_CONDITIONS: usize = 12;

impl Examination<'_, '_> {
    /// Shows the violated conditions in their simplest form, where the bounds among them hold.
    pub(super) fn put_simply(&mut self, base: &ShapeEnv) {
        let violated: Vec<usize> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .collect();
        let is_bound = |e: Expr| {
            let sum = base.pool.as_func(e, Func::NotPositive);
            sum.is_some_and(|sum| {
                base.pool.poly(sum[0]).terms.iter().all(|(t, _)| base.pool.as_symbol(*t).is_some())
            })
        };
        let mut pool = base.pool.clone();
        let mut facts = base.known_facts().clone();
        // Those that are errors of their own: what follows from others is not shown.
        let shown = violated.iter().zip(&self.violated).filter(|(i, _)| !self.report.guards[**i].follows);
        let bounds: Vec<Expr> = shown.map(|(_, o)| o.condition).filter(|&e| is_bound(e)).collect();
        for &bound in &bounds {
            facts.assume(&mut pool, bound);
        }
        let long = |i: &usize| {
            let guard = &self.report.guards[*i];
            let is_long = guard.shown.len() > MAX_SIMPLE && guard.shown.contains(['%', '(']);
            !guard.follows && (is_long || guard.shown.contains('/'))
        };
        let pairs = violated.into_iter().zip(self.violated.iter().map(|o| o.condition));
        let open: Vec<(usize, Expr)> = pairs.filter(|(i, _)| long(i)).take(MAX_CONDITIONS).collect();
        for (i, condition) in open {
            let Some(simple) = simpler(&mut pool, &facts, &bounds, condition) else { continue };
            if self.holds_in_example(&pool, i, simple) {
                // The other errors' bounds exclude this example, so that it says nothing of the simple form.
                continue;
            }
            let shown = summary::shown_in(self.assumptions, &pool, simple);
            if shown.len() < self.report.guards[i].shown.len() {
                self.report.guards[i].shown = shown;
            }
        }
    }

    /// Whether a condition holds in the example that breaks another one, or has no value there.
    fn holds_in_example(&self, pool: &Pool, at: usize, condition: Expr) -> bool {
        let witness = self.report.guards[at].witness.as_ref();
        let value = |s: Symbol| {
            let number = witness?.get(pool.symbol_name(s))?;
            number.to_string().trim_matches('"').parse::<Int>().ok().map(Value::Int)
        };
        pool.eval(condition, value).map_or(true, |value| value.as_bool())
    }
}
