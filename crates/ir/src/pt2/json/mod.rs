//! The export schema's JSON, mirrored by Rust types: one struct for each struct, one enum for each union.
//!
//! Unions are objects with exactly one key, the tag. Unknown keys of structs are ignored (a newer minor
//! version may add some), unknown tags are errors. Texts borrow from the document wherever they have no
//! escapes, so that a program of some megabytes is read without a copy.

mod argument;
mod escaped;
mod fault;
mod graph;
mod program;
mod reader;
mod scalar;
mod tokens;

pub(super) use argument::*;
pub(super) use escaped::Escaped;
pub(super) use graph::*;
pub(super) use program::*;
pub(super) use reader::read;
pub(super) use scalar::*;

use std::marker::PhantomData;

use crate::error::{ReadError, ReadErrorKind, ReadResult};

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

/// Reads a document.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> ReadResult<T> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("not UTF-8 at byte {}; expected JSON text", error.valid_up_to());
        ReadError::new(ReadErrorKind::Syntax, message)
    })?;
    reader::read(text, PhantomData).map_err(|(fault, stopped)| fault.error(text, stopped))
}

/// The paths, without positions in lists, of the values of a document that a type skips.
pub(super) fn skipped_paths<'a, T: serde::Deserialize<'a>>(text: &'a str) -> impl Iterator<Item = String> {
    let mut walk = fault::Walk::new(text);
    reader::skipped::<T>(text).into_iter().map(move |place| {
        walk.go_to(place + 1);
        walk.path(false)
    })
}

#[cfg(test)]
mod tests;
