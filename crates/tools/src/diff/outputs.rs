//! Outputs whose shapes or values differ, for inputs that both programs accept.
use super::OutputChange;
use super::direction::{Direction, accepts_nothing};
use super::form::{Form, Place};
use super::side::{Outcome, Side};
use serde_json::Value as Json;
use sizewise_check::check::{Evaluation, Shapes};
use sizewise_check::report::int_json;
use sizewise_expr::{Expr, Pool, Value as Number, text};
use sizewise_kernels::Value;
use sizewise_solve::{Budget, Verdict, Witness, decide};

/// The most examples of differences that are replayed.
const MAX_EXAMPLES: usize = 4;

/// What is known of the outputs.
#[derive(Default)]
pub(super) struct Outputs {
    pub changes: Vec<OutputChange>,
    /// What could not be compared.
    pub notes: Vec<String>,
}

/// Compares the outputs by proof; where a proof fails, at an example.
pub(super) fn compare(direction: &Direction, old: &mut Form, new: &mut Form, places: &[Place]) -> Outputs {
    let mut outputs = Outputs::default();
    let (mut compared, mut open) = (Compared::default(), false);
    let both = [old.acceptance, new.acceptance];
    if both.iter().any(|acceptance| !acceptance.results_are_derived) {
        open = true;
    } else {
        compared = symbolically(direction, old, new);
    }
    open |= !compared.open.is_empty();
    // Sizes that are derived hold where the programs are followed; elsewhere they are compared at the example only.
    let witnesses = compared.witnesses.into_iter().take(MAX_EXAMPLES).chain([Witness::new()]);
    for witness in witnesses {
        let found =
            direction.from.shapes_with(&witness).map(|shapes| at(direction, &shapes)).unwrap_or_default();
        for change in found {
            if !outputs.changes.iter().any(|known| known.output == change.output) {
                outputs.changes.push(change);
            }
        }
    }
    outputs.changes.sort_by_key(|change| change.output);
    if compared.depend_on_data {
        outputs.notes.push("sizes of outputs that depend on data take no part".to_owned());
    }
    if open && outputs.changes.is_empty() {
        let text = "whether all outputs have the same shapes is not proved; no example shows a difference";
        outputs.notes.push(text.to_owned());
    } else if outputs.changes.is_empty() && !(places.is_empty() || old.is_exact && new.is_exact) {
        let text = "outputs are compared for the sizes for which the programs go as they were traced";
        outputs.notes.push(text.to_owned());
    }
    outputs
}

/// What comparing the sizes as expressions shows.
#[derive(Default)]
struct Compared {
    /// Inputs at which an output differs, if they replay.
    witnesses: Vec<Witness>,
    /// The outputs of which nothing is known.
    open: Vec<usize>,
    depend_on_data: bool,
}

fn symbolically(direction: &Direction, old: &mut Form, new: &mut Form) -> Compared {
    let mut compared = Compared::default();
    let mut facts = old.facts.clone();
    for condition in new.facts.conditions().to_vec() {
        let condition = new.over_places(condition);
        if let Some(condition) = old.taken(new, condition) {
            facts.assume(&mut old.pool, condition);
        }
    }
    // No call is accepted by both.
    if accepts_nothing(old, &mut facts) {
        return compared;
    }
    let results = |side: &Side, values: &[Value]| -> Vec<Value> {
        let specs = side.checker.program().signature.outputs.iter();
        specs.zip(values).filter(|(spec, _)| spec.is_user_output()).map(|(_, value)| value.clone()).collect()
    };
    let before = results(direction.from, &old.acceptance.results);
    let after = results(direction.to, &new.acceptance.results);
    for (k, (was, is)) in before.iter().zip(&after).enumerate() {
        let (Some(was), Some(is)) = (expressions(was), expressions(is)) else { continue };
        if was.len() != is.len() {
            compared.open.push(k);
            continue;
        }
        for (&was, &is) in was.iter().zip(&is) {
            let is_known = |form: &Form, e: Expr| {
                let variables = &form.acceptance.set.variables;
                form.pool.free_symbols(&[e]).iter().all(|s| variables.iter().any(|v| v.symbol == *s))
            };
            if !is_known(old, was) || !is_known(new, is) {
                compared.depend_on_data = true;
                continue;
            }
            let is = new.over_places(is);
            let Some(is) = old.taken(new, is) else {
                compared.open.push(k);
                continue;
            };
            let same = old.pool.eq(was, is);
            match decide(&mut old.pool, &mut facts, same, &Budget::small()).verdict {
                Verdict::Implied { .. } => {}
                Verdict::Refuted { witness } => {
                    compared.witnesses.push(witness);
                    compared.open.push(k);
                }
                Verdict::Inconsistent { .. } | Verdict::Unknown { .. } => compared.open.push(k),
            }
        }
    }
    compared
}

/// The sizes of a tensor, or the value of a number.
fn expressions(value: &Value) -> Option<Vec<Expr>> {
    match value {
        Value::Tensor(tensor) => Some(tensor.sizes.to_vec()),
        Value::Int(e) | Value::Bool(e) => Some(vec![*e]),
        _ => None,
    }
}

/// The outputs that differ at these inputs, if both programs accept them.
pub(super) fn at(direction: &Direction, shapes: &Shapes) -> Vec<OutputChange> {
    let (Outcome::Accepts(old), Outcome::Accepts(new)) = direction.replay(shapes) else { return Vec::new() };
    let count = old.outputs.len().min(new.outputs.len());
    let changes = (0..count).filter_map(|output| {
        let (was, is) = (result(&old, output)?, result(&new, output)?);
        (was != is).then(|| OutputChange {
            output,
            old: was,
            new: is,
            line: line(direction.to, output),
            inputs: shapes.clone(),
        })
    });
    changes.collect()
}

/// The sizes or the value of an output; `None` where data decides them.
fn result(evaluation: &Evaluation, output: usize) -> Option<Json> {
    let pool = &evaluation.env.pool;
    if let Some(sizes) = &evaluation.outputs[output] {
        let size = |&e: &Expr| pool.as_int(e).map(|v| int_json(&v));
        return sizes.iter().map(size).collect::<Option<Vec<Json>>>().map(Json::from);
    }
    let number = evaluation.numbers[output]?;
    Some(match pool.constant_value(number)? {
        Number::Int(v) => int_json(&v),
        Number::Bool(v) => v.into(),
        _ => shown(pool, number).into(),
    })
}

fn shown(pool: &Pool, e: Expr) -> String {
    text::print::expression(pool, e)
}

/// The line of the user's code that makes an output.
fn line(side: &Side, output: usize) -> Option<String> {
    let program = side.checker.program();
    let outputs = program.signature.outputs.iter().zip(program.graph.outputs());
    let (_, argument) = outputs.filter(|(spec, _)| spec.is_user_output()).nth(output)?;
    let node = program.graph.producer(argument.value()?)?;
    node.provenance.location().map(|location| location.to_string())
}
