//! From a claim to a certificate.
use super::search::is_solved_by;
use super::simplex::Number;
use super::state::{Path, Search, State};
use super::step::{Line, ProofStep, prune, write_steps, written};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};
use sizewise_certificate::{
    Claim, Fact, Fault, Meaning, Names, Poly, Problem, Term, VERSION, Value, Var, facts_of, value,
};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What is known of a claim that helps to prove it.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// The premises that suffice, by their place; all if there are none.
    pub because: Option<Vec<usize>>,
}

/// A claim with what its operations are named.
struct Prepared {
    names: Names,
    definitions: Vec<(Var, Meaning)>,
    /// The facts a proof begins with, and of which part of the claim each is.
    facts: Vec<Fact>,
    premises: Vec<(usize, usize)>,
}

/// The most divisors that are given names.
const MAX_NAMED: usize = 4;
/// The most definitions of a claim.
const MAX_DEFINITIONS: usize = 120;
/// The work of an attempt. Nearly all proofs that are found for what is recorded take a tenth of it.
const FUEL: u64 = 600_000;
/// How much more work arithmetic without overflow takes.
const BIG: u64 = 3;
/// The most assignments that are tried before, and after, anything else.
const FEW: u64 = 64;
/// The most that are tried when nothing else helps.
const MANY: u64 = 20_000;

/// Names the operations of a claim that are no polynomials.
fn prepare(claim: &Claim) -> Option<Prepared> {
    let mut names = Names::default();
    for symbol in &claim.symbols {
        names.declare(symbol).ok()?;
    }
    let mut definitions: Vec<(Var, Meaning)> = Vec::new();
    let facts = loop {
        match claim.facts(&names) {
            Ok(facts) => break facts,
            Err(Problem::Missing(meaning, _)) if definitions.len() < MAX_DEFINITIONS => {
                let name = (1..)
                    .map(|n| format!("v{}", definitions.len() + n))
                    .find(|n| !names.numbers.contains_key(n))?;
                names.declare(&name).ok()?;
                definitions.push((names.give((*meaning).clone()).ok()?, *meaning));
            }
            Err(_) => return None,
        }
    };
    let mut all: Vec<Fact> = Vec::new();
    let mut premises = Vec::new();
    for (at, fact) in facts.into_iter().enumerate() {
        let first = all.len();
        add(&mut all, fact);
        if at < claim.premises.len() {
            premises.push((first, all.len()));
        }
    }
    for (name, meaning) in &definitions {
        for fact in facts_of(*name, meaning).ok()? {
            add(&mut all, fact);
        }
    }
    Some(Prepared { names, definitions, facts: all, premises })
}

fn add(all: &mut Vec<Fact>, fact: Fact) {
    match fact {
        Fact::All(parts) => all.extend(parts),
        fact => all.push(fact),
    }
}

/// The text of a certificate of a claim; `None` if no proof is found.
pub fn certify(claim: &Claim, hints: &Hints) -> Option<String> {
    let prepared = prepare(claim)?;
    let (mut lines, names) = prove(claim, &prepared, hints)?;
    prune(&mut lines, prepared.facts.len());
    Some(text(claim, &prepared, &lines, &names))
}

fn prove(claim: &Claim, prepared: &Prepared, hints: &Hints) -> Option<Found> {
    let one = |step| (vec![Line { fact: 0, step }], prepared.names.list.clone());
    if let Some(at) = prepared.facts.iter().position(|f| *f == Fact::FALSE) {
        return Some(one(ProofStep::Contradiction(at)));
    }
    if let Some(step) = enumeration(claim, prepared, FEW) {
        return Some(one(step));
    }
    let needed = relevant(prepared, hints.because.as_deref());
    let all: Vec<usize> = (0..prepared.facts.len()).collect();
    let is_partial = needed.len() < all.len();
    attempt(prepared, &needed)
        .or_else(|| enumeration(claim, prepared, MANY).map(one))
        .or_else(|| if is_partial { attempt(prepared, &all) } else { None })
}

/// Searches for a contradiction among some facts; then with names for divisors that are sums, so that what they divide
/// becomes a product of variables.
fn attempt(prepared: &Prepared, facts: &[usize]) -> Option<Found> {
    tried(prepared, facts, &[]).or_else(|| {
        let sums = divisors_that_are_sums(prepared);
        if sums.is_empty() { None } else { tried(prepared, facts, &sums) }
    })
}

fn tried(prepared: &Prepared, facts: &[usize], named: &[(Poly, Var)]) -> Option<Found> {
    let mut fuel = FUEL;
    let (found, overflowed) = run::<i128>(prepared, facts, named, &mut fuel);
    if found.is_some() || !overflowed {
        return found;
    }
    fuel /= BIG;
    run::<BigInt>(prepared, facts, named, &mut fuel).0
}

fn run<T: Number>(
    prepared: &Prepared,
    facts: &[usize],
    named: &[(Poly, Var)],
    fuel: &mut u64,
) -> (Option<Found>, bool) {
    let mut search = Search {
        facts: prepared.facts.clone(),
        names: prepared.names.list.clone(),
        fuel: *fuel,
        overflowed: false,
    };
    let (mut state, mut path) = (State::<T>::default(), Path { lines: Vec::new(), closed: false });
    let mut new = Vec::new();
    for (form, variable) in named {
        let at = search.give_name(form.clone(), &mut path);
        state.solve_for.insert(at, *variable);
        new.push(at);
    }
    new.extend(facts);
    let found = search.refute(state, new, 0);
    *fuel = search.fuel;
    let found = found.map(|lines| {
        path.lines.extend(lines);
        (path.lines, search.names)
    });
    (found, search.overflowed)
}

/// The divisors that are sums, without a common factor, each with a variable for which it can be solved.
fn divisors_that_are_sums(prepared: &Prepared) -> Vec<(Poly, Var)> {
    let mut sums: Vec<(Poly, Var)> = Vec::new();
    for (_, meaning) in &prepared.definitions {
        let Meaning::FloorDiv(_, divisor) = meaning else { continue };
        let content = divisor.terms.values().fold(BigInt::zero(), |all, c| all.gcd(c));
        if divisor.terms.len() < 2 || sums.len() == MAX_NAMED {
            continue;
        }
        let sum = Poly { terms: divisor.terms.iter().map(|(m, c)| (m.clone(), c / &content)).collect() };
        let variable = sum.terms.keys().rev().find(|m| is_solved_by(&sum, m)).map(|m| m[0].0);
        if let Some(variable) = variable
            && !sums.iter().any(|(known, _)| *known == sum)
        {
            sums.push((sum, variable));
        }
    }
    sums
}

/// The steps, and the names by number.
type Found = (Vec<Line>, Vec<String>);

/// The facts of premises that are needed, of the goal, and of the names in these.
fn relevant(prepared: &Prepared, because: Option<&[usize]>) -> Vec<usize> {
    let mut left_out = vec![false; prepared.facts.len()];
    let mut defining = vec![false; prepared.facts.len()];
    if let Some(because) = because {
        for (at, (from, to)) in prepared.premises.iter().enumerate() {
            left_out[*from..*to].fill(!because.contains(&at));
        }
    }
    // The facts of definitions follow all others.
    let mut start = prepared.facts.len();
    let count: usize = prepared
        .definitions
        .iter()
        .filter_map(|(name, meaning)| facts_of(*name, meaning).ok())
        .flatten()
        .map(|fact| if let Fact::All(parts) = &fact { parts.len() } else { 1 })
        .sum();
    start -= count;
    defining[start..].fill(true);
    let mut names: BTreeSet<Var> = BTreeSet::new();
    for (at, fact) in prepared.facts.iter().enumerate().take(start) {
        if !left_out[at] {
            vars_of(fact, &mut names);
        }
    }
    let mut owner = Vec::new();
    for (name, meaning) in &prepared.definitions {
        for fact in facts_of(*name, meaning).unwrap_or_default() {
            let parts = if let Fact::All(parts) = fact { parts.len() } else { 1 };
            owner.extend(std::iter::repeat_n(*name, parts));
        }
    }
    // Names that names are defined by.
    for (name, meaning) in prepared.definitions.iter().rev() {
        if names.contains(name) {
            for fact in facts_of(*name, meaning).unwrap_or_default() {
                vars_of(&fact, &mut names);
            }
        }
    }
    (0..prepared.facts.len())
        .filter(|&at| !left_out[at] && (!defining[at] || names.contains(&owner[at - start])))
        .collect()
}

fn vars_of(fact: &Fact, vars: &mut BTreeSet<Var>) {
    match fact {
        Fact::Ge(p) | Fact::Eq(p) => vars.extend(p.vars()),
        Fact::All(parts) | Fact::Any(parts) => parts.iter().for_each(|part| vars_of(part, vars)),
    }
}

/// Every assignment within the ranges of the symbols, if they are few and none contradicts the claim.
fn enumeration(claim: &Claim, prepared: &Prepared, most: u64) -> Option<ProofStep> {
    let mut ranges = Vec::new();
    let mut count = 1u64;
    for symbol in &claim.symbols {
        let var = *prepared.names.numbers.get(symbol)?;
        let (low, at_low) = bound(&prepared.facts, &Poly::var(var))?;
        let (high, at_high) = bound(&prepared.facts, &Poly::var(var).negated())?;
        let size = (-&high - &low + BigInt::one()).max(BigInt::zero());
        count = count.checked_mul(size.to_u64()?)?;
        ranges.push((var, at_low, at_high, low, -high));
    }
    if count > most || !is_true_in(claim, prepared, &ranges, count) {
        return None;
    }
    let ranges = ranges.into_iter().map(|(v, l, h, ..)| (v, l, h)).collect();
    Some(ProofStep::Enumerate(count, ranges))
}

type Range = (Var, usize, usize, BigInt, BigInt);

fn is_true_in(claim: &Claim, prepared: &Prepared, ranges: &[Range], count: u64) -> bool {
    let mut at: Vec<BigInt> = ranges.iter().map(|(.., low, _)| low.clone()).collect();
    for _ in 0..count {
        let of = |name: &str| {
            let var = prepared.names.numbers.get(name)?;
            ranges.iter().position(|(v, ..)| v == var).map(|i| at[i].clone())
        };
        if !is_true_at(claim, &of) {
            return false;
        }
        for (i, (.., low, high)) in ranges.iter().enumerate() {
            if at[i] < *high {
                at[i] += 1;
                break;
            }
            at[i].clone_from(low);
        }
    }
    true
}

fn is_true_at(claim: &Claim, of: &dyn Fn(&str) -> Option<BigInt>) -> bool {
    let goal = claim.goal();
    let stated = claim.premises.iter().map(|t| (t, true)).chain(std::iter::once((&goal, false)));
    for (term, wanted) in stated {
        match value(term, of) {
            Err(Fault::Undefined) => return true,
            Ok(Value::Bool(v)) if v != wanted => return true,
            Ok(_) => {}
            Err(Fault::Refused) => return false,
        }
    }
    claim.defined.iter().any(|t| value(t, of) == Err(Fault::Undefined))
}

/// The greatest k of facts `p >= k`, and which it is.
fn bound(facts: &[Fact], p: &Poly) -> Option<(BigInt, usize)> {
    let mut best: Option<(BigInt, usize)> = None;
    for (at, fact) in facts.iter().enumerate() {
        let candidates = match fact {
            Fact::Ge(q) => vec![q.clone()],
            Fact::Eq(q) => vec![q.clone(), q.negated()],
            _ => continue,
        };
        for q in candidates {
            if q.terms.len() > 2 {
                continue;
            }
            let Some(k) = q.minus(p).as_constant().map(|k| -k) else { continue };
            if best.as_ref().is_none_or(|(old, _)| k > *old) {
                best = Some((k, at));
            }
        }
    }
    best
}

fn text(claim: &Claim, prepared: &Prepared, lines: &[Line], names: &[String]) -> String {
    let list = |terms: &[Term]| terms.iter().map(|t| format!("\n    {t}")).collect::<String>();
    let mut out = format!("(certificate {VERSION}\n  (symbols");
    for symbol in &claim.symbols {
        let _ = write!(out, " {symbol}");
    }
    let _ = write!(
        out,
        ")\n  (premises{})\n  (defined{})\n  (goal {})\n  (definitions",
        list(&claim.premises),
        list(&claim.defined),
        claim.goal()
    );
    for (name, meaning) in &prepared.definitions {
        let _ = write!(out, "\n    ({} {})", names[*name as usize], meaning_text(meaning, names));
    }
    out.push_str(")\n  (proof");
    write_steps(&mut out, lines, names, 1);
    out.push_str("))\n");
    out
}

fn meaning_text(meaning: &Meaning, names: &[String]) -> String {
    let all = |op: &str, polys: &[&Poly]| {
        format!("({op} {})", polys.iter().map(|p| written(p, names)).collect::<Vec<_>>().join(" "))
    };
    match meaning {
        Meaning::FloorDiv(a, b) => all("//", &[a, b]),
        Meaning::Max(polys) => all("max", &polys.iter().collect::<Vec<_>>()),
        Meaning::Min(polys) => all("min", &polys.iter().collect::<Vec<_>>()),
        Meaning::Pow(a, b) => all("**", &[a, b]),
        Meaning::And(a, b) => all("bitand", &[a, b]),
        Meaning::Ite(c, a, b) => {
            format!("(ite {} {} {})", fact_text(c, names), written(a, names), written(b, names))
        }
        Meaning::Integer(text) | Meaning::Truth(text) => text.clone(),
    }
}

fn fact_text(fact: &Fact, names: &[String]) -> String {
    let all = |op: &str, parts: &[Fact]| {
        format!("({op}{})", parts.iter().map(|p| format!(" {}", fact_text(p, names))).collect::<String>())
    };
    match fact {
        Fact::Ge(p) => format!("(>= {} 0)", written(p, names)),
        Fact::Eq(p) => format!("(= {} 0)", written(p, names)),
        Fact::All(parts) => all("and", parts),
        Fact::Any(parts) => all("or", parts),
    }
}
