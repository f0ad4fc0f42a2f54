//! A quick reader of JSON for documents that are as they should be.
//!
//! It reads what serde_json reads, or gives up without saying why: the caller then has serde_json read the document
//! again and say what is wrong. So it keeps no lines, columns or messages; it gives up, too, on what is rare: escapes
//! by number, nesting beyond 127 levels, structs written as lists.

use std::fmt;

use memchr::memchr2;
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use super::escaped::unescape;

/// The name by which [`super::Escaped`] asks for a string as the document writes it.
pub(super) const AS_WRITTEN: &str = "$as written";
/// Objects and lists within each other that are read.
const MAX_DEPTH: u8 = 127;

/// Reads a whole document.
pub(in crate::pt2) fn read<'a, T: DeserializeSeed<'a>>(text: &'a str, seed: T) -> Option<T::Value> {
    let mut reader = Reader { text, at: 0, depth: 0, controls: has_controls(text.as_bytes()) };
    let value = seed.deserialize(&mut reader).ok()?;
    reader.space();
    (reader.at == text.len()).then_some(value)
}

/// The document cannot be read this way.
#[derive(Debug)]
pub(super) struct GivenUp;

impl fmt::Display for GivenUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("given up")
    }
}

impl std::error::Error for GivenUp {}

impl de::Error for GivenUp {
    fn custom<T: fmt::Display>(_: T) -> GivenUp {
        GivenUp
    }
    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> GivenUp {
        GivenUp
    }
    fn missing_field(_: &'static str) -> GivenUp {
        GivenUp
    }
}

type Read<T> = Result<T, GivenUp>;

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u8,
    /// Whether there are control characters, which may stand between values but not in strings.
    controls: bool,
}

impl<'a> Reader<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Skips white space.
    #[inline]
    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// The next byte that is no white space, not taken.
    #[inline]
    fn next(&mut self) -> Read<u8> {
        self.space();
        self.peek().ok_or(GivenUp)
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Read<()> {
        if self.next()? != byte {
            return Err(GivenUp);
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &str) -> Read<()> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(GivenUp);
        }
        self.at += word.len();
        Ok(())
    }

    /// A string as the document writes it, without its quotes, and whether it has escapes.
    fn string(&mut self) -> Read<(&'a str, bool)> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escapes = false;
        loop {
            self.at += plain(&self.text.as_bytes()[self.at..], self.controls);
            match self.peek() {
                Some(b'"') => {
                    let text = &self.text[start..self.at];
                    self.at += 1;
                    return Ok((text, escapes));
                }
                Some(b'\\') => {
                    let escape = self.text.as_bytes().get(self.at + 1);
                    if !matches!(escape, Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')) {
                        return Err(GivenUp);
                    }
                    escapes = true;
                    self.at += 2;
                }
                _ => return Err(GivenUp),
            }
        }
    }

    /// A number as the document writes it, and whether it is an integer.
    fn number(&mut self) -> Read<(&'a str, bool)> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let digits = |at: &mut usize| {
            let first = *at;
            while bytes.get(*at).is_some_and(u8::is_ascii_digit) {
                *at += 1;
            }
            if *at == first { Err(GivenUp) } else { Ok(*at - first) }
        };
        let mut at = start + usize::from(self.peek() == Some(b'-'));
        let leading_zero = bytes.get(at) == Some(&b'0');
        if digits(&mut at)? > 1 && leading_zero {
            return Err(GivenUp);
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

    /// An integer of 64 bits.
    fn integer(&mut self) -> Read<i64> {
        self.space();
        let (text, integer) = self.number()?;
        // serde_json takes `-0` for a float.
        if !integer || text == "-0" {
            return Err(GivenUp);
        }
        text.parse().map_err(|_| GivenUp)
    }

    #[inline]
    fn enter(&mut self, open: u8) -> Read<()> {
        self.expect(open)?;
        if self.depth == MAX_DEPTH {
            return Err(GivenUp);
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn leave(&mut self, close: u8) -> Read<()> {
        self.expect(close)?;
        self.depth -= 1;
        Ok(())
    }

    /// Whether another entry follows before `close`, which is not taken; `first` tells whether one was read already.
    #[inline]
    fn more(&mut self, first: &mut bool, close: u8) -> Read<bool> {
        let next = self.next()?;
        if next == close {
            return Ok(false);
        }
        if !std::mem::replace(first, false) {
            if next != b',' {
                return Err(GivenUp);
            }
            self.at += 1;
        }
        Ok(true)
    }

    /// Skips a value.
    fn skip(&mut self) -> Read<()> {
        match self.next()? {
            b'"' => self.string().map(drop),
            b'{' => {
                self.enter(b'{')?;
                let mut first = true;
                while self.more(&mut first, b'}')? {
                    self.string()?;
                    self.expect(b':')?;
                    self.skip()?;
                }
                self.leave(b'}')
            }
            b'[' => {
                self.enter(b'[')?;
                let mut first = true;
                while self.more(&mut first, b']')? {
                    self.skip()?;
                }
                self.leave(b']')
            }
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number().map(drop),
        }
    }
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

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = GivenUp;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.next()? {
            b'"' => self.deserialize_str(visitor),
            b'{' => self.deserialize_map(visitor),
            b'[' => self.deserialize_seq(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => match self.number()? {
                (text, true) if text != "-0" => visitor.visit_i64(text.parse().map_err(|_| GivenUp)?),
                (text, _) => visitor.visit_f64(text.parse().map_err(|_| GivenUp)?),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if self.next()? == b't' {
            self.word("true")?;
            return visitor.visit_bool(true);
        }
        self.word("false")?;
        visitor.visit_bool(false)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        visitor.visit_i64(self.integer()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.string()? {
            (text, false) => visitor.visit_borrowed_str(text),
            (text, true) => visitor.visit_string(unescape(text)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if self.next()? == b'n' {
            self.word("null")?;
            return visitor.visit_none();
        }
        visitor.visit_some(self)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.space();
        self.word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Read<V::Value> {
        if name == AS_WRITTEN {
            return visitor.visit_borrowed_str(self.string()?.0);
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.enter(b'[')?;
        let value = visitor.visit_seq(Entries { reader: self, first: true, fields: &[], next: 0 })?;
        self.leave(b']')?;
        Ok(value)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Read<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Read<V::Value> {
        self.enter(b'{')?;
        let value = visitor.visit_map(Entries { reader: self, first: true, fields, next: 0 })?;
        self.leave(b'}')?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.skip()?;
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 u8 u16 u32 u64 f32 f64 char bytes byte_buf unit_struct tuple_struct enum
    }
}

/// The entries of a list or an object.
struct Entries<'r, 'a> {
    reader: &'r mut Reader<'a>,
    first: bool,
    /// The fields of a struct, in the order in which they are mostly written.
    fields: &'static [&'static str],
    /// The place of the one that is expected next.
    next: usize,
}

impl Entries<'_, '_> {
    /// The place of the expected field, or of the one after it, if that is what follows.
    fn expected_field(&mut self) -> Option<usize> {
        let rest = self.reader.text.as_bytes().get(self.reader.at + 1..)?;
        let follows =
            |field: &str| rest.starts_with(field.as_bytes()) && rest.get(field.len()) == Some(&b'"');
        let ahead = self.fields.get(self.next..)?.iter().take(2).position(|field| follows(field))?;
        let place = self.next + ahead;
        self.reader.at += self.fields[place].len() + 2;
        self.next = place + 1;
        Some(place)
    }
}

impl<'de> SeqAccess<'de> for Entries<'_, 'de> {
    type Error = GivenUp;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        if !self.reader.more(&mut self.first, b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = GivenUp;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        if !self.reader.more(&mut self.first, b'}')? {
            return Ok(None);
        }
        if self.reader.next()? != b'"' {
            return Err(GivenUp);
        }
        if let Some(field) = self.expected_field() {
            return seed.deserialize((field as u64).into_deserializer()).map(Some);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Read<V::Value> {
        self.reader.expect(b':')?;
        seed.deserialize(&mut *self.reader)
    }
}
