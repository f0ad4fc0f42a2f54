//! What happens to inputs of given shapes.
use super::refusal::only;
use super::{Fields, Refusal};
use crate::check::{Evaluator, Refused, Shapes};
use crate::report::int_json;
use crate::spec::Shape;
use serde_json::Value as Json;
use sizewise_expr::{Int, Value as Number, text};

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
                for (name, value) in items {
                    let shape = if is_tensor { tensor(name, value)? } else { scalar(name, value)? };
                    shapes.insert(name.as_str().into(), shape);
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
            let pool = &evaluation.env.pool;
            let size = |e: &sizewise_expr::Expr| match pool.as_int(*e) {
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
            if !evaluation.as_traced.is_empty() {
                fields.insert("as_traced".into(), evaluation.as_traced.into());
            }
        }
        Err(Refused { malformed: true, message, .. }) => return Err(Refusal::invalid(message)),
        Err(refused) => {
            fields.insert("ok".into(), false.into());
            fields.insert("error".into(), refused.message.into());
            fields.insert("node".into(), refused.node.map_or(Json::Null, |n| Json::from(&*n)));
            fields.insert("expr".into(), refused.expr.map_or(Json::Null, Json::from));
        }
    }
    Ok(fields)
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
