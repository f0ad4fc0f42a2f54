//! Assignments tried with the exact evaluator, where conditions are beyond compiled code: doubles, bitwise operations.
use super::facts::Facts;
use super::judge::{Judge, Judgement};
use super::sampler::Sampler;
use super::verdict::Witness;
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value};

/// What an assignment counts as, of those that compiled code can try.
const COST: u32 = 12;
/// Assignments that are tried of a box that is too large to try all.
const SAMPLES: u32 = 1_200;
/// Conditions of so many nodes more make an assignment count once more.
const LONG: usize = 256;

/// What trying came to.
pub(super) enum Exhausted {
    /// An assignment that satisfies the facts and falsifies the goal.
    Found(Witness),
    /// There is none: every assignment was tried.
    None,
    /// None was found among this many.
    Open(u32),
}

/// Tries every assignment of the box that the facts leave, or some if it has more than the points allow.
pub(super) fn exhaust(pool: &mut Pool, facts: &mut Facts, goal: Option<Expr>, points: u32) -> Exhausted {
    let conditions = facts.conditions().to_vec();
    let mut roots: Vec<Expr> = conditions.iter().copied().chain(goal).collect();
    roots.extend(&facts.required().nonzero);
    let mentioned = pool.free_symbols(&roots);
    let ranges: Vec<(Symbol, Option<Int>)> =
        facts.ranges().map(|(s, low, high)| (s, low.or(high).cloned())).collect();
    let symbols: Vec<Symbol> = ranges.iter().map(|(s, _)| *s).collect();
    let mut values: Vec<Vec<Int>> = Vec::with_capacity(symbols.len());
    let limit = u64::from(points / COST);
    let mut size = 1u64;
    for (symbol, end) in ranges {
        let e = pool.symbol_expr(symbol);
        if pool.sort(e) == Sort::Bool {
            return Exhausted::Open(0);
        }
        if pool.sort(e) == Sort::Float {
            size = u64::MAX;
            continue;
        }
        let domain = facts.table(pool).domain(pool, e);
        let any = end.unwrap_or_default();
        if !mentioned.contains(&symbol) && domain.contains(&any) {
            // Nothing depends on it.
            values.push(vec![any]);
            continue;
        }
        size = size.saturating_mul(domain.count().unwrap_or(u64::MAX));
        let members = if size <= limit { domain.members(limit) } else { None };
        if members.is_none() {
            // Not every assignment is looked at, so none of them proves anything.
            size = u64::MAX;
        }
        values.push(members.unwrap_or_default());
    }
    if size <= limit {
        let judge = Judge::new(pool, &conditions, facts.required(), goal);
        return Tester { judge, pool, symbols: &symbols }.every(&values);
    }
    let nodes = pool.reachable(&conditions.iter().copied().chain(goal).collect::<Vec<Expr>>()).len();
    let cost = COST * (1 + u32::try_from(nodes / LONG).unwrap_or(u32::MAX / COST - 1));
    let mut sampler = Sampler::new(pool, facts, &conditions, goal);
    let seeds = [facts.model(), facts.has_hints().then(|| facts.at_hints_or_ends())];
    match sampler.solve(seeds.into_iter().flatten(), SAMPLES.min(points / cost)) {
        (Some(witness), _) => Exhausted::Found(witness),
        (None, tried) => Exhausted::Open(tried),
    }
}

/// Evaluates the conditions and the goal at points.
struct Tester<'a> {
    judge: Judge<'a>,
    pool: &'a Pool,
    symbols: &'a [Symbol],
}

impl Tester<'_> {
    fn at(&self, point: &[&Int]) -> Judgement {
        let value = |s: Symbol| {
            let slot = self.symbols.iter().position(|t| *t == s)?;
            Some(Value::Int((*point.get(slot)?).clone()))
        };
        self.pool.charge(1);
        self.judge.at(value)
    }

    fn witness(&self, point: &[&Int]) -> Witness {
        self.symbols.iter().zip(point).map(|(&s, &v)| (s, v.clone())).collect()
    }

    /// Every combination of the values.
    fn every(&self, values: &[Vec<Int>]) -> Exhausted {
        if values.iter().any(Vec::is_empty) {
            return Exhausted::None;
        }
        let mut index = vec![0usize; values.len()];
        let (mut tried, mut certain) = (0, true);
        loop {
            let point: Vec<&Int> = index.iter().zip(values).map(|(&i, v)| &v[i]).collect();
            tried += 1;
            match self.at(&point) {
                Judgement::Holds => return Exhausted::Found(self.witness(&point)),
                Judgement::Open => certain = false,
                Judgement::Fails => {}
            }
            let Some(slot) = (0..index.len()).find(|&slot| index[slot] + 1 < values[slot].len()) else {
                return if certain { Exhausted::None } else { Exhausted::Open(tried) };
            };
            index[..slot].fill(0);
            index[slot] += 1;
        }
    }
}
