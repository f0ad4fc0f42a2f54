//! Sizes that may show a violation: first those near the example that break one condition alone.
use super::{Check, Decided, MAX_FOLDED, assume_existing, decide};
use rustc_hash::FxHashMap;
use sizewise_expr::{Evaluator, Expr, Int, Symbol, Value};

/// Sizes of inputs.
type Assigned = FxHashMap<String, Vec<i64>>;

/// The most neighbours of the example of either kind that are tried for a condition.
const MAX_NEIGHBOURS: usize = 2;

/// For a size above this one, smaller ones are tried before it.
const LARGE: i64 = 64;

impl Check<'_> {
    /// Sizes that may show that a condition is violated, the best first. `witness` is an assignment at which it is.
    pub(super) fn candidates(
        &self,
        condition: Expr,
        witness: &dyn Fn(Symbol) -> Option<i64>,
    ) -> Vec<Assigned> {
        let (mut found, others) = self.neighbours(condition);
        if found.is_empty() {
            found.extend(self.breaking_alone(condition).into_iter().flatten());
        }
        found.extend(others);
        found.extend(self.near(condition, witness));
        found
    }

    /// Sizes that may break a condition of a broadcast in every way that its operands have: those that break it as the
    /// example has it may broadcast another way.
    pub(super) fn breaking_wide(&self, condition: Expr) -> Vec<Assigned> {
        let Some(&wide) = self.wide.get(&condition) else { return Vec::new() };
        let mut found = self.breaking_alone(wide).unwrap_or_default();
        let mut env = self.symbolic.env.clone();
        let (pool, facts) = env.facts();
        if let Decided::Refuted { witness } = decide(pool, facts, wide, &self.budget).verdict {
            let value =
                |symbol: Symbol| witness.iter().find(|(s, _)| *s == symbol).and_then(|(_, v)| v.to_i64());
            found.extend(self.near(wide, &|symbol| value(symbol).or_else(|| self.symbolic.hint(symbol))));
        }
        found
    }

    /// Sizes that differ from the example in one symbol and break the condition: those that break it alone, and others.
    fn neighbours(&self, condition: Expr) -> (Vec<Assigned>, Vec<Assigned>) {
        let pool = &self.symbolic.env.pool;
        let guards = self.walk.env.guards();
        let own = self.as_walked(condition);
        let (mut alone, mut others) = (Vec::new(), Vec::new());
        for symbol in pool.free_symbols(&[condition]) {
            let Some(hint) = self.symbolic.hint(symbol) else { continue };
            let near = [
                hint.checked_add(1),
                hint.checked_sub(1),
                hint.checked_mul(2),
                Some(1),
                Some(2),
                Some(3),
                self.first_failing(condition, symbol, hint),
            ];
            for value in near.into_iter().flatten() {
                if value == hint {
                    continue;
                }
                let assigned = |s: Symbol| if s == symbol { Some(value) } else { self.symbolic.hint(s) };
                let number = |s: Symbol| assigned(s).map(|value| Value::Int(value.into()));
                let mut evaluator = Evaluator::new(pool, number);
                if evaluator.truth(condition) != Ok(false) {
                    continue;
                }
                let mut further = guards.iter().filter(|guard| guard.condition != own).take(MAX_FOLDED);
                let is_alone = further.all(|guard| evaluator.truth(guard.condition) != Ok(false));
                let list = if is_alone { &mut alone } else { &mut others };
                if list.len() < MAX_NEIGHBOURS {
                    list.extend(self.symbolic.at(assigned));
                }
            }
        }
        (alone, others)
    }

    /// A condition as the walk has written it.
    pub(super) fn as_walked(&self, condition: Expr) -> Expr {
        self.written.get(&condition).copied().unwrap_or(condition)
    }

    /// The first size above that of the example at which a condition fails, as far as doubling steps show it.
    fn first_failing(&self, condition: Expr, symbol: Symbol, hint: i64) -> Option<i64> {
        let max = self.range(symbol).1;
        self.last_from(condition, symbol, hint, max)?
            .checked_add(1)
            .filter(|_| self.holds_at(condition, symbol, hint))
    }

    /// Assignments at which the model's other conditions hold, so that they show this violation and no other.
    fn breaking_alone(&self, condition: Expr) -> Option<Vec<Assigned>> {
        let guards = self.walk.env.guards();
        if guards.len() > MAX_FOLDED {
            return None;
        }
        let mut env = self.symbolic.env.clone();
        let own = self.as_walked(condition);
        guards.iter().filter(|guard| guard.condition != own).for_each(|guard| env.assume(guard.condition));
        assume_existing(&self.symbolic, &mut env);
        let (pool, facts) = env.facts();
        let Decided::Refuted { witness } = decide(pool, facts, condition, &self.budget).verdict else {
            return None;
        };
        let witness: FxHashMap<Symbol, Int> = witness.into_iter().collect();
        let value = |symbol: Symbol| witness.get(&symbol).and_then(Int::to_i64);
        Some(self.near(condition, &|symbol| value(symbol).or_else(|| self.symbolic.hint(symbol))))
    }

    /// Assignments that may show a violation: the example with the sizes of the condition changed, the same with smaller
    /// sizes before it where the witness has large ones, and the witness.
    fn near(&self, condition: Expr, witness: &dyn Fn(Symbol) -> Option<i64>) -> Vec<Assigned> {
        let concerned: Vec<Symbol> = self.symbolic.env.pool.free_symbols(&[condition]);
        let changed = |symbol: Symbol| match concerned.contains(&symbol) {
            true => witness(symbol),
            false => self.symbolic.hint(symbol),
        };
        let mut found = Vec::new();
        if concerned.iter().any(|&symbol| witness(symbol).is_some_and(|size| size > LARGE)) {
            let smaller = self.smaller(condition, &concerned, witness);
            found
                .extend(self.symbolic.at(|symbol| smaller.get(&symbol).copied().or_else(|| changed(symbol))));
        }
        found.extend([self.symbolic.at(changed), self.symbolic.at(witness)].into_iter().flatten());
        found
    }

    /// The sizes of a witness, each as small as it may be while the condition is false.
    fn smaller(
        &self,
        condition: Expr,
        concerned: &[Symbol],
        witness: &dyn Fn(Symbol) -> Option<i64>,
    ) -> FxHashMap<Symbol, i64> {
        let mut sizes: FxHashMap<Symbol, i64> =
            concerned.iter().filter_map(|&symbol| Some((symbol, witness(symbol)?))).collect();
        for &symbol in concerned {
            let Some(&size) = sizes.get(&symbol) else { continue };
            let (min, max) = self.range(symbol);
            let allowed = |&tried: &i64| tried < size && tried >= min && max.is_none_or(|max| tried <= max);
            for tried in (0..).map(|step| min.saturating_add(step)).skip_while(|&tried| tried < 2).take(16) {
                let number = |s: Symbol| {
                    let size = if s == symbol { Some(tried) } else { sizes.get(&s).copied() };
                    size.map(|size| Value::Int(size.into()))
                };
                let is_broken =
                    || Evaluator::new(&self.symbolic.env.pool, number).truth(condition) == Ok(false);
                if allowed(&tried) && is_broken() {
                    sizes.insert(symbol, tried);
                    break;
                }
            }
        }
        sizes
    }
}
