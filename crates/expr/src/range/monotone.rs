//! Bounds of polynomials whose monomials share variables, by monotonicity.
//!
//! If `p(x + 1) - p(x)` has one sign over the whole box, the extremes of `p` lie at the ends of `x`, and `x`
//! is replaced by an end. Then the next variable is tried. Interval arithmetic bounds the rest. So
//! `a*b - a - b` is bounded at corners for `a, b >= 1`.
use super::MAX_BITS;
use super::bound::Bound;
use super::domain::Domain;
use super::value_range::ValueRange;
use crate::{Expr, Int, Poly, Pool};
use smallvec::SmallVec;

/// Longer polynomials are left to interval arithmetic.
const MAX_TERMS: usize = 24;
/// Polynomials in more variables are left to interval arithmetic.
const MAX_VARIABLES: usize = 8;

/// `coefficient · Π variable^power`, variables by position.
#[derive(Clone)]
struct PowerTerm {
    coefficient: Int,
    factors: SmallVec<[(usize, u32); 3]>,
}

/// The bounds of a polynomial in which a variable occurs more than once, by monotonicity.
pub(super) fn monotone(pool: &Pool, poly: &Poly, domain: &impl Fn(Expr) -> Domain) -> Option<ValueRange> {
    if poly.terms.len() > MAX_TERMS {
        return None;
    }
    let mut variables: SmallVec<[Expr; 8]> = SmallVec::new();
    let mut terms: SmallVec<[PowerTerm; 8]> = SmallVec::new();
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
        terms.push(PowerTerm { coefficient: coefficient.clone(), factors });
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
fn extreme(
    constant: &Int,
    terms: SmallVec<[PowerTerm; 8]>,
    boxes: &[ValueRange],
    least: bool,
) -> Option<Bound> {
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
fn collected(constant: Int, terms: SmallVec<[PowerTerm; 8]>) -> (Int, SmallVec<[PowerTerm; 8]>) {
    let mut constant = constant;
    let mut kept: SmallVec<[PowerTerm; 8]> = SmallVec::new();
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
fn direction(terms: &[PowerTerm], boxes: &[ValueRange], v: usize) -> Option<bool> {
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

/// `(x + 1)^k - x^k` over the `x` with `x` and `x + 1` in the range: 1, `2x + 1`, and for `x >= 0` a function
/// that increases in `x`. Otherwise, the difference of independent powers.
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
