//! Many facts, few of which matter: facts fall apart into groups that share no symbol.
//!
//! What a question has to do with is the groups of its symbols, and a set of facts of its own is made of these. So the cost of a
//! question does not grow with the number of facts about other symbols. Those only have to be consistent, which is found out once.
use super::facts::{Consistency, Facts};
use super::ladder::{check, prepare};
use super::replay::{Judge, Judgement, Required};
use super::verdict::{Budget, FactId, Premise, Witness};
use rustc_hash::FxHashMap;
use sizewise_expr::range::{Bounds, ValueRange, teaches_once};
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value};
use smallvec::SmallVec;

/// The most sets of facts that are kept for questions about several groups.
const MAX_BUILT: usize = 4_096;

/// More groups than this are not prepared for questions when they are checked.
const MAX_EAGER: usize = 16;

/// Groups of more facts than this are looked into for an assignment only as sets of their own.
const MAX_FREELY: usize = 8;

/// Symbols that facts connect.
#[derive(Clone, Debug, Default)]
struct Group {
    symbols: Vec<Symbol>,
    facts: Vec<u32>,
    required: Required,
    /// Changes with every fact.
    version: u64,
    /// The version that is known to hold where every symbol has its free value.
    freely: Option<u64>,
}

/// A set of facts of its own, and the numbers that its assumptions have outside.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub facts: Facts,
    ids: Vec<u32>,
    versions: SmallVec<[u64; 2]>,
    /// Of a slice of one group: how many of the group's symbols, facts, divisors and defined operations it has. Groups only grow at their
    /// ends.
    has: [usize; 4],
}

type Key = SmallVec<[Symbol; 2]>;

/// The groups of a set of facts.
#[derive(Clone, Debug, Default)]
pub(super) struct Slices {
    parents: FxHashMap<Symbol, Symbol>,
    groups: FxHashMap<Symbol, Group>,
    /// Assumptions without symbols belong to every group.
    everywhere: Vec<u32>,
    built: FxHashMap<Key, Box<Slice>>,
    /// Groups that are not known to be consistent.
    unchecked: Vec<Symbol>,
    /// Groups of which neither was found out.
    unsettled: Vec<Symbol>,
    version: u64,
}

impl Slices {
    /// The symbol that stands for the group of a symbol.
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
            let group = Group { symbols: vec![root], ..Group::default() };
            self.groups.insert(root, group);
        }
        root
    }

    /// Joins the groups of symbols, and returns the one group; none without symbols.
    fn join(&mut self, symbols: &[Symbol]) -> Option<Symbol> {
        let mut root = self.root(*symbols.first()?);
        for &s in &symbols[1..] {
            let other = self.root(s);
            if other == root {
                continue;
            }
            let size = |r: Symbol| self.groups.get(&r).map_or(0, |g| g.symbols.len() + g.facts.len());
            let (big, small) = if size(root) >= size(other) { (root, other) } else { (other, root) };
            self.parents.insert(small, big);
            self.built.remove(&Key::from_slice(&[small]));
            if let (Some(small), Some(big)) = (self.groups.remove(&small), self.groups.get_mut(&big)) {
                big.symbols.extend(small.symbols);
                big.facts.extend(small.facts);
                big.required.nonzero.extend(small.required.nonzero);
                big.required.defined.extend(small.required.defined);
            }
            root = big;
        }
        Some(root)
    }

    fn touched(&mut self, root: Symbol) {
        self.version += 1;
        if let Some(group) = self.groups.get_mut(&root) {
            group.version = self.version;
        }
        self.unchecked.push(root);
        self.unchecked.append(&mut self.unsettled);
    }

    /// Records a declaration.
    pub fn declared(&mut self, symbol: Symbol) {
        // Of most symbols nothing has been said or asked yet: they have no group.
        if !self.parents.contains_key(&symbol) {
            return;
        }
        let root = self.root(symbol);
        // What was built has the range of before.
        if !self.built.is_empty() {
            self.built.remove(&Key::from_slice(&[root]));
        }
        if self.groups.get(&root).is_some_and(|g| !g.facts.is_empty()) {
            self.touched(root);
        }
    }

    /// Records an assumption and the symbols that it is about.
    pub fn assumed(&mut self, id: FactId, symbols: &[Symbol]) {
        let Some(root) = self.join(symbols) else {
            self.everywhere.push(id.0);
            self.built.clear();
            return;
        };
        if let Some(group) = self.groups.get_mut(&root) {
            group.facts.push(id.0);
        }
        self.touched(root);
    }

    /// Records a divisor and the symbols that it is about.
    pub fn excluded(&mut self, divisor: Expr, symbols: &[Symbol]) {
        self.required(symbols, |required| required.nonzero.push(divisor));
    }

    /// Records an operation that is to have a value, and the symbols that it is about.
    pub fn defined(&mut self, e: Expr, symbols: &[Symbol]) {
        self.required(symbols, |required| required.defined.push(e));
    }

    fn required(&mut self, symbols: &[Symbol], record: impl FnOnce(&mut Required)) {
        if let Some(root) = self.join(symbols) {
            if let Some(group) = self.groups.get_mut(&root) {
                record(&mut group.required);
            }
            self.touched(root);
        }
    }
}

impl Facts {
    /// The facts about what `e` is about, as a set of its own.
    pub(super) fn with_slice<T>(
        &mut self,
        pool: &mut Pool,
        e: Expr,
        ask: impl FnOnce(&mut Pool, &mut Slice) -> T,
    ) -> T {
        self.declare_free(pool, e);
        let mut key: Key = pool.free_symbols(&[e]).into_iter().map(|s| self.slices.root(s)).collect();
        key.sort_unstable();
        key.dedup();
        let mut slice = self.take_slice(pool, &key);
        let before = slice.facts.work();
        let answer = ask(pool, &mut slice);
        self.work += slice.facts.work().since(before);
        if self.slices.built.len() >= MAX_BUILT {
            self.slices.built.retain(|key, _| key.len() == 1);
        }
        self.slices.built.insert(key, slice);
        answer
    }

    fn take_slice(&mut self, pool: &mut Pool, key: &Key) -> Box<Slice> {
        let versions: SmallVec<[u64; 2]> =
            key.iter().map(|root| self.slices.groups.get(root).map_or(0, |g| g.version)).collect();
        let mut slice = match self.slices.built.remove(key) {
            Some(slice) if slice.versions == versions => return slice,
            Some(slice) if key.len() == 1 => slice,
            _ => Box::new(Slice {
                facts: Facts::whole(),
                ids: Vec::new(),
                versions: versions.clone(),
                has: [0; 4],
            }),
        };
        let mut ids: Vec<u32> = Vec::new();
        if slice.ids.is_empty() {
            ids.extend(&self.slices.everywhere);
        }
        let [symbols, known, divisors, defined] = slice.has;
        for root in key {
            let Some(group) = self.slices.groups.get(root) else { continue };
            ids.extend(&group.facts[known..]);
            for s in &group.symbols[symbols..] {
                if let Some(range) = self.range(*s) {
                    slice.facts.declare(pool, *s, range.clone());
                }
                if let Some(hint) = self.hints.get(s) {
                    slice.facts.hint(*s, hint.clone());
                }
            }
            for &d in &group.required.nonzero[divisors..] {
                slice.facts.exclude_zero(pool, d);
            }
            for &e in &group.required.defined[defined..] {
                slice.facts.require_value(pool, e);
            }
            let Required { nonzero, defined } = &group.required;
            slice.has = [group.symbols.len(), group.facts.len(), nonzero.len(), defined.len()];
        }
        ids.sort_unstable();
        ids.dedup();
        for &id in &ids {
            slice.facts.assume(pool, self.conditions()[id as usize]);
        }
        slice.ids.extend(ids);
        slice.versions = versions;
        slice
    }

    /// Finds out which groups are consistent, where that is open, and prepares few of them for `more` questions.
    pub(super) fn check_groups(&mut self, pool: &mut Pool, budget: &Budget, more: bool) {
        let mut roots = std::mem::take(&mut self.slices.unchecked);
        roots.sort_unstable();
        roots.dedup();
        roots.retain(|&root| self.slices.root(root) == root);
        // Of many groups, few will be asked about.
        let lazy = !more || roots.len() > MAX_EAGER;
        for root in roots {
            if matches!(self.consistency, Consistency::Inconsistent(_)) {
                continue;
            }
            if lazy && self.holds_freely(pool, root) {
                continue;
            }
            let key = Key::from_slice(&[root]);
            let mut slice = self.take_slice(pool, &key);
            let prepare = if lazy { check } else { prepare };
            let before = slice.facts.work();
            prepare(pool, &mut slice.facts, budget);
            self.work += slice.facts.work().since(before);
            match &slice.facts.consistency {
                Consistency::Inconsistent(because) => {
                    self.consistency = Consistency::Inconsistent(slice.outside(because));
                }
                Consistency::Consistent => {}
                _ => self.slices.unsettled.push(root),
            }
            self.slices.built.insert(key, slice);
        }
    }

    /// Whether a group of few facts holds where every symbol has its free value; that is remembered.
    fn holds_freely(&mut self, pool: &mut Pool, root: Symbol) -> bool {
        let Some(group) = self.slices.groups.get(&root) else { return false };
        if group.facts.len() > MAX_FREELY || !self.slices.everywhere.is_empty() {
            return false;
        }
        let are_integers = group.symbols.iter().all(|&s| {
            let e = pool.symbol_expr(s);
            pool.sort(e) == Sort::Int
        });
        let conditions: Vec<Expr> = group.facts.iter().map(|&id| self.conditions()[id as usize]).collect();
        let value = |s: Symbol| Some(Value::Int(self.range(s).map(free_value).unwrap_or_default()));
        let judge = Judge::new(pool, &conditions, &group.required, None);
        let holds = are_integers && judge.at(value) == Judgement::Holds;
        if let Some(group) = self.slices.groups.get_mut(&root).filter(|_| holds) {
            group.freely = Some(group.version);
        }
        holds
    }

    /// Whether a goal follows, where a look at many facts tells: because it is one of them, or by the ranges alone because no fact is about
    /// its symbols. Whether the facts are consistent is not asked.
    pub(super) fn follows_at_once(&mut self, pool: &Pool, goal: Expr) -> Option<bool> {
        let symbols = pool.free_symbols(&[goal]);
        let root = self.slices.root(*symbols.first()?);
        if symbols.iter().any(|s| self.mentions(*s)) {
            let group = self.slices.groups.get(&root)?;
            let is_given = group.facts.iter().any(|&id| self.conditions()[id as usize] == goal);
            return is_given.then_some(true);
        }
        // The end of such a sum is that of its terms, each of which may be there whatever the others are.
        let compares = teaches_once(pool, goal);
        let known = |e: Expr| self.range(pool.as_symbol(e)?).map(|range| range.clone().into());
        compares.then(|| Bounds::new(pool, known).decide(goal) == Some(true))
    }

    /// Whether many facts are known to be consistent.
    pub(super) fn are_consistent(&mut self, pool: &mut Pool, budget: &Budget) -> bool {
        self.check_groups(pool, budget, false);
        !matches!(self.consistency, Consistency::Inconsistent(_))
            && !self.is_empty(pool)
            && self.groups_settled()
    }

    /// Whether every group was found to be consistent.
    pub(super) fn groups_settled(&self) -> bool {
        self.slices.unsettled.is_empty()
    }

    /// An assignment of some symbols completed to one of all, by what is known to satisfy the facts about the others.
    pub fn complete(&mut self, pool: &mut Pool, witness: Witness) -> Witness {
        if !self.is_wide() {
            return witness;
        }
        let mut values: FxHashMap<Symbol, Int> = witness.into_iter().collect();
        let roots: Vec<Symbol> = self.slices.groups.keys().copied().collect();
        for root in roots {
            let known = self.slices.groups.get(&root).is_some_and(|g| {
                g.facts.is_empty() && g.required.nonzero.is_empty() && g.required.defined.is_empty()
                    || g.freely == Some(g.version)
                    || g.symbols.iter().any(|s| values.contains_key(s))
            });
            if known {
                continue;
            }
            let key = Key::from_slice(&[root]);
            let slice = self.take_slice(pool, &key);
            for (s, v) in slice.facts.models.first().unwrap_or_default() {
                values.entry(s).or_insert(v);
            }
            self.slices.built.insert(key, slice);
        }
        let symbols: Vec<Symbol> = self.ranges().map(|(s, ..)| s).collect();
        let free = |s: Symbol| self.range(s).map(free_value).unwrap_or_default();
        symbols.into_iter().map(|s| (s, values.get(&s).cloned().unwrap_or_else(|| free(s)))).collect()
    }
}

/// The value that a symbol gets of which nothing is known but its range.
pub(super) fn free_value(range: &ValueRange) -> Int {
    let negative = range.hi.finite().filter(|h| h.is_negative());
    range.lo.finite().or(negative).cloned().unwrap_or_default()
}

impl Slice {
    /// Premises with the numbers that they have outside.
    pub fn outside(&self, premises: &[Premise]) -> Vec<Premise> {
        let outside = |p: &Premise| match p {
            Premise::Fact(FactId(i)) => {
                Premise::Fact(FactId(self.ids.get(*i as usize).copied().unwrap_or(*i)))
            }
            other => *other,
        };
        premises.iter().map(outside).collect()
    }
}
