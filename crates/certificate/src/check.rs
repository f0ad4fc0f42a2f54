//! Checking: each step is followed, nothing is searched for.
use super::claim::{Claim, contradicts, expect};
use super::fact::{Fact, Names, facts_of};
use super::poly::{MAX_TERMS, Poly};
use super::term::{Sexp, Term, count};
use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive, Zero};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The version of the format.
pub const VERSION: &str = "1";
/// The most work: terms of polynomials that are multiplied, operations that are evaluated.
const MAX_WORK: u64 = 50_000_000;
/// What a term of a fact that is kept counts as, so that facts never fill the memory.
const KEPT: usize = 50;
/// The deepest nesting of cases.
const MAX_DEPTH: usize = 400;

/// What a checked certificate says.
#[derive(Debug, Default)]
pub struct Checked {
    /// The claim, which holds unless a named solver is wrong.
    pub claim: Claim,
    /// The number of steps.
    pub steps: usize,
    /// The number of assignments that were tried.
    pub assignments: u64,
    /// The steps that rest on what another solver says, by its name.
    pub outside: Vec<String>,
    /// What was added, in order; see [`explain`].
    pub events: Vec<Event>,
    /// The names of the proof.
    pub names: Names,
    /// The definitions, in order.
    pub definitions: Vec<(String, Term)>,
}

/// Facts that were added together, or the end of a case.
#[derive(Clone, PartialEq, Debug)]
pub struct Event {
    /// The number of cases around it.
    pub depth: usize,
    /// The number of the first of the facts. Facts with this number or a greater one that were there before are gone.
    pub first: usize,
    /// The facts.
    pub facts: Vec<Fact>,
    /// Where they are from.
    pub source: Source,
}

/// Where a fact is from.
#[derive(Clone, PartialEq, Debug)]
pub enum Source {
    /// The premise at this place.
    Premise(usize),
    /// That the goal does not hold.
    NegatedGoal,
    /// That an operation has a value.
    HasValue,
    /// The definition at this place.
    Definition(usize),
    /// The case that has been entered: its place, and how many there are.
    Case(usize, usize),
    /// A step; of one with cases what precedes them.
    Step(Vec<Sexp>),
}

type Result<T> = std::result::Result<T, String>;

/// Reads and checks a certificate.
///
/// # Errors
/// When it is none, or a step is not right: with the number of that step.
pub fn check(text: &Sexp) -> Result<Checked> {
    follow(text, false)
}

/// As [`check`], and says each fact and where it is from in [`Checked::events`].
///
/// # Errors
/// As [`check`].
pub fn explain(text: &Sexp) -> Result<Checked> {
    follow(text, true)
}

fn follow(text: &Sexp, speaks: bool) -> Result<Checked> {
    let parts = expect(Some(text), "certificate")?;
    if parts.first().and_then(Sexp::word) != Some(VERSION) {
        return Err("a certificate of another version".into());
    }
    let claim = Claim::read(&parts[1..])?;
    let mut checker = Checker { speaks, ..Checker::default() };
    for symbol in &claim.symbols {
        checker.names.declare(symbol).map_err(|e| e.to_string())?;
    }
    let whole = claim.premises.iter().chain(&claim.defined).chain(&claim.goal);
    for term in whole {
        only_symbols(term, &checker.names)?;
    }
    let mut defining = Vec::new();
    for definition in expect(parts.get(5), "definitions")? {
        let Sexp::List(pair) = definition else { return Err("a definition is no list".into()) };
        let (Some(Sexp::Word(name)), Some(term), 2) = (pair.first(), pair.get(1), pair.len()) else {
            return Err("a definition is a name and a term".into());
        };
        let (number, term) = (checker.names.list.len() as u32, Term::read(term)?);
        let meaning = checker.names.define(name, &term).map_err(|e| e.to_string())?;
        let facts = facts_of(number, &meaning).map_err(|e| e.to_string())?;
        defining
            .extend(facts.into_iter().map(|fact| (Source::Definition(checker.done.definitions.len()), fact)));
        checker.done.definitions.push((name.clone(), term));
    }
    let claimed = claim.facts(&checker.names).map_err(|e| e.to_string())?;
    let source = |at: usize| match at.cmp(&claim.premises.len()) {
        Ordering::Less => Source::Premise(at),
        Ordering::Equal => Source::NegatedGoal,
        Ordering::Greater => Source::HasValue,
    };
    let claimed = claimed.into_iter().enumerate().map(|(at, fact)| (source(at), fact));
    for (source, fact) in claimed.chain(defining) {
        let known = checker.facts.len();
        checker.add(fact);
        checker.say(known, 0, || source);
    }
    checker.claim = claim;
    let proof = expect(parts.get(6), "proof")?;
    if parts.len() != 7 {
        return Err("a certificate has seven parts".into());
    }
    checker.run(proof, 0).map_err(|e| format!("step {}: {e}", checker.done.steps))?;
    Ok(Checked { claim: checker.claim, names: checker.names, ..checker.done })
}

/// The one operand of a step.
fn only(rest: &[Sexp]) -> Result<&Sexp> {
    match rest {
        [one] => Ok(one),
        _ => Err(format!("{} operands of a step that takes one", rest.len())),
    }
}

fn only_symbols(term: &Term, names: &Names) -> Result<()> {
    match term {
        Term::Name(name) if !names.numbers.contains_key(name) => Err(format!("no symbol `{name}`")),
        Term::Call(_, operands) => operands.iter().try_for_each(|t| only_symbols(t, names)),
        _ => Ok(()),
    }
}

/// The number of terms of a fact.
fn size(fact: &Fact) -> usize {
    match fact {
        Fact::Ge(p) | Fact::Eq(p) => p.terms.len(),
        Fact::All(parts) | Fact::Any(parts) => parts.iter().map(size).sum(),
    }
}

/// A monomial and its coefficient modulo a number.
type Reduced<'p> = (&'p [(u32, u32)], u64);

/// What is known where a step stands.
#[derive(Default)]
struct Checker {
    claim: Claim,
    names: Names,
    facts: Vec<Fact>,
    done: Checked,
    work: u64,
    speaks: bool,
}

impl Checker {
    /// Adds a fact; a conjunction as its parts.
    fn add(&mut self, fact: Fact) {
        match fact {
            Fact::All(parts) => self.facts.extend(parts),
            fact => self.facts.push(fact),
        }
    }

    /// Says the facts from a number on, and where they are from.
    fn say(&mut self, first: usize, depth: usize, source: impl FnOnce() -> Source) {
        if self.speaks {
            let facts = self.facts[first..].to_vec();
            self.done.events.push(Event { depth, first, facts, source: source() });
        }
    }

    fn spend(&mut self, work: usize) -> Result<()> {
        self.work = self.work.saturating_add(work as u64 + 1);
        if self.work > MAX_WORK { Err("more work than is allowed".into()) } else { Ok(()) }
    }

    /// Counts the facts from a number on, which are kept.
    fn keep(&mut self, first: usize) -> Result<()> {
        let terms = self.facts[first..].iter().map(size).sum::<usize>();
        self.spend(terms.saturating_mul(KEPT))
    }

    fn fact(&self, at: &Sexp) -> Result<&Fact> {
        let number = at.word().and_then(count).and_then(|n| n.to_usize()).ok_or("a fact has a number")?;
        self.facts.get(number).ok_or_else(|| format!("there is no fact {number}"))
    }

    fn poly(&self, text: &Sexp) -> Result<Poly> {
        self.names.poly(&Term::read(text)?).map_err(|e| e.to_string())
    }

    /// Follows steps until there is a contradiction.
    fn run(&mut self, steps: &[Sexp], depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err("cases are nested too deeply".into());
        }
        for (at, step) in steps.iter().enumerate() {
            self.done.steps += 1;
            let (rule, rest) = step.call().ok_or("a step is a list")?;
            let known = self.facts.len();
            let has_cases = matches!(rule, "split" | "cut");
            let said = if rule == "cut" { 3 } else { 2 };
            if has_cases {
                self.say(known, depth, || Source::Step(step.items().iter().take(said).cloned().collect()));
            }
            let closed = match rule {
                "split" => self.split(rest, depth)?,
                "cut" => self.cut(rest, depth)?,
                "modulo" => self.modulo(rest)?,
                "enumerate" => self.enumerate(rest)?,
                "outside" => {
                    let name = only(rest)?.word().ok_or("which solver?")?;
                    self.done.outside.push(name.to_owned());
                    true
                }
                "combine" => self.combine(rest)?,
                "multiply" => self.multiply(rest)?,
                "square" => {
                    let p = self.poly(only(rest)?)?;
                    self.spend(p.terms.len() * p.terms.len())?;
                    self.conclude(Fact::at_least(&p.product(&p).ok_or("too large")?))
                }
                "let" => self.name(rest)?,
                "equal" => self.equal(rest)?,
                "divide" => self.divide(rest)?,
                "contradiction" if self.fact(only(rest)?)? == &Fact::FALSE => true,
                "contradiction" => return Err("a fact that may be true".into()),
                other => return Err(format!("no rule `{other}`")),
            };
            if !has_cases {
                self.keep(known)?;
                self.say(known, depth, || Source::Step(step.items().to_vec()));
            }
            if closed {
                return if at + 1 == steps.len() { Ok(()) } else { Err("a step after the end".into()) };
            }
        }
        Err("no contradiction is reached".into())
    }

    fn conclude(&mut self, fact: Fact) -> bool {
        let closed = fact == Fact::FALSE;
        self.facts.push(fact);
        closed
    }

    /// A case: steps under one more fact.
    fn case(&mut self, fact: Fact, steps: &Sexp, (at, of): (usize, usize), depth: usize) -> Result<()> {
        let Sexp::List(steps) = steps else { return Err("a case is a list of steps".into()) };
        let known = self.facts.len();
        let closed = fact == Fact::FALSE;
        self.add(fact);
        self.keep(known)?;
        self.say(known, depth + 1, || Source::Case(at, of));
        if !(closed && steps.is_empty()) {
            self.run(steps, depth + 1)?;
        }
        self.facts.truncate(known);
        Ok(())
    }

    /// `(split FACT CASE…)`: one case for each part of a disjunction.
    fn split(&mut self, rest: &[Sexp], depth: usize) -> Result<bool> {
        let (at, cases) = rest.split_first().ok_or("which fact?")?;
        let Fact::Any(parts) = self.fact(at)?.clone() else { return Err("a fact without cases".into()) };
        if parts.len() != cases.len() {
            return Err(format!("{} cases, not {}", parts.len(), cases.len()));
        }
        for (at, (part, steps)) in parts.into_iter().zip(cases).enumerate() {
            self.case(part, steps, (at, cases.len()), depth)?;
        }
        Ok(true)
    }

    /// `(cut TERM K CASE CASE)`: `TERM <= K`, or `TERM >= K + 1`.
    fn cut(&mut self, rest: &[Sexp], depth: usize) -> Result<bool> {
        let [term, k, below, above] = rest else { return Err("a cut has four parts".into()) };
        let p = self.poly(term)?.minus(&self.poly(k)?);
        self.case(Fact::at_least(&p.negated()), below, (0, 2), depth)?;
        self.case(Fact::at_least(&p.plus_int(-1)), above, (1, 2), depth)?;
        Ok(true)
    }

    /// `(combine (M FACT)…)`: a sum of multiples. An inequality is taken a constant number of times that is not
    /// negative, an equation a polynomial number of times.
    fn combine(&mut self, rest: &[Sexp]) -> Result<bool> {
        let (mut sum, mut equation) = (Poly::default(), true);
        for item in rest {
            let Sexp::List(pair) = item else { return Err("a part is a list".into()) };
            let [times, at] = pair.as_slice() else { return Err("a part is a factor and a fact".into()) };
            let factor = self.poly(times)?;
            let p = match self.fact(at)?.clone() {
                Fact::Eq(p) => p,
                Fact::Ge(p) if factor.as_constant().is_some_and(|c| !c.is_negative()) => {
                    equation = false;
                    p
                }
                Fact::Ge(_) => return Err("an inequality a negative or unknown number of times".into()),
                _ => return Err("a sum of what is no comparison".into()),
            };
            self.spend(factor.terms.len() * p.terms.len())?;
            sum = sum.plus(&factor.product(&p).ok_or("too large")?);
        }
        if sum.terms.len() > MAX_TERMS || !sum.is_small() {
            return Err("too large".into());
        }
        let fact = if equation { Fact::equal(&sum) } else { Fact::at_least(&sum) };
        Ok(self.conclude(fact))
    }

    /// `(multiply FACT FACT)`: the product of two inequalities.
    fn multiply(&mut self, rest: &[Sexp]) -> Result<bool> {
        let [a, b] = rest else { return Err("a product of two facts".into()) };
        let (Fact::Ge(p), Fact::Ge(q)) = (self.fact(a)?.clone(), self.fact(b)?.clone()) else {
            return Err("a product of what is no inequality".into());
        };
        self.spend(p.terms.len() * q.terms.len())?;
        Ok(self.conclude(Fact::at_least(&p.product(&q).ok_or("too large")?)))
    }

    /// `(let NAME TERM)`: a new name for a polynomial.
    fn name(&mut self, rest: &[Sexp]) -> Result<bool> {
        let [Sexp::Word(name), term] = rest else { return Err("a name and a term".into()) };
        let p = self.poly(term)?;
        let number = self.names.declare(name).map_err(|e| e.to_string())?;
        Ok(self.conclude(Fact::equal(&Poly::var(number).minus(&p))))
    }

    /// `(equal FACT FACT)`: `p >= 0` and `-p >= 0`.
    fn equal(&mut self, rest: &[Sexp]) -> Result<bool> {
        let [a, b] = rest else { return Err("two facts".into()) };
        match (self.fact(a)?, self.fact(b)?) {
            (Fact::Ge(p), Fact::Ge(q)) if *p == q.negated() => Ok(self.conclude(Fact::equal(&p.clone()))),
            _ => Err("facts that are not opposite".into()),
        }
    }

    /// `(divide FACT TERM FACT K)`: from `p >= 0` or `p = 0`, and `q >= 0`, the same of TERM, where `p = (q + K) TERM`
    /// and K is at least 1.
    fn divide(&mut self, rest: &[Sexp]) -> Result<bool> {
        let [fact, quotient, positive, k] = rest else { return Err("a division has four parts".into()) };
        let k = self.poly(k)?;
        if !k.as_constant().is_some_and(|k| k.is_positive()) {
            return Err("a divisor that may be zero".into());
        }
        let quotient = self.poly(quotient)?;
        let Fact::Ge(q) = self.fact(positive)? else { return Err("a divisor that may be zero".into()) };
        let divisor = q.plus(&k);
        let (fact, equation) = match self.fact(fact)?.clone() {
            Fact::Ge(p) => (p, false),
            Fact::Eq(p) => (p, true),
            _ => return Err("a division of what is no comparison".into()),
        };
        self.spend(divisor.terms.len() * quotient.terms.len())?;
        if divisor.product(&quotient).as_ref() != Some(&fact) {
            return Err("no factor".into());
        }
        Ok(self.conclude(if equation { Fact::equal(&quotient) } else { Fact::at_least(&quotient) }))
    }

    /// `(modulo M FACT…)`: equations without a solution modulo M.
    fn modulo(&mut self, rest: &[Sexp]) -> Result<bool> {
        let (m, equations) = rest.split_first().ok_or("modulo what?")?;
        let m = m.word().and_then(count).and_then(|m| m.to_u64()).filter(|m| (2..=100_000).contains(m));
        let m = m.ok_or("a modulus from 2 to 100000")?;
        let mut polys = Vec::new();
        for at in equations {
            let Fact::Eq(p) = self.fact(at)?.clone() else {
                return Err("modulo of what is no equation".into());
            };
            polys.push(p);
        }
        let reduced = |c: &BigInt| c.mod_floor(&BigInt::from(m)).to_u64().unwrap_or(0);
        let terms: Vec<Vec<Reduced<'_>>> = polys
            .iter()
            .map(|p| {
                p.terms.iter().map(|(mono, c)| (mono.as_slice(), reduced(c))).filter(|t| t.1 != 0).collect()
            })
            .collect();
        let vars: BTreeSet<u32> =
            terms.iter().flatten().flat_map(|(mono, _)| mono.iter().map(|(v, _)| *v)).collect();
        let mut residues: BTreeMap<u32, u64> = vars.iter().map(|v| (*v, 0)).collect();
        loop {
            self.spend(polys.iter().map(|p| p.terms.len()).sum())?;
            let vanishes = |p: &Vec<Reduced<'_>>| {
                let sum = p.iter().fold(0, |sum, (mono, c)| {
                    let power =
                        |all: u64, (v, k): &(u32, u32)| (0..*k).fold(all, |all, _| all * residues[v] % m);
                    (sum + mono.iter().fold(*c, power)) % m
                });
                sum == 0
            };
            if terms.iter().all(vanishes) {
                return Err(format!("there is a solution modulo {m}"));
            }
            let Some(v) = vars.iter().find(|v| residues[v] + 1 < m) else { return Ok(true) };
            for lower in vars.iter().take_while(|u| *u != v) {
                residues.insert(*lower, 0);
            }
            *residues.entry(*v).or_insert(0) += 1;
        }
    }

    /// `(enumerate COUNT (SYMBOL FACT FACT)…)`: each symbol of the claim has a least and a greatest value, and no
    /// assignment within these contradicts the claim.
    fn enumerate(&mut self, rest: &[Sexp]) -> Result<bool> {
        let (count, ranges) = rest.split_first().ok_or("how many?")?;
        let mut box_ = Vec::new();
        for range in ranges {
            let Sexp::List(items) = range else { return Err("a range is a list".into()) };
            let [name, low, high] = items.as_slice() else {
                return Err("a range is a symbol and two facts".into());
            };
            let name =
                name.word().filter(|n| self.claim.symbols.iter().any(|s| s == n)).ok_or("no symbol")?;
            let p = self.names.poly(&Term::name(name)).map_err(|e| e.to_string())?;
            let (low, high) = (self.bound(low, &p)?, -self.bound(high, &p.negated())?);
            box_.push((name.to_owned(), low, high));
        }
        let mut total = BigInt::from(1);
        for (_, low, high) in &box_ {
            total *= (high - low + 1i32).max(BigInt::zero());
        }
        let total = total.to_u64().ok_or("too many assignments")?;
        if count.word() != Some(total.to_string().as_str()) {
            return Err(format!("{total} assignments, not what is said"));
        }
        let mut at: BTreeMap<String, BigInt> =
            box_.iter().map(|(n, low, _)| (n.clone(), low.clone())).collect();
        if at.len() != box_.len() {
            return Err("a symbol has two ranges".into());
        }
        for _ in 0..total {
            self.holds_at(&at)?;
            self.done.assignments += 1;
            for (name, low, high) in &box_ {
                let value = at.get_mut(name).ok_or("no symbol")?;
                if &*value < high {
                    *value += 1;
                    break;
                }
                value.clone_from(low);
            }
        }
        Ok(true)
    }

    /// The k of a fact `p >= k`.
    fn bound(&self, at: &Sexp, p: &Poly) -> Result<BigInt> {
        if let Fact::Ge(q) | Fact::Eq(q) = self.fact(at)? {
            let equal = matches!(self.fact(at)?, Fact::Eq(_));
            for q in [q.clone(), q.negated()].into_iter().take(1 + usize::from(equal)) {
                if let Some(k) = q.minus(p).as_constant() {
                    return Ok(-k);
                }
            }
        }
        Err("a range without a bound".into())
    }

    /// That the claim is not contradicted by an assignment.
    fn holds_at(&mut self, at: &BTreeMap<String, BigInt>) -> Result<()> {
        let of = |name: &str| at.get(name).cloned();
        let claim = std::mem::take(&mut self.claim);
        let result = contradicts(&claim, &of);
        self.claim = claim;
        let (work, contradicted) = result?;
        self.spend(work)?;
        if contradicted {
            let values: Vec<String> = at.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            return Err(format!("the claim is false at {}", values.join(", ")));
        }
        Ok(())
    }
}
