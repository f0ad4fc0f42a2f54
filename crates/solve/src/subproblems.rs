//! Questions to those facts that concern them.
use super::components::{Key, Subproblem, default_value};
use super::facts::{Consistency, Facts};
use super::judge::{Judge, Judgement, Required};
use super::verdict::{FactId, Premise, Witness};
use rustc_hash::FxHashMap;
use sizewise_expr::range::{Bounds, is_idempotent};
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// The most subproblems that are cached for questions about several components.
const MAX_CACHED: usize = 4_096;

/// If more components than this are checked, they are not prepared for questions.
const MAX_EAGER: usize = 16;

/// Components of more facts than this are not evaluated at the default values of their symbols.
const MAX_AT_DEFAULTS: usize = 8;

impl Facts {
    /// Calls `ask` with the subproblem of the components of the symbols in `e`.
    pub(super) fn with_subproblem<T>(
        &mut self,
        pool: &mut Pool,
        e: Expr,
        ask: impl FnOnce(&mut Pool, &mut Subproblem<Facts>) -> T,
    ) -> T {
        self.declare_free(pool, e);
        let mut key: Key = pool.free_symbols(&[e]).into_iter().map(|s| self.components.root(s)).collect();
        key.sort_unstable();
        key.dedup();
        let mut subproblem = self.take_subproblem(pool, &key);
        let before = subproblem.facts.work();
        let answer = ask(pool, Arc::make_mut(&mut subproblem));
        self.work += subproblem.facts.work().since(before);
        if self.components.cache.len() >= MAX_CACHED {
            self.components.cache.retain(|key, _| key.len() == 1);
        }
        self.components.cache.insert(key, subproblem);
        answer
    }

    fn take_subproblem(&mut self, pool: &mut Pool, key: &Key) -> Arc<Subproblem<Facts>> {
        let versions: SmallVec<[u64; 2]> =
            key.iter().map(|root| self.components.by_root.get(root).map_or(0, |g| g.version)).collect();
        let mut shared = match self.components.cache.remove(key) {
            Some(subproblem) if subproblem.versions == versions => return subproblem,
            Some(subproblem) if key.len() == 1 => subproblem,
            _ => Arc::new(Subproblem {
                facts: self.whole(),
                ids: Vec::new(),
                versions: versions.clone(),
                included: [0; 4],
            }),
        };
        let subproblem = Arc::make_mut(&mut shared);
        let mut ids: Vec<u32> = Vec::new();
        if subproblem.ids.is_empty() {
            ids.extend(&self.components.without_symbols);
        }
        let [symbols, known, divisors, defined] = subproblem.included;
        for root in key {
            let Some(component) = self.components.by_root.get(root) else { continue };
            ids.extend(&component.facts[known..]);
            for s in &component.symbols[symbols..] {
                if let Some(range) = self.range(*s) {
                    subproblem.facts.declare(pool, *s, range.clone());
                }
                if let Some(hint) = self.hints.get(s) {
                    subproblem.facts.hint(*s, hint.clone());
                } else if let Some(hint) = self.example.float(*s) {
                    subproblem.facts.hint_float(*s, hint);
                }
            }
            for &d in &component.required.nonzero[divisors..] {
                subproblem.facts.exclude_zero(pool, d);
            }
            for &e in &component.required.defined[defined..] {
                subproblem.facts.require_value(pool, e);
            }
            let Required { nonzero, defined } = &component.required;
            subproblem.included =
                [component.symbols.len(), component.facts.len(), nonzero.len(), defined.len()];
        }
        ids.sort_unstable();
        ids.dedup();
        for &id in &ids {
            subproblem.facts.assume(pool, self.conditions()[id as usize]);
        }
        subproblem.ids.extend(ids);
        subproblem.versions = versions;
        shared
    }

    /// How many conditions are in the components of the symbols in `e`.
    pub(super) fn concerning(&mut self, pool: &Pool, e: Expr) -> usize {
        let mut roots: Key = pool.free_symbols(&[e]).into_iter().map(|s| self.components.root(s)).collect();
        roots.sort_unstable();
        roots.dedup();
        roots.iter().filter_map(|root| self.components.by_root.get(root)).map(|c| c.facts.len()).sum()
    }

    /// The conditions and other requirements of the components of these symbols.
    pub(super) fn requirements_on(&mut self, symbols: &[Symbol]) -> (Vec<Expr>, Required) {
        let mut roots: Key = symbols.iter().map(|s| self.components.root(*s)).collect();
        roots.sort_unstable();
        roots.dedup();
        let (mut conditions, mut required) = (Vec::new(), Required::default());
        for component in roots.iter().filter_map(|root| self.components.by_root.get(root)) {
            let Required { nonzero, defined } = &component.required;
            conditions.extend(component.facts.iter().map(|&id| self.conditions()[id as usize]));
            required.nonzero.extend(nonzero);
            required.defined.extend(defined);
        }
        (conditions, required)
    }

    /// Finds by `check` which components are consistent, where that is open. `check` is told whether it should prepare
    /// the component for questions: if they are few, and there are `more` questions.
    pub(super) fn check_components(
        &mut self,
        pool: &mut Pool,
        more: bool,
        check: impl Fn(&mut Pool, &mut Facts, bool),
    ) {
        let mut roots = std::mem::take(&mut self.components.unchecked);
        roots.sort_unstable();
        roots.dedup();
        roots.retain(|&root| self.components.root(root) == root);
        // Of many components, few will be asked about.
        let lazy = !more || roots.len() > MAX_EAGER;
        for root in roots {
            if matches!(self.consistency, Consistency::Inconsistent(_)) {
                continue;
            }
            if lazy && self.holds_at_defaults(pool, root) {
                continue;
            }
            let key = Key::from_slice(&[root]);
            let mut shared = self.take_subproblem(pool, &key);
            let subproblem = Arc::make_mut(&mut shared);
            let before = subproblem.facts.work();
            check(pool, &mut subproblem.facts, !lazy);
            self.work += subproblem.facts.work().since(before);
            match &subproblem.facts.consistency {
                Consistency::Inconsistent(because) => {
                    self.consistency = Consistency::Inconsistent(subproblem.to_outer_ids(because));
                }
                Consistency::Consistent => {}
                _ => self.components.unsettled.push(root),
            }
            self.components.cache.insert(key, shared);
        }
    }

    /// Whether a component of few facts holds where every symbol has its default value. The result is stored.
    fn holds_at_defaults(&mut self, pool: &mut Pool, root: Symbol) -> bool {
        let Some(component) = self.components.by_root.get(&root) else { return false };
        if component.facts.len() > MAX_AT_DEFAULTS || !self.components.without_symbols.is_empty() {
            return false;
        }
        let are_integers = component.symbols.iter().all(|&s| {
            let e = pool.symbol_expr(s);
            pool.sort(e) == Sort::Int
        });
        let conditions: Vec<Expr> =
            component.facts.iter().map(|&id| self.conditions()[id as usize]).collect();
        let value = |s: Symbol| Some(Value::Int(self.range(s).map(default_value).unwrap_or_default()));
        let judge = Judge::new(pool, &conditions, &component.required, None);
        let holds = are_integers && judge.at(value) == Judgement::Holds;
        if let Some(component) = self.components.component_mut(root).filter(|_| holds) {
            component.holds_at_defaults = Some(component.version);
        }
        holds
    }

    /// Whether a goal follows by a cheap test among many facts: it is one of them, or it follows from the
    /// ranges alone and no fact is about its symbols. Does not ask whether the facts are consistent.
    pub(super) fn follows_at_once(&mut self, pool: &Pool, goal: Expr) -> Option<bool> {
        let symbols = pool.free_symbols(&[goal]);
        let root = self.components.root(*symbols.first()?);
        if symbols.iter().any(|s| self.mentions(*s)) {
            let component = self.components.by_root.get(&root)?;
            let is_given = component.facts.iter().any(|&id| self.conditions()[id as usize] == goal);
            return is_given.then_some(true);
        }
        // The end of such a sum is that of its terms, each of which may be there whatever the others are.
        let compares = is_idempotent(pool, goal);
        let known = |e: Expr| self.range(pool.as_symbol(e)?).map(|range| range.clone().into());
        compares.then(|| Bounds::new(pool, known).decide(goal) == Some(true))
    }

    /// Whether every component was found to be consistent.
    pub(super) fn components_settled(&self) -> bool {
        self.components.unsettled.is_empty()
    }

    /// Whether some facts have no symbols in common with others.
    pub(super) fn fall_apart(&self) -> bool {
        !self.is_whole() && self.components.by_root.values().filter(|c| !c.is_free()).count() > 1
    }

    /// Completes an assignment of some symbols by values that satisfy the facts about the others: `check` looks for
    /// them where none are kept. `None` if there are none, or none are found.
    pub(super) fn completed(
        &mut self,
        pool: &mut Pool,
        witness: Witness,
        check: impl Fn(&mut Pool, &mut Facts),
    ) -> Option<Witness> {
        let mut values: FxHashMap<Symbol, Int> = witness.into_iter().collect();
        let mut roots: Vec<Symbol> = self.components.by_root.keys().copied().collect();
        roots.sort_unstable();
        for root in roots {
            let known = self.components.by_root.get(&root).is_some_and(|c| {
                c.is_free()
                    || c.holds_at_defaults == Some(c.version)
                    || c.symbols.iter().any(|s| values.contains_key(s))
            });
            if known {
                continue;
            }
            let key = Key::from_slice(&[root]);
            let mut shared = self.take_subproblem(pool, &key);
            let part = Arc::make_mut(&mut shared);
            let before = part.facts.work();
            check(pool, &mut part.facts);
            self.work += part.facts.work().since(before);
            let model = part.facts.model();
            if let Consistency::Inconsistent(because) = &part.facts.consistency {
                self.consistency = Consistency::Inconsistent(part.to_outer_ids(because));
            }
            self.components.cache.insert(key, shared);
            values.extend(model?);
        }
        Some(self.assignment(|symbol| values.get(&symbol).cloned()))
    }
}

impl Subproblem<Facts> {
    /// Premises with the ids that they have in the whole set of facts.
    pub fn to_outer_ids(&self, premises: &[Premise]) -> Vec<Premise> {
        let renumbered = |p: &Premise| match p {
            Premise::Fact(FactId(i)) => {
                Premise::Fact(FactId(self.ids.get(*i as usize).copied().unwrap_or(*i)))
            }
            other => *other,
        };
        premises.iter().map(renumbered).collect()
    }
}
