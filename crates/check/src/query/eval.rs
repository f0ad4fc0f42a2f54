//! What happens to inputs of given shapes.
use super::refusal::only;
use super::{Fields, Refusal};
use crate::check::{Evaluator, Refused, Shapes};
use crate::report::int_json;
use crate::spec::{Shape, path_text};
use serde_json::Value as Json;
use sizewise_expr::{Expr, Int, Value as Number, text};
use sizewise_ir::{PathStep, UserInput};
use std::sync::Arc;

/// Answers one request.
///
/// # Errors
/// When the request cannot be understood.
pub fn answer(evaluator: &Evaluator, request: &Fields) -> Result<Fields, Refusal> {
    fields_are_known(evaluator, request)?;
    let mut shapes = Shapes::new();
    for (field, is_tensor) in [("shapes", true), ("scalars", false)] {
        match request.get(field) {
            None | Some(Json::Null) => {}
            Some(Json::Object(items)) => {
                for (name, value) in by_placeholder(evaluator, items)? {
                    let shape = if is_tensor { tensor(&name, value)? } else { scalar(&name, value)? };
                    if shapes.insert(name.clone(), shape).is_some() {
                        return Err(Refusal::invalid(format!("the input `{name}` is given twice")));
                    }
                }
            }
            Some(_) => {
                return Err(Refusal::invalid(format!("expected an object of `{field}` by placeholder name")));
            }
        }
    }
    let mut fields = Fields::new();
    match evaluator.evaluate(&shapes) {
        Ok(evaluation) => {
            if let Some(reason) = evaluator.unreadable().first() {
                let message = format!(
                    "whether the program takes these inputs is not known, though nothing else refuses them: {reason}"
                );
                return Err(Refusal::no_result("unsupported", message));
            }
            let pool = &evaluation.env.pool;
            let size = |e: &Expr| match pool.as_int(*e) {
                Some(v) => int_json(&v),
                None => text::print::expression(pool, *e).into(),
            };
            let outputs: Vec<Json> = evaluation
                .outputs
                .iter()
                .map(|sizes| sizes.as_ref().map_or(Json::Null, |sizes| sizes.iter().map(size).collect()))
                .collect();
            fields.insert("ok".into(), true.into());
            fields.insert("outputs".into(), outputs.into());
            if evaluation.numbers.iter().any(Option::is_some) {
                let number = |e: &Expr| match pool.constant_value(*e) {
                    Some(Number::Bool(v)) => v.into(),
                    Some(Number::Float(v)) if v.is_finite() => v.into(),
                    _ => size(e),
                };
                let values = evaluation.numbers.iter().map(|e| e.as_ref().map_or(Json::Null, number));
                fields.insert("values".into(), values.collect());
            }
            if !evaluation.as_traced.is_empty() {
                fields.insert("as_traced".into(), evaluation.as_traced.into());
            }
            if !evaluation.asserted.is_empty() {
                let shown = |e: &Expr| text::print::python(pool, *e, &|s| pool.symbol_name(s));
                let asserted = evaluation.asserted.iter().map(shown);
                fields.insert("runtime_asserts".into(), asserted.collect());
            }
        }
        Err(Refused { malformed: true, message, .. }) => return Err(Refusal::invalid(message)),
        Err(refused) => {
            fields.insert("ok".into(), false.into());
            fields.insert("error".into(), evaluator.told(&refused).into());
            fields.insert("node".into(), refused.node.map_or(Json::Null, |n| Json::from(&*n)));
            fields.insert("expr".into(), refused.expr.map_or(Json::Null, Json::from));
        }
    }
    Ok(fields)
}

/// Shapes or values by placeholder. An input may also be called as reports call it, `inp['x']`, or be given as it
/// stands in the call: `{"inp": {"x": [3, 8]}}`. A name of no input stays as it is.
fn by_placeholder<'j>(
    evaluator: &Evaluator,
    items: &'j Fields,
) -> Result<Vec<(Arc<str>, &'j Json)>, Refusal> {
    let mut found = Vec::with_capacity(items.len());
    for (name, value) in items {
        let is_placeholder = |input: &&UserInput| *input.placeholder == **name;
        let is_path = |input: &&UserInput| path_text(&input.path) == *name;
        let mut inputs = evaluator.user_inputs();
        if let Some(input) = inputs.find(is_placeholder).or_else(|| evaluator.user_inputs().find(is_path)) {
            found.push((input.placeholder.clone(), value));
            continue;
        }
        let rooted = |input: &&UserInput| input.path.first().is_some_and(|step| step.to_string() == *name);
        let inside: Vec<(&UserInput, usize)> =
            evaluator.user_inputs().filter(rooted).map(|i| (i, 1)).collect();
        if inside.is_empty() {
            found.push((name.as_str().into(), value));
        } else {
            leaves(name, &inside, value, &mut found)?;
        }
    }
    Ok(found)
}

/// The inputs in a container, of each of which so many steps have been taken.
fn leaves<'j>(
    place: &str,
    inputs: &[(&UserInput, usize)],
    json: &'j Json,
    found: &mut Vec<(Arc<str>, &'j Json)>,
) -> Result<(), Refusal> {
    if let Some((input, _)) = inputs.iter().find(|(input, taken)| input.path.len() == *taken) {
        found.push((input.placeholder.clone(), json));
        return Ok(());
    }
    let items: Vec<(String, &Json)> = match json {
        Json::Null => return Ok(()),
        Json::Object(items) => items.iter().map(|(key, item)| (key.clone(), item)).collect(),
        Json::Array(items) => items.iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect(),
        _ => return Err(Refusal::invalid(format!("expected an object or a list for `{place}`, got {json}"))),
    };
    for (key, item) in items {
        let steps = |(input, taken): &&(&UserInput, usize)| is_step(&input.path[*taken], &key);
        let inside: Vec<_> = inputs.iter().filter(steps).map(|(input, taken)| (*input, taken + 1)).collect();
        let Some((first, taken)) = inside.first() else {
            let known: Vec<String> = inputs.iter().map(|(input, _)| path_text(&input.path)).collect();
            let message = format!("`{place}` has no input under {key:?}; there are {}", known.join(", "));
            return Err(Refusal::invalid(message));
        };
        leaves(&path_text(&first.path[..*taken]), &inside, item, found)?;
    }
    Ok(())
}

/// Whether a step leads to the element of this key.
fn is_step(step: &PathStep, key: &str) -> bool {
    match step {
        PathStep::Index(index) => index.to_string() == key,
        PathStep::Field(name) | PathStep::Parameter(name) => **name == *key,
        PathStep::Key(known) => {
            let known = known.to_string();
            known == key || known.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) == Some(key)
        }
    }
}

/// Refuses unknown fields; for an input's name among them the message says where it belongs.
fn fields_are_known(evaluator: &Evaluator, request: &Fields) -> Result<(), Refusal> {
    let error = match only(request, &["id", "shapes", "scalars"]) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let misplaced = |field: &&String| evaluator.placeholders().any(|input| *input == ***field);
    match request.keys().find(misplaced) {
        None => Err(error),
        Some(input) => {
            let message = format!(
                "the input `{input}` belongs in `shapes`, or `scalars` if it is a number: \
                 {{\"shapes\": {{{input:?}: [..]}}}}"
            );
            Err(Refusal { message, ..error })
        }
    }
}

fn tensor(name: &str, json: &Json) -> Result<Shape, Refusal> {
    let wrong = || Refusal::invalid(format!("expected a list of sizes for `{name}`, got {json}"));
    let items = json.as_array().ok_or_else(wrong)?;
    let size = |v: &Json| v.as_number().and_then(|n| n.to_string().parse::<Int>().ok());
    items.iter().map(size).collect::<Option<Vec<Int>>>().map(Shape::Tensor).ok_or_else(wrong)
}

fn scalar(name: &str, json: &Json) -> Result<Shape, Refusal> {
    match json {
        Json::Bool(b) => Ok(Shape::Scalar(Number::Bool(*b))),
        Json::Number(n) => match n.to_string().parse::<Int>() {
            Ok(v) => Ok(Shape::Scalar(Number::Int(v))),
            Err(_) => n
                .as_f64()
                .map(|v| Shape::Scalar(Number::Float(v)))
                .ok_or_else(|| Refusal::invalid(format!("the value of `{name}`"))),
        },
        Json::String(text) => Ok(Shape::Text(text.as_str().into())),
        Json::Null => Ok(Shape::None),
        _ => Err(Refusal::invalid(format!("expected a number, a string or null for `{name}`, got {json}"))),
    }
}
