//! The search for a contradiction: equations are used up, what is linear goes to the simplex method, products and cases
//! are tried.
use super::simplex::{Number, Outcome, Simplex};
use super::state::{MAX_TERMS, Path, Search, State, contains};
use super::step::{Case, Line, ProofStep};
use super::{integers, products};
use num_bigint::BigInt;
use num_traits::{One, Signed};
use sizewise_certificate::{Fact, Monomial, Poly, Var};
use std::collections::BTreeSet;

/// The deepest nesting of cases.
const MAX_DEPTH: usize = 60;
/// The most cases below and above a value, one within the other.
const MAX_CUTS: usize = 12;
/// The most rewriting of one fact.
const MAX_REWRITES: usize = 40;

impl Search {
    /// A proof that facts from number `from` on contradict those of the state.
    pub fn refute<T: Number>(
        &mut self,
        mut state: State<T>,
        new: Vec<usize>,
        depth: usize,
    ) -> Option<Vec<Line>> {
        let mut path = Path { lines: Vec::new(), closed: false };
        let mut queue = new;
        let mut round = 0;
        loop {
            if !self.spend(state.size()) {
                return None;
            }
            self.absorb(&mut state, &mut path, queue);
            if path.closed || self.linear(&mut state, &mut path) {
                return Some(path.lines);
            }
            if depth >= MAX_DEPTH {
                return None;
            }
            queue = integers::simplify(self, &mut state, &mut path);
            if !queue.is_empty() {
                continue;
            }
            // Cases that leave at most one.
            let (mut best, mut fewest) = (None, usize::MAX);
            for at in state.open.clone() {
                let alive = self.alive(&state, at, 2.max(fewest.min(4)));
                if alive < fewest {
                    (best, fewest) = (Some(at), alive);
                }
                if fewest <= 1 {
                    break;
                }
            }
            if let (Some(at), 0 | 1) = (best, fewest) {
                return self.split(&state, path, at, depth);
            }
            queue = products::more(self, &mut state, &mut path, round);
            if !queue.is_empty() {
                round += 1;
                continue;
            }
            if self.modulo(&state, &mut path) {
                return Some(path.lines);
            }
            return match best {
                Some(at) => self.split(&state, path, at, depth),
                None => self.cut(state, path, depth),
            };
        }
    }

    /// Takes facts in: reduces them by the equations, and the others by new equations.
    fn absorb<T: Number>(&mut self, state: &mut State<T>, path: &mut Path, mut queue: Vec<usize>) {
        queue.reverse();
        while let Some(at) = queue.pop() {
            if path.closed || !self.spend(5) {
                return;
            }
            let at = match &self.facts[at] {
                Fact::Any(parts) if parts.is_empty() => {
                    path.lines.push(Line { fact: at, step: ProofStep::Contradiction(at) });
                    path.closed = true;
                    return;
                }
                Fact::Any(_) => {
                    state.open.push(at);
                    continue;
                }
                Fact::All(_) => continue,
                Fact::Ge(_) | Fact::Eq(_) => {
                    let reduced = self.reduced(state, path, at);
                    // What an equation was solved for stays gone, or two equations undo each other.
                    if let Some(&v) = state.solve_for.get(&at) {
                        state.solve_for.insert(reduced, v);
                    }
                    reduced
                }
            };
            match &self.facts[at] {
                Fact::Ge(p) => {
                    if !state.active.iter().any(|&other| self.facts[other] == self.facts[at]) {
                        state.simplex.add(p, false, at);
                        state.active.push(at);
                    }
                }
                Fact::Eq(p) => {
                    let known = state.solve_for.get(&at).map(|v| vec![(*v, 1)]);
                    let leading = known.filter(|m| is_solved_by(p, m)).or_else(|| leading(p));
                    state.simplex.add(p, true, at);
                    if let Some(leading) = leading {
                        // What has this monomial is reduced again.
                        let divides = |m: &Monomial| contains(m, &leading).is_some();
                        let (again, rest): (Vec<usize>, Vec<usize>) = state.active.iter().copied().partition(|&f| {
                            matches!(&self.facts[f], Fact::Ge(p) | Fact::Eq(p) if p.terms.keys().any(divides))
                        });
                        state.stale |= !again.is_empty();
                        state.active = rest;
                        // An equation is not reduced by itself: what it says would be lost.
                        for (m, source) in state.rules.extract_if(.., |(_, source)| again.contains(source)) {
                            if let [(v, 1)] = m.as_slice() {
                                state.solve_for.insert(source, *v);
                            }
                        }
                        state.rules.push((leading, at));
                        queue.extend(again);
                    }
                    state.active.push(at);
                }
                Fact::Any(parts) if parts.is_empty() => {}
                Fact::Any(_) => state.open.push(at),
                Fact::All(_) => {}
            }
        }
    }

    /// The fact after the equations were used, as a step if they change it.
    fn reduced<T: Number>(&mut self, state: &State<T>, path: &mut Path, at: usize) -> usize {
        let (p, equation) = match &self.facts[at] {
            Fact::Ge(p) => (p, false),
            Fact::Eq(p) => (p, true),
            _ => return at,
        };
        let work = p.terms.len() * (1 + state.rules.len());
        let rewritten = self.rewrite(state, p);
        self.spend(work as u64 / 2);
        let Some((reduced, mut parts)) = rewritten else { return at };
        self.spend(10 * (parts.len() * reduced.terms.len()) as u64);
        parts.push((Poly::constant(1), at));
        let fact = if equation { Fact::equal(&reduced) } else { Fact::at_least(&reduced) };
        self.conclude(path, ProofStep::Combine(parts), fact)
    }

    /// A polynomial with the monomials of equations replaced, and the multiples of equations that were added.
    fn rewrite<T: Number>(&self, state: &State<T>, p: &Poly) -> Option<(Poly, Vec<(Poly, usize)>)> {
        let mut p = p.clone();
        let mut parts: Vec<(Poly, usize)> = Vec::new();
        'again: for _ in 0..MAX_REWRITES {
            for (leading, at) in &state.rules {
                let Fact::Eq(equation) = &self.facts[*at] else { continue };
                let unit = equation.terms.get(leading)?.clone();
                // All monomials that contain it at once.
                let mut factor = Poly::default();
                for (monomial, c) in &p.terms {
                    if let Some(rest) = contains(monomial, leading) {
                        factor.add_term(rest, -(c * &unit));
                    }
                }
                if factor.terms.is_empty() {
                    continue;
                }
                p = p.plus(&factor.product(equation)?);
                if p.terms.len() > MAX_TERMS {
                    return None;
                }
                match parts.iter_mut().find(|(_, f)| f == at) {
                    Some((known, _)) => *known = known.plus(&factor),
                    None => parts.push((factor, *at)),
                }
                continue 'again;
            }
            break;
        }
        (!parts.is_empty()).then_some((p, parts))
    }

    /// Whether the linear facts contradict each other; then that is a step.
    fn linear<T: Number>(&mut self, state: &mut State<T>, path: &mut Path) -> bool {
        if state.stale {
            state.simplex = Simplex::default();
            for &at in &state.active {
                match &self.facts[at] {
                    Fact::Ge(p) => state.simplex.add(p, false, at),
                    Fact::Eq(p) => state.simplex.add(p, true, at),
                    _ => {}
                }
            }
            state.stale = false;
        }
        match state.simplex.check(&mut self.fuel) {
            Outcome::Conflict(parts) => {
                let parts: Vec<(Poly, usize)> =
                    parts.into_iter().map(|(c, f)| (Poly::constant(c), f)).collect();
                self.conclude(path, ProofStep::Combine(parts), Fact::FALSE);
                true
            }
            Outcome::Stopped => {
                self.overflowed |= self.fuel > 0;
                false
            }
            Outcome::Feasible => false,
        }
    }

    /// How many parts of a disjunction do not contradict the linear facts; counts no further than `enough`.
    fn alive<T: Number>(&mut self, state: &State<T>, at: usize, enough: usize) -> usize {
        let Fact::Any(parts) = self.facts[at].clone() else { return 0 };
        let known = self.facts.len();
        let mut alive = 0;
        for part in parts {
            if !self.spend(state.size()) {
                return usize::MAX;
            }
            let mut inner = state.clone();
            let mut path = Path { lines: Vec::new(), closed: false };
            let new = self.assume(part);
            self.absorb(&mut inner, &mut path, new);
            if !path.closed && !self.linear(&mut inner, &mut path) {
                alive += 1;
            }
            self.facts.truncate(known);
            if alive >= enough {
                break;
            }
        }
        alive
    }

    /// Adds the facts of a case.
    fn assume(&mut self, fact: Fact) -> Vec<usize> {
        let first = self.facts.len();
        match fact {
            Fact::All(parts) => self.facts.extend(parts),
            fact => self.facts.push(fact),
        }
        (first..self.facts.len()).collect()
    }

    /// A proof for a case.
    fn case<T: Number>(&mut self, state: &State<T>, fact: Fact, depth: usize) -> Option<Case> {
        let first = self.facts.len();
        let new = self.assume(fact);
        let facts = new.len();
        let lines = self.refute(state.clone(), new, depth + 1);
        self.facts.truncate(first);
        Some(Case { first, facts, lines: lines? })
    }

    fn split<T: Number>(
        &mut self,
        state: &State<T>,
        mut path: Path,
        at: usize,
        depth: usize,
    ) -> Option<Vec<Line>> {
        let Fact::Any(parts) = self.facts[at].clone() else { return None };
        let mut inner = state.clone();
        inner.open.retain(|open| *open != at);
        inner.rounds = inner.rounds.min(2);
        let mut cases = Vec::new();
        for part in parts {
            cases.push(self.case(&inner, part, depth)?);
        }
        path.lines.push(Line { fact: self.facts.len(), step: ProofStep::Split(at, cases) });
        Some(path.lines)
    }

    /// Cases below and above a value that is no integer.
    fn cut<T: Number>(&mut self, mut state: State<T>, mut path: Path, depth: usize) -> Option<Vec<Line>> {
        let (p, k) = match integers::factored(self, &state) {
            // One of the cases is contradictory at once.
            Some(cut) => cut,
            None => {
                state.cuts += 1;
                if state.cuts > MAX_CUTS {
                    return None;
                }
                integers::cut(self, &state).or_else(|| state.simplex.fractional())?
            }
        };
        let below = p.negated().plus(&Poly::constant(k.clone()));
        let above = p.minus(&Poly::constant(&k + 1));
        state.rounds = 0;
        let below = self.case(&state, Fact::at_least(&below), depth)?;
        let above = self.case(&state, Fact::at_least(&above), depth)?;
        path.lines
            .push(Line { fact: self.facts.len(), step: ProofStep::Cut(p, k, Box::new([below, above])) });
        Some(path.lines)
    }

    /// Whether an equation has no solution modulo a small number.
    fn modulo<T: Number>(&mut self, state: &State<T>, path: &mut Path) -> bool {
        for &at in &state.active {
            let Fact::Eq(p) = &self.facts[at] else { continue };
            let p = p.clone();
            for m in moduli(&p) {
                let open: BTreeSet<Var> =
                    reduced_terms(&p, m).flat_map(|(mono, _)| mono.iter().map(|(v, _)| *v)).collect();
                let points = (0..open.len()).try_fold(1u64, |all, _| all.checked_mul(m));
                let Some(points) = points.filter(|points| *points <= 5_000) else { continue };
                if !self.spend(points * p.terms.len() as u64) {
                    return false;
                }
                if has_no_root(&p, m, &open) {
                    path.lines.push(Line { fact: self.facts.len(), step: ProofStep::Modulo(m, vec![at]) });
                    return true;
                }
            }
        }
        false
    }
}

fn reduced_terms(p: &Poly, m: u64) -> impl Iterator<Item = (&Monomial, u64)> {
    let reduced = move |c: &BigInt| u64::try_from(((c % m) + m) % m).unwrap_or(0);
    p.terms.iter().map(move |(mono, c)| (mono, reduced(c))).filter(|(_, c)| *c != 0)
}

fn has_no_root(p: &Poly, m: u64, vars: &BTreeSet<Var>) -> bool {
    let terms: Vec<(&Monomial, u64)> = reduced_terms(p, m).collect();
    let vars: Vec<Var> = vars.iter().copied().collect();
    let mut at = vec![0u64; vars.len()];
    loop {
        let value = |v: &Var| vars.iter().position(|w| w == v).map_or(0, |i| at[i]);
        let power = |all: u64, (v, k): &(Var, u32)| (0..*k).fold(all, |all, _| all * value(v) % m);
        let sum = terms.iter().fold(0, |sum, (mono, c)| (sum + mono.iter().fold(*c, power)) % m);
        if sum == 0 {
            return false;
        }
        let Some(i) = at.iter().position(|r| r + 1 < m) else { return true };
        at[..i].fill(0);
        at[i] += 1;
    }
}

/// Moduli that may show that an equation has no solution.
fn moduli(p: &Poly) -> Vec<u64> {
    let mut moduli = BTreeSet::new();
    for (mono, c) in &p.terms {
        if let Ok(c) = u64::try_from(c.abs())
            && !mono.is_empty()
        {
            moduli.extend([c, c.saturating_mul(2)]);
            moduli.extend([2, 3, 4, 5, 7, 8, 9, 16].iter().filter(|m| c % **m == 0));
        }
    }
    moduli.extend([2, 3, 4, 5, 7, 8, 9, 16]);
    moduli.into_iter().filter(|m| (2..=5_000).contains(m)).collect()
}

/// Whether a monomial is a variable for which an equation can be solved: its coefficient is 1 or -1, and it is nowhere
/// else.
pub fn is_solved_by(p: &Poly, monomial: &Monomial) -> bool {
    let [(variable, 1)] = monomial.as_slice() else { return false };
    p.terms.get(monomial).is_some_and(|c| c.magnitude().is_one())
        && p.terms.keys().filter(|other| other.iter().any(|(v, _)| v == variable)).count() == 1
}

/// The monomial that an equation replaces: a variable that is nowhere else in it, or a product.
fn leading(p: &Poly) -> Option<Monomial> {
    let unit = |c: &BigInt| c.abs().is_one();
    if let Some(variable) = p.terms.keys().rev().find(|m| is_solved_by(p, m)) {
        return Some(variable.clone());
    }
    let degree = |m: &Monomial| m.iter().map(|(_, k)| *k).sum::<u32>();
    let highest = p.terms.keys().max_by_key(|m| (degree(m), (*m).clone()))?;
    let divides_other = p.terms.keys().any(|m| m != highest && contains(m, highest).is_some());
    (unit(&p.terms[highest]) && degree(highest) > 1 && !divides_other).then(|| highest.clone())
}
