//! Polynomials with integer coefficients over atoms: the working form of integer expressions.
use super::divisor::Divisor;
use super::int::Int;
use super::node::{Node, NodeRef, Sort};
use super::pool::{Expr, Pool};
use smallvec::{SmallVec, smallvec};
use std::cmp::Ordering;

/// The most terms a product is multiplied out to; beyond it, the factors stay sums.
const MAX_TERMS: usize = 400;

/// Storage for the term of a polynomial that is not a stored sum.
const NOWHERE: (Expr, Int) = (Expr::ZERO, Int::ZERO);

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

    /// Of `self == 0`: what the monomial of the term at `i` is equal to, where its coefficient is 1 or -1. Equations are
    /// solved here, whatever they are solved for.
    pub fn solved_for(&self, i: usize) -> Option<Poly> {
        let (_, coefficient) = self.terms.get(i).filter(|(_, c)| c.abs().is_one())?;
        // c*m + rest == 0 with c = ±1: m == -c*rest.
        let factor = -coefficient;
        let mut rest = self.clone();
        rest.terms.remove(i);
        Some(rest.scaled(&factor))
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
        self.borrowed().plus(other.borrowed(), |c| c * factor)
    }

    /// `factor · self`.
    pub fn scaled(&self, factor: &Int) -> Poly {
        self.borrowed().scaled(factor)
    }

    /// The greatest common divisor of the coefficients of the terms, 0 for a constant polynomial.
    pub fn content(&self) -> Int {
        self.terms.iter().fold(Int::ZERO, |gcd, (_, c)| if gcd.is_one() { gcd } else { gcd.gcd(c) })
    }

    pub(super) fn borrowed(&self) -> PolyRef<'_> {
        PolyRef { constant: &self.constant, terms: &self.terms }
    }

    /// Divides each coefficient and the constant; `None` if one is no multiple of `divisor`.
    pub fn exact_quotient(&self, divisor: &Int) -> Option<Poly> {
        let divisor = Divisor::of(divisor)?;
        let divide = |c: &Int| divisor.exact_quotient_of(c);
        let mut quotient = Poly::constant(divide(&self.constant)?);
        for (monomial, coefficient) in &self.terms {
            quotient.terms.push((*monomial, divide(coefficient)?));
        }
        Some(quotient)
    }
}

/// A polynomial that is looked at where it is stored.
#[derive(Clone, Copy)]
pub(super) struct PolyRef<'a> {
    pub(super) constant: &'a Int,
    pub(super) terms: &'a [(Expr, Int)],
}

impl PolyRef<'_> {
    /// `self + factor · other`, where `times` multiplies an integer by the factor.
    fn plus(self, other: PolyRef<'_>, times: impl Fn(&Int) -> Int) -> Poly {
        let (left, right) = (self.terms, other.terms);
        let mut sum = Poly {
            constant: self.constant + &times(other.constant),
            terms: SmallVec::with_capacity(left.len() + right.len()),
        };
        let (mut i, mut j) = (0, 0);
        while let (Some(l), Some(r)) = (left.get(i), right.get(j)) {
            let order = l.0.cmp(&r.0);
            let (monomial, coefficient) = match order {
                Ordering::Less => (l.0, l.1.clone()),
                Ordering::Greater => (r.0, times(&r.1)),
                Ordering::Equal => (l.0, &l.1 + &times(&r.1)),
            };
            i += usize::from(order.is_le());
            j += usize::from(order.is_ge());
            if !coefficient.is_zero() {
                sum.terms.push((monomial, coefficient));
            }
        }
        for (monomial, c) in &left[i..] {
            sum.terms.push((*monomial, c.clone()));
        }
        for (monomial, c) in &right[j..] {
            let coefficient = times(c);
            if !coefficient.is_zero() {
                sum.terms.push((*monomial, coefficient));
            }
        }
        sum
    }

    /// `self - other`.
    pub(super) fn minus(self, other: PolyRef<'_>) -> Poly {
        self.plus(other, |c| -c)
    }

    /// `factor · self`.
    fn scaled(self, factor: &Int) -> Poly {
        if factor.is_zero() {
            return Poly::default();
        }
        let times = |c: &Int| c * factor;
        Poly {
            constant: times(self.constant),
            terms: self.terms.iter().map(|(monomial, c)| (*monomial, times(c))).collect(),
        }
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

    /// The polynomial that an integer expression is, where it is stored; what stores none is put into `place`.
    pub(super) fn poly_ref<'a>(&'a self, e: Expr, place: &'a mut (Expr, Int)) -> PolyRef<'a> {
        match (e.as_inline(), self.node(e)) {
            (Some(value), _) => {
                *place = (e, Int::Small(value));
                PolyRef { constant: &place.1, terms: &[] }
            }
            (None, Some(Node::Int(value))) => PolyRef { constant: value, terms: &[] },
            (None, Some(Node::Sum { constant, terms })) => {
                self.charge(terms.len());
                PolyRef { constant, terms }
            }
            _ => {
                *place = (e, Int::ONE);
                PolyRef { constant: &Int::ZERO, terms: std::slice::from_ref(place) }
            }
        }
    }

    /// `a - b` of integer expressions as a polynomial.
    pub(super) fn difference(&self, a: Expr, b: Expr) -> Poly {
        let (mut p, mut q) = (NOWHERE, NOWHERE);
        self.poly_ref(a, &mut p).minus(self.poly_ref(b, &mut q))
    }

    /// Whether the monomial of the term at `i` occurs in no other term, nor inside an atom of one.
    pub fn stands_alone(&self, poly: &Poly, i: usize) -> bool {
        let others = poly.terms.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, (m, _))| *m);
        let others: Vec<Expr> = others.collect();
        poly.terms.get(i).is_some_and(|(monomial, _)| !self.reachable(&others).contains(monomial))
    }

    /// The expression of a polynomial.
    pub fn from_poly(&mut self, poly: &Poly) -> Expr {
        match poly.terms.as_slice() {
            [] => self.int(poly.constant.clone()),
            [(monomial, coefficient)] if coefficient.is_one() && poly.constant.is_zero() => *monomial,
            terms => self.intern(NodeRef::Sum { constant: &poly.constant, terms }),
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
            _ => self.intern(NodeRef::Product(factors)),
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
        if a == Expr::ZERO || b == Expr::ZERO {
            return if a == Expr::ZERO { b } else { a };
        }
        let (mut p, mut q) = (NOWHERE, NOWHERE);
        let sum = self.poly_ref(a, &mut p).plus(self.poly_ref(b, &mut q), Int::clone);
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
        let difference = self.difference(a, b);
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
        let mut place = NOWHERE;
        let product = match (self.as_int(a), self.as_int(b)) {
            (Some(factor), _) => self.poly_ref(b, &mut place).scaled(&factor),
            (_, Some(factor)) => self.poly_ref(a, &mut place).scaled(&factor),
            _ if self.is_sum(a) || self.is_sum(b) => self.mul_poly(&self.poly(a), &self.poly(b)),
            _ => {
                let product = merge_monomials(&self.monomial(a), &self.monomial(b));
                return self.from_monomial(&product);
            }
        };
        self.from_poly(&product)
    }

    fn is_sum(&self, e: Expr) -> bool {
        matches!(self.node(e), Some(Node::Sum { .. }))
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
            let mut place = NOWHERE;
            let poly = self.poly_ref(e, &mut place);
            total = &total + &(poly.constant * factor);
            all.extend(poly.terms.iter().map(|(monomial, c)| (*monomial, c * factor)));
        }
        let sum = collect_terms(total, all);
        self.from_poly(&sum)
    }

    /// The sum of expressions.
    pub fn sum(&mut self, items: impl IntoIterator<Item = Expr>) -> Expr {
        let items: SmallVec<[Expr; 8]> = items.into_iter().collect();
        if items.iter().any(|&e| self.is_inexact(e)) {
            return items.into_iter().fold(Expr::ZERO, |total, e| self.add(total, e));
        }
        self.combination(Int::ZERO, items.into_iter().map(|e| (e, &Int::ONE)))
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
                // A term that cancelled out is dropped as soon as the next monomial begins.
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
