//! Facts that contradict each other: the smallest set that does.
use super::ShapeEnv;
use super::error::UnsatCore;
use sizewise_expr::{Expr, Pool};
use sizewise_solve::{self as decide, Budget, FactId, Facts, Premise};

impl ShapeEnv {
    /// What a condition contradicts.
    pub(super) fn unsat_core_with(&mut self, condition: Expr) -> UnsatCore {
        let mut facts = self.facts.clone();
        let id = facts.assume(&mut self.pool, condition);
        let core = decide::unsat_core(&mut self.pool, &mut facts, &Budget::default()).unwrap_or_default();
        let others = core.iter().filter(|p| **p != Premise::Fact(id));
        let facts = others.filter_map(|p| text(self, &facts, p)).collect();
        UnsatCore { condition: Some(self.text(condition)), facts }
    }

    /// The smallest set of facts that contradict each other, if they do.
    ///
    /// ```
    /// use sizewise_expr::range::ValueRange;
    /// use sizewise_env::ShapeEnv;
    /// let mut env = ShapeEnv::new();
    /// let (u, v) = (env.fresh_unbacked(ValueRange::all()), env.fresh_unbacked(ValueRange::all()));
    /// let two = env.pool.int(2);
    /// let rest = env.pool.modulo(u, two);
    /// let (even, odd) = (env.pool.eq(rest, 0.into()), env.pool.eq(rest, 1.into()));
    /// let less = env.pool.lt(u, v);
    /// for fact in [even, less, odd] {
    ///     env.assume(fact);
    /// }
    /// let core = env.unsat_core().map(|core| core.facts);
    /// assert_eq!(core, Some(vec!["u0 % 2 == 0".to_string(), "u0 % 2 == 1".to_string()]));
    /// ```
    pub fn unsat_core(&mut self) -> Option<UnsatCore> {
        let premises = decide::unsat_core(&mut self.pool, &mut self.facts, &Budget::default())?;
        let facts = self.facts.clone();
        let facts = premises.iter().filter_map(|p| text(self, &facts, p)).collect();
        Some(UnsatCore { condition: None, facts })
    }
}

fn text(env: &mut ShapeEnv, facts: &Facts, premise: &Premise) -> Option<String> {
    let condition = condition(&mut env.pool, facts, premise)?;
    Some(env.text(condition))
}

/// A premise as a condition.
pub(super) fn condition(pool: &mut Pool, facts: &Facts, premise: &Premise) -> Option<Expr> {
    let bounds = |symbol| facts.ranges().find(|(s, ..)| *s == symbol);
    match *premise {
        Premise::Fact(FactId(i)) => facts.conditions().get(i as usize).copied(),
        Premise::Lower(symbol) => {
            let (e, low) = (pool.symbol_expr(symbol), pool.int(bounds(symbol)?.1?.clone()));
            Some(pool.ge(e, low))
        }
        Premise::Upper(symbol) => {
            let (e, high) = (pool.symbol_expr(symbol), pool.int(bounds(symbol)?.2?.clone()));
            Some(pool.le(e, high))
        }
        Premise::Nonzero(e) => Some(pool.ne(e, Expr::ZERO)),
    }
}
