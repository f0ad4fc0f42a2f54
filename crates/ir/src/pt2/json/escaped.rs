//! Strings that are kept as the document writes them until someone reads them: stack traces are long, have many
//! escapes and repeat.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// The name by which an [`Escaped`] asks for a string as the document writes it.
pub(super) const AS_WRITTEN: &str = "$as written";

/// A string as the document writes it, escapes and all, without quotes.
#[derive(Debug, Clone)]
pub(in crate::pt2) struct Escaped<'a>(&'a str);

impl<'a> Escaped<'a> {
    /// As the document writes it.
    pub fn written(&self) -> &'a str {
        self.0
    }

    /// As it reads.
    pub fn read(&self) -> Cow<'a, str> {
        if !self.0.contains('\\') {
            return Cow::Borrowed(self.0);
        }
        Cow::Owned(decoded(self.0).unwrap_or_default())
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
                Ok(Escaped(written))
            }
        }
        deserializer.deserialize_newtype_struct(AS_WRITTEN, EscapedVisitor)
    }
}

/// What a string reads, of which the reader has seen to it that escapes are escapes. `None` where an escape is half a
/// character and the other half does not follow.
pub(super) fn decoded(written: &str) -> Option<String> {
    let mut text = String::with_capacity(written.len());
    let mut rest = written;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        let mut after = rest[at + 1..].chars();
        match after.next()? {
            'n' => text.push('\n'),
            'r' => text.push('\r'),
            't' => text.push('\t'),
            'b' => text.push('\u{8}'),
            'f' => text.push('\u{c}'),
            'u' => {
                let (character, behind) = numbered(after.as_str())?;
                text.push(character);
                after = behind.chars();
            }
            other => text.push(other),
        }
        rest = after.as_str();
    }
    text.push_str(rest);
    Some(text)
}

/// The character that the digits of an escape stand for, with those of a second escape where they are but half of it;
/// and the text behind them.
fn numbered(digits: &str) -> Option<(char, &str)> {
    let unit = |digits: &str| u16::from_str_radix(digits.get(..4)?, 16).ok();
    let (first, behind) = (unit(digits)?, digits.get(4..)?);
    if let Some(character) = char::from_u32(first.into()) {
        return Some((character, behind));
    }
    let second = behind.strip_prefix("\\u")?;
    let character = char::decode_utf16([first, unit(second)?]).next()?.ok()?;
    Some((character, &second[4..]))
}
