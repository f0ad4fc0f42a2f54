//! The later steps of reduction.
use super::*;

impl Reduced {
    /// Replaces all symbols of a linear equation by its solutions, in as many new symbols as there are
    /// degrees of freedom.
    pub(super) fn solve_by_lattice(&mut self, pool: &mut Pool, equation: &Poly) -> bool {
        let coefficients: Vec<_> = equation.terms.iter().map(|(_, c)| c.to_big()).collect();
        let Some((start, basis)) = lattice::solve(&coefficients, &-equation.constant.to_big()) else {
            return false;
        };
        let parameters: Vec<Expr> = basis.iter().map(|_| self.fresh(pool)).collect();
        let mut replace = FxHashMap::default();
        let mut known = Vec::new();
        for (i, (symbol, _)) in equation.terms.iter().enumerate() {
            let mut value = pool.int(Int::from_big(start[i].clone()));
            for (row, t) in basis.iter().zip(&parameters) {
                let factor = pool.int(Int::from_big(row[i].clone()));
                let term = pool.mul(factor, *t);
                value = pool.add(value, term);
            }
            known.push((value, self.table.domain(pool, *symbol)));
            replace.insert(*symbol, value);
        }
        let changed = self.substitute(pool, &replace, None);
        for (symbol, _) in &equation.terms {
            if let Some(s) = pool.as_symbol(*symbol) {
                self.replaced.push((s, replace[symbol]));
            }
        }
        for (value, domain) in known {
            self.contradiction |= self.table.restrict(pool, value, domain).is_err();
        }
        self.learn_new(pool, &changed);
        true
    }

    /// `a % b == 0` as `a == b*k` with a new symbol `k`, where the operands are no plain linear forms over constants.
    pub(super) fn divide_one(&mut self, pool: &mut Pool) -> bool {
        for i in 0..self.conditions.len() {
            let Some(&[r]) = pool.as_func(self.conditions[i], Func::IsZero) else { continue };
            let Some(&[a, b]) = pool.as_func(r, Func::Mod) else { continue };
            let product = |m: &Expr| matches!(pool.node(*m), Some(Node::Product(_)));
            if pool.is_constant(b) && !pool.poly(a).terms.iter().any(|(m, _)| product(m)) {
                continue;
            }
            let k = self.fresh(pool);
            let multiple = pool.mul(b, k);
            let equation = pool.eq(a, multiple);
            self.conditions[i] = equation;
            // The facts about the quotient hold for k.
            let quotient = pool.floor_div(a, b);
            let known = self.table.domain(pool, quotient);
            self.contradiction |= self.table.restrict(pool, k, known).is_err();
            self.learn_new(pool, &[equation]);
            return true;
        }
        false
    }

    /// `x == d*(…)` makes `x` a multiple of `d`: a symbol that stands alone in an equation whose other terms
    /// share an atom.
    pub(super) fn factor_one(&mut self, pool: &mut Pool) -> bool {
        if self.factored >= MAX_FACTORED {
            return false;
        }
        for i in 0..self.conditions.len() {
            let Some(&[p]) = pool.as_func(self.conditions[i], Func::IsZero) else { continue };
            let poly = pool.poly(p);
            if !poly.constant.is_zero() || poly.terms.len() < 3 {
                continue;
            }
            for (j, (x, c)) in poly.terms.iter().enumerate() {
                if !c.abs().is_one() || pool.as_symbol(*x).is_none() {
                    continue;
                }
                let others = || poly.terms.iter().enumerate().filter(|(k, _)| *k != j).map(|(_, (m, _))| *m);
                let mut common = others().next().map(|m| pool.monomial(m)).unwrap_or_default();
                for m in others().skip(1) {
                    let factors = pool.monomial(m);
                    common.retain(|(atom, _)| factors.iter().any(|(f, _)| f == atom));
                }
                common.retain(|(atom, _)| atom != x && pool.as_symbol(*atom).is_some());
                let Some(&(d, _)) = common.first() else { continue };
                self.factored += 1;
                let m = self.fresh(pool);
                let value = pool.mul(d, m);
                self.replace_symbol(pool, *x, value);
                return true;
            }
        }
        false
    }

    /// The signs of factors: `f*q <= -1` makes both nonzero and of opposite signs, so one sign gives the other.
    pub(super) fn signs(&mut self, pool: &mut Pool, used: &mut FxHashSet<Expr>) -> bool {
        for i in 0..self.conditions.len() {
            let condition = self.conditions[i];
            let Some(&[p]) = pool.as_func(condition, Func::NotPositive) else { continue };
            let poly = pool.poly(p);
            if !poly.constant.is_positive() || poly.terms.len() < 2 || used.contains(&condition) {
                continue;
            }
            let mut common = pool.monomial(poly.terms[0].0);
            for (m, _) in &poly.terms[1..] {
                let factors = pool.monomial(*m);
                common.retain(|(atom, _)| factors.iter().any(|(f, _)| f == atom));
            }
            let Some(&(factor, _)) = common.first() else { continue };
            used.insert(condition);
            let terms = Poly { constant: Int::ZERO, terms: poly.terms.clone() };
            let Some(rest) = pool.exact_division(&terms, &pool.poly(factor)) else { continue };
            let rest = pool.from_poly(&rest);
            let mut new = vec![pool.ne(factor, Expr::ZERO)];
            for (known, open) in [(factor, rest), (rest, factor)] {
                let range = self.table.domain(pool, known).range;
                if range.lo.signum() >= 0 {
                    new.push(pool.lt(open, Expr::ZERO));
                } else if range.hi.signum() <= 0 {
                    new.push(pool.lt(Expr::ZERO, open));
                }
            }
            self.conditions.extend(&new);
            self.learn_new(pool, &new);
            return true;
        }
        false
    }

    /// Uses one equation with a lone atom or product to rewrite it in the other conditions.
    pub(super) fn rewrite_one(&mut self, pool: &mut Pool, used: &mut FxHashSet<Expr>) -> bool {
        for i in 0..self.conditions.len() {
            let condition = self.conditions[i];
            let Some(&[p]) = pool.as_func(condition, Func::IsZero) else { continue };
            if !used.insert(condition) {
                continue;
            }
            let poly = pool.poly(p);
            // The newest monomial is usually the most complicated one.
            for (j, (m, c)) in poly.terms.iter().enumerate().rev() {
                if !c.abs().is_one() || pool.as_symbol(*m).is_some() {
                    continue;
                }
                let rest: Vec<Expr> =
                    poly.terms.iter().enumerate().filter(|(k, _)| *k != j).map(|(_, (m, _))| *m).collect();
                let factors = pool.monomial(*m);
                let inside = pool.reachable(&rest);
                if factors.iter().all(|(atom, _)| inside.contains(atom)) {
                    continue;
                }
                let term = Poly { constant: Int::ZERO, terms: [(*m, c.clone())].into_iter().collect() };
                let value = poly.add_scaled(&term, &Int::from(-1)).scaled(&-c);
                let value = pool.from_poly(&value);
                let monomial = pool.poly(*m);
                let mut replace = FxHashMap::from_iter([(*m, value)]);
                let others: Vec<Expr> =
                    self.conditions.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, c)| *c).collect();
                for e in pool.reachable(&others) {
                    if e != *m
                        && matches!(pool.node(e), Some(Node::Product(_)))
                        && let Some(quotient) = pool.exact_division(&pool.poly(e), &monomial)
                    {
                        let quotient = pool.from_poly(&quotient);
                        let product = pool.mul(quotient, value);
                        replace.insert(e, product);
                    }
                }
                let changed = self.substitute(pool, &replace, Some(i));
                if !changed.is_empty() {
                    self.learn_new(pool, &changed);
                    return true;
                }
            }
        }
        false
    }

    /// `a % b` as `a - b*(a//b)` everywhere, and coefficients below constant divisors brought near 0: `(16*x)//3` is
    /// `5*x + x//3`.
    pub(super) fn expand(&mut self, pool: &mut Pool) -> bool {
        let mut memo = FxHashMap::default();
        for e in pool.reachable(&self.conditions) {
            if pool.is_spent() {
                return false;
            }
            let Some((func @ (Func::Mod | Func::FloorDiv), &[a, b])) = pool.as_call(e) else { continue };
            let a = pool.substitute_memo(a, &|_| None, &mut memo);
            let b = pool.substitute_memo(b, &|_| None, &mut memo);
            let quotient = near_quotient(pool, a, b);
            let expanded = if func == Func::Mod {
                let multiple = pool.mul(b, quotient);
                pool.sub(a, multiple)
            } else {
                quotient
            };
            if expanded != e {
                memo.insert(e, expanded);
            }
        }
        if memo.is_empty() {
            return false;
        }
        for c in &mut self.conditions {
            match pool.substitute_within(*c, &|_| None, &mut memo) {
                Some(expanded) => *c = expanded,
                None => break,
            }
        }
        true
    }

    /// The ranges that the table gives the symbols of the conditions.
    pub fn ranges(&mut self, pool: &Pool) -> Vec<(Symbol, ValueRange)> {
        let symbols = pool.free_symbols(&self.conditions);
        let mut ranges = Vec::with_capacity(symbols.len());
        for e in pool.reachable(&self.conditions) {
            if let Some(s) = pool.as_symbol(e) {
                ranges.push((s, self.table.domain(pool, e).range));
            }
        }
        ranges
    }
}
