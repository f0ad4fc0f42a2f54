//! Walks over symbols, at example sizes that a model accepts.
use super::evaluate::evaluate;
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

/// A walk over symbols for the sizes of inputs.
pub(super) struct Walked<'m> {
    pub symbolic: Symbolic,
    pub walk: Walk<'m>,
    /// The values of the outputs, if the walk came to its end.
    pub results: Option<Vec<Value>>,
}

/// Walks a model at hints that it accepts, if such hints are found.
pub(super) fn walked<'m>(model: &'m Model, limits: Option<&Limits>) -> Walked<'m> {
    let walked = |symbolic: Symbolic| {
        let mut walk = Walk::new(model, symbolic.env.clone(), false);
        let results = walk.run(symbolic.values());
        Walked { symbolic, walk, results }
    };
    let (first, step) = EXAMPLES[0];
    let once = walked(Symbolic::new(model, limits, &|at| first + step * at as i64));
    // Most models accept the first example.
    if once.results.is_some() && once.walk.failures.is_empty() && once.walk.unknown.is_empty() {
        return once;
    }
    walked(symbolic(model, limits))
}

/// The model's inputs with symbols whose hints the model accepts, if such hints are found.
pub(super) fn symbolic(model: &Model, limits: Option<&Limits>) -> Symbolic {
    for &(first, step) in EXAMPLES {
        let symbolic = Symbolic::new(model, limits, &|at| first + step * at as i64);
        let Some(sizes) = symbolic.at(|symbol| symbolic.hint(symbol)) else { continue };
        let refused = evaluate(model, &sizes, &FxHashMap::default()).err();
        if refused.is_none_or(|refused| refused.is_unsupported) {
            return symbolic;
        }
    }
    solved(model, limits)
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
