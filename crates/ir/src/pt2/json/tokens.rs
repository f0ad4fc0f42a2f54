//! The tokens of a JSON document: strings, numbers and words, taken or skipped.

use std::borrow::Cow;

use memchr::memchr2;
use serde::de::Error;

use super::escaped::decoded;
use super::fault::Fault;

pub(super) type Read<T> = Result<T, Fault>;

/// What kinds of escapes a string has, the worst of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Escapes {
    None,
    /// One letter each.
    Letters,
    /// `\u` and four digits; half a character that has no other half may be among them.
    Numbers,
}

/// A number as serde distinguishes them.
pub(super) enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

/// A document and how far it was read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Objects and lists that have begun and not ended.
    pub(super) depth: u8,
    /// Whether there are control characters, which may stand between values but not in strings.
    controls: bool,
    /// The places of values that were skipped, if they are asked for.
    pub(super) skipped: Option<Vec<usize>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Reader<'a> {
        Reader { text, at: 0, depth: 0, controls: has_controls(text.as_bytes()), skipped: None }
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space.
    #[inline]
    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// The next byte that is no white space, not taken.
    #[inline]
    pub(super) fn next(&mut self) -> Read<u8> {
        self.space();
        self.peek().ok_or_else(Fault::no_json)
    }

    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Read<()> {
        if self.next()? != byte {
            return Err(Fault::no_json());
        }
        self.at += 1;
        Ok(())
    }

    pub(super) fn word(&mut self, word: &str) -> Read<()> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(Fault::no_json());
        }
        self.at += word.len();
        Ok(())
    }

    /// A string as the document writes it, without its quotes.
    fn string(&mut self) -> Read<(&'a str, Escapes)> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escapes = Escapes::None;
        loop {
            self.at += plain(&self.text.as_bytes()[self.at..], self.controls);
            match self.peek() {
                Some(b'"') => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok((text, escapes));
                }
                Some(b'\\') => match self.text.as_bytes().get(self.at + 1) {
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                        escapes = escapes.max(Escapes::Letters);
                        self.at += 2;
                    }
                    Some(b'u') => {
                        let digits = self.text.as_bytes().get(self.at + 2..self.at + 6);
                        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
                            return Err(Fault::no_json());
                        }
                        escapes = Escapes::Numbers;
                        self.at += 6;
                    }
                    _ => return Err(Fault::no_json()),
                },
                _ => return Err(Fault::no_json()),
            }
        }
    }

    /// A string as it reads.
    #[inline]
    pub(super) fn decoded(&mut self) -> Read<Cow<'a, str>> {
        match self.string()? {
            (text, Escapes::None) => Ok(Cow::Borrowed(text)),
            (text, _) => decoded(text).map(Cow::Owned).ok_or_else(lone_surrogate),
        }
    }

    /// A string as the document writes it, which [`decoded`] reads.
    pub(super) fn written(&mut self) -> Read<&'a str> {
        match self.string()? {
            (text, Escapes::Numbers) if decoded(text).is_none() => Err(lone_surrogate()),
            (text, _) => Ok(text),
        }
    }

    /// A number as the document writes it, and whether it is an integer.
    fn digits(&mut self) -> Read<(&'a str, bool)> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize| {
            let first = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            if *at == first { Err(Fault::no_json()) } else { Ok(*at - first) }
        };
        let mut at = start + usize::from(self.peek() == Some(b'-'));
        let leading_zero = bytes.get(at) == Some(&b'0');
        if digits(&mut at)? > 1 && leading_zero {
            return Err(Fault::no_json());
        }
        let mut integer = true;
        if bytes.get(at) == Some(&b'.') {
            integer = false;
            at += 1;
            digits(&mut at)?;
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            integer = false;
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            digits(&mut at)?;
        }
        self.at = at;
        Ok((&self.text[start..at], integer))
    }

    pub(super) fn number(&mut self) -> Read<Number> {
        let (text, integer) = self.digits()?;
        // As serde_json has it, `-0` is a float, and so is an integer of more than 64 bits.
        if integer && text != "-0" {
            if let Ok(value) = text.parse() {
                return Ok(Number::Signed(value));
            }
            if let Ok(value) = text.parse() {
                return Ok(Number::Unsigned(value));
            }
        }
        text.parse().map(Number::Float).map_err(|_| Fault::no_json())
    }

    /// Skips a value, however deep it nests.
    pub(super) fn skip(&mut self) -> Read<()> {
        // The brackets that close what is open.
        let mut open = Vec::new();
        loop {
            match self.next()? {
                b'"' => drop(self.string()?),
                bracket @ (b'{' | b'[') => {
                    self.at += 1;
                    let close = if bracket == b'{' { b'}' } else { b']' };
                    if self.next()? != close {
                        self.skip_key(close)?;
                        open.push(close);
                        continue;
                    }
                    self.at += 1;
                }
                b't' => self.word("true")?,
                b'f' => self.word("false")?,
                b'n' => self.word("null")?,
                _ => drop(self.digits()?),
            }
            loop {
                let Some(&close) = open.last() else { return Ok(()) };
                let next = self.next()?;
                self.at += 1;
                match next {
                    b',' => {
                        self.skip_key(close)?;
                        break;
                    }
                    _ if next == close => open.pop(),
                    _ => return Err(Fault::no_json()),
                };
            }
        }
    }

    /// Skips a key with its colon, within an object.
    fn skip_key(&mut self, close: u8) -> Read<()> {
        if close == b'}' {
            self.string()?;
            self.expect(b':')?;
        }
        Ok(())
    }
}

#[cold]
fn lone_surrogate() -> Fault {
    Fault::custom("lone leading surrogate in hex escape")
}

/// How many bytes from the beginning are neither a quote nor a backslash nor a control character, if there may be such.
#[inline]
fn plain(bytes: &[u8], controls: bool) -> usize {
    // Most strings are short.
    let mut at = 0;
    while at < SHORT {
        match bytes.get(at..at + 8).map(first_stop) {
            Some(Some(place)) => return at + place,
            Some(None) => at += 8,
            None => break,
        }
    }
    let rest = &bytes[at..];
    let stop = if controls {
        rest.iter().position(|&byte| byte == b'"' || byte == b'\\' || byte < 0x20)
    } else {
        memchr2(b'"', b'\\', rest)
    };
    at + stop.unwrap_or(rest.len())
}

/// How many bytes of a string are looked at in words of the processor before it is taken for a long one.
const SHORT: usize = 24;

/// The place of the first byte of eight that is a quote, a backslash or a control character.
#[inline]
fn first_stop(word: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    let word = u64::from_le_bytes(word.try_into().ok()?);
    let equal = |byte: u8| {
        let differing = word ^ (ONES * u64::from(byte));
        differing.wrapping_sub(ONES) & !differing
    };
    // The lowest byte that is marked is right; those above it may not be.
    let marked = (equal(b'"') | equal(b'\\') | (word.wrapping_sub(ONES * 0x20) & !word)) & HIGH;
    (marked != 0).then(|| (marked.trailing_zeros() / 8) as usize)
}

/// Whether there is a control character.
fn has_controls(bytes: &[u8]) -> bool {
    // Chunks are looked at as a whole, which fills the registers of the processor.
    bytes.chunks(CHUNK).any(|chunk| chunk.iter().fold(false, |any, &byte| any | (byte < 0x20)))
}

/// Bytes that are looked at together.
const CHUNK: usize = 256;
