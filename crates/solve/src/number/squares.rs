//! Quadratic polynomials bounded from below by completing squares.
//!
//! `p = d1*l1^2 + d2*l2^2 + … + c` with rational `d > 0` and affine `l` is at least `c`. If `p <= 0` is
//! required and `c > 0`, there is no solution.
use super::super::reduce::Reduced;
use super::Lemma;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use sizewise_expr::{Expr, Func, Int, Poly, Pool};

/// Quadratic forms in more atoms are not looked at.
const MAX_ATOMS: usize = 6;

/// Whether a condition demands that a polynomial be less than its squares allow.
pub fn refute(pool: &mut Pool, problem: &mut Reduced) -> Option<Lemma> {
    for &c in &problem.conditions {
        let Some((func @ (Func::IsZero | Func::NotPositive), &[p])) = pool.as_call(c) else { continue };
        let poly = pool.poly(p);
        let least = least_value(pool, &poly);
        let greatest =
            || (func == Func::IsZero).then(|| least_value(pool, &poly.scaled(&Int::from(-1)))).flatten();
        if least.is_some_and(|v| v.is_positive()) || greatest().is_some_and(|v| v.is_positive()) {
            return Some(Lemma::Closed);
        }
    }
    None
}

/// A lower bound of a polynomial of degree 2 that is a sum of squares and a constant.
fn least_value(pool: &Pool, poly: &Poly) -> Option<BigRational> {
    let mut atoms: Vec<Expr> = Vec::new();
    let rational = |v: &Int| BigRational::from_integer(v.to_big());
    let mut entries: Vec<(usize, usize, BigRational)> = Vec::new();
    let mut position = |e: Expr| {
        atoms.iter().position(|a| *a == e).unwrap_or_else(|| {
            atoms.push(e);
            atoms.len() - 1
        })
    };
    let mut quadratic = false;
    for (m, c) in &poly.terms {
        match *pool.monomial(*m).as_slice() {
            [(a, 1)] => entries.push((position(a) + 1, 0, rational(c))),
            [(a, 2)] => {
                quadratic = true;
                let i = position(a) + 1;
                entries.push((i, i, rational(c)));
            }
            [(a, 1), (b, 1)] => {
                quadratic = true;
                entries.push((position(a) + 1, position(b) + 1, rational(c)));
            }
            _ => return None,
        }
    }
    let n = atoms.len() + 1;
    if !quadratic || n > MAX_ATOMS + 1 {
        return None;
    }
    // The symmetric matrix of the form in (1, atoms); the constant in the corner.
    let mut q = vec![vec![BigRational::zero(); n]; n];
    q[0][0] = rational(&poly.constant);
    let half = BigRational::new(1.into(), 2.into());
    for (i, j, c) in entries {
        if i == j {
            q[i][i] += c;
        } else {
            q[i][j] += &c * &half;
            q[j][i] += &c * &half;
        }
    }
    // Complete one square after the other.
    for k in (1..n).rev() {
        let pivot = q[k][k].clone();
        if pivot.is_negative() {
            return None;
        }
        if pivot.is_zero() {
            // Linear in this atom: bounded only if it does not occur.
            if (0..k).any(|i| !q[k][i].is_zero()) {
                return None;
            }
            continue;
        }
        let inverse = BigRational::one() / &pivot;
        for i in 0..k {
            for j in 0..k {
                let change = &q[i][k] * &q[k][j] * &inverse;
                q[i][j] -= change;
            }
        }
    }
    Some(q[0][0].clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::read;

    #[test]
    fn squares_are_completed() {
        let least = |text: &str| {
            let mut pool = Pool::new();
            let e = read::closed(&mut pool, text).unwrap().expr;
            least_value(&pool, &pool.poly(e)).map(|v| v.to_string())
        };
        assert_eq!(least("a**2 + b**2 - 2*a*b + 1").as_deref(), Some("1"));
        assert_eq!(least("a**2 - 3*a + 5").as_deref(), Some("11/4"));
        assert_eq!(least("2*a**2 + 2*a*b + 3*b**2 - 4*b").as_deref(), Some("-8/5"));
        assert_eq!(least("a**2 - b**2"), None);
        assert_eq!(least("a**2 + b"), None);
        assert_eq!(least("a*b"), None);
    }
}
