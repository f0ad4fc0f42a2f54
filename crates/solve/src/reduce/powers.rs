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
            let Some(comparison) = Comparison::of(pool, condition) else { continue };
            let Poly { constant, terms } = &comparison.poly;
            let [(m, c), (n, d)] = &terms[..] else { continue };
            // `a <= b`, `a == b` or, with 1 beside, `a < b`.
            let is_strict = comparison.func == Func::NotPositive && constant.is_one();
            let (less, more) = match () {
                () if !constant.is_zero() && !is_strict => continue,
                () if c.is_one() && (-d).is_one() => (*m, *n),
                () if (-c).is_one() && d.is_one() => (*n, *m),
                () => continue,
            };
            let Some((less, more)) = self.raised(pool, less, more) else { continue };
            let (gap, constant) = (pool.sub(less, more), pool.int(constant.clone()));
            let gap = pool.add(gap, constant);
            let compared = comparison.with(pool, gap);
            self.conditions[i] = compared;
            self.learn_new(pool, &[compared]);
            return true;
        }
        false
    }

    /// What is raised on two sides, where the sides are ordered as that is.
    fn raised(&mut self, pool: &mut Pool, a: Expr, b: Expr) -> Option<(Expr, Expr)> {
        match (Power::of(pool, a)?, Power::of(pool, b)?) {
            (Power::Exponential(x, n), Power::Exponential(y, m)) if x == y => {
                self.nonnegative(pool, [n, m]).then_some((n, m))
            }
            (Power::Of(a, k), Power::Of(b, l)) => {
                let power = num_integer::gcd(k, l);
                let root = |pool: &mut Pool, factors: &Monomial, power: u32| {
                    let roots: Monomial = factors.iter().map(|&(atom, k)| (atom, k / power)).collect();
                    pool.from_monomial(&roots)
                };
                let (x, y) = (root(pool, &a, power), root(pool, &b, power));
                if power % 2 == 1 || self.nonnegative(pool, [x, y]) {
                    return (power > 1).then_some((x, y));
                }
                // Of an odd number and what is even, the odd powers are compared.
                let odd = power >> power.trailing_zeros();
                (odd > 1).then(|| (root(pool, &a, odd), root(pool, &b, odd)))
            }
            _ => None,
        }
    }

    /// Whether both are known not to be negative. The comparison that says so may go, so this becomes a condition.
    fn nonnegative(&mut self, pool: &mut Pool, both: [Expr; 2]) -> bool {
        if both.iter().any(|&e| self.table.domain(pool, e).range.lo.is_negative()) {
            return false;
        }
        self.conditions.extend(both.map(|e| pool.le(Expr::ZERO, e)));
        true
    }
}
