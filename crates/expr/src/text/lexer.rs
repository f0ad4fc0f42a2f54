//! Splits expression text into tokens, one at a time.
use super::read_error::ReadError;
use crate::escape::clipped;
use smallvec::SmallVec;
use std::borrow::Cow;

/// Declares the operators with their texts.
macro_rules! operators {
    ($($name:ident $text:literal),* $(,)?) => {
        /// An operator or a bracket.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Op { $($name),* }

        impl Op {
            /// The operator as it is written.
            pub(super) fn text(self) -> &'static str {
                match self { $(Op::$name => $text),* }
            }
        }
    };
}

/// One token; names, numbers and string contents are slices of the text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Token<'a> {
    /// Decimal digits.
    Int(&'a str),
    /// A number with a point or an exponent.
    Float(&'a str),
    /// An identifier or keyword.
    Name(&'a str),
    /// The text between quotes, with escapes as written.
    Text(&'a str),
    /// An operator or a bracket.
    Op(Op),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token as an error message names it.
    pub(super) fn shown(&self) -> String {
        match self {
            Token::Int(t) | Token::Float(t) | Token::Name(t) => format!("`{}`", clipped(t)),
            Token::Text(t) => format!("the string '{}'", clipped(t)),
            Token::Op(op) => format!("`{}`", op.text()),
            Token::End => "the end".to_owned(),
        }
    }
}

operators! {
    Power "**", FloorDiv "//", LeftShift "<<", RightShift ">>",
    LessEqual "<=", GreaterEqual ">=", Equal "==", NotEqual "!=", Differs "<>",
    Less "<", Greater ">", Assign "=",
    Plus "+", Minus "-", Times "*", Divide "/", Percent "%",
    Ampersand "&", Bar "|", Caret "^", Tilde "~", Bang "!",
    Open "(", Close ")", OpenIndex "[", CloseIndex "]",
    Comma ",", Point ".", Colon ":",
}

/// The operator that a text begins with.
fn operator(text: &[u8]) -> Option<Op> {
    let second = text.get(1).copied().unwrap_or(0);
    Some(match (*text.first()?, second) {
        (b'*', b'*') => Op::Power,
        (b'/', b'/') => Op::FloorDiv,
        (b'<', b'<') => Op::LeftShift,
        (b'>', b'>') => Op::RightShift,
        (b'<', b'=') => Op::LessEqual,
        (b'>', b'=') => Op::GreaterEqual,
        (b'=', b'=') => Op::Equal,
        (b'!', b'=') => Op::NotEqual,
        (b'<', b'>') => Op::Differs,
        (b'<', _) => Op::Less,
        (b'>', _) => Op::Greater,
        (b'=', _) => Op::Assign,
        (b'+', _) => Op::Plus,
        (b'-', _) => Op::Minus,
        (b'*', _) => Op::Times,
        (b'/', _) => Op::Divide,
        (b'%', _) => Op::Percent,
        (b'&', _) => Op::Ampersand,
        (b'|', _) => Op::Bar,
        (b'^', _) => Op::Caret,
        (b'~', _) => Op::Tilde,
        (b'(', _) => Op::Open,
        (b')', _) => Op::Close,
        (b'[', _) => Op::OpenIndex,
        (b']', _) => Op::CloseIndex,
        (b',', _) => Op::Comma,
        (b'.', _) => Op::Point,
        (b':', _) => Op::Colon,
        (b'!', _) => Op::Bang,
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
        let (text, bytes) = (self.text, self.text.as_bytes());
        let mut start = self.offset;
        while bytes.get(start).is_some_and(|b| matches!(b, b' ' | b'\t'..=b'\r')) {
            start += 1;
        }
        if bytes.get(start).is_some_and(|b| !b.is_ascii()) {
            start = text.len() - text[start..].trim_start().len();
        }
        let Some(&first) = bytes.get(start) else {
            self.offset = start;
            return Ok((Token::End, start));
        };
        let (token, end) = match CLASSES[usize::from(first)] {
            Class::Letter => {
                let end = name_end(text, start);
                (Token::Name(&text[start..end]), end)
            }
            Class::Digit => self.number(start)?,
            Class::Other if first == b'.' && bytes.get(start + 1).is_some_and(u8::is_ascii_digit) => {
                self.number(start)?
            }
            Class::Other if matches!(first, b'\'' | b'"') => self.quoted(start)?,
            Class::Other => match operator(&bytes[start..]) {
                Some(op) => (Token::Op(op), start + op.text().len()),
                None => {
                    let first = text[start..].chars().next().unwrap_or_default();
                    if !first.is_alphabetic() {
                        return Err(self.error(start, format!("unexpected character {first:?}")));
                    }
                    let end = name_end(text, start);
                    (Token::Name(&text[start..end]), end)
                }
            },
        };
        self.offset = end;
        Ok((token, start))
    }

    /// Goes on at an offset.
    pub(super) fn jump(&mut self, offset: usize) {
        self.offset = offset;
    }

    /// The number that begins at `start`, and where it ends.
    fn number(&self, start: usize) -> Result<(Token<'a>, usize), ReadError> {
        let rest = &self.text[start..];
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
        Ok((if end == whole { Token::Int(text) } else { Token::Float(text) }, start + end))
    }

    /// The string whose opening quote is at `start`, and where it ends.
    fn quoted(&self, start: usize) -> Result<(Token<'a>, usize), ReadError> {
        if let Some(end) = closing_quote(self.text.as_bytes(), start) {
            return Ok((Token::Text(&self.text[start + 1..end]), end + 1));
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

/// The role of a byte in a name or number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Other,
}

/// The classes of all bytes.
const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        if byte.is_ascii_digit() {
            classes[byte as usize] = Class::Digit;
        } else if byte.is_ascii_alphabetic() || byte == b'_' {
            classes[byte as usize] = Class::Letter;
        }
        byte += 1;
    }
    classes
};

/// Where the quote is closed that opens at `start`.
fn closing_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes.get(start)?;
    let mut i = start + 1;
    loop {
        match bytes.get(i)? {
            b'\\' => i += 2,
            b if b == quote => return Some(i),
            _ => i += 1,
        }
    }
}

/// Where the name ends that begins at `start`.
fn name_end(text: &str, start: usize) -> usize {
    let bytes = text.as_bytes();
    let mut end = start;
    while bytes.get(end).is_some_and(|&b| CLASSES[usize::from(b)] != Class::Other) {
        end += 1;
    }
    if bytes.get(end).is_none_or(u8::is_ascii) {
        return end;
    }
    let named = |c: char| c.is_alphanumeric() || c == '_';
    text[start..].find(|c| !named(c)).map_or(text.len(), |length| start + length)
}

/// Calls longer than this many bytes are not looked up by their texts, so that deep nesting has a bounded
/// cost for each byte.
const MAX_CALL: usize = 1 << 12;

/// The round brackets of a text, in the order in which they open, with the offsets behind the closing ones.
pub(super) struct Brackets(SmallVec<[(usize, Option<usize>); 8]>);

impl Brackets {
    pub(super) fn of(text: &str) -> Brackets {
        let mut found: SmallVec<[(usize, Option<usize>); 8]> = SmallVec::new();
        let mut open: SmallVec<[usize; 8]> = SmallVec::new();
        let bytes = text.as_bytes();
        let mut i = 0;
        while let Some(&b) = bytes.get(i) {
            match b {
                b'(' => {
                    open.push(found.len());
                    found.push((i, None));
                }
                b')' => {
                    if let Some(last) = open.pop() {
                        found[last].1 = Some(i + 1);
                    }
                }
                b'\'' | b'"' => match closing_quote(bytes, i) {
                    Some(end) => i = end,
                    None => break,
                },
                _ => {}
            }
            i += 1;
        }
        Brackets(found)
    }

    /// The offset after a call whose name begins at `start` and whose bracket opens at `open`. `None` for a
    /// long call.
    pub(super) fn end_of_call(&self, start: usize, open: usize) -> Option<usize> {
        let found = self.0.binary_search_by_key(&open, |(open, _)| *open).ok()?;
        self.0[found].1.filter(|end| end - start <= MAX_CALL)
    }
}

/// The string that quoted contents stand for.
pub(super) fn unescaped(contents: &str) -> Cow<'_, str> {
    if !contents.as_bytes().contains(&b'\\') {
        return Cow::Borrowed(contents);
    }
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
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_begin_with_a_letter_or_underscore() {
        let table = [
            ("abc + 1", Some("abc")),
            ("_a1(2)", Some("_a1")),
            ("_", Some("_")),
            ("(a)", None),
            ("-a", None),
            ("", None),
            ("größe2 + 1", Some("größe2")),
            ("_größe", Some("_größe")),
            ("größe", Some("größe")),
            ("öl", Some("öl")),
            ("a€", Some("a")),
        ];
        for (text, name) in table {
            let first = match Lexer::new(text).next() {
                Ok((Token::Name(name), 0)) => Some(name),
                _ => None,
            };
            assert_eq!(first, name, "{text}");
        }
        for text in ["1a", "2größe", "€"] {
            assert!(Lexer::new(text).next().is_err(), "{text}");
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
            ("f)", None),
            ("a + b", None),
        ];
        for (text, end) in table {
            assert_eq!(Brackets::of(text).end_of_call(0, 1), end, "{text}");
        }
    }
}
