//! Equations solved for one of their monomials, so that equal expressions get one normal form.
//!
//! The union of two integer classes is an equation between polynomials. It is solved for a monomial with
//! coefficient 1 or -1, which then is replaced everywhere. If that monomial occurs again inside an atom of
//! its own value, as `a` does in `a == b*(a//b)`, the atom is *frozen*: it keeps its form although it
//! contains a replaced part. Replacement is a single pass, so it always ends.
use super::quotient;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Func, Int, Monomial, Poly, Pool, Sort};
use smallvec::SmallVec;
use std::cmp::Ordering;

/// Values longer than this many terms are not substituted.
const MAX_TERMS: usize = 16;
/// Nor are values of a higher degree.
const MAX_DEGREE: u64 = 12;
/// Nor are values built of more expressions than this.
const MAX_PARTS: usize = 96;
/// The most equations kept.
const MAX_SOLVED: usize = 4_096;
/// The most replacements of products kept: each is tried on every product.
const MAX_PRODUCTS: usize = 256;
/// The most rounds of product replacement in one expression.
const MAX_PRODUCT_ROUNDS: usize = 4;

/// Replacements of expressions by others.
#[derive(Clone, Debug, Default)]
pub(super) struct Solved {
    values: FxHashMap<Expr, Expr>,
    /// Keys of `values` that are products: they are also replaced within larger products.
    products: Vec<Expr>,
    /// The equations' keys by the expressions that their values are built of; some may be gone since.
    users: FxHashMap<Expr, SmallVec<[Expr; 2]>>,
    /// How many of the replacements are equations.
    equations: usize,
    /// Keys replaced since [`Solved::take_new`].
    new: Vec<Expr>,
    memo: FxHashMap<Expr, Expr>,
    version: usize,
}

/// What an equation came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SolveStep {
    /// It says nothing new, or nothing that can be solved for.
    Nothing,
    /// It gave a replacement.
    Solved,
    /// It is false.
    Impossible,
}

impl Solved {
    /// The normal form of an expression under the replacements.
    pub fn normal(&mut self, pool: &mut Pool, e: Expr) -> Expr {
        if self.values.is_empty() || pool.is_constant(e) {
            return e;
        }
        let values = &self.values;
        let mut normal = match values.get(&e) {
            Some(&value) => value,
            None => pool.substitute_memo(e, &|part| values.get(&part).copied(), &mut self.memo),
        };
        for _ in 0..MAX_PRODUCT_ROUNDS {
            if self.products.is_empty() {
                break;
            }
            let next = self.reduce_products(pool, normal);
            if next == normal {
                break;
            }
            normal = next;
        }
        normal
    }

    fn reduce_products(&self, pool: &mut Pool, e: Expr) -> Expr {
        let mut replaced: FxHashMap<Expr, Expr> = FxHashMap::default();
        for part in pool.reachable(&[e]) {
            let factors = pool.monomial(part);
            if factors.len() < 2 && factors.first().is_none_or(|(_, power)| *power < 2) {
                continue;
            }
            for &product in &self.products {
                let (Some(left), Some(&value)) =
                    (quotient::of_monomials(&factors, &pool.monomial(product)), self.values.get(&product))
                else {
                    continue;
                };
                let left = pool.from_monomial(&left);
                replaced.insert(part, pool.mul(left, value));
                break;
            }
        }
        if replaced.is_empty() {
            return e;
        }
        pool.substitute(e, |part| replaced.get(&part).copied().or_else(|| self.frozen(part)))
    }

    fn frozen(&self, part: Expr) -> Option<Expr> {
        self.values.get(&part).copied().filter(|&value| value == part)
    }

    /// The truth value recorded for a condition.
    pub fn truth(&self, pool: &Pool, e: Expr) -> Option<bool> {
        pool.as_bool(*self.values.get(&e)?)
    }

    /// Records the truth of a condition.
    pub fn set_truth(&mut self, pool: &Pool, e: Expr, value: bool) {
        self.values.insert(e, pool.bool(value));
        self.new.push(e);
        self.changed();
    }

    /// The expressions that are replaced since the last call: what is built of them has another normal form.
    pub fn take_new(&mut self) -> Vec<Expr> {
        std::mem::take(&mut self.new)
    }

    /// The equations, each as the expression that is replaced and its value, oldest expression first.
    pub fn equations(&self, pool: &Pool) -> Vec<(Expr, Expr)> {
        let known = self.values.iter().map(|(key, value)| (*key, *value));
        let mut known: Vec<_> = known.filter(|&(k, v)| k != v && pool.sort(k) != Sort::Bool).collect();
        known.sort_unstable();
        known
    }

    /// Changes whenever the replacements do.
    pub fn version(&self) -> usize {
        self.version
    }

    fn changed(&mut self) {
        self.memo.clear();
        self.version += 1;
    }

    /// Uses `e == 0`.
    pub fn equation(&mut self, pool: &mut Pool, e: Expr) -> SolveStep {
        let e = self.normal(pool, e);
        let poly = pool.poly(e);
        let content = poly.content();
        if content.is_zero() {
            return if poly.constant.is_zero() { SolveStep::Nothing } else { SolveStep::Impossible };
        }
        if !poly.constant.is_multiple_of(&content) {
            return SolveStep::Impossible;
        }
        let Some(poly) = poly.exact_quotient(&content) else { return SolveStep::Nothing };
        if poly.terms.len() > MAX_TERMS || self.equations > MAX_SOLVED || degree(pool, &poly) > MAX_DEGREE {
            return SolveStep::Nothing;
        }
        let Some((monomial, frozen)) = choose(pool, &poly) else { return SolveStep::Nothing };
        let solved = poly.terms.iter().position(|(m, _)| *m == monomial).and_then(|i| poly.solved_for(i));
        let Some(solved) = solved else { return SolveStep::Nothing };
        let value = pool.from_poly(&solved);
        let is_product = pool.monomial(monomial).as_slice() != [(monomial, 1)];
        if is_product && self.products.len() >= MAX_PRODUCTS {
            return SolveStep::Nothing;
        }
        self.insert(pool, monomial, value);
        for atom in frozen {
            self.values.entry(atom).or_insert(atom);
        }
        if is_product {
            self.products.push(monomial);
        }
        self.changed();
        self.renew(pool, monomial, is_product);
        if !self.values.contains_key(&monomial) {
            return SolveStep::Nothing;
        }
        self.new.push(monomial);
        SolveStep::Solved
    }

    /// Adds an equation, or changes the value of one.
    fn insert(&mut self, pool: &Pool, key: Expr, value: Expr) {
        self.equations += usize::from(self.values.insert(key, value).is_none());
        for part in pool.reachable(&[value]) {
            if !pool.is_constant(part) {
                let users = self.users.entry(part).or_default();
                if !users.contains(&key) {
                    users.push(key);
                }
            }
        }
    }

    /// Replaces the monomial that was just solved for in the other values. A value is given up if replacement
    /// would change it again (its key occurs in it outside of frozen atoms, by way of other values) or if it
    /// is too large. Then only the classes know the equation.
    fn renew(&mut self, pool: &mut Pool, new: Expr, is_product: bool) {
        // A product is also replaced within larger ones, which may be in any value.
        let mut keys: Vec<Expr> = match is_product {
            true => self.values.keys().copied().collect(),
            false => self.users.remove(&new).unwrap_or_default().into_vec(),
        };
        keys.push(new);
        // The new one first: if it has to go, the others stay as they are.
        keys.sort_unstable_by_key(|&k| (k != new, k));
        keys.dedup();
        for key in keys {
            let Some(&value) = self.values.get(&key) else { continue };
            if value == key || pool.is_constant(value) {
                continue;
            }
            let renewed = self.normal(pool, value);
            let poly = pool.poly(renewed);
            let keep = poly.terms.len() <= MAX_TERMS
                && degree(pool, &poly) <= MAX_DEGREE
                && pool.reachable(&[renewed]).len() <= MAX_PARTS
                && self.normal(pool, renewed) == renewed;
            if !keep {
                self.values.remove(&key);
                self.equations = self.equations.saturating_sub(1);
                self.products.retain(|&p| p != key);
                self.memo.clear();
            } else if renewed != value {
                self.insert(pool, key, renewed);
                self.memo.clear();
            }
        }
        self.memo.clear();
    }
}

/// The monomial to solve for, and the atoms to be frozen for it: a call before a symbol, a symbol before a
/// product, and last those that occur in their own value. Among equals, the newest.
fn choose(pool: &Pool, poly: &Poly) -> Option<(Expr, Vec<Expr>)> {
    let mut best: Option<(u8, Expr, Vec<Expr>)> = None;
    for (monomial, coefficient) in &poly.terms {
        if coefficient.abs() != Int::ONE {
            continue;
        }
        let is_product = pool.monomial(*monomial).as_slice() != [(*monomial, 1)];
        let mut holders: Vec<Expr> = Vec::new();
        let mut multiplied = false;
        for (other, _) in poly.terms.iter().filter(|(m, _)| m != monomial) {
            for (atom, _) in pool.monomial(*other) {
                multiplied |= atom == *monomial;
                if atom != *monomial && !holders.contains(&atom) && pool.reachable(&[atom]).contains(monomial)
                {
                    holders.push(atom);
                }
            }
        }
        // x == x*y + … has no solution for x that is free of x.
        if multiplied || (is_product && (!holders.is_empty() || !leads(pool, poly, *monomial))) {
            continue;
        }
        let is_call = pool.as_call(*monomial).is_some();
        let rank = match (is_product, is_call, holders.is_empty()) {
            (false, true, true) => 0,
            (false, false, true) => 1,
            (false, false, false) => 2,
            (true, ..) => 3,
            (false, true, false) => 4,
        };
        let better = best
            .as_ref()
            .is_none_or(|(r, m, _)| (rank, std::cmp::Reverse(*monomial)) < (*r, std::cmp::Reverse(*m)));
        if better {
            best = Some((rank, *monomial, holders));
        }
    }
    best.map(|(_, monomial, holders)| (monomial, holders))
}

/// Whether a product comes before every other monomial in the graded order (by degree, then
/// lexicographically). Products are replaced within larger ones, which ends only if the order respects
/// multiplication.
fn leads(pool: &Pool, poly: &Poly, product: Expr) -> bool {
    let degree = |m: &Monomial| m.iter().fold(0u64, |sum, (_, power)| sum + u64::from(*power));
    let key = pool.monomial(product);
    poly.terms.iter().filter(|(m, _)| *m != product).all(|(other, _)| {
        let other = pool.monomial(*other);
        degree(&key).cmp(&degree(&other)).then_with(|| lexicographic(&key, &other)) == Ordering::Greater
    })
}

/// The lexicographic order of the powers, oldest atom first.
fn lexicographic(a: &Monomial, b: &Monomial) -> Ordering {
    for (x, y) in a.iter().zip(b) {
        // An older atom first means that the other monomial lacks it.
        let order = y.0.cmp(&x.0).then(x.1.cmp(&y.1));
        if order != Ordering::Equal {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

/// The greatest degree of a monomial.
fn degree(pool: &Pool, poly: &Poly) -> u64 {
    let degrees = poly.terms.iter().map(|(m, _)| pool.monomial(*m).iter().map(|(_, p)| u64::from(*p)).sum());
    degrees.max().unwrap_or(0)
}

/// Whether `e` is a comparison or connective whose truth says something about its operands.
pub(super) fn consequences(pool: &mut Pool, e: Expr, value: bool) -> Consequence {
    match (pool.as_call(e), value) {
        (Some((Func::IsZero, &[p])), true) => Consequence::Zero(p),
        (Some((Func::And, parts)), true) | (Some((Func::Or, parts)), false) => {
            Consequence::Each(parts.to_vec(), value)
        }
        (Some((Func::Not, &[inner])), _) => Consequence::Each(vec![inner], !value),
        _ => Consequence::None,
    }
}

/// What follows from a truth value.
pub(super) enum Consequence {
    /// Nothing about other expressions.
    None,
    /// An integer is 0.
    Zero(Expr),
    /// These conditions have this truth value.
    Each(Vec<Expr>, bool),
}
