//! Exact rationals for the simplex method: machine words while they last, big integers after that.
use crate::expr::Int;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};
use std::cmp::Ordering;

/// A field of exact numbers; `None` where a result does not fit.
pub trait Number: Clone + std::fmt::Debug {
    /// The number of an integer.
    fn of(v: &Int) -> Option<Self>;
    /// 0.
    fn zero() -> Self;
    /// -1, 0 or 1.
    fn sign(&self) -> i32;
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
    fn order(&self, other: &Self) -> Option<Ordering> {
        Some(self.minus(other)?.sign().cmp(&0))
    }
    /// The greatest integer that is not greater, and whether it is the number itself.
    fn floor(&self) -> (Int, bool);
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
    fn of(v: &Int) -> Option<Small> {
        Some(Small { n: fits(super::super::program::to_i128(v)?)?, d: 1 })
    }

    fn zero() -> Small {
        Small { n: 0, d: 1 }
    }

    fn sign(&self) -> i32 {
        self.n.signum() as i32
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
}

impl Number for BigRational {
    fn of(v: &Int) -> Option<BigRational> {
        Some(BigRational::from_integer(v.to_big()))
    }

    fn zero() -> BigRational {
        Zero::zero()
    }

    fn sign(&self) -> i32 {
        if self.is_positive() { 1 } else { -i32::from(self.is_negative()) }
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
        (Int::from_big(num_rational::Ratio::floor(self).to_integer()), self.denom().is_one())
    }
}
