//! Factors of polynomials over sizes.
use sizewise_expr::{Expr, Int, Pool};
use std::cmp::Ordering;

/// The most terms of a polynomial that is divided, and the most steps of a division.
const MAX_TERMS: usize = 64;

/// The powers of a term by its factors.
type Powers = Vec<(Expr, u32)>;

/// A factor of a polynomial and what is left: the coefficient of one of its factors, where that divides it.
pub(super) fn split(pool: &mut Pool, e: Expr) -> Option<(Expr, Expr)> {
    let poly = pool.poly(e);
    if poly.terms.len() > MAX_TERMS {
        return None;
    }
    let mut tried = Vec::new();
    for (term, _) in &poly.terms {
        for (factor, power) in pool.monomial(*term) {
            if power != 1 || tried.contains(&factor) {
                continue;
            }
            tried.push(factor);
            let coefficient = coefficient(pool, e, factor);
            if pool.poly(coefficient).as_constant().is_none()
                && let Some(quotient) = quotient(pool, e, coefficient)
            {
                return Some((coefficient, quotient));
            }
        }
    }
    None
}

/// The sum of what a factor is multiplied by.
fn coefficient(pool: &mut Pool, e: Expr, factor: Expr) -> Expr {
    let mut parts = Vec::new();
    for (term, number) in pool.poly(e).terms {
        let monomial = pool.monomial(term);
        if !monomial.iter().any(|&(own, power)| own == factor && power == 1) {
            continue;
        }
        let left: Powers = monomial.into_iter().filter(|(own, _)| *own != factor).collect();
        let (left, number) = (pool.from_monomial(&left), pool.int(number));
        parts.push(pool.mul(left, number));
    }
    pool.sum(parts)
}

/// The quotient of polynomials, if nothing is left over.
fn quotient(pool: &mut Pool, e: Expr, divisor: Expr) -> Option<Expr> {
    let (lead, number) = leading(pool, divisor)?;
    let (mut rest, mut parts) = (e, Vec::new());
    for _ in 0..MAX_TERMS {
        let Some((term, coefficient)) = leading(pool, rest) else {
            return Some(pool.sum(parts));
        };
        let (coefficient, number) = (coefficient.to_i64()?, number.to_i64()?);
        if coefficient % number != 0 || pool.poly(rest).terms.len() > MAX_TERMS {
            return None;
        }
        let power = |factor: Expr| lead.iter().find(|(own, _)| *own == factor).map_or(0, |(_, power)| *power);
        if lead.iter().any(|(factor, power)| !term.iter().any(|(own, has)| own == factor && has >= power)) {
            return None;
        }
        let left: Powers =
            term.iter().map(|&(own, has)| (own, has - power(own))).filter(|p| p.1 > 0).collect();
        let (left, times) = (pool.from_monomial(&left), pool.int(coefficient / number));
        let part = pool.mul(left, times);
        let product = pool.mul(part, divisor);
        rest = pool.sub(rest, product);
        parts.push(part);
    }
    None
}

/// The greatest term of a polynomial, with its coefficient; `None` for 0.
fn leading(pool: &mut Pool, e: Expr) -> Option<(Powers, Int)> {
    let poly = pool.poly(e);
    let mut terms: Vec<(Powers, Int)> = Vec::new();
    for (term, number) in &poly.terms {
        let mut powers: Powers = pool.monomial(*term).into_iter().collect();
        powers.sort_unstable();
        terms.push((powers, number.clone()));
    }
    terms.extend((!poly.constant.is_zero()).then(|| (Powers::new(), poly.constant.clone())));
    terms.into_iter().max_by(|(a, _), (b, _)| order(a, b))
}

/// An order of terms that products keep: by the power of the first factor, then of the next.
fn order(a: &Powers, b: &Powers) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        match x.0.cmp(&y.0) {
            Ordering::Equal => match x.1.cmp(&y.1) {
                Ordering::Equal => {}
                other => return other,
            },
            // The one that lacks the earlier factor is less.
            Ordering::Less => return Ordering::Greater,
            Ordering::Greater => return Ordering::Less,
        }
    }
    a.len().cmp(&b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_sums_are_split() {
        let mut pool = Pool::new();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| pool.symbol(name));
        let (x, y) = (pool.add(a, b), pool.add(c, d));
        let (four, six) = (pool.int(4), pool.int(6));
        let (x, y) = (pool.sub(x, four), pool.sub(y, six));
        let product = pool.mul(x, y);
        let (first, second) = split(&mut pool, product).expect("factors");
        assert!([(x, y), (y, x)].contains(&(first, second)));
        let sum = pool.add(product, Expr::ONE);
        assert_eq!(split(&mut pool, sum), None);
    }
}
