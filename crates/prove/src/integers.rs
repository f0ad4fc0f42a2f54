//! What holds of integers and not of rationals: bounds rounded to integers, equations solved, factors cancelled.
use super::simplex::Number;
use super::state::{Path, Search, State, constant_sum, contains, is_parallel};
use super::step::ProofStep;
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};
use sizewise_certificate::{Fact, Monomial, Poly, Var};
use std::collections::BTreeMap;

/// The most rounds of rounding in a case.
const MAX_ROUNDS: usize = 4;
/// The most facts of a round.
const MAX_NEW: usize = 30;
/// Larger facts are left alone.
const MAX_TERMS: usize = 12;

/// The greatest lower and the least upper bound of monomials, each with its fact: `m - k >= 0`, `k - m >= 0`.
pub type Bounds = BTreeMap<Monomial, [Option<(BigInt, usize)>; 2]>;

/// The bounds that active facts state.
pub fn bounds<T: Number>(search: &Search, state: &State<T>) -> Bounds {
    let mut bounds = Bounds::new();
    for &at in &state.active {
        let Fact::Ge(p) = &search.facts[at] else { continue };
        let mut variables = p.terms.iter().filter(|(m, _)| !m.is_empty());
        let (Some((monomial, c)), None) = (variables.next(), variables.next()) else { continue };
        let k = p.constant_part();
        let entry = bounds.entry(monomial.clone()).or_default();
        if c.is_one() {
            if entry[0].as_ref().is_none_or(|(old, _)| *old < -&k) {
                entry[0] = Some((-k, at));
            }
        } else if entry[1].as_ref().is_none_or(|(old, _)| k < *old) {
            entry[1] = Some((k, at));
        }
    }
    bounds
}

/// Facts that follow at once: opposite inequalities are equations, equations without a unit are solved, positive
/// factors are cancelled, bounds are rounded.
pub fn simplify<T: Number>(search: &mut Search, state: &mut State<T>, path: &mut Path) -> Vec<usize> {
    let mut new = equate(search, state, path);
    if new.is_empty() {
        new = solve(search, state, path);
    }
    if new.is_empty() {
        new = cancel(search, state, path);
    }
    if new.is_empty() && state.rounds < MAX_ROUNDS {
        state.rounds += 1;
        new = tighten(search, state, path);
    }
    new
}

fn equate<T: Number>(search: &mut Search, state: &State<T>, path: &mut Path) -> Vec<usize> {
    let mut new = Vec::new();
    search.spend((state.active.len() * state.active.len()) as u64 / 8);
    for (i, &a) in state.active.iter().enumerate() {
        for &b in &state.active[i + 1..] {
            let (Fact::Ge(p), Fact::Ge(q)) = (&search.facts[a], &search.facts[b]) else { continue };
            if constant_sum(p, q).is_some_and(|sum| sum.is_zero()) {
                let fact = Fact::equal(p);
                new.push(search.conclude(path, ProofStep::Equal(a, b), fact));
            }
        }
    }
    new
}

/// One step of Euclid's algorithm on the coefficients of an equation.
fn solve<T: Number>(search: &mut Search, state: &mut State<T>, path: &mut Path) -> Vec<usize> {
    for &at in &state.active {
        let Fact::Eq(p) = &search.facts[at] else { continue };
        if state.named >= 24 || p.terms.len() > MAX_TERMS {
            continue;
        }
        let alone = |v: Var| p.terms.keys().filter(|m| m.iter().any(|(w, _)| *w == v)).count() == 1;
        let linear = |m: &Monomial| m.len() == 1 && m[0].1 == 1 && alone(m[0].0);
        let units = p.terms.iter().any(|(m, c)| linear(m) && c.abs().is_one());
        let least = p.terms.iter().filter(|(m, _)| linear(m)).min_by_key(|(_, c)| c.abs());
        let (Some((monomial, a)), false) = (least, units) else { continue };
        let mut alias = Poly::default();
        for (m, c) in &p.terms {
            if !m.is_empty() {
                let half: BigInt = a.abs() / 2;
                alias.add_term(m.clone(), (c + half * a.signum()).div_floor(a));
            }
        }
        let x = monomial[0].0;
        let at = search.give_name(alias, path);
        state.named += 1;
        state.solve_for.insert(at, x);
        return vec![at];
    }
    Vec::new()
}

/// Cancels a variable that is positive and divides a fact.
fn cancel<T: Number>(search: &mut Search, state: &State<T>, path: &mut Path) -> Vec<usize> {
    let bounds = bounds(search, state);
    let mut new = Vec::new();
    for &at in &state.active {
        let (Fact::Ge(p) | Fact::Eq(p)) = &search.facts[at] else { continue };
        let Some((first, _)) = p.terms.iter().next() else { continue };
        if p.terms.len() < 2 {
            continue;
        }
        for (var, _) in first.clone() {
            let Some([Some((low, positive)), _]) = bounds.get(&vec![(var, 1)]) else { continue };
            if !low.is_positive() {
                continue;
            }
            let divided = |(m, c): (&Monomial, &BigInt)| Some((contains(m, &vec![(var, 1)])?, c.clone()));
            let Some(terms) = p.terms.iter().map(divided).collect::<Option<BTreeMap<_, _>>>() else {
                continue;
            };
            let quotient = Poly { terms };
            let equation = matches!(&search.facts[at], Fact::Eq(_));
            let fact = if equation { Fact::equal(&quotient) } else { Fact::at_least(&quotient) };
            if !state.active.iter().any(|&other| search.facts[other] == fact) {
                new.push(search.conclude(
                    path,
                    ProofStep::Divide(at, quotient, *positive, low.clone()),
                    fact,
                ));
            }
            break;
        }
    }
    new
}

/// Bounds of what is left when terms are replaced by theirs, where rounding makes them better than they are over the
/// rationals, or where products need them.
fn tighten<T: Number>(search: &mut Search, state: &State<T>, path: &mut Path) -> Vec<usize> {
    let bounds = bounds(search, state);
    let factors: Vec<Var> = nonlinear(search, state);
    let mut new = Vec::new();
    for &at in &state.active {
        let Fact::Ge(p) = &search.facts[at] else { continue };
        if p.terms.len() < 2 || p.terms.len() > MAX_TERMS || new.len() >= MAX_NEW {
            continue;
        }
        let p = p.clone();
        let mut divisors: Vec<BigInt> = p
            .terms
            .iter()
            .filter(|(m, c)| !m.is_empty() && !c.abs().is_one())
            .map(|(_, c)| c.abs())
            .collect();
        divisors.sort();
        divisors.dedup();
        search.fuel = search.fuel.saturating_sub(10);
        for g in divisors {
            new.extend(without(search, state, path, &bounds, (at, &p), &|_, c| c.is_multiple_of(&g)));
        }
        let wanted: Vec<Monomial> = p
            .terms
            .keys()
            .filter(|m| m.len() == 1 && m[0].1 == 1 && factors.contains(&m[0].0))
            .cloned()
            .collect();
        for monomial in wanted {
            new.extend(without(search, state, path, &bounds, (at, &p), &|m, _| *m == monomial));
        }
    }
    new
}

/// The variables of products.
pub fn nonlinear<T: Number>(search: &Search, state: &State<T>) -> Vec<Var> {
    let mut vars = Vec::new();
    for &at in &state.active {
        if let Fact::Ge(p) | Fact::Eq(p) = &search.facts[at] {
            for m in p.terms.keys().filter(|m| m.iter().map(|(_, k)| *k).sum::<u32>() > 1) {
                vars.extend(m.iter().map(|(v, _)| *v));
            }
        }
    }
    vars.sort_unstable();
    vars.dedup();
    vars
}

/// Adds the fact in which every term that is not kept has been replaced by its bound.
fn without<T: Number>(
    search: &mut Search,
    state: &State<T>,
    path: &mut Path,
    bounds: &Bounds,
    (at, p): (usize, &Poly),
    kept: &dyn Fn(&Monomial, &BigInt) -> bool,
) -> Option<usize> {
    if path.closed {
        return None;
    }
    if !search.spend(4 * p.terms.len() as u64) {
        return None;
    }
    let mut left = Poly::constant(p.constant_part());
    let mut parts = vec![(Poly::constant(1), at)];
    let mut some = false;
    for (m, c) in &p.terms {
        if m.is_empty() {
            continue;
        }
        if kept(m, c) {
            left.add_term(m.clone(), c.clone());
            some = true;
            continue;
        }
        let side = usize::from(c.is_positive());
        let (k, fact) = bounds.get(m)?[side].clone()?;
        left.add_term(Vec::new(), k * c);
        parts.push((Poly::constant(c.abs()), fact));
    }
    if !some || parts.len() == 1 || !search.spend(state.active.len() as u64) {
        return None;
    }
    let fact = Fact::at_least(&left);
    let Fact::Ge(q) = &fact else {
        return Some(search.conclude(path, ProofStep::Combine(parts), fact));
    };
    let constant = q.constant_part();
    let is_known = |other: &usize| match &search.facts[*other] {
        Fact::Ge(known) => is_parallel(known, q) && known.constant_part() <= constant,
        _ => false,
    };
    let is_new = !state.active.iter().any(is_known);
    is_new.then(|| search.conclude(path, ProofStep::Combine(parts), fact))
}

/// Where a small range of values of a form, or the sign of a factor, is worth a case: the form, and the value below.
pub fn cut<T: Number>(search: &Search, state: &State<T>) -> Option<(Poly, BigInt)> {
    let degree = |p: &Poly| p.terms.keys().map(|m| m.iter().map(|(_, k)| *k).sum::<u32>()).max().unwrap_or(0);
    for (i, &a) in state.active.iter().enumerate() {
        for &b in &state.active[i + 1..] {
            let (Fact::Ge(p), Fact::Ge(q)) = (&search.facts[a], &search.facts[b]) else { continue };
            // p >= 0 and p <= width.
            let Some(width) = constant_sum(p, q) else { continue };
            if degree(p) >= 2 && width.is_positive() && width <= BigInt::from(12) {
                return Some((p.clone(), BigInt::zero()));
            }
        }
    }
    let bounds = bounds(search, state);
    for var in nonlinear(search, state) {
        let [low, high] = bounds.get(&vec![(var, 1)]).cloned().unwrap_or_default();
        let (low, high) = (low.map(|(k, _)| k), high.map(|(k, _)| k));
        let below = |k: i64| low.as_ref().is_none_or(|low| *low <= BigInt::from(k));
        let above = |k: i64| high.as_ref().is_none_or(|high| *high > BigInt::from(k));
        for k in [-1, 0] {
            if below(k) && above(k) {
                return Some((Poly::var(var), BigInt::from(k)));
            }
        }
    }
    // A remainder has few values; a difference of factors is zero or not.
    narrowest(search, state).or_else(|| difference(search, state))
}

/// Where `v * q + k >= 0` for a variable `v` above 0, or for the negation of one below 0: the form `q`, and the greatest
/// value at which that fails, which a product shows. So a multiple of `v` that is above 0 is at least `v`.
pub fn factored<T: Number>(search: &Search, state: &State<T>) -> Option<(Poly, BigInt)> {
    let bounds = bounds(search, state);
    state.active.iter().find_map(|&at| {
        let Fact::Ge(p) = &search.facts[at] else { return None };
        let k = p.constant_part();
        let variables = || p.terms.iter().filter(|(m, _)| !m.is_empty());
        if p.terms.len() > MAX_TERMS || variables().count() < 2 {
            return None;
        }
        let (first, _) = variables().next()?;
        first.iter().find_map(|(v, _)| {
            let v = vec![(*v, 1)];
            let [low, high] = bounds.get(&v)?;
            let positive = low.as_ref().map(|(low, _)| low.clone()).filter(Signed::is_positive);
            let negative = high.as_ref().map(|(high, _)| -high).filter(Signed::is_positive);
            let is_negated = positive.is_none();
            let low = positive.or(negative)?;
            let divided = |(m, c): (&Monomial, &BigInt)| Some((contains(m, &v)?, c.clone()));
            let q = Poly { terms: variables().map(divided).collect::<Option<_>>()? };
            let q = if is_negated { q.negated() } else { q };
            // q <= least - 1 makes v * q + k at most low * (least - 1) + k, if that is below 0 and least at most 1.
            let least = if k.is_negative() { BigInt::one() } else { -k.div_floor(&low) };
            let above = Fact::at_least(&q.minus(&Poly::constant(least.clone())));
            let Fact::Ge(wanted) = &above else { return None };
            let is_known = state.active.iter().any(|&other| match &search.facts[other] {
                Fact::Ge(known) => {
                    is_parallel(known, wanted) && known.constant_part() <= wanted.constant_part()
                }
                _ => false,
            });
            (!is_known).then(|| (q, least - 1))
        })
    })
}

/// A form of factors that is not negative, where it is not known whether it is zero.
fn difference<T: Number>(search: &Search, state: &State<T>) -> Option<(Poly, BigInt)> {
    let factors = nonlinear(search, state);
    let linear = |p: &Poly| p.terms.keys().all(|m| m.is_empty() || m.len() == 1 && m[0].1 == 1);
    let of_factors =
        |p: &Poly| p.terms.len() == 2 && p.vars().count() == 2 && p.vars().all(|v| factors.contains(&v));
    state.active.iter().find_map(|&at| {
        let Fact::Ge(p) = &search.facts[at] else { return None };
        let above = Fact::at_least(&p.plus_int(-1));
        let open =
            linear(p) && of_factors(p) && !state.active.iter().any(|&other| search.facts[other] == above);
        open.then(|| (p.clone(), BigInt::zero()))
    })
}

/// The form of several variables that has the fewest values, if these are few.
fn narrowest<T: Number>(search: &Search, state: &State<T>) -> Option<(Poly, BigInt)> {
    let mut best: Option<(BigInt, Poly)> = None;
    for (i, &a) in state.active.iter().enumerate() {
        for &b in &state.active[i + 1..] {
            let (Fact::Ge(p), Fact::Ge(q)) = (&search.facts[a], &search.facts[b]) else { continue };
            if p.terms.len() < 2 {
                continue;
            }
            let Some(width) = constant_sum(p, q) else { continue };
            let narrow = width.is_positive() && width <= BigInt::from(12);
            if narrow && p.content().is_one() && best.as_ref().is_none_or(|(known, _)| width < *known) {
                best = Some((width, p.clone()));
            }
        }
    }
    best.map(|(_, p)| (p, BigInt::zero()))
}
