//! Splits expression text into tokens, one at a time.
use super::read::ReadError;

/// One token; names, numbers and string contents are slices of the text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// Decimal digits.
    Int(&'a str),
    /// A number with a point or an exponent.
    Float(&'a str),
    /// An identifier or keyword.
    Name(&'a str),
    /// What stands between quotes, escapes as written.
    Text(&'a str),
    /// An operator or a bracket.
    Op(&'static str),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token as an error message names it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Int(t) | Token::Float(t) | Token::Name(t) => format!("`{}`", clipped(t)),
            Token::Text(t) => format!("the string '{}'", clipped(t)),
            Token::Op(t) => format!("`{t}`"),
            Token::End => "the end".to_owned(),
        }
    }
}

/// At most forty characters of `text`.
pub(super) fn clipped(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// Calls longer than this many bytes are not looked through, so that deep nesting costs a bounded amount for each byte.
const MAX_CALL: usize = 1 << 12;

/// The operator that a text begins with.
fn operator(text: &[u8]) -> Option<&'static str> {
    let second = text.get(1).copied().unwrap_or(0);
    Some(match (*text.first()?, second) {
        (b'*', b'*') => "**",
        (b'/', b'/') => "//",
        (b'<', b'<') => "<<",
        (b'>', b'>') => ">>",
        (b'<', b'=') => "<=",
        (b'>', b'=') => ">=",
        (b'=', b'=') => "==",
        (b'!', b'=') => "!=",
        (b'<', b'>') => "<>",
        (b'<', _) => "<",
        (b'>', _) => ">",
        (b'=', _) => "=",
        (b'+', _) => "+",
        (b'-', _) => "-",
        (b'*', _) => "*",
        (b'/', _) => "/",
        (b'%', _) => "%",
        (b'&', _) => "&",
        (b'|', _) => "|",
        (b'^', _) => "^",
        (b'~', _) => "~",
        (b'(', _) => "(",
        (b')', _) => ")",
        (b'[', _) => "[",
        (b']', _) => "]",
        (b',', _) => ",",
        (b'.', _) => ".",
        (b':', _) => ":",
        (b'!', _) => "!",
        _ => return None,
    })
}

/// Reads tokens from a text.
#[derive(Clone)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    offset: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, offset: 0 }
    }

    /// The text that is read.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The next token and its offset in bytes.
    pub(super) fn next(&mut self) -> Result<(Token<'a>, usize), ReadError> {
        let blank = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r');
        let blanks = self.text.as_bytes()[self.offset..].iter().take_while(|b| blank(b)).count();
        let mut start = self.offset + blanks;
        if self.text.as_bytes().get(start).is_some_and(|b| !b.is_ascii()) {
            start = self.text.len() - self.text[start..].trim_start().len();
        }
        let rest = &self.text[start..];
        let Some(&first) = rest.as_bytes().first() else {
            self.offset = start;
            return Ok((Token::End, start));
        };
        let after_point = rest.as_bytes().get(1);
        let (token, length) =
            if first.is_ascii_digit() || (first == b'.' && after_point.is_some_and(u8::is_ascii_digit)) {
                self.number(rest, start)?
            } else if let Some(end) = name_length(rest) {
                (Token::Name(&rest[..end]), end)
            } else if first == b'\'' || first == b'"' {
                self.quoted(rest, char::from(first), start)?
            } else if let Some(op) = operator(rest.as_bytes()) {
                (Token::Op(op), op.len())
            } else {
                let first = rest.chars().next().unwrap_or_default();
                return Err(self.error(start, format!("unexpected character {first:?}")));
            };
        self.offset = start + length;
        Ok((token, start))
    }

    /// Where the bracket is closed that opens at `from`, or behind it after a name: the offset after the closing one. Not looked for
    /// further than [`MAX_CALL`].
    pub(super) fn closed(&self, from: usize) -> Option<usize> {
        let (mut depth, mut quote, mut escaped) = (0_u32, None, false);
        for (i, &b) in self.text.as_bytes().iter().enumerate().skip(from).take(MAX_CALL) {
            match (quote, b) {
                _ if escaped => escaped = false,
                (Some(_), b'\\') => escaped = true,
                (Some(q), b) if b == q => quote = None,
                (Some(_), _) => {}
                (None, b'\'' | b'"') => quote = Some(b),
                (None, b'(') => depth += 1,
                (None, b')') if depth <= 1 => return (depth == 1).then_some(i + 1),
                (None, b')') => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Goes on at an offset.
    pub(super) fn jump(&mut self, offset: usize) {
        self.offset = offset;
    }

    fn number(&self, rest: &'a str, start: usize) -> Result<(Token<'a>, usize), ReadError> {
        let bytes = rest.as_bytes();
        let digits = |mut i: usize| {
            while bytes.get(i).is_some_and(u8::is_ascii_digit) {
                i += 1;
            }
            i
        };
        let whole = digits(0);
        let mut end = whole;
        if bytes.get(end) == Some(&b'.') {
            end = digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > end + 1 + sign {
                end = exponent;
            }
        }
        if rest[end..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            return Err(self.error(start, format!("{}: a number runs into a name", clipped(rest))));
        }
        let text = &rest[..end];
        Ok((if end == whole { Token::Int(text) } else { Token::Float(text) }, end))
    }

    fn quoted(&self, rest: &'a str, quote: char, start: usize) -> Result<(Token<'a>, usize), ReadError> {
        let mut escaped = false;
        for (i, c) in rest.char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == quote => return Ok((Token::Text(&rest[1..i]), i + 1)),
                _ => {}
            }
        }
        Err(self.error(start, "expected a closing quote".to_owned()))
    }

    /// An error at an offset.
    pub(super) fn error(&self, offset: usize, message: String) -> ReadError {
        let before = &self.text[..offset.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        ReadError {
            offset,
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            message,
        }
    }
}

/// The length of the name that a text begins with, if it begins with one.
fn name_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let first = bytes.first()?;
    let plain = bytes.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count();
    if bytes.get(plain).is_none_or(u8::is_ascii) {
        return (first.is_ascii_alphabetic() || *first == b'_').then_some(plain);
    }
    let named = |c: char| c.is_alphanumeric() || c == '_';
    let begins = text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    begins.then(|| text.find(|c| !named(c)).unwrap_or(text.len()))
}

/// The string that quoted contents stand for.
pub(super) fn unescaped(contents: &str) -> String {
    let mut out = String::with_capacity(contents.len());
    let mut chars = contents.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(c @ ('\\' | '\'' | '"')) => out.push(c),
                Some(c) => out.extend(['\\', c]),
                None => {}
            },
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_a_letter_or_underscore() {
        let table = [
            ("abc + 1", Some(3)),
            ("_a1(2)", Some(3)),
            ("_", Some(1)),
            ("1a", None),
            ("(a)", None),
            ("-a", None),
            ("", None),
            ("größe2 + 1", Some("größe2".len())),
            ("_größe", Some("_größe".len())),
            ("2größe", None),
            ("größe", Some("größe".len())),
            ("a€", Some(1)),
        ];
        for (text, length) in table {
            assert_eq!(name_length(text), length, "{text}");
        }
    }

    #[test]
    fn brackets_in_quotes_close_nothing() {
        let table = [
            ("f(a)", Some(4)),
            ("f(a, (b))*2", Some(9)),
            ("f(')')", Some(6)),
            ("f(\")\", ')')", Some(11)),
            ("f('\\')')", Some(8)),
            ("f('\")')", Some(7)),
            ("f(a", None),
            ("f(')", None),
            (")", None),
            ("a + b", None),
        ];
        for (text, end) in table {
            assert_eq!(Lexer::new(text).closed(0), end, "{text}");
        }
    }
}
