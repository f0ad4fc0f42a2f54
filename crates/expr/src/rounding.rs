//! Rounding: of ratios to doubles, and of numbers to integers and decimals.
use super::node::Func;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{Signed, ToPrimitive, Zero};

/// Rounding to more decimals than this changes no double, as in Python's `round`.
const MAX_DECIMALS: i64 = 323;
/// Rounding to fewer digits gives zero.
const MIN_DECIMALS: i64 = -308;

/// A ratio rounded to an integer by [`Func::Trunc`], [`Func::Floor`], [`Func::Ceil`] or, halves to even, [`Func::Round`].
pub(super) fn rounded(func: Func, ratio: &BigRational) -> BigInt {
    let rounded = match func {
        Func::Trunc => ratio.trunc(),
        Func::Floor => ratio.floor(),
        Func::Ceil => ratio.ceil(),
        _ => {
            let (down, half) = (ratio.floor(), BigRational::new(1.into(), 2.into()));
            let rest = ratio - &down;
            let odd = (down.to_integer() % BigInt::from(2)).is_zero();
            if rest > half || (rest == half && !odd) { ratio.ceil() } else { down }
        }
    };
    rounded.to_integer()
}

/// The double nearest to `n / d`, halves to even, as Python divides integers; infinite beyond the greatest one.
pub(super) fn ratio_to_f64(n: &BigInt, d: &BigInt) -> f64 {
    let negative = n.is_negative() != d.is_negative();
    if n.is_zero() {
        return if negative { -0.0 } else { 0.0 };
    }
    let (n, d) = (n.abs(), d.abs());
    // The distance of doubles around the quotient is `2^exponent`: 53 bits of it count, and none below 2^-1074.
    let spacing = |bits: i64| (bits - 53).max(-1074);
    let exponent = spacing(n.bits() as i64 - d.bits() as i64);
    let (quotient, exact) = shifted_quotient(&n, &d, exponent);
    let (exponent, (quotient, exact)) = match spacing(quotient.bits() as i64 + exponent - 1) {
        wider if wider > exponent => (wider, shifted_quotient(&n, &d, wider)),
        _ => (exponent, (quotient, exact)),
    };
    // `quotient` has one bit more than counts: half a unit.
    let (whole, half) = (&quotient >> 1u32, quotient.bit(0));
    let up = half && (!exact || whole.bit(0));
    let Some(mantissa) = (whole + u32::from(up)).to_u64() else { return f64::INFINITY };
    // The leading bit of a normal mantissa raises the exponent's field by one. A carry into that field is
    // correct, too.
    let field = u64::try_from(exponent + 1074).unwrap_or(0);
    let magnitude = if field >= 2046 { f64::INFINITY } else { f64::from_bits((field << 52) + mantissa) };
    if negative { -magnitude } else { magnitude }
}

/// `n / d` in halves of `2^exponent`, rounded down, and whether that is exact.
fn shifted_quotient(n: &BigInt, d: &BigInt, exponent: i64) -> (BigInt, bool) {
    let shift = exponent - 1;
    let by = shift.unsigned_abs();
    let (quotient, rest) = match shift < 0 {
        true => num_integer::Integer::div_rem(&(n << by), d),
        false => num_integer::Integer::div_rem(n, &(d << by)),
    };
    (quotient, rest.is_zero())
}

/// Python's `round(x, k)`: correctly rounded in decimal, halves to even.
pub(super) fn round_decimal(x: f64, k: i64) -> Option<f64> {
    // `round(inf, 2)` is infinite; only `round(inf)` raises an error.
    if !x.is_finite() || k > MAX_DECIMALS {
        return Some(x);
    }
    if k < MIN_DECIMALS {
        return Some(0f64.copysign(x));
    }
    let exact = BigRational::from_float(x)?;
    let power = BigRational::from_integer(num_traits::pow(BigInt::from(10), k.unsigned_abs() as usize));
    let scaled = if k >= 0 { &exact * &power } else { &exact / &power };
    let back = BigRational::from_integer(rounded(Func::Round, &scaled));
    let result = if k >= 0 { back / power } else { back * power };
    let value = ratio_to_f64(result.numer(), result.denom());
    // Python raises an error where rounding leaves the range of doubles.
    value.is_finite().then(|| if value == 0.0 { 0f64.copysign(x) } else { value })
}
