//! Candidates for the solutions of a polynomial equation in two unknowns.
//!
//! One unknown runs through small values, and the equation, of degree 1 or 2 in the other, is solved exactly.
//! For `a*x^2 - b*y^2 == c`, the convergents of the continued fraction of `sqrt(b/a)` come first: if `c` is
//! small compared to the coefficients, every solution is among them, however large it is.
use super::super::reduce::Reduced;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Poly, Pool, Symbol};

/// How many convergents are looked at.
const MAX_CONVERGENTS: usize = 120;
/// How many small values of one unknown are looked at.
const MAX_VALUES: i64 = 600;
/// The most candidates proposed.
const MAX_CANDIDATES: usize = 40;

/// Assignments of two symbols that satisfy an equation of the conjunction.
pub fn solutions(pool: &Pool, problem: &mut Reduced) -> Vec<FxHashMap<Symbol, Int>> {
    let mut found = Vec::new();
    for &c in &problem.conditions {
        let Some(&[p]) = pool.as_func(c, Func::IsZero) else { continue };
        let poly = pool.poly(p);
        let Some(quadratic) = Quadratic::of(pool, &poly) else { continue };
        let (Some(x), Some(y)) = (pool.as_symbol(quadratic.x), pool.as_symbol(quadratic.y)) else { continue };
        let domains = (problem.table.domain(pool, quadratic.x), problem.table.domain(pool, quadratic.y));
        let mut offer = |a: BigInt, b: BigInt| {
            let (a, b) = (Int::from_big(a), Int::from_big(b));
            if domains.0.contains(&a) && domains.1.contains(&b) {
                found.push(FxHashMap::from_iter([(x, a), (y, b)]));
            }
            found.len() < MAX_CANDIDATES
        };
        if !quadratic.by_convergents(&mut offer) {
            break;
        }
        let low = domains.1.range.lo.finite().map_or_else(|| BigInt::from(-MAX_VALUES / 2), Int::to_big);
        for i in 0..MAX_VALUES {
            let v = &low + i;
            if !quadratic.at(&v).into_iter().all(|u| offer(u, v.clone())) {
                break;
            }
        }
    }
    found
}

/// `a*x^2 + b*x*y + c*y^2 + d*x + e*y + f`.
struct Quadratic {
    x: Expr,
    y: Expr,
    a: BigInt,
    b: BigInt,
    c: BigInt,
    d: BigInt,
    e: BigInt,
    f: BigInt,
}

impl Quadratic {
    fn of(pool: &Pool, poly: &Poly) -> Option<Quadratic> {
        let mut atoms: Vec<Expr> = Vec::new();
        for (m, _) in &poly.terms {
            for (atom, _) in pool.monomial(*m) {
                if !atoms.contains(&atom) {
                    atoms.push(atom);
                }
            }
        }
        let &[x, y] = atoms.as_slice() else { return None };
        let zero = BigInt::zero;
        let mut q = Quadratic {
            x,
            y,
            a: zero(),
            b: zero(),
            c: zero(),
            d: zero(),
            e: zero(),
            f: poly.constant.to_big(),
        };
        for (m, k) in &poly.terms {
            let k = k.to_big();
            match *pool.monomial(*m).as_slice() {
                [(v, 2)] if v == x => q.a = k,
                [(_, 2)] => q.c = k,
                [(v, 1)] if v == x => q.d = k,
                [(_, 1)] => q.e = k,
                [(_, 1), (_, 1)] => q.b = k,
                _ => return None,
            }
        }
        (!q.a.is_zero() || !q.b.is_zero() || !q.c.is_zero()).then_some(q)
    }

    /// The `x` that solve the equation at a `y`.
    fn at(&self, y: &BigInt) -> Vec<BigInt> {
        let linear = &self.b * y + &self.d;
        let constant = &self.c * y * y + &self.e * y + &self.f;
        let exact = |n: BigInt, d: &BigInt| {
            let (q, r) = n.div_rem(d);
            r.is_zero().then_some(q)
        };
        if self.a.is_zero() {
            if linear.is_zero() {
                return Vec::new();
            }
            return exact(-constant, &linear).into_iter().collect();
        }
        let discriminant = &linear * &linear - BigInt::from(4) * &self.a * constant;
        if discriminant.is_negative() {
            return Vec::new();
        }
        let root = discriminant.sqrt();
        if &root * &root != discriminant {
            return Vec::new();
        }
        let double = BigInt::from(2) * &self.a;
        [&root - &linear, -&root - &linear].into_iter().filter_map(|n| exact(n, &double)).collect()
    }

    /// Proposes the convergents `x/y` of `sqrt(-c/a)` that solve `a*x^2 + c*y^2 + f == 0`, times small
    /// factors, with every sign.
    fn by_convergents(&self, offer: &mut impl FnMut(BigInt, BigInt) -> bool) -> bool {
        let pure = self.b.is_zero() && self.d.is_zero() && self.e.is_zero();
        if !pure || self.a.is_zero() || (&self.a * &self.c).signum() != BigInt::from(-1) {
            return true;
        }
        // sqrt(-c/a) = sqrt(-a*c) / |a|, as (sqrt(n) + p) / q.
        let n = -(&self.a * &self.c);
        let floor = n.sqrt();
        if &floor * &floor == n {
            return true;
        }
        // The algorithm needs q to divide n - p^2: it does, q = |a| and n = -a*c.
        let (mut p, mut q) = (BigInt::zero(), self.a.abs());
        let (mut before, mut now) = ((BigInt::zero(), BigInt::one()), (BigInt::one(), BigInt::zero()));
        for _ in 0..MAX_CONVERGENTS {
            let whole = (&p + &floor).div_floor(&q);
            let next = (&whole * &now.0 + &before.0, &whole * &now.1 + &before.1);
            (before, now) = (now, next);
            let value = &self.a * &now.0 * &now.0 + &self.c * &now.1 * &now.1;
            // k*(x, y) has k^2 times the value.
            let (ratio, rest) = (-&self.f).div_rem(&value);
            if rest.is_zero() && ratio.is_positive() {
                let k = ratio.sqrt();
                if &k * &k == ratio {
                    let (x, y) = (&now.0 * &k, &now.1 * &k);
                    for (x, y) in [(x.clone(), y.clone()), (-&x, y.clone()), (x.clone(), -&y), (-x, -y)] {
                        if !offer(x, y) {
                            return false;
                        }
                    }
                }
            }
            p = &whole * &q - &p;
            q = (&n - &p * &p) / &q;
        }
        true
    }
}
