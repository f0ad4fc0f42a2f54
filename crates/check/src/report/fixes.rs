//! The fixes of a report as text, and what else can be done.
use super::change::Fix;
use super::model::Report;
use super::style::{Style, WHOLE};
use super::words::{plural, standing};
use sizewise_expr::escape::visible;
use std::fmt::Write;

pub(super) fn write(out: &mut String, report: &Report, style: Style) {
    if !report.fixes.is_empty() || !report.help.is_empty() {
        let _ = writeln!(out);
    }
    for (at, fix) in report.fixes.iter().enumerate() {
        let name = style.good(&format!("fix {}", at + 1));
        let count = fix.text.lines().count();
        // The first is to be pasted; of further ones the option prints the text.
        match at > 0 && count > 2 && !style.is_all() {
            true => {
                let kind = if fix.assumptions.is_empty() { "" } else { "a ShapesSpec, " };
                let lines = plural(count, "line", "lines");
                let says = says(report, fix);
                let _ = writeln!(out, "{name}         {kind}{lines}: `--fix {}` prints it; {says}", at + 1);
                // What a ShapesSpec is stands in the documentation; what torch refuses is to be known before it is tried.
                if let Some(note) = fix.note.as_ref().filter(|_| fix.assumptions.is_empty()) {
                    let _ = writeln!(out, "              {}", visible(note));
                }
            }
            false => in_full(out, &name, report, fix),
        }
    }
    for help in &report.help {
        let (word, text) = help
            .split_once(": ")
            .filter(|(word, _)| matches!(*word, "no fix" | "no spec"))
            .unwrap_or(("help", help));
        let _ = writeln!(out, "{:<14}{}", style.good(word), visible(text));
    }
}

fn in_full(out: &mut String, name: &str, report: &Report, fix: &Fix) {
    let mut lines = fix.text.lines().filter(|line| !line.trim().is_empty()).map(visible);
    let _ = writeln!(out, "{WHOLE}{name}         {}", lines.next().unwrap_or_default());
    for line in lines {
        let _ = writeln!(out, "{WHOLE}              {line}");
    }
    let _ = writeln!(out, "              {}", says(report, fix));
    if let Some(note) = &fix.note {
        let _ = writeln!(out, "              {}", visible(note));
    }
}

/// Whether it is proved, and what it costs.
fn says(report: &Report, fix: &Fix) -> String {
    let state = standing(report, fix);
    fix.cost.as_ref().map_or_else(|| state.to_owned(), |cost| format!("{state}; {}", visible(cost)))
}
