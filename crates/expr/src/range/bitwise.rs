//! Bitwise operations on ranges and residue classes of infinite two's complement integers.
//!
//! Everything is led back to `and`: with `~a = -1 - a`, `a | b` is `~(~a & ~b)`, and `a ^ b` is `(a | b) - (a & b)`.
use super::bound::Bound::{self, Finite, NegInf, PosInf};
use super::congruence::Congruence;
use super::domain::Domain;
use super::value_range::ValueRange;
use crate::Int;
use num_bigint::BigInt;

/// `a & b`. Not the hull in general.
pub(super) fn and(a: &Domain, b: &Domain) -> Option<Domain> {
    let low = low_bits(a, b, |x, y| x & y);
    Domain::new(and_range(&a.range, &b.range), low)
}

/// `a | b`. Not the hull in general.
pub(super) fn or(a: &Domain, b: &Domain) -> Option<Domain> {
    let low = low_bits(a, b, |x, y| x | y);
    Domain::new(or_range(&a.range, &b.range), low)
}

/// `a ^ b`. Not the hull in general.
pub(super) fn xor(a: &Domain, b: &Domain) -> Option<Domain> {
    let low = low_bits(a, b, |x, y| x ^ y);
    Domain::new(xor_range(&a.range, &b.range), low)
}

/// A nonnegative operand bounds the result by itself, because bits are only cleared. The result of two
/// negative operands is negative, not above either of them, and keeps the leading ones that both have.
fn and_range(a: &ValueRange, b: &ValueRange) -> ValueRange {
    let (a_sure, b_sure) = (!a.lo.is_negative(), !b.lo.is_negative());
    let lo = if a_sure || b_sure { Bound::ZERO } else { negative_envelope(&a.lo, &b.lo) };
    let hi = match (a_sure, b_sure) {
        (true, true) => (&a.hi).min(&b.hi).clone(),
        (true, false) => a.hi.clone(),
        (false, true) => b.hi.clone(),
        // A negative operand clears bits of the other; two that may both be positive are bounded by the larger.
        (false, false) if a.hi.is_negative() && b.hi.is_negative() => (&a.hi).min(&b.hi).clone(),
        (false, false) => (&a.hi).max(&b.hi).clone(),
    };
    ValueRange { lo, hi }
}

/// By `a | b = ~(~a & ~b)`. For two operands that are not negative, `a | b` is at least each of them.
fn or_range(a: &ValueRange, b: &ValueRange) -> ValueRange {
    let complement = |r: &ValueRange| r.neg().add_int(&Int::from(-1));
    let envelope = complement(&and_range(&complement(a), &complement(b)));
    if a.lo.is_negative() || b.lo.is_negative() {
        return envelope;
    }
    // The larger one bounds from below, and its bit length (or the sum, as no carry is lost) from above.
    let lo = (&a.lo).max(&b.lo).clone();
    let hi = positive_envelope(&a.hi, &b.hi).min(a.hi.plus(&b.hi));
    ValueRange { lo, hi }
}

/// Within the bits of both operands; the sign is that of the product, with 0 counted as positive.
fn xor_range(a: &ValueRange, b: &ValueRange) -> ValueRange {
    let sign = |r: &ValueRange| match (r.lo.is_negative(), r.hi.is_negative()) {
        (false, _) => Some(false),
        (_, true) => Some(true),
        _ => None,
    };
    let size = |r: &ValueRange| r.lo.plus_int(&Int::ONE).negated().max(r.hi.clone());
    let hi = positive_envelope(&size(a), &size(b));
    let lo = hi.negated().plus_int(&Int::from(-1));
    match (sign(a), sign(b)) {
        (Some(x), Some(y)) if x == y => {
            ValueRange { lo: Bound::ZERO, hi: hi.min(if x { PosInf } else { a.hi.plus(&b.hi) }) }
        }
        (Some(_), Some(_)) => ValueRange { lo, hi: Bound::from(-1) },
        _ => ValueRange { lo, hi },
    }
}

/// `2^k - 1` for the least `k` such that both (not negative) bounds are below `2^k`.
fn positive_envelope(a: &Bound, b: &Bound) -> Bound {
    match a.max(b) {
        Finite(v) => Finite(Int::from_big((BigInt::from(1) << v.bits()) - 1)),
        infinite => infinite.clone(),
    }
}

/// `-2^k` for the least `k` such that both bounds are at least `-2^k`.
fn negative_envelope(a: &Bound, b: &Bound) -> Bound {
    match a.min(b) {
        Finite(v) => Finite(Int::from_big(-(BigInt::from(1) << (v + &Int::ONE).bits()))),
        _ => NegInf,
    }
}

/// The `k` low bits of the result follow from those of the operands, if `2^k` divides both moduli. Two single
/// values give a single one.
fn low_bits(a: &Domain, b: &Domain, operation: impl Fn(BigInt, BigInt) -> BigInt) -> Congruence {
    let known = |c: &Congruence| match c.modulus() {
        Int::Small(0) => u64::MAX,
        m => m.to_big().trailing_zeros().unwrap_or(0),
    };
    let bits = known(&a.congruence).min(known(&b.congruence));
    if bits == 0 {
        return Congruence::any();
    }
    let residue = operation(a.congruence.residue().to_big(), b.congruence.residue().to_big());
    let modulus = if bits == u64::MAX { BigInt::from(0) } else { BigInt::from(1) << bits };
    Congruence::new(Int::from_big(modulus), Int::from_big(residue))
}
