//! Tokens of schema text: identifiers, punctuation, numbers and strings, with the place of each.
use super::DefaultValue;
use super::error::{SchemaError, SchemaErrorKind};

/// A place in one line of schema text.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Scanner { text, at: 0 }
    }

    /// An error at byte `at`; the column counts characters.
    pub(super) fn error_at(&self, at: usize, kind: SchemaErrorKind) -> SchemaError {
        let before = self.text.get(..at).unwrap_or(self.text);
        SchemaError { column: before.chars().count() + 1, kind }
    }

    /// "expected `expected`, found …" at the next token.
    pub(super) fn expected(&mut self, expected: &'static str) -> SchemaError {
        let at = self.mark();
        let rest = &self.text[at..];
        let word = rest.bytes().take_while(|&b| is_word(b)).count();
        let found = match rest.chars().next() {
            None => "the end".to_owned(),
            Some(_) if word > 0 => format!("`{}`", &rest[..word.min(40)]),
            Some(_) if rest.starts_with("->") => "`->`".to_owned(),
            Some(c) => format!("`{}`", c.escape_debug()),
        };
        self.error_at(at, SchemaErrorKind::Expected { expected, found })
    }

    fn skip_space(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The byte offset of the next token.
    pub(super) fn mark(&mut self) -> usize {
        self.skip_space();
        self.at
    }

    /// The text from byte `start` to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// The first byte of the next token.
    pub(super) fn peek(&mut self) -> Option<u8> {
        self.skip_space();
        self.byte()
    }

    /// Whether the next token is `token`, which is then passed.
    pub(super) fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let there = self.text[self.at..].starts_with(token);
        if there {
            self.at += token.len();
        }
        there
    }

    /// Whether `token` follows without a space; it is then passed.
    pub(super) fn eat_adjacent(&mut self, token: &str) -> bool {
        !matches!(self.byte(), Some(b' ' | b'\t')) && self.eat(token)
    }

    /// Passes `token`, or says that `expected` should be there.
    pub(super) fn expect(&mut self, token: &str, expected: &'static str) -> Result<(), SchemaError> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// The identifier that comes next, if one does.
    pub(super) fn identifier(&mut self) -> Option<&'a str> {
        let start = self.mark();
        if self.byte().is_some_and(|b| b.is_ascii_digit()) {
            return None;
        }
        while self.byte().is_some_and(is_word) {
            self.at += 1;
        }
        (self.at > start).then(|| &self.text[start..self.at])
    }

    /// The identifier that follows without a space, if one does.
    pub(super) fn adjacent_identifier(&mut self) -> Option<&'a str> {
        if matches!(self.byte(), Some(b' ' | b'\t')) { None } else { self.identifier() }
    }

    /// The unsigned decimal number that comes next, if one does; `None` in it when 32 bits cannot hold it.
    pub(super) fn length(&mut self) -> Option<Option<u32>> {
        let start = self.mark();
        while self.byte().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        (self.at > start).then(|| self.text[start..self.at].parse().ok())
    }

    /// The number that comes next: `3`, `-1`, `0.5`, `60.`, `1e-05`, `inf`, `-inf`, `nan`.
    pub(super) fn number(&mut self) -> Result<DefaultValue, SchemaError> {
        let start = self.mark();
        let negative = self.eat("-");
        let digits_start = self.at;
        if let Some(word) = self.adjacent_identifier() {
            let value = match word {
                "inf" => f64::INFINITY,
                "nan" => f64::NAN,
                _ => {
                    self.at = digits_start;
                    return Err(self.expected("a number"));
                }
            };
            return Ok(DefaultValue::Float(if negative { -value } else { value }));
        }
        let mut is_float = false;
        let mut digits = 0;
        while let Some(byte) = self.byte() {
            match byte {
                b'0'..=b'9' => digits += 1,
                b'.' => is_float = true,
                b'e' | b'E' if digits > 0 => {
                    is_float = true;
                    if matches!(self.text.as_bytes().get(self.at + 1), Some(b'-' | b'+')) {
                        self.at += 1;
                    }
                }
                _ => break,
            }
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        if digits == 0 || self.byte().is_some_and(is_word) {
            self.at = start;
            return Err(self.expected("a number"));
        }
        let range = || SchemaErrorKind::NumberRange(text.to_owned());
        if is_float {
            match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(DefaultValue::Float(value)),
                Ok(_) => Err(self.error_at(start, range())),
                Err(_) => {
                    self.at = start;
                    Err(self.expected("a number"))
                }
            }
        } else {
            text.parse().map(DefaultValue::Int).map_err(|_| self.error_at(start, range()))
        }
    }

    /// The string that comes next, in the quotes it opens with.
    pub(super) fn string(&mut self) -> Result<String, SchemaError> {
        let start = self.mark();
        let mut chars = self.text[start..].char_indices();
        let Some((_, quote @ ('"' | '\''))) = chars.next() else { return Err(self.expected("a string")) };
        let mut value = String::new();
        while let Some((offset, c)) = chars.next() {
            if c == quote {
                self.at = start + offset + 1;
                return Ok(value);
            }
            if c != '\\' {
                value.push(c);
                continue;
            }
            let escaped = match chars.next().map(|(_, c)| c) {
                Some('n') => Some('\n'),
                Some('t') => Some('\t'),
                Some('r') => Some('\r'),
                Some('f') => Some('\x0c'),
                Some('v') => Some('\x0b'),
                Some('a') => Some('\x07'),
                Some('b') => Some('\x08'),
                Some(c @ ('\\' | '"' | '\'')) => Some(c),
                Some('x') => two_hex_digits(&mut chars),
                _ => None,
            };
            match escaped {
                Some(c) => value.push(c),
                None => return Err(self.error_at(start + offset, SchemaErrorKind::Escape)),
            }
        }
        self.at = self.text.len();
        Err(self.expected("a closing quote"))
    }
}

/// The character that two hexadecimal digits name: an ASCII one, as a byte above that is not a character.
fn two_hex_digits(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let high = chars.next()?.1.to_digit(16)?;
    let low = chars.next()?.1.to_digit(16)?;
    char::from_u32(high * 16 + low).filter(char::is_ascii)
}

/// Whether `byte` may stand in an identifier.
fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}
