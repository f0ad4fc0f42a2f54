//! Walks over symbols, at example sizes that a model accepts.
use super::evaluate::{Evaluated, Refused, evaluate, evaluate_for_any_data};
use super::limits::Limits;
use super::symbolic::Symbolic;
use rustc_hash::FxHashMap;
use sizewise_expr::{Evaluator, Expr, Symbol, Value as Number};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::Value;
use sizewise_onnx_model::shape::clauses::Broadcast;
use sizewise_onnx_model::walk::{Failure, Walk, WalkStep};
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
    symbolic.hint_by(symbol, &|at| first + step * at as i64)
}

/// A walk over symbols for the sizes of inputs.
pub(crate) struct Walked<'m> {
    pub(super) symbolic: Symbolic,
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
pub(crate) fn walked<'m>(model: &'m Model, limits: Option<&Limits>) -> Walked<'m> {
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
    // What has too many nodes to visit has them at every example.
    if once.walk.visits > once.walk.most_visits {
        return once;
    }
    if !keeps {
        once.symbolic = Symbolic::new(model, limits, &hint(0));
    }
    let walked = |symbolic| walked(symbolic, keeps);
    let (likely, unlikely) = examples(model, limits, &once);
    let mut hints = None;
    let example = accepted(model, &likely).or_else(|| {
        let (symbolic, is_accepted) = solved(model, limits);
        hints = Some(symbolic);
        if is_accepted { None } else { accepted(model, &unlikely) }
    });
    match (example, hints) {
        (Some(0), _) => once,
        (None, Some(symbolic)) => walked(symbolic),
        (example, _) => walked(Symbolic::new(model, limits, &hint(example.unwrap_or(0)))),
    }
}

/// An example and the sizes of the inputs in it.
type Example = (usize, FxHashMap<String, Vec<i64>>);

/// The examples whose sizes may be given, and those of them that break a condition which `once`, the walk at the first
/// example, found broken: these are most likely refused.
fn examples(model: &Model, limits: Option<&Limits>, once: &Walked) -> (Vec<Example>, Vec<Example>) {
    let first = &once.symbolic;
    let required = required(once);
    // The symbols are the same in all examples: only their hints differ.
    let hints = |example: usize| -> Vec<Option<i64>> {
        match limits {
            None => first.symbols.iter().map(|(symbol, _)| first.hint_by(*symbol, &hint(example))).collect(),
            Some(_) => {
                let symbolic = Symbolic::new(model, limits, &hint(example));
                symbolic.symbols.iter().map(|(symbol, _)| symbolic.hint(*symbol)).collect()
            }
        }
    };
    let (mut likely, mut unlikely) = (Vec::new(), Vec::new());
    for example in 0..EXAMPLES.len() {
        let hints = hints(example);
        let assigned = |symbol| hints.get(first.position(symbol)?).copied().flatten();
        if let Some(sizes) = first.at(assigned) {
            let among = if fails(once, &required, assigned) { &mut unlikely } else { &mut likely };
            among.push((example, sizes));
        }
    }
    (likely, unlikely)
}

/// The first example that a model accepts, or of which it is not known. Sizes that the data of `eval` suit show the
/// most.
fn accepted(model: &Model, examples: &[Example]) -> Option<usize> {
    let accepts =
        |evaluated: Result<Evaluated, Refused>| evaluated.err().is_none_or(|refused| refused.is_unsupported);
    let with_given = |(_, sizes): &&Example| accepts(evaluate(model, sizes, &FxHashMap::default()));
    let with_any = |(_, sizes): &&Example| accepts(evaluate_for_any_data(model, sizes));
    let found = examples.iter().find(with_given).or_else(|| examples.iter().find(with_any));
    found.map(|(example, _)| *example)
}

/// What a node requires, and at which step.
struct Required {
    step: usize,
    condition: Expr,
}

/// The conditions on sizes that a walk found broken, whatever the data are: of nodes before any graph within another.
fn required(walked: &Walked) -> Vec<Required> {
    let Walked { symbolic, walk, .. } = walked;
    let known = |symbol: &Symbol| symbolic.position(*symbol).is_some();
    let certain = walk.steps.iter().position(WalkStep::has_graphs).unwrap_or(walk.steps.len());
    let of = |failure: &Failure| match &failure.error {
        // The condition of a broadcast is that of the size which is 1 in the example: another one may be as well.
        KernelError::Invalid { clause, condition: Some(condition), .. }
            if failure.step < certain && *clause != Broadcast::C1.into() =>
        {
            let by_sizes = walk.env.pool.free_symbols(&[*condition]).iter().all(known);
            by_sizes.then_some(Required { step: failure.step, condition: *condition })
        }
        _ => None,
    };
    walk.failures.iter().filter_map(of).collect()
}

/// Whether sizes break a condition that a walk found broken, and nothing before it depends on them in another way.
fn fails(walked: &Walked, required: &[Required], assigned: impl Fn(Symbol) -> Option<i64>) -> bool {
    let env = &walked.walk.env;
    let number = |symbol| assigned(symbol).map(|value| Number::Int(value.into()));
    let mut evaluator = Evaluator::new(&env.pool, number);
    let mut is_broken = |broken: &Required| {
        let mut before = env.guards().iter().filter(|guard| guard.origin.0 as usize <= broken.step);
        evaluator.truth(broken.condition) == Ok(false)
            && before.all(|guard| evaluator.truth(guard.condition) == Ok(true))
    };
    required.iter().any(&mut is_broken)
}

/// Hints that satisfy the conditions which the walk meets, one after the other, and whether the model accepts them.
fn solved(model: &Model, limits: Option<&Limits>) -> (Symbolic, bool) {
    let mut hints: Vec<i64> = Vec::new();
    let mut best = Symbolic::new(model, limits, &|at| 7 + 4 * at as i64);
    for _ in 0..MAX_TRIES {
        let hint = |at: usize| hints.get(at).copied().unwrap_or(7 + 4 * at as i64);
        let symbolic = Symbolic::new(model, limits, &hint);
        best = symbolic.clone();
        let mut walk = Walk::new(model, symbolic.env.clone(), true);
        if walk.run(symbolic.values()).is_some() {
            return (best, true);
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
    (best, false)
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
