//! Element counts beyond 64 bits: a violation inside declared maxima, a note where only an unbounded dimension gets there.
//!
//! An input that exists has a count that fits; only what the program makes of it is in question.
use super::run::Run;
use crate::decide::Facts;
use crate::expr::{Evaluator, Expr, Int, Pool, Symbol, Value as Number};
use crate::propagate::most_elements;
use crate::shape_env::{Origin, ShapeEnv};
use crate::spec::Assumptions;

/// Where unbounded dimensions are put to see which count grows fastest.
const PROBE: i64 = 1 << 20;

/// Counts that may be too large.
#[derive(Default)]
pub(super) struct Counts {
    /// Counts whose bound under the declared maxima is too large, as the condition that they are not.
    pub bounded: Vec<(Origin, Expr)>,
    /// The step whose count gets too large first as the unbounded dimensions grow, and from which size on.
    pub unbounded: Option<(Origin, Vec<Symbol>, Int)>,
}

/// Sorts the counts of a run. `env` has the facts of the spec and the expressions of the run.
pub(super) fn counts(assumptions: &Assumptions, run: &Run, env: &mut ShapeEnv) -> Counts {
    let mut found = Counts::default();
    let mut fastest: Option<(Int, Origin, Expr)> = None;
    for &(origin, count) in &run.element_counts {
        let symbols = env.pool.free_symbols(&[count]);
        if symbols.iter().any(|&s| env.symbol(s).is_none()) {
            continue;
        }
        match env.bounds(count).1 {
            Some(bound) if bound <= most_elements() => {}
            Some(_) => {
                let most = env.pool.int(most_elements());
                found.bounded.push((origin, env.pool.le(count, most)));
            }
            None => {
                if let Some(size) = at(env, count, &Int::from(PROBE))
                    && fastest.as_ref().is_none_or(|(most, ..)| size > *most)
                {
                    fastest = Some((size, origin, count));
                }
            }
        }
    }
    if let Some((_, origin, count)) = fastest {
        found.unbounded = threshold(assumptions, env, count).map(|(symbols, from)| (origin, symbols, from));
    }
    found
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

fn input_counts(assumptions: &Assumptions, pool: &mut Pool) -> Vec<Expr> {
    let sizes = assumptions.inputs.iter().filter_map(|input| input.admitted.as_ref());
    sizes.map(|sizes| sizes.iter().fold(Expr::ONE, |count, &size| pool.mul(count, size))).collect()
}

fn is_unbounded(env: &mut ShapeEnv, symbol: Symbol) -> bool {
    let e = env.pool.symbol_expr(symbol);
    env.bounds(e).1.is_none()
}

/// A count with every unbounded dimension at `size` and the others at their maximum.
fn at(env: &mut ShapeEnv, count: Expr, size: &Int) -> Option<Int> {
    let mut values: Vec<(Symbol, Int)> = Vec::new();
    for symbol in env.pool.free_symbols(&[count]) {
        let e = env.pool.symbol_expr(symbol);
        values.push((symbol, env.bounds(e).1.unwrap_or_else(|| size.clone())));
    }
    let value = |s: Symbol| values.iter().find(|(v, _)| *v == s).map(|(_, v)| Number::Int(v.clone()));
    Evaluator::new(&env.pool, value).int(count).ok()
}

/// The least common size of the unbounded dimensions at which the count is too large while all inputs exist.
fn threshold(assumptions: &Assumptions, env: &mut ShapeEnv, count: Expr) -> Option<(Vec<Symbol>, Int)> {
    let (mut fits, mut exceeds) = (Int::from(1), most_elements());
    let too_large = |env: &mut ShapeEnv, size: &Int| at(env, count, size).map(|n| n > most_elements());
    if too_large(env, &exceeds) != Some(true) {
        return None;
    }
    while &exceeds - &fits > Int::from(1) {
        let middle = (&fits + &exceeds).floor_div(&Int::from(2))?;
        if too_large(env, &middle)? {
            exceeds = middle;
        } else {
            fits = middle;
        }
    }
    for input in input_counts(assumptions, &mut env.pool) {
        if at(env, input, &exceeds).is_none_or(|n| n > most_elements()) {
            return None;
        }
    }
    let symbols = env.pool.free_symbols(&[count]);
    Some((symbols.into_iter().filter(|&s| is_unbounded(env, s)).collect(), exceeds))
}
