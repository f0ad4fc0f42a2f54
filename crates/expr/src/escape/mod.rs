//! Text of others made fit for the place that it goes to.
//!
//! Names, guards, stack traces and file names are whatever the author of a program wrote. Each output reads
//! some characters as more than letters: a terminal obeys control characters, GitHub takes lines for
//! commands, bidirectional controls reorder what a person sees, code runs. Text for such an output goes
//! through one of these functions.
mod abridged;
mod excerpt;
mod hidden;
mod identifier;
mod json;

#[cfg(test)]
mod tests;

pub use abridged::{abridged, clipped};
pub use excerpt::excerpt;
pub use hidden::is_hidden;
pub use identifier::{Identifiers, is_identifier, is_python_keyword};
pub use json::{json_text, page_json};

use hidden::write_escape;
use std::borrow::Cow;

/// A text on one line for people. Hidden characters, including line breaks, are written as escapes, and
/// nothing in it is a workflow command of GitHub.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) && !is_command(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    write_line(text, |_| false, &mut out);
    Cow::Owned(out)
}

/// A text of several lines for people: as [`visible`] line by line; tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    let hidden = |c: char| is_hidden(c) && c != '\n' && c != '\t';
    if !text.contains(hidden) && !text.split('\n').any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for (i, line) in text.split('\n').enumerate() {
        if i > 0 {
            out.push('\n');
        }
        write_line(line, |c| c == '\t', &mut out);
    }
    Cow::Owned(out)
}

/// As [`lines`], for text that carries sequences for colour, which stay; what they enclose was escaped before.
pub fn coloured_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        let sequence = &rest[at + 2..];
        let length = sequence.find(|c: char| !c.is_ascii_digit() && c != ';').unwrap_or(sequence.len());
        let end = at + 2 + length + usize::from(sequence[length..].starts_with('m'));
        out.push_str(&lines(&rest[..at]));
        out.push_str(if rest[..end].ends_with('m') { &rest[at..end] } else { "\\x1b[" });
        rest = if rest[..end].ends_with('m') { &rest[end..] } else { &rest[at + 2..] };
    }
    out.push_str(&lines(rest));
    out
}

/// A message for standard error on one line. An excerpt may follow it: an indented line and a caret below.
pub fn message(text: &str) -> Cow<'_, str> {
    let mut parts = text.rsplitn(3, '\n');
    match (parts.next(), parts.next(), parts.next()) {
        (Some(caret), Some(excerpt), Some(head))
            if caret.starts_with("  ") && caret.trim_start() == "^" && excerpt.starts_with("  ") =>
        {
            Cow::Owned(format!("{}\n{}\n{caret}", visible(head), visible(excerpt)))
        }
        _ => visible(text),
    }
}

/// Whether GitHub takes a line for a workflow command: `::error::`, or the older `##[error]` anywhere.
fn is_command(line: &str) -> bool {
    line.trim_start().starts_with("::") || line.contains("##[")
}

fn write_line(line: &str, keep: impl Fn(char) -> bool, out: &mut String) {
    // White space before a command does not keep it from being one.
    let colons = line.trim_start().starts_with("::").then(|| line.len() - line.trim_start().len());
    for (at, c) in line.char_indices() {
        match c {
            ':' if colons == Some(at) => out.push_str("\\x3a"),
            '[' if line[..at].ends_with("##") => out.push_str("\\x5b"),
            c if is_hidden(c) && !keep(c) => write_escape(c, out),
            c => out.push(c),
        }
    }
}

/// A string literal as Python's `repr` writes it; hidden characters are written as escapes.
pub fn python_string(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    quoted(text, quote)
}

/// A literal between these quotes, with the escapes of Python.
pub fn quoted(text: &str, quote: char) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push(quote);
    for c in text.chars() {
        match c {
            '\\' => literal.push_str("\\\\"),
            '[' if literal.ends_with("##") => literal.push_str("\\x5b"),
            c if c == quote => literal.extend(['\\', c]),
            c if is_hidden(c) => write_escape(c, &mut literal),
            c => literal.push(c),
        }
    }
    literal.push(quote);
    literal
}

/// A string literal of Rust or Python in ASCII: of what else there is, it holds the escape as letters.
pub fn ascii_literal(text: &str) -> String {
    let mut literal = String::from("\"");
    for c in visible(text).chars() {
        let mut shown = String::new();
        match c {
            ' '..='~' => shown.push(c),
            c => write_escape(c, &mut shown),
        }
        for c in shown.chars() {
            if matches!(c, '"' | '\\') {
                literal.push('\\');
            }
            literal.push(c);
        }
    }
    literal.push('"');
    literal
}

/// A string literal of C: as [`ascii_literal`], without trigraphs.
pub fn c_literal(text: &str) -> String {
    let literal = ascii_literal(text);
    if literal.contains("??") { literal.replace('?', "\\?") } else { literal }
}

/// A comment that ends with its line in C, Rust and Python: no backslash ends it, as the next line would belong to it.
pub fn comment(text: &str) -> String {
    let text = visible(text).replace('\\', "/").replace("??", "? ?");
    text.replace("*/", "* /")
}

/// A text within a Python docstring.
pub fn docstring(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "'")
}

/// A text as the message of one of GitHub's workflow commands.
pub fn command_data(text: &str) -> String {
    visible(text).replace('%', "%25")
}

/// A text as a property of one of GitHub's workflow commands.
pub fn command_property(text: &str) -> String {
    command_data(text).replace(':', "%3A").replace(',', "%2C")
}

/// A text within an element or attribute of HTML.
pub fn html(text: &str) -> String {
    let text = visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}
