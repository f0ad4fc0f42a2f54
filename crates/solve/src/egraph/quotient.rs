//! Quotients of monomials and polynomials.
use sizewise_expr::{Divisor, Expr, Int, Monomial, Poly, Pool};

/// `a / b` of monomials, if `b` divides `a`.
pub(crate) fn of_monomials(a: &[(Expr, u32)], b: &[(Expr, u32)]) -> Option<Monomial> {
    let mut quotient: Monomial = a.iter().copied().collect();
    for &(atom, power) in b {
        let (_, left) = quotient.iter_mut().find(|(f, _)| *f == atom)?;
        *left = left.checked_sub(power)?;
    }
    quotient.retain(|(_, power)| *power > 0);
    Some(quotient)
}

/// `(q, r)` with `a == q*b + r`. If `b` is a single term, `q` has all terms of `a` that `b` divides.
/// Otherwise `q` is 0 unless `b` divides `a` as a polynomial.
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
        let scale = Divisor::of(factor).and_then(|factor| factor.exact_quotient_of(c));
        match of_monomials(&pool.monomial(*monomial), &divisor).zip(scale) {
            Some((left, scale)) => {
                let (left, scale) = (pool.from_monomial(&left), pool.int(scale));
                let term = pool.mul(scale, left);
                quotient = pool.add(quotient, term);
            }
            None => rest.terms.push((*monomial, c.clone())),
        }
    }
    (quotient, rest)
}

fn split_constant(pool: &mut Pool, a: &Poly, d: &Int) -> (Expr, Poly) {
    let mut quotient = Poly::default();
    let mut rest = Poly::default();
    let Some(d) = Divisor::of(d) else { return (Expr::ZERO, a.clone()) };
    let place = |c: &Int| d.exact_quotient_of(c);
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
