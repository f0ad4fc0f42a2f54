//! What a run takes, as text.
use super::costs::Figure;
use super::model::{Outcome, Report};
use super::words::short;
use sizewise_expr::escape::visible;
use std::fmt::Write;

/// The values that the text names.
const MAX_NAMED: usize = 2;

/// At most two lines of text.
pub fn write(out: &mut String, report: &Report) {
    let Some(costs) = report.costs.as_ref().filter(|_| report.verdict != Outcome::Invalid) else { return };
    let figure = |what: &str, figure: &Figure| {
        let expr = figure.expr.as_ref().map(|expr| format!(" {}", short(expr)));
        let most = figure.max.as_ref().map(|max| format!(", at most {max}")).unwrap_or_default();
        format!("{what}{}{most}", expr.unwrap_or_default())
    };
    let exact = if costs.reasons.is_empty() { "" } else { " (not exact: `sizewise cost` says why)" };
    let all = [figure("flops", &costs.flops), figure("peak bytes", &costs.peak_bytes)].join("; ");
    _ = writeln!(out, "costs: {}{exact}", visible(&all));
    let largest = costs.values.iter().take(MAX_NAMED).filter_map(|value| {
        let at = value.at.as_ref().map(|at| format!(" ({at})")).unwrap_or_default();
        Some(format!("{} at most {} bytes{at}", value.value, value.bytes.max.as_ref()?))
    });
    let largest: Vec<String> = largest.collect();
    if !largest.is_empty() {
        _ = writeln!(out, "largest: {}", visible(&largest.join("; ")));
    }
}
