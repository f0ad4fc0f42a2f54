//! Polynomials that are powers of polynomials.
use super::quotient::of_monomials;
use num_traits::Signed;
use sizewise_expr::{Expr, Int, Monomial, Poly, Pool};
use std::cmp::Ordering;

/// Roots of more terms than this are not looked for.
const MAX_TERMS: usize = 6;
/// Powers above this are not looked for.
const MAX_POWER: u32 = 8;

/// `(q, k)` with `q**k == poly` and `k > 1` as large as possible, for a polynomial of several terms.
pub(super) fn power_of_sum(pool: &mut Pool, poly: &Poly) -> Option<(Poly, u32)> {
    let mut terms = terms_of(pool, poly);
    if terms.len() < 3 {
        return None;
    }
    terms.sort_unstable_by(|a, b| order(&b.0, &a.0));
    let (first, last) = (terms.first()?, terms.last()?);
    // Each exponent of the first and the last term is a multiple of the power.
    let exponents = first.0.iter().chain(&last.0).map(|(_, power)| *power);
    let common = exponents.fold(0u32, num_integer::gcd);
    let powers = (2..=common.min(MAX_POWER)).rev().filter(|k| common.is_multiple_of(*k));
    powers.into_iter().find_map(|k| Some((root(pool, poly, k, first)?, k)))
}

/// The polynomial whose `k`-th power is `poly`, given its first term. The terms are found one at a time, each
/// from the first term of the difference between `poly` and the power of the terms found so far.
fn root(pool: &mut Pool, poly: &Poly, k: u32, first: &(Monomial, Int)) -> Option<Poly> {
    let lead: Monomial = first.0.iter().map(|(atom, power)| (*atom, power / k)).collect();
    let coefficient = exact_root(&first.1, k)?;
    let mut found = term(pool, &lead, coefficient.clone());
    // A new term t changes the power by k * lead^(k-1) * t and by what comes after it.
    let beside: Monomial = lead.iter().map(|(atom, power)| (*atom, power * (k - 1))).collect();
    let scale = &Int::from(i64::from(k)) * &coefficient.pow(k - 1, 1 << 12)?;
    for _ in 0..MAX_TERMS {
        let power = power_of(pool, &found, k);
        let rest = poly.add_scaled(&power, &Int::from(-1));
        if rest.is_zero() {
            return Some(found);
        }
        let (monomial, c) = terms_of(pool, &rest).into_iter().max_by(|a, b| order(&a.0, &b.0))?;
        let next = of_monomials(&monomial, &beside)?;
        if !c.is_multiple_of(&scale) || order(&next, &lead) != Ordering::Less {
            return None;
        }
        let next = term(pool, &next, c.floor_div(&scale)?);
        found = found.add_scaled(&next, &Int::ONE);
    }
    None
}

fn power_of(pool: &mut Pool, base: &Poly, k: u32) -> Poly {
    (1..k).fold(base.clone(), |power, _| pool.mul_poly(&power, base))
}

fn term(pool: &mut Pool, monomial: &Monomial, coefficient: Int) -> Poly {
    let monomial: Monomial = monomial.iter().copied().filter(|(_, power)| *power > 0).collect();
    match monomial.is_empty() {
        true => Poly::constant(coefficient),
        false => {
            let monomial = pool.from_monomial(&monomial);
            Poly { constant: Int::ZERO, terms: [(monomial, coefficient)].into_iter().collect() }
        }
    }
}

/// The terms with their monomials, that of the constant being empty.
fn terms_of(pool: &Pool, poly: &Poly) -> Vec<(Monomial, Int)> {
    let constant = (!poly.constant.is_zero()).then(|| (Monomial::new(), poly.constant.clone()));
    poly.terms.iter().map(|(m, c)| (pool.monomial(*m), c.clone())).chain(constant).collect()
}

/// An order of monomials that multiplication keeps: by the exponent of the first atom in which they differ.
fn order(a: &[(Expr, u32)], b: &[(Expr, u32)]) -> Ordering {
    let exponent = |monomial: &[(Expr, u32)], atom| {
        monomial.iter().find(|(other, _)| *other == atom).map_or(0, |(_, power)| *power)
    };
    let mut atoms: Vec<Expr> = a.iter().chain(b).map(|(atom, _)| *atom).collect();
    atoms.sort_unstable();
    let differing = atoms.into_iter().map(|atom| exponent(a, atom).cmp(&exponent(b, atom)));
    differing.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

/// The integer whose `k`-th power is `value`.
fn exact_root(value: &Int, k: u32) -> Option<Int> {
    let value = value.to_big();
    if value.is_negative() && k.is_multiple_of(2) {
        return None;
    }
    let root = value.nth_root(k);
    (num_traits::pow(root.clone(), k as usize) == value).then(|| Int::from_big(root))
}

#[cfg(test)]
mod tests {
    use super::power_of_sum;
    use sizewise_expr::{Pool, print, read};

    #[test]
    fn powers_of_sums_are_found() {
        for (text, base, power) in [
            ("(a + b)**2", "a + b", 2),
            ("(a + b)**3", "a + b", 3),
            ("(a - b)**3", "a - b", 3),
            ("(2*a + 3*b + 1)**4", "2*a + 3*b + 1", 4),
            ("(a*b + c)**5", "a*b + c", 5),
            ("(a + 1)**8", "a + 1", 8),
            ("(a//2 + b)**2", "a//2 + b", 2),
            ("((a + b)**2)**3", "a + b", 6),
        ] {
            let mut pool = Pool::new();
            let whole = read::closed(&mut pool, text).expect(text).expr;
            let expected = read::closed(&mut pool, base).expect(base).expr;
            let poly = pool.poly(whole);
            let (found, k) = power_of_sum(&mut pool, &poly).expect(text);
            let found = pool.from_poly(&found);
            let negated = pool.neg(found);
            assert!(found == expected || negated == expected, "{text}: {}", print::expression(&pool, found));
            assert_eq!(k, power, "{text}");
        }
    }

    #[test]
    fn other_sums_are_no_powers() {
        for text in [
            "a + b",
            "a**2 + b**2",
            "a**2 + 2*a*b + b**2 + 1",
            "2*(a + b)**2",
            "a**3 + b**3 + 1",
            "-(a + b)**2",
        ] {
            let mut pool = Pool::new();
            let whole = read::closed(&mut pool, text).expect(text).expr;
            let poly = pool.poly(whole);
            assert_eq!(power_of_sum(&mut pool, &poly), None, "{text}");
        }
    }
}
