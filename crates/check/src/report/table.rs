//! The table of a report: a row a dimension that the first fix changes.
use super::change::DimensionReport;
use super::model::{Assumed, ConditionKind, GuardVerdict, Report};
use super::style::Style;
use super::words::shown_file;
use sizewise_expr::escape::visible;
use std::fmt::Write;

/// The most rows.
const MAX_ROWS: usize = 8;
/// The most places of a row.
const MAX_PLACES: usize = 2;
/// The longest condition below the table, in characters.
const MAX_EXACT: usize = 100;
/// The widest cell, in characters.
const MAX_CELL: usize = 44;

pub(super) fn write(out: &mut String, report: &Report, style: Style) {
    if report.dimensions.is_empty() {
        return;
    }
    let most = if style.is_all() { usize::MAX } else { MAX_ROWS };
    let allows = match report.assumed {
        Assumed::Spec => "your spec allows",
        Assumed::Declaration => "declared",
        Assumed::Contract | Assumed::Assertions => "allowed",
    };
    // A fix that rejects more than it has to is not what is needed.
    let is_exact = report.fixes.first().is_some_and(|fix| fix.loses == Some(false));
    let needs = match (is_exact, report.program.onnx.is_some()) {
        (true, true) => "the model needs",
        (true, false) => "the program needs",
        (false, _) => "fix 1 makes it",
    };
    let head = ["size", allows, needs, "from"].map(str::to_owned);
    let rows: Vec<[String; 4]> = report.dimensions.iter().take(most).map(cells).collect();
    let width = |column: usize| {
        let all = std::iter::once(&head).chain(&rows);
        all.map(|row| row[column].chars().count()).max().unwrap_or(0).min(MAX_CELL)
    };
    let widths = [width(0), width(1), width(2)];
    let line = |row: &[String; 4]| {
        let [dim, allows, needs, from] = row;
        let [a, b, c] = widths;
        format!("  {dim:<a$}   {allows:<b$}   {needs:<c$}   {from}").trim_end().to_owned()
    };
    let _ = writeln!(out, "\n{}", style.faint(&line(&head)));
    for row in &rows {
        let _ = writeln!(out, "{}", line(row));
    }
    exactly(out, report, is_exact);
    if report.dimensions.len() > rows.len() {
        let _ = writeln!(out, "  ... and {} more (--all shows them)", report.dimensions.len() - rows.len());
    }
}

/// A line of code with a short path, or the name of a node as it is.
fn short_place(place: &str) -> &str {
    let line = place.rsplit_once(':').filter(|(_, line)| line.bytes().all(|byte| byte.is_ascii_digit()));
    line.map_or(place, |_| shown_file(place))
}

/// What is needed exactly, where the first fix does not say it and another one does.
fn exactly(out: &mut String, report: &Report, is_said: bool) {
    let exact = report.fixes.iter().enumerate().find(|(_, fix)| !fix.assumptions.is_empty());
    let Some((at, fix)) = exact.filter(|(at, fix)| *at > 0 && fix.loses == Some(false) && !is_said) else {
        return;
    };
    let assumed = fix.assumptions.join(" and ");
    let needed = match said_by_errors(report, fix.assumptions.len()) {
        Some((said, count)) if count < fix.assumptions.len() || letters(&said) <= letters(&assumed) => said,
        _ => assumed,
    };
    if needed.chars().count() <= MAX_EXACT {
        let _ = writeln!(out, "  needed is exactly {} (fix {})", visible(&needed), at + 1);
    }
}

/// How long a condition is, `x.shape[0]` being no longer than the variable `x_0` of a spec.
fn letters(condition: &str) -> usize {
    condition.replace(".shape[", "_").replace(']', "").chars().count()
}

/// What the errors say together, and how many they are, if a fix that loses nothing takes no fewer assumptions. All
/// other conditions follow from theirs, so it is as exact; a fix that says more says what the spec left to torch, too.
fn said_by_errors(report: &Report, most: usize) -> Option<(String, usize)> {
    let errors =
        report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated && !guard.follows);
    let parts: Vec<String> = errors
        .map(|guard| match guard.shown.contains(" or ") {
            true => format!("({})", guard.shown),
            false => guard.shown.clone(),
        })
        .collect();
    // A condition on data, or a record that is wrong, is no condition on sizes.
    let is_all = report.mismatches.is_empty()
        && report.guards.iter().all(|guard| {
            let is_on_data = guard.kind == ConditionKind::Runtime && guard.verdict == GuardVerdict::Violated;
            guard.verdict != GuardVerdict::Unknown && !is_on_data
        });
    (is_all && (1..=most).contains(&parts.len())).then(|| (parts.join(" and "), parts.len()))
}

fn cells(row: &DimensionReport) -> [String; 4] {
    let dim = match &row.source {
        Some(source) if *source != row.dim => format!("{} ({source})", row.dim),
        _ => row.dim.clone(),
    };
    let mut places: Vec<&str> = row.from.iter().take(MAX_PLACES).map(|place| short_place(place)).collect();
    let more = format!("{} more", row.from.len().saturating_sub(MAX_PLACES));
    if row.from.len() > MAX_PLACES {
        places.push(&more);
    }
    [dim, row.allows.clone(), row.needs.clone(), places.join(", ")].map(|cell| visible(&cell).into_owned())
}
