//! Laws of certificates: what is certified is true, and so is the claim of whatever the checker accepts after a change.
use crate::campaign;

use campaign::{count, hold};
use num_bigint::BigInt;
use proptest::prelude::*;
use sizewise::certificate::{Claim, Op, Sexp, Term, check, check_text};
use sizewise_prove::{Hints, certify};
use std::collections::BTreeMap;

const SYMBOLS: [&str; 3] = ["x", "y", "z"];

/// How far symbols are enumerated.
const WINDOW: std::ops::RangeInclusive<i128> = -9..=9;

/// One construction step: an operation, which of the terms built so far it takes, and a constant.
type Step = (u8, usize, usize, i64);

/// A claim: construction steps, lower and upper ends of symbols, and how many of the conditions are premises.
type Drawn = (Vec<Step>, Vec<(Option<i64>, Option<i64>)>, usize);

fn drawn() -> impl Strategy<Value = Drawn> {
    let steps = prop::collection::vec((0..20u8, 0..100usize, 0..100usize, -5..7i64), 3..12);
    let end = |low, high| prop::option::of(low..high);
    let ranges = prop::collection::vec((prop::option::of(-3..3i64), end(3i64, 40)), SYMBOLS.len());
    (steps, ranges, 0..3usize)
}

fn call(op: Op, operands: &[&Term]) -> Term {
    Term::Call(op, operands.iter().map(|t| (*t).clone()).collect())
}

/// A claim whose goal is often true: a comparison of terms that were built from the same parts.
fn claim((steps, ranges, premises): &Drawn) -> Claim {
    let mut claim = Claim { symbols: SYMBOLS.map(str::to_owned).to_vec(), ..Claim::default() };
    let mut terms: Vec<Term> = SYMBOLS.map(Term::name).to_vec();
    for (term, (low, high)) in terms.iter().zip(ranges) {
        claim.premises.extend(low.map(|low| call(Op::Ge, &[term, &Term::int(low)])));
        claim.premises.extend(high.map(|high| call(Op::Le, &[term, &Term::int(high)])));
    }
    let mut conditions: Vec<Term> = Vec::new();
    for &(op, i, j, k) in steps {
        let (a, b) = (&terms[i % terms.len()], &terms[j % terms.len()]);
        let (constant, positive) = (Term::int(k), Term::int(k.abs() + 2));
        let term = match op {
            0 => call(Op::Add, &[a, b]),
            1 => call(Op::Sub, &[a, b]),
            2 => call(Op::Mul, &[&constant, a]),
            3 => call(Op::Mul, &[a, b]),
            4 | 5 => call(Op::FloorDiv, &[a, &positive]),
            6 | 7 => call(Op::Mod, &[a, &positive]),
            8 => call(Op::FloorDiv, &[a, b]),
            9 => call(Op::Mod, &[a, b]),
            10 => call(Op::Max, &[a, b, &constant]),
            11 => call(Op::Min, &[a, b]),
            12 => call(Op::Abs, &[a]),
            13 => call(Op::And, &[a, &Term::int(if k > 0 { 7 } else { -4 })]),
            14 if !conditions.is_empty() => call(Op::Ite, &[&conditions[j % conditions.len()], a, b]),
            15 | 16 => {
                conditions.push(call(if k > 0 { Op::Le } else { Op::Lt }, &[a, b]));
                continue;
            }
            17 => {
                conditions.push(call(Op::Eq, &[&call(Op::Mod, &[a, &positive]), &Term::int(k.abs() % 2)]));
                continue;
            }
            18 => {
                conditions.push(call(Op::Ne, &[a, &constant]));
                continue;
            }
            _ if conditions.len() > 1 => {
                let (p, q) = (&conditions[i % conditions.len()], &conditions[j % conditions.len()]);
                let either = call(if k > 0 { Op::Any } else { Op::All }, &[p, q]);
                conditions.push(either);
                continue;
            }
            _ => continue,
        };
        terms.push(term);
    }
    let last = terms.len() - 1;
    let (a, b) = (terms[last].clone(), terms[last / 2].clone());
    let goals =
        [call(Op::Le, &[&a, &b]), call(Op::Ge, &[&a, &b]), call(Op::Ne, &[&a, &Term::int(steps[0].3)])];
    claim.premises.extend(conditions.into_iter().take(*premises));
    claim.goal = Some(goals[steps.len() % 3].clone());
    claim
}

/// The value of an integer or of a truth value, as Python has it; an error where there is none or it is too large.
fn value(term: &Term, at: &BTreeMap<&str, i128>) -> Result<i128, &'static str> {
    let Term::Call(op, operands) = term else {
        return match term {
            Term::Int(v) => i128::try_from(v).map_err(|_| "large"),
            Term::Name(name) => at.get(name.as_str()).copied().ok_or("unknown"),
            _ => Err("double"),
        };
    };
    let v = operands.iter().map(|t| value(t, at)).collect::<Result<Vec<_>, _>>()?;
    let quotient = || {
        if v[1] == 0 {
            Err("undefined")
        } else {
            Ok(v[0].div_euclid(v[1]) - i128::from(v[1] < 0 && v[0].rem_euclid(v[1]) != 0))
        }
    };
    let checked = |v: Option<i128>| v.ok_or("large");
    Ok(match op {
        Op::Add => checked(v.iter().try_fold(0i128, |all, x| all.checked_add(*x)))?,
        Op::Mul => checked(v.iter().try_fold(1i128, |all, x| all.checked_mul(*x)))?,
        Op::Sub if v.len() == 1 => checked(v[0].checked_neg())?,
        Op::Sub => checked(v[0].checked_sub(v[1]))?,
        Op::FloorDiv => quotient()?,
        Op::Mod => checked(quotient()?.checked_mul(v[1]).and_then(|m| v[0].checked_sub(m)))?,
        Op::Pow if v[1] < 0 => return Err("undefined"),
        Op::Pow => checked(u32::try_from(v[1]).ok().and_then(|n| v[0].checked_pow(n)))?,
        Op::And => v[0] & v[1],
        Op::Or => v[0] | v[1],
        Op::Xor => v[0] ^ v[1],
        Op::Max => v.iter().copied().max().ok_or("empty")?,
        Op::Min => v.iter().copied().min().ok_or("empty")?,
        Op::Abs => checked(v[0].checked_abs())?,
        Op::Ite => v[if v[0] != 0 { 1 } else { 2 }],
        Op::True => 1,
        Op::False => 0,
        Op::Le => i128::from(v[0] <= v[1]),
        Op::Lt => i128::from(v[0] < v[1]),
        Op::Ge => i128::from(v[0] >= v[1]),
        Op::Gt => i128::from(v[0] > v[1]),
        Op::Eq => i128::from(v[0] == v[1]),
        Op::Ne => i128::from(v[0] != v[1]),
        Op::All => i128::from(v.iter().all(|x| *x != 0)),
        Op::Any => i128::from(v.iter().any(|x| *x != 0)),
        Op::Not => i128::from(v[0] == 0),
        _ => return Err("not computed here"),
    })
}

/// An assignment at which everything has a value, the premises hold and the goal does not.
fn counterexample(claim: &Claim) -> Option<BTreeMap<&str, i128>> {
    let symbols: Vec<&str> = claim.symbols.iter().map(String::as_str).collect();
    let width = WINDOW.count();
    let total = (0..symbols.len()).fold(1usize, |all, _| all * width);
    let goal = claim.goal();
    (0..total).find_map(|mut number| {
        let mut at = BTreeMap::new();
        for symbol in &symbols {
            at.insert(*symbol, *WINDOW.start() + (number % width) as i128);
            number /= width;
        }
        let premises = claim.premises.iter().map(|t| value(t, &at)).collect::<Result<Vec<_>, _>>().ok()?;
        let defined = claim.defined.iter().all(|t| value(t, &at).is_ok());
        let contradicts = defined && premises.iter().all(|v| *v != 0) && value(&goal, &at) == Ok(0);
        contradicts.then_some(at)
    })
}

/// The part of an S-expression with a number, outermost first; what is left of the number if there are fewer.
fn part<'s>(sexp: &'s mut Sexp, left: &mut usize) -> Option<&'s mut Sexp> {
    if *left == 0 {
        return Some(sexp);
    }
    *left -= 1;
    match sexp {
        Sexp::Word(_) => None,
        Sexp::List(items) => items.iter_mut().find_map(|item| part(item, left)),
    }
}

fn size(sexp: &Sexp) -> usize {
    match sexp {
        Sexp::Word(_) => 1,
        Sexp::List(items) => 1 + items.iter().map(size).sum::<usize>(),
    }
}

/// Changes one place of a certificate: a number, an operation, the order or the presence of parts.
fn mutate(certificate: &mut Sexp, (place, kind, k): (usize, u8, i64)) {
    let mut place = place % size(certificate);
    let Some(part) = part(certificate, &mut place) else { return };
    match part {
        Sexp::Word(word) => {
            let swapped = [
                ("<=", "<"),
                (">=", ">"),
                ("=", "<="),
                ("+", "-"),
                ("//", "%"),
                ("max", "min"),
                ("and", "or"),
            ];
            if let Ok(number) = word.parse::<BigInt>() {
                *word = match kind % 3 {
                    0 => number + k,
                    1 => -number,
                    _ => number * k,
                }
                .to_string();
            } else if let Some((a, b)) = swapped.iter().find(|(a, b)| word == a || word == b) {
                *word = if word == a { *b } else { *a }.to_owned();
            } else {
                *word = SYMBOLS[usize::from(kind) % SYMBOLS.len()].to_owned();
            }
        }
        Sexp::List(items) if items.len() > 1 => {
            let at = usize::from(kind) % items.len();
            let other = k.unsigned_abs() as usize % items.len();
            match kind % 4 {
                0 => drop(items.remove(at)),
                1 => items.swap(at, other),
                2 => items.insert(at, items[other].clone()),
                _ => items[at] = items[other].clone(),
            }
        }
        Sexp::List(_) => {}
    }
}

#[test]
fn what_is_certified_is_true() {
    hold(600, &drawn(), |drawn| {
        let claim = claim(&drawn);
        let Some(certificate) = certify(&claim, &Hints::default()) else { return Ok(()) };
        let checked = check_text(&certificate);
        prop_assert!(checked.is_ok(), "{checked:?}: {}", certificate);
        prop_assert_eq!(counterexample(&claim), None, "{}", certificate);
        count(1);
        Ok(())
    });
}

#[test]
fn no_change_of_a_certificate_makes_a_false_claim_pass() {
    let changes = prop::collection::vec(prop::collection::vec((0..10_000usize, 0..64u8, -3..9i64), 1..3), 40);
    hold(200, &(drawn(), changes), |(drawn, changes)| {
        let Some(certificate) = certify(&claim(&drawn), &Hints::default()) else { return Ok(()) };
        let whole = Sexp::read_all(&certificate).expect("a certificate is read").swap_remove(0);
        for change in changes {
            let mut changed = whole.clone();
            change.into_iter().for_each(|one| mutate(&mut changed, one));
            count(1);
            let Ok(checked) = check(&changed) else { continue };
            prop_assert_eq!(counterexample(&checked.claim), None, "{:?}", changed);
        }
        Ok(())
    });
}
