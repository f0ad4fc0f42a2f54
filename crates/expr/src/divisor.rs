//! Integers by which division always has a value.
use super::Int;

/// An integer that is not 0.
///
/// Division by a plain [`Int`] may have no value, so [`Int::floor_div`] returns an option. This type states
/// that the divisor is not 0, so callers need no default for a case that cannot occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divisor<'a>(&'a Int);

impl<'a> Divisor<'a> {
    /// Two.
    pub const TWO: Divisor<'static> = Divisor(&Int::Small(2));

    /// The integer as a divisor, or `None` for 0.
    ///
    /// ```
    /// use sizewise_expr::{Divisor, Int};
    ///
    /// let three = Int::from(3);
    /// let divisor = Divisor::of(&three).expect("not 0");
    /// assert_eq!(divisor.quotient_of(&Int::from(-7)), Int::from(-3));
    /// assert_eq!(divisor.remainder_of(&Int::from(-7)), Int::from(2));
    /// assert_eq!(Divisor::of(&Int::ZERO), None);
    /// ```
    pub fn of(value: &'a Int) -> Option<Divisor<'a>> {
        (!value.is_zero()).then_some(Divisor(value))
    }

    /// The integer.
    pub fn value(self) -> &'a Int {
        self.0
    }

    /// `dividend` divided by this, rounded towards minus infinity.
    pub fn quotient_of(self, dividend: &Int) -> Int {
        dividend.floor_of_quotient(self.0)
    }

    /// `dividend` divided by this, rounded towards plus infinity.
    pub fn ceiling_of(self, dividend: &Int) -> Int {
        -(-dividend).floor_of_quotient(self.0)
    }

    /// The remainder of `dividend`, with this divisor's sign (Python's `%`).
    pub fn remainder_of(self, dividend: &Int) -> Int {
        dividend.floor_of_remainder(self.0)
    }

    /// The quotient of `dividend` if this divides it.
    pub fn exact_quotient_of(self, dividend: &Int) -> Option<Int> {
        self.remainder_of(dividend).is_zero().then(|| self.quotient_of(dividend))
    }
}
