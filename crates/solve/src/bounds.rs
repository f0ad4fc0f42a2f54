//! The least and the greatest value of an expression under facts.
use super::facts::{Consistency, Facts};
use super::ladder::{attested, check_components, decide, prepare};
use super::replay::replays;
use super::unbounded;
use super::verdict::{Budget, Rung, Trace, Verdict, Witness};
use super::work::Allowance;
use rustc_hash::FxHashMap;
use sizewise_expr::{Divisor, Evaluator, Expr, Int, Pool, Symbol, Value, print};

/// Questions asked for one end.
const MAX_QUESTIONS: usize = 90;
/// Questions without an answer for one end. Each takes a whole budget.
const MAX_UNKNOWN: usize = 3;
/// Bounds of more bits than this are not searched for.
const MAX_BITS: u64 = 66;

/// The range of an expression.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// The least value; none if there is none, or none was found.
    pub min: Option<Int>,
    /// The greatest value; none if there is none, or none was found.
    pub max: Option<Int>,
    /// An assignment at which the least value is taken.
    pub min_at: Option<Witness>,
    /// An assignment at which the greatest value is taken.
    pub max_at: Option<Witness>,
    /// Whether both ends are settled: a finite one is proved and attained, a missing one is proved not to exist.
    pub exact: bool,
}

/// The bounds of an integer expression under the facts. A finite end is always a bound. It is attained if its
/// assignment is given, too.
pub fn bounds(pool: &mut Pool, facts: &mut Facts, e: Expr, budget: &Budget) -> Bounds {
    bounds_traced(pool, facts, e, budget, &mut Trace::off())
}

/// [`bounds`], looked for from these assignments on, where they satisfy the facts: a question less for each end that
/// they attain.
pub fn bounds_from(
    pool: &mut Pool,
    facts: &mut Facts,
    e: Expr,
    starts: &[Witness],
    budget: &Budget,
) -> Bounds {
    search(pool, facts, e, starts, budget, &mut Trace::off())
}

/// The greatest value of an integer expression under the facts, or else a bound of it; none if neither was found.
pub fn greatest(pool: &mut Pool, facts: &mut Facts, e: Expr, budget: &Budget) -> Option<Int> {
    let e = asked(pool, facts, e);
    if facts.is_divided() {
        check_components(pool, facts, budget, false);
        return facts.with_subproblem(pool, e, |pool, subproblem| {
            greatest(pool, &mut subproblem.facts.clone(), e, budget)
        });
    }
    if let Some(mut own) = facts.for_divisors_of(pool, e) {
        return greatest(pool, &mut own, e, budget);
    }
    prepare(pool, facts, budget);
    end(pool, facts, e, &[], budget, &mut Trace::off()).value
}

/// The integer that is asked about, of which the facts know the symbols, and which of them have to do with it.
fn asked(pool: &mut Pool, facts: &mut Facts, e: Expr) -> Expr {
    let e = pool.as_integer(e);
    facts.declare_free(pool, e);
    facts.divide_for(pool, e);
    e
}

/// [`bounds`] with a record of the questions asked on the way.
pub fn bounds_traced(
    pool: &mut Pool,
    facts: &mut Facts,
    e: Expr,
    budget: &Budget,
    trace: &mut Trace,
) -> Bounds {
    search(pool, facts, e, &[], budget, trace)
}

fn search(
    pool: &mut Pool,
    facts: &mut Facts,
    e: Expr,
    starts: &[Witness],
    budget: &Budget,
    trace: &mut Trace,
) -> Bounds {
    let e = asked(pool, facts, e);
    if facts.is_divided() {
        return bounds_among_many(pool, facts, e, starts, budget, trace);
    }
    if let Some(mut own) = facts.for_divisors_of(pool, e) {
        return search(pool, &mut own, e, starts, budget, trace);
    }
    prepare(pool, facts, budget);
    let upper = end(pool, facts, e, starts, budget, trace);
    let negated = pool.neg(e);
    let lower = end(pool, facts, negated, starts, budget, trace);
    Bounds {
        min: lower.value.map(|v| -v),
        max: upper.value,
        min_at: lower.at,
        max_at: upper.at,
        exact: lower.settled && upper.settled,
    }
}

/// Bounds under the facts that have to do with the expression. They are taken if the other facts can hold, too.
fn bounds_among_many(
    pool: &mut Pool,
    facts: &mut Facts,
    e: Expr,
    starts: &[Witness],
    budget: &Budget,
    trace: &mut Trace,
) -> Bounds {
    prepare(pool, facts, budget);
    if matches!(facts.consistency, Consistency::Inconsistent(_)) {
        return Bounds::default();
    }
    let mut own = facts.with_subproblem(pool, e, |_, subproblem| subproblem.facts.clone());
    let is_own = |(symbol, _): &&(Symbol, Int)| own.range(*symbol).is_some();
    let starts: Vec<Witness> =
        starts.iter().map(|start| start.iter().filter(is_own).cloned().collect()).collect();
    let mut found = search(pool, &mut own, e, &starts, budget, trace);
    found.exact &= facts.components_settled();
    for (end, at) in [(&found.min, &mut found.min_at), (&found.max, &mut found.max_at)] {
        if let Some(witness) = at.take() {
            *at = attested(pool, facts, None, witness, budget).filter(|at| value_at(pool, e, at) == *end);
            found.exact &= at.is_some();
        }
    }
    found
}

#[derive(Default)]
struct End {
    value: Option<Int>,
    at: Option<Witness>,
    settled: bool,
}

/// The greatest value of `e`.
fn end(
    pool: &mut Pool,
    facts: &mut Facts,
    e: Expr,
    starts: &[Witness],
    budget: &Budget,
    trace: &mut Trace,
) -> End {
    let mut limit = facts.domain(pool, e).range.upper();
    trace.note(Rung::Range, || {
        let greatest = limit.as_ref().map_or_else(|| "no bound".to_string(), Int::to_string);
        format!("the greatest value of {} is at most: {greatest}", print::expression(pool, e))
    });
    let mut best = best_of(pool, facts, e, starts);
    if let (Some((_, start)), None) = (&best, &limit)
        && unbounded::is_unbounded(pool, facts, e, start, &[], budget, trace)
    {
        return End { value: None, at: None, settled: true };
    }
    let first = best.clone();
    let mut step = Int::ONE;
    // The value of which it is not known whether it is the greatest.
    let mut open: Option<Int> = None;
    let mut unknown = 0;
    let allowance = Allowance::new(pool, budget.work.into());
    let before = facts.work();
    for question in 0..MAX_QUESTIONS {
        if allowance.left(pool, facts.work().since(before)) == 0 {
            break;
        }
        let Some((value, _)) = &best else { break };
        if limit.as_ref() == Some(value) {
            break;
        }
        if limit.is_none() && value.bits() > MAX_BITS && value.is_positive() {
            let (Some((_, start)), Some((_, far))) = (&first, &best) else { break };
            let settled = unbounded::is_unbounded(pool, facts, e, start, &[far], budget, trace);
            return End { value: None, at: None, settled };
        }
        // Is the value found the greatest? If not, is a much greater one possible?
        let probe = match &limit {
            _ if question % 2 == 0 && open.as_ref() != Some(value) => value.clone(),
            Some(limit) => between(value, limit),
            None => {
                step = &step * &Int::from(4);
                value + &step
            }
        };
        let bound = pool.int(probe.clone());
        let goal = pool.le(e, bound);
        let answer = decide(pool, facts, goal, budget);
        trace.answered(&answer, || format!("{} <= {probe}", print::expression(pool, e)));
        match answer.verdict {
            Verdict::Implied { .. } => limit = Some(limit.map_or(probe.clone(), |l| l.min(probe))),
            Verdict::Refuted { witness } => match value_at(pool, e, &witness) {
                // Greater than the probe, which is at least the value found.
                Some(v) => best = Some((v, witness)),
                None => break,
            },
            Verdict::Inconsistent { .. } => return End::default(),
            Verdict::Unknown { .. } if probe == *value && unknown < MAX_UNKNOWN => {
                open = Some(probe);
                unknown += 1;
            }
            Verdict::Unknown { .. } => break,
        }
    }
    match best {
        Some((value, at)) if limit.as_ref() == Some(&value) => {
            End { value: limit, at: Some(at), settled: true }
        }
        _ => End { value: limit, at: None, settled: false },
    }
}

/// The greatest value that is taken at an assignment that is known, or at one of these.
fn best_of(pool: &Pool, facts: &Facts, e: Expr, starts: &[Witness]) -> Option<(Int, Witness)> {
    let mut best: Option<(Int, Witness)> = None;
    for first in facts.model().into_iter().chain(starts.iter().cloned()) {
        if let Some(v) = value_at(pool, e, &first)
            && best.as_ref().is_none_or(|(known, _)| v > *known)
            && replays(pool, facts, None, &first)
        {
            best = Some((v, first));
        }
    }
    best
}

/// A value between one that is taken and a bound: half-way, or of half the length where the bound is very long.
fn between(value: &Int, limit: &Int) -> Int {
    if limit.is_positive() && limit.bits() > MAX_BITS {
        let length = u32::try_from((limit.bits() + MAX_BITS) / 2).unwrap_or(u32::MAX);
        let shorter = &Int::power_of_two(length) - &Int::ONE;
        if shorter > *value {
            return shorter;
        }
    }
    Divisor::TWO.quotient_of(&(value + limit))
}

fn value_at(pool: &Pool, e: Expr, witness: &Witness) -> Option<Int> {
    let values: FxHashMap<Symbol, &Int> = witness.iter().map(|(s, v)| (*s, v)).collect();
    Evaluator::new(pool, |s| values.get(&s).map(|v| Value::Int((*v).clone()))).int(e).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_bounds_are_shortened_by_length() {
        let power = |n: u32| Int::power_of_two(n);
        for (value, limit, expected) in [
            (Int::from(3), Int::from(9), Int::from(6)),
            (Int::from(-9), Int::from(-4), Int::from(-7)),
            (Int::from(3), power(1_000), &power(533) - &Int::ONE),
            (Int::from(3), power(66), &power(66) - &Int::ONE),
            (power(900), power(901), &power(899) + &power(900)),
        ] {
            let found = between(&value, &limit);
            assert_eq!(found, expected, "{value} to {limit}");
            assert!(value <= found && found < limit);
        }
    }
}
