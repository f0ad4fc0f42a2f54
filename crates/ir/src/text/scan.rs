//! Lines with places, and values as they are written.

use super::raw::{Raw, RawValue, Spot};
use crate::error::{Place, ReadError, ReadErrorKind};
use sizewise_expr::escape::{is_hidden, visible};

/// How deep lists and dictionaries nest.
const MAX_DEPTH: usize = 64;
/// How much of a line an error shows.
const SHOWN: usize = 100;

/// A text by lines.
pub(super) struct SourceText<'t> {
    lines: Vec<&'t str>,
}

impl<'t> SourceText<'t> {
    pub fn new(text: &'t str) -> SourceText<'t> {
        SourceText { lines: text.lines().collect() }
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.lines.len()
    }

    /// A line; empty behind the last.
    pub fn line(&self, line: usize) -> &'t str {
        self.lines.get(line).copied().unwrap_or_default()
    }

    /// An error at a byte of a line, with the line and a caret.
    pub fn error(&self, line: usize, byte: usize, message: String) -> ReadError {
        let text = self.line(line);
        let column = text.char_indices().take_while(|(at, _)| *at < byte).count();
        let from = column.saturating_sub(SHOWN / 2);
        let shown: String =
            text.chars().skip(from).take(SHOWN).map(|c| if is_hidden(c) { ' ' } else { c }).collect();
        let caret = " ".repeat(column - from);
        ReadError {
            kind: ReadErrorKind::Syntax,
            place: Box::new(Place { line_column: Some((line + 1, column + 1)), ..Place::default() }),
            message: format!("{}\n  {shown}\n  {caret}^", visible(&message)),
        }
    }

    /// An error of a kind at a place.
    pub fn error_at(&self, kind: ReadErrorKind, spot: Spot, message: String) -> ReadError {
        ReadError { kind, ..self.error(spot.line, spot.column, message) }
    }
}

/// Splits at separators outside of brackets and quoted strings; each part with its offset. A comma separates where a
/// space or the end follows, as strings without quotes hold others.
pub(super) fn split_top(text: &str, separator: char) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    let mut quote: Option<char> = None;
    let mut value_begins = true;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if let Some(open) = quote {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == open {
                quote = None;
            }
            continue;
        }
        let rest = &text[at + c.len_utf8()..];
        let separates =
            depth == 0 && c == separator && (c != ',' || rest.is_empty() || rest.starts_with(' '));
        match c {
            '\'' | '"' if value_begins => quote = Some(c),
            '[' | '(' | '{' => depth += 1,
            ']' | ')' | '}' => depth = depth.saturating_sub(1),
            _ if separates => {
                parts.push((start, &text[start..at]));
                start = at + c.len_utf8();
            }
            _ => {}
        }
        value_begins = match c {
            ' ' => value_begins,
            '[' | '(' | '{' | ',' | ':' | '=' => true,
            _ => false,
        };
    }
    if quote.is_some() {
        // A quote that never closes is a string's own: split without regard to quotes.
        return split_plain(text, separator);
    }
    parts.push((start, &text[start..]));
    parts
}

fn split_plain(text: &str, separator: char) -> Vec<(usize, &str)> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for (at, _) in text.match_indices(separator) {
        let rest = &text[at + separator.len_utf8()..];
        if separator != ',' || rest.is_empty() || rest.starts_with(' ') {
            parts.push((start, &text[start..at]));
            start = at + separator.len_utf8();
        }
    }
    parts.push((start, &text[start..]));
    parts
}

/// Reads a Python string literal at the start of `text`: its value and where it ends.
pub(super) fn string_literal(text: &str) -> Result<(String, usize), String> {
    let mut chars = text.char_indices();
    let quote = match chars.next() {
        Some((_, quote @ ('\'' | '"'))) => quote,
        _ => return Err("expected a string".to_owned()),
    };
    let mut value = String::new();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return Ok((value, at + 1)),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((_, c @ ('\\' | '\'' | '"'))) => value.push(c),
                Some((_, c @ ('x' | 'u' | 'U'))) => {
                    let digits = match c {
                        'x' => 2,
                        'u' => 4,
                        _ => 8,
                    };
                    let code: String = chars.clone().take(digits).map(|(_, digit)| digit).collect();
                    match u32::from_str_radix(&code, 16).ok().and_then(char::from_u32) {
                        Some(c) if code.len() == digits => {
                            value.push(c);
                            chars.nth(digits - 1);
                        }
                        _ => value.extend(['\\', c]),
                    }
                }
                Some((_, c)) => value.extend(['\\', c]),
                None => break,
            },
            c => value.push(c),
        }
    }
    Err("the string has no end".to_owned())
}

/// A float as Python writes it, `inf` and `nan` among them; an integer is none.
pub(super) fn python_float(text: &str) -> Option<f64> {
    match text.strip_prefix("math.").unwrap_or(text) {
        "inf" => return Some(f64::INFINITY),
        "-inf" => return Some(f64::NEG_INFINITY),
        "nan" => return Some(f64::NAN),
        _ => {}
    }
    let is_float = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE_".contains(&b))
        && text.bytes().any(|b| b.is_ascii_digit())
        && text.bytes().any(|b| b".eE".contains(&b));
    if is_float { text.parse().ok() } else { None }
}

/// Whether a text is a name, or several with dots between them.
pub(super) fn is_dotted_name(text: &str) -> bool {
    !text.is_empty() && text.split('.').all(is_name)
}

/// Whether a text is a name.
pub(super) fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c == '_' || c.is_alphabetic())
        && chars.all(|c| c == '_' || c.is_alphanumeric())
}

/// A complex number: `(1.0+2.0j)`, without the parentheses.
fn complex(text: &str) -> Option<(f64, f64)> {
    let number =
        |text: &str| python_float(text).or_else(|| text.parse::<i64>().ok().map(|value| value as f64));
    let text = text.strip_suffix('j')?;
    let signs = text
        .char_indices()
        .skip(1)
        .filter(|(at, c)| matches!(c, '+' | '-') && !text[..*at].ends_with(['e', 'E']));
    match signs.last() {
        Some((at, _)) => Some((number(&text[..at])?, number(text[at..].trim_start_matches('+'))?)),
        None => Some((0.0, number(text)?)),
    }
}

/// Reads values. `fx` says that references begin with `%` and strings have no quotes.
#[derive(Clone, Copy)]
pub(super) struct Values {
    pub fx: bool,
}

impl Values {
    /// The value that all of `text` is; its place is that of its first character.
    pub fn read(self, text: &str, spot: Spot) -> Raw {
        self.nested(text, spot, 0)
    }

    fn nested(self, text: &str, spot: Spot, depth: usize) -> Raw {
        let skipped = text.len() - text.trim_start().len();
        let spot = Spot { line: spot.line, column: spot.column + skipped };
        let text = text.trim();
        let kind = if depth < MAX_DEPTH { self.kind(text, spot, depth) } else { RawValue::Bare };
        Raw { kind, text: text.to_owned(), spot }
    }

    fn items(self, inside: &str, spot: Spot, depth: usize) -> Vec<Raw> {
        let parts = split_top(inside, ',').into_iter().filter(|(_, part)| !part.trim().is_empty());
        parts
            .map(|(at, part)| {
                self.nested(part, Spot { line: spot.line, column: spot.column + 1 + at }, depth + 1)
            })
            .collect()
    }

    fn kind(self, text: &str, spot: Spot, depth: usize) -> RawValue {
        let between = |open: char, close: char| text.strip_prefix(open)?.strip_suffix(close);
        match text {
            "None" => return RawValue::None,
            "True" => return RawValue::Bool(true),
            "False" => return RawValue::Bool(false),
            _ => {}
        }
        if let Some(name) = text.strip_prefix('%').filter(|name| self.fx && is_name(name)) {
            return RawValue::Ref(name.to_owned());
        }
        if let Ok(value) = text.parse::<i64>() {
            return RawValue::Int(value);
        }
        if let Some(value) = python_float(text) {
            return RawValue::Float(value);
        }
        if let Some((real, imag)) = between('(', ')').and_then(complex).or_else(|| complex(text)) {
            return RawValue::Complex(real, imag);
        }
        if let Some(inside) = between('[', ']') {
            return RawValue::List(self.items(inside, spot, depth));
        }
        if let Some(inside) = between('(', ')') {
            return RawValue::Tuple(self.items(inside, spot, depth));
        }
        if let Some(inside) = between('{', '}') {
            return self.dictionary(inside, spot, depth);
        }
        if let Some(inside) = text.strip_prefix("device(type=").and_then(|rest| rest.strip_suffix(')')) {
            let (kind, index) = inside.split_once(", index=").unwrap_or((inside, ""));
            let kind = kind.trim_matches(['\'', '"']);
            return RawValue::Device(if index.is_empty() {
                kind.to_owned()
            } else {
                format!("{kind}:{index}")
            });
        }
        match string_literal(text) {
            Ok((value, end)) if end == text.len() => return RawValue::Str(value),
            _ => {}
        }
        if !self.fx && is_name(text) {
            return RawValue::Ref(text.to_owned());
        }
        if text.contains('.') && is_dotted_name(text) {
            return RawValue::Name(text.to_owned());
        }
        RawValue::Bare
    }

    fn dictionary(self, inside: &str, spot: Spot, depth: usize) -> RawValue {
        let mut entries = Vec::new();
        for (at, part) in split_top(inside, ',') {
            if part.trim().is_empty() {
                continue;
            }
            let Some((key, value)) = part.split_once(": ") else { return RawValue::Bare };
            let column = spot.column + 1 + at + key.len() + 2;
            let key = key.trim();
            let key = string_literal(key).map_or_else(|_| key.to_owned(), |(key, _)| key);
            entries.push((key, self.nested(value, Spot { line: spot.line, column }, depth + 1)));
        }
        RawValue::Dict(entries)
    }
}
