//! Strings that are kept as the document writes them until someone reads them: stack traces are long, have many
//! escapes and repeat.

use serde::de::{Deserialize, Deserializer, Error};
use serde_json::value::RawValue;

/// A string as the document writes it, with its quotes and escapes.
#[derive(Debug, Clone)]
pub(in crate::pt2) struct Escaped<'a>(&'a str);

impl<'a> Escaped<'a> {
    /// As the document writes it.
    pub fn written(&self) -> &'a str {
        self.0
    }

    /// As it reads; nothing where an escape is half a character whose other half does not follow.
    pub fn read(&self) -> String {
        serde_json::from_str(self.0).unwrap_or_default()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Escaped<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = <&RawValue>::deserialize(deserializer)?.get();
        if written.starts_with('"') {
            Ok(Escaped(written))
        } else {
            Err(D::Error::custom("expected a string"))
        }
    }
}
