//! Quotients of monomials and polynomials.
use crate::expr::{Expr, Int, Monomial, Poly, Pool};

/// `a / b` of monomials, if `b` divides `a`.
pub(super) fn of_monomials(a: &[(Expr, u32)], b: &[(Expr, u32)]) -> Option<Monomial> {
    let mut quotient: Monomial = a.iter().copied().collect();
    for &(atom, power) in b {
        let (_, left) = quotient.iter_mut().find(|(f, _)| *f == atom)?;
        *left = left.checked_sub(power)?;
    }
    quotient.retain(|(_, power)| *power > 0);
    Some(quotient)
}

/// `(q, r)` with `a == q*b + r`: all terms of `a` that `b` divides are in `q` when `b` is a single term; else `q` is 0 unless `b`
/// divides `a` as a polynomial.
pub(super) fn split(pool: &mut Pool, a: &Poly, b: &Poly) -> (Expr, Poly) {
    let [(divisor, factor)] = b.terms.as_slice() else {
        return match (b.as_constant(), pool.exact_division(a, b)) {
            (Some(d), _) => split_constant(pool, a, d),
            (None, Some(quotient)) => (pool.from_poly(&quotient), Poly::default()),
            _ => (Expr::ZERO, a.clone()),
        };
    };
    if !b.constant.is_zero() {
        return match pool.exact_division(a, b) {
            Some(quotient) => (pool.from_poly(&quotient), Poly::default()),
            None => (Expr::ZERO, a.clone()),
        };
    }
    let divisor = pool.monomial(*divisor);
    let mut quotient = Expr::ZERO;
    let mut rest = Poly::constant(a.constant.clone());
    for (monomial, c) in &a.terms {
        match of_monomials(&pool.monomial(*monomial), &divisor) {
            Some(left) if c.is_multiple_of(factor) => {
                let left = pool.from_monomial(&left);
                let scale = pool.int(c.floor_div(factor).unwrap_or_default());
                let term = pool.mul(scale, left);
                quotient = pool.add(quotient, term);
            }
            _ => rest.terms.push((*monomial, c.clone())),
        }
    }
    (quotient, rest)
}

fn split_constant(pool: &mut Pool, a: &Poly, d: &Int) -> (Expr, Poly) {
    let mut quotient = Poly::default();
    let mut rest = Poly::default();
    if d.is_zero() {
        return (Expr::ZERO, a.clone());
    }
    let place = |c: &Int| if c.is_multiple_of(d) { c.floor_div(d) } else { None };
    match place(&a.constant) {
        Some(q) => quotient.constant = q,
        None => rest.constant = a.constant.clone(),
    }
    for (monomial, c) in &a.terms {
        match place(c) {
            Some(q) => quotient.terms.push((*monomial, q)),
            None => rest.terms.push((*monomial, c.clone())),
        }
    }
    (pool.from_poly(&quotient), rest)
}
