//! The report as a page, all in one file; the service's page shows the same view.
use super::graph::GraphView;
use super::model::Report;
use serde::Serialize;

/// The style of pages.
pub const PAGE_STYLE: &str = include_str!("page/view.css");
/// The script that draws the view of a report: `sizewise.show(element, {report, graph})`.
pub const PAGE_SCRIPT: &str = include_str!("page/view.js");

#[derive(Serialize)]
struct View<'r> {
    report: &'r Report,
    graph: &'r GraphView,
}

/// The report and the graph as JSON.
pub fn to_view_json(report: &Report, graph: &GraphView) -> String {
    let mut text = serde_json::to_string(&View { report, graph }).unwrap_or_default();
    text.push('\n');
    text
}

/// The report as one file that asks for nothing else.
pub fn to_html(report: &Report, graph: &GraphView) -> String {
    // Inside a script element nothing is decoded, so nothing may look like its end.
    let data = to_view_json(report, graph)
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");
    let title = escaped(&format!("{} - sizewise", report.program.path));
    include_str!("page/report.html")
        .replace("{{title}}", &title)
        .replace("{{style}}", PAGE_STYLE)
        .replace("{{script}}", PAGE_SCRIPT)
        // The data comes last: nothing in it is replaced.
        .replace("{{data}}", &data)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
