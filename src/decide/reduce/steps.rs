//! The later steps of reduction.
use super::*;

impl Reduced {
    /// The quotient of known value by a constant, with what that says about the dividend made a condition.
    pub(super) fn fixed_quotient(&mut self, pool: &mut Pool, value: &Int, a: Expr, d: Expr) -> Option<Expr> {
        let divisor = pool.as_int(d).filter(Int::is_positive)?;
        let least = value * &divisor;
        let (least, next) = (pool.int(least.clone()), pool.int(&least + &divisor));
        let inside = [pool.le(least, a), pool.lt(a, next)];
        self.conditions.extend(inside);
        Some(pool.int(value.clone()))
    }

    /// A minimum or maximum without operands that another one beats everywhere.
    pub(super) fn settled_extremum(&mut self, pool: &mut Pool, least: bool, args: &[Expr]) -> Option<Expr> {
        let mut kept: Vec<Expr> = args.to_vec();
        let mut i = 0;
        while i < kept.len() {
            let beaten = kept.clone().into_iter().enumerate().find_map(|(j, other)| {
                let difference = if least { pool.sub(kept[i], other) } else { pool.sub(other, kept[i]) };
                (j != i && self.table.domain(pool, difference).range.lo.signum() >= 0).then_some(difference)
            });
            match beaten {
                Some(difference) => {
                    kept.remove(i);
                    let ordered = pool.le(Expr::ZERO, difference);
                    self.conditions.push(ordered);
                }
                None => i += 1,
            }
        }
        (kept.len() < args.len() && !kept.is_empty())
            .then(|| pool.extremum(if least { Func::Min } else { Func::Max }, &kept))
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
                let before = self.conditions.clone();
                self.substitute(pool, &replace, Some(i));
                if self.conditions != before {
                    self.learn(pool);
                    return true;
                }
            }
        }
        false
    }

    /// `a % b` as `a - b*(a//b)` everywhere, and coefficients below constant divisors brought near 0: `(16*x)//3` is
    /// `5*x + x//3`.
    pub(super) fn expand(&mut self, pool: &mut Pool) {
        let mut memo = FxHashMap::default();
        for e in pool.reachable(&self.conditions) {
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
        if !memo.is_empty() {
            for c in &mut self.conditions {
                *c = pool.substitute_memo(*c, &|_| None, &mut memo);
            }
        }
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
