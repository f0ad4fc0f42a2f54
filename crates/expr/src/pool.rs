//! The arena in which every distinct expression is stored once.
use super::int::Int;
use super::meter::Meter;
use super::node::{F64, Func, Node, NodeRef, Sort};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashSet};
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Sets of up to this many expressions are searched from end to end.
const MAX_SCANNED: usize = 24;

/// A handle to an expression of a [`Pool`]; equal handles of one pool are the same expression.
///
/// Integers of up to 63 bits are kept in the handle itself (lowest bit set), so arithmetic on concrete sizes never
/// touches the pool. Any other handle is an index (lowest bit clear). The order of handles is the order of
/// construction: a child is always smaller than its parent, and it has no meaning beyond that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(u64);

impl Expr {
    /// The integer 0.
    pub const ZERO: Expr = Expr::small(0);
    /// The integer 1.
    pub const ONE: Expr = Expr::small(1);

    const fn small(value: i64) -> Expr {
        Expr(((value << 1) | 1) as u64)
    }

    /// The handle of an integer that fits in 63 bits.
    pub const fn inline(value: i64) -> Option<Expr> {
        if value >= -(1 << 62) && value < 1 << 62 { Some(Expr::small(value)) } else { None }
    }

    /// The integer of a handle that carries one (every integer of up to 63 bits does).
    pub const fn as_inline(self) -> Option<i64> {
        if self.0 & 1 == 1 { Some((self.0 as i64) >> 1) } else { None }
    }

    /// The truth value of a handle that is `True` or `False`: these two are the same handles in every pool.
    pub const fn as_literal_bool(self) -> Option<bool> {
        match self.0 {
            0 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }

    /// The position in the pool of a handle that carries no integer.
    pub(super) fn index(self) -> Option<usize> {
        if self.0 & 1 == 0 { Some((self.0 >> 1) as usize) } else { None }
    }

    /// A number that identifies the expression within its pool, for use as a table index or in other data structures.
    pub fn id(self) -> u64 {
        self.0
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Expr {
        Expr::small(i64::from(value))
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_inline() {
            Some(v) => write!(f, "{v}"),
            None => write!(f, "#{}", self.0 >> 1),
        }
    }
}

/// A free variable of a [`Pool`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Symbol(pub u32);

/// Stores expressions, each once. Handles of different pools must not be mixed. A copy of a pool understands
/// the handles of the original.
///
/// A copy costs nothing until one of the two is added to.
#[derive(Clone)]
pub struct Pool {
    stored: Arc<Stored>,
    pub(super) meter: Meter,
}

/// The part of a pool that it shares with its copies.
#[derive(Clone, Default)]
struct Stored {
    nodes: IndexSet<Node, FxBuildHasher>,
    /// The sort of each node.
    sorts: Vec<Sort>,
    /// Names with the sorts and expressions of what they name.
    symbols: indexmap::IndexMap<Box<str>, (Sort, Expr), FxBuildHasher>,
    /// Whether any node is a double.
    floats: bool,
    /// Whether any node is a bitwise operation, or asks whether strides are dense.
    bits: bool,
    /// The nodes of sort double whose value may be an integer; see [`Pool::may_be_integer`].
    mixed: FxHashSet<usize>,
}

/// The operands of a call whose values its own value may be.
fn value_operands(func: Func, args: &[Expr]) -> &[Expr] {
    args.get(usize::from(func == Func::Ite)..).unwrap_or(&[])
}

impl Default for Pool {
    fn default() -> Pool {
        Pool::new()
    }
}

/// The fixed handles of the truth values, interned by [`Pool::new`].
const FALSE: Expr = Expr(0);
const TRUE: Expr = Expr(2);

impl Pool {
    /// A pool that holds only the truth values.
    pub fn new() -> Pool {
        let mut pool = Pool { stored: Arc::default(), meter: Meter::default() };
        pool.intern(NodeRef::Bool(false));
        pool.intern(NodeRef::Bool(true));
        pool
    }

    /// Reserves capacity for this many more expressions.
    pub fn reserve(&mut self, more: usize) {
        let stored = Arc::make_mut(&mut self.stored);
        stored.nodes.reserve(more);
        stored.sorts.reserve(more);
    }

    /// The number of stored nodes.
    pub fn len(&self) -> usize {
        self.stored.nodes.len()
    }

    /// Whether the pool holds no expression but the truth values.
    pub fn is_empty(&self) -> bool {
        self.stored.nodes.len() <= 2
    }

    /// Whether any expression of the pool is a double.
    pub fn has_floats(&self) -> bool {
        self.stored.floats
    }

    /// Whether any expression of the pool is a bitwise operation or asks whether strides are dense.
    pub fn has_bits(&self) -> bool {
        self.stored.bits
    }

    pub(super) fn intern(&mut self, node: NodeRef<'_>) -> Expr {
        self.charge(operands(node));
        let index = match self.stored.nodes.get_index_of(&node) {
            Some(index) => index,
            None => {
                let sort = self.sort_of_node(node);
                let is_mixed = sort == Sort::Float && self.is_mixed(node);
                let stored = Arc::make_mut(&mut self.stored);
                if is_mixed {
                    stored.mixed.insert(stored.nodes.len());
                }
                stored.sorts.push(sort);
                stored.floats |= sort == Sort::Float;
                stored.bits |= matches!(
                    node,
                    NodeRef::Call(Func::BitAnd | Func::BitOr | Func::BitXor | Func::DenseIndicator, _)
                );
                stored.nodes.insert_full(node.to_node()).0
            }
        };
        Expr((index as u64) << 1)
    }

    pub(super) fn intern_call(&mut self, func: Func, args: &[Expr]) -> Expr {
        self.intern(NodeRef::Call(func, args))
    }

    /// The number of terms (long coefficients count more), factors or operands of an expression; 1 if it has
    /// none.
    pub fn operands(&self, e: Expr) -> usize {
        self.node(e).map_or(1, |node| operands(node.borrowed()))
    }

    /// The node behind a handle, or `None` when the handle itself carries the integer ([`Expr::as_inline`]).
    pub fn node(&self, e: Expr) -> Option<&Node> {
        self.stored.nodes.get_index(e.index()?)
    }

    /// The call behind a handle, if it is one.
    pub fn as_call(&self, e: Expr) -> Option<(Func, &[Expr])> {
        match self.node(e)? {
            Node::Call(func, args) => Some((*func, args)),
            _ => None,
        }
    }

    /// The operands of `e` when it is a call of `func`.
    pub fn as_func(&self, e: Expr, func: Func) -> Option<&[Expr]> {
        self.as_call(e).filter(|(f, _)| *f == func).map(|(_, args)| args)
    }

    /// An integer constant.
    pub fn int(&mut self, value: impl Into<Int>) -> Expr {
        let value = value.into();
        match value.to_i64().and_then(Expr::inline) {
            Some(e) => e,
            None => self.intern(NodeRef::Int(&value)),
        }
    }

    /// A double constant; all NaNs are one.
    pub fn float(&mut self, value: f64) -> Expr {
        self.intern(NodeRef::Float(F64(if value.is_nan() { f64::NAN } else { value })))
    }

    /// A truth value.
    pub fn bool(&self, value: bool) -> Expr {
        if value { TRUE } else { FALSE }
    }

    /// The symbol of a name. One new to the pool is an integer, unless named as torch names floats (`zf0`, `zuf1`).
    pub fn symbol(&mut self, name: &str) -> Expr {
        let digits = name.strip_prefix("zuf").or_else(|| name.strip_prefix("zf"));
        let float = digits.is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
        self.symbol_of_sort(name, if float { Sort::Float } else { Sort::Int })
    }

    /// The symbol of a name; one new to the pool gets `sort`, a known one keeps its own.
    pub fn symbol_of_sort(&mut self, name: &str, sort: Sort) -> Expr {
        if let Some(&(_, e)) = self.stored.symbols.get(name) {
            self.charge(1);
            return e;
        }
        let symbols = &mut Arc::make_mut(&mut self.stored).symbols;
        let index = symbols.insert_full(name.into(), (sort, Expr::ZERO)).0;
        let e = self.intern(NodeRef::Symbol(Symbol(index as u32)));
        Arc::make_mut(&mut self.stored).symbols[index].1 = e;
        e
    }

    /// The expression of a symbol.
    pub fn symbol_expr(&mut self, symbol: Symbol) -> Expr {
        match self.stored.symbols.get_index(symbol.0 as usize) {
            Some((_, &(_, e))) => {
                self.charge(1);
                e
            }
            None => self.intern(NodeRef::Symbol(symbol)),
        }
    }

    /// The expression of a symbol, if the pool has it.
    pub fn known_symbol_expr(&self, symbol: Symbol) -> Option<Expr> {
        self.stored.symbols.get_index(symbol.0 as usize).map(|(_, &(_, e))| e)
    }

    /// The symbol of a name, if the pool has one.
    pub fn find_symbol(&self, name: &str) -> Option<Symbol> {
        self.stored.symbols.get_index_of(name).map(|index| Symbol(index as u32))
    }

    /// The number of symbols.
    pub fn symbol_count(&self) -> usize {
        self.stored.symbols.len()
    }

    /// The name of a symbol.
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        self.stored.symbols.get_index(symbol.0 as usize).map_or("?", |(name, _)| name)
    }

    /// The symbol that `e` is, if it is one.
    pub fn as_symbol(&self, e: Expr) -> Option<Symbol> {
        match self.node(e)? {
            Node::Symbol(symbol) => Some(*symbol),
            _ => None,
        }
    }

    /// The integer that `e` is, if it is one.
    pub fn as_int(&self, e: Expr) -> Option<Int> {
        match e.as_inline() {
            Some(v) => Some(Int::from(v)),
            None => match self.node(e)? {
                Node::Int(v) => Some(v.clone()),
                _ => None,
            },
        }
    }

    /// The truth value that `e` is, if it is one.
    pub fn as_bool(&self, e: Expr) -> Option<bool> {
        match e {
            FALSE => Some(false),
            TRUE => Some(true),
            _ => None,
        }
    }

    /// The double that `e` is, if it is one.
    pub fn as_float(&self, e: Expr) -> Option<f64> {
        match self.node(e)? {
            Node::Float(v) => Some(v.0),
            _ => None,
        }
    }

    /// Whether `e` is a constant of any sort.
    pub fn is_constant(&self, e: Expr) -> bool {
        e.as_inline().is_some() || matches!(self.node(e), Some(Node::Int(_) | Node::Float(_) | Node::Bool(_)))
    }

    /// The kind of value that `e` has.
    pub fn sort(&self, e: Expr) -> Sort {
        e.index().map_or(Sort::Int, |index| self.stored.sorts[index])
    }

    /// The kind of value that a symbol has.
    pub fn symbol_sort(&self, symbol: Symbol) -> Sort {
        self.stored.symbols.get_index(symbol.0 as usize).map_or(Sort::Int, |(_, (sort, _))| *sort)
    }

    fn sort_of_node(&self, node: NodeRef<'_>) -> Sort {
        match node {
            NodeRef::Int(_) | NodeRef::Sum { .. } | NodeRef::Product(_) => Sort::Int,
            NodeRef::Float(_) => Sort::Float,
            NodeRef::Bool(_) => Sort::Bool,
            NodeRef::Symbol(s) => self.symbol_sort(s),
            NodeRef::Call(func, args) => {
                let operands = value_operands(func, args);
                let is_float = operands.iter().any(|&a| self.sort(a) == Sort::Float);
                let first = operands.first().map_or(Sort::Int, |&a| self.sort(a));
                func.sort(if is_float { Sort::Float } else { first })
            }
        }
    }

    /// Whether the value of `e`, which has the sort [`Sort::Float`], may be an integer: `min(s0, 2.5)` in
    /// Python returns one of its operands unchanged.
    pub fn may_be_integer(&self, e: Expr) -> bool {
        e.index().is_some_and(|index| self.stored.mixed.contains(&index))
    }

    fn is_mixed(&self, node: NodeRef<'_>) -> bool {
        let NodeRef::Call(func @ (Func::Min | Func::Max | Func::Ite | Func::Abs), args) = node else {
            return false;
        };
        value_operands(func, args).iter().any(|&a| self.sort(a) != Sort::Float || self.may_be_integer(a))
    }

    /// Calls `visit` with each direct operand of `e`.
    pub fn for_each_child(&self, e: Expr, mut visit: impl FnMut(Expr)) {
        match self.node(e) {
            Some(Node::Sum { terms, .. }) => terms.iter().for_each(|(m, _)| visit(*m)),
            Some(Node::Product(factors)) => factors.iter().for_each(|(f, _)| visit(*f)),
            Some(Node::Call(_, args)) => args.iter().for_each(|&a| visit(a)),
            _ => {}
        }
    }

    /// Every stored expression that `roots` are built of, themselves included, children before parents. Integers
    /// carried by their handle are left out.
    pub fn reachable(&self, roots: &[Expr]) -> Vec<Expr> {
        self.closure(roots, |e, visit| self.for_each_child(e, visit)).into_vec()
    }

    /// Like [`Pool::reachable`], but the caller defines the parts of an expression: `for_each_part` calls its
    /// second argument with each.
    pub(super) fn closure(
        &self,
        roots: &[Expr],
        for_each_part: impl Fn(Expr, &mut dyn FnMut(Expr)),
    ) -> SmallVec<[Expr; 8]> {
        let mut stack: SmallVec<[Expr; 16]> = SmallVec::from_slice(roots);
        let mut found: SmallVec<[Expr; 8]> = SmallVec::new();
        // The least expression found, and how many of them are in the set, which is used once the list is long.
        let (mut least, mut noted) = (u64::MAX, 0);
        let mut seen = rustc_hash::FxHashSet::default();
        while let Some(e) = stack.pop() {
            if e.index().is_none() {
                continue;
            }
            // Operands come from the stack greatest first, and one that is less than all found so far is new.
            // Otherwise, most expressions are small, and a scan of a few handles costs less than hashing
            // them.
            let new = if e.0 < least {
                true
            } else if found.len() < MAX_SCANNED {
                !found.contains(&e)
            } else {
                seen.extend(found[noted..].iter().copied());
                noted = found.len();
                !seen.contains(&e)
            };
            if new {
                least = least.min(e.0);
                found.push(e);
                for_each_part(e, &mut |part| stack.push(part));
            }
        }
        self.charge(found.len());
        // A child is always older than its parent, so the order of handles is a topological one.
        found.sort_unstable();
        found
    }

    /// The symbols that occur in `roots`, oldest first.
    pub fn free_symbols(&self, roots: &[Expr]) -> Vec<Symbol> {
        self.reachable(roots).into_iter().filter_map(|e| self.as_symbol(e)).collect()
    }
}

fn operands(node: NodeRef<'_>) -> usize {
    match node {
        // Long coefficients count by their length in machine words.
        NodeRef::Sum { terms, .. } => terms.iter().map(|(_, c)| c.words()).sum(),
        NodeRef::Product(factors) => factors.len(),
        NodeRef::Call(_, args) => args.len(),
        _ => 1,
    }
}
