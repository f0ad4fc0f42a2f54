//! JSON text in which nothing is hidden.
use super::hidden::{is_hidden, write_escape};
use std::fmt::Write;

/// JSON text in which hidden characters are JSON escapes. Outside of strings, the only ones are line breaks.
/// No line of it is a workflow command of GitHub.
pub fn json_text(text: String) -> String {
    let hidden = |c: char| !c.is_ascii() && is_hidden(c) || c == '\u{7f}';
    if !text.contains(hidden) && !text.contains("##[") {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if hidden(c) || c == '[' && out.ends_with("##") {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// JSON text for a script in a page. Hidden characters in strings, except line breaks, are replaced by
/// visible escapes, and nothing looks like the end of the script.
pub fn page_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let shown = |c: char, out: &mut String| {
        let mut escape = String::new();
        write_escape(c, &mut escape);
        out.push_str(&escape.replace('\\', "\\\\"));
    };
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            // Escapes: `\n` and `\t` stay. The others that serde writes are control characters, quotes and
            // backslashes.
            '\\' => match chars.next() {
                Some('u') => {
                    let digits: String = chars.by_ref().take(4).collect();
                    match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                        Some(c) if is_hidden(c) && c != '\n' => shown(c, &mut out),
                        _ => out.extend(["\\u", &digits]),
                    }
                }
                Some('b') => shown('\u{8}', &mut out),
                Some('f') => shown('\u{c}', &mut out),
                Some('r') => shown('\r', &mut out),
                Some(other) => out.extend(['\\', other]),
                None => {}
            },
            '<' => out.push_str("\\u003c"),
            c if is_hidden(c) && c != '\n' => shown(c, &mut out),
            '[' if out.ends_with("##") => out.push_str("\\u005b"),
            c => out.push(c),
        }
    }
    out
}
