//! A reader of JSON for serde, which borrows from the document.
//!
//! It looks for the fields of a struct where they mostly stand, and keeps strings as they are written where that is
//! asked for. Its errors have no place: it stops where something is wrong, and [`super::fault`] finds the place and
//! the path from there. So a document that is as it should be pays for neither.

use std::borrow::Cow;

use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};

use super::escaped::AS_WRITTEN;
use super::fault::Fault;
use super::tokens::{Number, Read, Reader};

/// Objects and lists within each other that are read. Those that are skipped may nest deeper.
const MAX_DEPTH: u8 = 127;

/// Reads a whole document, or says what is wrong and where the reader was then.
pub(in crate::pt2) fn read<'a, T: DeserializeSeed<'a>>(
    text: &'a str,
    seed: T,
) -> Result<T::Value, (Fault, usize)> {
    let mut reader = Reader::new(text);
    match seed.deserialize(&mut reader) {
        Ok(value) => match reader.next() {
            Err(_) => Ok(value),
            Ok(_) => Err((Fault::no_json(), reader.at)),
        },
        Err(fault) => Err((fault, reader.at)),
    }
}

/// The places of the values that are skipped while a document is read.
pub(super) fn skipped<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Vec<usize> {
    let mut reader = Reader::new(text);
    reader.skipped = Some(Vec::new());
    let _ = T::deserialize(&mut reader);
    reader.skipped.unwrap_or_default()
}

impl<'a> Reader<'a> {
    #[inline]
    fn visit_number<V: Visitor<'a>>(&mut self, visitor: V) -> Read<V::Value> {
        match self.number()? {
            Number::Signed(value) => visitor.visit_i64(value),
            Number::Unsigned(value) => visitor.visit_u64(value),
            Number::Float(value) => visitor.visit_f64(value),
        }
    }

    /// What to say of the value that follows, which is none that is expected.
    #[cold]
    fn mismatch(&mut self, expected: &dyn Expected) -> Fault {
        self.describe(expected).unwrap_or_else(|fault| fault)
    }

    fn describe(&mut self, expected: &dyn Expected) -> Read<Fault> {
        let text;
        let found = match self.next()? {
            b'"' => {
                text = self.decoded()?;
                Unexpected::Str(&text)
            }
            b'{' => {
                self.at += 1;
                Unexpected::Map
            }
            b'[' => {
                self.at += 1;
                Unexpected::Seq
            }
            b't' => {
                self.word("true")?;
                Unexpected::Bool(true)
            }
            b'f' => {
                self.word("false")?;
                Unexpected::Bool(false)
            }
            b'n' => {
                self.word("null")?;
                Unexpected::Unit
            }
            _ => match self.number()? {
                Number::Signed(value) => Unexpected::Signed(value),
                Number::Unsigned(value) => Unexpected::Unsigned(value),
                Number::Float(value) => Unexpected::Float(value),
            },
        };
        Ok(Fault::invalid_type(found, expected))
    }

    /// Enters an object or a list, whose bracket is next.
    #[inline]
    fn enter(&mut self) -> Read<()> {
        self.at += 1;
        if self.depth == MAX_DEPTH {
            return Err(Fault::too_deep());
        }
        self.depth += 1;
        Ok(())
    }

    #[inline]
    fn leave(&mut self, close: u8) -> Read<()> {
        if self.next()? != close {
            return Err(self.surplus());
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }

    /// More entries follow than are expected.
    #[cold]
    fn surplus(&mut self) -> Fault {
        if self.peek() != Some(b',') {
            return Fault::no_json();
        }
        self.at += 1;
        self.space();
        self.at += 1;
        Fault::custom("trailing characters")
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
                return Err(Fault::no_json());
            }
            self.at += 1;
        }
        Ok(true)
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.next()? {
            b'"' => self.deserialize_str(visitor),
            b'{' => self.deserialize_map(visitor),
            b'[' => self.deserialize_seq(visitor),
            b't' | b'f' => self.deserialize_bool(visitor),
            b'n' => self.deserialize_unit(visitor),
            _ => self.visit_number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.next()? {
            b't' => {
                self.word("true")?;
                visitor.visit_bool(true)
            }
            b'f' => {
                self.word("false")?;
                visitor.visit_bool(false)
            }
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        match self.next()? {
            b'-' | b'0'..=b'9' => self.visit_number(visitor),
            _ => Err(self.mismatch(&visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if self.next()? != b'"' {
            return Err(self.mismatch(&visitor));
        }
        match self.decoded()? {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
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
        if self.next()? != b'n' {
            return Err(self.mismatch(&visitor));
        }
        self.word("null")?;
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Read<V::Value> {
        if name != AS_WRITTEN {
            return visitor.visit_newtype_struct(self);
        }
        if self.next()? != b'"' {
            return Err(self.mismatch(&visitor));
        }
        visitor.visit_borrowed_str(self.written()?)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        if self.next()? != b'[' {
            return Err(self.mismatch(&visitor));
        }
        self.enter()?;
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
        if self.next()? != b'{' {
            return Err(self.mismatch(&visitor));
        }
        self.enter()?;
        let value = visitor.visit_map(Entries { reader: self, first: true, fields, next: 0 })?;
        self.leave(b'}')?;
        Ok(value)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Read<V::Value> {
        self.space();
        if let Some(skipped) = &mut self.skipped {
            skipped.push(self.at);
        }
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
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Read<Option<T::Value>> {
        if !self.reader.more(&mut self.first, b']')? {
            return Ok(None);
        }
        seed.deserialize(&mut *self.reader).map(Some)
    }
}

impl<'de> MapAccess<'de> for Entries<'_, 'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Read<Option<K::Value>> {
        if !self.reader.more(&mut self.first, b'}')? {
            return Ok(None);
        }
        if self.reader.next()? != b'"' {
            return Err(Fault::no_json());
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
