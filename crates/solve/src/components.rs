//! Independent components: sets of facts that share no symbol.
//!
//! A question depends only on the components of its symbols. Their facts form a subproblem that answers it,
//! so the cost does not grow with the number of facts about other symbols. The other components only have to
//! be consistent, which is checked once.
use super::judge::Required;
use super::verdict::FactId;
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol};
use smallvec::SmallVec;
use std::sync::Arc;

/// A connected component: symbols that share facts, and these facts.
#[derive(Clone, Debug, Default)]
pub(super) struct Component {
    pub symbols: Vec<Symbol>,
    pub facts: Vec<u32>,
    pub required: Required,
    /// Changes with every fact.
    pub version: u64,
    /// The version that is known to hold where every symbol has its default value.
    pub holds_at_defaults: Option<u64>,
}

/// The facts of one or several components, and the ids of these assumptions in the whole set of facts.
#[derive(Clone, Debug)]
pub(super) struct Subproblem<F> {
    pub facts: F,
    pub ids: Vec<u32>,
    pub versions: SmallVec<[u64; 2]>,
    /// Of a subproblem of one component: how many of the component's symbols, facts, divisors and defined
    /// operations it includes. Components only grow at their ends.
    pub included: [usize; 4],
}

/// The components of a question, by the symbols that stand for them.
pub(super) type Key = SmallVec<[Symbol; 2]>;

/// The components of a set of facts, as a union-find structure over symbols.
#[derive(Clone, Debug)]
pub(super) struct Components<F> {
    parents: FxHashMap<Symbol, Symbol>,
    /// The components by the symbols that stand for them.
    pub by_root: FxHashMap<Symbol, Arc<Component>>,
    /// Assumptions without symbols belong to every component.
    pub without_symbols: Vec<u32>,
    /// Subproblems that were asked about. Copies of the facts share them until one of them asks again.
    pub cache: FxHashMap<Key, Arc<Subproblem<F>>>,
    /// Components that are not known to be consistent.
    pub unchecked: Vec<Symbol>,
    /// Components that are known to be neither consistent nor inconsistent.
    pub unsettled: Vec<Symbol>,
    version: u64,
}

impl Component {
    /// Whether nothing is assumed about its symbols.
    pub fn is_free(&self) -> bool {
        self.facts.is_empty() && self.required.nonzero.is_empty() && self.required.defined.is_empty()
    }
}

impl<F> Default for Components<F> {
    fn default() -> Components<F> {
        Components {
            parents: FxHashMap::default(),
            by_root: FxHashMap::default(),
            without_symbols: Vec::new(),
            cache: FxHashMap::default(),
            unchecked: Vec::new(),
            unsettled: Vec::new(),
            version: 0,
        }
    }
}

impl<F> Components<F> {
    /// The symbol that stands for the component of a symbol.
    pub fn root(&mut self, symbol: Symbol) -> Symbol {
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
            self.by_root.insert(root, Arc::new(component));
        }
        root
    }

    /// The component for which a symbol stands. Copies of the facts share it until one of them changes it.
    pub fn component_mut(&mut self, root: Symbol) -> Option<&mut Component> {
        self.by_root.get_mut(&root).map(Arc::make_mut)
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
            if let (Some(small), Some(big)) = (self.by_root.remove(&small), self.component_mut(big)) {
                let small = Arc::unwrap_or_clone(small);
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
        let version = self.version;
        if let Some(component) = self.component_mut(root) {
            component.version = version;
            if component.is_free() {
                return;
            }
        }
        self.unchecked.push(root);
        self.unchecked.append(&mut self.unsettled);
    }

    /// Forgets what was found out about any component.
    fn forget(&mut self) {
        self.cache.clear();
        self.unsettled.clear();
        let with_facts = self.by_root.iter().filter(|(_, c)| !c.is_free()).map(|(root, _)| *root);
        self.unchecked = with_facts.collect();
        // The order of a hash map is no order.
        self.unchecked.sort_unstable();
    }

    /// Records a declaration.
    pub fn record_declaration(&mut self, symbol: Symbol) {
        // Most symbols have no fact or question yet, and no component.
        if !self.parents.contains_key(&symbol) {
            return;
        }
        let root = self.root(symbol);
        // What was cached, also together with other components, has the range of before.
        self.cache.remove(&Key::from_slice(&[root]));
        self.mark_changed(root);
    }

    /// Records an assumption and the symbols that it is about.
    pub fn record_assumption(&mut self, id: FactId, symbols: &[Symbol]) {
        let Some(root) = self.join(symbols) else {
            self.without_symbols.push(id.0);
            self.forget();
            return;
        };
        if let Some(component) = self.component_mut(root) {
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
            if let Some(component) = self.component_mut(root) {
                record(&mut component.required);
            }
            self.mark_changed(root);
        }
    }
}

/// The value of a symbol of which only the range is known.
pub(super) fn default_value(range: &ValueRange) -> Int {
    let negative = range.hi.finite().filter(|h| h.is_negative());
    range.lo.finite().or(negative).cloned().unwrap_or_default()
}
