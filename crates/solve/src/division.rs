//! Quotient and remainder of one division: of `a`, `a % b` and `b*(a // b)`, two in a sum make the third.
//!
//! Padding to a multiple is written `s + (-s) % 4`, what is left over `s - 4*(s // 4)`. As `-4*(-s // 4)` and `s % 4`
//! they have fewer terms, quotients by them cancel, and facts about either are facts about the other.
use super::egraph::of_monomials;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Monomial, Node, Poly, Pool};

/// Longer sums are left as they are.
const MAX_TERMS: usize = 24;
/// How often an expression is looked at again, for sums that have become shorter by what is inside them.
const MAX_ROUNDS: usize = 4;

/// An expression with the same values, in which no sum contains two of `a`, `a % b` and `b*(a // b)`. It may have a
/// value where the expression divides by zero.
pub(super) fn folded(pool: &mut Pool, e: Expr) -> Expr {
    let mut e = e;
    for _ in 0..MAX_ROUNDS {
        let mut replaced: FxHashMap<Expr, Expr> = FxHashMap::default();
        for part in pool.reachable(&[e]) {
            if divides(pool, part)
                && let Some(shorter) = shortened(pool, part)
            {
                replaced.insert(part, shorter);
            }
        }
        if replaced.is_empty() || pool.is_spent() {
            break;
        }
        e = pool.substitute(e, |part| replaced.get(&part).copied());
    }
    e
}

/// Whether an expression is a sum of several terms with a quotient or a remainder.
fn divides(pool: &Pool, e: Expr) -> bool {
    let is_division = |e: Expr| matches!(pool.as_call(e), Some((Func::FloorDiv | Func::Mod, _)));
    let has_division = |monomial: Expr| match pool.node(monomial) {
        Some(Node::Product(factors)) => factors.iter().any(|(atom, _)| is_division(*atom)),
        _ => is_division(monomial),
    };
    match pool.node(e) {
        Some(Node::Sum { terms, .. }) => {
            (2..=MAX_TERMS).contains(&terms.len()) && terms.iter().any(|(m, _)| has_division(*m))
        }
        _ => false,
    }
}

/// A sum with fewer terms, where the law applies.
fn shortened(pool: &mut Pool, e: Expr) -> Option<Expr> {
    let mut poly = pool.poly(e);
    let before = poly.terms.len();
    while let Some(shorter) = step(pool, &poly) {
        poly = shorter;
    }
    (poly.terms.len() < before).then(|| pool.from_poly(&poly))
}

fn step(pool: &mut Pool, poly: &Poly) -> Option<Poly> {
    for (monomial, coefficient) in &poly.terms {
        let factors = pool.monomial(*monomial);
        for (i, &(atom, power)) in factors.iter().enumerate() {
            if let (1, Some((func @ (Func::FloorDiv | Func::Mod), &[a, b]))) = (power, pool.as_call(atom)) {
                let mut beside = factors.clone();
                beside.remove(i);
                let division = Division { is_quotient: func == Func::FloorDiv, a, b };
                if let Some(shorter) = division.merged(pool, poly, *monomial, coefficient, &beside) {
                    return Some(shorter);
                }
            }
        }
    }
    None
}

/// `a // b` or `a % b`.
struct Division {
    is_quotient: bool,
    a: Expr,
    b: Expr,
}

impl Division {
    /// The sum with its term `coefficient * monomial`, whose other factors stand `beside` the division, and a multiple
    /// of `a` merged to one term.
    fn merged(
        &self,
        pool: &mut Pool,
        poly: &Poly,
        monomial: Expr,
        coefficient: &Int,
        beside: &Monomial,
    ) -> Option<Poly> {
        // The term is `scale * around * (b * (a // b))` or `scale * around * (a % b)`.
        let (around, scale) = if self.is_quotient {
            let divisor = pool.poly(self.b);
            match (divisor.as_constant(), divisor.terms.as_slice()) {
                (Some(d), _) => (beside.clone(), exact(coefficient, d)?),
                (None, [(m, d)]) if divisor.constant.is_zero() => {
                    (of_monomials(beside, &pool.monomial(*m))?, exact(coefficient, d)?)
                }
                _ => return None,
            }
        } else {
            (beside.clone(), coefficient.clone())
        };
        let around = match around.is_empty() {
            true => Poly::constant(Int::ONE),
            false => single(pool.from_monomial(&around), Int::ONE),
        };
        let whole = self.dividend(pool, poly, &around, &scale);
        let a = pool.from_poly(&whole);
        let division = Division { a, ..*self };
        let rest = poly.add_scaled(&single(monomial, coefficient.clone()), &Int::from(-1));
        if let Some(left) = without(pool, &rest, &around, &whole, &-&scale) {
            let third = if self.is_quotient { pool.modulo(a, self.b) } else { division.whole_part(pool) };
            let third = pool.mul_poly(&around, &pool.poly(third));
            let merged = left.add_scaled(&third, &-&scale);
            return (merged.terms.len() < poly.terms.len()).then_some(merged);
        }
        if self.is_quotient || whole.terms.len() > 1 {
            return None;
        }
        let whole_part = self.whole_part(pool);
        let left = without(pool, &rest, &around, &pool.poly(whole_part), &scale)?;
        let merged = left.add_scaled(&pool.mul_poly(&around, &whole), &scale);
        (merged.terms.len() < poly.terms.len()).then_some(merged)
    }

    /// The numerator, where a remainder is that of another number as well: that with the coefficients that the sum has.
    fn dividend(&self, pool: &mut Pool, poly: &Poly, around: &Poly, scale: &Int) -> Poly {
        let whole = pool.poly(self.a);
        let (false, Some(modulus)) = (self.is_quotient, pool.as_int(self.b)) else { return whole };
        let mut other = Poly::constant(whole.constant.clone());
        for (m, k) in &whole.terms {
            let multiple = pool.mul_poly(around, &single(*m, Int::ONE));
            let [(multiple, _)] = multiple.terms.as_slice() else { return whole };
            let found = poly.terms.iter().find(|(n, _)| n == multiple).and_then(|(_, c)| exact(c, &-scale));
            match found.filter(|found| (found - k).is_multiple_of(&modulus)) {
                Some(found) => other.terms.push((*m, found)),
                None => return whole,
            }
        }
        other
    }

    /// `b*(a // b)`.
    fn whole_part(&self, pool: &mut Pool) -> Expr {
        let quotient = pool.floor_div(self.a, self.b);
        pool.mul(self.b, quotient)
    }
}

/// A sum without `scale * around * e`, if it has all terms of that.
fn without(pool: &mut Pool, sum: &Poly, around: &Poly, e: &Poly, scale: &Int) -> Option<Poly> {
    let part = pool.mul_poly(around, e);
    let left = sum.add_scaled(&part, &-scale);
    (part.terms.len() >= e.terms.len() && left.terms.len() + part.terms.len() == sum.terms.len())
        .then_some(left)
}

fn single(monomial: Expr, coefficient: Int) -> Poly {
    Poly { constant: Int::ZERO, terms: [(monomial, coefficient)].into_iter().collect() }
}

fn exact(a: &Int, b: &Int) -> Option<Int> {
    if a.is_multiple_of(b) { a.floor_div(b) } else { None }
}

#[cfg(test)]
mod tests {
    use super::folded;
    use sizewise_expr::{Pool, print, read};

    #[test]
    fn two_of_a_division_make_the_third() {
        for (text, expected) in [
            ("s - s % 4", "4*(s//4)"),
            ("s - 4*(s//4)", "s % 4"),
            ("4*(s//4) + s % 4", "s"),
            ("s - s % 4 - 4*(s//4)", "0"),
            ("s + (4 - s % 4) % 4", "-4*((-s)//4)"),
            ("(s + (4 - s % 4) % 4)//((s + (4 - s % 4) % 4)//4)", "4"),
            ("a*b - b*(a % 8)", "8*b*(a//8)"),
            ("a - b*(a//b)", "a % b"),
            ("3*a*c - 3*c*(a % b)", "3*b*c*(a//b)"),
            ("6400*s - 64*b*((100*s)//b)", "64*((100*s) % b)"),
            ("(s + (-s) % 4)*(t + (-t) % 2)", "8*((-s)//4)*((-t)//2)"),
            ("s + 1 - (s + 1) % 4", "4*((s + 1)//4)"),
            ("s - (s + 1) % 4", "4*((s + 1)//4) - 1"),
            ("Eq(s - s % 4, 4*t)", "Eq(s//4, t)"),
            ("2*s - s % 4", "2*s - s % 4"),
            ("s - 2*(s//4)", "s - 2*(s//4)"),
            ("a - c*(a//b)", "a - c*(a//b)"),
        ] {
            let mut pool = Pool::new();
            let [e, expected] = [text, expected].map(|t| read::closed(&mut pool, t).expect(t).expr);
            let found = folded(&mut pool, e);
            assert_eq!(found, expected, "{text}: {}", print::expression(&pool, found));
        }
    }
}
