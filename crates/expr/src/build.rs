//! Canonical construction of minima, maxima, powers, conditionals, bitwise operations and the dense indicator.
use super::eval;
use super::int::Int;
use super::node::{Func, Node, Sort};
use super::pool::{Expr, Pool};
use rustc_hash::FxHashSet;

/// Constant powers above this many bits stay unevaluated.
const MAX_POWER_BITS: u64 = 1 << 14;
/// Sums are multiplied out up to this power.
const MAX_SUM_POWER: u32 = 64;
/// Powers of a higher degree than this stay calls.
const MAX_DEGREE: u64 = 1 << 16;
/// Minima of up to this many operands are compared in pairs for constant differences.
const MAX_PAIRWISE: usize = 16;

impl Pool {
    /// `min(a, b)`.
    pub fn min(&mut self, a: Expr, b: Expr) -> Expr {
        self.extremum(Func::Min, &[a, b])
    }

    /// `max(a, b)`.
    pub fn max(&mut self, a: Expr, b: Expr) -> Expr {
        self.extremum(Func::Max, &[a, b])
    }

    /// The minimum ([`Func::Min`]) or maximum ([`Func::Max`]) of one or more operands. Nested calls are
    /// flattened, operands are sorted, and an operand that differs from another one by a constant is dropped
    /// if it cannot be the result.
    pub fn extremum(&mut self, func: Func, operands: &[Expr]) -> Expr {
        if let Some((scaled, denominator)) = self.common_denominator(operands) {
            let least = self.extremum(func, &scaled);
            return self.ratio(least, &denominator);
        }
        if operands.iter().any(|&e| self.sort(e) == Sort::Float) {
            let mut operands: Vec<Expr> = operands.iter().map(|&e| self.beside_floats(e)).collect();
            if !operands.iter().any(|&e| self.may_count(e)) {
                operands.sort_unstable();
            }
            // The first of equal numbers is taken, which matters if one is an integer and the other one a double.
            let mut seen = FxHashSet::default();
            operands.retain(|&e| seen.insert(e));
            return match operands.as_slice() {
                [only] => *only,
                operands => self.fold_call(func, operands),
            };
        }
        let mut flat: Vec<Expr> = Vec::with_capacity(operands.len());
        for &e in operands {
            let e = self.as_integer(e);
            match self.as_func(e, func) {
                Some(inner) => flat.extend_from_slice(inner),
                None => flat.push(e),
            }
        }
        flat.sort_unstable();
        flat.dedup();
        let mut kept: Vec<Expr> = Vec::with_capacity(flat.len());
        'next: for e in flat {
            if kept.len() < MAX_PAIRWISE || self.is_constant(e) {
                let mut i = 0;
                while i < kept.len() {
                    match self.constant_difference(e, kept[i]) {
                        Some(d) if d.is_negative() == (func == Func::Max) => continue 'next,
                        Some(_) => {
                            kept.swap_remove(i);
                        }
                        None => i += 1,
                    }
                }
            }
            kept.push(e);
        }
        kept.sort_unstable();
        match kept.as_slice() {
            [only] => *only,
            _ => self.intern_call(func, &kept),
        }
    }

    /// `a - b` when that is a constant.
    pub fn constant_difference(&self, a: Expr, b: Expr) -> Option<Int> {
        if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
            return Some(Int::from(x - y));
        }
        let (p, q) = (self.poly(a), self.poly(b));
        (p.terms == q.terms).then(|| &p.constant - &q.constant)
    }

    /// `|a|`.
    pub fn abs(&mut self, a: Expr) -> Expr {
        if let Some(v) = self.as_int(a) {
            return self.int(v.abs());
        }
        if let Some((scaled, denominator)) = self.common_denominator(&[a]) {
            let magnitude = self.abs(scaled[0]);
            return self.ratio(magnitude, &denominator);
        }
        match self.sort(a) {
            Sort::Float => self.fold_call(Func::Abs, &[a]),
            Sort::Bool => self.as_integer(a),
            Sort::Int => {
                let poly = self.poly(a);
                // |-a| is |a|: keep the form whose first coefficient is positive.
                let a =
                    if poly.terms.first().is_some_and(|(_, c)| c.is_negative()) { self.neg(a) } else { a };
                match self.as_func(a, Func::Abs) {
                    Some(_) => a,
                    None => self.intern_call(Func::Abs, &[a]),
                }
            }
        }
    }

    /// `a ** n` of integers; undefined where `n` is negative.
    pub fn pow(&mut self, a: Expr, n: Expr) -> Expr {
        if self.sort(a) == Sort::Float || self.sort(n) == Sort::Float {
            return self.inexact_pow(a, n);
        }
        if self.is_inexact(n) {
            return self.float_pow(a, n);
        }
        let (a, n) = (self.as_integer(a), self.as_integer(n));
        if let Some((scaled, denominator)) = self.common_denominator(&[a])
            && let Some(k) = n.as_inline().and_then(|k| u32::try_from(k).ok())
            && let Some(denominator) = denominator.pow(k, MAX_POWER_BITS)
        {
            let numerator = self.pow_literal(scaled[0], k);
            return self.ratio(numerator, &denominator);
        }
        match (self.as_int(a), n.as_inline().and_then(|k| u32::try_from(k).ok())) {
            (_, Some(0)) => Expr::ONE,
            (Some(base), Some(k)) => match base.pow(k, MAX_POWER_BITS) {
                Some(power) => self.int(power),
                None => self.intern_call(Func::Pow, &[a, n]),
            },
            (None, Some(k)) if self.can_multiply_out(a, k) => self.pow_literal(a, k),
            _ => self.intern_call(Func::Pow, &[a, n]),
        }
    }

    /// Whether `a ** k` is to be a polynomial: sums up to a modest power, and no power so high that degrees or
    /// coefficients get out of hand.
    fn can_multiply_out(&self, a: Expr, k: u32) -> bool {
        let poly = self.poly(a);
        let single = poly.terms.len() == 1 && poly.constant.is_zero();
        let degree = |m: Expr| self.monomial(m).iter().map(|(_, power)| u64::from(*power)).sum::<u64>();
        let degree = poly.terms.iter().map(|(m, _)| degree(*m)).max().unwrap_or(0);
        let bits = poly.terms.iter().map(|(_, c)| c.bits()).max().unwrap_or(0).max(poly.constant.bits());
        (single || k <= MAX_SUM_POWER)
            && degree.saturating_mul(u64::from(k)) <= MAX_DEGREE
            && bits.saturating_mul(u64::from(k)) <= MAX_POWER_BITS
    }

    /// `p if c else q`.
    pub fn ite(&mut self, c: Expr, p: Expr, q: Expr) -> Expr {
        match self.as_bool(c) {
            Some(true) => return p,
            Some(false) => return q,
            None if p == q => return p,
            None => {}
        }
        let sorts = (self.sort(p), self.sort(q));
        if sorts == (Sort::Bool, Sort::Bool) {
            let not_c = self.not(c);
            let (then, otherwise) = (self.and(&[c, p]), self.and(&[not_c, q]));
            return self.or(&[then, otherwise]);
        }
        if sorts.0 == Sort::Float || sorts.1 == Sort::Float {
            let (p, q) = (self.beside_floats(p), self.beside_floats(q));
            return self.intern_call(Func::Ite, &[c, p, q]);
        }
        if let Some((scaled, denominator)) = self.common_denominator(&[p, q]) {
            let chosen = self.ite(c, scaled[0], scaled[1]);
            return self.ratio(chosen, &denominator);
        }
        let (p, q) = (self.as_integer(p), self.as_integer(q));
        // One of the two forms of a condition is kept: the one that is no negation.
        if let Some(&[inner]) = self.as_func(c, Func::Not) {
            return self.intern_call(Func::Ite, &[inner, q, p]);
        }
        self.intern_call(Func::Ite, &[c, p, q])
    }

    /// Bitwise and, or and exclusive or ([`Func::BitAnd`], [`Func::BitOr`], [`Func::BitXor`]) of integers. Of
    /// two truth values, it is the logical operation.
    pub fn bitwise(&mut self, func: Func, a: Expr, b: Expr) -> Expr {
        if self.sort(a) == Sort::Bool && self.sort(b) == Sort::Bool {
            return match func {
                Func::BitAnd => self.and(&[a, b]),
                Func::BitOr => self.or(&[a, b]),
                _ => {
                    let equal = self.eq(a, b);
                    self.not(equal)
                }
            };
        }
        let (a, b) = (self.as_integer(a), self.as_integer(b));
        let (a, b) = if b < a { (b, a) } else { (a, b) };
        match (func, a == b) {
            (Func::BitAnd | Func::BitOr, true) => a,
            (Func::BitXor, true) => Expr::ZERO,
            _ => self.fold_call(func, &[a, b]),
        }
    }

    /// Whether strides lay out sizes densely: 1 or 0. The operands are the sizes followed by as many strides.
    pub fn dense_indicator(&mut self, operands: &[Expr]) -> Expr {
        self.fold_call(Func::DenseIndicator, operands)
    }

    /// `e` as an integer: a truth value becomes 0 or 1.
    pub fn as_integer(&mut self, e: Expr) -> Expr {
        match (self.sort(e), self.as_bool(e)) {
            (Sort::Bool, Some(b)) => Expr::from(i32::from(b)),
            (Sort::Bool, None) => self.ite(e, Expr::ONE, Expr::ZERO),
            _ => e,
        }
    }

    /// A call, evaluated when all operands are constants and the value is defined.
    pub(super) fn fold_call(&mut self, func: Func, args: &[Expr]) -> Expr {
        if args.iter().all(|&a| self.is_constant(a)) {
            let values: Vec<eval::Value> = args.iter().filter_map(|&a| self.constant_value(a)).collect();
            if let Ok(value) = eval::call(func, &values) {
                return self.value_expr(value);
            }
        }
        self.intern_call(func, args)
    }

    /// The value of a constant.
    pub fn constant_value(&self, e: Expr) -> Option<eval::Value> {
        if let Some(v) = e.as_inline() {
            return Some(eval::Value::Int(Int::from(v)));
        }
        match self.node(e)? {
            Node::Int(v) => Some(eval::Value::Int(v.clone())),
            Node::Float(v) => Some(eval::Value::Float(v.0)),
            Node::Bool(v) => Some(eval::Value::Bool(*v)),
            _ => None,
        }
    }

    /// The constant of a value.
    pub fn value_expr(&mut self, value: eval::Value) -> Expr {
        match value {
            eval::Value::Int(v) => self.int(v),
            eval::Value::Float(v) => self.float(v),
            eval::Value::Bool(v) => self.bool(v),
            eval::Value::Ratio(v) => {
                let (numerator, denominator) = v.into_raw();
                let numerator = self.int(Int::from_big(numerator));
                self.ratio(numerator, &Int::from_big(denominator))
            }
        }
    }

    /// Builds the canonical call of `func` from operands of the right sorts. Substitution and the e-graph's
    /// extraction use this to turn a node back into an expression.
    pub fn call(&mut self, func: Func, args: &[Expr]) -> Expr {
        match (func, args) {
            (Func::FloorDiv, &[a, b]) => self.floor_div(a, b),
            (Func::Mod, &[a, b]) => self.modulo(a, b),
            (Func::Ratio, &[a, d]) => match self.as_int(d) {
                Some(d) if !d.is_zero() => self.ratio(a, &d),
                _ => self.intern_call(func, args),
            },
            (Func::Min | Func::Max, _) => self.extremum(func, args),
            (Func::Abs, &[a]) => self.abs(a),
            (Func::Pow, &[a, n]) => self.pow(a, n),
            (Func::Ite, &[c, p, q]) => self.ite(c, p, q),
            (Func::BitAnd | Func::BitOr | Func::BitXor, &[a, b]) => self.bitwise(func, a, b),
            (Func::IsZero, &[p]) => self.eq(p, Expr::ZERO),
            (Func::NotPositive, &[p]) => self.le(p, Expr::ZERO),
            (Func::FloatEq, &[a, b]) => self.eq(a, b),
            (Func::FloatLt, &[a, b]) => self.lt(a, b),
            (Func::FloatLe, &[a, b]) => self.le(a, b),
            (Func::Not, &[a]) => self.not(a),
            (Func::And, _) => self.and(args),
            (Func::Or, _) => self.or(args),
            (Func::ToFloat, &[a]) => self.to_float(a),
            (Func::IntTrueDiv, &[a, b]) => self.true_div(a, b),
            (Func::Trunc | Func::Floor | Func::Ceil | Func::Round, &[a]) => self.float_to_int(func, a),
            (Func::FloatAdd, &[a, b]) => self.add(a, b),
            (Func::FloatMul, &[a, b]) => self.mul(a, b),
            (Func::FloatPow, &[a, n]) => self.pow(a, n),
            (Func::RoundDecimal, &[a, k]) => self.round_decimal(a, k),
            _ => self.fold_call(func, args),
        }
    }
}
