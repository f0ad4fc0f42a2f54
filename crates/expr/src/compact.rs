//! A pool with only the expressions that are still needed, for work that goes on for long.
use super::node::{Node, NodeRef};
use super::pool::{Expr, Pool};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// What holds handles of expressions. It is handed over when a pool is compacted, and comes back with the handles of
/// the new pool, so that none of the old pool stays behind in it.
///
/// ```
/// use sizewise_expr::{Expr, Handles};
///
/// struct Shape {
///     sizes: Vec<Expr>,
/// }
///
/// impl Handles for Shape {
///     fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
///         self.sizes.each(visit);
///     }
/// }
/// ```
pub trait Handles {
    /// Calls `visit` with every handle.
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr));
}

impl Handles for Expr {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        visit(self);
    }
}

impl Handles for () {
    fn each(&mut self, _: &mut dyn FnMut(&mut Expr)) {}
}

impl<T: Handles> Handles for Option<T> {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.iter_mut().for_each(|held| held.each(visit));
    }
}

impl<T: Handles> Handles for Vec<T> {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.iter_mut().for_each(|held| held.each(visit));
    }
}

impl<T: Handles, const N: usize> Handles for [T; N] {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.iter_mut().for_each(|held| held.each(visit));
    }
}

impl<A: Handles, B: Handles> Handles for (A, B) {
    fn each(&mut self, visit: &mut dyn FnMut(&mut Expr)) {
        self.0.each(visit);
        self.1.each(visit);
    }
}

/// Where the expressions of a pool are in the one that took its place.
#[derive(Debug)]
pub struct Moved(FxHashMap<Expr, Expr>);

impl Moved {
    /// The handle in the new pool; none of what was not kept.
    pub fn get(&self, old: Expr) -> Option<Expr> {
        if old.as_inline().is_some() { Some(old) } else { self.0.get(&old).copied() }
    }

    /// Exchanges handles of what was kept.
    pub fn exchange(&self, handles: &mut impl Handles) {
        handles.each(&mut |e| *e = self.get(*e).unwrap_or(*e));
    }
}

impl Pool {
    /// A new pool that holds these expressions, what they are built of, and all symbols, whose numbers stay the same.
    /// What it holds is ordered as in this pool, so that normal forms stay what they are.
    pub fn compacted(&self, roots: &[Expr]) -> (Pool, Moved) {
        let mut all = roots.to_vec();
        all.extend(self.symbols());
        let mut pool = Pool::new();
        let mut moved = Moved(FxHashMap::default());
        for e in self.reachable(&all) {
            let new = pool.copied(self, e, &moved);
            moved.0.insert(e, new);
        }
        // Work goes on where it was.
        if let Some(stored) = Arc::get_mut(&mut pool.stored) {
            stored.meter = self.stored.meter.clone();
        }
        (pool, moved)
    }

    /// The expressions of the symbols, oldest first.
    fn symbols(&self) -> impl Iterator<Item = Expr> {
        (0..self.symbol_count()).filter_map(|i| Some(self.stored.symbol(super::Symbol(i as u32))?.expr))
    }

    /// An expression of another pool, the parts of which were moved before.
    fn copied(&mut self, from: &Pool, e: Expr, moved: &Moved) -> Expr {
        let new = |part: Expr| moved.get(part).unwrap_or(part);
        let Some(node) = from.node(e) else { return e };
        match node {
            Node::Symbol(symbol) => {
                self.stored.add_symbol(from.symbol_name(*symbol), from.symbol_sort(*symbol))
            }
            Node::Sum { constant, terms } => {
                let terms: Vec<_> = terms.iter().map(|(part, factor)| (new(*part), factor.clone())).collect();
                self.intern(NodeRef::Sum { constant, terms: &terms })
            }
            Node::Product(factors) => {
                let factors: Vec<_> = factors.iter().map(|(part, power)| (new(*part), *power)).collect();
                self.intern(NodeRef::Product(&factors))
            }
            Node::Call(func, args) => {
                let args: Vec<Expr> = args.iter().map(|&part| new(part)).collect();
                self.intern_call(*func, &args)
            }
            constant => self.intern(constant.borrowed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{print, read};

    fn read(pool: &mut Pool, text: &str) -> Expr {
        read::closed(pool, text).expect(text).expr
    }

    #[test]
    fn what_is_kept_is_the_same_expression() {
        let texts = [
            "a*b + 3*c - 1",
            "Eq((a + b) // 4, c % 7)",
            "Min(a, 2*b) <= c*c",
            "a // 170141183460469231731687303715884105728",
            "Ne(a, 1) & (b > 2)",
            "(a & b) + 1",
            "sqrt(a) < 2.5",
        ];
        let mut pool = Pool::new();
        let others: Vec<Expr> = (0..50).map(|i| read(&mut pool, &format!("(a + {i})*b // 3"))).collect();
        let mut kept: Vec<Expr> = texts.iter().map(|text| read(&mut pool, text)).collect();
        let before: Vec<String> = kept.iter().map(|&e| print::expression(&pool, e)).collect();
        let (mut new, moved) = pool.compacted(&kept);
        moved.exchange(&mut kept);
        assert_eq!(before, kept.iter().map(|&e| print::expression(&new, e)).collect::<Vec<_>>());
        // Built again, they are found.
        assert!(new.len() < pool.len() / 2 && new.has_floats() && new.has_bits());
        assert_eq!(texts.map(|text| read(&mut new, text)).to_vec(), kept);
        assert_eq!(moved.get(others[49]), None);
    }

    #[test]
    fn symbols_keep_their_numbers_and_constants_their_handles() {
        let mut pool = Pool::new();
        let symbols = ["a", "zf0", "b"].map(|name| pool.symbol(name));
        let flag = pool.symbol_of_sort("flag", crate::Sort::Bool);
        let sum = pool.add(symbols[0], symbols[2]);
        let (new, moved) = pool.compacted(&[]);
        for e in symbols.into_iter().chain([flag]) {
            let there = moved.get(e).expect("a symbol");
            assert_eq!((pool.as_symbol(e), pool.sort(e)), (new.as_symbol(there), new.sort(there)));
        }
        assert_eq!(moved.get(sum), None);
        for constant in [Expr::ZERO, pool.bool(true), pool.bool(false)] {
            assert!(moved.get(constant).is_none_or(|there| there == constant));
        }
    }

    #[test]
    fn a_branch_is_compacted_with_what_it_reads_from_its_pool() {
        let mut pool = Pool::new();
        let (a, b) = (pool.symbol("a"), pool.symbol("b"));
        let product = pool.mul(a, b);
        let mut branch = pool.branch();
        let c = branch.symbol("c");
        let mut held = (Some(branch.add(product, c)), [product, c]);
        let mut roots = Vec::new();
        held.each(&mut |e| roots.push(*e));
        let (mut new, moved) = branch.compacted(&roots);
        moved.exchange(&mut held);
        let [a, b, c] = ["a", "b", "c"].map(|name| new.symbol(name));
        let product = new.mul(a, b);
        assert_eq!(held, (Some(new.add(product, c)), [product, c]));
    }
}
