//! Element counts that do not fit in 64 bits: a violation if the declared ranges allow them, a note if only an
//! unbounded dimension reaches them.
//!
//! The element count of an input always fits; only results of the program may not.
use crate::propagate::Run;
use crate::propagate::most_elements;
use crate::spec::Assumptions;
use rustc_hash::FxHashMap;
use sizewise_env::{Origin, ShapeEnv};
use sizewise_expr::{Evaluator, Expr, Int, Node, Pool, Symbol, Value as Number};
use sizewise_solve::Facts;

/// The size of unbounded dimensions at which growth is compared.
const PROBE: i64 = 1 << 20;

/// Counts that may be too large.
#[derive(Default)]
pub(super) struct Counts {
    /// The conditions that counts fit which may be too large within the declared ranges.
    pub bounded: Vec<(Origin, Expr)>,
    /// The step whose count overflows first as the unbounded dimensions grow, with those dimensions and the size.
    pub unbounded: Option<(Origin, Vec<Symbol>, Int)>,
}

/// Sorts the counts of a run. `env` has the facts of the spec and the expressions of the run.
pub(super) fn counts(assumptions: &Assumptions, run: &Run, env: &mut ShapeEnv) -> Counts {
    let mut found = Counts::default();
    let mut unbounded: Vec<(Origin, Expr)> = Vec::new();
    let mut greatest = Greatest::default();
    for &(origin, count) in &run.element_counts {
        let symbols = env.pool.free_symbols(&[count]);
        if symbols.iter().any(|&s| env.symbol(s).is_none()) {
            continue;
        }
        let bound =
            if is_unbounded(&env.pool, env.known_facts(), count) { None } else { env.upper_bound(count) };
        match bound {
            Some(bound) if bound <= most_elements() => {}
            Some(_) => {
                let most = env.pool.int(most_elements());
                found.bounded.push((origin, env.pool.le(count, most)));
            }
            None => {
                greatest.note(env, symbols);
                unbounded.push((origin, count));
            }
        }
    }
    let mut fastest: Option<(Int, Origin, Expr)> = None;
    let mut far = greatest.at(&env.pool, Int::from(PROBE));
    for (origin, count) in unbounded {
        if let Ok(size) = far.int(count)
            && fastest.as_ref().is_none_or(|(most, ..)| size > *most)
        {
            fastest = Some((size, origin, count));
        }
    }
    drop(far);
    if let Some((_, origin, count)) = fastest {
        let reached = threshold(assumptions, env, &mut greatest, count);
        found.unbounded = reached.map(|(symbols, from)| (origin, symbols, from));
    }
    found
}

/// Whether a count is a sum of products of sizes of which only the ranges are known, with a product that grows
/// without bound. Most counts are; ranges decide them completely.
fn is_unbounded(pool: &Pool, facts: &Facts, count: Expr) -> bool {
    let range = |e: Expr| {
        let symbol = pool.as_symbol(e).filter(|&symbol| !facts.mentions(symbol))?;
        facts.range(symbol).filter(|range| range.lo.finite().is_some_and(|low| !low.is_negative()))
    };
    // Whether a product grows; `None` for other products.
    let grows = |factors: &[(Expr, u32)]| {
        let (mut grows, mut vanishes) = (false, false);
        for &(factor, _) in factors {
            let upper = range(factor)?.hi.finite();
            grows |= upper.is_none();
            vanishes |= upper.is_some_and(Int::is_zero);
        }
        Some(grows && !vanishes)
    };
    let product = |e: Expr| match pool.node(e) {
        Some(Node::Product(factors)) => grows(factors),
        _ => grows(&[(e, 1)]),
    };
    match pool.node(count) {
        Some(Node::Sum { terms, .. }) => {
            let mut any = Some(false);
            for (monomial, coefficient) in terms {
                any = any.zip(product(*monomial).filter(|_| coefficient.is_positive())).map(|(a, b)| a || b);
            }
            any == Some(true)
        }
        _ => product(count) == Some(true),
    }
}

/// Assumes that the inputs exist.
pub(super) fn assume_inputs(assumptions: &Assumptions, pool: &mut Pool, facts: &mut Facts) {
    for count in input_counts(assumptions, pool) {
        let most = pool.int(most_elements());
        let fits = pool.le(count, most);
        if pool.as_bool(fits).is_none() {
            facts.assume(pool, fits);
        }
    }
}

/// The inputs of which the declared ranges allow more elements than a tensor has. Of a dimension without a maximum it goes
/// without saying.
pub(super) fn too_large_inputs(assumptions: &Assumptions, env: &mut ShapeEnv) -> Vec<String> {
    let mut found = Vec::new();
    for input in &assumptions.inputs {
        let Some(sizes) = &input.allowed else { continue };
        let count = sizes.iter().fold(Expr::ONE, |count, &size| env.pool.mul(count, size));
        if env.upper_bound(count).is_some_and(|most| most > most_elements()) {
            found.push(input.path.clone());
        }
    }
    found
}

fn input_counts(assumptions: &Assumptions, pool: &mut Pool) -> Vec<Expr> {
    let sizes = assumptions.inputs.iter().filter_map(|input| input.allowed.as_ref());
    sizes.map(|sizes| sizes.iter().fold(Expr::ONE, |count, &size| pool.mul(count, size))).collect()
}

/// The greatest value of each symbol that was asked about; `None` if it is unbounded.
#[derive(Default)]
struct Greatest(FxHashMap<Symbol, Option<Int>>);

impl Greatest {
    /// Looks up the greatest values of symbols.
    fn note(&mut self, env: &mut ShapeEnv, symbols: Vec<Symbol>) {
        for symbol in symbols {
            self.0.entry(symbol).or_insert_with(|| {
                let e = env.pool.symbol_expr(symbol);
                env.bounds(e).1
            });
        }
    }

    /// The values of expressions with every unbounded symbol at `size` and the others at their greatest.
    fn at<'a>(&'a self, pool: &'a Pool, size: Int) -> Evaluator<'a, impl Fn(Symbol) -> Option<Number> + 'a> {
        Evaluator::new(pool, move |s| {
            let most = self.0.get(&s)?;
            Some(Number::Int(most.as_ref().unwrap_or(&size).clone()))
        })
    }

    fn is_unbounded(&self, symbol: Symbol) -> bool {
        matches!(self.0.get(&symbol), Some(None))
    }
}

/// An estimate of the size at which a count reaches the limit, from a power that grows as fast.
fn guess(count: impl Fn(i64) -> Option<Int>) -> Option<i64> {
    let (near, far) = (count(PROBE)?.to_f64(), count(2 * PROBE)?.to_f64());
    let degree = (far / near).log2();
    // NaN becomes 0; what is too large becomes the largest integer.
    let better = |size: i64, count: f64| {
        (size as f64 * (most_elements().to_f64() / count).powf(degree.recip())) as i64
    };
    let size = better(PROBE, near);
    Some(better(size, count(size)?.to_f64()))
}

/// The least common size of the unbounded dimensions at which the count is too large while all inputs exist.
fn threshold(
    assumptions: &Assumptions,
    env: &mut ShapeEnv,
    greatest: &mut Greatest,
    count: Expr,
) -> Option<(Vec<Symbol>, Int)> {
    let inputs = input_counts(assumptions, &mut env.pool);
    let symbols = env.pool.free_symbols(&inputs);
    greatest.note(env, symbols);
    let most = most_elements();
    let too_large = |size: &Int| Some(greatest.at(&env.pool, size.clone()).int(count).ok()? > most);
    // Steps double away from the guess, in both directions.
    let mut size = Int::from(guess(|size| greatest.at(&env.pool, Int::from(size)).int(count).ok())?);
    let (mut fits, mut exceeds) = (Int::from(1), most.clone());
    let (mut step, mut side) = (Int::from(1), None);
    while fits < size && size < exceeds {
        let large = too_large(&size) == Some(true);
        if large {
            exceeds = size.clone();
        } else {
            fits = size.clone();
        }
        if *side.get_or_insert(large) != large {
            break;
        }
        size = if large { &size - &step } else { &size + &step };
        step = &step + &step;
    }
    if exceeds == most && too_large(&most) != Some(true) {
        return None;
    }
    while &exceeds - &fits > Int::from(1) {
        let middle = (&fits + &exceeds).floor_div(&Int::from(2))?;
        if too_large(&middle)? {
            exceeds = middle;
        } else {
            fits = middle;
        }
    }
    let mut there = greatest.at(&env.pool, exceeds.clone());
    if inputs.into_iter().any(|input| there.int(input).map_or(true, |n| n > most)) {
        return None;
    }
    let symbols = env.pool.free_symbols(&[count]);
    Some((symbols.into_iter().filter(|&s| greatest.is_unbounded(s)).collect(), exceeds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sizewise_env::SymbolInfo;
    use sizewise_expr::range::ValueRange;
    use sizewise_expr::text::read::closed;

    #[test]
    fn what_grows_without_bound_has_no_upper_bound() {
        let mut env = ShapeEnv::new();
        let at_least = |low: i64| ValueRange::at_least(low.into());
        let between = |low: i64, high: i64| ValueRange::between(low.into(), high.into());
        for (name, range) in [
            ("s", at_least(0)),
            ("t", at_least(2)),
            ("five", between(0, 5)),
            ("none", between(0, 0)),
            ("any", ValueRange::all()),
            ("held", at_least(0)),
        ] {
            env.declare(name, range, SymbolInfo::default());
        }
        let condition = closed(&mut env.pool, "held*s <= 100").expect("a condition").expr;
        for (text, unbounded) in [
            ("s", true),
            ("3*s*t", true),
            ("s*five", true),
            ("five", false),
            ("s*none", false),
            ("s*none + t", true),
            ("five + 2*t - 7", true),
            ("t - five", false),
            ("s*any", false),
            ("t//2", false),
            ("t**2 + s*t", true),
        ] {
            let count = closed(&mut env.pool, text).expect(text).expr;
            assert_eq!(is_unbounded(&env.pool, env.known_facts(), count), unbounded, "{text}");
            assert!(!unbounded || env.upper_bound(count).is_none(), "{text}");
        }
        env.assume(condition);
        let count = closed(&mut env.pool, "held*s").expect("a count").expr;
        assert!(!is_unbounded(&env.pool, env.known_facts(), count));
        assert_eq!(env.upper_bound(count), Some(100.into()));
    }
}
