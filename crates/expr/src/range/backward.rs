//! Transfer functions run backwards: the domain of an operand from the domain of the result.
//!
//! Each function returns a domain that holds every value of the operand for which the result can lie in its
//! domain, given the domains of the other operands. `None` means that there is no such value.
use super::bound::Bound::{self, Finite, NegInf, PosInf};
use super::congruence::Congruence;
use super::domain::Domain;
use super::value_range::ValueRange;
use crate::Int;
use num_bigint::BigInt;
use num_integer::Roots;

/// The `x` with `coefficient * x + others` in `total`: the ends of `total - others` divided, rounded inwards.
/// [`Congruence::unscale`] computes the residues.
pub(super) fn summand(total: &Domain, others: &Domain, coefficient: &Int) -> Option<Domain> {
    let range = total.range.add(&others.range.neg());
    let congruence = total.congruence.add(&others.congruence.neg());
    unscaled(&range, &congruence, coefficient)
}

/// The `x` with `coefficient * x` in a range and a class, for a coefficient other than 0.
fn unscaled(range: &ValueRange, congruence: &Congruence, coefficient: &Int) -> Option<Domain> {
    let (lo, hi) = if coefficient.is_negative() { (&range.hi, &range.lo) } else { (&range.lo, &range.hi) };
    let range = ValueRange::new(lo.ceil_div(coefficient), hi.floor_div(coefficient))?;
    if congruence.is_any() {
        Some(range.into())
    } else {
        Domain::new(range, congruence.unscale(coefficient)?)
    }
}

/// The `x` with `x^power * others` in `total`.
///
/// If `others` is never 0, `x^power` lies between the quotients of the ends. If `others` may be 0 only at its
/// own ends and `total` excludes 0, those ends are removed first. If its sign is unknown, it is at least 1 in
/// magnitude.
pub(super) fn factor(total: &Domain, others: &Domain, power: u32) -> Option<Domain> {
    let mut range = others.range.clone();
    if !total.contains_zero() {
        range = range.without_zero()?;
    }
    let quotient = if range.lo.signum() > 0 {
        quotient(&total.range, &range)?
    } else if range.hi.is_negative() {
        quotient(&total.range.neg(), &range.neg())?
    } else if !total.contains_zero() {
        let most = total.range.abs().hi;
        ValueRange { lo: most.negated(), hi: most }
    } else {
        return Some(Domain::all());
    };
    let mut domain = Domain::from(root(&quotient, power)?);
    if power == 1
        && let Some(c) = others.as_point().filter(|c| !c.is_zero())
        && !total.congruence.is_any()
    {
        domain = Domain::new(domain.range, total.congruence.unscale(c)?)?;
    }
    if !total.contains_zero() { domain.without(&Int::ZERO) } else { Some(domain) }
}

/// The integers `v / o` for `v` in `total` and `o` in `divisor > 0`. The quotient increases in `v`, and its
/// magnitude is largest at the least `o`.
fn quotient(total: &ValueRange, divisor: &ValueRange) -> Option<ValueRange> {
    let divide = |v: &Bound, o: &Bound, up: bool| match (v, o) {
        (v, Finite(o)) if up => v.ceil_div(o),
        (v, Finite(o)) => v.floor_div(o),
        // v/o comes arbitrarily close to 0 without reaching it, from the side of v.
        (Finite(v), _) if up && v.is_positive() => Bound::ONE,
        (Finite(v), _) if !up && v.is_negative() => Bound::from(-1),
        (Finite(_), _) => Bound::ZERO,
        (infinite, _) => infinite.clone(),
    };
    let lo = divide(&total.lo, if total.lo.is_negative() { &divisor.lo } else { &divisor.hi }, true);
    let hi = divide(&total.hi, if total.hi.is_negative() { &divisor.hi } else { &divisor.lo }, false);
    ValueRange::new(lo, hi)
}

/// The `x` with `x^power` in `range`: odd powers increase; even ones leave the sign open.
fn root(range: &ValueRange, power: u32) -> Option<ValueRange> {
    if power <= 1 {
        return Some(range.clone());
    }
    let down = |b: &Bound| match b {
        Finite(v) => Finite(floor_root(v, power)),
        infinite => infinite.clone(),
    };
    if power % 2 == 1 {
        // The ceiling of a root is minus the floor of the root of minus the number.
        return ValueRange::new(down(&range.lo.negated()).negated(), down(&range.hi));
    }
    if range.hi.is_negative() {
        return None;
    }
    let hi = down(&range.hi);
    ValueRange::new(hi.negated(), hi)
}

/// The greatest `x` with `x^n <= v`; `n` is odd where `v` is negative.
fn floor_root(v: &Int, n: u32) -> Int {
    match v {
        Int::Small(v) if *v >= 0 => Int::from(v.nth_root(n)),
        _ => {
            // Roots are rounded towards zero, so a negative one that is not exact goes one further.
            let big: BigInt = v.to_big();
            let root = big.nth_root(n);
            let exact = num_traits::pow(root.clone(), n as usize) == big;
            let floor = Int::from_big(root);
            if v.is_negative() && !exact { &floor - &Int::ONE } else { floor }
        }
    }
}

/// The `a` with `a // b` in `quotient`: for `b > 0`, `q*b <= a <= (q + 1)*b - 1`; a negative `b` mirrors that.
pub(super) fn dividend(quotient: &Domain, divisor: &Domain) -> Option<Domain> {
    let next = quotient.range.add_int(&Int::ONE);
    let minus_one = Int::from(-1);
    let positive = divisor
        .range
        .positive_part()
        .map(|b| ValueRange { lo: quotient.range.mul(&b).lo, hi: next.mul(&b).hi.plus_int(&minus_one) });
    let negative = divisor
        .range
        .negative_part()
        .map(|b| ValueRange { lo: next.mul(&b).lo.plus_int(&Int::ONE), hi: quotient.range.mul(&b).hi });
    ValueRange::join_options(positive, negative).map(|range| range.widened().into())
}

/// The `b` with `a // b` in `quotient`, which is not 0. If `b > 0`, `q*b <= a < (q + 1)*b` bounds it by
/// `a // q` from above for `q >= 1`, and by `a // (q + 1) + 1` from below for `a, q >= 0`.
pub(super) fn divisor(quotient: &Domain, dividend: &Domain, divisor: &Domain) -> Option<Domain> {
    let nonzero = divisor.without(&Int::ZERO)?;
    if nonzero.range.lo.signum() <= 0 {
        return Some(nonzero);
    }
    let (mut lo, mut hi) = (Bound::ONE, PosInf);
    if let (Finite(least), Finite(most)) = (&quotient.range.lo, &dividend.range.hi)
        && least.is_positive()
    {
        hi = Finite(most.floor_div(least)?);
    }
    if let (Finite(most), Finite(least)) = (&quotient.range.hi, &dividend.range.lo)
        && !most.is_negative()
        && !least.is_negative()
    {
        lo = Finite(&least.floor_div(&(most + &Int::ONE))? + &Int::ONE);
    }
    nonzero.meet(&ValueRange::new(lo, hi)?.into())
}

/// The `a` with `a % b` in `remainder`. It is congruent to the remainder modulo the greatest common divisor
/// of every `b` and the remainder's modulus. An `a >= 0` is at least its remainder by `b > 0`. For one
/// positive `b`, ends of `a` with an excluded remainder move inwards.
pub(super) fn reduced(remainder: &Domain, dividend: &Domain, divisor: &Domain) -> Option<Domain> {
    let step = divisor.congruence.modulus().gcd(divisor.congruence.residue());
    let modulus = step.gcd(remainder.congruence.modulus());
    let congruence = Congruence::new(modulus, remainder.congruence.residue().clone());
    let mut domain = dividend.meet(&congruence.into())?;
    if divisor.range.lo.signum() > 0 && !domain.range.lo.is_negative() {
        domain = domain.meet(&ValueRange::new(remainder.range.lo.clone(), PosInf)?.into())?;
    }
    let Some(d) = divisor.as_point().filter(|d| d.is_positive()) else { return Some(domain) };
    let limits = ValueRange::new(0, d - &Int::ONE)?.meet(&remainder.range)?;
    let (Finite(least), Finite(most)) = (&limits.lo, &limits.hi) else { return Some(domain) };
    let (mut lo, mut hi) = (domain.range.lo.clone(), domain.range.hi.clone());
    if let Finite(v) = &lo {
        let r = v.modulo(d)?;
        if r < *least {
            lo = Finite(&(v - &r) + least);
        } else if r > *most {
            lo = Finite(&(&(v - &r) + d) + least);
        }
    }
    if let Finite(v) = &hi {
        let r = v.modulo(d)?;
        if r > *most {
            hi = Finite(&(v - &r) + most);
        } else if r < *least {
            hi = Finite(&(&(v - &r) - d) + most);
        }
    }
    domain.meet(&ValueRange::new(lo, hi)?.into())
}

/// The `b` with `a % b` in `remainder`: not 0, and above the remainder if it is positive. If it divides an
/// `a >= 1`, it is at most `a`.
pub(super) fn modulus(remainder: &Domain, dividend: &Domain, divisor: &Domain) -> Option<Domain> {
    let nonzero = divisor.without(&Int::ZERO)?;
    if nonzero.range.lo.signum() <= 0 {
        return Some(nonzero);
    }
    let mut range = ValueRange::at_least(Int::from(1));
    if let Finite(least) = &remainder.range.lo {
        range = range.meet(&ValueRange::at_least(least + &Int::ONE))?;
    }
    if remainder.as_point().is_some_and(Int::is_zero) && dividend.range.lo.signum() > 0 {
        range = range.meet(&ValueRange::new(NegInf, dividend.range.hi.clone())?)?;
    }
    nonzero.meet(&range.into())
}

/// The `a` with `|a|` in `magnitude`: between the negated upper end and the upper end. If `a` has one sign,
/// it is also beyond the lower end on that side.
pub(super) fn signed(magnitude: &Domain, a: &Domain) -> Option<Domain> {
    let positive = magnitude.range.meet(&ValueRange::nonnegative())?;
    let above = a.range.meet(&positive);
    let below = a.range.meet(&positive.neg());
    a.meet(&ValueRange::join_options(above, below)?.into())
}
