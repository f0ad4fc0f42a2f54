//! Assignments tried with the exact evaluator, where conditions are beyond compiled code: doubles, bitwise operations.
use super::facts::Facts;
use super::judge::{Judge, Judgement};
use super::program::to_i128;
use super::search::{Constants, Rng};
use super::verdict::Witness;
use sizewise_expr::{Expr, Int, Pool, Sort, Symbol, Value};

/// What an assignment counts as, of those that compiled code can try.
const COST: u32 = 12;
/// Assignments that are tried of a box that is too large to try all.
const SAMPLES: u32 = 400;
/// The most values of each symbol that they combine.
const MAX_VALUES: usize = 48;

/// What trying came to.
pub(super) enum Exhausted {
    /// An assignment that satisfies the facts and falsifies the goal.
    Found(Witness),
    /// There is none: every assignment was tried.
    None,
    /// None was found among this many.
    Open(u32),
}

/// Whether compiled code cannot compute the facts or the goal.
pub(super) fn is_beyond_code(pool: &Pool, facts: &Facts, goal: Option<Expr>) -> bool {
    if !pool.has_floats() && !pool.has_bits() {
        return false;
    }
    let roots: Vec<Expr> = facts.conditions().iter().copied().chain(goal).collect();
    pool.reachable(&roots).into_iter().any(|e| !super::program::computes(pool, e))
}

/// Tries every assignment of the box that the facts leave, or some if it has more than the points allow.
pub(super) fn exhaust(pool: &mut Pool, facts: &mut Facts, goal: Option<Expr>, points: u32) -> Exhausted {
    let symbols: Vec<Symbol> = facts.ranges().map(|(s, ..)| s).collect();
    let mut values: Vec<Vec<Int>> = Vec::with_capacity(symbols.len());
    let limit = u64::from(points / COST);
    let mut size = 1u64;
    for &symbol in &symbols {
        let e = pool.symbol_expr(symbol);
        if pool.sort(e) != Sort::Int {
            return Exhausted::Open(0);
        }
        let domain = facts.table(pool).domain(pool, e);
        size = size.saturating_mul(domain.count().unwrap_or(u64::MAX));
        let members = if size <= limit { domain.members(limit) } else { None };
        if members.is_none() {
            // Not every assignment is looked at, so none of them proves anything.
            size = u64::MAX;
        }
        values.push(members.unwrap_or_default());
    }
    let conditions = facts.conditions().to_vec();
    let tester =
        Tester { judge: Judge::new(pool, &conditions, facts.required(), goal), pool, symbols: &symbols };
    if size <= limit {
        return tester.every(&values);
    }
    let constants = Constants::of(pool, &conditions.iter().copied().chain(goal).collect::<Vec<Expr>>());
    let between = |(_, low, high): (Symbol, Option<&Int>, Option<&Int>)| {
        let (low, high) = (low.and_then(to_i128), high.and_then(to_i128));
        let near = constants.values_between(low, high, MAX_VALUES);
        near.into_iter().map(Int::from).collect::<Vec<Int>>()
    };
    let values: Vec<Vec<Int>> = facts.ranges().map(between).collect();
    tester.some(&values, SAMPLES.min(points / COST))
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

    /// This many combinations: all symbols at the same rank of their list, then random ones.
    fn some(&self, values: &[Vec<Int>], samples: u32) -> Exhausted {
        if values.iter().any(Vec::is_empty) {
            return Exhausted::Open(0);
        }
        let mut rng = Rng::default();
        for sample in 0..samples {
            let rank = sample as usize;
            let pick = |v: &'_ Vec<Int>, rng: &mut Rng| match rank < MAX_VALUES {
                true => rank.min(v.len() - 1),
                false => rng.early(v.len()),
            };
            let point: Vec<&Int> = values.iter().map(|v| &v[pick(v, &mut rng)]).collect();
            if self.at(&point) == Judgement::Holds {
                return Exhausted::Found(self.witness(&point));
            }
        }
        Exhausted::Open(samples)
    }
}
