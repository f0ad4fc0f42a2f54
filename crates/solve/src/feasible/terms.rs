//! Terms worth trying for a symbol, derived from the conditions on it.
use super::is_float;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol};

/// The most terms that are proposed.
const MAX_TERMS: usize = 12;
/// The most bounds that a greatest or least one is made of.
const MAX_BOUNDS: usize = 16;

/// The bounds of a symbol in comparisons, as terms of others.
#[derive(Default)]
struct Bounds {
    equal: Vec<Expr>,
    lower: Vec<Expr>,
    upper: Vec<Expr>,
    other: Vec<Expr>,
    /// Constants that it is divided by.
    moduli: Vec<Int>,
}

/// Terms for `symbol` without any of the symbols `open`, the most promising first.
pub(super) fn terms(pool: &mut Pool, symbol: Symbol, open: &[Symbol], conditions: &[Expr]) -> Vec<Expr> {
    if is_float(pool, symbol) {
        return [0.0, 1.0, -1.0, 0.5].into_iter().map(|v| pool.float(v)).collect();
    }
    let e = pool.symbol_expr(symbol);
    let mut bounds = Bounds::default();
    for part in pool.reachable(conditions) {
        match pool.as_call(part) {
            Some((Func::IsZero, &[p])) => bounds.compare(pool, e, p, true),
            Some((Func::NotPositive, &[p])) => bounds.compare(pool, e, p, false),
            Some((Func::Mod, &[a, d])) => {
                if let Some(d) = pool.as_int(d).filter(Int::is_positive)
                    && pool.free_symbols(&[a]).contains(&symbol)
                {
                    bounds.moduli.push(d);
                }
            }
            _ => {}
        }
    }
    bounds.proposals(pool, open)
}

impl Bounds {
    /// Records the bound of `e` by `p == 0` or `p <= 0`, if `p` is linear in `e`: `c*e + rest`.
    fn compare(&mut self, pool: &mut Pool, e: Expr, p: Expr, equal: bool) {
        let Some(symbol) = pool.as_symbol(e) else { return };
        let poly = pool.poly(p);
        let is_within = |m: Expr| pool.monomial(m).iter().any(|&(atom, power)| atom == e && power == 1);
        let Some((monomial, c)) = poly.terms.iter().find(|(m, _)| is_within(*m)).cloned() else { return };
        let coefficient = pool.int(c.clone());
        let product = pool.mul(coefficient, monomial);
        let rest = pool.sub(p, product);
        if pool.free_symbols(&[rest]).contains(&symbol) {
            return;
        }
        let opposite = pool.neg(rest);
        if monomial != e {
            // The other factors may be 1.
            self.other.push(pool.floor_div(opposite, coefficient));
            return;
        }
        if equal {
            self.equal.push(pool.floor_div(opposite, coefficient));
        } else if c.is_positive() {
            // c*e <= -rest
            self.upper.push(pool.floor_div(opposite, coefficient));
        } else {
            // e >= rest / -c
            let positive = pool.int(-c);
            self.lower.push(pool.ceil_div(rest, positive));
        }
        // A value next to what a comparison excludes, or to one that a branch of a condition wants.
        if equal {
            let quotient = pool.floor_div(opposite, coefficient);
            self.other.push(pool.add(quotient, Expr::ONE));
        }
    }

    fn proposals(mut self, pool: &mut Pool, open: &[Symbol]) -> Vec<Expr> {
        for list in [&mut self.equal, &mut self.lower, &mut self.upper, &mut self.other] {
            list.retain(|&e| !pool.free_symbols(&[e]).iter().any(|s| open.contains(s)));
            list.sort_unstable();
            list.dedup();
            list.truncate(MAX_BOUNDS);
        }
        let mut found = self.equal;
        if !self.lower.is_empty() {
            found.push(pool.extremum(Func::Max, &self.lower));
        }
        if !self.upper.is_empty() {
            found.push(pool.extremum(Func::Min, &self.upper));
        }
        self.moduli.sort_unstable();
        self.moduli.dedup();
        // The least multiples of what it is to be a multiple of, from the lower bounds on.
        for d in self.moduli.into_iter().take(2) {
            let d = pool.int(d);
            let least = found.first().copied().unwrap_or(Expr::ZERO);
            let quotient = pool.ceil_div(least, d);
            found.push(pool.mul(quotient, d));
        }
        found.extend([Expr::ZERO, Expr::ONE]);
        found.extend(self.other);
        found.extend(self.lower);
        found.extend(self.upper);
        let mut terms: Vec<Expr> = Vec::with_capacity(MAX_TERMS);
        for term in found {
            if terms.len() < MAX_TERMS && !terms.contains(&term) {
                terms.push(term);
            }
        }
        terms
    }
}
