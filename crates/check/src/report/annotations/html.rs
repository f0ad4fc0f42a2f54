//! The annotated source as a page, all in one file, without scripts.
use super::{AnnotatedFile, Annotations};
use crate::report::html::PAGE_STYLE;
use sizewise_expr::escape::{html, visible};
use std::fmt::Write;

/// What the page has beside the style of all pages.
const STYLE: &str = "table.source { font-family: ui-monospace, \"DejaVu Sans Mono\", Menlo, monospace; font-size: .85rem; } \
    table.source td { border: 0; padding: .05rem .6rem .05rem 0; white-space: pre; } \
    td.number { color: var(--faint); text-align: right; width: 1%; } td.made { color: var(--accent); } \
    tr.gap td { color: var(--faint); } table.source tr.error td { background: var(--bad-ground); }";

fn text(text: &str) -> String {
    html(&visible(text))
}

impl Annotations {
    /// The page.
    pub fn to_html(&self) -> String {
        let title = text(&self.program);
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title} - sizewise</title>\n\
             <style>{PAGE_STYLE}\n{STYLE}</style>\n</head>\n<body>\n<header class=\"top\">\n<h1>{title}</h1>\n"
        );
        let inputs = self
            .inputs
            .iter()
            .map(|(name, shape)| format!("<code>{}</code>", text(&format!("{name}: {shape}"))));
        _ = writeln!(out, "<p>inputs {}</p>\n</header>\n<main>", inputs.collect::<Vec<_>>().join(", "));
        self.files.iter().for_each(|file| file.section(&mut out));
        if !self.unplaced.is_empty() {
            out.push_str("<section class=\"card\">\n<h2>Without a line</h2>\n<ul>\n");
            for made in &self.unplaced {
                let line = format!("{}: {}  {}", made.node, made.shapes.join(", "), made.op);
                _ = writeln!(out, "<li><code>{}</code></li>", text(&line));
            }
            out.push_str("</ul>\n</section>\n");
        }
        out + "</main>\n</body>\n</html>\n"
    }
}

impl AnnotatedFile {
    fn section(&self, out: &mut String) {
        _ = writeln!(out, "<section class=\"card wide\">\n<h2>{}</h2>", text(self.path()));
        if let Some(line) = self.changed_at {
            _ = writeln!(
                out,
                "<p class=\"faint\">Line {line} of the file that is there now is another one: lines are shown as they were recorded.</p>"
            );
        }
        out.push_str("<table class=\"source\">\n");
        for (at, run) in self.runs().iter().enumerate() {
            if at > 0 {
                out.push_str("<tr class=\"gap\"><td class=\"number\">...</td><td></td><td></td></tr>\n");
            }
            run.iter().for_each(|&number| self.row(out, number));
        }
        out.push_str("</table>\n</section>\n");
    }

    fn row(&self, out: &mut String, number: u32) {
        let line = self.lines.get(&number);
        let made = line.map(|line| {
            let findings = line.findings.iter().map(|(level, says)| format!("{level}: {says}"));
            line.groups().into_iter().chain(findings).map(|made| text(&made)).collect::<Vec<_>>().join("\n")
        });
        let is_wrong = line.is_some_and(|line| line.findings.iter().any(|(level, _)| *level == "error"));
        let class = if is_wrong { " class=\"error\"" } else { "" };
        _ = writeln!(
            out,
            "<tr{class}><td class=\"number\">{number}</td><td>{}</td><td class=\"made\">{}</td></tr>",
            text(&self.shown(number)),
            made.unwrap_or_default()
        );
    }
}
