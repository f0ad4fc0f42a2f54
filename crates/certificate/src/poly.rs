//! Polynomials with integer coefficients.
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Zero};
use std::collections::BTreeMap;

/// A variable: a symbol of the claim or a defined name, by its number.
pub type Var = u32;

/// A product of variables with their powers, sorted by variable. The empty one is 1.
pub type Monomial = Vec<(Var, u32)>;

/// The most terms of a polynomial.
pub const MAX_TERMS: usize = 4_000;
/// The greatest degree of a polynomial.
const MAX_DEGREE: u64 = 200;
/// The most bits of a coefficient.
pub const MAX_BITS: u64 = 20_000;

/// A polynomial. No coefficient is zero.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Poly {
    /// The coefficients by monomial.
    pub terms: BTreeMap<Monomial, BigInt>,
}

/// The product of two monomials.
pub fn times(a: &Monomial, b: &Monomial) -> Monomial {
    let mut product = Monomial::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().copied().peekable(), b.iter().copied().peekable());
    while let (Some(&(v, j)), Some(&(w, k))) = (a.peek(), b.peek()) {
        product.push(if v == w { (v, j.saturating_add(k)) } else { (v, j).min((w, k)) });
        a.next_if(|_| v <= w);
        b.next_if(|_| w <= v);
    }
    product.extend(a.chain(b));
    product
}

impl Poly {
    /// A constant.
    pub fn constant(value: impl Into<BigInt>) -> Poly {
        let mut poly = Poly::default();
        poly.add_term(Vec::new(), value.into());
        poly
    }

    /// A variable.
    pub fn var(var: Var) -> Poly {
        Poly { terms: BTreeMap::from([(vec![(var, 1)], BigInt::one())]) }
    }

    /// Adds `coefficient * monomial`.
    pub fn add_term(&mut self, monomial: Monomial, coefficient: BigInt) {
        if coefficient.is_zero() {
            return;
        }
        let sum = match self.terms.get(&monomial) {
            Some(known) => known + coefficient,
            None => coefficient,
        };
        if sum.is_zero() {
            self.terms.remove(&monomial);
        } else {
            self.terms.insert(monomial, sum);
        }
    }

    /// The constant part.
    pub fn constant_part(&self) -> BigInt {
        self.terms.get(&Vec::new()).cloned().unwrap_or_default()
    }

    /// The value of a polynomial without variables.
    pub fn as_constant(&self) -> Option<BigInt> {
        match self.terms.len() {
            0 => Some(BigInt::zero()),
            1 => self.terms.get(&Vec::new()).cloned(),
            _ => None,
        }
    }

    /// The greatest common divisor of the coefficients of variables; 0 if there is none.
    pub fn content(&self) -> BigInt {
        let variables = self.terms.iter().filter(|(monomial, _)| !monomial.is_empty());
        variables.fold(BigInt::zero(), |all, (_, c)| all.gcd(c))
    }

    /// The sum.
    pub fn plus(&self, other: &Poly) -> Poly {
        let mut sum = self.clone();
        for (monomial, c) in &other.terms {
            sum.add_term(monomial.clone(), c.clone());
        }
        sum
    }

    /// `factor * self`.
    pub fn scaled(&self, factor: &BigInt) -> Poly {
        if factor.is_zero() {
            return Poly::default();
        }
        Poly { terms: self.terms.iter().map(|(m, c)| (m.clone(), c * factor)).collect() }
    }

    /// `-self`.
    pub fn negated(&self) -> Poly {
        self.scaled(&BigInt::from(-1))
    }

    /// The difference.
    pub fn minus(&self, other: &Poly) -> Poly {
        self.plus(&other.negated())
    }

    /// `self + value`.
    pub fn plus_int(&self, value: i64) -> Poly {
        self.plus(&Poly::constant(value))
    }

    /// The product; `None` if it is beyond the limits.
    pub fn product(&self, other: &Poly) -> Option<Poly> {
        let mut product = Poly::default();
        if self.terms.len().saturating_mul(other.terms.len()) > 20 * MAX_TERMS {
            return None;
        }
        for (m, c) in &self.terms {
            for (n, d) in &other.terms {
                product.add_term(times(m, n), c * d);
            }
        }
        product.is_small().then_some(product)
    }

    /// Whether it is within the limits.
    pub fn is_small(&self) -> bool {
        let degree = |m: &Monomial| m.iter().map(|(_, p)| u64::from(*p)).sum::<u64>();
        self.terms.len() <= MAX_TERMS
            && self.terms.iter().all(|(m, c)| degree(m) <= MAX_DEGREE && c.bits() <= MAX_BITS)
    }

    /// The variables.
    pub fn vars(&self) -> impl Iterator<Item = Var> + '_ {
        self.terms.keys().flat_map(|m| m.iter().map(|(var, _)| *var))
    }

    /// `self / divisor`, where the divisor divides each coefficient of a variable; the constant is rounded down.
    pub(crate) fn divided(&self, divisor: &BigInt) -> Poly {
        let mut quotient = Poly::default();
        for (monomial, c) in &self.terms {
            quotient.add_term(monomial.clone(), c.div_floor(divisor));
        }
        quotient
    }
}
