//! Sizes for programs without an example, near which counterexamples and fixes are looked for: small ones that the
//! assumptions allow.
use rustc_hash::FxHashMap;
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value};
use sizewise_solve::{Budget, Compiled, Facts, Verdict, decide};

/// Sizes that are tried of all symbols together, the first one first.
const TOGETHER: [i64; 13] = [4, 3, 2, 6, 8, 12, 16, 5, 1, 24, 32, 64, 0];
/// Sizes up to this one are tried of one symbol, then these powers of 2, and up to that one of two.
const ALONE: i64 = 64;
const LARGER: std::ops::RangeInclusive<u32> = 7..=20;
const IN_PAIRS: i64 = 16;
/// The most times that sizes are changed for one more assumption to hold.
const MAX_CHANGES: usize = 12;
/// With more assumptions or symbols it is left to the solver.
const MAX_CONDITIONS: usize = 200;
const MAX_SYMBOLS: usize = 12;

type Sizes = FxHashMap<Symbol, Int>;

/// Sizes for these symbols, the others having those of `known`, under which all facts hold; `None` if none are found.
pub fn usual_sizes(
    pool: &mut Pool,
    facts: &Facts,
    symbols: &[Symbol],
    known: &Sizes,
    budget: &Budget,
) -> Option<Sizes> {
    let conditions: Vec<Expr> = facts.conditions().to_vec();
    if conditions.len() <= MAX_CONDITIONS && symbols.len() <= MAX_SYMBOLS {
        let facts = facts.clone();
        let tries = Tries::new(pool, &facts, symbols, &conditions);
        if let Some(found) = tries.together(known).or_else(|| tries.one_by_one(known)) {
            return Some(found);
        }
    }
    let never = pool.bool(false);
    let Verdict::Refuted { witness } = decide(pool, &mut facts.clone(), never, budget).verdict else {
        return None;
    };
    let mut sizes = known.clone();
    sizes.extend(witness);
    Some(sizes)
}

/// The sizes of the example. If one of these `symbols` has none there, small sizes that are allowed, and at which these
/// conditions hold, take its place.
pub fn works_at(env: &mut ShapeEnv, symbols: &[Symbol], conditions: &[Expr]) -> Sizes {
    let mut sizes = Sizes::default();
    let mut missing: Vec<Symbol> = Vec::new();
    for (symbol, ..) in env.known_facts().ranges() {
        match env.symbol(symbol).and_then(|info| info.hint.as_ref()).and_then(Value::as_int) {
            Some(size) => _ = sizes.insert(symbol, size),
            None => missing.push(symbol),
        }
    }
    if symbols.iter().all(|symbol| sizes.contains_key(symbol)) {
        return sizes;
    }
    let (pool, facts) = env.facts();
    let mut facts = facts.clone();
    conditions.iter().for_each(|&condition| _ = facts.assume(pool, condition));
    usual_sizes(pool, &facts, &missing, &sizes, &Budget::small()).unwrap_or(sizes)
}

struct Tries<'a> {
    pool: &'a Pool,
    facts: &'a Facts,
    symbols: &'a [Symbol],
    /// The assumptions, with their symbols among these.
    conditions: Vec<(Compiled, Vec<Symbol>)>,
}

impl<'a> Tries<'a> {
    fn new(pool: &'a Pool, facts: &'a Facts, symbols: &'a [Symbol], conditions: &[Expr]) -> Tries<'a> {
        let own = |&e: &Expr| {
            let own = pool.free_symbols(&[e]).into_iter().filter(|s| symbols.contains(s)).collect();
            (Compiled::new(pool, e), own)
        };
        Tries { pool, facts, symbols, conditions: conditions.iter().map(own).collect() }
    }

    /// A size, or the end of the symbol's range that is nearest to it.
    fn inside(&self, symbol: Symbol, size: i64) -> Int {
        let (size, range) = (Int::from(size), self.facts.range(symbol));
        let size = range.and_then(|range| range.upper()).map_or(size.clone(), |most| size.min(most));
        range.and_then(|range| range.lower()).map_or(size.clone(), |least| size.max(least))
    }

    fn holds(&self, condition: &Compiled, sizes: &Sizes) -> bool {
        condition.holds(self.pool, |s| sizes.get(&s), &mut Vec::new()) == Some(true)
    }

    /// How many assumptions do not hold, and the symbols of the first of them.
    fn broken(&self, sizes: &Sizes) -> (usize, &[Symbol]) {
        let mut broken = self.conditions.iter().filter(|(condition, _)| !self.holds(condition, sizes));
        match broken.next() {
            None => (0, &[]),
            Some((_, own)) => (1 + broken.count(), own),
        }
    }

    fn all_of(&self, known: &Sizes, size: i64) -> Sizes {
        let mut sizes = known.clone();
        sizes.extend(self.symbols.iter().map(|&symbol| (symbol, self.inside(symbol, size))));
        sizes
    }

    /// One size for all symbols.
    fn together(&self, known: &Sizes) -> Option<Sizes> {
        TOGETHER.iter().map(|&size| self.all_of(known, size)).find(|sizes| self.broken(sizes).0 == 0)
    }

    /// Changes one or two sizes at a time, so that fewer assumptions are broken.
    fn one_by_one(&self, known: &Sizes) -> Option<Sizes> {
        let mut sizes = self.all_of(known, TOGETHER[0]);
        for _ in 0..MAX_CHANGES {
            let (count, own) = self.broken(&sizes);
            if count == 0 {
                return Some(sizes);
            }
            sizes = self.better(&sizes, own, count)?;
        }
        None
    }

    fn better(&self, sizes: &Sizes, own: &[Symbol], count: usize) -> Option<Sizes> {
        let with = |changed: &[(Symbol, i64)]| {
            let mut changed_sizes = sizes.clone();
            changed_sizes.extend(changed.iter().map(|&(s, size)| (s, self.inside(s, size))));
            (self.broken(&changed_sizes).0 < count).then_some(changed_sizes)
        };
        let mut alone = (1..=ALONE).chain(LARGER.map(|power| 1 << power));
        let alone = alone.find_map(|size| own.iter().find_map(|&s| with(&[(s, size)])));
        alone.or_else(|| {
            let pairs = own.iter().enumerate().flat_map(|(i, &s)| own[i + 1..].iter().map(move |&t| (s, t)));
            pairs.into_iter().find_map(|(s, t)| {
                (1..=IN_PAIRS).find_map(|a| (1..=IN_PAIRS).find_map(|b| with(&[(s, a), (t, b)])))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::{print, read};

    #[test]
    fn sizes_are_small_and_all_assumptions_hold() {
        for (assumed, sizes) in [
            (&[][..], [4, 4]),
            (&["Eq(Mod(a, 6), 0)"], [6, 6]),
            (&["Eq(a, 2*b + 1)"], [9, 4]),
            (&["a >= 100", "b < a"], [128, 4]),
            (&["a*b >= 40", "a <= 3"], [1, 40]),
            (&["Eq(a, b + 7)", "Eq(Mod(b, 4), 1)"], [8, 1]),
        ] {
            let (mut pool, mut facts) = (Pool::new(), Facts::new());
            let symbols: Vec<Symbol> = ["a", "b"]
                .iter()
                .map(|name| {
                    let e = pool.symbol(name);
                    pool.as_symbol(e).expect("a symbol")
                })
                .collect();
            for &symbol in &symbols {
                facts.declare(&mut pool, symbol, ValueRange::at_least(Int::ZERO));
            }
            for text in assumed {
                let e = read::closed(&mut pool, text).expect("a condition").expr;
                facts.assume(&mut pool, e);
            }
            let found = usual_sizes(&mut pool, &facts, &symbols, &Sizes::default(), &Budget::default());
            let found = found.expect("sizes");
            let found: Vec<&Int> = symbols.iter().map(|symbol| &found[symbol]).collect();
            assert_eq!(found, [&Int::from(sizes[0]), &Int::from(sizes[1])], "{assumed:?}");
            for &e in facts.conditions() {
                let value =
                    |s: Symbol| symbols.iter().position(|known| *known == s).map(|at| found[at].clone());
                let holds = pool.eval(e, |s| value(s).map(sizewise_expr::Value::Int));
                assert!(holds.is_ok_and(|v| v.as_bool()), "{}", print::expression(&pool, e));
            }
        }
    }
}
