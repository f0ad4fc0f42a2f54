//! The export schema's JSON, mirrored by Rust types: one struct for each struct, one enum for each union.
//!
//! Unions are objects with exactly one key, the tag. Unknown keys of structs are ignored (a newer minor
//! version may add some), unknown tags are errors. Texts borrow from the document wherever they have no
//! escapes, so that a program of some megabytes is read without a copy.

mod argument;
mod escaped;
mod graph;
mod program;
mod quick;
mod scalar;

pub(super) use argument::*;
pub(super) use escaped::Escaped;
pub(super) use graph::*;
pub(super) use program::*;
pub(super) use quick::read as read_quickly;
pub(super) use scalar::*;

use std::marker::PhantomData;

use serde::de::IgnoredAny;

use crate::error::{Place, ReadError, ReadErrorKind, ReadResult};

/// What the message of an unknown tag begins with; serde's errors carry nothing but text.
const UNKNOWN_TAG: &str = "unknown tag";

/// Declares a union of the schema and how to read it.
macro_rules! union {
    ($(#[$meta:meta])* $name:ident [$($lt:lifetime)?] { $($(#[$doc:meta])* $tag:ident => $variant:ident($ty:ty),)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone)]
        pub(in crate::pt2) enum $name<$($lt)?> { $($(#[$doc])* $variant($ty),)+ }

        impl<'de $(: $lt)?, $($lt)?> serde::Deserialize<'de> for $name<$($lt)?> {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Union<$($lt)?>(std::marker::PhantomData<$(&$lt)? ()>);

                impl<'de $(: $lt)?, $($lt)?> serde::de::Visitor<'de> for Union<$($lt)?> {
                    type Value = $name<$($lt)?>;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("an object with one key, a tag of ", stringify!($name)))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let Some(tag) = map.next_key::<crate::pt2::json::Text<'de>>()? else {
                            return Err(serde::de::Error::invalid_length(0, &self));
                        };
                        let value = match &*tag {
                            $(stringify!($tag) => $name::$variant(map.next_value()?),)+
                            other => return Err(crate::pt2::json::unknown_tag(
                                stringify!($name), other, &[$(stringify!($tag)),+])),
                        };
                        if map.next_key::<serde::de::IgnoredAny>()?.is_some() {
                            return Err(serde::de::Error::custom(concat!(
                                "a second key in an object that holds exactly one, the tag of ", stringify!($name))));
                        }
                        Ok(value)
                    }
                }
                deserializer.deserialize_map(Union(std::marker::PhantomData))
            }
        }
    };
}
use union;

/// The error for a tag that a union does not have.
fn unknown_tag<E: serde::de::Error>(union: &str, tag: &str, known: &[&str]) -> E {
    let tag: String = tag.chars().take(60).collect();
    E::custom(format!(
        "{UNKNOWN_TAG} `{tag}` of {union}, likely written by a newer minor version of torch; known are {}",
        known.join(", ")
    ))
}

/// Reads a document. On failure it is read again to learn what is at fault and where, so that a readable
/// document does not pay for the bookkeeping.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> ReadResult<T> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("not UTF-8 at byte {}; expected JSON text", error.valid_up_to());
        ReadError::new(ReadErrorKind::Syntax, message)
    })?;
    if let Some(value) = quick::read(text, PhantomData) {
        return Ok(value);
    }
    let mut plain = serde_json::Deserializer::from_str(text);
    let end = |value, plain: &mut serde_json::Deserializer<_>| plain.end().map(|()| value);
    let first = match erased(&mut plain) {
        Ok(value) => match end(value, &mut plain) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut deserializer, &mut track);
    let path = match erased::<T>(tracked) {
        Ok(_) => None,
        Err(_) => Some(track.path().to_string()).filter(|path| path != "."),
    };
    Err(located(text, &first, path))
}

/// Reads from any deserializer by one code: each type is compiled for one deserializer instead of for each that is
/// used.
pub(super) fn erased<'a, T: serde::Deserialize<'a>>(
    deserializer: impl serde::Deserializer<'a>,
) -> Result<T, erased_serde::Error> {
    erased_serde::deserialize(&mut <dyn erased_serde::Deserializer>::erase(deserializer))
}

/// Turns serde's error, which ends with its place, into ours.
fn located(document: &str, error: &str, json_path: Option<String>) -> ReadError {
    let place = error.rsplit_once(" at line ").and_then(|(message, place)| {
        let (line, column) = place.split_once(" column ")?;
        Some((message, (line.parse().ok()?, column.parse().ok()?)))
    });
    let (message, line_column) = place.map_or((error, None), |(message, place)| (message, Some(place)));
    // What passes over every value fails where the text is no JSON, and there only.
    let until = line_column.unwrap_or((usize::MAX, usize::MAX));
    let is_json = || {
        let skipped = serde_json::from_str::<IgnoredAny>(document);
        !skipped.is_err_and(|error| (error.line(), error.column()) <= until)
    };
    let kind = match message {
        _ if message.starts_with("recursion limit") => ReadErrorKind::LimitExceeded,
        _ if message.starts_with(UNKNOWN_TAG) => ReadErrorKind::UnknownTag,
        _ if is_json() => ReadErrorKind::Schema,
        _ => ReadErrorKind::Syntax,
    };
    let message = match kind {
        ReadErrorKind::LimitExceeded => {
            "nested too deeply; programs nest at most 127 objects and lists".to_owned()
        }
        ReadErrorKind::Syntax => format!("not JSON: {message}"),
        _ => message.to_owned(),
    };
    let place = Place { json_path, line_column, ..Place::default() };
    ReadError { kind, place: Box::new(place), message }
}

#[cfg(test)]
mod tests;
