//! What a certificate claims.
use super::eval::{self, Fault, Value};
use super::fact::{Fact, Names, Problem};
use super::poly::Poly;
use super::term::{Op, Sexp, Sort, Term};
use num_bigint::BigInt;
use std::collections::BTreeSet;

type Result<T> = std::result::Result<T, String>;

/// What a certificate claims: where every operation in it has a value and every premise holds, the goal holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Claim {
    /// The symbols; each stands for any integer.
    pub symbols: Vec<String>,
    /// Formulas.
    pub premises: Vec<Term>,
    /// Terms that are said to have a value.
    pub defined: Vec<Term>,
    /// A formula; `false` where the premises contradict each other.
    pub goal: Option<Term>,
}

/// What follows the first word of a list.
pub(crate) fn expect<'s>(text: Option<&'s Sexp>, head: &str) -> Result<&'s [Sexp]> {
    match text.and_then(Sexp::call) {
        Some((found, rest)) if found == head => Ok(rest),
        _ => Err(format!("expected `({head} …)`")),
    }
}

impl Claim {
    pub(crate) fn read(parts: &[Sexp]) -> Result<Claim> {
        let words = expect(parts.first(), "symbols")?.iter();
        let symbols = words.map(|s| s.word().map(str::to_owned).ok_or("a symbol is no name".to_owned()));
        let terms =
            |at: usize, head| expect(parts.get(at), head)?.iter().map(Term::read).collect::<Result<Vec<_>>>();
        let goal = terms(3, "goal")?;
        let [goal] = <[Term; 1]>::try_from(goal).map_err(|_| "a claim has one goal")?;
        Ok(Claim {
            symbols: symbols.collect::<Result<_>>()?,
            premises: terms(1, "premises")?,
            defined: terms(2, "defined")?,
            goal: Some(goal),
        })
    }

    /// The goal.
    pub fn goal(&self) -> Term {
        self.goal.clone().unwrap_or(Term::Call(Op::False, Vec::new()))
    }

    /// The facts that a proof begins with: the premises, the negated goal, and that operations have a value.
    ///
    /// # Errors
    /// When an operation has no definition, or a limit is reached.
    pub fn facts(&self, names: &Names) -> std::result::Result<Vec<Fact>, Problem> {
        let mut facts = Vec::new();
        for premise in &self.premises {
            facts.push(names.fact(premise, true)?);
        }
        let goal = self.goal();
        facts.push(names.fact(&goal, false)?);
        let mut operands = BTreeSet::new();
        for term in self.premises.iter().chain(std::iter::once(&goal)).chain(&self.defined) {
            for (p, nonzero) in required(names, term)? {
                if operands.insert((p.clone(), nonzero)) {
                    facts.push(if nonzero { Fact::unequal(&p) } else { Fact::at_least(&p) });
                }
            }
        }
        Ok(facts)
    }
}

/// The divisors in a term (not zero), and its exponents and distances of shifts (not negative), operands first.
fn required(names: &Names, term: &Term) -> std::result::Result<Vec<(Poly, bool)>, Problem> {
    let mut found = Vec::new();
    let Term::Call(op, operands) = term else { return Ok(found) };
    for operand in operands {
        found.extend(required(names, operand)?);
    }
    let nonzero = matches!(op, Op::FloorDiv | Op::Mod | Op::IntDiv);
    let second = operands.get(1).filter(|_| nonzero || matches!(op, Op::Pow | Op::Shl | Op::Shr));
    if let Some(second) = second.filter(|second| second.known_sort() == Sort::Int) {
        found.push((names.poly(second)?, nonzero));
    }
    Ok(found)
}

/// Whether everything has a value, all premises hold and the goal does not; and the number of operations.
pub(crate) fn contradicts(claim: &Claim, of: &dyn Fn(&str) -> Option<BigInt>) -> Result<(usize, bool)> {
    let mut work = 0;
    let goal = claim.goal();
    let premises = claim.premises.iter().map(|t| (t, Some(true)));
    let all =
        premises.chain(std::iter::once((&goal, Some(false)))).chain(claim.defined.iter().map(|t| (t, None)));
    for (term, wanted) in all {
        work += size(term);
        match eval::value(term, of) {
            Err(Fault::Undefined) => return Ok((work, false)),
            Err(Fault::Refused) => return Err("a value is not computed".into()),
            Ok(Value::Bool(v)) if wanted.is_some_and(|w| w != v) => return Ok((work, false)),
            Ok(_) => {}
        }
    }
    Ok((work, true))
}

fn size(term: &Term) -> usize {
    match term {
        Term::Call(_, operands) => 1 + operands.iter().map(size).sum::<usize>(),
        _ => 1,
    }
}
