//! Operands that depend on each other: tighter bounds than interval arithmetic gives.
//!
//! Each of these methods is sound by itself, so their results are intersected:
//! - *Monotone polynomials* ([`super::monotone`]).
//! - *Quotient and remainder.* `d*(a//d) = a - a%d`, so that `x - 4*(x//4)` and `(x + 3)//8 - x//8` stay
//!   small: a quotient is replaced where its numerator shares monomials with the rest of the sum, a remainder
//!   likewise.
//! - *Cases.* `max(a, b)` is `a` or `b` and not below either. A sum that contains it is bounded with each
//!   in its place. A conditional is one of its branches.
//! - *Comparison of numerator and divisor.* For `b > 0`, `a // b >= k` exactly if `a - k*b >= 0`, whose
//!   terms may cancel.
use super::MAX_BITS;
use super::bound::Bound;
use super::domain::Domain;
use super::monotone::monotone;
use super::transfer;
use super::value_range::ValueRange;
use crate::{Expr, Func, Int, Node, Poly, Pool};
use smallvec::SmallVec;

/// Longer sums are left to interval arithmetic.
const MAX_TERMS: usize = 24;
/// Minima and maxima of more operands are not taken apart.
const MAX_CASES: usize = 6;
/// The most polynomials that are bounded for one sum.
const MAX_POLYNOMIALS: u32 = 48;
/// How many devices are applied on top of each other.
const MAX_DEPTH: u32 = 2;
/// Quotients are compared with -MAX_QUOTIENT..=MAX_QUOTIENT.
const MAX_QUOTIENT: i64 = 3;

/// Reads domains, and counts the polynomials bounded.
struct Cx<'a, F: Fn(Expr) -> Domain> {
    pool: &'a Pool,
    domain: &'a F,
    left: u32,
    depth: u32,
}

/// A bound of `constant + Σ coefficient · monomial` beyond interval arithmetic, if there is anything to gain.
pub(super) fn sum(
    pool: &Pool,
    constant: &Int,
    terms: &[(Expr, Int)],
    domain: &impl Fn(Expr) -> Domain,
) -> Option<ValueRange> {
    if terms.len() > MAX_TERMS || !terms.iter().any(|(m, _)| has_structure(pool, *m)) {
        return None;
    }
    let poly = Poly { constant: constant.clone(), terms: terms.iter().cloned().collect() };
    let mut cx = Cx { pool, domain, left: MAX_POLYNOMIALS, depth: 0 };
    let own = monotone(pool, &poly, domain);
    cx.devices(&poly, own)
}

/// `b * (a // b) = a - a % b`.
pub(super) fn product(
    pool: &Pool,
    factors: &[(Expr, u32)],
    domain: &impl Fn(Expr) -> Domain,
) -> Option<ValueRange> {
    let (a, b) = divided_back(pool, factors)?;
    let (a, b) = (domain(a), domain(b));
    let remainder = transfer::modulo(&a, &b)?;
    Some(a.range.add(&remainder.range.neg()))
}

/// Bounds of `a // b` from the signs of `a - k*b`, for operands that share monomials and a divisor of known sign.
pub(super) fn floor_div(
    pool: &Pool,
    a: Expr,
    b: Expr,
    domain: &impl Fn(Expr) -> Domain,
) -> Option<ValueRange> {
    let (a, b) = comparable(pool, a, b, domain)?;
    let mut cx = Cx { pool, domain, left: MAX_POLYNOMIALS, depth: 0 };
    quotient_bounds(&mut cx, &a, &b)
}

/// Bounds of `a % b = a - k*b` where the quotient `k` is known by comparison.
pub(super) fn modulo(pool: &Pool, a: Expr, b: Expr, domain: &impl Fn(Expr) -> Domain) -> Option<ValueRange> {
    let negative = domain(b).range.hi.is_negative();
    let (a, b) = comparable(pool, a, b, domain)?;
    let mut cx = Cx { pool, domain, left: MAX_POLYNOMIALS, depth: 0 };
    let quotient = quotient_bounds(&mut cx, &a, &b)?;
    let remainder = cx.refined(&a.add_scaled(&b, &-quotient.as_point()?.clone()))?;
    // The operands were negated for a negative divisor, and so was the remainder.
    Some(if negative { remainder.neg() } else { remainder })
}

/// Numerator and divisor as polynomials that share monomials, both negated if that makes the divisor positive.
fn comparable(pool: &Pool, a: Expr, b: Expr, domain: &impl Fn(Expr) -> Domain) -> Option<(Poly, Poly)> {
    // Most divisors are constants, which share no monomial with anything.
    if pool.is_constant(b) {
        return None;
    }
    let divisor = domain(b).range;
    let sign = match (divisor.lo.signum(), divisor.hi.signum()) {
        (1, _) => Int::ONE,
        (_, -1) => Int::from(-1),
        _ => return None,
    };
    let (a, b) = (pool.poly(a), pool.poly(b));
    if a.terms.len() + b.terms.len() > MAX_TERMS || !shares_factors(pool, &a, &b) {
        return None;
    }
    Some((a.scaled(&sign), b.scaled(&sign)))
}

/// For `b > 0`: `a // b >= k` where `a - k*b >= 0`, and `a // b < k` where it is negative; it falls as `k` rises.
fn quotient_bounds<F: Fn(Expr) -> Domain>(cx: &mut Cx<'_, F>, a: &Poly, b: &Poly) -> Option<ValueRange> {
    let (mut lo, mut hi) = (Bound::NegInf, Bound::PosInf);
    for k in -MAX_QUOTIENT..=MAX_QUOTIENT {
        let rest = cx.refined(&a.add_scaled(b, &Int::from(-k)))?;
        if !rest.lo.is_negative() {
            lo = Bound::from(k);
        } else if rest.hi.is_negative() {
            hi = Bound::from(k - 1);
            break;
        }
    }
    ValueRange::new(lo, hi)
}

/// Whether a monomial depends on others in a way that a device knows.
fn has_structure(pool: &Pool, monomial: Expr) -> bool {
    use Func::*;
    matches!(pool.node(monomial), Some(Node::Product(_) | Node::Call(FloorDiv | Mod | Min | Max | Ite, _)))
}

/// `(a, b)` when the factors are `b` and `a // b`.
fn divided_back(pool: &Pool, factors: &[(Expr, u32)]) -> Option<(Expr, Expr)> {
    let &[(x, 1), (y, 1)] = factors else { return None };
    let quotient_by = |q: Expr, b: Expr| {
        pool.as_func(q, Func::FloorDiv).filter(|args| args[1] == b).map(|args| (args[0], b))
    };
    quotient_by(y, x).or_else(|| quotient_by(x, y))
}

/// Whether a factor of a monomial of `other` occurs in `poly`.
fn shares_factors(pool: &Pool, poly: &Poly, other: &Poly) -> bool {
    let factors = |poly: &Poly| -> SmallVec<[Expr; 8]> {
        poly.terms.iter().flat_map(|(m, _)| pool.monomial(*m)).map(|(atom, _)| atom).collect()
    };
    let known = factors(poly);
    factors(other).iter().any(|atom| known.contains(atom))
}

/// Whether a monomial of `other` occurs in `poly`.
fn overlaps(poly: &Poly, other: &Poly) -> bool {
    other.terms.iter().any(|(m, _)| poly.terms.iter().any(|(n, _)| m == n))
}

/// The intersection. Of two disjoint sound ranges either is sound, because there is no value.
fn met(a: Option<ValueRange>, b: Option<ValueRange>) -> Option<ValueRange> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.meet(&b).unwrap_or(b)),
        (a, b) => a.or(b),
    }
}

impl<F: Fn(Expr) -> Domain> Cx<'_, F> {
    /// The bounds of a polynomial by interval arithmetic and every method above.
    fn refined(&mut self, poly: &Poly) -> Option<ValueRange> {
        let domains: SmallVec<[Domain; 8]> = poly.terms.iter().map(|(m, _)| (self.domain)(*m)).collect();
        let naive =
            transfer::sum(&poly.constant, domains.iter().zip(poly.terms.iter().map(|(_, c)| c)))?.range;
        if self.left == 0
            || poly.terms.len() > MAX_TERMS
            || !poly.terms.iter().any(|(m, _)| has_structure(self.pool, *m))
        {
            return Some(naive);
        }
        self.left -= 1;
        self.pool.note_work(poly.terms.len());
        let known = met(Some(naive), monotone(self.pool, poly, self.domain));
        if self.depth == MAX_DEPTH {
            return known;
        }
        self.depth += 1;
        let best = self.devices(poly, known);
        self.depth -= 1;
        best
    }

    /// `known` intersected with the bounds by quotients, remainders and cases.
    fn devices(&mut self, poly: &Poly, known: Option<ValueRange>) -> Option<ValueRange> {
        let mut best = known;
        for (monomial, coefficient) in &poly.terms {
            best = met(best, self.replace(poly, *monomial, coefficient));
        }
        if poly.terms.len() > 1 {
            best = met(best, self.replace_quotients(poly));
        }
        best
    }

    /// `poly` with the term `coefficient * monomial` replaced by `coefficient * like`.
    fn replaced(&self, poly: &Poly, monomial: Expr, coefficient: &Int, like: &Poly) -> Poly {
        let term =
            Poly { constant: Int::ZERO, terms: [(monomial, coefficient.clone())].into_iter().collect() };
        poly.add_scaled(&term, &Int::from(-1)).add_scaled(like, coefficient)
    }

    /// The bounds after one term is expressed by operands that occur elsewhere in the sum.
    fn replace(&mut self, poly: &Poly, monomial: Expr, coefficient: &Int) -> Option<ValueRange> {
        if self.left == 0 {
            return None;
        }
        let (func, args) = match self.pool.node(monomial)? {
            Node::Product(factors) => {
                let (a, b) = divided_back(self.pool, factors)?;
                let remainder =
                    |cx: &Self| transfer::modulo(&(cx.domain)(a), &(cx.domain)(b)).map(|d| d.range.neg());
                return self.replace_by(poly, monomial, coefficient, a, remainder);
            }
            Node::Call(func, args) => (*func, args.as_slice()),
            _ => return None,
        };
        match (func, args) {
            (Func::FloorDiv, &[a, b]) => {
                let d = self.pool.as_int(b).filter(Int::is_positive)?;
                if !overlaps(poly, &self.pool.poly(a)) {
                    return None;
                }
                self.quotients_by(poly, &[(monomial, coefficient.clone(), a, d.clone())], &d)
            }
            (Func::Mod, &[a, b]) => self.replace_by(poly, monomial, coefficient, a, |cx| {
                let divisor = (cx.domain)(b);
                Some(transfer::floor_div(&(cx.domain)(a), &divisor)?.range.mul(&divisor.range).neg())
            }),
            (Func::Min | Func::Max, operands) => {
                self.cases(poly, monomial, coefficient, operands, Some(func))
            }
            (Func::Ite, &[_, p, q]) => self.cases(poly, monomial, coefficient, &[p, q], None),
            _ => None,
        }
    }

    /// `coefficient * monomial` as `coefficient * (like + rest)`, if `like` shares monomials with the sum.
    fn replace_by(
        &mut self,
        poly: &Poly,
        monomial: Expr,
        coefficient: &Int,
        like: Expr,
        rest: impl Fn(&Self) -> Option<ValueRange>,
    ) -> Option<ValueRange> {
        let like = self.pool.poly(like);
        if !overlaps(poly, &like) {
            return None;
        }
        let replaced = self.replaced(poly, monomial, coefficient, &like);
        let rest = rest(self)?.scale(coefficient);
        Some(self.refined(&replaced)?.add(&rest))
    }

    /// The sum with each operand in the place of `monomial`. The sum has one of these values. A maximum with
    /// a positive coefficient, or a minimum with a negative one, gives the greatest of them; otherwise it is
    /// the least.
    fn cases(
        &mut self,
        poly: &Poly,
        monomial: Expr,
        coefficient: &Int,
        operands: &[Expr],
        extremum: Option<Func>,
    ) -> Option<ValueRange> {
        if operands.len() > MAX_CASES || poly.terms.len() == 1 {
            return None;
        }
        // Something to cancel: the rest of the sum, or within another minimum or maximum in it.
        let shares = |inside: &Poly| operands.iter().any(|&a| overlaps(inside, &self.pool.poly(a)));
        let choices =
            |m: Expr| self.pool.as_func(m, Func::Min).or(self.pool.as_func(m, Func::Max)).unwrap_or_default();
        let mut rivals = poly.terms.iter().filter(|(m, _)| *m != monomial).flat_map(|(m, _)| choices(*m));
        if !shares(poly) && !rivals.any(|&b| shares(&self.pool.poly(b))) {
            return None;
        }
        let greatest = extremum.map(|func| (func == Func::Max) == coefficient.is_positive());
        let mut total: Option<ValueRange> = None;
        for &a in operands {
            let range = self.refined(&self.replaced(poly, monomial, coefficient, &self.pool.poly(a)))?;
            total = Some(match (total, greatest) {
                (None, _) => range,
                (Some(total), None) => total.join(&range),
                (Some(total), Some(true)) => total.max(&range),
                (Some(total), Some(false)) => total.min(&range),
            });
        }
        total
    }

    /// The bounds after all quotients by positive integers are expressed by their numerators, if there are several.
    fn replace_quotients(&mut self, poly: &Poly) -> Option<ValueRange> {
        let mut quotients: SmallVec<[(Expr, Int, Expr, Int); 4]> = SmallVec::new();
        let mut common = Int::ONE;
        for (monomial, coefficient) in &poly.terms {
            if let Some(&[a, b]) = self.pool.as_func(*monomial, Func::FloorDiv)
                && let Some(d) = self.pool.as_int(b).filter(Int::is_positive)
            {
                common = common.lcm(&d);
                quotients.push((*monomial, coefficient.clone(), a, d));
            }
        }
        if quotients.len() < 2 || common.bits() > MAX_BITS || self.left == 0 {
            return None;
        }
        self.quotients_by(poly, &quotients, &common)
    }

    /// For quotients `k*(a//d)` of the sum `p` and a common multiple `D` of their divisors, `D*p` is
    /// `D*(p - Σ k*(a//d)) + Σ (D/d)*k*(a - a%d)`; its bounds divided by `D`, rounded inwards as `p` is an integer.
    fn quotients_by(
        &mut self,
        poly: &Poly,
        quotients: &[(Expr, Int, Expr, Int)],
        common: &Int,
    ) -> Option<ValueRange> {
        let mut scaled = poly.scaled(common);
        let mut rest = ValueRange::point(0);
        for (monomial, coefficient, a, d) in quotients {
            let term = Poly {
                constant: Int::ZERO,
                terms: [(*monomial, coefficient * common)].into_iter().collect(),
            };
            let factor = &common.floor_div(d)? * coefficient;
            scaled = scaled.add_scaled(&term, &Int::from(-1)).add_scaled(&self.pool.poly(*a), &factor);
            let remainder = transfer::modulo(&(self.domain)(*a), &Domain::point(d.clone()))?;
            rest = rest.add(&remainder.range.scale(&-&factor));
        }
        let range = self.refined(&scaled)?.add(&rest);
        ValueRange::new(range.lo.ceil_div(common), range.hi.floor_div(common))
    }
}
