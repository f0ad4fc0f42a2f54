//! Violated conditions in their simplest form.
use super::examine::Examination;
use super::simpler::{simpler, with_simple_sizes};
use super::summary;
use crate::report::{ConditionKind, GuardVerdict};
use crate::spec::shapes::bound;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol, Value};
use sizewise_solve::{Budget, Facts, decide, simplify};

/// Shorter conditions without quotients and products are simple enough.
const MAX_SIMPLE: usize = 16;
/// Sizes above this are those of no tensor that is stored.
const FAR: i64 = 1 << 40;
/// The most conditions that are put simply.
const MAX_CONDITIONS: usize = 12;

impl Examination<'_, '_> {
    /// Shows the violated conditions in their simplest form, where the bounds among them hold.
    pub(super) fn put_simply(&mut self, base: &ShapeEnv) {
        let violated: Vec<usize> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .collect();
        let mut pool = base.pool.clone();
        let mut facts = base.known_facts().clone();
        // Those that are errors of their own: what follows from others is not shown.
        let shown = violated.iter().zip(&self.violated).filter(|(i, _)| !self.report.guards[**i].follows);
        let bounds: Vec<Expr> =
            shown.map(|(_, o)| o.condition).filter(|&e| is_bound(&base.pool, e)).collect();
        for &bound in &bounds {
            facts.assume(&mut pool, bound);
        }
        let long = |i: &usize| {
            let guard = &self.report.guards[*i];
            let is_long = guard.shown.len() > MAX_SIMPLE && guard.shown.contains(['%', '(']);
            !guard.follows && (is_long || guard.shown.contains(['/', '*']) || guard.shown.contains("!="))
        };
        let pairs = violated.into_iter().zip(self.violated.iter().map(|o| o.condition));
        let open: Vec<(usize, Expr)> = pairs.filter(|(i, _)| long(i)).take(MAX_CONDITIONS).collect();
        for &(i, condition) in &open {
            let simple = simpler(&mut pool, &facts, &bounds, condition);
            // A bound says no more than itself under the bounds.
            let shorter = |pool: &mut Pool| match bounds.contains(&condition) {
                true => condition,
                false => simplify(pool, &mut facts.clone(), condition, &Budget::small()),
            };
            let simple = simple.unwrap_or_else(|| shorter(&mut pool));
            let simple = with_simple_sizes(&mut pool, &mut facts.clone(), simple);
            self.put(&pool, &facts, i, simple);
        }
        self.never_hold(base);
        // Where some sizes are multiples, the other conditions speak of multiples: `d != 4` is `d >= 8` then.
        let is_congruence = |e: &Expr| {
            let parts = pool.reachable(&[*e]);
            parts.into_iter().any(|part| pool.as_func(part, Func::Mod).is_some())
        };
        let (multiples, others): (Vec<_>, Vec<_>) =
            self.simple.iter().copied().partition(|(_, e)| is_congruence(e));
        let known: Vec<Expr> = bounds.iter().copied().chain(multiples.iter().map(|(_, e)| *e)).collect();
        for &(_, multiple) in &multiples {
            facts.assume(&mut pool, multiple);
        }
        let is_other = |(i, _): &&(usize, Expr)| multiples.iter().all(|(at, _)| at != i);
        for &(i, condition) in open.iter().filter(is_other).filter(|_| !multiples.is_empty()) {
            let known_form = others.iter().find(|(at, _)| *at == i).map_or(condition, |(_, simple)| *simple);
            let found = simpler(&mut pool, &facts, &known, known_form).or_else(|| {
                let found = simplify(&mut pool, &mut facts.clone(), known_form, &Budget::small());
                Some(found).filter(|&found| is_bound(&pool, found))
            });
            if let Some(simple) = found {
                self.simple.retain(|(at, _)| *at != i);
                self.put(&pool, &facts, i, simple);
            }
        }
    }

    /// Shows a condition in a simpler form, if its example breaks that as well.
    fn put(&mut self, pool: &Pool, facts: &Facts, at: usize, simple: Expr) {
        // What never holds has no simpler form that says why.
        if pool.as_bool(simple).is_some() || self.holds_in_example(pool, at, simple) {
            // The other errors' bounds exclude this example, so that it says nothing of the simple form.
            return;
        }
        let shown = summary::condition_in(self.assumptions, pool, facts, simple);
        let before = self.report.guards[at].shown.chars().count();
        if shown.chars().count() < before || is_bound(pool, simple) {
            let guard = &mut self.report.guards[at];
            let before = std::mem::replace(&mut guard.shown, shown);
            guard.recorded.get_or_insert(before);
            self.simple.push((at, simple));
        }
    }

    /// Marks the errors whose conditions hold at no allowed size, as the spec contradicts them, and those that only sizes
    /// above 2^40 break. A condition that holds in the example holds somewhere.
    fn never_hold(&mut self, base: &ShapeEnv) {
        let violated: Vec<usize> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .collect();
        let mut pool = base.pool.clone();
        let is_far = |pool: &Pool, e: Expr| {
            let most = bound(pool, e).and_then(|(_, _, most)| most);
            most.is_some_and(|most| most >= Int::from(FAR))
        };
        let hint = |s: Symbol| base.symbol(s)?.hint.clone();
        for (i, condition) in violated.into_iter().zip(self.violated.iter().map(|o| o.condition)) {
            let guard = &mut self.report.guards[i];
            guard.far = !guard.follows && is_far(&pool, condition);
            let is_own =
                !guard.follows && guard.kind != ConditionKind::Runtime && guard.left_static.is_none();
            if !is_own || pool.eval(condition, hint).is_ok_and(|value| value.as_bool()) {
                continue;
            }
            let opposite = pool.not(condition);
            let mut facts = base.known_facts().clone();
            guard.never = decide(&mut pool, &mut facts, opposite, &Budget::small()).verdict.is_implied();
        }
    }
}

impl Examination<'_, '_> {
    /// Whether a condition holds in the example that breaks another one, or has no value there.
    pub(super) fn holds_in_example(&self, pool: &Pool, at: usize, condition: Expr) -> bool {
        let witness = self.report.guards[at].witness.as_ref();
        let value = |s: Symbol| {
            let number = witness?.get(pool.symbol_name(s))?;
            number.to_string().trim_matches('"').parse::<Int>().ok().map(Value::Int)
        };
        pool.eval(condition, value).map_or(true, |value| value.as_bool())
    }
}

/// Whether a condition bounds a sum of sizes.
pub(super) fn is_bound(pool: &Pool, e: Expr) -> bool {
    let sum = pool.as_func(e, Func::NotPositive);
    sum.is_some_and(|sum| pool.poly(sum[0]).terms.iter().all(|(t, _)| pool.as_symbol(*t).is_some()))
}
