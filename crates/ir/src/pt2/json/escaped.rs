//! Strings that are kept as the document writes them until someone reads them: stack traces are long, have many
//! escapes and repeat.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

use super::Text;
use super::quick::AS_WRITTEN;

/// A string of the document.
#[derive(Debug, Clone)]
pub(in crate::pt2) enum Escaped<'a> {
    /// As the document writes it, escapes and all, without quotes. Its escapes are known to be simple ones.
    Written(&'a str),
    /// As it reads.
    Read(Text<'a>),
}

impl<'a> Escaped<'a> {
    /// The string.
    pub fn read(&self) -> Cow<'_, str> {
        match self {
            Escaped::Written(written) if written.contains('\\') => Cow::Owned(unescape(written)),
            Escaped::Written(written) => Cow::Borrowed(written),
            Escaped::Read(text) => Cow::Borrowed(text),
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Escaped<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EscapedVisitor;
        impl<'de> Visitor<'de> for EscapedVisitor {
            type Value = Escaped<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: Error>(self, written: &'de str) -> Result<Self::Value, E> {
                Ok(Escaped::Written(written))
            }
            /// From readers that know nothing of strings as they are written.
            fn visit_newtype_struct<D: Deserializer<'de>>(self, reader: D) -> Result<Self::Value, D::Error> {
                Text::deserialize(reader).map(Escaped::Read)
            }
        }
        deserializer.deserialize_newtype_struct(AS_WRITTEN, EscapedVisitor)
    }
}

/// What a string reads whose escapes are all of one letter.
pub(super) fn unescape(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('b') => text.push('\u{8}'),
            Some('f') => text.push('\u{c}'),
            Some(other) => text.push(other),
            None => {}
        }
        rest = after.as_str();
    }
    text.push_str(rest);
    text
}
