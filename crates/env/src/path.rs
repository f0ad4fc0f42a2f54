//! Path conditions: what holds while one branch of a program is followed and nowhere else.
//!
//! Inside a branch its condition is a fact. A guard recorded there is needed only where the branch is taken, so it is
//! recorded as `condition implies guard`, and what was learnt inside is forgotten at the branch's end. Where the
//! condition is false at the hints, the traced example does not come this way: hints then decide nothing.
use super::ShapeEnv;
use super::parts::Path;
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Symbol};
use sizewise_solve::Facts;

/// What was known before a branch; give it back to [`ShapeEnv::leave`].
pub struct Outside {
    facts: Facts,
    settled: FxHashMap<Expr, bool>,
    hints_hold: bool,
    path: Path,
}

impl ShapeEnv {
    /// Begins a branch that is taken where `condition` holds; without one data decides, and what the branch needs is
    /// needed of all inputs.
    pub fn enter(&mut self, condition: Option<Expr>) -> Outside {
        self.revise();
        let path = self.path.clone();
        let (facts, settled) = (self.facts.clone(), self.answers.settled.clone());
        let outside = Outside { facts, settled, hints_hold: self.hints_hold, path };
        self.path.depth += 1;
        self.path.declared.clear();
        self.path.chosen_by_data |= condition.is_none_or(|c| self.pool.as_bool(c) == Some(false));
        if let Some(condition) = condition
            && self.pool.as_bool(condition).is_none()
        {
            self.path.conditions.push(condition);
            self.path.off_example |= self.hint(condition).is_some_and(|value| !value.as_bool());
            self.assume(condition);
            let otherwise = self.pool.not(condition);
            self.answers.settled.insert(otherwise, false);
        }
        outside
    }

    /// Ends a branch: forgets what was learnt inside, but not the symbols that were made there.
    pub fn leave(&mut self, outside: Outside) {
        self.revise();
        let inside = std::mem::replace(&mut self.path, outside.path);
        self.facts = outside.facts;
        self.answers.settled = outside.settled;
        self.hints_hold = outside.hints_hold;
        for (symbol, range) in inside.declared {
            self.facts.declare(&mut self.pool, symbol, range.clone());
            self.declared_inside(symbol, &range);
        }
    }

    /// Whether the traced example comes this way, so that hints show what happens.
    pub fn follows_example(&self) -> bool {
        !self.path.off_example
    }

    /// What has to hold of the inputs for a condition to hold wherever the branch at hand is taken.
    pub fn on_path(&mut self, condition: Expr) -> Expr {
        let mut weakened = condition;
        for i in (0..self.path.conditions.len()).rev() {
            weakened = self.pool.implies(self.path.conditions[i], weakened);
        }
        weakened
    }

    /// Notes a symbol that is declared while a branch is followed.
    pub(super) fn declared_inside(&mut self, symbol: Symbol, range: &ValueRange) {
        if self.path.depth > 0 {
            self.path.declared.push((symbol, range.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Clause, Required, ShapeEnv, SymbolInfo};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Expr, Value};

    fn sized(env: &mut ShapeEnv, name: &str, hint: i64) -> Expr {
        let info = SymbolInfo { hint: Some(Value::Int(hint.into())), source: None };
        env.declare(name, ValueRange::at_least(0.into()), info)
    }

    #[test]
    fn a_guard_inside_a_branch_is_needed_only_there() {
        let mut env = ShapeEnv::new();
        let n = sized(&mut env, "n", 6);
        let large = env.pool.gt(n, 4.into());
        let outside = env.enter(Some(large));
        let positive = env.pool.gt(n, 2.into());
        assert_eq!(env.require(positive, Clause::Check), Required::Proved);
        let larger = env.pool.gt(n, 5.into());
        assert_eq!(env.require(larger, Clause::Check), Required::Guarded);
        assert_eq!(env.require(larger, Clause::Check), Required::Proved);
        env.leave(outside);
        let expected = env.pool.implies(large, larger);
        let guards: Vec<Expr> = env.guards().iter().map(|guard| guard.condition).collect();
        assert_eq!(guards, [expected]);
        assert_eq!((env.statically(positive), env.statically(larger)), (None, None));
    }

    #[test]
    fn hints_refute_nothing_where_the_example_does_not_come() {
        let mut env = ShapeEnv::new();
        let n = sized(&mut env, "n", 6);
        let small = env.pool.lt(n, 4.into());
        let two = env.pool.eq(n, 2.into());
        let outside = env.enter(Some(small));
        assert!(!env.follows_example());
        assert_eq!(env.require(two, Clause::Check), Required::Guarded);
        env.leave(outside);
        assert!(env.follows_example());
        assert_eq!(env.require(two, Clause::Check), Required::Refuted);
        let expected = env.pool.implies(small, two);
        assert_eq!(env.guards()[0].condition, expected);
    }

    #[test]
    fn symbols_made_in_a_branch_keep_their_ranges() {
        let mut env = ShapeEnv::new();
        let outer = env.enter(None);
        let inner = env.enter(None);
        let u = env.fresh_unbacked(ValueRange::between(2.into(), 5.into()));
        let least = env.pool.ge(u, 3.into());
        env.assume(least);
        assert_eq!(env.bounds(u).0, Some(3.into()));
        env.leave(inner);
        env.leave(outer);
        assert_eq!(env.bounds(u), (Some(2.into()), Some(5.into())));
    }
}
