//! The export schema's JSON, mirrored by Rust types: one struct for each struct, one enum for each union.
//!
//! Unions are objects with exactly one key, the tag. Unknown keys of structs are ignored (a newer minor
//! version may add some), unknown tags are errors. Texts borrow from the document wherever they have no
//! escapes, so that a program of some megabytes is read without a copy.

mod argument;
mod escaped;
mod graph;
mod program;
mod scalar;

pub(super) use argument::*;
pub(super) use escaped::Escaped;
pub(super) use graph::*;
pub(super) use program::*;
pub(super) use scalar::*;

use std::marker::PhantomData;

use serde::de::DeserializeSeed;
use serde_ignored::Path;
use serde_json::error::Category;

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

/// Reads a whole document with a seed. The error has no path, which [`parse`] finds.
pub(super) fn read<'a, T: DeserializeSeed<'a>>(text: &'a str, seed: T) -> serde_json::Result<T::Value> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Reads a document.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> ReadResult<T> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let message = format!("not UTF-8 at byte {}; expected JSON text", error.valid_up_to());
        ReadError::new(ReadErrorKind::Syntax, message)
    })?;
    read(text, PhantomData).map_err(|error| refusal::<T>(text, &error))
}

/// What is wrong with a document, with the path to it. A document that is as it should be pays nothing for that.
#[cold]
fn refusal<'a, T: serde::Deserialize<'a>>(text: &'a str, error: &serde_json::Error) -> ReadError {
    let json_path = serde_path_to_error::deserialize::<_, T>(&mut serde_json::Deserializer::from_str(text))
        .err()
        .map(|error| error.path().to_string())
        // Where the text is no JSON, the last step of a path is not known.
        .filter(|path| path != "." && !path.contains('?'));
    let line_column = Some((error.line(), error.column()));
    let full = error.to_string();
    let why = full.rsplit_once(" at line ").map_or(&*full, |(why, _)| why);
    let (kind, message) = match error.classify() {
        Category::Data if why.starts_with(UNKNOWN_TAG) => (ReadErrorKind::UnknownTag, why.to_owned()),
        Category::Data => (ReadErrorKind::Schema, why.to_owned()),
        _ if why == "recursion limit exceeded" => {
            let message = "nested too deeply; programs nest at most 127 objects and lists";
            (ReadErrorKind::LimitExceeded, message.to_owned())
        }
        _ => (ReadErrorKind::Syntax, format!("not JSON: {why}")),
    };
    ReadError { kind, place: Box::new(Place { json_path, line_column, ..Place::default() }), message }
}

/// The paths, without positions in lists, of the values of a document that a type skips.
pub(super) fn skipped_paths<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Vec<String> {
    let mut paths = Vec::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    // What is wrong with the document is said where it is read.
    let _ = serde_ignored::deserialize::<_, _, T>(&mut reader, |path| paths.push(without_positions(&path)));
    paths
}

fn without_positions(path: &Path<'_>) -> String {
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, .. } => without_positions(parent) + "[]",
        Path::Map { parent, key } => match without_positions(parent) {
            above if above.is_empty() => key.clone(),
            above => format!("{above}.{key}"),
        },
        Path::Some { parent } | Path::NewtypeStruct { parent } | Path::NewtypeVariant { parent } => {
            without_positions(parent)
        }
    }
}

#[cfg(test)]
mod tests;
