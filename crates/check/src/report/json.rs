//! The report as JSON.
use super::model::Report;
use serde::Serialize;
use serde_json::Value as Json;
use sizewise_expr::Int;
use sizewise_expr::escape::json_text;

/// The report as JSON, ending in a line break.
pub fn to_json(report: &Report) -> String {
    let mut text = json_text(serde_json::to_string_pretty(report).unwrap_or_default());
    text.push('\n');
    text
}

/// A report of one of several programs.
#[derive(Serialize)]
struct Line<'r> {
    path: &'r str,
    #[serde(flatten)]
    report: &'r Report,
}

/// The report as JSON on one line, with the path of the program first, ending in a line break.
pub fn to_jsonl(report: &Report) -> String {
    let line = Line { path: &report.program.path, report };
    let mut text = json_text(serde_json::to_string(&line).unwrap_or_default());
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
