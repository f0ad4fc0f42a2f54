//! The difference as a page, all in one file, without scripts.
use super::{Difference, Verdict};
use sizewise_check::report::PAGE_STYLE;
use sizewise_expr::escape::{html, visible};
use std::fmt::Write;

impl Difference {
    /// The difference as a self-contained page.
    pub fn to_html(&self) -> String {
        let text = |text: &str| html(&visible(text));
        let class = match self.verdict {
            Verdict::Equal | Verdict::Wider => "ok",
            Verdict::Narrower | Verdict::Different => "violated",
            Verdict::Undecided => "unknown",
        };
        let title = format!("{} and {}", text(&self.names[0]), text(&self.names[1]));
        let mut out = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title} - sizewise</title>\n\
             <style>{PAGE_STYLE}</style>\n</head>\n<body>\n<header class=\"top\">\n<h1>{title}</h1>\n\
             <p class=\"verdict\"><span class=\"badge {class}\">{}</span> {}</p>\n</header>\n<main>\n",
            self.verdict.name(),
            self.sentence(),
        );
        for (title, lines) in self.parts() {
            _ = writeln!(out, "<section class=\"card\">\n<h2>{title}</h2>\n<ul>");
            lines.iter().for_each(|line| _ = writeln!(out, "<li><code>{}</code></li>", text(line)));
            _ = writeln!(out, "</ul>\n</section>");
        }
        out + "</main>\n</body>\n</html>\n"
    }
}
