//! Canonical construction of comparisons and boolean connectives.
//!
//! Every integer comparison becomes `p == 0` ([`Func::IsZero`]) or `p <= 0` ([`Func::NotPositive`]) of a
//! polynomial in lowest terms. Negation is pushed inwards. So a condition, its mirror image and its double
//! negation have the same handle.
use super::divisor::Divisor;
use super::int::Int;
use super::node::{Func, Sort};
use super::poly::Poly;
use super::pool::{Expr, Pool};
use num_rational::BigRational;
use rustc_hash::FxHashMap;

impl Pool {
    /// `a == b`.
    pub fn eq(&mut self, a: Expr, b: Expr) -> Expr {
        if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
            return self.bool(x == y);
        }
        match (self.sort(a), self.sort(b)) {
            (Sort::Bool, Sort::Bool) => {
                let (not_a, not_b) = (self.not(a), self.not(b));
                let (both, neither) = (self.and(&[a, b]), self.and(&[not_a, not_b]));
                return self.or(&[both, neither]);
            }
            (Sort::Float, _) | (_, Sort::Float) => {
                return match self.exact_operands(a, b) {
                    Some((x, y)) => self.eq(x, y),
                    None => self.compare_floats(Func::FloatEq, a, b),
                };
            }
            _ => {}
        }
        let poly = self.scaled_difference(a, b);
        let content = poly.content();
        if content.is_zero() {
            return self.bool(poly.constant.is_zero());
        }
        // No combination of multiples of the content reaches a constant that is none.
        if !poly.constant.is_multiple_of(&content) {
            return self.bool(false);
        }
        let lead_negative = poly.terms.first().is_some_and(|(_, c)| c.is_negative());
        let divisor = if lead_negative { -content } else { content };
        let reduced = if divisor.is_one() { poly } else { poly.exact_quotient(&divisor).unwrap_or(poly) };
        let reduced = self.from_poly(&reduced);
        self.intern_call(Func::IsZero, &[reduced])
    }

    /// `a != b`.
    pub fn ne(&mut self, a: Expr, b: Expr) -> Expr {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    /// `a <= b`.
    pub fn le(&mut self, a: Expr, b: Expr) -> Expr {
        if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
            return self.bool(x <= y);
        }
        if self.sort(a) == Sort::Float || self.sort(b) == Sort::Float {
            return match self.exact_operands(a, b) {
                Some((x, y)) => self.le(x, y),
                None => self.compare_floats(Func::FloatLe, a, b),
            };
        }
        let difference = self.scaled_difference(a, b);
        self.not_positive(difference)
    }

    /// `a < b`.
    pub fn lt(&mut self, a: Expr, b: Expr) -> Expr {
        if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
            return self.bool(x < y);
        }
        if self.sort(a) == Sort::Float || self.sort(b) == Sort::Float {
            return match self.exact_operands(a, b) {
                Some((x, y)) => self.lt(x, y),
                None => self.compare_floats(Func::FloatLt, a, b),
            };
        }
        let mut next = self.scaled_difference(a, b);
        next.constant = &next.constant + &Int::ONE;
        self.not_positive(next)
    }

    /// `a >= b`.
    pub fn ge(&mut self, a: Expr, b: Expr) -> Expr {
        self.le(b, a)
    }

    /// `a > b`.
    pub fn gt(&mut self, a: Expr, b: Expr) -> Expr {
        self.lt(b, a)
    }

    /// A positive integer multiple of `a - b`: ratios are cleared of their denominators.
    fn scaled_difference(&mut self, a: Expr, b: Expr) -> Poly {
        let (a, b) = (self.as_integer(a), self.as_integer(b));
        if !self.is_inexact(a) && !self.is_inexact(b) {
            return self.difference(a, b);
        }
        let difference = self.sub(a, b);
        match self.common_denominator(&[difference]) {
            Some((scaled, _)) => self.poly(scaled[0]),
            None => self.poly(difference),
        }
    }

    /// `p <= 0` of an integer polynomial.
    fn not_positive(&mut self, mut poly: Poly) -> Expr {
        let content = poly.content();
        let Some(divisor) = Divisor::of(&content) else {
            return self.bool(!poly.constant.is_positive());
        };
        // g*q + c <= 0 is q <= floor(-c/g).
        if !content.is_one() {
            poly.constant = divisor.ceiling_of(&poly.constant);
            for (_, c) in &mut poly.terms {
                *c = divisor.quotient_of(c);
            }
        }
        let reduced = self.from_poly(&poly);
        self.intern_call(Func::NotPositive, &[reduced])
    }

    /// Exact operands that compare as an integer and a double constant do in Python, which compares them
    /// exactly. The constant becomes a ratio; if it is infinite, the operands are just signs.
    fn exact_operands(&mut self, a: Expr, b: Expr) -> Option<(Expr, Expr)> {
        let exact = |pool: &mut Pool, float: Expr, other: Expr| {
            let value = pool.as_float(float).filter(|v| !v.is_nan() && pool.sort(other) != Sort::Float)?;
            if value.is_infinite() {
                return Some((Expr::from(if value > 0.0 { 1 } else { -1 }), Expr::ZERO));
            }
            let (numerator, denominator) = BigRational::from_float(value)?.into_raw();
            let numerator = pool.int(Int::from_big(numerator));
            Some((pool.ratio(numerator, &Int::from_big(denominator)), other))
        };
        match exact(self, a, b) {
            Some(operands) => Some(operands),
            None => exact(self, b, a).map(|(x, y)| (y, x)),
        }
    }

    fn compare_floats(&mut self, func: Func, a: Expr, b: Expr) -> Expr {
        let (a, b) = (self.beside_floats(a), self.beside_floats(b));
        let (a, b) = if func == Func::FloatEq { (a.min(b), a.max(b)) } else { (a, b) };
        self.fold_call(func, &[a, b])
    }

    /// `not a`; an integer counts as `a != 0`.
    pub fn not(&mut self, a: Expr) -> Expr {
        let a = self.truth(a);
        if let Some(b) = self.as_bool(a) {
            return self.bool(!b);
        }
        if !matches!(self.as_call(a), Some((Func::And | Func::Or, _))) {
            return self.not_literal(a);
        }
        // Bottom up over the connectives, each once: shared conditions may nest deeply.
        let mut negated: FxHashMap<Expr, Expr> = FxHashMap::default();
        let mut pending = vec![(a, false)];
        while let Some((e, operands_done)) = pending.pop() {
            if negated.contains_key(&e) {
                continue;
            }
            match self.as_call(e) {
                Some((func @ (Func::And | Func::Or), args)) => {
                    if operands_done {
                        let args: Vec<Expr> = args.iter().filter_map(|e| negated.get(e).copied()).collect();
                        let complement = if func == Func::And { self.or(&args) } else { self.and(&args) };
                        negated.insert(e, complement);
                    } else {
                        pending.push((e, true));
                        pending.extend(args.iter().map(|&e| (e, false)));
                    }
                }
                _ => {
                    let complement = self.not_literal(e);
                    negated.insert(e, complement);
                }
            }
        }
        negated.get(&a).copied().unwrap_or(a)
    }

    /// `not a` of a truth value that is no connective.
    fn not_literal(&mut self, a: Expr) -> Expr {
        match self.as_call(a) {
            Some((Func::Not, args)) => args[0],
            Some((Func::NotPositive, args)) => {
                // not p <= 0 is 1 - p <= 0.
                let complement = self.difference(Expr::ONE, args[0]);
                self.not_positive(complement)
            }
            _ => self.intern_call(Func::Not, &[a]),
        }
    }

    /// `e` as a truth value: an integer or double is true unless it is 0.
    pub fn truth(&mut self, e: Expr) -> Expr {
        match self.sort(e) {
            Sort::Bool => e,
            Sort::Int => self.ne(e, Expr::ZERO),
            Sort::Float => {
                let zero = self.float(0.0);
                self.ne(e, zero)
            }
        }
    }

    /// All of the operands; of none, `True`.
    pub fn and(&mut self, operands: &[Expr]) -> Expr {
        self.connective(Func::And, operands)
    }

    /// Any of the operands; of none, `False`.
    pub fn or(&mut self, operands: &[Expr]) -> Expr {
        self.connective(Func::Or, operands)
    }

    /// `a` implies `b`.
    pub fn implies(&mut self, a: Expr, b: Expr) -> Expr {
        let not_a = self.not(a);
        self.or(&[not_a, b])
    }

    fn connective(&mut self, func: Func, operands: &[Expr]) -> Expr {
        let absorbing = self.bool(func == Func::Or);
        let neutral = self.bool(func == Func::And);
        let mut flat: Vec<Expr> = Vec::with_capacity(operands.len());
        for &e in operands {
            let e = self.truth(e);
            match self.as_func(e, func) {
                Some(inner) => flat.extend_from_slice(inner),
                None => flat.push(e),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        flat.retain(|&e| e != neutral);
        if flat.contains(&absorbing) {
            return absorbing;
        }
        for &e in &flat {
            // A nested connective's complement would be taken apart again; literals are what meets in practice.
            if !matches!(self.as_call(e), Some((Func::And | Func::Or, _))) {
                let complement = self.not(e);
                if flat.binary_search(&complement).is_ok() {
                    return absorbing;
                }
            }
        }
        match flat.as_slice() {
            [] => neutral,
            [only] => *only,
            _ => self.intern_call(func, &flat),
        }
    }
}
