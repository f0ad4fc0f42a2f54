//! Polynomials with integer coefficients over atoms: the working form of integer expressions.
use super::int::Int;
use super::node::{Node, Sort};
use super::pool::{Expr, Pool};
use smallvec::{SmallVec, smallvec};
use std::cmp::Ordering;

/// The most terms a product is multiplied out to; beyond it, the factors stay sums.
const MAX_TERMS: usize = 400;

/// `atom^power · …`, sorted by atom; empty for the monomial 1.
pub type Monomial = SmallVec<[(Expr, u32); 4]>;

/// `constant + Σ coefficient · monomial` with terms sorted by the monomial's handle and nonzero coefficients.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Poly {
    /// The part without a monomial.
    pub constant: Int,
    /// Monomials (atoms or products, as handles) and their coefficients.
    pub terms: SmallVec<[(Expr, Int); 4]>,
}

impl Default for Int {
    fn default() -> Int {
        Int::ZERO
    }
}

impl Poly {
    /// A constant polynomial.
    pub fn constant(value: Int) -> Poly {
        Poly { constant: value, terms: SmallVec::new() }
    }

    /// The value of a constant polynomial.
    pub fn as_constant(&self) -> Option<&Int> {
        self.terms.is_empty().then_some(&self.constant)
    }

    /// Whether the polynomial is 0.
    pub fn is_zero(&self) -> bool {
        self.terms.is_empty() && self.constant.is_zero()
    }

    /// `self + factor · other`.
    pub fn add_scaled(&self, other: &Poly, factor: &Int) -> Poly {
        let mut sum = Poly::constant(&self.constant + &(&other.constant * factor));
        let (mut left, mut right) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let (term, coefficient) = match (left.peek(), right.peek()) {
                (None, None) => return sum,
                (Some(l), None) => (l.0, left.next().map(|l| l.1.clone())),
                (None, Some(r)) => (r.0, right.next().map(|r| &r.1 * factor)),
                (Some(l), Some(r)) => match l.0.cmp(&r.0) {
                    Ordering::Less => (l.0, left.next().map(|l| l.1.clone())),
                    Ordering::Greater => (r.0, right.next().map(|r| &r.1 * factor)),
                    Ordering::Equal => {
                        (l.0, left.next().zip(right.next()).map(|(l, r)| &l.1 + &(&r.1 * factor)))
                    }
                },
            };
            sum.terms.extend(coefficient.filter(|c| !c.is_zero()).map(|c| (term, c)));
        }
    }

    /// `factor · self`.
    pub fn scaled(&self, factor: &Int) -> Poly {
        Poly::default().add_scaled(self, factor)
    }

    /// The greatest common divisor of the coefficients of the terms, 0 for a constant polynomial.
    pub fn content(&self) -> Int {
        self.terms.iter().fold(Int::ZERO, |gcd, (_, c)| if gcd.is_one() { gcd } else { gcd.gcd(c) })
    }

    /// Divides each coefficient and the constant; `None` if one is no multiple of `divisor`.
    pub fn exact_quotient(&self, divisor: &Int) -> Option<Poly> {
        let divide = |c: &Int| if c.is_multiple_of(divisor) { c.floor_div(divisor) } else { None };
        let mut quotient = Poly::constant(divide(&self.constant)?);
        for (monomial, coefficient) in &self.terms {
            quotient.terms.push((*monomial, divide(coefficient)?));
        }
        Some(quotient)
    }
}

impl Pool {
    /// The polynomial that an integer expression is.
    pub fn poly(&self, e: Expr) -> Poly {
        if let Some(value) = self.as_int(e) {
            return Poly::constant(value);
        }
        match self.node(e) {
            Some(Node::Sum { constant, terms }) => {
                self.charge(terms.len());
                Poly { constant: constant.clone(), terms: terms.iter().cloned().collect() }
            }
            _ => Poly { constant: Int::ZERO, terms: smallvec![(e, Int::ONE)] },
        }
    }

    /// The expression of a polynomial.
    pub fn from_poly(&mut self, poly: &Poly) -> Expr {
        match poly.terms.as_slice() {
            [] => self.int(poly.constant.clone()),
            [(monomial, coefficient)] if coefficient.is_one() && poly.constant.is_zero() => *monomial,
            terms => {
                let node = Node::Sum { constant: poly.constant.clone(), terms: terms.into() };
                self.intern(node)
            }
        }
    }

    /// The factors of a monomial's handle.
    pub fn monomial(&self, e: Expr) -> Monomial {
        match self.node(e) {
            Some(Node::Product(factors)) => factors.iter().copied().collect(),
            _ => smallvec![(e, 1)],
        }
    }

    /// The handle of a monomial; the empty one is 1.
    pub fn from_monomial(&mut self, factors: &[(Expr, u32)]) -> Expr {
        match factors {
            [] => Expr::ONE,
            [(atom, 1)] => *atom,
            _ => self.intern(Node::Product(factors.into())),
        }
    }

    /// `a + b`.
    pub fn add(&mut self, a: Expr, b: Expr) -> Expr {
        if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
            return self.int(x + y);
        }
        if let Some(sum) = self.inexact_add(a, b) {
            return sum;
        }
        let sum = self.poly(a).add_scaled(&self.poly(b), &Int::ONE);
        self.from_poly(&sum)
    }

    /// `a - b`.
    pub fn sub(&mut self, a: Expr, b: Expr) -> Expr {
        if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
            return self.int(x - y);
        }
        if a == b && self.sort(a) == Sort::Int {
            return Expr::ZERO;
        }
        if self.is_inexact(a) || self.is_inexact(b) {
            let negated = self.neg(b);
            return self.add(a, negated);
        }
        let difference = self.poly(a).add_scaled(&self.poly(b), &Int::from(-1));
        self.from_poly(&difference)
    }

    /// `-a`.
    pub fn neg(&mut self, a: Expr) -> Expr {
        self.mul(Expr::from(-1), a)
    }

    /// `a * b`, multiplied out.
    pub fn mul(&mut self, a: Expr, b: Expr) -> Expr {
        if let (Some(x), Some(y)) = (a.as_inline(), b.as_inline()) {
            return self.int(Int::from(i128::from(x) * i128::from(y)));
        }
        if let Some(product) = self.inexact_mul(a, b) {
            return product;
        }
        let product = self.mul_poly(&self.poly(a), &self.poly(b));
        self.from_poly(&product)
    }

    /// The product of two polynomials, multiplied out unless that would be too large.
    pub fn mul_poly(&mut self, a: &Poly, b: &Poly) -> Poly {
        if let Some(factor) = a.as_constant() {
            return b.scaled(factor);
        }
        if let Some(factor) = b.as_constant() {
            return a.scaled(factor);
        }
        if a.terms.len().saturating_mul(b.terms.len()) > MAX_TERMS {
            let (x, y) = (self.from_poly(a), self.from_poly(b));
            let factors = merge_monomials(&self.monomial(x), &self.monomial(y));
            return Poly { constant: Int::ZERO, terms: smallvec![(self.from_monomial(&factors), Int::ONE)] };
        }
        let mut terms: Vec<(Expr, Int)> = Vec::with_capacity((a.terms.len() + 1) * (b.terms.len() + 1));
        for (x, p) in &a.terms {
            let factors = self.monomial(*x);
            for (y, q) in &b.terms {
                let product = merge_monomials(&factors, &self.monomial(*y));
                terms.push((self.from_monomial(&product), p * q));
            }
            terms.push((*x, p * &b.constant));
        }
        terms.extend(b.terms.iter().map(|(y, q)| (*y, q * &a.constant)));
        collect_terms(&a.constant * &b.constant, terms)
    }

    /// `a ** n` by repeated multiplication.
    pub fn pow_literal(&mut self, a: Expr, n: u32) -> Expr {
        let (mut result, mut base, mut n) = (Expr::ONE, a, n);
        loop {
            if n & 1 == 1 {
                result = self.mul(result, base);
            }
            n >>= 1;
            if n == 0 {
                return result;
            }
            base = self.mul(base, base);
        }
    }

    /// `constant + Σ coefficient · expression`, the expressions being integers.
    pub(super) fn combination<'a>(
        &mut self,
        constant: Int,
        parts: impl Iterator<Item = (Expr, &'a Int)>,
    ) -> Expr {
        let (mut total, mut all) = (constant, Vec::new());
        for (e, factor) in parts {
            let poly = self.poly(e);
            total = &total + &(&poly.constant * factor);
            all.extend(poly.terms.iter().map(|(monomial, c)| (*monomial, c * factor)));
        }
        let sum = collect_terms(total, all);
        self.from_poly(&sum)
    }

    /// The sum of expressions.
    pub fn sum(&mut self, items: impl IntoIterator<Item = Expr>) -> Expr {
        items.into_iter().fold(Expr::ZERO, |total, e| self.add(total, e))
    }

    /// The product of expressions.
    pub fn product(&mut self, items: impl IntoIterator<Item = Expr>) -> Expr {
        items.into_iter().fold(Expr::ONE, |total, e| self.mul(total, e))
    }
}

/// The polynomial of unsorted terms, equal monomials added up.
pub(super) fn collect_terms(constant: Int, mut terms: Vec<(Expr, Int)>) -> Poly {
    terms.sort_unstable_by_key(|(monomial, _)| *monomial);
    let mut poly = Poly::constant(constant);
    for (monomial, coefficient) in terms {
        match poly.terms.last_mut() {
            Some(last) if last.0 == monomial => last.1 = &last.1 + &coefficient,
            _ => {
                // What cancelled out is dropped as soon as the next monomial begins.
                if poly.terms.last().is_some_and(|(_, c)| c.is_zero()) {
                    poly.terms.pop();
                }
                poly.terms.push((monomial, coefficient));
            }
        }
    }
    if poly.terms.last().is_some_and(|(_, c)| c.is_zero()) {
        poly.terms.pop();
    }
    poly
}

/// The product of two monomials.
pub(super) fn merge_monomials(a: &[(Expr, u32)], b: &[(Expr, u32)]) -> Monomial {
    let mut merged = Monomial::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if j == b.len() || (i < a.len() && a[i].0 < b[j].0) {
            merged.push(a[i]);
            i += 1;
        } else if i == a.len() || b[j].0 < a[i].0 {
            merged.push(b[j]);
            j += 1;
        } else {
            merged.push((a[i].0, a[i].1.saturating_add(b[j].1)));
            i += 1;
            j += 1;
        }
    }
    merged
}
