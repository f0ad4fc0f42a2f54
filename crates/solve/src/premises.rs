//! Which premises a conclusion needs.
//!
//! Proofs are found with all premises. The ones that a proof needs are found afterwards, by leaving premises
//! out and proving again with the cheap rungs. So the result is checked, however the first proof was found.
use super::closing::{Method, closes, conditions};
use super::differences::{self, Solved};
use super::facts::Facts;
use super::linear;
use super::search::conjuncts;
use super::verdict::{FactId, Premise};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Func, Pool};

/// Terms and operands that narrowing may write and visit in all.
const MAX_TERMS: u64 = 1_000_000;
/// More premises than this are looked at for a chain of inequalities first.
const MAX_TOGETHER: usize = 40;
/// The most proofs attempted for one conclusion.
const MAX_ATTEMPTS: usize = 48;
/// So many conclusions have these attempts each; of more, each has fewer.
const MAX_CONCLUSIONS: usize = 32;
/// The most premises that all attempts together look at.
const MAX_LOOKED_AT: usize = 24_000;
/// What each premise of an attempt counts as: its condition is assumed several times.
const WORK_PER_PREMISE: usize = 16;
/// Z3's resource limit where its core is asked for.
#[cfg(feature = "smt")]
const CORE_RLIMIT: u32 = 400_000;

/// A subset of `because` that still implies `goal` or, without a goal, is contradictory. The rest stays if
/// the cheap rungs cannot redo the proof, or after a fixed number of attempts.
pub fn narrow(pool: &mut Pool, facts: &Facts, goal: Option<Expr>, because: &[Premise]) -> Vec<Premise> {
    narrow_one_of(pool, facts, goal, because, 1)
}

/// [`narrow`] for one of so many conclusions, which share the proofs that may be attempted for [`MAX_CONCLUSIONS`].
pub(super) fn narrow_one_of(
    pool: &mut Pool,
    facts: &Facts,
    goal: Option<Expr>,
    because: &[Premise],
    conclusions: usize,
) -> Vec<Premise> {
    let attempts = MAX_ATTEMPTS * MAX_CONCLUSIONS / conclusions.max(MAX_CONCLUSIONS);
    let limit = pool.limit_work(MAX_TERMS);
    let kept = narrowed(pool, facts, goal, because, attempts);
    pool.restore_work(limit);
    kept
}

fn narrowed(
    pool: &mut Pool,
    facts: &Facts,
    goal: Option<Expr>,
    because: &[Premise],
    attempts: usize,
) -> Vec<Premise> {
    let goal = goal.map(|g| pool.truth(g));
    let mut because = because;
    let few;
    if because.len() > MAX_TOGETHER {
        if let Some(chain) = chain(pool, facts, goal, because) {
            return chain;
        }
        if let Some(fewer) = sum(pool, facts, goal, because) {
            few = fewer;
            because = &few;
        }
    }
    let mut left = Left { attempts, premises: MAX_LOOKED_AT };
    // The least effort that finds a proof from everything; then a little more, which may need less.
    let Some(least) = Method::ALL.into_iter().find(|&method| follows(pool, facts, goal, because, method))
    else {
        return core(pool, facts, goal, because).unwrap_or_else(|| because.to_vec());
    };
    let mut kept = without(pool, facts, goal, because.to_vec(), least, &mut left);
    if least == Method::Ranges && kept.len() > 1 {
        kept = without(pool, facts, goal, kept, Method::Linear, &mut left);
    }
    if least == Method::Cases && kept.len() > 1 && follows(pool, facts, goal, &kept, Method::Rules) {
        kept = without(pool, facts, goal, kept, Method::Rules, &mut left);
    }
    kept
}

impl Facts {
    /// Facts that are these premises alone. The ranges come first, which tell where doubles are exact.
    pub(super) fn restricted_to(&self, pool: &mut Pool, premises: &[Premise]) -> Facts {
        let mut alone = self.without_facts();
        for premise in premises {
            let (Premise::Lower(symbol) | Premise::Upper(symbol)) = *premise else { continue };
            let Some(range) = self.range(symbol) else { continue };
            let (low, high) = match premise {
                Premise::Lower(_) => (range.lower(), None),
                _ => (None, range.upper()),
            };
            let half = ValueRange::between_options(low, high).unwrap_or_else(ValueRange::all);
            alone.declare(pool, symbol, half);
        }
        for premise in premises {
            match *premise {
                Premise::Fact(FactId(i)) => {
                    if let Some(&condition) = self.conditions().get(i as usize) {
                        alone.assume(pool, condition);
                    }
                }
                Premise::Nonzero(divisor) => alone.exclude_zero(pool, divisor),
                Premise::Lower(_) | Premise::Upper(_) => {}
            }
        }
        alone
    }
}

/// What narrowing may still do.
struct Left {
    attempts: usize,
    premises: usize,
}

impl Left {
    /// Takes an attempt with so many premises; whether it may be made.
    fn take(&mut self, premises: usize) -> bool {
        let (Some(attempts), Some(premises)) =
            (self.attempts.checked_sub(1), self.premises.checked_sub(premises))
        else {
            self.attempts = 0;
            return false;
        };
        (self.attempts, self.premises) = (attempts, premises);
        true
    }
}

/// The premises along a chain of inequalities that proves the goal or is contradictory, if there is one.
fn chain(pool: &mut Pool, facts: &Facts, goal: Option<Expr>, because: &[Premise]) -> Option<Vec<Premise>> {
    let (mut literals, premises) = literals(pool, facts, because);
    if let Some(goal) = goal {
        let negation = pool.not(goal);
        conjuncts(pool, negation, &mut literals);
    }
    let Solved::Contradiction(used) = differences::solve(pool, &literals) else { return None };
    let mut chain: Vec<Premise> = used.into_iter().filter_map(|i| premises.get(i).copied()).collect();
    chain.dedup();
    Some(chain)
}

/// The premises of which multiples add up to a proof of the goal or to a contradiction, if there are such.
fn sum(pool: &mut Pool, facts: &Facts, goal: Option<Expr>, because: &[Premise]) -> Option<Vec<Premise>> {
    let (mut literals, premises) = literals(pool, facts, because);
    let known = literals.len();
    // What is not zero is below or above it.
    let cases = match goal.map(|goal| pool.not(goal)) {
        None => vec![pool.bool(true)],
        Some(negation) => {
            match pool.as_func(negation, Func::Not).and_then(|a| pool.as_func(a[0], Func::IsZero)) {
                Some(&[p]) => vec![pool.lt(p, Expr::ZERO), pool.lt(Expr::ZERO, p)],
                _ => vec![negation],
            }
        }
    };
    let mut used: Vec<usize> = Vec::new();
    for case in cases {
        literals.truncate(known);
        conjuncts(pool, case, &mut literals);
        used.extend(linear::summands(pool, &literals)?);
    }
    used.sort_unstable();
    let mut sum: Vec<Premise> = used.into_iter().filter_map(|i| premises.get(i).copied()).collect();
    sum.dedup();
    Some(sum)
}

/// The conjuncts that premises stand for, and the premise of each.
fn literals(pool: &mut Pool, facts: &Facts, because: &[Premise]) -> (Vec<Expr>, Vec<Premise>) {
    let (mut literals, mut premises) = (Vec::new(), Vec::new());
    for &premise in because {
        for condition in conditions(pool, facts, &[premise]) {
            conjuncts(pool, condition, &mut literals);
            premises.resize(literals.len(), premise);
        }
    }
    (literals, premises)
}

/// The premises in Z3's core of the contradiction, if Z3 finds one.
#[cfg(feature = "smt")]
fn core(pool: &mut Pool, facts: &Facts, goal: Option<Expr>, because: &[Premise]) -> Option<Vec<Premise>> {
    let tracked = conditions(pool, facts, because);
    if tracked.len() != because.len() {
        return None;
    }
    let mut roots = tracked.clone();
    roots.extend(goal);
    let mut others: Vec<Expr> = goal.map(|g| pool.not(g)).into_iter().collect();
    for d in super::facts::symbolic_divisors(pool, &roots) {
        others.push(pool.ne(d, Expr::ZERO));
    }
    let core = super::smt::core(pool, &tracked, &others, CORE_RLIMIT)?;
    Some(core.into_iter().map(|i| because[i]).collect())
}

#[cfg(not(feature = "smt"))]
fn core(_: &mut Pool, _: &Facts, _: Option<Expr>, _: &[Premise]) -> Option<Vec<Premise>> {
    None
}

/// The premises without those that a proof by this method can do without.
fn without(
    pool: &mut Pool,
    facts: &Facts,
    goal: Option<Expr>,
    because: Vec<Premise>,
    method: Method,
    left: &mut Left,
) -> Vec<Premise> {
    let mut kept = because;
    let mut try_without =
        |pool: &mut Pool, kept: &mut Vec<Premise>, out: &dyn Fn(usize, &Premise) -> bool| {
            if pool.is_spent() || left.attempts == 0 {
                return false;
            }
            let fewer: Vec<Premise> =
                kept.iter().enumerate().filter(|(i, p)| !out(*i, p)).map(|(_, p)| *p).collect();
            if fewer.len() == kept.len() || !left.take(fewer.len()) {
                return false;
            }
            let holds = follows(pool, facts, goal, &fewer, method);
            if holds {
                *kept = fewer;
            }
            holds
        };
    // All assumptions at once, then those that share no symbol with the goal, then halves, quarters and
    // single premises.
    if !try_without(pool, &mut kept, &|_, p| matches!(p, Premise::Fact(_)))
        && let Some(goal) = goal
    {
        let symbols = pool.free_symbols(&[goal]);
        let near: Vec<bool> = kept
            .iter()
            .map(|p| premise_symbols(pool, facts, p).iter().any(|s| symbols.contains(s)))
            .collect();
        try_without(pool, &mut kept, &|i, _| !near[i]);
    }
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let mut end = kept.len();
        while end > 0 {
            let start = end.saturating_sub(size);
            try_without(pool, &mut kept, &|i, _| (start..end).contains(&i));
            end = start;
        }
        size = if size == 1 { 0 } else { size.div_ceil(2) };
    }
    kept
}

fn premise_symbols(pool: &Pool, facts: &Facts, premise: &Premise) -> Vec<sizewise_expr::Symbol> {
    match premise {
        Premise::Fact(FactId(i)) => {
            facts.conditions().get(*i as usize).map_or_else(Vec::new, |&c| pool.free_symbols(&[c]))
        }
        Premise::Lower(s) | Premise::Upper(s) => vec![*s],
        Premise::Nonzero(e) => pool.free_symbols(&[*e]),
    }
}

/// Whether premises imply a goal (or contradict each other) by this method.
fn follows(pool: &mut Pool, facts: &Facts, goal: Option<Expr>, premises: &[Premise], method: Method) -> bool {
    let conditions = conditions(pool, facts, premises);
    // A few cost next to nothing.
    pool.charge(WORK_PER_PREMISE * conditions.len().saturating_sub(MAX_TOGETHER));
    closes(pool, conditions, goal, method)
}
