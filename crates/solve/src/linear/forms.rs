//! Bounds of linear forms over monomials, with integer tightening and elimination of equations.
use indexmap::IndexMap;
use rustc_hash::{FxBuildHasher, FxHashMap};
use sizewise_expr::{Divisor, Expr, Int, Poly};
use smallvec::SmallVec;
use std::cell::Cell;

/// The terms of a form: coefficients without a common factor, the first one positive.
pub type Terms = SmallVec<[(Expr, Int); 4]>;

/// How a polynomial is compared with 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `p <= 0`.
    Le,
    /// `p == 0`.
    Eq,
    /// `p != 0`.
    Ne,
}

/// The known bounds of a form.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Known {
    /// The least value.
    pub low: Option<Int>,
    /// The greatest value.
    pub high: Option<Int>,
    /// Values between them that it does not have.
    pub holes: Vec<Int>,
}

/// No assignment satisfies the constraints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conflict;

/// A conjunction of linear constraints over monomials taken as variables.
#[derive(Clone, Debug, Default)]
pub struct Forms {
    /// Variables that equations determine.
    solved: FxHashMap<Expr, Poly>,
    forms: IndexMap<Terms, Known, FxBuildHasher>,
    /// Equations still to be solved.
    queue: Vec<Poly>,
    /// Terms that elimination has written.
    written: Cell<usize>,
}

/// The most equations that are solved.
const MAX_SOLVED: usize = 200;
/// Equations with longer coefficients are kept as bounds.
const MAX_BITS: u64 = 512;

impl Forms {
    /// The forms with their known bounds.
    pub fn iter(&self) -> impl Iterator<Item = (&Terms, &Known)> {
        self.forms.iter()
    }

    /// The variables that equations determine, with their values.
    pub fn solved(&self) -> &FxHashMap<Expr, Poly> {
        &self.solved
    }

    /// Whether `end` is the greatest value known of the form with these terms, in either sign.
    pub fn at_upper_end(&self, terms: &[(Expr, Int)], end: &Int) -> bool {
        let same = |t: &Terms| t.as_slice() == terms;
        self.forms.iter().any(|(t, known)| same(t) && known.high.as_ref() == Some(end))
    }

    /// The terms that elimination has written since this was asked last.
    pub fn take_written(&self) -> usize {
        self.written.take()
    }

    /// `poly` with solved variables replaced.
    pub fn reduce(&self, poly: &Poly) -> Poly {
        let mut poly = poly.clone();
        // A value never mentions a variable solved before it.
        for _ in 0..MAX_SOLVED {
            let Some((m, c)) = poly.terms.iter().find(|(m, _)| self.solved.contains_key(m)).cloned() else {
                break;
            };
            let term = Poly { constant: Int::ZERO, terms: [(m, c.clone())].into_iter().collect() };
            poly = poly.add_scaled(&term, &Int::from(-1)).add_scaled(&self.solved[&m], &c);
            let written: usize = poly.terms.iter().map(|(_, c)| c.words()).sum();
            self.written.set(self.written.get() + 2 * written);
        }
        poly
    }

    /// Adds a constraint. `fresh` makes a new integer variable.
    pub fn add(
        &mut self,
        relation: Relation,
        poly: &Poly,
        fresh: &mut dyn FnMut() -> Expr,
    ) -> Result<(), Conflict> {
        self.insert(relation, poly)?;
        while let Some(equation) = self.queue.pop() {
            self.solve(&equation, fresh)?;
        }
        Ok(())
    }

    fn insert(&mut self, relation: Relation, poly: &Poly) -> Result<(), Conflict> {
        let poly = self.reduce(poly);
        // The greatest common divisor of the coefficients takes time in the square of their length.
        let divided: usize = poly.terms.iter().map(|(_, c)| 4 * (c.words().pow(2) - 1)).sum();
        self.written.set(self.written.get() + divided);
        let Some(terms) = normal_terms(&poly) else {
            let c = &poly.constant;
            let holds = match relation {
                Relation::Le => !c.is_positive(),
                Relation::Eq => c.is_zero(),
                Relation::Ne => !c.is_zero(),
            };
            return if holds { Ok(()) } else { Err(Conflict) };
        };
        // poly is factor * form + constant.
        let Some(factor) = poly.terms[0].1.floor_div(&terms[0].1) else { return Ok(()) };
        let limit = -&poly.constant;
        let exact = limit.is_multiple_of(&factor);
        let Some(down) = limit.floor_div(&factor) else { return Ok(()) };
        let entry = self.forms.entry(terms);
        let index = entry.index();
        let known = entry.or_default();
        match relation {
            Relation::Eq if !exact => return Err(Conflict),
            Relation::Eq => {
                raise(&mut known.low, down.clone());
                lower(&mut known.high, down);
            }
            Relation::Ne if exact => {
                if !known.holes.contains(&down) {
                    known.holes.push(down);
                }
            }
            Relation::Ne => {}
            // factor * form <= limit.
            Relation::Le if factor.is_positive() => lower(&mut known.high, down),
            Relation::Le => raise(&mut known.low, if exact { down } else { &down + &Int::ONE }),
        }
        self.settle(index)
    }

    /// Moves the bounds of a form past its holes; a single value makes an equation.
    fn settle(&mut self, index: usize) -> Result<(), Conflict> {
        let Some((terms, known)) = self.forms.get_index_mut(index) else { return Ok(()) };
        loop {
            let at =
                |bound: &Option<Int>| bound.as_ref().and_then(|b| known.holes.iter().position(|h| h == b));
            if let Some(i) = at(&known.low) {
                known.low = known.low.as_ref().map(|v| v + &Int::ONE);
                known.holes.swap_remove(i);
            } else if let Some(i) = at(&known.high) {
                known.high = known.high.as_ref().map(|v| v - &Int::ONE);
                known.holes.swap_remove(i);
            } else {
                break;
            }
        }
        if let (Some(low), Some(high)) = (&known.low, &known.high) {
            if low > high {
                return Err(Conflict);
            }
            if low == high {
                self.queue.push(Poly { constant: -low, terms: terms.clone() });
            }
        }
        Ok(())
    }

    /// Solves an equation for a variable with coefficient ±1, or does one step of the extended Euclidean
    /// algorithm on it.
    fn solve(&mut self, equation: &Poly, fresh: &mut dyn FnMut() -> Expr) -> Result<(), Conflict> {
        let mut equation = self.reduce(equation);
        loop {
            let content = equation.content();
            if content.is_zero() {
                return if equation.constant.is_zero() { Ok(()) } else { Err(Conflict) };
            }
            equation = equation.exact_quotient(&content).ok_or(Conflict)?;
            let long = |(_, c): &(Expr, Int)| c.bits() > MAX_BITS;
            if self.solved.len() >= MAX_SOLVED || equation.terms.iter().any(long) {
                return Ok(());
            }
            // The newest of the variables with the least coefficient.
            let mut best = 0;
            for (j, (_, c)) in equation.terms.iter().enumerate() {
                if c.abs() <= equation.terms[best].1.abs() {
                    best = j;
                }
            }
            let (variable, a) = equation.terms[best].clone();
            let Some(divisor) = Divisor::of(&a) else { return Ok(()) };
            let mut value = Poly::constant(-divisor.quotient_of(&equation.constant));
            for (m, c) in &equation.terms {
                if *m != variable {
                    let q = divisor.quotient_of(c);
                    let term = Poly { constant: Int::ZERO, terms: [(*m, Int::ONE)].into_iter().collect() };
                    value = value.add_scaled(&term, &-q);
                }
            }
            if !a.abs().is_one() {
                let term = Poly { constant: Int::ZERO, terms: [(fresh(), Int::ONE)].into_iter().collect() };
                value = value.add_scaled(&term, &Int::ONE);
            }
            self.put(variable, value)?;
            if a.abs().is_one() {
                return Ok(());
            }
            equation = self.reduce(&equation);
        }
    }

    /// Replaces a variable in every form.
    fn put(&mut self, variable: Expr, value: Poly) -> Result<(), Conflict> {
        self.solved.insert(variable, value);
        let affected: Vec<Terms> =
            self.forms.keys().filter(|t| t.iter().any(|(m, _)| *m == variable)).cloned().collect();
        for terms in affected {
            let Some(known) = self.forms.shift_remove(&terms) else { continue };
            let form = Poly { constant: Int::ZERO, terms };
            let at = |v: &Int| form.add_scaled(&Poly::constant(v.clone()), &Int::from(-1));
            if let Some(high) = &known.high {
                self.insert(Relation::Le, &at(high))?;
            }
            if let Some(low) = &known.low {
                self.insert(Relation::Le, &at(low).scaled(&Int::from(-1)))?;
            }
            for hole in &known.holes {
                self.insert(Relation::Ne, &at(hole))?;
            }
        }
        Ok(())
    }
}

/// The terms divided by their common factor, the first coefficient positive; `None` for a constant.
fn normal_terms(poly: &Poly) -> Option<Terms> {
    let first = poly.terms.first()?;
    let content = poly.content();
    let content = if first.1.is_negative() { -content } else { content };
    let content = Divisor::of(&content)?;
    Some(poly.terms.iter().map(|(m, c)| (*m, content.quotient_of(c))).collect())
}

fn raise(bound: &mut Option<Int>, v: Int) {
    if bound.as_ref().is_none_or(|b| *b < v) {
        *bound = Some(v);
    }
}

fn lower(bound: &mut Option<Int>, v: Int) {
    if bound.as_ref().is_none_or(|b| *b > v) {
        *bound = Some(v);
    }
}
