//! An end of a range: an integer or an infinity.
use crate::Int;
use std::fmt;

/// An end of a [`super::ValueRange`]. The order is the numeric one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Bound {
    /// Below every integer.
    NegInf,
    /// An integer, itself within the range.
    Finite(Int),
    /// Above every integer.
    PosInf,
}

use Bound::{Finite, NegInf, PosInf};

impl Bound {
    /// 0 as a bound.
    pub const ZERO: Bound = Finite(Int::ZERO);
    /// 1 as a bound.
    pub const ONE: Bound = Finite(Int::ONE);

    /// The integer of a finite bound.
    pub fn finite(&self) -> Option<&Int> {
        match self {
            Finite(v) => Some(v),
            NegInf | PosInf => None,
        }
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> i32 {
        match self {
            NegInf => -1,
            Finite(v) => v.signum(),
            PosInf => 1,
        }
    }

    /// Whether the bound is below 0.
    pub fn is_negative(&self) -> bool {
        self.signum() < 0
    }

    /// `self + other`; ends of one side only are added, so infinities of opposite signs never meet. Should they, the
    /// left one wins.
    pub fn plus(&self, other: &Bound) -> Bound {
        match (self, other) {
            (Finite(a), Finite(b)) => Finite(a + b),
            (Finite(_), infinite) => infinite.clone(),
            (infinite, _) => infinite.clone(),
        }
    }

    /// `self + other` of an integer.
    pub fn plus_int(&self, other: &Int) -> Bound {
        match self {
            Finite(a) => Finite(a + other),
            infinite => infinite.clone(),
        }
    }

    /// `self * other`, where 0 times an infinity is 0: an infinite end stands for arbitrarily large integers.
    pub fn times(&self, other: &Bound) -> Bound {
        match (self, other) {
            (Finite(a), Finite(b)) => Finite(a * b),
            _ => Bound::infinity(self.signum() * other.signum()),
        }
    }

    /// The infinity of a sign, 0 for sign 0.
    fn infinity(sign: i32) -> Bound {
        match sign {
            0 => Bound::ZERO,
            1 => PosInf,
            _ => NegInf,
        }
    }

    /// `-self`.
    pub fn negated(&self) -> Bound {
        match self {
            NegInf => PosInf,
            Finite(v) => Finite(-v),
            PosInf => NegInf,
        }
    }

    /// `floor(self / divisor)` for an integer divisor other than 0 (for 0: `self` unchanged).
    pub fn floor_div(&self, divisor: &Int) -> Bound {
        match self {
            Finite(v) => Finite(v.floor_div(divisor).unwrap_or_else(|| v.clone())),
            infinite if divisor.is_negative() => infinite.negated(),
            infinite => infinite.clone(),
        }
    }

    /// `ceil(self / divisor)` for an integer divisor other than 0 (for 0: `self` unchanged).
    pub fn ceil_div(&self, divisor: &Int) -> Bound {
        self.negated().floor_div(divisor).negated()
    }
}

impl From<Int> for Bound {
    fn from(value: Int) -> Bound {
        Finite(value)
    }
}

impl From<i64> for Bound {
    fn from(value: i64) -> Bound {
        Finite(Int::from(value))
    }
}

impl From<i32> for Bound {
    fn from(value: i32) -> Bound {
        Finite(Int::from(value))
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NegInf => f.write_str("-inf"),
            Finite(v) => v.fmt(f),
            PosInf => f.write_str("inf"),
        }
    }
}
