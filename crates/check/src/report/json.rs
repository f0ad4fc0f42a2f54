//! The report as JSON.
use super::model::Report;
use sizewise_expr::escape::json_text;

/// The report as JSON, ending in a line break.
pub fn to_json(report: &Report) -> String {
    let mut text = json_text(serde_json::to_string_pretty(report).unwrap_or_default());
    text.push('\n');
    text
}
