//! Comparisons of powers as comparisons of what is raised.
//!
//! `x**k` increases with `x` for an odd `k`, and where `x >= 0` for an even one; `b**n` increases with `n >= 0` for a
//! number `b >= 2`. So `x**3 <= y**3` is `x <= y`, and `2**n == 2**m` is `n == m`.
use super::*;

/// A monomial that is one power.
enum Power {
    /// A monomial raised to a number above 1.
    Of(Monomial, u32),
    /// A number of at least 2 raised to an integer.
    Exponential(Int, Expr),
}

impl Power {
    fn of(pool: &Pool, monomial: Expr) -> Option<Power> {
        let factors = pool.monomial(monomial);
        let power = factors.iter().fold(0, |gcd, (_, power)| num_integer::gcd(gcd, *power));
        if power > 1 {
            return Some(Power::Of(factors, power));
        }
        match pool.as_func(monomial, Func::Pow) {
            Some(&[base, n]) => {
                let base = pool.as_int(base).filter(|base| *base >= Int::from(2))?;
                Some(Power::Exponential(base, n))
            }
            _ => None,
        }
    }
}

impl Reduced {
    /// Takes equal powers away on both sides of one comparison.
    pub(super) fn compare_powers(&mut self, pool: &mut Pool) -> bool {
        for i in 0..self.conditions.len() {
            let condition = self.conditions[i];
            let (negated, inner) = match pool.as_func(condition, Func::Not) {
                Some(&[inner]) => (true, inner),
                _ => (false, condition),
            };
            let Some((func @ (Func::IsZero | Func::NotPositive), &[p])) = pool.as_call(inner) else {
                continue;
            };
            let poly = pool.poly(p);
            let [(m, c), (n, d)] = &poly.terms[..] else { continue };
            let is_strict = func == Func::NotPositive && poly.constant.is_one();
            if !(c.is_one() && (-d).is_one() || (-c).is_one() && d.is_one())
                || !(poly.constant.is_zero() || is_strict)
            {
                continue;
            }
            let (less, more) = if c.is_one() { (*m, *n) } else { (*n, *m) };
            let Some((less, more)) = self.raised(pool, less, more) else { continue };
            let compared = match (func, is_strict) {
                (Func::IsZero, _) => pool.eq(less, more),
                (_, true) => pool.lt(less, more),
                (_, false) => pool.le(less, more),
            };
            let compared = if negated { pool.not(compared) } else { compared };
            self.steps.push(("power", condition, compared));
            self.conditions[i] = compared;
            self.learn_new(pool, &[compared]);
            return true;
        }
        false
    }

    /// What is raised on two sides, where the sides are ordered as that is.
    fn raised(&mut self, pool: &mut Pool, a: Expr, b: Expr) -> Option<(Expr, Expr)> {
        let (a, b, needs_sign) = match (Power::of(pool, a)?, Power::of(pool, b)?) {
            (Power::Exponential(x, n), Power::Exponential(y, m)) if x == y => (n, m, true),
            (Power::Of(a, k), Power::Of(b, l)) => {
                let power = num_integer::gcd(k, l);
                // Of an odd number and what is even, the comparison is one of odd powers.
                let power = if power % 2 == 0 && !self.are_nonnegative(pool, &a, &b, power) {
                    power >> power.trailing_zeros()
                } else {
                    power
                };
                if power == 1 {
                    return None;
                }
                let root = |pool: &mut Pool, factors: &Monomial| {
                    let roots: Monomial = factors.iter().map(|&(atom, k)| (atom, k / power)).collect();
                    pool.from_monomial(&roots)
                };
                (root(pool, &a), root(pool, &b), power % 2 == 0)
            }
            _ => return None,
        };
        if needs_sign {
            if [a, b].iter().any(|&e| self.table.domain(pool, e).range.lo.is_negative()) {
                return None;
            }
            // The comparison that says it goes.
            let signs = [pool.le(Expr::ZERO, a), pool.le(Expr::ZERO, b)];
            self.conditions.extend(signs);
        }
        Some((a, b))
    }

    /// Whether the roots of two monomials are known not to be negative.
    fn are_nonnegative(&mut self, pool: &mut Pool, a: &Monomial, b: &Monomial, power: u32) -> bool {
        [a, b].into_iter().all(|factors| {
            let roots: Monomial = factors.iter().map(|&(atom, k)| (atom, k / power)).collect();
            let root = pool.from_monomial(&roots);
            !self.table.domain(pool, root).range.lo.is_negative()
        })
    }
}
