//! Inclusive ranges of integers and their arithmetic.
//!
//! Each operation returns the least range that holds every result (the *hull*), unless its comment says
//! otherwise. `None` means that there is no result: the operands lie outside of the operation's domain.
use super::MAX_BITS;
use super::bound::Bound::{self, Finite, NegInf, PosInf};
use crate::Int;
use num_bigint::BigInt;
use std::fmt;

/// The integers `n` with `lo <= n <= hi`; never empty: an empty set is `None` where one can arise.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ValueRange {
    /// The lower end; never [`Bound::PosInf`].
    pub lo: Bound,
    /// The upper end; never [`Bound::NegInf`].
    pub hi: Bound,
}

impl ValueRange {
    /// The range from `lo` to `hi`, or `None` when it would be empty.
    pub fn new(lo: impl Into<Bound>, hi: impl Into<Bound>) -> Option<ValueRange> {
        let (lo, hi) = (lo.into(), hi.into());
        (lo <= hi && lo != PosInf && hi != NegInf).then_some(ValueRange { lo, hi })
    }

    /// The length of the longer end in machine words, at least 1.
    pub fn words(&self) -> usize {
        let words = |end: &Bound| end.finite().map_or(1, Int::words);
        words(&self.lo).max(words(&self.hi))
    }

    /// The least range that holds both integers, in either order. If the wrong order is a contradiction, use
    /// [`ValueRange::new`].
    pub fn between(a: Int, b: Int) -> ValueRange {
        let (lo, hi) = if a <= b { (a, b) } else { (b, a) };
        ValueRange { lo: Finite(lo), hi: Finite(hi) }
    }

    /// The range between ends of which each may be missing, or `None` when it would be empty.
    pub fn between_options(lo: Option<Int>, hi: Option<Int>) -> Option<ValueRange> {
        ValueRange::new(lo.map_or(NegInf, Finite), hi.map_or(PosInf, Finite))
    }

    /// The least member, if there is one.
    pub fn lower(&self) -> Option<Int> {
        self.lo.finite().cloned()
    }

    /// The greatest member, if there is one.
    pub fn upper(&self) -> Option<Int> {
        self.hi.finite().cloned()
    }

    /// One integer.
    pub fn point(value: impl Into<Int>) -> ValueRange {
        let value = value.into();
        ValueRange { lo: Finite(value.clone()), hi: Finite(value) }
    }

    /// `value` and everything above.
    pub fn at_least(value: Int) -> ValueRange {
        ValueRange { lo: Finite(value), hi: PosInf }
    }

    /// `value` and everything below.
    pub fn at_most(value: Int) -> ValueRange {
        ValueRange { lo: NegInf, hi: Finite(value) }
    }

    /// Every integer.
    pub const fn all() -> ValueRange {
        ValueRange { lo: NegInf, hi: PosInf }
    }

    /// 0 and everything above.
    pub const fn nonnegative() -> ValueRange {
        ValueRange { lo: Bound::ZERO, hi: PosInf }
    }

    /// 0 and 1, the range of truth values.
    pub const fn unit() -> ValueRange {
        ValueRange { lo: Bound::ZERO, hi: Bound::ONE }
    }

    /// Whether `value` is in the range.
    pub fn contains(&self, value: &Int) -> bool {
        let above = match &self.lo {
            Finite(lo) => lo <= value,
            infinite => *infinite == NegInf,
        };
        above
            && match &self.hi {
                Finite(hi) => value <= hi,
                infinite => *infinite == PosInf,
            }
    }

    /// Whether 0 is in the range.
    pub fn contains_zero(&self) -> bool {
        self.lo.signum() <= 0 && self.hi.signum() >= 0
    }

    /// The only member of a range that has just one.
    pub fn as_point(&self) -> Option<&Int> {
        match (&self.lo, &self.hi) {
            (Finite(lo), Finite(hi)) if lo == hi => Some(lo),
            _ => None,
        }
    }

    /// The members of both, or `None` when there are none.
    pub fn meet(&self, other: &ValueRange) -> Option<ValueRange> {
        let lo = if self.lo >= other.lo { &self.lo } else { &other.lo };
        let hi = if self.hi <= other.hi { &self.hi } else { &other.hi };
        (lo <= hi).then(|| ValueRange { lo: lo.clone(), hi: hi.clone() })
    }

    /// The least range that holds both.
    pub fn join(&self, other: &ValueRange) -> ValueRange {
        let lo = if self.lo <= other.lo { &self.lo } else { &other.lo };
        let hi = if self.hi >= other.hi { &self.hi } else { &other.hi };
        ValueRange { lo: lo.clone(), hi: hi.clone() }
    }

    /// The hull of those that are there.
    pub(super) fn join_options(a: Option<ValueRange>, b: Option<ValueRange>) -> Option<ValueRange> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a.join(&b)),
            (a, b) => a.or(b),
        }
    }

    /// The range without 0 at its ends (0 inside stays), or `None` for just 0.
    pub fn without_zero(&self) -> Option<ValueRange> {
        match (self.lo.signum(), self.hi.signum()) {
            (0, 0) => None,
            (0, _) => Some(ValueRange { lo: Bound::ONE, hi: self.hi.clone() }),
            (_, 0) => Some(ValueRange { lo: self.lo.clone(), hi: Bound::from(-1) }),
            _ => Some(self.clone()),
        }
    }

    /// The members above 0.
    pub fn positive_part(&self) -> Option<ValueRange> {
        if self.lo.signum() > 0 { Some(self.clone()) } else { self.meet(&ValueRange::at_least(Int::ONE)) }
    }

    /// The members below 0.
    pub fn negative_part(&self) -> Option<ValueRange> {
        self.meet(&ValueRange::at_most(Int::from(-1)))
    }

    /// Ends of too many bits moved outwards ([`MAX_BITS`]).
    pub(super) fn widened(self) -> ValueRange {
        let huge = |b: &Bound| matches!(b, Finite(v @ Int::Big(_)) if v.bits() > MAX_BITS);
        if !huge(&self.lo) && !huge(&self.hi) {
            return self;
        }
        let limit = Int::from_big(BigInt::from(1) << (MAX_BITS - 1));
        let lo = match &self.lo {
            b if !huge(b) => b.clone(),
            b if b.is_negative() => NegInf,
            _ => Finite(limit.clone()),
        };
        let hi = match &self.hi {
            b if !huge(b) => b.clone(),
            b if b.is_negative() => Finite(-limit),
            _ => PosInf,
        };
        ValueRange { lo, hi }
    }

    /// `a + b`: increasing in both, so the ends add up.
    pub fn add(&self, other: &ValueRange) -> ValueRange {
        ValueRange { lo: self.lo.plus(&other.lo), hi: self.hi.plus(&other.hi) }
    }

    /// `a + c`.
    pub fn add_int(&self, constant: &Int) -> ValueRange {
        ValueRange { lo: self.lo.plus_int(constant), hi: self.hi.plus_int(constant) }
    }

    /// `-a`: decreasing, so the ends change places.
    pub fn neg(&self) -> ValueRange {
        ValueRange { lo: self.hi.negated(), hi: self.lo.negated() }
    }

    /// `c * a`: monotone, decreasing for negative `c`.
    pub fn scale(&self, factor: &Int) -> ValueRange {
        let by = |end: &Bound| match end {
            Finite(v) => Finite(v * factor),
            infinite if factor.is_negative() => infinite.negated(),
            infinite => infinite.clone(),
        };
        match factor.signum() {
            0 => ValueRange::point(0),
            1 => ValueRange { lo: by(&self.lo), hi: by(&self.hi) },
            _ => ValueRange { lo: by(&self.hi), hi: by(&self.lo) },
        }
    }

    /// `a * b` is linear in each operand, so the extremes are at corners. The extremes are reached; gaps
    /// between them are ignored.
    pub fn mul(&self, other: &ValueRange) -> ValueRange {
        if !self.lo.is_negative() && !other.lo.is_negative() {
            return ValueRange { lo: self.lo.times(&other.lo), hi: self.hi.times(&other.hi) };
        }
        let corners = [
            self.lo.times(&other.lo),
            self.lo.times(&other.hi),
            self.hi.times(&other.lo),
            self.hi.times(&other.hi),
        ];
        hull_of_bounds(corners)
    }

    /// `a ** n` for a fixed `n`: increasing for odd `n`; for even `n` increasing in `|a|`.
    pub fn pow(&self, n: u32) -> ValueRange {
        match n {
            0 => return ValueRange::point(1),
            1 => return self.clone(),
            _ => {}
        }
        let power = |b: &Bound| match b {
            Finite(v) => match v.pow(n, MAX_BITS) {
                Some(p) => Finite(p),
                None => Bound::from(v.signum()).times(if n % 2 == 1 || !v.is_negative() {
                    &PosInf
                } else {
                    &NegInf
                }),
            },
            NegInf if n.is_multiple_of(2) => PosInf,
            infinite => infinite.clone(),
        };
        let base = if n.is_multiple_of(2) { self.abs() } else { self.clone() };
        let limit = || Finite(Int::from_big(BigInt::from(1) << (MAX_BITS / 4)));
        // A power too large to write down still bounds from the near side: by 2^(MAX_BITS/4), below any refused power.
        let (mut lo, mut hi) = (power(&base.lo), power(&base.hi));
        if lo == PosInf {
            lo = limit();
        }
        if hi == NegInf {
            hi = limit().negated();
        }
        ValueRange { lo, hi }
    }

    /// `|a|`: decreasing below 0, increasing above.
    pub fn abs(&self) -> ValueRange {
        match (self.lo.signum() >= 0, self.hi.signum() <= 0) {
            (true, _) => self.clone(),
            (_, true) => self.neg(),
            _ => ValueRange { lo: Bound::ZERO, hi: self.lo.negated().max(self.hi.clone()) },
        }
    }

    /// `min(a, b)`: increasing in both.
    pub fn min(&self, other: &ValueRange) -> ValueRange {
        ValueRange { lo: (&self.lo).min(&other.lo).clone(), hi: (&self.hi).min(&other.hi).clone() }
    }

    /// `max(a, b)`: increasing in both.
    pub fn max(&self, other: &ValueRange) -> ValueRange {
        ValueRange { lo: (&self.lo).max(&other.lo).clone(), hi: (&self.hi).max(&other.hi).clone() }
    }

    /// `a // b` over the nonzero `b`; `None` when `b` is 0 only.
    ///
    /// For `b > 0` it increases in `a`. In `b` it falls towards 0 for `a >= 0` and rises towards -1 for
    /// `a < 0`. So the extremes are at corners. A negative `b` is `(-a) // (-b)`.
    pub fn floor_div(&self, other: &ValueRange) -> Option<ValueRange> {
        if other.lo.signum() > 0 {
            return Some(self.floor_div_positive(other));
        }
        let positive = other.positive_part().map(|b| self.floor_div_positive(&b));
        let negative = other.negative_part().map(|b| self.neg().floor_div_positive(&b.neg()));
        ValueRange::join_options(positive, negative)
    }

    fn floor_div_positive(&self, divisor: &ValueRange) -> ValueRange {
        let least_by = if self.lo.is_negative() { &divisor.lo } else { &divisor.hi };
        let most_by = if self.hi.is_negative() { &divisor.hi } else { &divisor.lo };
        ValueRange { lo: corner_quotient(&self.lo, least_by), hi: corner_quotient(&self.hi, most_by) }
    }

    /// `a % b` over the nonzero `b`; `None` when `b` is 0 only. The remainder has the sign of `b`, so a negative `b` is
    /// `-((-a) % (-b))`. Not the hull in general.
    pub fn modulo(&self, other: &ValueRange) -> Option<ValueRange> {
        if other.lo.signum() > 0 {
            return Some(self.modulo_positive(other));
        }
        let positive = other.positive_part().map(|b| self.modulo_positive(&b));
        let negative = other.negative_part().map(|b| self.neg().modulo_positive(&b.neg()).neg());
        ValueRange::join_options(positive, negative)
    }

    /// `a % b` for `b > 0` is `a` itself if `0 <= a < b`, else within `0..=b-1`, and never above an `a >= 0`.
    /// If `b` is one integer and `a` stays within one period, it is `a` shifted.
    fn modulo_positive(&self, divisor: &ValueRange) -> ValueRange {
        if !self.lo.is_negative() && self.hi < divisor.lo {
            return self.clone();
        }
        if let Some(d) = divisor.as_point()
            && let (Finite(lo), Finite(hi)) = (&self.lo, &self.hi)
            && let (Some(first), Some(last)) = (lo.floor_div(d), hi.floor_div(d))
            && first == last
        {
            return self.add_int(&-(&first * d));
        }
        // For -b <= a < 0 with every b, the remainder is a + b.
        if self.hi.is_negative() && self.lo >= divisor.lo.negated() {
            let shifted = self.add(divisor);
            return ValueRange { lo: shifted.lo.max(Bound::ZERO), hi: shifted.hi };
        }
        let largest = divisor.hi.plus_int(&Int::from(-1));
        let hi = if self.lo.is_negative() || largest <= self.hi { largest } else { self.hi.clone() };
        ValueRange { lo: Bound::ZERO, hi }
    }

    /// `a ** n` over the `n >= 0`; `None` when every `n` is negative.
    ///
    /// `|a ** n|` increases in `|a|` and, for `|a| >= 1`, in `n`. Only `0 ** n` falls, from 1 to 0. For a
    /// base that may be negative, the magnitude bounds both sides. This is not the hull in general.
    pub fn pow_range(&self, exponent: &ValueRange) -> Option<ValueRange> {
        let exponent = exponent.meet(&ValueRange::nonnegative())?;
        if let Some(n) = exponent.as_point().and_then(|n| n.to_i64()).and_then(|n| u32::try_from(n).ok()) {
            return Some(self.pow(n));
        }
        let power = |base: &ValueRange, n: &Bound| match n
            .finite()
            .map(|n| n.to_i64().and_then(|n| u32::try_from(n).ok()))
        {
            Some(Some(n)) => base.pow(n),
            // Too large an exponent: 0, 1, or something that at least doubles.
            _ if base.hi <= Bound::ONE => base.clone(),
            _ => ValueRange { lo: base.lo.clone(), hi: PosInf },
        };
        let magnitude = self.abs();
        let most = power(&magnitude, &exponent.hi).hi.max(Bound::ONE);
        if !self.lo.is_negative() {
            let lo = if self.lo.signum() > 0 { power(self, &exponent.lo).lo } else { Bound::ZERO };
            return Some(ValueRange { lo, hi: most });
        }
        Some(ValueRange { lo: most.negated(), hi: most })
    }
}

/// `a // b` of ends, for `b > 0`. An infinite divisor stands for the limit: 0, or -1 from below.
fn corner_quotient(a: &Bound, b: &Bound) -> Bound {
    match (a, b) {
        (a, Finite(b)) => a.floor_div(b),
        (Finite(a), _) => Bound::from(if a.is_negative() { -1 } else { 0 }),
        (infinite, _) => infinite.clone(),
    }
}

/// The least range that holds four corners.
fn hull_of_bounds(corners: [Bound; 4]) -> ValueRange {
    let [a, b, c, d] = corners;
    let (lo1, hi1) = if a <= b { (a, b) } else { (b, a) };
    let (lo2, hi2) = if c <= d { (c, d) } else { (d, c) };
    ValueRange { lo: lo1.min(lo2), hi: hi1.max(hi2) }
}

impl Default for ValueRange {
    fn default() -> ValueRange {
        ValueRange::all()
    }
}

impl fmt::Debug for ValueRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.lo, self.hi)
    }
}
