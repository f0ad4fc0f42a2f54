//! The report as a page, all in one file; the service's page shows the same view.
use super::graph::{GraphView, ValueView};
use super::model::Report;
use super::style::{Detail, Style};
use super::text::to_text;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde_json::Value as Json;
use sizewise_expr::escape::{html, page_json, visible};
use std::io::Write;

/// Longer data are packed: a graph of thousands of nodes repeats itself.
const MAX_PLAIN: usize = 300_000;
/// The most nodes that are listed without a script.
const MAX_STILL: usize = 10_000;
/// The width of the text that is shown without a script.
const STILL_WIDTH: usize = 110;

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
    let (kind, data) = match data.len() {
        0..MAX_PLAIN => ("application/json", data),
        _ => ("application/octet-stream", packed(&data)),
    };
    // Braces would be taken for a place of the page.
    let title = html(&format!("{} - sizewise", report.program.path)).replace('{', "&#123;");
    include_str!("page/report.html")
        .replace("{{title}}", &title)
        .replace("{{style}}", PAGE_STYLE)
        .replace("{{script}}", PAGE_SCRIPT)
        .replace("{{kind}}", kind)
        // What programs say comes last: nothing in it is replaced.
        .replace("{{still}}", &still(report, graph).replace("{{", "{&#123;"))
        .replace("{{data}}", &data)
}

/// The report and the graph as a reader sees them where no script runs: in mail, or in an artifact viewer.
fn still(report: &Report, graph: &GraphView) -> String {
    let style = Style { detail: Detail::All, width: Some(STILL_WIDTH), ..Style::default() };
    let mut nodes = String::new();
    for value in &graph.inputs {
        line(&mut nodes, 0, &value.name, std::slice::from_ref(value), "input");
    }
    for node in graph.nodes.iter().take(MAX_STILL) {
        line(&mut nodes, node.depth, &node.name, &node.values, &node.op);
    }
    if graph.nodes.len() > MAX_STILL {
        let more = graph.nodes.len() - MAX_STILL;
        nodes.push_str(&format!("... and {more} more: `sizewise show` prints all\n"));
    }
    // Of texts, new lines are escaped, too.
    let lines = |text: &str| text.lines().map(html).collect::<Vec<_>>().join("\n");
    format!(
        "<section class=\"card\" aria-label=\"report\"><pre class=\"report\">{}</pre></section>\n\
         <section class=\"card\" aria-label=\"graph\"><h2>Graph</h2><pre class=\"report\">{}</pre></section>",
        lines(&to_text(report, style)),
        lines(&nodes)
    )
}

/// A text as a page unpacks it: base64 of zlib.
fn packed(text: &str) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(text.as_bytes());
    STANDARD.encode(encoder.finish().unwrap_or_default())
}

/// `  add: f32[b, 4]   aten.add.Tensor`
fn line(out: &mut String, depth: usize, name: &str, values: &[ValueView], op: &str) {
    let shape = |value: &ValueView| {
        let size = |size: &Json| size.as_str().map_or_else(|| size.to_string(), str::to_owned);
        let sizes = value.sizes.as_ref().map(|sizes| sizes.iter().map(size).collect::<Vec<_>>().join(", "));
        sizes.map_or_else(|| value.kind.clone(), |sizes| format!("{}[{sizes}]", value.kind))
    };
    let shapes: Vec<String> = values.iter().map(shape).collect();
    let text = format!("{:indent$}{name}: {}   {op}", "", shapes.join(", "), indent = 2 * depth);
    out.push_str(&visible(&text));
    out.push('\n');
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
