//! Unbounded expressions: a ray of assignments that satisfy the facts, along which the expression grows.
//!
//! Every symbol becomes `p + k*d` with a new integer `k >= 0`: a ray from `p` in direction `d`. If the facts
//! hold for all `k` and the expression grows with `k`, there is no greatest value. Large values alone would
//! prove nothing.
use super::facts::Facts;
use super::ladder::decide;
use super::search::Constants;
use super::verdict::{Budget, Trace, Witness};
use num_integer::Integer;
use rustc_hash::FxHashMap;
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Evaluator, Expr, Int, Node, Pool, Symbol, Value, print};

/// Directions are tried for at most this many symbols.
const MAX_SYMBOLS: usize = 8;
/// The most directions along facts.
const MAX_ALONG: usize = 12;
/// The most directions that are put to proof.
const MAX_PROOFS: usize = 4;
/// How far along a direction the facts are tried first.
const SAMPLE_STEPS: [i64; 3] = [1, 2, 1_000_003];
/// The longest step in a direction.
const MAX_STEP: i128 = 1 << 60;

/// Whether an expression is shown to have no greatest value, along a ray from `start`. The facts hold at
/// `start` and at `further`.
pub(super) fn is_unbounded(
    pool: &mut Pool,
    facts: &Facts,
    e: Expr,
    start: &Witness,
    further: &[&Witness],
    budget: &Budget,
    trace: &mut Trace,
) -> bool {
    let mut conditions = facts.conditions().to_vec();
    conditions.extend(facts.range_conditions(pool));
    for d in facts.divisors(pool, Some(e)) {
        conditions.push(pool.ne(d, Expr::ZERO));
    }
    let mut roots = conditions.clone();
    roots.push(e);
    // Steps at which no remainder changes.
    let step = Constants::of(pool, &roots).steps.iter().try_fold(1i128, |step, s| {
        let next = step.checked_mul(s / step.gcd(s))?;
        (next <= MAX_STEP).then_some(next)
    });
    let step = Int::from(step.unwrap_or(1));
    let mut proofs = MAX_PROOFS;
    for direction in directions(pool, facts, e, start, further) {
        let direction: Vec<(Symbol, Int)> = direction.into_iter().map(|(s, d)| (s, &d * &step)).collect();
        if !holds_at_samples(pool, &conditions, e, start, &direction) {
            continue;
        }
        let Some(left) = proofs.checked_sub(1) else { return false };
        proofs = left;
        if holds_along(pool, &conditions, e, start, &direction, budget, trace) {
            return true;
        }
    }
    false
}

/// Directions worth trying: along one symbol of the expression, up or down; along all symbols without an
/// upper bound; along linear facts; and towards other assignments.
fn directions(
    pool: &Pool,
    facts: &Facts,
    e: Expr,
    start: &Witness,
    further: &[&Witness],
) -> Vec<Vec<(Symbol, Int)>> {
    let symbols = pool.free_symbols(&[e]);
    let mut all = Vec::new();
    for &s in symbols.iter().take(MAX_SYMBOLS) {
        let Some(range) = facts.range(s) else { continue };
        if range.hi.finite().is_none() {
            all.push(vec![(s, Int::ONE)]);
        }
        if range.lo.finite().is_none() {
            all.push(vec![(s, Int::from(-1))]);
        }
    }
    let open = |s: &Symbol| facts.range(*s).is_some_and(|r| r.hi.finite().is_none());
    let together = |among: &mut dyn Iterator<Item = Symbol>| -> Vec<(Symbol, Int)> {
        among.filter(&open).map(|s| (s, Int::ONE)).collect()
    };
    all.push(together(&mut symbols.iter().copied()));
    all.push(together(&mut facts.ranges().map(|(s, ..)| s)));
    all.extend(along_facts(pool, facts));
    let values: FxHashMap<Symbol, &Int> = start.iter().map(|(s, v)| (*s, v)).collect();
    for witness in further {
        let towards = witness.iter().filter_map(|(s, v)| Some((*s, v - values.get(s)?)));
        all.push(towards.filter(|(_, d)| !d.is_zero()).collect());
    }
    all.retain(|d| !d.is_empty());
    all
}

/// Directions in which a linear fact about two symbols keeps its slack: `c*s - d*t` stays as it is along `(d, c)`.
fn along_facts(pool: &Pool, facts: &Facts) -> Vec<Vec<(Symbol, Int)>> {
    let mut found = Vec::new();
    for e in pool.reachable(facts.conditions()) {
        let Some(Node::Sum { terms, .. }) = pool.node(e) else { continue };
        for (i, (x, c)) in terms.iter().enumerate() {
            for (y, d) in &terms[i + 1..] {
                if let (Some(s), Some(t)) = (pool.as_symbol(*x), pool.as_symbol(*y))
                    && c.is_negative() != d.is_negative()
                    && found.len() < MAX_ALONG
                {
                    found.push(vec![(s, d.abs()), (t, c.abs())]);
                }
            }
        }
    }
    found
}

/// Whether the conditions hold at some places along a direction, and the expression grows.
fn holds_at_samples(
    pool: &Pool,
    conditions: &[Expr],
    e: Expr,
    start: &Witness,
    direction: &[(Symbol, Int)],
) -> bool {
    let mut values: FxHashMap<Symbol, Int> = start.iter().cloned().collect();
    let at = |values: &FxHashMap<Symbol, Int>| {
        let mut evaluator = Evaluator::new(pool, |s| values.get(&s).cloned().map(Value::Int));
        let hold = conditions.iter().all(|&c| evaluator.truth(c) == Ok(true));
        evaluator.int(e).ok().filter(|_| hold)
    };
    let Some(mut last) = at(&values) else { return false };
    for times in SAMPLE_STEPS {
        for (s, d) in direction {
            let value = start.iter().find(|(t, _)| t == s).map(|(_, v)| v + &(d * &Int::from(times)));
            values.extend(value.map(|v| (*s, v)));
        }
        match at(&values) {
            Some(next) if next > last => last = next,
            _ => return false,
        }
    }
    true
}

/// Whether the conditions hold all along a direction, and the expression grows with every step.
fn holds_along(
    pool: &mut Pool,
    conditions: &[Expr],
    e: Expr,
    start: &Witness,
    direction: &[(Symbol, Int)],
    budget: &Budget,
    trace: &mut Trace,
) -> bool {
    let k = pool.symbol("%ray");
    let Some(steps) = pool.as_symbol(k) else { return false };
    let mut replace: FxHashMap<Expr, Expr> = FxHashMap::default();
    for (symbol, value) in start {
        let mut place = pool.int(value.clone());
        if let Some((_, d)) = direction.iter().find(|(s, _)| s == symbol) {
            let d = pool.int(d.clone());
            let moved = pool.mul(d, k);
            place = pool.add(place, moved);
        }
        replace.insert(pool.symbol_expr(*symbol), place);
    }
    let along = |pool: &mut Pool, e: Expr| pool.substitute(e, |part| replace.get(&part).copied());
    let mut goals: Vec<Expr> = conditions.iter().map(|&c| along(pool, c)).collect();
    let grown = along(pool, e);
    let at_start = pool.substitute(grown, |part| (part == k).then_some(Expr::ZERO));
    let least = pool.add(at_start, k);
    goals.push(pool.le(least, grown));
    let mut facts = Facts::new();
    facts.declare(pool, steps, ValueRange::at_least(Int::ZERO));
    goals.into_iter().all(|goal| {
        let answer = decide(pool, &mut facts, goal, budget);
        trace.answered(&answer, || format!("all along a ray, {}", print::expression(pool, goal)));
        answer.verdict.is_implied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::read;

    #[test]
    fn directions_along_facts_keep_their_slack_and_are_twelve_at_most() {
        let along = |fact: &str| {
            let (mut pool, mut facts) = (Pool::new(), Facts::new());
            let fact = read::closed(&mut pool, fact).expect("an expression").expr;
            facts.assume(&mut pool, fact);
            let shown = |d: &(Symbol, Int)| format!("{}{}", d.1, pool.symbol_name(d.0));
            let mut found: Vec<String> = along_facts(&pool, &facts)
                .iter()
                .map(|d| d.iter().map(shown).collect::<Vec<_>>().join(" "))
                .collect();
            found.sort();
            found.dedup();
            found
        };
        assert_eq!(along("3*a - 5*b <= 7"), ["5a 3b"]);
        assert_eq!(along("3*a + 5*b <= 7"), [""; 0]);
        assert_eq!(along("3*a - a*b <= 7"), [""; 0]);
        assert_eq!(along("a - b - c <= 7"), ["1a 1b", "1a 1c"]);
        assert_eq!(along("a + b + c - 2*x - 3*y - 4*z - 5*w <= 7").len(), 12);
        assert_eq!(along("a + b + c - 2*x - 3*y - 4*z <= 7").len(), 9);
        assert_eq!(along("a + b + c + d - 2*x - 3*y - 4*z - 5*w <= 7").len(), 12);
    }
}
