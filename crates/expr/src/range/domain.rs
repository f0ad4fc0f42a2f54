//! The reduced product of a range and a residue class.
use super::bound::Bound::{self, Finite};
use super::congruence::Congruence;
use super::value_range::ValueRange;
use crate::{Expr, Int};
use std::fmt;

/// The integers in a range and in a residue class. Truth values are 0 and 1.
///
/// Always reduced: finite ends of the range belong to the class, and a single value is single in both.
/// [`Domain::new`] ensures this.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Domain {
    /// The bounds.
    pub range: ValueRange,
    /// The residue class.
    pub congruence: Congruence,
}

/// The facts contradict each other: no assignment gives this expression a value within its domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the facts contradict each other at {at:?}")]
pub struct Contradiction {
    /// Where the empty domain turned up.
    pub at: Expr,
}

impl Domain {
    /// The members of both, reduced, or `None` when there are none.
    pub fn new(range: ValueRange, congruence: Congruence) -> Option<Domain> {
        let range = range.widened();
        if congruence.is_any() {
            return Some(match range.as_point() {
                Some(value) => Domain::point(value.clone()),
                None => Domain { range, congruence },
            });
        }
        if congruence.modulus().is_zero() {
            return range.contains(congruence.residue()).then(|| Domain::point(congruence.residue().clone()));
        }
        let lo = match &range.lo {
            Finite(v) => Finite(congruence.next(v)),
            infinite => infinite.clone(),
        };
        let hi = match &range.hi {
            Finite(v) => Finite(congruence.previous(v)),
            infinite => infinite.clone(),
        };
        let range = ValueRange::new(lo, hi)?;
        Some(match range.as_point() {
            Some(value) => Domain::point(value.clone()),
            None => Domain { range, congruence },
        })
    }

    /// Every integer.
    pub const fn all() -> Domain {
        Domain { range: ValueRange::all(), congruence: Congruence::any() }
    }

    /// 0 and 1: either truth value.
    pub const fn unit() -> Domain {
        Domain { range: ValueRange::unit(), congruence: Congruence::any() }
    }

    /// One integer.
    pub fn point(value: impl Into<Int>) -> Domain {
        let value = value.into();
        Domain { range: ValueRange::point(value.clone()), congruence: Congruence::point(value) }
    }

    /// The domain of a truth value; `None` is either.
    pub fn of_truth(value: Option<bool>) -> Domain {
        value.map_or(Domain::unit(), |value| Domain::point(i64::from(value)))
    }

    /// `value` and everything above.
    pub fn at_least(value: Int) -> Domain {
        Domain { range: ValueRange::at_least(value), congruence: Congruence::any() }
    }

    /// `value` and everything below.
    pub fn at_most(value: Int) -> Domain {
        Domain { range: ValueRange::at_most(value), congruence: Congruence::any() }
    }

    /// Whether nothing is excluded.
    pub fn is_all(&self) -> bool {
        self.range.lo == Bound::NegInf && self.range.hi == Bound::PosInf && self.congruence.is_any()
    }

    /// Whether `value` is a member.
    pub fn contains(&self, value: &Int) -> bool {
        self.range.contains(value) && self.congruence.contains(value)
    }

    /// Whether 0 is a member.
    pub fn contains_zero(&self) -> bool {
        self.range.contains_zero() && self.congruence.contains(&Int::ZERO)
    }

    /// The only member of a domain that has just one.
    pub fn as_point(&self) -> Option<&Int> {
        self.range.as_point()
    }

    /// The members of both, or `None` when there are none.
    pub fn meet(&self, other: &Domain) -> Option<Domain> {
        let range = self.range.meet(&other.range)?;
        if self.congruence.is_any() && other.congruence.is_any() {
            return Domain::new(range, Congruence::any());
        }
        Domain::new(range, self.congruence.meet(&other.congruence)?)
    }

    /// The least domain that holds both.
    pub fn join(&self, other: &Domain) -> Domain {
        let congruence = if self.congruence.is_any() || other.congruence.is_any() {
            Congruence::any()
        } else {
            self.congruence.join(&other.congruence)
        };
        Domain { range: self.range.join(&other.range), congruence }
    }

    /// The domain without `value` where that is an end, or `None` when nothing else is in it.
    pub fn without(&self, value: &Int) -> Option<Domain> {
        if self.as_point() == Some(value) {
            return None;
        }
        let is_value = |end: &Bound| end.finite() == Some(value);
        let (mut lo, mut hi) = (self.range.lo.clone(), self.range.hi.clone());
        if is_value(&lo) {
            lo = lo.plus_int(&Int::ONE);
        } else if is_value(&hi) {
            hi = hi.plus_int(&Int::from(-1));
        } else {
            return Some(self.clone());
        }
        Domain::new(ValueRange::new(lo, hi)?, self.congruence.clone())
    }

    /// The members in order, if there are at most `limit`.
    pub fn members(&self, limit: u64) -> Option<Vec<Int>> {
        let count = self.count().filter(|n| *n <= limit)?;
        let step = if self.congruence.modulus().is_zero() { &Int::ONE } else { self.congruence.modulus() };
        let mut next = self.range.lo.finite()?.clone();
        let mut members = Vec::with_capacity(count as usize);
        for _ in 0..count {
            members.push(next.clone());
            next = &next + step;
        }
        Some(members)
    }

    /// How many members there are, if that is finite and fits.
    pub fn count(&self) -> Option<u64> {
        let (lo, hi) = (self.range.lo.finite()?, self.range.hi.finite()?);
        let step = if self.congruence.modulus().is_zero() { &Int::ONE } else { self.congruence.modulus() };
        let steps = (hi - lo).floor_div(step)?.to_i64()?;
        u64::try_from(steps).ok()?.checked_add(1)
    }
}

impl Default for Domain {
    fn default() -> Domain {
        Domain::all()
    }
}

impl From<ValueRange> for Domain {
    fn from(range: ValueRange) -> Domain {
        match range.as_point() {
            Some(value) => Domain::point(value.clone()),
            None => Domain { range, congruence: Congruence::any() },
        }
    }
}

impl From<Congruence> for Domain {
    fn from(congruence: Congruence) -> Domain {
        if congruence.modulus().is_zero() {
            return Domain::point(congruence.residue().clone());
        }
        Domain { range: ValueRange::all(), congruence }
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_point(), self.congruence.is_any()) {
            (Some(value), _) => write!(f, "{{{value}}}"),
            (None, true) => self.range.fmt(f),
            (None, false) => write!(f, "{:?} ({:?})", self.range, self.congruence),
        }
    }
}

/// The truth value that a domain of truth values leaves: `None` when it leaves both (or neither).
pub fn truth(domain: &Domain) -> Option<bool> {
    match domain.as_point()? {
        Int::Small(0) => Some(false),
        Int::Small(1) => Some(true),
        _ => None,
    }
}
