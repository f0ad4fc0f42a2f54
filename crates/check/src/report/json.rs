//! The report as JSON.
use super::model::Report;
use serde_json::Value as Json;
use sizewise_expr::Int;
use sizewise_expr::escape::json_text;

/// The report as JSON, ending in a line break.
pub fn to_json(report: &Report) -> String {
    let mut text = json_text(serde_json::to_string_pretty(report).unwrap_or_default());
    text.push('\n');
    text
}

/// An integer of any size.
pub fn int_json(value: &Int) -> Json {
    match value.to_i64() {
        Some(small) => small.into(),
        None => serde_json::from_str(&value.to_string()).unwrap_or(Json::Null),
    }
}
