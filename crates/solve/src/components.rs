//! Independent components: sets of facts that share no symbol.
//!
//! A question depends only on the components of its symbols. Their facts form a subproblem that answers it,
//! so the cost does not grow with the number of facts about other symbols. The other components only have to
//! be consistent, which is checked once.
use super::facts::{Consistency, Facts};
use super::ladder::{check, prepare};
use super::replay::{Judge, Judgement, Required};
use super::verdict::{Budget, FactId, Premise, Witness};
use rustc_hash::FxHashMap;
use sizewise_expr::range::{Bounds, ValueRange, is_idempotent};
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value};
use smallvec::SmallVec;

/// The most subproblems that are cached for questions about several components.
const MAX_CACHED: usize = 4_096;

/// If more components than this are checked, they are not prepared for questions.
const MAX_EAGER: usize = 16;

/// Components of more facts than this are not evaluated at the default values of their symbols.
const MAX_AT_DEFAULTS: usize = 8;

/// A connected component: symbols that share facts, and these facts.
#[derive(Clone, Debug, Default)]
struct Component {
    symbols: Vec<Symbol>,
    facts: Vec<u32>,
    required: Required,
    /// Changes with every fact.
    version: u64,
    /// The version that is known to hold where every symbol has its default value.
    holds_at_defaults: Option<u64>,
}

/// The facts of one or several components, and the ids of these assumptions in the whole set of facts.
#[derive(Clone, Debug)]
pub(super) struct Subproblem {
    pub facts: Facts,
    ids: Vec<u32>,
    versions: SmallVec<[u64; 2]>,
    /// Of a subproblem of one component: how many of the component's symbols, facts, divisors and defined
    /// operations it includes. Components only grow at their ends.
    included: [usize; 4],
}

type Key = SmallVec<[Symbol; 2]>;

/// The components of a set of facts, as a union-find structure over symbols.
#[derive(Clone, Debug, Default)]
pub(super) struct Components {
    parents: FxHashMap<Symbol, Symbol>,
    /// The components by the symbols that stand for them.
    by_root: FxHashMap<Symbol, Component>,
    /// Assumptions without symbols belong to every component.
    without_symbols: Vec<u32>,
    cache: FxHashMap<Key, Box<Subproblem>>,
    /// Components that are not known to be consistent.
    unchecked: Vec<Symbol>,
    /// Components that are known to be neither consistent nor inconsistent.
    unsettled: Vec<Symbol>,
    version: u64,
}

impl Components {
    /// The symbol that stands for the component of a symbol.
    fn root(&mut self, symbol: Symbol) -> Symbol {
        let mut root = symbol;
        while let Some(&parent) = self.parents.get(&root).filter(|p| **p != root) {
            root = parent;
        }
        let mut s = symbol;
        while s != root {
            s = self.parents.insert(s, root).unwrap_or(root);
        }
        if self.parents.insert(root, root).is_none() {
            let component = Component { symbols: vec![root], ..Component::default() };
            self.by_root.insert(root, component);
        }
        root
    }

    /// Joins the components of symbols and returns the result. `None` without symbols.
    fn join(&mut self, symbols: &[Symbol]) -> Option<Symbol> {
        let mut root = self.root(*symbols.first()?);
        for &s in &symbols[1..] {
            let other = self.root(s);
            if other == root {
                continue;
            }
            let size = |r: Symbol| self.by_root.get(&r).map_or(0, |g| g.symbols.len() + g.facts.len());
            let (big, small) = if size(root) >= size(other) { (root, other) } else { (other, root) };
            self.parents.insert(small, big);
            self.cache.remove(&Key::from_slice(&[small]));
            if let (Some(small), Some(big)) = (self.by_root.remove(&small), self.by_root.get_mut(&big)) {
                big.symbols.extend(small.symbols);
                big.facts.extend(small.facts);
                big.required.nonzero.extend(small.required.nonzero);
                big.required.defined.extend(small.required.defined);
            }
            root = big;
        }
        Some(root)
    }

    fn mark_changed(&mut self, root: Symbol) {
        self.version += 1;
        if let Some(component) = self.by_root.get_mut(&root) {
            component.version = self.version;
        }
        self.unchecked.push(root);
        self.unchecked.append(&mut self.unsettled);
    }

    /// Records a declaration.
    pub fn record_declaration(&mut self, symbol: Symbol) {
        // Most symbols have no fact or question yet, and no component.
        if !self.parents.contains_key(&symbol) {
            return;
        }
        let root = self.root(symbol);
        // What was cache has the range of before.
        if !self.cache.is_empty() {
            self.cache.remove(&Key::from_slice(&[root]));
        }
        if self.by_root.get(&root).is_some_and(|g| !g.facts.is_empty()) {
            self.mark_changed(root);
        }
    }

    /// Records an assumption and the symbols that it is about.
    pub fn record_assumption(&mut self, id: FactId, symbols: &[Symbol]) {
        let Some(root) = self.join(symbols) else {
            self.without_symbols.push(id.0);
            self.cache.clear();
            return;
        };
        if let Some(component) = self.by_root.get_mut(&root) {
            component.facts.push(id.0);
        }
        self.mark_changed(root);
    }

    /// Records a divisor and the symbols that it is about.
    pub fn record_divisor(&mut self, divisor: Expr, symbols: &[Symbol]) {
        self.record_required(symbols, |required| required.nonzero.push(divisor));
    }

    /// Records an operation that is to have a value, and the symbols that it is about.
    pub fn record_operation(&mut self, e: Expr, symbols: &[Symbol]) {
        self.record_required(symbols, |required| required.defined.push(e));
    }

    fn record_required(&mut self, symbols: &[Symbol], record: impl FnOnce(&mut Required)) {
        if let Some(root) = self.join(symbols) {
            if let Some(component) = self.by_root.get_mut(&root) {
                record(&mut component.required);
            }
            self.mark_changed(root);
        }
    }
}

impl Facts {
    /// Calls `ask` with the subproblem of the components of the symbols in `e`.
    pub(super) fn with_subproblem<T>(
        &mut self,
        pool: &mut Pool,
        e: Expr,
        ask: impl FnOnce(&mut Pool, &mut Subproblem) -> T,
    ) -> T {
        self.declare_free(pool, e);
        let mut key: Key = pool.free_symbols(&[e]).into_iter().map(|s| self.components.root(s)).collect();
        key.sort_unstable();
        key.dedup();
        let mut subproblem = self.take_subproblem(pool, &key);
        let before = subproblem.facts.work();
        let answer = ask(pool, &mut subproblem);
        self.work += subproblem.facts.work().since(before);
        if self.components.cache.len() >= MAX_CACHED {
            self.components.cache.retain(|key, _| key.len() == 1);
        }
        self.components.cache.insert(key, subproblem);
        answer
    }

    fn take_subproblem(&mut self, pool: &mut Pool, key: &Key) -> Box<Subproblem> {
        let versions: SmallVec<[u64; 2]> =
            key.iter().map(|root| self.components.by_root.get(root).map_or(0, |g| g.version)).collect();
        let mut subproblem = match self.components.cache.remove(key) {
            Some(subproblem) if subproblem.versions == versions => return subproblem,
            Some(subproblem) if key.len() == 1 => subproblem,
            _ => Box::new(Subproblem {
                facts: self.whole(),
                ids: Vec::new(),
                versions: versions.clone(),
                included: [0; 4],
            }),
        };
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
        subproblem
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

    /// Decides which components are consistent, if that is open. If they are few, prepares them for `more`
    /// questions.
    pub(super) fn check_components(&mut self, pool: &mut Pool, budget: &Budget, more: bool) {
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
            let mut subproblem = self.take_subproblem(pool, &key);
            let prepare = if lazy { check } else { prepare };
            let before = subproblem.facts.work();
            prepare(pool, &mut subproblem.facts, budget);
            self.work += subproblem.facts.work().since(before);
            match &subproblem.facts.consistency {
                Consistency::Inconsistent(because) => {
                    self.consistency = Consistency::Inconsistent(subproblem.to_outer_ids(because));
                }
                Consistency::Consistent => {}
                _ => self.components.unsettled.push(root),
            }
            self.components.cache.insert(key, subproblem);
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
        if let Some(component) = self.components.by_root.get_mut(&root).filter(|_| holds) {
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

    /// Whether many facts are known to be consistent.
    pub(super) fn are_consistent(&mut self, pool: &mut Pool, budget: &Budget) -> bool {
        self.check_components(pool, budget, false);
        !matches!(self.consistency, Consistency::Inconsistent(_))
            && !self.is_empty(pool)
            && self.components_settled()
    }

    /// Whether every component was found to be consistent.
    pub(super) fn components_settled(&self) -> bool {
        self.components.unsettled.is_empty()
    }

    /// Completes an assignment of some symbols by values that satisfy the facts about the others.
    pub fn complete(&mut self, pool: &mut Pool, witness: Witness) -> Witness {
        if !self.is_divided() {
            return witness;
        }
        let mut values: FxHashMap<Symbol, Int> = witness.into_iter().collect();
        let roots: Vec<Symbol> = self.components.by_root.keys().copied().collect();
        for root in roots {
            let known = self.components.by_root.get(&root).is_some_and(|c| {
                c.facts.is_empty() && c.required.nonzero.is_empty() && c.required.defined.is_empty()
                    || c.holds_at_defaults == Some(c.version)
                    || c.symbols.iter().any(|s| values.contains_key(s))
            });
            if known {
                continue;
            }
            let key = Key::from_slice(&[root]);
            let subproblem = self.take_subproblem(pool, &key);
            for (s, v) in subproblem.facts.models.first().unwrap_or_default() {
                values.entry(s).or_insert(v);
            }
            self.components.cache.insert(key, subproblem);
        }
        let symbols: Vec<Symbol> = self.ranges().map(|(s, ..)| s).collect();
        let default = |s: Symbol| self.range(s).map(default_value).unwrap_or_default();
        symbols.into_iter().map(|s| (s, values.get(&s).cloned().unwrap_or_else(|| default(s)))).collect()
    }
}

/// The value of a symbol of which only the range is known.
pub(super) fn default_value(range: &ValueRange) -> Int {
    let negative = range.hi.finite().filter(|h| h.is_negative());
    range.lo.finite().or(negative).cloned().unwrap_or_default()
}

impl Subproblem {
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
