//! The arena in which every distinct expression is stored once.
pub use super::handle::{Expr, Symbol};
use super::int::Int;
use super::node::{F64, Func, Node, NodeRef, Sort};
use super::storage::{Entry, Stored};
use smallvec::SmallVec;
use std::sync::Arc;

/// Sets of up to this many expressions are searched from end to end.
const MAX_SCANNED: usize = 24;

/// Stores expressions, each once, and only ever adds to them.
///
/// A clone is another handle of the same expressions: what either adds, both have, so that handles ([`Expr`]) never
/// have to be translated. A [branch](Pool::branch) begins with the same expressions and keeps to itself what is added
/// to it. Handles of the pool mean the same in its branches; handles made by a branch must not leave it.
#[derive(Clone)]
pub struct Pool {
    pub(super) stored: Arc<Stored>,
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
const FALSE: Expr = Expr::at(0);
const TRUE: Expr = Expr::at(1);

impl Pool {
    /// A pool that holds only the truth values.
    pub fn new() -> Pool {
        let mut pool = Pool { stored: Arc::default() };
        pool.intern(NodeRef::Bool(false));
        pool.intern(NodeRef::Bool(true));
        pool
    }

    /// A pool that begins with the expressions of this one, at no cost. Neither sees what is added to the other: for
    /// threads, whose order must not matter, and for work whose expressions are to be forgotten with it.
    pub fn branch(&self) -> Pool {
        Pool { stored: Arc::new(self.stored.branch()) }
    }

    /// The number of stored nodes.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Whether the pool holds no expression but the truth values.
    pub fn is_empty(&self) -> bool {
        self.len() <= 2
    }

    /// Whether any expression of the pool is a double.
    pub fn has_floats(&self) -> bool {
        self.stored.has_floats()
    }

    /// Whether any expression of the pool is a bitwise operation or asks whether strides are dense.
    pub fn has_bits(&self) -> bool {
        self.stored.has_bits()
    }

    pub(super) fn intern(&mut self, node: NodeRef<'_>) -> Expr {
        self.charge(operands(node));
        let make = || {
            let sort = self.sort_of_node(node);
            Entry { node: node.to_node(), sort, is_mixed: sort == Sort::Float && self.is_mixed(node) }
        };
        Expr::at(self.stored.intern(node, make))
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
        self.stored.entry(e.index()?).map(|entry| &entry.node)
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
        match self.find_symbol(name) {
            Some(symbol) => self.symbol_expr(symbol),
            None => {
                self.charge(1);
                self.stored.add_symbol(name, sort)
            }
        }
    }

    /// The expression of a symbol.
    pub fn symbol_expr(&mut self, symbol: Symbol) -> Expr {
        match self.known_symbol_expr(symbol) {
            Some(e) => {
                self.charge(1);
                e
            }
            None => self.intern(NodeRef::Symbol(symbol)),
        }
    }

    /// The expression of a symbol, if the pool has it.
    pub fn known_symbol_expr(&self, symbol: Symbol) -> Option<Expr> {
        self.stored.symbol(symbol).map(|known| known.expr)
    }

    /// The symbol of a name, if the pool has one.
    pub fn find_symbol(&self, name: &str) -> Option<Symbol> {
        self.stored.find_symbol(name)
    }

    /// The number of symbols.
    pub fn symbol_count(&self) -> usize {
        self.stored.symbol_count()
    }

    /// The name of a symbol.
    pub fn symbol_name(&self, symbol: Symbol) -> &str {
        self.stored.symbol(symbol).map_or("?", |known| &known.name)
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
        e.index().and_then(|at| self.stored.entry(at)).map_or(Sort::Int, |entry| entry.sort)
    }

    /// The kind of value that a symbol has.
    pub fn symbol_sort(&self, symbol: Symbol) -> Sort {
        self.stored.symbol(symbol).map_or(Sort::Int, |known| known.sort)
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
    /// Python returns one of its operands unchanged, and what is computed of integers is an integer.
    pub fn may_be_integer(&self, e: Expr) -> bool {
        e.index().and_then(|at| self.stored.entry(at)).is_some_and(|entry| entry.is_mixed)
    }

    /// Whether `e` is a number of which arithmetic may be that of integers.
    pub(super) fn may_count(&self, e: Expr) -> bool {
        match self.sort(e) {
            Sort::Float => self.may_be_integer(e),
            _ => self.as_func(e, Func::Ratio).is_none(),
        }
    }

    fn is_mixed(&self, node: NodeRef<'_>) -> bool {
        let NodeRef::Call(func, args) = node else { return false };
        match func {
            Func::Min | Func::Max | Func::Ite | Func::Abs => {
                value_operands(func, args).iter().any(|&a| self.may_count(a))
            }
            Func::FloatAdd | Func::FloatMul | Func::FloatPow => args.iter().all(|&a| self.may_count(a)),
            Func::RoundDecimal => args.first().is_some_and(|&a| self.may_count(a)),
            _ => false,
        }
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
            let new = if e.id() < least {
                true
            } else if found.len() < MAX_SCANNED {
                !found.contains(&e)
            } else {
                seen.extend(found[noted..].iter().copied());
                noted = found.len();
                !seen.contains(&e)
            };
            if new {
                least = least.min(e.id());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_is_a_handle_of_the_same_expressions() {
        let mut pool = Pool::new();
        let mut other = pool.clone();
        let (a, b) = (pool.symbol("a"), other.symbol("b"));
        let (here, there) = (pool.add(a, b), other.add(a, b));
        assert_eq!((here, pool.symbol("b"), other.symbol("a")), (there, b, a));
        assert_eq!(pool.len(), other.len());
    }

    #[test]
    fn a_branch_reads_what_was_there_and_keeps_what_is_new() {
        let mut pool = Pool::new();
        let (a, b) = (pool.symbol("a"), pool.symbol("b"));
        let sum = pool.add(a, b);
        let mut branch = pool.branch();
        assert_eq!((branch.symbol("a"), branch.add(a, b), branch.len()), (a, sum, pool.len()));
        // Both go on, and then the same position has another expression in each.
        let (here, there) = (pool.mul(a, b), branch.symbol("c"));
        assert_eq!(here.id(), there.id());
        assert!(pool.as_symbol(here).is_none() && branch.as_symbol(there).is_some());
        assert_eq!((pool.find_symbol("c"), branch.find_symbol("c").is_some()), (None, true));
        let product = branch.mul(a, b);
        assert_ne!(product, here);
        // A branch of the branch has both.
        let mut inner = branch.branch();
        assert_eq!((inner.mul(a, b), inner.add(a, b), inner.symbol("c")), (product, sum, there));
        let d = inner.symbol("d");
        assert_eq!((inner.symbol_count(), branch.symbol_count(), pool.symbol_count()), (4, 3, 2));
        assert_eq!(inner.as_symbol(d).map(|d| inner.symbol_name(d)), Some("d"));
    }

    #[test]
    fn threads_that_share_a_pool_have_one_handle_for_one_expression() {
        let pool = Pool::new();
        let work = |mut pool: Pool| {
            let mut sum = Expr::ZERO;
            for i in 0..200 {
                let symbol = pool.symbol(&format!("s{}", i % 50));
                let product = pool.mul(symbol, Expr::from(i));
                sum = pool.add(sum, product);
            }
            sum
        };
        let sums: Vec<Expr> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| pool.clone()).map(|pool| scope.spawn(|| work(pool))).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        assert!(sums.len() == 4 && sums.iter().all(|&sum| sum == sums[0]));
        assert_eq!(pool.symbol_count(), 50);
    }
}
