//! Steps of a proof, and how they are written.
use num_bigint::BigInt;
use num_traits::One;
use rustc_hash::FxHashMap;
use sizewise_certificate::{Poly, Var};
use std::collections::BTreeSet;
use std::fmt::Write;

/// A step.
#[derive(Clone, Debug)]
pub enum ProofStep {
    /// A sum of multiples of facts.
    Combine(Vec<(Poly, usize)>),
    /// A product of two facts.
    Multiply(usize, usize),
    /// A square is not negative.
    Square(Poly),
    /// A name for a polynomial.
    Let(Var, Poly),
    /// Two opposite inequalities.
    Equal(usize, usize),
    /// A fact without a factor that is positive by another.
    Divide(usize, Poly, usize, BigInt),
    /// A case for each part of a disjunction.
    Split(usize, Vec<Case>),
    /// A polynomial is at most a number, or above.
    Cut(Poly, BigInt, Box<[Case; 2]>),
    /// Equations without a solution modulo a number.
    Modulo(u64, Vec<usize>),
    /// Every assignment in a box.
    Enumerate(u64, Vec<(Var, usize, usize)>),
    /// A fact is false.
    Contradiction(usize),
}

/// A step, with the number of the fact that it adds, if it does.
#[derive(Clone, Debug)]
pub struct Line {
    /// The number.
    pub fact: usize,
    /// The step.
    pub step: ProofStep,
}

/// Steps under further facts.
#[derive(Clone, Debug)]
pub struct Case {
    /// The number of the first of these facts.
    pub first: usize,
    /// How many they are.
    pub facts: usize,
    /// The steps.
    pub lines: Vec<Line>,
}

impl ProofStep {
    fn references(&self) -> Vec<usize> {
        match self {
            ProofStep::Combine(parts) => parts.iter().map(|(_, f)| *f).collect(),
            ProofStep::Multiply(a, b) | ProofStep::Equal(a, b) | ProofStep::Divide(a, _, b, _) => {
                vec![*a, *b]
            }
            ProofStep::Split(f, _) | ProofStep::Contradiction(f) => vec![*f],
            ProofStep::Modulo(_, facts) => facts.clone(),
            ProofStep::Enumerate(_, ranges) => ranges.iter().flat_map(|(_, l, h)| [*l, *h]).collect(),
            ProofStep::Square(_) | ProofStep::Let(..) | ProofStep::Cut(..) => Vec::new(),
        }
    }

    fn cases(&mut self) -> &mut [Case] {
        match self {
            ProofStep::Split(_, cases) => cases,
            ProofStep::Cut(_, _, cases) => &mut cases[..],
            _ => &mut [],
        }
    }

    fn adds_fact(&self) -> bool {
        use ProofStep::*;
        matches!(self, Combine(_) | Multiply(..) | Square(_) | Let(..) | Equal(..) | Divide(..))
    }

    fn renumber(&mut self, new: &dyn Fn(usize) -> usize) {
        match self {
            ProofStep::Combine(parts) => parts.iter_mut().for_each(|(_, f)| *f = new(*f)),
            ProofStep::Multiply(a, b) | ProofStep::Equal(a, b) | ProofStep::Divide(a, _, b, _) => {
                (*a, *b) = (new(*a), new(*b))
            }
            ProofStep::Split(f, _) | ProofStep::Contradiction(f) => *f = new(*f),
            ProofStep::Modulo(_, facts) => facts.iter_mut().for_each(|f| *f = new(*f)),
            ProofStep::Enumerate(_, ranges) => {
                ranges.iter_mut().for_each(|(_, l, h)| (*l, *h) = (new(*l), new(*h)))
            }
            ProofStep::Square(_) | ProofStep::Let(..) | ProofStep::Cut(..) => {}
        }
    }
}

/// Leaves out steps whose facts nothing uses, and numbers facts anew. `known` is the number of facts before the first
/// step.
pub fn prune(lines: &mut Vec<Line>, known: usize) {
    drop_unused(lines);
    let mut numbers: FxHashMap<usize, usize> = (0..known).map(|n| (n, n)).collect();
    renumber(lines, &mut numbers, known);
}

/// Leaves out unused steps; returns the facts that are used.
fn drop_unused(lines: &mut Vec<Line>) -> BTreeSet<usize> {
    let mut used = BTreeSet::new();
    let mut kept = Vec::with_capacity(lines.len());
    while let Some(mut line) = lines.pop() {
        if line.step.adds_fact() && !kept.is_empty() && !used.contains(&line.fact) {
            continue;
        }
        used.extend(line.step.references());
        for case in line.step.cases() {
            let inner = drop_unused(&mut case.lines);
            used.extend(inner.into_iter().filter(|fact| *fact < case.first));
        }
        kept.push(line);
    }
    kept.reverse();
    *lines = kept;
    used
}

fn renumber(lines: &mut [Line], numbers: &mut FxHashMap<usize, usize>, mut next: usize) {
    for line in lines {
        line.step.renumber(&|old| numbers.get(&old).copied().unwrap_or(old));
        if line.step.adds_fact() {
            numbers.insert(line.fact, next);
            next += 1;
        }
        for case in line.step.cases() {
            numbers.extend((0..case.facts).map(|i| (case.first + i, next + i)));
            renumber(&mut case.lines, numbers, next + case.facts);
        }
    }
}

/// A polynomial as it is written.
pub fn written(p: &Poly, names: &[String]) -> String {
    let mut parts = Vec::new();
    for (monomial, c) in &p.terms {
        let mut factors = Vec::new();
        if !c.is_one() || monomial.is_empty() {
            factors.push(c.to_string());
        }
        for (var, power) in monomial {
            let name = &names[*var as usize];
            factors.push(if *power == 1 { name.clone() } else { format!("(** {name} {power})") });
        }
        parts.push(if factors.len() == 1 {
            factors.swap_remove(0)
        } else {
            format!("(* {})", factors.join(" "))
        });
    }
    match parts.len() {
        0 => "0".to_owned(),
        1 => parts.swap_remove(0),
        _ => format!("(+ {})", parts.join(" ")),
    }
}

/// Writes steps, each on a line of its own.
pub fn write_steps(out: &mut String, lines: &[Line], names: &[String], depth: usize) {
    for Line { step, .. } in lines {
        let _ = write!(out, "\n{:1$}", "", 2 * depth.min(40) + 2);
        let _ = match step {
            ProofStep::Combine(parts) => {
                let part = |(m, f): &(Poly, usize)| format!(" ({} {f})", written(m, names));
                write!(out, "(combine{})", parts.iter().map(part).collect::<String>())
            }
            ProofStep::Multiply(a, b) => write!(out, "(multiply {a} {b})"),
            ProofStep::Square(p) => write!(out, "(square {})", written(p, names)),
            ProofStep::Let(v, p) => write!(out, "(let {} {})", names[*v as usize], written(p, names)),
            ProofStep::Equal(a, b) => write!(out, "(equal {a} {b})"),
            ProofStep::Divide(a, p, b, k) => write!(out, "(divide {a} {} {b} {k})", written(p, names)),
            ProofStep::Split(f, cases) => {
                let _ = write!(out, "(split {f}");
                cases.iter().for_each(|case| write_case(out, case, names, depth));
                write!(out, ")")
            }
            ProofStep::Cut(p, k, cases) => {
                let _ = write!(out, "(cut {} {k}", written(p, names));
                cases.iter().for_each(|case| write_case(out, case, names, depth));
                write!(out, ")")
            }
            ProofStep::Modulo(m, facts) => {
                write!(out, "(modulo {m}{})", facts.iter().map(|f| format!(" {f}")).collect::<String>())
            }
            ProofStep::Enumerate(count, ranges) => {
                let range = |(v, l, h): &(Var, usize, usize)| format!(" ({} {l} {h})", names[*v as usize]);
                write!(out, "(enumerate {count}{})", ranges.iter().map(range).collect::<String>())
            }
            ProofStep::Contradiction(f) => write!(out, "(contradiction {f})"),
        };
    }
}

fn write_case(out: &mut String, case: &Case, names: &[String], depth: usize) {
    let _ = write!(out, "\n{:1$}(", "", 2 * depth.min(40) + 3);
    write_steps(out, &case.lines, names, depth + 1);
    out.push(')');
}
