//! Long-lived environments: what questions leave behind is given up from time to time.
use super::guard::{Guard, RuntimeAssert};
use super::parts::{Answers, Computed, Records};
use super::{Env, ShapeEnv};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Handles, Moved};

/// An [`Env`] of fewer expressions than this is not compacted.
const MIN_EXPRESSIONS: usize = 1 << 12;

/// It is once it has this many times the expressions that it began with.
const GROWTH: usize = 8;

impl Handles for Guard {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit(&mut self.condition);
    }
}

impl Handles for RuntimeAssert {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit(&mut self.condition);
    }
}

impl Handles for Records {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.guards.each(visit);
        self.refused.each(visit);
        for asserts in [&mut self.asserts, &mut self.stated] {
            asserts.each(visit);
        }
        for conditions in [&mut self.left_out, &mut self.equations] {
            conditions.each(visit);
        }
    }
}

impl ShapeEnv {
    /// Gives up what earlier questions have left behind: expressions that are no part of a fact, of a record or of
    /// `kept`, and what was derived from the facts. The environment goes on in a new pool, so handles made before are
    /// of no use to it, and nothing tells them from new ones. Hand over whatever holds some that are still needed; it
    /// comes back with the new ones. Symbols keep their numbers.
    ///
    /// What followed still follows: answers about conditions that are kept are remembered, others found again. A
    /// clone of the environment, and a [`StrideNotes`](super::StrideNotes), stay with the pool that was left.
    ///
    /// While a branch is followed nothing is done: what is known outside of it has handles of the pool, too.
    ///
    /// ```
    /// use sizewise_env::{DimDynamic, ShapeEnv};
    /// # fn main() -> Result<(), sizewise_env::EnvError> {
    /// let mut env = ShapeEnv::new();
    /// let x = env.create("L['x'].size()[0]", 6, DimDynamic::Dynamic, None)?;
    /// for i in 0..1_000 {
    ///     let open = env.pool.gt(x, (i + 10).into());
    ///     env.statically(open);
    /// }
    /// assert!(env.pool.len() > 1_000);
    /// let x = env.compact(x);
    /// assert!(env.pool.len() < 10);
    /// assert_eq!(env.text(x), "s77");
    /// # Ok(()) }
    /// ```
    #[must_use = "handles made before are of no use to the environment"]
    pub fn compact<K: Handles>(&mut self, mut kept: K) -> K {
        if self.path.depth > 0 {
            return kept;
        }
        let mut roots = self.recorded();
        self.facts.each_assumed(&mut |e| roots.push(e));
        kept.each(&mut |e| roots.push(*e));
        let (mut pool, moved) = self.pool.compacted(&roots);
        self.facts = self.facts.moved(&mut pool, &moved);
        self.pool = pool;
        moved.exchange(&mut kept);
        self.exchange(&moved);
        kept
    }

    /// The expressions of records, and the conditions that the trace goes by.
    fn recorded(&mut self) -> Vec<Expr> {
        let mut roots: Vec<Expr> = self.answers.answered.iter().copied().collect();
        self.records.each(&mut |e| roots.push(*e));
        roots.extend(self.strides.choices.iter().map(|(held, _)| *held));
        roots.extend(self.strides.chosen.keys());
        roots.extend(self.replacements.by.values());
        // A fact settles its opposite, too.
        for condition in self.facts.conditions() {
            let opposite = self.pool.not(*condition);
            roots.extend([*condition, opposite].iter().filter(|e| self.answers.settled.contains_key(e)));
        }
        roots
    }

    fn exchange(&mut self, moved: &Moved) {
        moved.exchange(&mut self.records);
        for (held, _) in &mut self.strides.choices {
            moved.exchange(held);
        }
        for by in self.replacements.by.values_mut() {
            moved.exchange(by);
        }
        self.strides.chosen = known_of(&self.strides.chosen, moved);
        self.answers = Answers {
            settled: known_of(&self.answers.settled, moved),
            open: known_of(&self.answers.open, moved),
            answered: self.answers.answered.iter().filter_map(|e| moved.get(*e)).collect(),
            ..self.answers
        };
        self.symbols.hints.clear();
        self.computed = Computed::default();
    }
}

/// What is known of the expressions that were moved.
fn known_of<T: Copy>(known: &FxHashMap<Expr, T>, moved: &Moved) -> FxHashMap<Expr, T> {
    known.iter().filter_map(|(e, value)| Some((moved.get(*e)?, *value))).collect()
}

impl Env {
    /// Gives up what earlier questions have left behind, where it is much more than the facts. Nobody holds handles.
    pub(super) fn stay_small(&mut self) {
        if self.pool.len() < MIN_EXPRESSIONS.max(GROWTH.saturating_mul(self.began_with)) {
            return;
        }
        self.premises.compact(&mut self.pool);
        self.began_with = self.pool.len();
    }
}

#[cfg(test)]
mod tests {
    use crate::{Clause, Env, Required, ShapeEnv, SymbolInfo};
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{Expr, Value};
    use sizewise_solve::Budget;

    fn sized(env: &mut ShapeEnv, name: &str, hint: i64) -> Expr {
        let info = SymbolInfo { hint: Some(Value::Int(hint.into())), source: None };
        env.declare(name, ValueRange::at_least(2.into()), info)
    }

    #[test]
    fn records_facts_and_replacements_stay() {
        let mut env = ShapeEnv::new();
        let (n, m) = (sized(&mut env, "n", 6), sized(&mut env, "m", 12));
        let u = env.fresh_unbacked(ValueRange::all());
        let conditions = {
            let pool = &mut env.pool;
            let half = pool.floor_div(m, 2.into());
            [pool.eq(half, n), pool.le(u, n), pool.gt(m, 3.into())]
        };
        for (condition, expected) in
            conditions.into_iter().zip([Required::Guarded, Required::Asserted, Required::Proved])
        {
            assert_eq!(env.require(condition, Clause::Check), expected);
        }
        let equal = env.pool.eq(u, m);
        env.assume(equal);
        let texts = |env: &mut ShapeEnv| -> Vec<String> {
            let recorded = env.guards().iter().map(|guard| guard.condition);
            let recorded: Vec<Expr> =
                recorded.chain(env.runtime_asserts().iter().map(|assert| assert.condition)).collect();
            let by = env.replacements().into_iter().map(|(_, by)| by);
            recorded.into_iter().chain(by).map(|e| env.text(e)).collect()
        };
        let before = texts(&mut env);
        let [n, u] = env.compact([n, u]);
        assert_eq!(texts(&mut env), before);
        let below = env.pool.le(u, n);
        assert_eq!(
            (env.statically(below), env.require(below, Clause::Check)),
            (Some(true), Required::Proved)
        );
        let replaced = env.replace(u);
        assert_eq!(env.text(replaced), "m");
    }

    #[test]
    fn what_one_case_of_a_disjunction_says_follows_again_when_another_fact_came_later() {
        let mut env = ShapeEnv::new();
        for name in ["s0", "s1", "s2", "u0"] {
            let info = SymbolInfo { hint: None, source: None };
            env.declare(name, ValueRange::new(0, 4).expect("not empty"), info);
        }
        let condition = |env: &mut ShapeEnv, text: &str| {
            sizewise_expr::text::read::closed(&mut env.pool, text).expect(text).expr
        };
        // Only the first case is possible. It says more of s2 when s0 is known to be 4.
        let cases = "Or(And(s2//s0 >= 1, Ne(s0*s0, 1)), And(Eq(s2//s0, 0), Eq(s0*s0, 1)))";
        for text in ["s1 >= 1", "s1 <= s2", "Eq(s0, s1 + 2)", "Eq(s1, u0 + 2)", cases] {
            let fact = condition(&mut env, text);
            env.assume(fact);
        }
        for compacted in [false, true] {
            let goal = condition(&mut env, "s0 <= s2");
            assert_eq!(env.statically(goal), Some(true), "compacted: {compacted}");
            let () = env.compact(());
        }
    }

    #[test]
    fn a_contradiction_stays_one() {
        let mut env = ShapeEnv::new();
        let n = sized(&mut env, "n", 6);
        let symbol = env.pool.as_symbol(n).expect("a symbol");
        assert!(!env.narrow(symbol, ValueRange::between((-4).into(), 1.into())));
        let before = env.unsat_core();
        let n = env.compact(n);
        assert_eq!(env.pool.as_symbol(n), Some(symbol));
        assert_eq!(env.unsat_core(), before);
        let core = before.map(|core| core.facts);
        assert!(core.is_some(), "{core:?}");
    }

    #[test]
    fn while_a_branch_is_followed_nothing_moves() {
        let mut env = ShapeEnv::new();
        let n = sized(&mut env, "n", 6);
        let large = env.pool.gt(n, 4.into());
        let (outside, stored) = (env.enter(Some(large)), env.pool.len());
        assert_eq!((env.compact(n), env.pool.len()), (n, stored));
        env.leave(outside);
        let n = env.compact(n);
        assert!(env.pool.len() < stored);
        let large = env.pool.gt(n, 4.into());
        assert_eq!(env.statically(large), None);
    }

    #[test]
    fn environments_that_are_asked_by_text_stay_small() {
        let mut env = Env::new();
        env.declare("a", 1, None).declare("b", 1, None);
        env.assume("a <= 4*b").expect("a condition");
        for i in 0..4_000 {
            let goal = format!("a <= 4*b + {}", i % 7);
            if i % 400 == 0 {
                let answer = env.ask(&goal, &Budget::small()).expect("a condition");
                assert!(answer.is_implied() && answer.because == ["a <= 4*b"], "{goal}: {answer}");
            }
            let goal = format!("a*b + {i} >= 0");
            assert!(env.ask(&goal, &Budget::small()).expect("a condition").is_implied(), "{goal}");
        }
        assert!(env.stored() < 2 * super::MIN_EXPRESSIONS, "{}", env.stored());
    }
}
