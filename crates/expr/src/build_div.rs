//! Canonical construction of floor division, modulo and exact ratios.
use super::divisor::Divisor;
use super::int::Int;
use super::node::{Func, Sort};
use super::poly::Poly;
use super::pool::{Expr, Pool};
use std::cmp::Ordering;

/// Polynomials of more terms than this are not tried as exact divisors.
const MAX_DIVISION_TERMS: usize = 40;
/// The most steps of one polynomial division.
const MAX_DIVISION_STEPS: usize = 60;

impl Pool {
    /// `a // b`, rounded towards minus infinity; undefined where `b` is 0.
    ///
    /// Whole multiples of the divisor are split off, common factors cancelled, and a division by a positive constant
    /// is merged with the one below it (`(x//2 + 1)//3 == (x + 2)//6`). Cancelling assumes nonzero divisors: whoever
    /// reads expressions from text must remember their divisors.
    pub fn floor_div(&mut self, a: Expr, b: Expr) -> Expr {
        if self.sort(a) == Sort::Float || self.sort(b) == Sort::Float {
            let quotient = self.true_div(a, b);
            let floor = self.float_to_int(Func::Floor, quotient);
            return self.to_float(floor);
        }
        let (a, b) = (self.as_integer(a), self.as_integer(b));
        if let Some((scaled, _)) = self.common_denominator(&[a, b]) {
            return self.floor_div(scaled[0], scaled[1]);
        }
        match (self.as_int(a), self.as_int(b)) {
            (Some(n), Some(d)) => {
                return match n.floor_div(&d) {
                    Some(quotient) => self.int(quotient),
                    None => self.intern_call(Func::FloorDiv, &[a, b]),
                };
            }
            (_, Some(d)) if d.is_zero() => return self.intern_call(Func::FloorDiv, &[a, b]),
            (Some(n), None) if n.is_zero() => return Expr::ZERO,
            (None, Some(d)) => {
                // x // -d is -x // d.
                let poly = if d.is_negative() { self.poly(a).scaled(&Int::from(-1)) } else { self.poly(a) };
                return self.floor_div_constant(poly, d.abs());
            }
            _ => {}
        }
        let (quotient, rest) = self.split_multiples(&self.poly(a), &self.poly(b));
        let divided = self.reduced_quotient(&rest, &self.poly(b));
        self.add(quotient, divided)
    }

    /// `poly // d` for a constant `d > 0`.
    fn floor_div_constant(&mut self, poly: Poly, d: Int) -> Expr {
        let mut d = d;
        let mut poly = poly;
        let mut quotient = Poly::default();
        loop {
            if d.is_one() {
                let total = quotient.add_scaled(&poly, &Int::ONE);
                return self.from_poly(&total);
            }
            let Some(divisor) = Divisor::of(&d) else {
                let (numerator, zero) = (self.from_poly(&poly), Expr::ZERO);
                return self.intern_call(Func::FloorDiv, &[numerator, zero]);
            };
            let mut rest = Poly::constant(divisor.remainder_of(&poly.constant));
            let mut whole = Poly::constant(divisor.quotient_of(&poly.constant));
            for (monomial, c) in &poly.terms {
                match divisor.exact_quotient_of(c) {
                    Some(c) => whole.terms.push((*monomial, c)),
                    None => rest.terms.push((*monomial, c.clone())),
                }
            }
            quotient = quotient.add_scaled(&whole, &Int::ONE);
            if rest.terms.is_empty() {
                return self.from_poly(&quotient);
            }
            // (g*x + c) // (g*d) is (x + c//g) // d.
            let g = rest.content().gcd(&d);
            if let Some(common) = Divisor::of(&g).filter(|_| !g.is_one()) {
                rest.constant = common.quotient_of(&rest.constant);
                for (_, c) in &mut rest.terms {
                    *c = common.quotient_of(c);
                }
                d = common.quotient_of(&d);
                poly = rest;
                continue;
            }
            // (x//m + c) // d is (x + c*m) // (m*d) for positive d.
            if let [(inner, one)] = rest.terms.as_slice()
                && one.is_one()
                && let Some(&[x, m]) = self.as_func(*inner, Func::FloorDiv)
                && let Some(m) = self.as_int(m)
                && m.is_positive()
            {
                poly = self.poly(x).add_scaled(&Poly::constant(&rest.constant * &m), &Int::ONE);
                d = &d * &m;
                continue;
            }
            let (numerator, divisor) = (self.from_poly(&rest), self.int(d));
            let divided = self.intern_call(Func::FloorDiv, &[numerator, divisor]);
            let total = quotient.add_scaled(&self.poly(divided), &Int::ONE);
            return self.from_poly(&total);
        }
    }

    /// `(q, r)` with `a == q*b + r`, as many terms of `a` as possible in `q`.
    fn split_multiples(&mut self, a: &Poly, b: &Poly) -> (Expr, Poly) {
        if let [(divisor, factor)] = b.terms.as_slice()
            && b.constant.is_zero()
        {
            let (divisor, factor) = (self.monomial(*divisor), factor.clone());
            let mut quotient = Expr::ZERO;
            let mut rest = Poly::constant(a.constant.clone());
            for (monomial, c) in &a.terms {
                let left = divide_monomial(&self.monomial(*monomial), &divisor);
                let scale = Divisor::of(&factor).and_then(|factor| factor.exact_quotient_of(c));
                match left.zip(scale) {
                    Some((left, scale)) => {
                        let (left, scale) = (self.from_monomial(&left), self.int(scale));
                        let term = self.mul(scale, left);
                        quotient = self.add(quotient, term);
                    }
                    None => rest.terms.push((*monomial, c.clone())),
                }
            }
            return (quotient, rest);
        }
        match self.exact_division(a, b) {
            Some(quotient) => (self.from_poly(&quotient), Poly::default()),
            None => (Expr::ZERO, a.clone()),
        }
    }

    /// `a // b` for the rest after splitting: common constant and monomial factors are cancelled.
    fn reduced_quotient(&mut self, a: &Poly, b: &Poly) -> Expr {
        if a.is_zero() {
            return Expr::ZERO;
        }
        let (a, b) = self.cancel_common(a, b);
        if let Some(d) = b.as_constant() {
            let (a, d) = if d.is_negative() { (a.scaled(&Int::from(-1)), d.abs()) } else { (a, d.clone()) };
            return self.floor_div_constant(a, d);
        }
        // Of a/b and -a/-b, keep the one whose divisor begins with a positive coefficient.
        let negative = b.terms.first().is_some_and(|(_, c)| c.is_negative());
        let sign = Int::from(if negative { -1 } else { 1 });
        let (numerator, divisor) = (self.from_poly(&a.scaled(&sign)), self.from_poly(&b.scaled(&sign)));
        if self.is_constant(numerator) && self.is_constant(divisor) {
            return self.floor_div(numerator, divisor);
        }
        self.intern_call(Func::FloorDiv, &[numerator, divisor])
    }

    /// Divides both polynomials by their common constant and monomial factor.
    fn cancel_common(&mut self, a: &Poly, b: &Poly) -> (Poly, Poly) {
        let g = a.content().gcd(&a.constant).gcd(&b.content().gcd(&b.constant));
        let (mut a, mut b) = match (a.exact_quotient(&g), b.exact_quotient(&g)) {
            (Some(x), Some(y)) if g.is_positive() => (x, y),
            _ => (a.clone(), b.clone()),
        };
        if a.constant.is_zero() && b.constant.is_zero() {
            let mut common = self.monomial(b.terms.first().map_or(Expr::ONE, |(m, _)| *m));
            for (monomial, _) in a.terms.iter().chain(&b.terms) {
                let factors = self.monomial(*monomial);
                common = common
                    .iter()
                    .filter_map(|&(atom, power)| {
                        let other = factors.iter().find(|(f, _)| *f == atom)?.1;
                        Some((atom, power.min(other)))
                    })
                    .collect();
            }
            common.retain(|(atom, _)| *atom != Expr::ONE);
            if !common.is_empty()
                && let Some(x) = self.divide_by_monomial(&a, &common)
                && let Some(y) = self.divide_by_monomial(&b, &common)
            {
                (a, b) = (x, y);
            }
        }
        (a, b)
    }

    /// `a` divided by a monomial, if every term is a multiple of it.
    fn divide_by_monomial(&mut self, a: &Poly, divisor: &[(Expr, u32)]) -> Option<Poly> {
        let mut constant = a.constant.clone();
        let mut terms = Vec::with_capacity(a.terms.len());
        for (monomial, c) in &a.terms {
            let left = divide_monomial(&self.monomial(*monomial), divisor)?;
            match left.is_empty() {
                true => constant = &constant + c,
                false => terms.push((self.from_monomial(&left), c.clone())),
            }
        }
        Some(super::poly::collect_terms(constant, terms))
    }

    /// `q` with `a == q*b` as polynomials, if there is one.
    pub fn exact_division(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        if a.terms.len() > MAX_DIVISION_TERMS || b.terms.len() > MAX_DIVISION_TERMS {
            return None;
        }
        let (lead_b, c_b) = self.leading_term(b)?;
        let mut rest = a.clone();
        let mut quotient = Poly::default();
        for _ in 0..MAX_DIVISION_STEPS {
            if rest.is_zero() {
                return Some(quotient);
            }
            let (lead, c) = self.leading_term(&rest)?;
            let left = divide_monomial(&lead, &lead_b)?;
            if !c.is_multiple_of(&c_b) {
                return None;
            }
            let left = self.from_monomial(&left);
            let factor = c.floor_div(&c_b)?;
            let term = if left == Expr::ONE {
                Poly::constant(factor)
            } else {
                Poly { constant: Int::ZERO, terms: [(left, factor)].into_iter().collect() }
            };
            let product = self.mul_poly(&term, b);
            rest = rest.add_scaled(&product, &Int::from(-1));
            quotient = quotient.add_scaled(&term, &Int::ONE);
        }
        None
    }

    /// The greatest term in the lexicographic order of powers, newest atom first (an order that products respect).
    fn leading_term(&self, poly: &Poly) -> Option<(super::poly::Monomial, Int)> {
        poly.terms
            .iter()
            .map(|(m, c)| (self.monomial(*m), c.clone()))
            .max_by(|(x, _), (y, _)| compare_monomials(x, y))
            .or_else(|| (!poly.constant.is_zero()).then(|| (Default::default(), poly.constant.clone())))
    }

    /// `a % b`, with the sign of `b`; undefined where `b` is 0.
    pub fn modulo(&mut self, a: Expr, b: Expr) -> Expr {
        if self.sort(a) == Sort::Float || self.sort(b) == Sort::Float {
            // It has no value: doubles have a remainder of their own.
            return self.intern_call(Func::Mod, &[a, b]);
        }
        let (a, b) = (self.as_integer(a), self.as_integer(b));
        if let Some((scaled, denominator)) = self.common_denominator(&[a, b]) {
            let remainder = self.modulo(scaled[0], scaled[1]);
            return self.ratio(remainder, &denominator);
        }
        if let Some(d) = self.as_int(b) {
            let (sign, modulus) = (Int::from(d.signum() as i64), d.abs());
            let Some(modulus) = Divisor::of(&modulus) else { return self.intern_call(Func::Mod, &[a, b]) };
            // x % -d is -(-x % d).
            let remainder = self.modulo_constant(self.poly(a).scaled(&sign), modulus);
            return self.from_poly(&remainder.scaled(&sign));
        }
        let divisor = self.poly(b);
        let (_, rest) = self.split_multiples(&self.poly(a), &divisor);
        if rest.is_zero() {
            return Expr::ZERO;
        }
        let g = rest.content().gcd(&rest.constant).gcd(&divisor.content().gcd(&divisor.constant));
        if !g.is_one()
            && let (Some(x), Some(d)) = (rest.exact_quotient(&g), divisor.exact_quotient(&g))
        {
            let (x, d) = (self.from_poly(&x), self.from_poly(&d));
            let (remainder, g) = (self.modulo(x, d), self.int(g));
            return self.mul(g, remainder);
        }
        let rest = self.from_poly(&rest);
        self.intern_call(Func::Mod, &[rest, b])
    }

    /// `poly % d` for a constant `d > 0`.
    fn modulo_constant(&mut self, poly: Poly, divisor: Divisor<'_>) -> Poly {
        let (two, d) = (Int::from(2), divisor.value());
        let mut rest = Poly::constant(divisor.remainder_of(&poly.constant));
        let mut unwrapped = false;
        for (monomial, c) in &poly.terms {
            // Coefficients are kept in (-d/2, d/2], the form people write.
            let mut c = divisor.remainder_of(c);
            if &c * &two > *d {
                c = &c - d;
            }
            if c.is_zero() {
                continue;
            }
            // k*(x % m) is k*x modulo d when d divides k*m.
            if let Some(&[x, m]) = self.as_func(*monomial, Func::Mod)
                && let Some(m) = self.as_int(m)
                && (&c * &m).is_multiple_of(d)
            {
                rest = rest.add_scaled(&self.poly(x), &c);
                unwrapped = true;
                continue;
            }
            let term = Poly { constant: Int::ZERO, terms: [(*monomial, c)].into_iter().collect() };
            rest = rest.add_scaled(&term, &Int::ONE);
        }
        if unwrapped {
            return self.modulo_constant(rest, divisor);
        }
        if rest.terms.is_empty() {
            return rest;
        }
        let g = rest.content().gcd(&rest.constant).gcd(d);
        if !g.is_one()
            && let (Some(reduced), Some(modulus)) = (rest.exact_quotient(&g), d.floor_div(&g))
            && let Some(modulus) = Divisor::of(&modulus)
        {
            return self.modulo_constant(reduced, modulus).scaled(&g);
        }
        let (rest, d) = (self.from_poly(&rest), self.int(d.clone()));
        let remainder = self.intern_call(Func::Mod, &[rest, d]);
        self.poly(remainder)
    }

    /// `ceil(a / b)`, as `-(-a // b)`.
    pub fn ceil_div(&mut self, a: Expr, b: Expr) -> Expr {
        let negated = self.neg(a);
        let quotient = self.floor_div(negated, b);
        self.neg(quotient)
    }

    /// The exact rational `a / d` for a constant `d` that is not 0.
    pub fn ratio(&mut self, a: Expr, d: &Int) -> Expr {
        let a = self.as_integer(a);
        if let Some((scaled, denominator)) = self.common_denominator(&[a]) {
            return self.ratio(scaled[0], &(d * &denominator));
        }
        let poly = self.poly(a).scaled(&Int::from(d.signum() as i64));
        let g = poly.content().gcd(&poly.constant).gcd(d);
        let d = d.abs();
        match (poly.exact_quotient(&g), d.floor_div(&g)) {
            (Some(numerator), Some(denominator)) => {
                let numerator = self.from_poly(&numerator);
                if denominator.is_one() {
                    return numerator;
                }
                let denominator = self.int(denominator);
                self.intern_call(Func::Ratio, &[numerator, denominator])
            }
            _ => Expr::ZERO,
        }
    }

    /// The operands multiplied by the least common denominator of the ratios among them, and that
    /// denominator. `None` when no operand is a ratio.
    pub(super) fn common_denominator(&mut self, operands: &[Expr]) -> Option<(Vec<Expr>, Int)> {
        let mut denominator = Int::ONE;
        for &e in operands {
            if let Some(&[_, d]) = self.as_func(e, Func::Ratio) {
                denominator = denominator.lcm(&self.as_int(d)?);
            }
        }
        if denominator.is_one() {
            return None;
        }
        let mut scaled = Vec::with_capacity(operands.len());
        for &e in operands {
            let (numerator, d) = match self.as_func(e, Func::Ratio) {
                Some(&[n, d]) => (n, self.as_int(d)?),
                _ => (self.as_integer(e), Int::ONE),
            };
            let factor = self.int(denominator.floor_div(&d)?);
            scaled.push(self.mul(numerator, factor));
        }
        Some((scaled, denominator))
    }
}

/// `a / b` of monomials, if `b` divides `a`.
pub(super) fn divide_monomial(a: &[(Expr, u32)], b: &[(Expr, u32)]) -> Option<super::poly::Monomial> {
    let mut left = super::poly::Monomial::new();
    let mut matched = 0;
    for &(atom, power) in a {
        let taken = b.iter().find(|(f, _)| *f == atom).map_or(0, |(_, p)| *p);
        if taken > 0 {
            matched += 1;
        }
        match power.checked_sub(taken)? {
            0 => {}
            rest => left.push((atom, rest)),
        }
    }
    (matched == b.len()).then_some(left)
}

/// Lexicographic order of the power vectors, newest atom first.
fn compare_monomials(a: &[(Expr, u32)], b: &[(Expr, u32)]) -> Ordering {
    let (mut i, mut j) = (a.len(), b.len());
    while i > 0 && j > 0 {
        let (x, y) = (a[i - 1], b[j - 1]);
        match x.0.cmp(&y.0).then(x.1.cmp(&y.1)) {
            Ordering::Equal => {
                i -= 1;
                j -= 1;
            }
            // The newer atom is missing (power 0) on the other side.
            order => return order,
        }
    }
    i.cmp(&j)
}
