//! Whether linear facts contradict each other over the rationals, with the combination that shows it. Monomials are
//! taken for independent variables.
use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul, CheckedSub, One, Signed, Zero};
use rustc_hash::FxHashMap;
use sizewise_certificate::{Monomial, Poly};
use std::collections::BTreeMap;

/// Integers to reckon with: fast ones that may overflow, or slow ones.
pub trait Number: Clone + Integer + Signed + CheckedAdd + CheckedMul + CheckedSub + std::fmt::Debug {
    /// The same number, if it fits.
    fn from_big(value: &BigInt) -> Option<Self>;
    /// The same number.
    fn to_big(&self) -> BigInt;
    /// Whether signs and sums of a few such numbers cannot overflow.
    fn is_safe(&self) -> bool;
}

impl Number for i128 {
    fn from_big(value: &BigInt) -> Option<i128> {
        // Leaves room for a few products.
        i64::try_from(value).ok().map(i128::from)
    }
    fn to_big(&self) -> BigInt {
        BigInt::from(*self)
    }
    fn is_safe(&self) -> bool {
        self.unsigned_abs() < 1 << 120
    }
}

impl Number for BigInt {
    fn from_big(value: &BigInt) -> Option<BigInt> {
        Some(value.clone())
    }
    fn to_big(&self) -> BigInt {
        self.clone()
    }
    fn is_safe(&self) -> bool {
        self.bits() < 10_000
    }
}

/// A bound of a variable: its value, the fact it is from, and whether that fact is taken negated (an equation).
#[derive(Clone, Debug)]
struct Bound<T: Number> {
    value: Ratio<T>,
    fact: usize,
    negated: bool,
}

/// Integer factors of facts whose sum is a contradiction.
pub type Combination = Vec<(BigInt, usize)>;

/// What asking came to.
#[derive(Debug)]
pub enum Outcome<T> {
    /// The facts can hold together, over the rationals.
    Feasible,
    /// They cannot.
    Conflict(T),
    /// A number grew too large, or the work ran out.
    Stopped,
}

/// Variables with bounds, some of them sums of others.
#[derive(Clone, Debug)]
pub struct Simplex<T: Number> {
    monomials: FxHashMap<Monomial, usize>,
    forms: FxHashMap<Vec<(usize, BigInt)>, usize>,
    lower: Vec<Option<Bound<T>>>,
    upper: Vec<Option<Bound<T>>>,
    value: Vec<Ratio<T>>,
    rows: BTreeMap<usize, Row<T>>,
    /// A contradiction found while bounds were added.
    conflict: Option<Combination>,
    stopped: bool,
}

impl<T: Number> Default for Simplex<T> {
    fn default() -> Simplex<T> {
        Simplex {
            monomials: FxHashMap::default(),
            forms: FxHashMap::default(),
            lower: Vec::new(),
            upper: Vec::new(),
            value: Vec::new(),
            rows: BTreeMap::new(),
            conflict: None,
            stopped: false,
        }
    }
}

/// A sum of variables, which ascend.
type Row<T> = Vec<(usize, Ratio<T>)>;

type Pair<'a, T> = (Ratio<T>, &'a Bound<T>);

impl<T: Number> Simplex<T> {
    fn fresh(&mut self) -> usize {
        self.lower.push(None);
        self.upper.push(None);
        self.value.push(Ratio::zero());
        self.value.len() - 1
    }

    fn monomial(&mut self, monomial: &Monomial) -> usize {
        if let Some(&known) = self.monomials.get(monomial) {
            return known;
        }
        let new = self.fresh();
        self.monomials.insert(monomial.clone(), new);
        new
    }

    /// Adds `p >= 0` or (`equation`) `p = 0`.
    pub fn add(&mut self, p: &Poly, equation: bool, fact: usize) {
        if self.add_checked(p, equation, fact).is_none() {
            self.stopped = true;
        }
    }

    fn add_checked(&mut self, p: &Poly, equation: bool, fact: usize) -> Option<()> {
        let mut parts: Vec<(usize, BigInt)> = Vec::new();
        for (monomial, c) in &p.terms {
            if !monomial.is_empty() {
                parts.push((self.monomial(monomial), c.clone()));
            }
        }
        parts.sort();
        let flipped = parts.first()?.1.is_negative();
        if flipped {
            parts.iter_mut().for_each(|(_, c)| *c = -&*c);
        }
        let constant = T::from_big(&p.constant_part())?;
        let var = match parts.as_slice() {
            [(var, c)] if c.is_one() => *var,
            _ => self.form(&parts)?,
        };
        // p = form + constant, or -form + constant.
        let at = Ratio::from_integer(if flipped { constant } else { -constant });
        if equation || !flipped {
            self.bound(var, Bound { value: at.clone(), fact, negated: flipped }, false)?;
        }
        if equation || flipped {
            self.bound(var, Bound { value: at, fact, negated: !flipped }, true)?;
        }
        Some(())
    }

    /// The variable of a sum.
    fn form(&mut self, parts: &[(usize, BigInt)]) -> Option<usize> {
        if let Some(&known) = self.forms.get(parts) {
            return Some(known);
        }
        let mut row: Row<T> = Vec::new();
        let mut value = Ratio::zero();
        for (var, c) in parts {
            let c = Ratio::from_integer(T::from_big(c)?);
            value = add(&value, &mul(&c, &self.value[*var])?)?;
            row = match self.rows.get(var) {
                Some(inner) => plus(&row, &c, inner)?,
                None => plus(&row, &c, &[(*var, Ratio::one())])?,
            };
        }
        let new = self.fresh();
        self.value[new] = value;
        self.rows.insert(new, row);
        self.forms.insert(parts.to_vec(), new);
        Some(new)
    }

    fn bound(&mut self, var: usize, bound: Bound<T>, upper: bool) -> Option<()> {
        let tighter = |old: &Bound<T>| if upper { bound.value < old.value } else { bound.value > old.value };
        let side = if upper { &mut self.upper[var] } else { &mut self.lower[var] };
        if side.as_ref().is_some_and(|old| !tighter(old)) {
            return Some(());
        }
        *side = Some(bound.clone());
        if let (Some(low), Some(high)) = (&self.lower[var], &self.upper[var])
            && low.value > high.value
            && self.conflict.is_none()
        {
            self.conflict = Some(combined(&[(Ratio::one(), low), (Ratio::one(), high)]));
        }
        let beyond = if upper { self.value[var] > bound.value } else { self.value[var] < bound.value };
        if beyond && !self.rows.contains_key(&var) {
            let step = sub(&bound.value, &self.value[var])?;
            self.shift(var, &step)?;
        }
        Some(())
    }

    /// Adds to the value of a variable that is no sum, and to the sums it is in.
    fn shift(&mut self, var: usize, step: &Ratio<T>) -> Option<()> {
        self.value[var] = add(&self.value[var], step)?;
        for (basic, row) in &self.rows {
            if let Some(c) = coefficient(row, var) {
                self.value[*basic] = add(&self.value[*basic], &mul(c, step)?)?;
            }
        }
        Some(())
    }

    /// Whether the bounds contradict each other. Work is taken from `fuel`.
    pub fn check(&mut self, fuel: &mut u64) -> Outcome<Combination> {
        if let Some(conflict) = &self.conflict {
            return Outcome::Conflict(conflict.clone());
        }
        if self.stopped {
            return Outcome::Stopped;
        }
        loop {
            let size = 4 * self.size();
            if *fuel < size {
                *fuel = 0;
                return Outcome::Stopped;
            }
            *fuel -= size;
            match self.pivot() {
                Some(Some(Outcome::Conflict(conflict))) => {
                    self.conflict = Some(conflict.clone());
                    return Outcome::Conflict(conflict);
                }
                Some(Some(outcome)) => return outcome,
                Some(None) => {}
                None => {
                    self.stopped = true;
                    return Outcome::Stopped;
                }
            }
        }
    }

    /// The number of entries.
    pub fn size(&self) -> u64 {
        self.value.len() as u64 + self.rows.values().map(|row| row.len() as u64 + 1).sum::<u64>()
    }

    fn room(&self, var: usize, up: bool) -> bool {
        let side = if up { &self.upper[var] } else { &self.lower[var] };
        side.as_ref().is_none_or(|b| if up { self.value[var] < b.value } else { self.value[var] > b.value })
    }

    /// One exchange, by Bland's rule. `None` on overflow, `Some(None)` to go on.
    fn pivot(&mut self) -> Option<Option<Outcome<Combination>>> {
        let low = |v: usize| self.lower[v].as_ref().is_some_and(|b| self.value[v] < b.value);
        let high = |v: usize| self.upper[v].as_ref().is_some_and(|b| self.value[v] > b.value);
        let Some(basic) = self.rows.keys().copied().find(|&v| low(v) || high(v)) else {
            return Some(Some(Outcome::Feasible));
        };
        let up = low(basic);
        let bound = if up { self.lower[basic].as_ref()? } else { self.upper[basic].as_ref()? };
        let row = &self.rows[&basic];
        let helps = |(var, c): &&(usize, Ratio<T>)| self.room(*var, c.is_positive() == up);
        let Some(&(entering, ref c)) = row.iter().find(helps) else {
            let mut parts: Vec<Pair<'_, T>> = vec![(Ratio::one(), bound)];
            for (var, c) in row {
                let side = if c.is_positive() == up { &self.upper[*var] } else { &self.lower[*var] };
                parts.push((c.abs(), side.as_ref()?));
            }
            return Some(Some(Outcome::Conflict(combined(&parts))));
        };
        let c = c.clone();
        let target = bound.value.clone();
        let step = div(&sub(&target, &self.value[basic])?, &c)?;
        self.shift(entering, &step)?;
        self.value[basic] = target;
        self.exchange(basic, entering)?;
        Some(None)
    }

    fn exchange(&mut self, leaving: usize, entering: usize) -> Option<()> {
        let row = self.rows.remove(&leaving)?;
        let c = coefficient(&row, entering)?;
        let mut solved: Row<T> = Vec::with_capacity(row.len());
        for (var, d) in row.iter().filter(|(var, _)| *var != entering) {
            solved.push((*var, -div(d, c)?));
        }
        let at = solved.partition_point(|(var, _)| *var < leaving);
        solved.insert(at, (leaving, div(&Ratio::one(), c)?));
        for other in self.rows.values_mut() {
            let Ok(at) = other.binary_search_by_key(&entering, |(var, _)| *var) else { continue };
            let (_, factor) = other.remove(at);
            *other = plus(other, &factor, &solved)?;
        }
        self.rows.insert(entering, solved);
        Some(())
    }

    /// A monomial whose value in the solution is no integer, with that value rounded down.
    pub fn fractional(&self) -> Option<(Poly, BigInt)> {
        let mut all: Vec<(&Monomial, usize)> = self.monomials.iter().map(|(m, v)| (m, *v)).collect();
        all.sort_by_key(|(m, _)| (m.iter().map(|(_, p)| *p).sum::<u32>(), (*m).clone()));
        let (monomial, var) = all.into_iter().find(|(_, v)| !self.value[*v].is_integer())?;
        let value = Poly { terms: BTreeMap::from([(monomial.clone(), BigInt::one())]) };
        Some((value, self.value[var].floor().to_integer().to_big()))
    }
}

/// The number, unless it is too large to go on with.
fn safe<T: Number>(value: Ratio<T>) -> Option<Ratio<T>> {
    (value.numer().is_safe() && value.denom().is_safe()).then_some(value)
}

fn add<T: Number>(a: &Ratio<T>, b: &Ratio<T>) -> Option<Ratio<T>> {
    if a.denom().is_one() && b.denom().is_one() {
        return safe(Ratio::from_integer(a.numer().checked_add(b.numer())?));
    }
    safe(a.checked_add(b)?)
}

fn sub<T: Number>(a: &Ratio<T>, b: &Ratio<T>) -> Option<Ratio<T>> {
    if a.denom().is_one() && b.denom().is_one() {
        return safe(Ratio::from_integer(a.numer().checked_sub(b.numer())?));
    }
    safe(a.checked_sub(b)?)
}

fn mul<T: Number>(a: &Ratio<T>, b: &Ratio<T>) -> Option<Ratio<T>> {
    if a.denom().is_one() && b.denom().is_one() {
        return safe(Ratio::from_integer(a.numer().checked_mul(b.numer())?));
    }
    safe(a.checked_mul(b)?)
}

fn div<T: Number>(a: &Ratio<T>, b: &Ratio<T>) -> Option<Ratio<T>> {
    mul(a, &b.recip())
}

/// The coefficient of a variable in a sum.
fn coefficient<T: Number>(row: &Row<T>, var: usize) -> Option<&Ratio<T>> {
    row.binary_search_by_key(&var, |(var, _)| *var).ok().map(|at| &row[at].1)
}

/// `row + factor * other`.
fn plus<T: Number>(
    row: &[(usize, Ratio<T>)],
    factor: &Ratio<T>,
    other: &[(usize, Ratio<T>)],
) -> Option<Row<T>> {
    let mut sum = Row::with_capacity(row.len() + other.len());
    let mut rest = row.iter().peekable();
    for (var, c) in other {
        while let Some(before) = rest.next_if(|(known, _)| known < var) {
            sum.push(before.clone());
        }
        let mut c = mul(factor, c)?;
        if let Some((_, known)) = rest.next_if(|(known, _)| known == var) {
            c = add(known, &c)?;
        }
        if !c.is_zero() {
            sum.push((*var, c));
        }
    }
    sum.extend(rest.cloned());
    Some(sum)
}

/// Rational factors of bounds as integer factors of facts.
fn combined<T: Number>(parts: &[Pair<'_, T>]) -> Combination {
    let common = parts.iter().fold(BigInt::one(), |all, (c, _)| all.lcm(&c.denom().to_big()));
    let mut factors: BTreeMap<usize, BigInt> = BTreeMap::new();
    for (c, bound) in parts {
        let factor = c.numer().to_big() * (&common / c.denom().to_big());
        *factors.entry(bound.fact).or_default() += if bound.negated { -factor } else { factor };
    }
    factors.into_iter().filter(|(_, c)| !c.is_zero()).map(|(fact, c)| (c, fact)).collect()
}
