//! Where the expressions of a pool are kept: append-only, so that a place is valid for ever.
//!
//! A branch of a pool begins where the pool was when the branch was made. It reads what was there from the pool, and
//! keeps what is new to itself.
use super::handle::{Expr, Symbol};
use super::meter::Meter;
use super::node::{Node, NodeRef, Sort};
use hashbrown::HashTable;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// An expression as it is stored.
pub(super) struct Entry {
    pub(super) node: Node,
    pub(super) sort: Sort,
    /// Whether its sort is double and its value may be an integer.
    pub(super) is_mixed: bool,
}

/// A symbol as it is stored.
pub(super) struct NamedSymbol {
    pub(super) name: Box<str>,
    pub(super) sort: Sort,
    pub(super) expr: Expr,
}

/// What is looked up by its content.
#[derive(Default)]
pub(super) struct Index {
    /// Positions in [`Stored::entries`].
    table: HashTable<u32>,
    /// Positions in [`Stored::symbols`].
    names: FxHashMap<Box<str>, u32>,
}

/// The part of another storage that a branch sees.
struct Root {
    stored: Arc<Stored>,
    entries: usize,
    symbols: usize,
}

/// Expressions and symbols, each once.
#[derive(Default)]
pub(super) struct Stored {
    root: Option<Root>,
    entries: boxcar::Vec<Entry>,
    symbols: boxcar::Vec<NamedSymbol>,
    index: RwLock<Index>,
    /// Whether any node is a double.
    floats: AtomicBool,
    /// Whether any node is a bitwise operation, or asks whether strides are dense.
    bits: AtomicBool,
    pub(super) meter: Meter,
}

fn hash(node: NodeRef<'_>) -> u64 {
    FxBuildHasher.hash_one(node)
}

impl Stored {
    /// A storage that begins with what this one has now. Neither sees what the other adds.
    pub(super) fn branch(self: &Arc<Self>) -> Stored {
        Stored {
            root: Some(Root { stored: Arc::clone(self), entries: self.len(), symbols: self.symbol_count() }),
            floats: AtomicBool::new(self.has_floats()),
            bits: AtomicBool::new(self.has_bits()),
            meter: self.meter.clone(),
            ..Stored::default()
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn first_entry(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.entries)
    }

    fn first_symbol(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.symbols)
    }

    /// The number of expressions.
    pub(super) fn len(&self) -> usize {
        self.first_entry() + self.entries.count()
    }

    /// The number of symbols.
    pub(super) fn symbol_count(&self) -> usize {
        self.first_symbol() + self.symbols.count()
    }

    pub(super) fn has_floats(&self) -> bool {
        self.floats.load(Ordering::Relaxed)
    }

    pub(super) fn has_bits(&self) -> bool {
        self.bits.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn entry(&self, at: usize) -> Option<&Entry> {
        let mut stored = self;
        while let Some(root) = stored.root.as_ref().filter(|root| at < root.entries) {
            stored = &root.stored;
        }
        stored.entries.get(at - stored.first_entry())
    }

    pub(super) fn symbol(&self, symbol: Symbol) -> Option<&NamedSymbol> {
        let (mut stored, at) = (self, symbol.0 as usize);
        while let Some(root) = stored.root.as_ref().filter(|root| at < root.symbols) {
            stored = &root.stored;
        }
        stored.symbols.get(at - stored.first_symbol())
    }

    /// The place of a node among those that were here first.
    fn find_below(&self, node: NodeRef<'_>, hash: u64) -> Option<usize> {
        let root = self.root.as_ref()?;
        let found = root.stored.find_in(&root.stored.read(), node, hash);
        found.filter(|&at| at < root.entries).or_else(|| root.stored.find_below(node, hash))
    }

    fn find_in(&self, index: &Index, node: NodeRef<'_>, hash: u64) -> Option<usize> {
        let is_it =
            |&at: &u32| self.entries.get(at as usize).is_some_and(|entry| entry.node.borrowed() == node);
        index.table.find(hash, is_it).map(|&at| self.first_entry() + at as usize)
    }

    /// The place of a node, which `make` turns into an entry where it is new.
    pub(super) fn intern(&self, node: NodeRef<'_>, make: impl FnOnce() -> Entry) -> usize {
        let hash = hash(node);
        if let Some(at) = self.find_below(node, hash) {
            return at;
        }
        let mut index = self.write();
        match self.find_in(&index, node, hash) {
            Some(at) => at,
            None => self.add(&mut index, hash, make()),
        }
    }

    /// Adds an entry that is new.
    fn add(&self, index: &mut Index, hash_of_node: u64, entry: Entry) -> usize {
        if entry.sort == Sort::Float {
            self.floats.store(true, Ordering::Relaxed);
        }
        if entry.node.has_bits() {
            self.bits.store(true, Ordering::Relaxed);
        }
        let at = self.entries.push(entry);
        let rehash = |&at: &u32| self.entries.get(at as usize).map_or(0, |entry| hash(entry.node.borrowed()));
        index.table.insert_unique(hash_of_node, at as u32, rehash);
        self.first_entry() + at
    }

    /// The symbol of a name.
    pub(super) fn find_symbol(&self, name: &str) -> Option<Symbol> {
        let own = self.read().names.get(name).map(|&at| Symbol(self.first_symbol() as u32 + at));
        own.or_else(|| {
            let root = self.root.as_ref()?;
            root.stored.find_symbol(name).filter(|symbol| (symbol.0 as usize) < root.symbols)
        })
    }

    /// Adds a symbol, if its name is new; its expression.
    pub(super) fn add_symbol(&self, name: &str, sort: Sort) -> Expr {
        let mut index = self.write();
        if let Some(&at) = index.names.get(name)
            && let Some(known) = self.symbols.get(at as usize)
        {
            return known.expr;
        }
        let symbol = Symbol(self.symbol_count() as u32);
        let node = NodeRef::Symbol(symbol);
        let entry = Entry { node: node.to_node(), sort, is_mixed: false };
        let expr = Expr::at(self.add(&mut index, hash(node), entry));
        let at = self.symbols.push(NamedSymbol { name: name.into(), sort, expr });
        index.names.insert(name.into(), at as u32);
        expr
    }
}
