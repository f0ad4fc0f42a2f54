//! Substitution.
use super::node::Node;
use super::pool::{Expr, Pool, Symbol};
use rustc_hash::FxHashMap;

impl Pool {
    /// `e` with every stored subexpression `f` that `replace` knows replaced, innermost first, and the rest rebuilt
    /// canonically. Replacements are not searched again.
    pub fn substitute(&mut self, e: Expr, replace: impl Fn(Expr) -> Option<Expr>) -> Expr {
        let mut memo = FxHashMap::default();
        self.substitute_memo(e, &replace, &mut memo)
    }

    /// As [`Pool::substitute`], with a memory that may serve several expressions under the same replacements.
    pub fn substitute_memo(
        &mut self,
        e: Expr,
        replace: &impl Fn(Expr) -> Option<Expr>,
        memo: &mut FxHashMap<Expr, Expr>,
    ) -> Expr {
        self.substitute_parts(e, replace, memo, false).unwrap_or(e)
    }

    /// As [`Pool::substitute_memo`]; `None` once the work has reached its limit ([`Pool::limit_work`]).
    pub fn substitute_within(
        &mut self,
        e: Expr,
        replace: &impl Fn(Expr) -> Option<Expr>,
        memo: &mut FxHashMap<Expr, Expr>,
    ) -> Option<Expr> {
        self.substitute_parts(e, replace, memo, true)
    }

    fn substitute_parts(
        &mut self,
        e: Expr,
        replace: &impl Fn(Expr) -> Option<Expr>,
        memo: &mut FxHashMap<Expr, Expr>,
        limited: bool,
    ) -> Option<Expr> {
        for part in self.reachable(&[e]) {
            if limited && self.is_spent() {
                return None;
            }
            if memo.contains_key(&part) {
                continue;
            }
            let rebuilt = match replace(part) {
                Some(replacement) => replacement,
                None => self.rebuild(part, memo),
            };
            memo.insert(part, rebuilt);
        }
        Some(memo.get(&e).copied().unwrap_or(e))
    }

    /// `e` with symbols replaced.
    pub fn substitute_symbols(&mut self, e: Expr, replace: impl Fn(Symbol) -> Option<Expr>) -> Expr {
        let symbols: FxHashMap<Expr, Expr> = self
            .free_symbols(&[e])
            .into_iter()
            .filter_map(|s| replace(s).map(|r| (s, r)))
            .map(|(s, r)| (self.symbol_expr(s), r))
            .collect();
        if symbols.is_empty() {
            return e;
        }
        self.substitute(e, |part| symbols.get(&part).copied())
    }

    fn rebuild(&mut self, e: Expr, memo: &FxHashMap<Expr, Expr>) -> Expr {
        let mut changed = false;
        self.for_each_child(e, |child| changed |= memo.get(&child).is_some_and(|&new| new != child));
        if !changed {
            return e;
        }
        let new = |child: Expr| memo.get(&child).copied().unwrap_or(child);
        match self.node(e).cloned() {
            Some(Node::Sum { constant, terms }) => {
                if terms.iter().all(|(monomial, _)| !self.is_inexact(new(*monomial))) {
                    return self.combination(constant, terms.iter().map(|(m, c)| (new(*m), c)));
                }
                let mut total = self.int(constant);
                for (monomial, coefficient) in terms {
                    let coefficient = self.int(coefficient);
                    let term = self.mul(coefficient, new(monomial));
                    total = self.add(total, term);
                }
                total
            }
            Some(Node::Product(factors)) => {
                let mut total = Expr::ONE;
                for (atom, power) in factors {
                    let exponent = self.int(i64::from(power));
                    let factor = self.pow(new(atom), exponent);
                    total = self.mul(total, factor);
                }
                total
            }
            Some(Node::Call(func, args)) => {
                let args: Vec<Expr> = args.into_iter().map(new).collect();
                self.call(func, &args)
            }
            _ => e,
        }
    }
}
