//! Intervals of doubles.
//!
//! Addition, multiplication, division, square root and the conversions round correctly, and correct rounding
//! is monotone. So an operation that is monotone over the reals has its extreme doubles exactly at corners,
//! and no widening is needed. The other functions come from the mathematics library, which promises neither.
//! Their ends are moved outwards by [`SLACK`] steps.
use super::bound::Bound::{self, Finite, NegInf, PosInf};
use super::value_range::ValueRange;
use crate::{F64, Func, Int, Value, evaluate_call};
use num_bigint::BigInt;
use num_traits::FromPrimitive;
use std::cmp::Ordering;

/// How many doubles outwards the ends of library functions are moved.
const SLACK: usize = 4;

/// The doubles `x` with `lo <= x <= hi`, and NaN if `nan` is set. Infinite ends belong to the range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatRange {
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
    /// Whether the value may be NaN.
    pub nan: bool,
}

impl FloatRange {
    /// Every double.
    pub const fn all() -> FloatRange {
        FloatRange { lo: f64::NEG_INFINITY, hi: f64::INFINITY, nan: true }
    }

    /// The range from `lo` to `hi` without NaN, or `None` when it would be empty.
    pub fn new(lo: f64, hi: f64) -> Option<FloatRange> {
        (lo <= hi).then_some(FloatRange { lo, hi, nan: false })
    }

    /// One double.
    pub fn point(value: f64) -> FloatRange {
        if value.is_nan() { FloatRange::all() } else { FloatRange { lo: value, hi: value, nan: false } }
    }

    /// Whether `value` is in the range.
    pub fn contains(&self, value: f64) -> bool {
        if value.is_nan() { self.nan } else { self.lo <= value && value <= self.hi }
    }

    /// The members of both, or `None` when there are none.
    pub fn meet(&self, other: &FloatRange) -> Option<FloatRange> {
        let nan = self.nan && other.nan;
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo <= hi {
            return Some(FloatRange { lo, hi, nan });
        }
        nan.then_some(FloatRange::all())
    }

    /// The least range that holds both.
    pub fn join(&self, other: &FloatRange) -> FloatRange {
        FloatRange { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi), nan: self.nan || other.nan }
    }

    /// The hull of corner values; a NaN among them is no number and does not count.
    fn hull(corners: impl IntoIterator<Item = f64>, nan: bool) -> FloatRange {
        let mut hull: Option<(f64, f64)> = None;
        for x in corners.into_iter().filter(|x| !x.is_nan()) {
            hull = Some(hull.map_or((x, x), |(lo, hi)| (lo.min(x), hi.max(x))));
        }
        hull.map_or(FloatRange::all(), |(lo, hi)| FloatRange { lo, hi, nan })
    }

    fn contains_infinity(&self) -> bool {
        self.lo == f64::NEG_INFINITY || self.hi == f64::INFINITY
    }

    /// `[lo, hi]` with both ends moved outwards by [`SLACK`] doubles, as far as `limits` allow.
    fn outwards(lo: f64, hi: f64, limits: (f64, f64), nan: bool) -> FloatRange {
        let down = (0..SLACK).fold(lo, |x, _| x.next_down());
        let up = (0..SLACK).fold(hi, |x, _| x.next_up());
        FloatRange { lo: down.max(limits.0), hi: up.min(limits.1), nan }
    }

    /// With both ends moved outwards to the next double.
    pub fn widened(&self) -> FloatRange {
        FloatRange { lo: self.lo.next_down(), hi: self.hi.next_up(), nan: self.nan }
    }

    /// The least range of integers that holds every number of this one.
    pub fn integer_hull(&self) -> ValueRange {
        let lo = self.bound(f64::floor, self.lo).unwrap_or(NegInf);
        let hi = self.bound(f64::ceil, self.hi).unwrap_or(PosInf);
        ValueRange::new(lo, hi).unwrap_or_default()
    }

    fn bound(&self, round: impl Fn(f64) -> f64, x: f64) -> Option<Bound> {
        BigInt::from_f64(round(x)).map(|v| Finite(Int::from_big(v)))
    }

    /// A rounding to integers ([`Func::Trunc`], [`Func::Floor`], [`Func::Ceil`], [`Func::Round`]), which is
    /// increasing. Infinities and NaN have no value. `None` when the range holds nothing else.
    pub fn to_integer(&self, func: Func) -> Option<ValueRange> {
        let round = |x: f64| match func {
            Func::Trunc => x.trunc(),
            Func::Floor => x.floor(),
            Func::Ceil => x.ceil(),
            _ => x.round_ties_even(),
        };
        if self.lo == f64::INFINITY || self.hi == f64::NEG_INFINITY {
            return None;
        }
        let lo = self.bound(round, self.lo).unwrap_or(NegInf);
        let hi = self.bound(round, self.hi).unwrap_or(PosInf);
        ValueRange::new(lo, hi)
    }

    /// The doubles nearest to integers, an increasing function. It is undefined beyond the greatest double.
    /// `None` when every integer is.
    pub fn from_integers(range: &ValueRange) -> Option<FloatRange> {
        FloatRange::finite(bound_to_f64(&range.lo), bound_to_f64(&range.hi))
    }

    /// The least range of doubles that holds every integer of a range, by value and not rounded.
    pub fn around_integers(range: &ValueRange) -> FloatRange {
        let end = |bound: &Bound, beyond: Ordering, step: fn(f64) -> f64| {
            let nearest = bound_to_f64(bound);
            let rounded_inwards = bound.finite().is_some_and(|v| v.partial_cmp_f64(nearest) == Some(beyond));
            if rounded_inwards { step(nearest) } else { nearest }
        };
        FloatRange {
            lo: end(&range.lo, Ordering::Less, f64::next_down),
            hi: end(&range.hi, Ordering::Greater, f64::next_up),
            nan: false,
        }
    }

    /// The finite doubles from `lo` to `hi`; `None` when there are none.
    fn finite(lo: f64, hi: f64) -> Option<FloatRange> {
        FloatRange::new(lo.max(f64::MIN), hi.min(f64::MAX))
    }

    /// The quotient of integers rounded to a double. For `b > 0` it increases in `a` and is monotone in `b`,
    /// so extremes are at corners; an infinite divisor gives 0. It is undefined beyond the greatest double.
    /// `None` when `b` is only 0, or no quotient is defined.
    pub fn integer_quotient(a: &ValueRange, b: &ValueRange) -> Option<FloatRange> {
        let part = |b: &ValueRange| {
            let corners = [(&a.lo, &b.lo), (&a.lo, &b.hi), (&a.hi, &b.lo), (&a.hi, &b.hi)];
            FloatRange::hull(corners.into_iter().map(|(n, d)| corner_quotient(n, d)), false)
        };
        let quotient = match (b.positive_part(), b.negative_part()) {
            (Some(p), Some(n)) => part(&p).join(&part(&n)),
            (p, n) => part(&p.or(n)?),
        };
        FloatRange::finite(quotient.lo, quotient.hi)
    }

    /// `a + b`: increasing in both. Opposite infinities make NaN.
    pub fn add(&self, other: &FloatRange) -> FloatRange {
        let (lo, hi) = (self.lo + other.lo, self.hi + other.hi);
        let opposite = |a: &FloatRange, b: &FloatRange| a.hi == f64::INFINITY && b.lo == f64::NEG_INFINITY;
        let nan = self.nan || other.nan || opposite(self, other) || opposite(other, self);
        FloatRange {
            lo: if lo.is_nan() { f64::NEG_INFINITY } else { lo },
            hi: if hi.is_nan() { f64::INFINITY } else { hi },
            nan,
        }
    }

    /// `a * b` is linear in each operand, so extremes are at corners. 0 times infinity is NaN. For the
    /// numbers next to such a corner, the corner counts as 0.
    pub fn mul(&self, other: &FloatRange) -> FloatRange {
        let corner = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        let corners = [
            corner(self.lo, other.lo),
            corner(self.lo, other.hi),
            corner(self.hi, other.lo),
            corner(self.hi, other.hi),
        ];
        let lost = |a: &FloatRange, b: &FloatRange| a.contains(0.0) && b.contains_infinity();
        let nan = self.nan || other.nan || lost(self, other) || lost(other, self);
        FloatRange::hull(corners, nan)
    }

    /// `a / b` over the nonzero `b`: for a fixed sign of `b` monotone in each operand. `None` when `b` is 0 only.
    pub fn div(&self, other: &FloatRange) -> Option<FloatRange> {
        if other.lo == 0.0 && other.hi == 0.0 && !other.nan {
            return None;
        }
        let nan = self.nan || other.nan || (self.contains_infinity() && other.contains_infinity());
        let smallest = f64::from_bits(1);
        let part = |lo: f64, hi: f64| {
            (lo <= hi)
                .then(|| FloatRange::hull([self.lo / lo, self.lo / hi, self.hi / lo, self.hi / hi], nan))
        };
        let positive = part(other.lo.max(smallest), other.hi);
        let negative = part(other.lo, other.hi.min(-smallest));
        Some(match (positive, negative) {
            (Some(p), Some(n)) => p.join(&n),
            (p, n) => p.or(n).unwrap_or(FloatRange::all()),
        })
    }

    /// `a ** b` of doubles. For `a > 0` it is `exp(b log a)`, bilinear in `b` and `log a`, so extremes are at
    /// corners. A base of 0 is included as long as no exponent is negative (where -0.0 may give -inf). For
    /// any other base the result is every double. NaN may give 1.
    pub fn pow(&self, other: &FloatRange) -> FloatRange {
        if self.lo < 0.0 || (self.lo == 0.0 && other.lo < 0.0) {
            return FloatRange::all();
        }
        let nan = self.nan || other.nan;
        let corners =
            [self.lo.powf(other.lo), self.lo.powf(other.hi), self.hi.powf(other.lo), self.hi.powf(other.hi)];
        let hull = FloatRange::hull(corners.into_iter().chain(nan.then_some(1.0)), nan);
        FloatRange::outwards(hull.lo, hull.hi, (0.0, f64::INFINITY), nan)
    }

    /// `|a|`: decreasing below 0, increasing above.
    pub fn abs(&self) -> FloatRange {
        let (a, b) = (self.lo.abs(), self.hi.abs());
        let lo = if self.contains(0.0) { 0.0 } else { a.min(b) };
        FloatRange { lo, hi: a.max(b), nan: self.nan }
    }

    /// `min(a, b)` or `max(a, b)`: increasing in both.
    pub fn extremum(&self, other: &FloatRange, func: Func) -> FloatRange {
        let pick = if func == Func::Min { f64::min } else { f64::max };
        FloatRange { lo: pick(self.lo, other.lo), hi: pick(self.hi, other.hi), nan: self.nan || other.nan }
    }

    /// Truncation to a whole double: increasing. Infinities and NaN have no value; `None` when nothing else is there.
    pub fn trunc(&self) -> Option<FloatRange> {
        if self.lo == f64::INFINITY || self.hi == f64::NEG_INFINITY {
            return None;
        }
        FloatRange::finite(self.lo.trunc(), self.hi.trunc())
    }

    /// `round(a, k)` for one `k`. Rounding to a grid is increasing, so the ends are rounded. For other `k`
    /// the result is every double.
    pub fn round_decimal(&self, digits: &ValueRange) -> FloatRange {
        let Some(k) = digits.as_point() else { return FloatRange::all() };
        let round =
            |x: f64| match evaluate_call(Func::RoundDecimal, &[Value::Float(x), Value::Int(k.clone())]) {
                Ok(value) => Some(value.as_f64()),
                Err(_) => None,
            };
        FloatRange {
            lo: round(self.lo).unwrap_or(f64::NEG_INFINITY),
            hi: round(self.hi).unwrap_or(f64::INFINITY),
            nan: self.nan,
        }
    }

    /// A function of one double ([`Func::real_function`]); `None` when no operand lies in its domain.
    ///
    /// Increasing functions: `sqrt` (correctly rounded), `exp`, `log`, `log2`, `sinh`, `tanh`, `asin`,
    /// `atan`, `asinh`. `acos` decreases. `cosh` is even and increases in `|a|`. `sin` and `cos` lie in [-1,
    /// 1]. `tan` may be anything.
    pub fn real_function(&self, func: Func) -> Option<FloatRange> {
        use std::f64::consts::{FRAC_PI_2, PI};
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        // (where it is defined, where its values lie)
        let (domain, image) = match func {
            Func::Sqrt => ((0.0, f64::INFINITY), (0.0, f64::INFINITY)),
            Func::Log | Func::Log2 => ((0.0, f64::INFINITY), all),
            Func::Exp => (all, (0.0, f64::INFINITY)),
            Func::Tanh => (all, (-1.0, 1.0)),
            Func::Asin => ((-1.0, 1.0), (-FRAC_PI_2.next_up(), FRAC_PI_2.next_up())),
            Func::Acos => ((-1.0, 1.0), (0.0, PI.next_up())),
            Func::Sinh | Func::Atan | Func::Asinh => (all, all),
            Func::Cosh => (all, (1.0, f64::INFINITY)),
            Func::Sin | Func::Cos => return Some(FloatRange { lo: -1.0, hi: 1.0, nan: self.nan }),
            _ => return Some(FloatRange::all()),
        };
        let function = func.real_function()?;
        let (lo, hi) = (self.lo.max(domain.0), self.hi.min(domain.1));
        if lo > hi {
            return self.nan.then_some(FloatRange::all());
        }
        if func == Func::Sqrt {
            return Some(FloatRange { lo: function(lo), hi: function(hi), nan: self.nan });
        }
        let (lo, hi) = match func {
            Func::Acos => (function(hi), function(lo)),
            Func::Cosh => {
                let magnitude = FloatRange { lo, hi, nan: false }.abs();
                (function(magnitude.lo), function(magnitude.hi))
            }
            _ => (function(lo), function(hi)),
        };
        if lo.is_nan() || hi.is_nan() {
            return Some(FloatRange::all());
        }
        Some(FloatRange::outwards(lo, hi, image, self.nan))
    }
}

impl From<F64> for FloatRange {
    fn from(value: F64) -> FloatRange {
        FloatRange::point(value.0)
    }
}

fn bound_to_f64(bound: &Bound) -> f64 {
    match bound {
        NegInf => f64::NEG_INFINITY,
        Finite(v) => v.to_f64(),
        PosInf => f64::INFINITY,
    }
}

/// The largest magnitude below which every integer is a double.
const EXACT: i64 = 1 << 53;

/// `n / d` of ends, `d` other than 0; NaN for two infinities.
fn corner_quotient(n: &Bound, d: &Bound) -> f64 {
    match (n, d) {
        (Finite(Int::Small(n)), Finite(Int::Small(d)))
            if n.abs_diff(0) <= EXACT as u64 && d.abs_diff(0) <= EXACT as u64 =>
        {
            *n as f64 / *d as f64
        }
        (Finite(n), Finite(d)) => {
            match evaluate_call(Func::IntTrueDiv, &[Value::Int(n.clone()), Value::Int(d.clone())]) {
                Ok(value) => value.as_f64(),
                // Beyond the greatest double.
                Err(_) => f64::INFINITY * f64::from(n.signum() * d.signum()),
            }
        }
        (Finite(_), _) => 0.0,
        (n, Finite(d)) => bound_to_f64(n) * f64::from(d.signum()),
        _ => f64::NAN,
    }
}
