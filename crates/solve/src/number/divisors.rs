//! Equations that leave few values: what divides a constant.
//!
//! If every term of `p` contains the atom `x`, then `p == c` with `c != 0` makes `x` a divisor of `c`. And
//! `a*x*y + b*x + c*y == d` is `(a*x + c)*(a*y + b) == a*d + b*c`.
use super::super::reduce::Reduced;
use super::Lemma;
use super::factor::divisors;
use sizewise_expr::{Expr, Func, Int, Poly, Pool};

/// More values than this are no help.
const MAX_VALUES: usize = 96;

/// The values that an atom can have, if an equation leaves few.
pub fn values(pool: &mut Pool, problem: &mut Reduced, steps: &mut u32) -> Option<Lemma> {
    let mut best: Option<(Expr, Vec<Int>)> = None;
    for &c in &problem.conditions.clone() {
        let Some(&[p]) = pool.as_func(c, Func::IsZero) else { continue };
        let poly = pool.poly(p);
        let nonlinear =
            poly.terms.iter().any(|(m, _)| pool.monomial(*m).iter().map(|f| f.1).sum::<u32>() > 1);
        if !nonlinear {
            continue;
        }
        let found =
            common_factor(pool, problem, &poly, steps).or_else(|| bilinear(pool, problem, &poly, steps));
        if let Some((e, values)) = found
            && best.as_ref().is_none_or(|(_, b)| values.len() < b.len())
        {
            best = Some((e, values));
        }
    }
    best.filter(|(_, values)| values.len() <= MAX_VALUES).map(|(e, values)| Lemma::Values(e, values))
}

/// The divisors of `n`, of both signs, that are allowed.
fn allowed(n: &Int, steps: &mut u32, allows: impl Fn(&Int) -> bool) -> Option<Vec<Int>> {
    let n = u64::try_from(n.abs().to_big()).ok().filter(|n| *n > 0)?;
    let mut found = Vec::new();
    for d in divisors(n, steps)? {
        let d = Int::from(i128::from(d));
        found.extend([-&d, d].into_iter().filter(|v| allows(v)));
    }
    Some(found)
}

/// `x * (…) == c`.
fn common_factor(
    pool: &Pool,
    problem: &mut Reduced,
    poly: &Poly,
    steps: &mut u32,
) -> Option<(Expr, Vec<Int>)> {
    if poly.constant.is_zero() {
        return None;
    }
    let mut common = pool.monomial(poly.terms.first()?.0);
    for (m, _) in &poly.terms[1..] {
        let factors = pool.monomial(*m);
        common.retain(|(atom, _)| factors.iter().any(|(f, _)| f == atom));
    }
    let target = poly.constant.floor_div(&poly.content())?;
    let mut best: Option<(Expr, Vec<Int>)> = None;
    for (atom, _) in common {
        let domain = problem.table.domain(pool, atom);
        let values = allowed(&target, steps, |v| domain.contains(v))?;
        if best.as_ref().is_none_or(|(_, b)| values.len() < b.len()) {
            best = Some((atom, values));
        }
    }
    best
}

/// `a*x*y + b*x + c*y + d == 0`.
fn bilinear(pool: &Pool, problem: &mut Reduced, poly: &Poly, steps: &mut u32) -> Option<(Expr, Vec<Int>)> {
    let product = poly.terms.iter().find(|(m, _)| pool.monomial(*m).len() == 2)?;
    let (x, y) = match pool.monomial(product.0).as_slice() {
        &[(x, 1), (y, 1)] => (x, y),
        _ => return None,
    };
    let coefficient = |e: Expr| poly.terms.iter().find(|(m, _)| *m == e).map_or(Int::ZERO, |t| t.1.clone());
    let (a, b, c) = (&product.1, coefficient(x), coefficient(y));
    let present = 1 + usize::from(!b.is_zero()) + usize::from(!c.is_zero());
    if poly.terms.len() != present {
        return None;
    }
    // (a*x + c) * (a*y + b) == b*c - a*d.
    let target = &(&b * &c) - &(a * &poly.constant);
    let domain = problem.table.domain(pool, x);
    let allows = |v: &Int| {
        let shifted = v - &c;
        shifted.is_multiple_of(a) && shifted.floor_div(a).is_some_and(|x| domain.contains(&x))
    };
    let values = allowed(&target, steps, allows)?;
    Some((x, values.into_iter().filter_map(|v| (&v - &c).floor_div(a)).collect()))
}
