//! Products of facts, where what is not linear calls for them.
use super::integers::{Bounds, bounds};
use super::simplex::Number;
use super::state::{Path, Search, State, is_handy, product_monomials};
use super::step::ProofStep;
use num_bigint::BigInt;
use num_traits::{Signed, Zero};
use sizewise_certificate::{Fact, Monomial, Poly, Var, times};
use std::collections::BTreeSet;

/// The most products of one round.
const MAX_PRODUCTS: usize = 40;
/// The most rounds in a case.
const MAX_ROUNDS: usize = 2;

fn degree(m: &Monomial) -> u32 {
    m.iter().map(|(_, k)| *k).sum()
}

/// Products of pairs of inequalities whose monomials are among those in use; in a second round one may be new.
pub fn more<T: Number>(
    search: &mut Search,
    state: &mut State<T>,
    path: &mut Path,
    round: usize,
) -> Vec<usize> {
    let mut new = Vec::new();
    if round >= MAX_ROUNDS {
        return new;
    }
    let mut wanted: BTreeSet<Monomial> = BTreeSet::new();
    let mut factors: Vec<usize> = Vec::new();
    for &at in &state.active {
        if let Fact::Ge(p) | Fact::Eq(p) = &search.facts[at] {
            wanted.extend(p.terms.keys().filter(|m| degree(m) > 1).cloned());
        }
        if let Fact::Ge(p) = &search.facts[at]
            && p.terms.len() <= 6
        {
            factors.push(at);
        }
    }
    if wanted.is_empty() {
        return new;
    }
    let vars: BTreeSet<Var> = wanted.iter().flatten().map(|(v, _)| *v).collect();
    factors.retain(|&at| matches!(&search.facts[at], Fact::Ge(p) if p.vars().all(|v| vars.contains(&v))));
    if round == 0 {
        intervals(search, state, path, &wanted, &mut new);
        squares(search, state, path, &wanted, &mut new);
    }
    let most = degree_of(&wanted);
    'all: for (i, &a) in factors.iter().enumerate() {
        for &b in &factors[i..] {
            let (Fact::Ge(p), Fact::Ge(q)) = (&search.facts[a], &search.facts[b]) else { continue };
            if path.closed {
                break 'all;
            }
            if state.tried.contains(&(a, b)) {
                continue;
            }
            let mut unknown: Vec<Monomial> = Vec::new();
            let (mut linked, mut too_many) = (false, false);
            for m in product_monomials(p, q).filter(|m| degree(m) > 1) {
                if wanted.contains(&m) {
                    linked = true;
                } else if !unknown.contains(&m) {
                    too_many = unknown.len() == round || degree(&m) > most;
                    unknown.push(m);
                }
                if too_many {
                    break;
                }
            }
            let work = (p.terms.len() * q.terms.len()) as u64;
            search.fuel = search.fuel.saturating_sub(work);
            if search.fuel == 0 {
                break 'all;
            }
            if !linked || too_many {
                continue;
            }
            state.tried.insert((a, b));
            let Some(product) = p.product(q).filter(is_handy) else { continue };
            new.push(search.conclude(path, ProofStep::Multiply(a, b), Fact::at_least(&product)));
            if new.len() >= MAX_PRODUCTS {
                break 'all;
            }
        }
    }
    new
}

fn degree_of(wanted: &BTreeSet<Monomial>) -> u32 {
    wanted.iter().map(degree).max().unwrap_or(2)
}

/// Squares of variables, and of sums and differences of two.
fn squares<T: Number>(
    search: &mut Search,
    state: &mut State<T>,
    path: &mut Path,
    wanted: &BTreeSet<Monomial>,
    new: &mut Vec<usize>,
) {
    let squared: Vec<Var> =
        wanted.iter().filter(|m| m.len() == 1 && m[0].1 % 2 == 0).map(|m| m[0].0).collect();
    let mut bases: Vec<Poly> = Vec::new();
    for m in wanted.iter().filter(|m| m.iter().all(|(_, k)| k % 2 == 0)) {
        let mut root = Poly::default();
        root.add_term(m.iter().map(|(v, k)| (*v, k / 2)).collect(), 1.into());
        bases.push(root);
    }
    for m in wanted {
        if let [(x, 1), (y, 1)] = m.as_slice()
            && squared.contains(x)
            && squared.contains(y)
        {
            bases.push(Poly::var(*x).minus(&Poly::var(*y)));
            bases.push(Poly::var(*x).plus(&Poly::var(*y)));
        }
    }
    for base in bases {
        let Some(square) = base.product(&base).filter(is_handy) else { continue };
        let fact = Fact::at_least(&square);
        if state.active.iter().any(|&at| search.facts[at] == fact) {
            continue;
        }
        new.push(search.conclude(path, ProofStep::Square(base), fact));
    }
}

/// Bounds of products of variables that are not negative, factor by factor.
fn intervals<T: Number>(
    search: &mut Search,
    state: &State<T>,
    path: &mut Path,
    wanted: &BTreeSet<Monomial>,
    new: &mut Vec<usize>,
) {
    let mut bounds = bounds(search, state);
    for monomial in wanted {
        let factors: Vec<Var> =
            monomial.iter().flat_map(|(v, k)| std::iter::repeat_n(*v, *k as usize)).collect();
        let lower = |bounds: &Bounds, m: &Monomial| bounds.get(m).and_then(|b| b[0].clone());
        let variable = |v: Var| vec![(v, 1)];
        let positive =
            factors.iter().all(|v| lower(&bounds, &variable(*v)).is_some_and(|(k, _)| !k.is_negative()));
        if !positive || factors.len() > 8 {
            continue;
        }
        let mut product = variable(factors[0]);
        for &v in &factors[1..] {
            let next = times(&product, &variable(v));
            for upper in [0, 1] {
                if bounds.get(&next).is_some_and(|b| b[upper].is_some()) {
                    continue;
                }
                let Some((low, at_low)) = lower(&bounds, &variable(v)) else { continue };
                let side = |m: &Monomial| bounds.get(m).and_then(|b| b[upper].clone());
                let (Some((k, at_product)), Some((end, at_end))) = (side(&product), side(&variable(v)))
                else {
                    continue;
                };
                if path.closed || k.is_negative() {
                    continue;
                }
                let both = fact_poly(search, at_product).product(&fact_poly(search, at_low));
                let Some(both) = both.filter(is_handy) else { continue };
                let multiplied =
                    search.conclude(path, ProofStep::Multiply(at_product, at_low), Fact::at_least(&both));
                // (m - k)(v - l) + l (m - k) + k (v - l) = m v - k l, and likewise for upper ends.
                let parts = [(BigInt::from(1), multiplied), (low, at_product), (k.clone(), at_end)];
                let parts = parts.into_iter().filter(|(c, _)| !c.is_zero());
                let parts = parts.map(|(c, f)| (Poly::constant(c), f)).collect();
                let mut bound = Poly::default();
                let sign = if upper == 0 { 1 } else { -1 };
                bound.add_term(next.clone(), BigInt::from(sign));
                bound.add_term(Vec::new(), BigInt::from(-sign) * &k * &end);
                let at = search.conclude(path, ProofStep::Combine(parts), Fact::at_least(&bound));
                bounds.entry(next.clone()).or_default()[upper] = Some((k * end, at));
                new.push(at);
            }
            product = next;
        }
    }
}

fn fact_poly(search: &Search, at: usize) -> Poly {
    match search.facts.get(at) {
        Some(Fact::Ge(p)) => p.clone(),
        _ => Poly::default(),
    }
}
