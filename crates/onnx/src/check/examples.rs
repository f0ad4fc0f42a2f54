//! Walks over symbols, at example sizes that a model accepts.
use super::evaluate::{Evaluated, Refused, evaluate, evaluate_for_any_data};
use super::limits::Limits;
use super::symbolic::Symbolic;
use crate::read::Model;
use crate::shape::Value;
use crate::walk::Walk;
use rustc_hash::FxHashMap;
use sizewise_expr::{Expr, Symbol};
use sizewise_kernels::KernelError;
use sizewise_solve::{Budget, Verdict, decide};

/// How often other example sizes are looked for.
const MAX_TRIES: usize = 16;

/// Example sizes that are tried, by the order of symbols: different ones first, since equal ones hide conditions.
const EXAMPLES: &[(i64, i64)] = &[
    (7, 4),
    (16, 3),
    (64, 8),
    (224, 32),
    (4, 0),
    (8, 0),
    (16, 0),
    (32, 0),
    (64, 0),
    (224, 0),
    (256, 0),
    (1, 0),
    (2, 0),
];

/// The first size and by how much each further symbol's size is greater.
pub(super) const SAMPLES: &[(i64, i64)] = &[(1, 0), (2, 0), (3, 0), (8, 0), (64, 0), (5, 2), (7, 4), (16, 3)];

/// The size of a symbol in a sample, within its range.
pub(super) fn sampled(symbolic: &Symbolic, (first, step): (i64, i64), symbol: Symbol) -> Option<i64> {
    let at = symbolic.symbols.iter().position(|(known, _)| *known == symbol)?;
    let (min, max) = (symbolic.symbols[at].1.min, symbolic.symbols[at].1.max);
    Some((first + step * at as i64).min(max.unwrap_or(i64::MAX)).max(min))
}

/// A walk over symbols for the sizes of inputs.
pub(super) struct Walked<'m> {
    pub symbolic: Symbolic,
    pub walk: Walk<'m>,
    /// The values of the outputs, if the walk came to its end.
    pub results: Option<Vec<Value>>,
}

/// The hints of symbols, by their order, in an example.
fn hint(example: usize) -> impl Fn(usize) -> i64 {
    let (first, step) = EXAMPLES[example];
    move |at| first + step * at as i64
}

/// Walks a model at hints that it accepts, if such hints are found.
pub(super) fn walked<'m>(model: &'m Model, limits: Option<&Limits>) -> Walked<'m> {
    found(model, limits, true)
}

/// As [`walked`], but the environment without what the walk has added may be gone.
pub(super) fn walked_for_shapes(model: &Model) -> Walked<'_> {
    found(model, None, false)
}

fn found<'m>(model: &'m Model, limits: Option<&Limits>, keeps: bool) -> Walked<'m> {
    let walked = |mut symbolic: Symbolic, keeps: bool| {
        let env = if keeps { symbolic.env.clone() } else { std::mem::take(&mut symbolic.env) };
        let mut walk = Walk::new(model, env, false);
        walk.notes_run_time = keeps;
        let results = walk.run(symbolic.values());
        Walked { symbolic, walk, results }
    };
    let mut once = walked(Symbolic::new(model, limits, &hint(0)), keeps);
    // Most models accept the first example.
    if once.results.is_some() && once.walk.failures.is_empty() && once.walk.unknown.is_empty() {
        return once;
    }
    if !keeps {
        once.symbolic = Symbolic::new(model, limits, &hint(0));
    }
    let walked = |symbolic| walked(symbolic, keeps);
    match accepted(model, limits, &once.symbolic) {
        Some(0) => once,
        Some(at) => walked(Symbolic::new(model, limits, &hint(at))),
        None => walked(solved(model, limits)),
    }
}

/// The first example that a model accepts, or of which it is not known; `first` has the hints of the first one. Sizes
/// that the data of `eval` suit show the most.
fn accepted(model: &Model, limits: Option<&Limits>, first: &Symbolic) -> Option<usize> {
    let sizes = |example: usize| match limits {
        _ if example == 0 => first.at(|symbol| first.hint(symbol)),
        // The symbols are the same in all examples: only their hints differ.
        None => first.at(|symbol| first.hint_by(symbol, &hint(example))),
        Some(_) => {
            let symbolic = Symbolic::new(model, limits, &hint(example));
            symbolic.at(|symbol| symbolic.hint(symbol))
        }
    };
    let accepts =
        |evaluated: Result<Evaluated, Refused>| evaluated.err().is_none_or(|refused| refused.is_unsupported);
    let with_given = |sizes| accepts(evaluate(model, &sizes, &FxHashMap::default()));
    let with_any = |sizes| accepts(evaluate_for_any_data(model, &sizes));
    let mut examples = 0..EXAMPLES.len();
    examples
        .find(|&example| sizes(example).is_some_and(with_given))
        .or_else(|| (0..EXAMPLES.len()).find(|&example| sizes(example).is_some_and(with_any)))
}

/// Hints that satisfy the conditions which the walk meets, one after the other.
fn solved(model: &Model, limits: Option<&Limits>) -> Symbolic {
    let mut hints: Vec<i64> = Vec::new();
    let mut best = Symbolic::new(model, limits, &|at| 7 + 4 * at as i64);
    for _ in 0..MAX_TRIES {
        let hint = |at: usize| hints.get(at).copied().unwrap_or(7 + 4 * at as i64);
        let symbolic = Symbolic::new(model, limits, &hint);
        best = symbolic.clone();
        let mut walk = Walk::new(model, symbolic.env.clone(), true);
        if walk.run(symbolic.values()).is_some() {
            break;
        }
        let Some(condition) = walk.failures.first().and_then(|failure| match &failure.error {
            KernelError::Invalid { condition, .. } => *condition,
            _ => None,
        }) else {
            break;
        };
        let conditions: Vec<Expr> =
            walk.env.guards().iter().map(|guard| guard.condition).chain([condition]).collect();
        let mut env = symbolic.env.clone();
        conditions.into_iter().for_each(|condition| env.assume(condition));
        let (pool, facts) = env.facts();
        let never = pool.bool(false);
        let Verdict::Refuted { witness } = decide(pool, facts, never, &Budget::default()).verdict else {
            break;
        };
        let value = |symbol: &Symbol| witness.iter().find(|(s, _)| s == symbol).and_then(|(_, v)| v.to_i64());
        hints = symbolic.symbols.iter().map(|(s, _)| value(s).or(symbolic.hint(*s)).unwrap_or(1)).collect();
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_examples_are_those_of_symbols_with_their_hints() {
        for inputs in [
            "float[a, b, 3] x",
            "float[a, b] x, float[b, ?] y, float[\"a + b\", \"2*c + 1\"] z",
            "float[n, \"unk-1\"] x, float[\"n // q\", 4] y",
            "float[7] x, float x2, float[] x3",
        ] {
            let text =
                format!("<ir_version: 8, opset_import: [\"\" : 17]>\ng ({inputs}) => (r) {{ r = Neg(x) }}");
            let model = Model::read(text.into_bytes()).expect(inputs);
            let first = Symbolic::new(&model, None, &hint(0));
            for example in 0..EXAMPLES.len() {
                let symbolic = Symbolic::new(&model, None, &hint(example));
                let sizes = symbolic.at(|symbol| symbolic.hint(symbol));
                assert!(sizes.is_some(), "{inputs}");
                assert_eq!(first.at(|symbol| first.hint_by(symbol, &hint(example))), sizes, "{inputs}");
            }
        }
    }
}
