//! The report as a page, all in one file; the service's page shows the same view.
use super::graph::GraphView;
use super::model::Report;
use serde::Serialize;
use sizewise_expr::escape::{html, page_json};

/// The style of pages.
pub const PAGE_STYLE: &str = include_str!("page/view.css");
/// The script that draws the view of a report: `sizewise.show(element, {report, graph})`.
pub const PAGE_SCRIPT: &str = include_str!("page/view.js");

#[derive(Serialize)]
struct View<'r> {
    report: &'r Report,
    graph: &'r GraphView,
}

/// The report and the graph as JSON for a page: what cannot be seen in texts is written as escapes that can,
/// and within a script nothing looks like its end.
pub fn to_view_json(report: &Report, graph: &GraphView) -> String {
    let mut text = page_json(&serde_json::to_string(&View { report, graph }).unwrap_or_default());
    text.push('\n');
    text
}

/// The report as one self-contained file.
pub fn to_html(report: &Report, graph: &GraphView) -> String {
    let data = to_view_json(report, graph);
    // Braces would be taken for a place of the page.
    let title = html(&format!("{} - sizewise", report.program.path)).replace('{', "&#123;");
    include_str!("page/report.html")
        .replace("{{title}}", &title)
        .replace("{{style}}", PAGE_STYLE)
        .replace("{{script}}", PAGE_SCRIPT)
        // The data comes last: nothing in it is replaced.
        .replace("{{data}}", &data)
}

/// A program of a page with several: its view as JSON, at a place to link to.
pub fn to_html_part(index: usize, view: &str) -> String {
    format!("<script type=\"application/json\" id=\"d{index}\">{view}</script>\n")
}

/// A line of the index of a page with several programs.
pub fn to_html_row(index: usize, path: &str, verdict: &str, says: &str) -> String {
    let verdict = html(verdict);
    format!(
        "<tr><td><a href=\"#p{index}\">{}</a></td><td>{verdict}</td><td>{}</td></tr>\n",
        html(path),
        html(says)
    )
}

/// What stands before the programs of a page with several, and after them: an index, and a place that shows the program
/// that is chosen.
pub fn to_html_frame(rows: &str, summary: &str) -> [String; 2] {
    let page = include_str!("page/reports.html");
    let (start, end) = page.split_once("{{programs}}").unwrap_or_default();
    let start = start.replace("{{style}}", PAGE_STYLE).replace("{{script}}", PAGE_SCRIPT);
    // What programs say comes last: nothing in it is replaced.
    let (before, after) = end.split_once("{{rows}}").unwrap_or_default();
    let before = before.replace("{{summary}}", &html(summary));
    [start, format!("{before}{rows}{after}")]
}
