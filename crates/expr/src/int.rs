//! Exact integers of any size with a fast path for those that fit in 64 bits.
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{FromPrimitive, Signed, ToPrimitive};
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, Mul, Neg, Sub};
use std::str::FromStr;

/// An integer of any size.
///
/// The representation is canonical (a value that fits in an `i64` is always `Small`), so derived equality and hashing
/// agree with equality of values.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Int {
    /// A value that fits in 64 bits.
    Small(i64),
    /// Any other value.
    Big(Box<BigInt>),
}

use Int::{Big, Small};

impl Int {
    /// Zero.
    pub const ZERO: Int = Small(0);
    /// One.
    pub const ONE: Int = Small(1);

    /// The canonical form of a big integer.
    pub fn from_big(value: BigInt) -> Int {
        match value.to_i64() {
            Some(small) => Small(small),
            None => Big(Box::new(value)),
        }
    }

    /// The value as a `BigInt`.
    pub fn to_big(&self) -> BigInt {
        match self {
            Small(v) => BigInt::from(*v),
            Big(v) => (**v).clone(),
        }
    }

    /// The value if it fits in 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        match self {
            Small(v) => Some(*v),
            Big(_) => None,
        }
    }

    /// The nearest double, rounding half to even; infinite when out of range.
    pub fn to_f64(&self) -> f64 {
        match self {
            Small(v) => *v as f64,
            Big(v) => v.to_f64().unwrap_or(f64::INFINITY),
        }
    }

    /// The number as a double, where it is one exactly.
    pub fn to_exact_f64(&self) -> Option<f64> {
        let double = self.to_f64();
        (double.is_finite() && self.partial_cmp_f64(double) == Some(Ordering::Equal)).then_some(double)
    }

    /// The least double that is not below the number; none above all finite doubles.
    ///
    /// ```
    /// use sizewise_expr::Int;
    /// let odd = Int::from((1i64 << 53) + 1);
    /// assert_eq!(odd.double_above(), Some(9_007_199_254_740_994.0));
    /// assert_eq!(Int::from(10).pow(309, 2000).and_then(|huge| huge.double_above()), None);
    /// ```
    pub fn double_above(&self) -> Option<f64> {
        let near = self.to_f64();
        let above = if self.partial_cmp_f64(near) == Some(Ordering::Greater) { near.next_up() } else { near };
        (above < f64::INFINITY).then(|| above.max(f64::MIN))
    }

    /// The order of the integer and a double by their values, without rounding the integer; `None` for NaN.
    pub fn partial_cmp_f64(&self, x: f64) -> Option<Ordering> {
        if x.is_nan() {
            return None;
        }
        let Some(whole) = BigInt::from_f64(x) else { return 0f64.partial_cmp(&x) };
        match self.cmp(&Int::from_big(whole)) {
            // The truncated part decides.
            Ordering::Equal => x.trunc().partial_cmp(&x),
            order => Some(order),
        }
    }

    /// Whether the value is 0.
    pub fn is_zero(&self) -> bool {
        matches!(self, Small(0))
    }

    /// Whether the value is 1.
    pub fn is_one(&self) -> bool {
        matches!(self, Small(1))
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self {
            Small(v) => v.signum() as i32,
            Big(v) => {
                if v.is_negative() {
                    -1
                } else {
                    1
                }
            }
        }
    }

    /// Whether the value is below 0.
    pub fn is_negative(&self) -> bool {
        self.signum() < 0
    }

    /// Whether the value is above 0.
    pub fn is_positive(&self) -> bool {
        self.signum() > 0
    }

    /// The absolute value.
    pub fn abs(&self) -> Int {
        if self.is_negative() { -self } else { self.clone() }
    }

    /// The quotient rounded towards minus infinity, or `None` for a zero divisor.
    pub fn floor_div(&self, divisor: &Int) -> Option<Int> {
        (!divisor.is_zero()).then(|| self.floor_of_quotient(divisor))
    }

    /// The remainder with the divisor's sign (Python's `%`), or `None` for a zero divisor.
    pub fn modulo(&self, divisor: &Int) -> Option<Int> {
        (!divisor.is_zero()).then(|| self.floor_of_remainder(divisor))
    }

    /// The quotient for a divisor other than 0, rounded towards minus infinity.
    pub(super) fn floor_of_quotient(&self, divisor: &Int) -> Int {
        match (self, divisor) {
            (Small(a), Small(b)) if !(*a == i64::MIN && *b == -1) => Small(a.div_floor(b)),
            _ => Int::from_big(self.to_big().div_floor(&divisor.to_big())),
        }
    }

    /// The remainder for a divisor other than 0, with its sign.
    pub(super) fn floor_of_remainder(&self, divisor: &Int) -> Int {
        match (self, divisor) {
            (Small(_), Small(-1)) => Int::ZERO,
            (Small(a), Small(b)) => Small(a.mod_floor(b)),
            _ => Int::from_big(self.to_big().mod_floor(&divisor.to_big())),
        }
    }

    /// Whether `self` is a multiple of `divisor`; 0 divides only 0.
    pub fn is_multiple_of(&self, divisor: &Int) -> bool {
        self.modulo(divisor).map_or(self.is_zero(), |r| r.is_zero())
    }

    /// The greatest common divisor, never negative.
    pub fn gcd(&self, other: &Int) -> Int {
        match (self, other) {
            (Small(a), Small(b)) if *a != i64::MIN && *b != i64::MIN => Small(a.gcd(b)),
            _ => Int::from_big(self.to_big().gcd(&other.to_big())),
        }
    }

    /// The least common multiple, never negative.
    pub fn lcm(&self, other: &Int) -> Int {
        let gcd = self.gcd(other);
        self.floor_div(&gcd).map_or(Int::ZERO, |quotient| (&quotient * other).abs())
    }

    /// `self` to a power, or `None` when the result has more than `max_bits` bits.
    pub fn pow(&self, exponent: u32, max_bits: u64) -> Option<Int> {
        let within = |power: Int| (power.bits() <= max_bits).then_some(power);
        if let Small(v) = self
            && let Some(p) = v.checked_pow(exponent)
        {
            return within(Small(p));
        }
        // The power has more than (bits - 1) * exponent bits: one that is surely too large is not computed.
        let base = self.to_big();
        if (base.bits() - 1).saturating_mul(u64::from(exponent)) >= max_bits {
            return None;
        }
        within(Int::from_big(num_traits::pow(base, exponent as usize)))
    }

    /// `2` to a power.
    pub fn power_of_two(exponent: u32) -> Int {
        Int::from_big(BigInt::from(1) << exponent)
    }

    /// The length in machine words, at least 1.
    pub fn words(&self) -> usize {
        match self {
            Small(_) => 1,
            Big(v) => 1 + usize::try_from(v.bits() / 64).unwrap_or(usize::MAX),
        }
    }

    /// The number of bits of the magnitude.
    pub fn bits(&self) -> u64 {
        match self {
            Small(v) => 64 - u64::from(v.unsigned_abs().leading_zeros()),
            Big(v) => v.bits(),
        }
    }
}

impl From<i64> for Int {
    fn from(value: i64) -> Int {
        Small(value)
    }
}

impl From<i32> for Int {
    fn from(value: i32) -> Int {
        Small(i64::from(value))
    }
}

impl From<usize> for Int {
    fn from(value: usize) -> Int {
        i64::try_from(value).map_or_else(|_| Int::from_big(BigInt::from(value)), Small)
    }
}

impl From<i128> for Int {
    fn from(value: i128) -> Int {
        i64::try_from(value).map_or_else(|_| Int::from_big(BigInt::from(value)), Small)
    }
}

impl FromStr for Int {
    type Err = num_bigint::ParseBigIntError;
    fn from_str(text: &str) -> Result<Int, Self::Err> {
        match text.parse::<i64>() {
            Ok(v) => Ok(Small(v)),
            Err(_) => BigInt::from_str(text).map(Int::from_big),
        }
    }
}

impl fmt::Display for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Small(v) => v.fmt(f),
            Big(v) => v.fmt(f),
        }
    }
}

impl fmt::Debug for Int {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Int) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Int {
    fn cmp(&self, other: &Int) -> Ordering {
        match (self, other) {
            (Small(a), Small(b)) => a.cmp(b),
            // A big value lies outside the range of the small ones, so its sign settles the order.
            (Small(_), Big(b)) => {
                if b.is_negative() {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (Big(a), Small(_)) => {
                if a.is_negative() {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (Big(a), Big(b)) => a.cmp(b),
        }
    }
}

impl Add<&Int> for &Int {
    type Output = Int;
    fn add(self, other: &Int) -> Int {
        if let (Small(a), Small(b)) = (self, other)
            && let Some(sum) = a.checked_add(*b)
        {
            return Small(sum);
        }
        Int::from_big(self.to_big() + other.to_big())
    }
}

impl Sub<&Int> for &Int {
    type Output = Int;
    fn sub(self, other: &Int) -> Int {
        if let (Small(a), Small(b)) = (self, other)
            && let Some(difference) = a.checked_sub(*b)
        {
            return Small(difference);
        }
        Int::from_big(self.to_big() - other.to_big())
    }
}

impl Mul<&Int> for &Int {
    type Output = Int;
    fn mul(self, other: &Int) -> Int {
        if let (Small(a), Small(b)) = (self, other)
            && let Some(product) = a.checked_mul(*b)
        {
            return Small(product);
        }
        Int::from_big(self.to_big() * other.to_big())
    }
}

impl Neg for &Int {
    type Output = Int;
    fn neg(self) -> Int {
        match self {
            Small(v) if *v != i64::MIN => Small(-v),
            _ => Int::from_big(-self.to_big()),
        }
    }
}

impl Neg for Int {
    type Output = Int;
    fn neg(self) -> Int {
        -&self
    }
}

macro_rules! owned_operators {
    ($($trait:ident $method:ident),*) => {$(
        impl $trait<Int> for Int {
            type Output = Int;
            fn $method(self, other: Int) -> Int {
                (&self).$method(&other)
            }
        }
        impl $trait<&Int> for Int {
            type Output = Int;
            fn $method(self, other: &Int) -> Int {
                (&self).$method(other)
            }
        }
    )*};
}
owned_operators!(Add add, Sub sub, Mul mul);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_agree_with_big_integers_around_the_limits_of_64_bits() {
        let edge = [
            0i128,
            1,
            -1,
            2,
            -3,
            7,
            i64::MAX as i128,
            i64::MIN as i128,
            i64::MAX as i128 + 1,
            i64::MIN as i128 - 1,
        ];
        for &a in &edge {
            for &b in &edge {
                let (x, y) = (Int::from(a), Int::from(b));
                assert_eq!(&x + &y, Int::from(a + b));
                assert_eq!(&x - &y, Int::from(a - b));
                assert_eq!(&x * &y, Int::from_big(BigInt::from(a) * BigInt::from(b)));
                assert_eq!(x.cmp(&y), a.cmp(&b));
                if b == 0 {
                    assert_eq!((x.floor_div(&y), x.modulo(&y)), (None, None));
                } else {
                    assert_eq!(x.floor_div(&y), Some(Int::from(Integer::div_floor(&a, &b))), "{a}//{b}");
                    assert_eq!(x.modulo(&y), Some(Int::from(Integer::mod_floor(&a, &b))), "{a}%{b}");
                }
                assert_eq!(x.gcd(&y), Int::from(a.gcd(&b)));
            }
        }
    }

    #[test]
    fn powers_are_exact_or_refused() {
        assert_eq!(Int::from(10).pow(30, 1000).map(|p| p.to_string()), Some(format!("1{}", "0".repeat(30))));
        assert_eq!(Int::from(10).pow(1_000_000, 4096), None);
        assert_eq!(Int::from(-2).pow(3, 8), Some(Int::from(-8)));
    }

    #[test]
    fn powers_fit_up_to_the_bits_allowed() {
        let fits = |base: i64, k, bits| Int::from(base).pow(k, bits).is_some();
        for k in [63u32, 64, 100] {
            let exact = Int::from(2).pow(k, 4096).expect("a power");
            // 2^k has k + 1 bits.
            assert_eq!(exact.bits(), u64::from(k) + 1);
            assert_eq!(exact, Int::from_big(BigInt::from(1) << k));
            // The bits of the power are what counts, whatever its size.
            assert!(fits(2, k, u64::from(k) + 1) && !fits(2, k, u64::from(k)), "{k}");
            assert_eq!(Int::power_of_two(k), exact);
        }
        assert!(fits(-3, 5, 8) && !fits(-3, 5, 7));
        assert_eq!((Int::from(7).pow(0, 1), Int::ZERO.pow(5, 1)), (Some(Int::ONE), Some(Int::ZERO)));
    }

    #[test]
    fn integers_are_ordered_among_doubles_by_value() {
        use Ordering::{Equal, Greater, Less};
        let two_53 = (1i64 << 53) as f64;
        let huge = Int::from(10).pow(400, 4096).expect("a power");
        let table = [
            (Int::from(1i64 << 53), two_53, Equal),
            (Int::from((1i64 << 53) + 1), two_53, Greater),
            (Int::from(-(1i64 << 53) - 1), -two_53, Less),
            (Int::from(0), f64::from_bits(1), Less),
            (Int::from(0), -f64::from_bits(1), Greater),
            (Int::from(2), 2.5, Less),
            (Int::from(-2), -2.5, Greater),
            (Int::from(i64::MAX), i64::MAX as f64, Less),
            (huge.clone(), f64::MAX, Greater),
            (huge.clone(), f64::INFINITY, Less),
            (-&huge, f64::NEG_INFINITY, Greater),
        ];
        for (v, x, order) in table {
            assert_eq!(v.partial_cmp_f64(x), Some(order), "{v} and {x:e}");
        }
        assert_eq!(huge.partial_cmp_f64(f64::NAN), None);
    }

    #[test]
    fn negation_and_text_know_the_ends_of_64_bits() {
        let (most, least) = (i128::from(i64::MAX), i128::from(i64::MIN));
        for v in [0i128, 1, -1, most, least, least - 1, most + 1, most + 2] {
            assert_eq!(-Int::from(v), Int::from(-v));
            assert_eq!((-&Int::from(v)).to_string(), (-v).to_string());
            assert_eq!(format!("{:?}", Int::from(v)), v.to_string());
            assert_eq!(Int::from(v).abs(), Int::from(v.abs()));
            // One value has one form.
            assert_eq!(matches!(-Int::from(v), Int::Small(_)), i64::try_from(-v).is_ok());
        }
    }

    #[test]
    fn least_common_multiples() {
        assert_eq!(Int::from(4).lcm(&Int::from(6)), Int::from(12));
        assert_eq!(Int::from(0).lcm(&Int::from(6)), Int::ZERO);
        assert_eq!(Int::from(-4).lcm(&Int::from(6)), Int::from(12));
    }
}
