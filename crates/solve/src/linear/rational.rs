//! Exact rationals for the simplex method: machine words while they last, big integers after that.
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use sizewise_expr::Int;
use std::cmp::Ordering;

/// Exact integers; `None` where a result does not fit.
pub trait Whole: Clone + std::fmt::Debug {
    /// The number of an integer.
    fn of(v: &Int) -> Option<Self>;
    /// The integer.
    fn to_int(&self) -> Int;
    /// -1, 0 or 1.
    fn sign(&self) -> i32;
    /// Whether the number is 1.
    fn is_one(&self) -> bool;
    /// The sum.
    fn plus(&self, other: &Self) -> Option<Self>;
    /// The product.
    fn times(&self, other: &Self) -> Option<Self>;
    /// The exact quotient by a divisor.
    fn over(&self, other: &Self) -> Self;
    /// The negated number.
    fn negated(&self) -> Self;
    /// The greatest common divisor.
    fn gcd(&self, other: &Self) -> Self;
    /// The cost of an operation, in units of one with machine words.
    fn weight(&self) -> u32;
}

impl Whole for i128 {
    fn of(v: &Int) -> Option<i128> {
        fits(super::super::program::to_i128(v)?)
    }

    fn to_int(&self) -> Int {
        Int::from(*self)
    }

    fn sign(&self) -> i32 {
        self.signum() as i32
    }

    fn is_one(&self) -> bool {
        *self == 1
    }

    fn plus(&self, other: &i128) -> Option<i128> {
        fits(self.checked_add(*other)?)
    }

    fn times(&self, other: &i128) -> Option<i128> {
        match (i64::try_from(*self), i64::try_from(*other)) {
            (Ok(a), Ok(b)) => fits(i128::from(a) * i128::from(b)),
            _ => fits(self.checked_mul(*other)?),
        }
    }

    fn over(&self, other: &i128) -> i128 {
        if *other == 1 { *self } else { self / other }
    }

    fn negated(&self) -> i128 {
        -self
    }

    fn gcd(&self, other: &i128) -> i128 {
        gcd(self.unsigned_abs(), other.unsigned_abs()) as i128
    }

    fn weight(&self) -> u32 {
        1
    }
}

impl Whole for BigInt {
    fn of(v: &Int) -> Option<BigInt> {
        Some(v.to_big())
    }

    fn to_int(&self) -> Int {
        Int::from_big(self.clone())
    }

    fn sign(&self) -> i32 {
        if self.is_positive() { 1 } else { -i32::from(self.is_negative()) }
    }

    fn is_one(&self) -> bool {
        One::is_one(self)
    }

    fn plus(&self, other: &BigInt) -> Option<BigInt> {
        Some(self + other)
    }

    fn times(&self, other: &BigInt) -> Option<BigInt> {
        Some(self * other)
    }

    fn over(&self, other: &BigInt) -> BigInt {
        self / other
    }

    fn negated(&self) -> BigInt {
        -self
    }

    fn gcd(&self, other: &BigInt) -> BigInt {
        num_integer::Integer::gcd(self, other)
    }

    fn weight(&self) -> u32 {
        8 + u32::try_from(self.bits() / 16).unwrap_or(u32::MAX / 16).saturating_add(squared(self.bits()))
    }
}

/// The cost of a greatest common divisor of numbers of this many bits, which takes quadratic time.
fn squared(bits: u64) -> u32 {
    let words = bits / 64;
    u32::try_from(words * words / 16).unwrap_or(u32::MAX / 16)
}

/// A field of exact numbers; `None` where a result does not fit.
pub trait Number: Clone + std::fmt::Debug {
    /// The integers of this kind.
    type Whole: Whole;
    /// The quotient of integers; the divisor is positive.
    fn ratio(n: &Self::Whole, d: &Self::Whole) -> Option<Self>;
    /// The number of an integer.
    fn of(v: &Int) -> Option<Self>;
    /// 0.
    fn zero() -> Self;
    /// The sum.
    fn plus(&self, other: &Self) -> Option<Self>;
    /// The product.
    fn times(&self, other: &Self) -> Option<Self>;
    /// The quotient; the divisor is not 0.
    fn over(&self, other: &Self) -> Option<Self>;
    /// The negated number.
    fn negated(&self) -> Self;
    /// The difference.
    fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(&other.negated())
    }
    /// The order.
    fn order(&self, other: &Self) -> Option<Ordering>;
    /// The greatest integer that is not greater, and whether it is the number itself.
    fn floor(&self) -> (Int, bool);
    /// The cost of an operation in addition to that of integers.
    fn weight(&self) -> u32;
}

/// A rational in lowest terms with a positive denominator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Small {
    n: i128,
    d: i128,
}

impl Small {
    fn new(n: i128, d: i128) -> Small {
        let gcd = if d == 1 { 1 } else { gcd(n.unsigned_abs(), d.unsigned_abs()) as i128 };
        Small { n: n / gcd, d: d / gcd }
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if let (Ok(a), Ok(b)) = (u64::try_from(a), u64::try_from(b)) {
        return u128::from(num_integer::gcd(a, b)).max(1);
    }
    num_integer::gcd(a, b).max(1)
}

/// The largest magnitude kept, so that negation and comparison cannot overflow.
const LIMIT: u128 = 1 << 124;

fn fits(v: i128) -> Option<i128> {
    (v.unsigned_abs() < LIMIT).then_some(v)
}

impl Number for Small {
    type Whole = i128;

    fn ratio(n: &i128, d: &i128) -> Option<Small> {
        Some(Small::new(*n, *d))
    }

    fn order(&self, other: &Small) -> Option<Ordering> {
        if self.d == other.d {
            return Some(self.n.cmp(&other.n));
        }
        Some(self.n.checked_mul(other.d)?.cmp(&other.n.checked_mul(self.d)?))
    }

    fn of(v: &Int) -> Option<Small> {
        Some(Small { n: fits(super::super::program::to_i128(v)?)?, d: 1 })
    }

    fn zero() -> Small {
        Small { n: 0, d: 1 }
    }

    fn plus(&self, other: &Small) -> Option<Small> {
        if self.d == 1 && other.d == 1 {
            return Some(Small { n: fits(self.n.checked_add(other.n)?)?, d: 1 });
        }
        let n = self.n.checked_mul(other.d)?.checked_add(other.n.checked_mul(self.d)?)?;
        Some(Small::new(fits(n)?, fits(self.d.checked_mul(other.d)?)?))
    }

    fn times(&self, other: &Small) -> Option<Small> {
        let n = fits(self.n.checked_mul(other.n)?)?;
        Some(if self.d == 1 && other.d == 1 {
            Small { n, d: 1 }
        } else {
            Small::new(n, fits(self.d.checked_mul(other.d)?)?)
        })
    }

    fn over(&self, other: &Small) -> Option<Small> {
        let (n, d) = (self.n.checked_mul(other.d)?, self.d.checked_mul(other.n)?);
        Some(if d < 0 { Small::new(fits(-n)?, fits(-d)?) } else { Small::new(fits(n)?, fits(d)?) })
    }

    fn negated(&self) -> Small {
        Small { n: -self.n, d: self.d }
    }

    fn floor(&self) -> (Int, bool) {
        (Int::from(self.n.div_euclid(self.d)), self.d == 1)
    }

    fn weight(&self) -> u32 {
        0
    }
}

impl Number for BigRational {
    type Whole = BigInt;

    fn weight(&self) -> u32 {
        squared(self.numer().bits().max(self.denom().bits()))
    }

    fn ratio(n: &BigInt, d: &BigInt) -> Option<BigRational> {
        Some(BigRational::new(n.clone(), d.clone()))
    }

    fn order(&self, other: &BigRational) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn of(v: &Int) -> Option<BigRational> {
        Some(BigRational::from_integer(v.to_big()))
    }

    fn zero() -> BigRational {
        Zero::zero()
    }

    fn plus(&self, other: &BigRational) -> Option<BigRational> {
        Some(self + other)
    }

    fn times(&self, other: &BigRational) -> Option<BigRational> {
        Some(self * other)
    }

    fn over(&self, other: &BigRational) -> Option<BigRational> {
        Some(self / other)
    }

    fn negated(&self) -> BigRational {
        -self
    }

    fn floor(&self) -> (Int, bool) {
        (Int::from_big(num_rational::Ratio::floor(self).to_integer()), One::is_one(self.denom()))
    }
}
