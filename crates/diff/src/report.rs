//! The difference as text for people, and as Markdown for a pull request.
use super::{Difference, Example, GuardChange, OutputChange, Verdict, Which, inputs};
use serde_json::Value as Json;
use sizewise_check::check::Shapes;
use std::fmt::Write;

impl Difference {
    /// The verdict as a sentence.
    pub(super) fn sentence(&self) -> &'static str {
        match self.verdict {
            Verdict::Equal => "both accept the same inputs",
            Verdict::Wider => "NEW accepts all that OLD accepts, and more",
            Verdict::Narrower => "NEW refuses inputs that OLD accepts",
            Verdict::Different if self.examples.is_empty() => "calls of one do not fit the other",
            Verdict::Different => "NEW refuses inputs that OLD accepts, and accepts others",
            Verdict::Undecided => "whether both accept the same inputs is not known",
        }
    }

    /// The parts of a report: titles with lines.
    pub(super) fn parts(&self) -> Vec<(&'static str, Vec<String>)> {
        let guards = |changes: &[GuardChange]| changes.iter().map(guard).collect::<Vec<String>>();
        let parts = [
            ("examples", self.examples.iter().map(example).collect()),
            ("guards added", guards(&self.added)),
            ("guards removed", guards(&self.removed)),
            ("outputs", self.outputs.iter().map(output).collect()),
            ("interface", self.interface.clone()),
            ("notes", self.notes.clone()),
        ];
        parts.into_iter().filter(|(_, lines): &(_, Vec<String>)| !lines.is_empty()).collect()
    }

    /// The difference for people.
    pub fn to_text(&self) -> String {
        let mut out = format!("{}: {}\n", self.verdict.name(), self.sentence());
        _ = writeln!(out, "  OLD {}\n  NEW {}", self.names[0], self.names[1]);
        for (title, lines) in self.parts() {
            _ = writeln!(out, "{title}");
            lines.iter().for_each(|line| _ = writeln!(out, "  {line}"));
        }
        out
    }

    /// The difference as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("### Contract: {}\n\n{}.\n\n", self.verdict.name(), self.sentence());
        _ = writeln!(out, "| | program |\n| --- | --- |");
        _ = writeln!(out, "| OLD | {} |\n| NEW | {} |", code(&self.names[0]), code(&self.names[1]));
        for (title, lines) in self.parts() {
            _ = writeln!(out, "\n**{title}**\n");
            lines.iter().for_each(|line| _ = writeln!(out, "- {}", code(line)));
        }
        out
    }
}

/// A text as code in Markdown, also within a table: nothing in it is markup.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let text = text.replace('|', "\\|").replace(['\n', '\r'], " ");
    if longest > 0 { format!("{fence} {text} {fence}") } else { format!("{fence}{text}{fence}") }
}

fn example(example: &Example) -> String {
    let (by, other) = match example.accepted_by {
        Which::Old => ("OLD", "NEW"),
        Which::New => ("NEW", "OLD"),
    };
    format!("{}: {by} accepts, {other} refuses: {}", call(&example.inputs), example.message)
}

fn guard(change: &GuardChange) -> String {
    match &change.line {
        Some(line) => format!("{} ({line})", change.condition),
        None => change.condition.clone(),
    }
}

fn output(change: &OutputChange) -> String {
    let line = change.line.as_ref().map(|line| format!(" ({line})")).unwrap_or_default();
    let OutputChange { output, old, new, inputs, .. } = change;
    format!("output {output}{line}: OLD {old}, NEW {new} for {}", call(inputs))
}

/// Inputs as `sizewise eval` takes them: `x=3,8 n=4`, and `x=[]` for a tensor without dimensions.
fn call(shapes: &Shapes) -> String {
    let Json::Object(values) = inputs(shapes) else { return String::new() };
    let one = |(name, value): (&String, &Json)| match value {
        Json::Array(sizes) if sizes.is_empty() => format!("{name}=[]"),
        Json::Array(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(Json::to_string).collect();
            format!("{name}={}", sizes.join(","))
        }
        other => format!("{name}={other}"),
    };
    values.iter().map(one).collect::<Vec<String>>().join(" ")
}
