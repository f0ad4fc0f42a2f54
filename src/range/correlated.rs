//! Sums and products whose operands depend on each other: tighter bounds than interval arithmetic gives.
//!
//! Three devices, each sound by itself, so their results are met:
//! - *Monotone polynomials.* If `p(x + 1) - p(x)` has one sign over the whole box, the extremes of `p` lie at the ends of `x`, which
//!   is replaced by an end; then the next variable is tried. So `a*b - a - b` is bounded at corners for `a, b >= 1`.
//! - *Quotient and remainder.* `d*(a//d) = a - a%d`, so that `x - 4*(x//4)` and `(x + 3)//8 - x//8` stay small: a quotient is
//!   replaced where its numerator shares monomials with the rest of the sum, a remainder likewise.
//! - *Minima and maxima.* `max(a, b) = a + max(0, b - a)` next to an `a` that it cancels, and the mirror image.
use super::MAX_BITS;
use super::bound::Bound;
use super::domain::Domain;
use super::transfer;
use super::value_range::ValueRange;
use crate::expr::{Expr, Func, Int, Node, Poly, Pool};
use smallvec::SmallVec;

/// Longer sums are left to interval arithmetic.
const MAX_TERMS: usize = 24;
/// Sums over more variables are left to interval arithmetic.
const MAX_VARIABLES: usize = 8;

/// A bound of `constant + Σ coefficient · monomial` beyond interval arithmetic, if there is anything to gain.
pub(super) fn sum(
    pool: &Pool,
    constant: &Int,
    terms: &[(Expr, Int)],
    domain: &impl Fn(Expr) -> Domain,
) -> Option<ValueRange> {
    if terms.len() > MAX_TERMS {
        return None;
    }
    let (mut products, mut calls) = (false, false);
    for (monomial, _) in terms {
        match pool.node(*monomial) {
            Some(Node::Product(_)) => products = true,
            Some(Node::Call(Func::FloorDiv | Func::Mod | Func::Min | Func::Max, _)) => calls = true,
            _ => {}
        }
    }
    if !products && !calls {
        return None;
    }
    let poly = Poly { constant: constant.clone(), terms: terms.iter().cloned().collect() };
    let mut best = if products { monotone(pool, &poly, domain) } else { None };
    let mut improve = |range: Option<ValueRange>| {
        if let Some(range) = range {
            // Two sound ranges that share nothing: no value is ever taken, and either will do.
            best = Some(match &best {
                Some(known) => known.meet(&range).unwrap_or(range),
                None => range,
            });
        }
    };
    for (monomial, coefficient) in terms {
        improve(replace_one(pool, &poly, *monomial, coefficient, domain));
    }
    if calls && terms.len() > 1 {
        improve(replace_quotients(pool, &poly, domain));
    }
    best
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

/// `(a, b)` when the factors are `b` and `a // b`.
fn divided_back(pool: &Pool, factors: &[(Expr, u32)]) -> Option<(Expr, Expr)> {
    let &[(x, 1), (y, 1)] = factors else { return None };
    let quotient_by = |q: Expr, b: Expr| {
        pool.as_func(q, Func::FloorDiv).filter(|args| args[1] == b).map(|args| (args[0], b))
    };
    quotient_by(y, x).or_else(|| quotient_by(x, y))
}

/// The bounds of a polynomial as it stands: interval arithmetic and, for products, monotonicity.
fn plain(pool: &Pool, poly: &Poly, domain: &impl Fn(Expr) -> Domain) -> Option<ValueRange> {
    let domains: SmallVec<[Domain; 8]> = poly.terms.iter().map(|(m, _)| domain(*m)).collect();
    let naive = transfer::sum(&poly.constant, domains.iter().zip(poly.terms.iter().map(|(_, c)| c)))?.range;
    match monotone(pool, poly, domain) {
        Some(range) => naive.meet(&range),
        None => Some(naive),
    }
}

/// Whether a monomial of `other` occurs in `poly`.
fn overlaps(poly: &Poly, other: &Poly) -> bool {
    other.terms.iter().any(|(m, _)| poly.terms.iter().any(|(n, _)| m == n))
}

/// `poly` with the term `coefficient * monomial` rewritten as `coefficient * (like + rest)`: the bounds of the polynomial that results,
/// plus `coefficient` times those of `rest`.
fn rewritten(
    pool: &Pool,
    poly: &Poly,
    (monomial, coefficient): (Expr, &Int),
    like: &Poly,
    rest: &ValueRange,
    domain: &impl Fn(Expr) -> Domain,
) -> Option<ValueRange> {
    let term = Poly { constant: Int::ZERO, terms: [(monomial, coefficient.clone())].into_iter().collect() };
    let replaced = poly.add_scaled(&term, &Int::from(-1)).add_scaled(like, coefficient);
    Some(plain(pool, &replaced, domain)?.add(&rest.scale(coefficient)))
}

/// The bounds after one quotient, remainder, minimum or maximum is expressed by an operand that occurs elsewhere in the sum.
fn replace_one(
    pool: &Pool,
    poly: &Poly,
    monomial: Expr,
    coefficient: &Int,
    domain: &impl Fn(Expr) -> Domain,
) -> Option<ValueRange> {
    let (func, args) = match pool.node(monomial)? {
        Node::Product(factors) => {
            let (a, b) = divided_back(pool, factors)?;
            let like = pool.poly(a);
            if !overlaps(poly, &like) {
                return None;
            }
            let remainder = transfer::modulo(&domain(a), &domain(b))?;
            return rewritten(pool, poly, (monomial, coefficient), &like, &remainder.range.neg(), domain);
        }
        Node::Call(func, args) => (*func, args),
        _ => return None,
    };
    match (func, args.as_slice()) {
        (Func::FloorDiv, &[a, b]) => {
            let (like, d) = (pool.poly(a), pool.as_int(b).filter(Int::is_positive)?);
            if !overlaps(poly, &like) {
                return None;
            }
            quotients_by(pool, poly, &[(monomial, coefficient.clone(), a, d.clone())], &d, domain)
        }
        (Func::Mod, &[a, b]) => {
            let like = pool.poly(a);
            if !overlaps(poly, &like) {
                return None;
            }
            let divisor = domain(b);
            let multiple = transfer::floor_div(&domain(a), &divisor)?.range.mul(&divisor.range);
            rewritten(pool, poly, (monomial, coefficient), &like, &multiple.neg(), domain)
        }
        (Func::Min | Func::Max, operands) => {
            let mut best: Option<ValueRange> = None;
            for &a in operands {
                let like = pool.poly(a);
                if operands.len() > MAX_VARIABLES || !overlaps(poly, &like) {
                    continue;
                }
                // max(a, b, …) - a is max(0, b - a, …).
                let mut rest = ValueRange::point(0);
                for &b in operands.iter().filter(|b| **b != a) {
                    let gap = pool.poly(b).add_scaled(&like, &Int::from(-1));
                    let gap = plain(pool, &gap, domain)?;
                    rest = if func == Func::Max { rest.max(&gap) } else { rest.min(&gap) };
                }
                let range = rewritten(pool, poly, (monomial, coefficient), &like, &rest, domain)?;
                best = Some(match best {
                    Some(known) => known.meet(&range)?,
                    None => range,
                });
            }
            best
        }
        _ => None,
    }
}

/// The bounds after all quotients by positive integers are expressed by their numerators, if there are several.
fn replace_quotients(pool: &Pool, poly: &Poly, domain: &impl Fn(Expr) -> Domain) -> Option<ValueRange> {
    let mut quotients: SmallVec<[(Expr, Int, Expr, Int); 4]> = SmallVec::new();
    let mut common = Int::ONE;
    for (monomial, coefficient) in &poly.terms {
        if let Some(&[a, b]) = pool.as_func(*monomial, Func::FloorDiv)
            && let Some(d) = pool.as_int(b).filter(Int::is_positive)
        {
            common = common.lcm(&d);
            quotients.push((*monomial, coefficient.clone(), a, d));
        }
    }
    if quotients.len() < 2 || common.bits() > MAX_BITS {
        return None;
    }
    quotients_by(pool, poly, &quotients, &common, domain)
}

/// For quotients `k*(a//d)` of the sum `p` and a common multiple `D` of their divisors, `D*p` is
/// `D*(p - Σ k*(a//d)) + Σ (D/d)*k*(a - a%d)`; its bounds divided by `D`, rounded inwards as `p` is an integer.
fn quotients_by(
    pool: &Pool,
    poly: &Poly,
    quotients: &[(Expr, Int, Expr, Int)],
    common: &Int,
    domain: &impl Fn(Expr) -> Domain,
) -> Option<ValueRange> {
    let mut scaled = poly.scaled(common);
    let mut rest = ValueRange::point(0);
    for (monomial, coefficient, a, d) in quotients {
        let term =
            Poly { constant: Int::ZERO, terms: [(*monomial, coefficient * common)].into_iter().collect() };
        let factor = &common.floor_div(d)? * coefficient;
        scaled = scaled.add_scaled(&term, &Int::from(-1)).add_scaled(&pool.poly(*a), &factor);
        let remainder = transfer::modulo(&domain(*a), &Domain::point(d.clone()))?;
        rest = rest.add(&remainder.range.scale(&-&factor));
    }
    let range = plain(pool, &scaled, domain)?.add(&rest);
    ValueRange::new(range.lo.ceil_div(common), range.hi.floor_div(common))
}

/// `coefficient · Π variable^power`, variables by position.
#[derive(Clone)]
struct Term {
    coefficient: Int,
    factors: SmallVec<[(usize, u32); 3]>,
}

/// The bounds of a polynomial in which a variable occurs more than once, by monotonicity.
fn monotone(pool: &Pool, poly: &Poly, domain: &impl Fn(Expr) -> Domain) -> Option<ValueRange> {
    if poly.terms.len() > MAX_TERMS {
        return None;
    }
    let mut variables: SmallVec<[Expr; 8]> = SmallVec::new();
    let mut terms: SmallVec<[Term; 8]> = SmallVec::new();
    let mut shared = false;
    for (monomial, coefficient) in &poly.terms {
        let mut factors = SmallVec::new();
        for (atom, power) in pool.monomial(*monomial) {
            let position = variables.iter().position(|v| *v == atom);
            shared |= position.is_some();
            factors.push((position.unwrap_or(variables.len()), power));
            if position.is_none() {
                variables.push(atom);
            }
        }
        terms.push(Term { coefficient: coefficient.clone(), factors });
    }
    if !shared || variables.len() > MAX_VARIABLES {
        return None;
    }
    let boxes: SmallVec<[ValueRange; 8]> = variables.iter().map(|v| domain(*v).range).collect();
    let lo = extreme(&poly.constant, terms.clone(), &boxes, true);
    let hi = extreme(&poly.constant, terms, &boxes, false);
    ValueRange::new(lo.unwrap_or(Bound::NegInf), hi.unwrap_or(Bound::PosInf))
}

/// The least or greatest value that monotonicity leaves, or `None` for no bound.
fn extreme(constant: &Int, terms: SmallVec<[Term; 8]>, boxes: &[ValueRange], least: bool) -> Option<Bound> {
    let (mut constant, mut terms) = (constant.clone(), terms);
    loop {
        let found = (0..boxes.len()).find_map(|v| {
            if !terms.iter().any(|t| t.factors.iter().any(|(w, _)| *w == v)) {
                return None;
            }
            let increasing = direction(&terms, boxes, v)?;
            Some((v, if increasing == least { &boxes[v].lo } else { &boxes[v].hi }))
        });
        let Some((v, end)) = found else { break };
        let value = end.finite()?;
        for term in &mut terms {
            if let Some(i) = term.factors.iter().position(|(w, _)| *w == v) {
                let (_, power) = term.factors.remove(i);
                term.coefficient = &term.coefficient * &value.pow(power, MAX_BITS)?;
            }
        }
        (constant, terms) = collected(constant, terms);
    }
    let mut range = ValueRange::point(constant);
    for term in &terms {
        range = range.add(&monomial_range(&term.factors, boxes).scale(&term.coefficient));
    }
    Some(if least { range.lo } else { range.hi })
}

/// Equal monomials added up, zeros dropped.
fn collected(constant: Int, terms: SmallVec<[Term; 8]>) -> (Int, SmallVec<[Term; 8]>) {
    let mut constant = constant;
    let mut kept: SmallVec<[Term; 8]> = SmallVec::new();
    for mut term in terms {
        term.factors.sort_unstable();
        if term.factors.is_empty() {
            constant = &constant + &term.coefficient;
        } else if let Some(like) = kept.iter_mut().find(|k| k.factors == term.factors) {
            like.coefficient = &like.coefficient + &term.coefficient;
        } else {
            kept.push(term);
        }
    }
    kept.retain(|t| !t.coefficient.is_zero());
    (constant, kept)
}

fn monomial_range(factors: &[(usize, u32)], boxes: &[ValueRange]) -> ValueRange {
    factors.iter().fold(ValueRange::point(1), |range, &(v, power)| range.mul(&boxes[v].pow(power)).widened())
}

/// Whether the polynomial rises (`true`) or falls with `v` everywhere in the box, if it does either: the sign of
/// `Σ coefficient · ((v + 1)^k - v^k) · others`.
fn direction(terms: &[Term], boxes: &[ValueRange], v: usize) -> Option<bool> {
    let mut step = ValueRange::point(0);
    for term in terms {
        let Some(i) = term.factors.iter().position(|(w, _)| *w == v) else { continue };
        let mut others = term.factors.clone();
        let (_, power) = others.remove(i);
        let change = difference_of_powers(&boxes[v], power).mul(&monomial_range(&others, boxes));
        step = step.add(&change.scale(&term.coefficient)).widened();
    }
    match (step.lo.signum(), step.hi.signum()) {
        (0 | 1, _) => Some(true),
        (_, 0 | -1) => Some(false),
        _ => None,
    }
}

/// `(x + 1)^k - x^k` over the `x` with `x` and `x + 1` in the range: 1, `2x + 1`, and for `x >= 0` increasing in `x`; else the difference of
/// independent powers.
fn difference_of_powers(range: &ValueRange, k: u32) -> ValueRange {
    let one = Int::ONE;
    let last = range.hi.plus_int(&-&one);
    if k == 1 || last < range.lo {
        return ValueRange::point(1);
    }
    let lower = ValueRange { lo: range.lo.clone(), hi: last };
    if k == 2 {
        return lower.scale(&Int::from(2)).add_int(&one);
    }
    let gap = |x: &ValueRange| x.add_int(&one).pow(k).add(&x.pow(k).neg());
    if lower.lo.is_negative() {
        return gap(&lower);
    }
    let at = |end: &Bound| end.finite().map(|x| gap(&ValueRange::point(x.clone())));
    ValueRange {
        lo: at(&lower.lo).map_or(Bound::ONE, |r| r.lo),
        hi: at(&lower.hi).map_or(Bound::PosInf, |r| r.hi),
    }
}
