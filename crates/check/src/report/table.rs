//! The table of a report: a row a dimension that the first fix changes.
use super::model::{Assumed, DimensionReport, Report};
use super::style::Style;
use super::words::shown_file;
use sizewise_expr::escape::visible;
use std::fmt::Write;

/// The most rows.
const MAX_ROWS: usize = 8;
/// The most places of a row.
const MAX_PLACES: usize = 2;
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
    let needs = if report.program.onnx.is_some() { "the model needs" } else { "the program needs" };
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
    if report.dimensions.len() > rows.len() {
        let _ = writeln!(out, "  ... and {} more (--all shows them)", report.dimensions.len() - rows.len());
    }
}

fn cells(row: &DimensionReport) -> [String; 4] {
    let dim = match &row.source {
        Some(source) if *source != row.dim => format!("{} ({source})", row.dim),
        _ => row.dim.clone(),
    };
    let mut places: Vec<&str> = row.from.iter().take(MAX_PLACES).map(|place| shown_file(place)).collect();
    let more = format!("{} more", row.from.len().saturating_sub(MAX_PLACES));
    if row.from.len() > MAX_PLACES {
        places.push(&more);
    }
    [dim, row.allows.clone(), row.needs.clone(), places.join(", ")].map(|cell| visible(&cell).into_owned())
}
