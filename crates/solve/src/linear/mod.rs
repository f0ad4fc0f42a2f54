//! Linear integer reasoning over atoms, with case splits.
//!
//! It shows that a conjunction has no solution. Literals become bounds of linear forms over monomials taken
//! as variables ([`forms`]), the definitions of quotients, minima and products become further constraints
//! ([`lemmas`]), the table of domains adds intervals and congruences, and the simplex method looks for a
//! rational solution ([`simplex`]). If there is one, it either is a solution of the conjunction (the caller
//! replays it), or shows where to branch: a disjunction, a value that is excluded, a fraction, or a product
//! that differs from the product of its factors.
mod forms;
mod lemmas;
mod lenstra;
mod plain;
mod products;
mod rational;
mod simplex;
mod splitting;
mod summands;

pub(super) use lenstra::narrow_cases;
pub(super) use plain::infeasible;
pub(super) use summands::summands;

use super::reduce::Reduced;
use forms::{Conflict, Forms, Relation};
use num_rational::BigRational;
use rational::Small;
use rustc_hash::{FxHashMap, FxHashSet};
use simplex::{Feasibility, System};
use sizewise_expr::range::DomainTable;
use sizewise_expr::{Divisor, Evaluator, Expr, Func, Int, Node, Poly, Pool, Sort, Symbol, Value};

/// Splits below one another.
const MAX_DEPTH: u32 = 14;
/// Disjunctions of more cases are not split.
const MAX_CASES: usize = 12;
/// The terms that the envelopes of a product have.
const ENVELOPE_TERMS: usize = 12;
/// Larger systems are not put to the simplex method.
const MAX_CELLS: usize = 20_000;

/// The result for a conjunction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Relaxed {
    /// It has no solution.
    Closed,
    /// A candidate: values of the reduced problem's symbols that satisfy its conditions.
    Candidate(FxHashMap<Symbol, Int>),
    /// Neither was shown.
    Open,
}

/// Work still allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Branches that may be opened.
    pub branches: u32,
    /// Entries of tableaus that may be changed.
    pub work: u32,
}

/// Looks for a contradiction or a solution of a reduced problem.
pub(super) fn refute(pool: &mut Pool, problem: &mut Reduced, effort: &mut Effort) -> Relaxed {
    if problem.contradiction {
        return Relaxed::Closed;
    }
    let conditions = problem.conditions.clone();
    let mut done = FxHashSet::default();
    let mut literals = conditions.clone();
    // Definitions bring products, products bring no atoms: two rounds see everything.
    for _ in 0..2 {
        let more = lemmas::definitions(pool, &mut problem.table, &literals, &mut done);
        literals.extend(more);
    }
    if pool.is_spent() {
        return Relaxed::Open;
    }
    let more = products::multiplied(pool, &mut problem.table, &literals);
    literals.extend(more);
    let products = lemmas::products(pool, &literals);
    let symbols = problem.ranges(pool).into_iter().map(|(s, _)| s).collect();
    let mut solver = Solver {
        pool,
        table: &mut problem.table,
        conditions,
        products,
        symbols,
        effort,
        fresh: 0,
        candidates: 0,
    };
    solver.branch(Branch::default(), literals, 0)
}

/// A branch of the search.
#[derive(Clone, Default)]
struct Branch {
    forms: Forms,
    /// Disjunctions that none of the branch's literals settles.
    clauses: Vec<Vec<Expr>>,
    /// Variables split so far.
    splits: Vec<Expr>,
}

struct Solver<'a> {
    pool: &'a mut Pool,
    table: &'a mut DomainTable,
    /// The problem's own conditions, which a solution has to satisfy.
    conditions: Vec<Expr>,
    products: Vec<(Expr, Expr, Expr)>,
    symbols: Vec<Symbol>,
    effort: &'a mut Effort,
    fresh: usize,
    candidates: u32,
}

/// A rational solution.
#[derive(Clone, Debug, Default)]
struct Vertex {
    /// By variable: the floor of its value and whether that is the value.
    values: FxHashMap<Expr, (Int, bool)>,
    /// Sums at an end of their bounds, with that end.
    tight: Vec<(Poly, Int)>,
}

/// A linear form with its bounds.
type BoundedForm = (Poly, simplex::VariableBounds);

enum Split {
    /// Alternatives of which one holds.
    Cases(Vec<Expr>),
    /// `p <= 0` or `p >= 1`.
    At(Poly),
    /// `p >= 0` or `p <= -1`.
    From(Poly),
}

impl Solver<'_> {
    fn branch(&mut self, node: Branch, literals: Vec<Expr>, depth: u32) -> Relaxed {
        let mark = self.table.mark();
        let outcome = self.examine(node, literals, depth);
        self.table.undo(mark);
        outcome
    }

    fn examine(&mut self, mut node: Branch, literals: Vec<Expr>, depth: u32) -> Relaxed {
        if self.add(&mut node, literals).is_err() || self.settle_clauses(&mut node).is_err() {
            return Relaxed::Closed;
        }
        self.pool.charge(node.forms.take_written());
        if self.pool.is_spent() {
            return Relaxed::Open;
        }
        let vertex = match self.relax(&mut node) {
            Err(Conflict) => return Relaxed::Closed,
            Ok(vertex) => vertex,
        };
        if let Some((vertex, rows)) = &vertex {
            let mut found = self.candidate(&node, vertex);
            if found.is_none() && vertex.values.values().any(|(_, whole)| !whole) {
                found = self.inner_point(rows).and_then(|inner| self.candidate(&node, &inner));
            }
            if let Some(values) = found {
                return Relaxed::Candidate(values);
            }
        }
        let vertex = vertex.map(|(vertex, _)| vertex);
        if depth >= MAX_DEPTH {
            return Relaxed::Open;
        }
        let cases: Vec<Vec<Expr>> = match self.choose(&mut node, vertex.as_ref()) {
            None => return Relaxed::Open,
            Some(Split::Cases(cases)) => cases.into_iter().map(|c| vec![c]).collect(),
            Some(Split::From(p)) => {
                let p = self.pool.from_poly(&p);
                vec![vec![self.pool.ge(p, Expr::ZERO)], vec![self.pool.lt(p, Expr::ZERO)]]
            }
            Some(Split::At(p)) => {
                let p = self.pool.from_poly(&p);
                vec![vec![self.pool.le(p, Expr::ZERO)], vec![self.pool.lt(Expr::ZERO, p)]]
            }
        };
        for case in cases {
            match self.effort.branches.checked_sub(1) {
                Some(left) => self.effort.branches = left,
                None => return Relaxed::Open,
            }
            match self.branch(node.clone(), case, depth + 1) {
                Relaxed::Closed => {}
                other => return other,
            }
        }
        Relaxed::Closed
    }

    fn add(&mut self, node: &mut Branch, literals: Vec<Expr>) -> Result<(), Conflict> {
        let mut waiting = literals;
        waiting.reverse();
        while let Some(e) = waiting.pop() {
            self.pool.charge(node.forms.take_written());
            if self.pool.is_spent() {
                return Ok(());
            }
            match self.pool.as_bool(e) {
                Some(true) => continue,
                Some(false) => return Err(Conflict),
                None => {}
            }
            // The problem's own conditions are known to the table.
            if self.table.decide(self.pool, e) != Some(true) && self.table.assume(self.pool, e).is_err() {
                return Err(Conflict);
            }
            let (relation, p) = match self.pool.as_call(e) {
                Some((Func::And, parts)) => {
                    waiting.extend_from_slice(parts);
                    continue;
                }
                Some((Func::Or, parts)) => {
                    node.clauses.push(parts.to_vec());
                    continue;
                }
                Some((Func::IsZero, args)) => (Relation::Eq, args[0]),
                Some((Func::NotPositive, args)) => (Relation::Le, args[0]),
                Some((Func::Not, args)) => match self.pool.as_func(args[0], Func::IsZero) {
                    Some(args) => (Relation::Ne, args[0]),
                    None => continue,
                },
                _ => continue,
            };
            self.constrain(node, relation, &self.pool.poly(p))?;
        }
        Ok(())
    }

    fn constrain(&mut self, node: &mut Branch, relation: Relation, poly: &Poly) -> Result<(), Conflict> {
        let (pool, fresh) = (&mut *self.pool, &mut self.fresh);
        node.forms.add(relation, poly, &mut || {
            *fresh += 1;
            pool.symbol_of_sort(&format!("%%{fresh}"), Sort::Int)
        })
    }

    /// Drops cases that the table excludes and disjunctions that it settles; a single case left is a literal.
    fn settle_clauses(&mut self, node: &mut Branch) -> Result<(), Conflict> {
        loop {
            let mut units = Vec::new();
            let clauses = std::mem::take(&mut node.clauses);
            for mut clause in clauses {
                let mut holds = None;
                clause.retain(|&case| match self.table.decide(self.pool, case) {
                    Some(true) => {
                        holds = Some(case);
                        true
                    }
                    Some(false) => false,
                    None => true,
                });
                match clause.as_slice() {
                    // What holds by the table may be new to the forms.
                    _ if holds.is_some() => units.extend(holds),
                    [] => return Err(Conflict),
                    [only] => units.push(*only),
                    _ => node.clauses.push(clause),
                }
            }
            if units.is_empty() {
                return Ok(());
            }
            self.add(node, units)?;
        }
    }

    /// Compares forms with the table's intervals and looks for a rational solution.
    fn relax(&mut self, node: &mut Branch) -> Result<Option<(Vertex, Vec<BoundedForm>)>, Conflict> {
        // Variables that the table knows the value of become constants.
        let mut variables: Vec<Expr> =
            node.forms.iter().flat_map(|(terms, _)| terms.iter().map(|(m, _)| *m)).collect();
        variables.sort_unstable();
        variables.dedup();
        for &v in &variables {
            self.pool.charge(node.forms.take_written());
            if self.pool.is_spent() {
                return Ok(None);
            }
            if let Some(value) = self.table.domain(self.pool, v).as_point() {
                let poly = Poly { constant: -value, terms: [(v, Int::ONE)].into_iter().collect() };
                self.constrain(node, Relation::Eq, &poly)?;
            }
        }
        let mut rows: Vec<BoundedForm> = Vec::new();
        for (terms, known) in node.forms.iter() {
            let poly = Poly { constant: Int::ZERO, terms: terms.clone() };
            rows.push((poly, (known.low.clone(), known.high.clone())));
        }
        for product in &self.products {
            if self.pool.is_spent() {
                break;
            }
            self.pool.charge(ENVELOPE_TERMS);
            for p in lemmas::envelopes(self.pool, self.table, product) {
                let p = node.forms.reduce(&p);
                if p.terms.is_empty() {
                    if p.constant.is_negative() {
                        return Err(Conflict);
                    }
                    continue;
                }
                let least = -&p.constant;
                rows.push((Poly { constant: Int::ZERO, terms: p.terms }, (Some(least), None)));
            }
        }
        // Solved variables keep the bounds that the table has for them.
        for (&v, value) in node.forms.solved() {
            let range = self.table.domain(self.pool, v).range;
            let (low, high) = (range.lo.finite(), range.hi.finite());
            if low.is_some() || high.is_some() {
                let value = node.forms.reduce(value);
                let shift = |b: &Int| b - &value.constant;
                let limits = (low.map(shift), high.map(shift));
                if value.terms.is_empty() {
                    let outside = limits.0.is_some_and(|l| l.is_positive())
                        || limits.1.is_some_and(|h| h.is_negative());
                    if outside {
                        return Err(Conflict);
                    }
                    continue;
                }
                rows.push((Poly { constant: Int::ZERO, terms: value.terms }, limits));
            }
        }
        // Each row is written, copied and read several times.
        let terms: usize = rows.iter().map(|(poly, _)| 4 * poly.terms.len()).sum();
        self.pool.charge(terms + node.forms.take_written());
        if self.pool.is_spent() {
            return Ok(None);
        }
        Ok(self.simplex(&rows)?.map(|vertex| (vertex, rows)))
    }

    /// A point so far inside all constraints that rounding down leaves none of them, if there is one.
    fn inner_point(&mut self, rows: &[BoundedForm]) -> Option<Vertex> {
        let mut shrunk = rows.to_vec();
        for (poly, (low, high)) in &mut shrunk {
            if poly.terms.len() == 1 {
                continue;
            }
            // Rounding down lowers the positive terms, and raises the negative ones, by less than their coefficients.
            for (_, c) in &poly.terms {
                let bound = if c.is_positive() { &mut *low } else { &mut *high };
                if let Some(b) = bound {
                    *b = &*b + c;
                }
            }
        }
        let r = self.simplex(&shrunk);
        r.ok().flatten()
    }

    fn simplex(&mut self, rows: &[BoundedForm]) -> Result<Option<Vertex>, Conflict> {
        let mut sums: Vec<(&Poly, &simplex::VariableBounds)> = Vec::new();
        let mut index: FxHashMap<Expr, usize> = FxHashMap::default();
        let mut names = Vec::new();
        let mut system = System::default();
        for (poly, limits) in rows {
            let mut terms = Vec::with_capacity(poly.terms.len());
            for (m, c) in &poly.terms {
                let next = names.len();
                let column = *index.entry(*m).or_insert(next);
                if column == next {
                    names.push(*m);
                    let range = self.table.domain(self.pool, *m).range;
                    system.variables.push((range.lo.finite().cloned(), range.hi.finite().cloned()));
                }
                terms.push((column, c.clone()));
            }
            match terms.as_slice() {
                [(column, c)] => {
                    let Some(divisor) = Divisor::of(c) else { continue };
                    let own = &mut system.variables[*column];
                    let (mut low, mut high) = limits.clone();
                    if c.is_negative() {
                        std::mem::swap(&mut low, &mut high);
                    }
                    if let Some(l) = low.as_ref().map(|b| divisor.ceiling_of(b)) {
                        own.0 = Some(own.0.take().map_or(l.clone(), |o| o.max(l)));
                    }
                    if let Some(h) = high.as_ref().map(|b| divisor.quotient_of(b)) {
                        own.1 = Some(own.1.take().map_or(h.clone(), |o| o.min(h)));
                    }
                }
                _ if limits.0.is_none() && limits.1.is_none() => {}
                _ => {
                    system.rows.push((terms, limits.clone()));
                    sums.push((poly, limits));
                }
            }
        }
        if system.variables.len() * system.rows.len() > MAX_CELLS {
            return Ok(None);
        }
        let mut found = system.check::<Small>(&mut self.effort.work);
        if found == Feasibility::Open {
            found = system.check::<BigRational>(&mut self.effort.work);
        }
        match found {
            Feasibility::Infeasible(_) => Err(Conflict),
            Feasibility::Open => Ok(None),
            Feasibility::Feasible(values) => {
                let tight = sums
                    .iter()
                    .zip(&values[names.len()..])
                    .filter(|((_, (low, high)), (v, whole))| {
                        *whole && (low.as_ref() == Some(v) || high.as_ref() == Some(v))
                    })
                    .map(|((poly, _), (v, _))| ((*poly).clone(), v.clone()))
                    .collect();
                Ok(Some(Vertex { values: names.into_iter().zip(values).collect(), tight }))
            }
        }
    }
}
