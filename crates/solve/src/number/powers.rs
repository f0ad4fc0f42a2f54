//! Equations of two terms: `a*M == b*N` with powers only.
//!
//! If every exponent in `M` and `N` is a multiple of `g > 1` and neither side is 0, then `a/b` is the `g`-th power of a
//! rational. So `x**2 == 61*y**2` has no solution but 0.
use super::super::reduce::Reduced;
use super::Lemma;
use sizewise_expr::{Func, Int, Pool};

/// Whether an equation of two terms asks for a rational root that does not exist.
pub fn refute(pool: &mut Pool, problem: &mut Reduced) -> Option<Lemma> {
    for &c in &problem.conditions {
        let Some(&[p]) = pool.as_func(c, Func::IsZero) else { continue };
        let poly = pool.poly(p);
        let [(m, a), (n, b)] = poly.terms.as_slice() else { continue };
        if !poly.constant.is_zero() {
            continue;
        }
        let factors = pool.monomial(*m).into_iter().chain(pool.monomial(*n));
        let power = factors.fold(0, |g, (_, k)| num_integer::gcd(g, k));
        if power < 2 {
            continue;
        }
        // One side is not 0, so neither is the other.
        let nonzero = [*m, *n].iter().any(|&e| !problem.table.domain(pool, e).contains_zero());
        if !nonzero {
            continue;
        }
        let gcd = a.gcd(b);
        let (Some(x), Some(y)) = (a.floor_div(&gcd), (-b).floor_div(&gcd)) else { continue };
        // The signs: x*M == y*N.
        let opposite = x.is_negative() != y.is_negative();
        if (opposite && power % 2 == 0) || !is_power(&x.abs(), power) || !is_power(&y.abs(), power) {
            // y/x is no such power of a rational, as the exponents demand.
            return Some(Lemma::Closed);
        }
    }
    None
}

fn is_power(v: &Int, k: u32) -> bool {
    let big = v.to_big();
    num_traits::pow(big.nth_root(k), k as usize) == big
}
