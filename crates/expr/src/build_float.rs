//! Construction of floating-point expressions and of the way between integers, ratios and doubles.
//!
//! Nothing is reassociated: doubles do not form a ring.
use super::int::Int;
use super::node::{Func, Sort};
use super::pool::{Expr, Pool};

impl Pool {
    /// Whether `e` is a double or an exact ratio, which polynomials do not hold.
    pub(super) fn is_inexact(&self, e: Expr) -> bool {
        self.sort(e) != Sort::Int || self.as_func(e, Func::Ratio).is_some()
    }

    /// The sum when an operand is no integer polynomial.
    pub(super) fn inexact_add(&mut self, a: Expr, b: Expr) -> Option<Expr> {
        self.inexact(Func::FloatAdd, a, b)
    }

    /// The product when an operand is no integer polynomial.
    pub(super) fn inexact_mul(&mut self, a: Expr, b: Expr) -> Option<Expr> {
        self.inexact(Func::FloatMul, a, b)
    }

    fn inexact(&mut self, func: Func, a: Expr, b: Expr) -> Option<Expr> {
        if !self.is_inexact(a) && !self.is_inexact(b) {
            return None;
        }
        if self.sort(a) == Sort::Float || self.sort(b) == Sort::Float {
            let (a, b) = self.numbers(a, b);
            let (a, b) = (a.min(b), a.max(b));
            return Some(self.fold_call(func, &[a, b]));
        }
        let (a, b) = (self.as_integer(a), self.as_integer(b));
        let Some((scaled, denominator)) = self.common_denominator(&[a, b]) else {
            // Truth values only, which are integers now.
            return Some(if func == Func::FloatAdd { self.add(a, b) } else { self.mul(a, b) });
        };
        Some(if func == Func::FloatAdd {
            let sum = self.add(scaled[0], scaled[1]);
            self.ratio(sum, &denominator)
        } else {
            let product = self.mul(scaled[0], scaled[1]);
            self.ratio(product, &(&denominator * &denominator))
        })
    }

    /// An operand of a comparison, minimum, maximum or conditional that has doubles among its operands. An
    /// integer stays an integer, because its value counts and not the nearest double.
    pub(super) fn beside_floats(&mut self, e: Expr) -> Expr {
        match self.sort(e) {
            Sort::Bool => self.as_integer(e),
            Sort::Int if self.as_func(e, Func::Ratio).is_some() => self.to_float(e),
            Sort::Int | Sort::Float => e,
        }
    }

    /// The operands of arithmetic, of which at least one has the sort of doubles. They stay what they are if both may
    /// be integers: then Python computes with these. Otherwise, both become doubles.
    fn numbers(&mut self, a: Expr, b: Expr) -> (Expr, Expr) {
        if self.may_count(a) && self.may_count(b) {
            (self.as_integer(a), self.as_integer(b))
        } else {
            (self.to_float(a), self.to_float(b))
        }
    }

    /// The nearest double. Undefined for an integer beyond the greatest one.
    pub fn to_float(&mut self, e: Expr) -> Expr {
        match self.sort(e) {
            Sort::Float if self.may_be_integer(e) => self.fold_call(Func::ToFloat, &[e]),
            Sort::Float => e,
            Sort::Bool => {
                let integer = self.as_integer(e);
                self.to_float(integer)
            }
            Sort::Int => match self.as_func(e, Func::Ratio) {
                Some(&[a, d]) => self.true_div(a, d),
                _ => self.fold_call(Func::ToFloat, &[e]),
            },
        }
    }

    /// `a / b` as a double: correctly rounded for integers. Undefined where `b` is 0.
    pub fn true_div(&mut self, a: Expr, b: Expr) -> Expr {
        if self.sort(a) == Sort::Float || self.sort(b) == Sort::Float {
            let both_may_count = self.may_count(a) && self.may_count(b);
            let (a, b) = self.numbers(a, b);
            return self
                .fold_call(if both_may_count { Func::IntTrueDiv } else { Func::FloatTrueDiv }, &[a, b]);
        }
        let (a, b) = (self.as_integer(a), self.as_integer(b));
        let operands = match self.common_denominator(&[a, b]) {
            Some((scaled, _)) => [scaled[0], scaled[1]],
            None => [a, b],
        };
        self.fold_call(Func::IntTrueDiv, &operands)
    }

    /// Rounding of a number to an integer by [`Func::Trunc`], [`Func::Floor`], [`Func::Ceil`] or [`Func::Round`]. An
    /// integer stays what it is; an exact ratio becomes a floor division.
    pub fn float_to_int(&mut self, func: Func, a: Expr) -> Expr {
        if self.sort(a) != Sort::Float {
            let a = self.as_integer(a);
            return match self.as_func(a, Func::Ratio) {
                Some(&[numerator, d]) => self.round_quotient(func, numerator, d),
                _ => a,
            };
        }
        // Every double that an integer of up to 53 bits converts to is that integer again.
        if let Some(&[inner]) = self.as_func(a, Func::ToFloat)
            && self.as_int(inner).is_some_and(|v| v.bits() <= 53)
        {
            return inner;
        }
        self.fold_call(func, &[a])
    }

    /// The exact quotient of two integers, the second one positive, rounded to an integer by [`Func::Trunc`],
    /// [`Func::Floor`], [`Func::Ceil`] or [`Func::Round`].
    pub fn round_quotient(&mut self, func: Func, numerator: Expr, d: Expr) -> Expr {
        match func {
            Func::Floor => self.floor_div(numerator, d),
            Func::Ceil => self.ceil_div(numerator, d),
            Func::Trunc => {
                let (down, up) = (self.floor_div(numerator, d), self.ceil_div(numerator, d));
                let negative = self.lt(numerator, Expr::ZERO);
                self.ite(negative, up, down)
            }
            _ => {
                // Half to even: floor((2n + d) / 2d), one less when that is a tie and odd.
                let two = Expr::from(2);
                let (twice, double) = (self.mul(two, numerator), self.mul(two, d));
                let shifted = self.add(twice, d);
                let rounded = self.floor_div(shifted, double);
                let remainder = self.modulo(shifted, double);
                let tie = self.eq(remainder, Expr::ZERO);
                let parity = self.modulo(rounded, two);
                let odd = self.eq(parity, Expr::ONE);
                let adjust = self.and(&[tie, odd]);
                let lower = self.sub(rounded, Expr::ONE);
                self.ite(adjust, lower, rounded)
            }
        }
    }

    /// `a ** n`, of which at least one has the sort of doubles.
    pub(super) fn inexact_pow(&mut self, a: Expr, n: Expr) -> Expr {
        let (a, n) = self.numbers(a, n);
        self.fold_call(Func::FloatPow, &[a, n])
    }

    /// Python's `round(a, k)`, which is an integer if `a` is one.
    pub fn round_decimal(&mut self, a: Expr, k: Expr) -> Expr {
        let a = if self.may_count(a) { self.as_integer(a) } else { self.to_float(a) };
        match self.as_int(k) {
            Some(k) if self.sort(a) == Sort::Int && !k.is_negative() => a,
            _ => self.fold_call(Func::RoundDecimal, &[a, k]),
        }
    }

    /// `a ** n` as a double.
    pub fn float_pow(&mut self, a: Expr, n: Expr) -> Expr {
        let (a, n) = (self.to_float(a), self.to_float(n));
        self.fold_call(Func::FloatPow, &[a, n])
    }

    /// A function of one double ([`Func::Sqrt`], [`Func::Cos`], ...).
    pub fn real_function(&mut self, func: Func, a: Expr) -> Expr {
        let a = self.to_float(a);
        self.fold_call(func, &[a])
    }

    /// The integer that a double constant is, exactly.
    pub fn float_as_int(value: f64) -> Option<Int> {
        if !value.is_finite() || value.fract() != 0.0 {
            return None;
        }
        num_traits::FromPrimitive::from_f64(value).map(Int::from_big)
    }
}
