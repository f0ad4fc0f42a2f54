//! A size as answers show it.
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownSize {
    /// A number.
    Number(i64),
    /// An expression in the symbols.
    Text(Arc<str>),
    /// Data decide it; with the greatest that it can be, if that is known.
    Open(Option<String>),
}

impl ShownSize {
    /// The size as JSON: a number or a text, null where data decide it.
    pub fn json(&self) -> Json {
        match self {
            ShownSize::Number(number) => json!(number),
            ShownSize::Text(text) => json!(**text),
            ShownSize::Open(_) => Json::Null,
        }
    }

    /// As [`ShownSize::json`], with what is known of a size that data decide: its bound, or its name in an evaluation.
    pub fn known_json(&self) -> Json {
        match self {
            ShownSize::Open(known) => json!(known),
            size => size.json(),
        }
    }

    /// The size, if it is a number.
    pub fn number(&self) -> Option<i64> {
        match self {
            ShownSize::Number(number) => Some(*number),
            _ => None,
        }
    }
}
