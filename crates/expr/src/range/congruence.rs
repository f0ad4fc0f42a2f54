//! Residue classes: the value of an integer modulo another one.
use super::MAX_BITS;
use crate::Int;
use std::fmt;

/// The integers `residue + modulus * t`.
///
/// Modulus 0 is the single value `residue`, modulus 1 is every integer. The residue of a modulus above 0 lies in
/// `0..modulus`. The fields are private so that this always holds.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Congruence {
    modulus: Int,
    residue: Int,
}

impl Congruence {
    /// `residue` modulo `modulus`, whose sign does not matter.
    pub fn new(modulus: impl Into<Int>, residue: impl Into<Int>) -> Congruence {
        let (modulus, residue) = (modulus.into().abs(), residue.into());
        if modulus.bits() > MAX_BITS || (modulus.is_zero() && residue.bits() > MAX_BITS) {
            return Congruence::any();
        }
        // Modulus 0 leaves the residue as it is.
        let residue = residue.modulo(&modulus).unwrap_or(residue);
        Congruence { modulus, residue }
    }

    /// Every integer.
    pub const fn any() -> Congruence {
        Congruence { modulus: Int::ONE, residue: Int::ZERO }
    }

    /// One integer.
    pub const fn point(value: Int) -> Congruence {
        Congruence { modulus: Int::ZERO, residue: value }
    }

    /// The multiples of `modulus`.
    pub fn multiples_of(modulus: impl Into<Int>) -> Congruence {
        Congruence::new(modulus, Int::ZERO)
    }

    /// The modulus; 0 for a single value.
    pub fn modulus(&self) -> &Int {
        &self.modulus
    }

    /// The residue, or the single value.
    pub fn residue(&self) -> &Int {
        &self.residue
    }

    /// Whether nothing is excluded.
    pub fn is_any(&self) -> bool {
        self.modulus.is_one()
    }

    /// Whether `value` is in the class.
    pub fn contains(&self, value: &Int) -> bool {
        self.is_any() || (value - &self.residue).is_multiple_of(&self.modulus)
    }

    /// The common members: a class modulo the least common multiple (the Chinese remainder theorem). `None`
    /// when the residues differ modulo the greatest common divisor.
    pub fn meet(&self, other: &Congruence) -> Option<Congruence> {
        if self.is_any() || self == other {
            return Some(other.clone());
        }
        if other.is_any() {
            return Some(self.clone());
        }
        if self.modulus.is_zero() {
            return other.contains(&self.residue).then(|| self.clone());
        }
        if other.modulus.is_zero() {
            return self.contains(&other.residue).then(|| other.clone());
        }
        let gcd = self.modulus.gcd(&other.modulus);
        let gap = &other.residue - &self.residue;
        if !gap.is_multiple_of(&gcd) {
            return None;
        }
        let lcm = self.modulus.lcm(&other.modulus);
        if lcm.bits() > MAX_BITS {
            return Some(if self.modulus >= other.modulus { self.clone() } else { other.clone() });
        }
        // self.residue + self.modulus * t == other.residue modulo other.modulus.
        let t = solve(&self.modulus, &gap, &other.modulus)?;
        Some(Congruence::new(lcm, &self.residue + &(&self.modulus * t.residue())))
    }

    /// The least class that holds both: modulo the common divisor of the moduli and of the residues' distance.
    pub fn join(&self, other: &Congruence) -> Congruence {
        if self == other {
            return self.clone();
        }
        let gap = &self.residue - &other.residue;
        Congruence::new(self.modulus.gcd(&other.modulus).gcd(&gap), self.residue.clone())
    }

    /// `a + b`: `(r + m t) + (s + n u)` is `r + s` modulo `gcd(m, n)`.
    pub fn add(&self, other: &Congruence) -> Congruence {
        if self.is_any() || other.is_any() {
            return Congruence::any();
        }
        Congruence::new(self.modulus.gcd(&other.modulus), &self.residue + &other.residue)
    }

    /// `c * a`: `c r` modulo `c m`.
    pub fn scale(&self, factor: &Int) -> Congruence {
        if factor.is_one() {
            self.clone()
        } else {
            Congruence::new(&self.modulus * factor, &self.residue * factor)
        }
    }

    /// `-a`.
    pub fn neg(&self) -> Congruence {
        if self.is_any() { Congruence::any() } else { Congruence::new(self.modulus.clone(), -&self.residue) }
    }

    /// `a * b`: `(r + m t)(s + n u)` is `r s` modulo `gcd(m n, m s, n r)`.
    pub fn mul(&self, other: &Congruence) -> Congruence {
        if self.is_any() && other.is_any() {
            return Congruence::any();
        }
        let gcd = (&self.modulus * &other.modulus)
            .gcd(&(&self.modulus * &other.residue))
            .gcd(&(&other.modulus * &self.residue));
        Congruence::new(gcd, &self.residue * &other.residue)
    }

    /// `a ** n` for any `n >= least` that is not negative: `r^n - r^k` is `r^k (r^(n - k) - 1)`, a multiple of
    /// `r^k (r - 1)`, for every `k` up to `n`. So `2 ** n` is even from 1 on, and `10 ** n` is 1 modulo 9.
    pub fn pow_from(&self, least: &Int) -> Congruence {
        let fitting = MAX_BITS / (2 * self.residue.bits().max(1));
        let k = least.to_i64().map_or(u64::from(u32::MAX), |least| least.max(0).unsigned_abs()).min(fitting);
        let Some(power) = u32::try_from(k).ok().and_then(|k| self.residue.pow(k, MAX_BITS)) else {
            return Congruence::any();
        };
        let step = &power * &(&self.residue - &Int::ONE);
        Congruence::new(self.modulus.gcd(&step), power)
    }

    /// `a ** n`. A square `(r + m t)^2` is `r^2` modulo `gcd(m^2, 2 m r)`, which is finer than the product of two
    /// independent values; other powers are products of those.
    pub fn pow(&self, n: u32) -> Congruence {
        if n == 1 || (self.is_any() && n != 0) {
            return self.clone();
        }
        if self.modulus.is_zero() {
            return self.residue.pow(n, MAX_BITS).map_or(Congruence::any(), Congruence::point);
        }
        let (mut result, mut base, mut n) = (Congruence::point(Int::ONE), self.clone(), n);
        loop {
            if n & 1 == 1 {
                result = result.mul(&base);
            }
            n >>= 1;
            if n == 0 {
                return result;
            }
            let cross = &(&base.modulus * &base.residue) * &Int::from(2);
            let gcd = (&base.modulus * &base.modulus).gcd(&cross);
            base = Congruence::new(gcd, &base.residue * &base.residue);
            if base.is_any() && result.is_any() {
                return Congruence::any();
            }
        }
    }

    /// `a // d` for `d` other than 0: where `d` divides the modulus, `(r + m t) // d` is `r // d + (m / d) t`.
    pub fn floor_div(&self, divisor: &Int) -> Congruence {
        match (self.residue.floor_div(divisor), self.modulus.floor_div(divisor)) {
            (Some(residue), Some(modulus)) if self.modulus.is_multiple_of(divisor) => {
                Congruence::new(modulus, residue)
            }
            _ => Congruence::any(),
        }
    }

    /// `a % b` differs from `a` by a multiple of `b`. So it is congruent to `a` modulo the common divisors of
    /// the modulus of `a` and every `b`.
    pub fn modulo(&self, divisor: &Congruence) -> Congruence {
        let step = divisor.modulus.gcd(&divisor.residue);
        Congruence::new(self.modulus.gcd(&step), self.residue.clone())
    }

    /// `|a|`: the class of `a`, or that of `-a`.
    pub fn abs(&self) -> Congruence {
        if self.modulus.is_zero() { Congruence::point(self.residue.abs()) } else { self.join(&self.neg()) }
    }

    /// The least member at or above `value`; for a single value, that value wherever it is.
    pub fn next(&self, value: &Int) -> Int {
        match (&self.residue - value).modulo(&self.modulus) {
            Some(step) => value + &step,
            None => self.residue.clone(),
        }
    }

    /// The greatest member at or below `value`; for a single value, that value wherever it is.
    pub fn previous(&self, value: &Int) -> Int {
        match (value - &self.residue).modulo(&self.modulus) {
            Some(step) => value - &step,
            None => self.residue.clone(),
        }
    }

    /// The `x` with `coefficient * x` in this class, or `None` when there are none.
    pub fn unscale(&self, coefficient: &Int) -> Option<Congruence> {
        solve(coefficient, &self.residue, &self.modulus)
    }
}

/// The `x` with `a x == r` modulo `m`: with `g = gcd(a, m)` there are none unless `g` divides `r`, else they are
/// `(r/g) (a/g)^-1` modulo `m/g`.
fn solve(a: &Int, r: &Int, m: &Int) -> Option<Congruence> {
    let gcd = a.gcd(m);
    if gcd.is_zero() {
        return r.is_zero().then(Congruence::any);
    }
    if !r.is_multiple_of(&gcd) {
        return None;
    }
    let (a, r, m) = (a.floor_div(&gcd)?, r.floor_div(&gcd)?, m.floor_div(&gcd)?);
    if m.is_zero() {
        // a is 1 or -1 here.
        return Some(Congruence::point(&r * &a));
    }
    if m.is_one() {
        return Some(Congruence::any());
    }
    Some(inverse(&a, &m).map_or_else(Congruence::any, |inverse| Congruence::new(m, &r * &inverse)))
}

/// The inverse of `a` modulo `m`, for `a` without a common divisor with `m > 1`, by Euclid's algorithm; `None` for 0.
fn inverse(a: &Int, m: &Int) -> Option<Int> {
    let (mut r0, mut r1) = (m.clone(), a.modulo(m)?);
    let (mut t0, mut t1) = (Int::ZERO, Int::ONE);
    while let Some(quotient) = r0.floor_div(&r1) {
        (r0, r1) = (r1.clone(), &r0 - &(&quotient * &r1));
        (t0, t1) = (t1.clone(), &t0 - &(&quotient * &t1));
    }
    t0.modulo(m)
}

impl fmt::Debug for Congruence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} mod {}", self.residue, self.modulus)
    }
}
