//! Checkers as data.
use super::formula::{condition_message, constant_message, fixed_message};
use super::{GuardSet, GuardedInput};
use crate::report::int_json;
use serde_json::{Value as Json, json};
use sizewise_expr::escape::json_text;
use sizewise_expr::text;

pub(super) fn emit(set: &GuardSet) -> String {
    let expression = |e| text::print::expression(&set.pool, e);
    let inputs: Vec<Json> = set
        .inputs
        .iter()
        .map(|input| match input {
            GuardedInput::Tensor { name, sizes } => json!({"name": name, "rank": sizes.len()}),
            GuardedInput::Number { name, .. } => json!({"name": name}),
            GuardedInput::Constant { name, value } => match value.json() {
                Json::Null => json!({"name": name, "value": null}),
                json => json!({"name": name, "value": json, "message": constant_message(name, value)}),
            },
        })
        .collect();
    let symbols: Vec<Json> = set
        .variables
        .iter()
        .map(|v| {
            json!({
                "name": set.pool.symbol_name(v.symbol),
                "input": set.inputs[v.input].name(),
                "dim": v.dim,
                "factor": int_json(&v.factor),
                "offset": int_json(&v.offset),
            })
        })
        .collect();
    let sizes: Vec<Json> = set
        .fixed
        .iter()
        .map(|&(input, dim, e)| {
            json!({
                "input": set.inputs[input].name(),
                "dim": dim,
                "size": expression(e),
                "message": fixed_message(set, input, dim, e),
            })
        })
        .collect();
    let conditions: Vec<Json> = set
        .conditions
        .iter()
        .map(|&e| json!({"expr": expression(e), "message": condition_message(set, e)}))
        .collect();
    let document = json!({
        "schema_version": 1,
        "program": set.program,
        "inputs": inputs,
        "symbols": symbols,
        "sizes": sizes,
        "conditions": conditions,
        "left_open": set.left_open,
    });
    json_text(format!("{document:#}\n"))
}
