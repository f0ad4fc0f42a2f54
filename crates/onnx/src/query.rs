//! Requests about models, as of `sizewise eval`.
use crate::check::{Filled, ShownSize, evaluate_fully};
use crate::read::Model;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_check::query::{Fields, Refusal};

/// Answers a request of `sizewise eval`: what happens to inputs of given sizes, with values where they are given.
///
/// # Errors
/// When the request is malformed.
pub fn answer(model: &Model, request: &Fields) -> Result<Fields, Refusal> {
    let wrong = |what: &str| Refusal::invalid(format!("expected {what}"));
    let given = request.get("shapes").and_then(Json::as_object);
    let given = given.ok_or_else(|| wrong("`shapes`, an object of lists of sizes"))?;
    let mut sizes: FxHashMap<String, Vec<i64>> = FxHashMap::default();
    for (name, list) in given {
        let list = list.as_array().and_then(|list| list.iter().map(Json::as_i64).collect());
        sizes.insert(name.clone(), list.ok_or_else(|| wrong("a list of sizes for each input"))?);
    }
    let mut filled: FxHashMap<String, Filled> = FxHashMap::default();
    for (name, value) in request.get("values").and_then(Json::as_object).into_iter().flatten() {
        let number = |json: &Json| json.as_f64().or_else(|| json.as_bool().map(|b| f64::from(u8::from(b))));
        let value = match value {
            Json::Array(items) => items.iter().map(number).collect::<Option<_>>().map(Filled::List),
            Json::String(text) if text == "zeros" => Some(Filled::All(0.0)),
            value => number(value).map(Filled::All),
        };
        filled.insert(name.clone(), value.ok_or_else(|| wrong("numbers as `values`"))?);
    }
    let mut fields = Fields::new();
    match evaluate_fully(model, &sizes, &filled) {
        Ok(evaluated) => {
            fields.insert("ok".into(), true.into());
            fields.insert(
                "outputs".into(),
                evaluated
                    .outputs
                    .iter()
                    .map(|sizes| {
                        sizes.as_ref().map(|s| s.iter().map(ShownSize::known_json).collect::<Json>())
                    })
                    .collect(),
            );
        }
        Err(refused) => {
            fields.insert("ok".into(), false.into());
            if refused.is_unsupported {
                fields.insert("error_kind".into(), "unsupported".into());
            }
            fields.insert("error".into(), refused.message.into());
            fields.insert("node".into(), refused.node.into());
            fields.insert("expr".into(), refused.expr.into());
        }
    }
    Ok(fields)
}
