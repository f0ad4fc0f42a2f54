//! Constants that are passed or returned where a value might be.
use std::sync::Arc;

/// A constant that is passed or returned where a value might be.
#[derive(Debug, Clone, PartialEq)]
pub enum Constant {
    /// Python's `None`.
    None,
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// A truth value.
    Bool(bool),
}

impl Constant {
    /// The constant as JSON; doubles that JSON lacks are strings, as Python writes them.
    pub fn json(&self) -> serde_json::Value {
        match self {
            Constant::None => serde_json::Value::Null,
            Constant::Int(value) => (*value).into(),
            Constant::Float(value) if value.is_finite() => (*value).into(),
            Constant::Float(_) => self.to_string().into(),
            Constant::Str(text) => (**text).into(),
            Constant::Bool(value) => (*value).into(),
        }
    }
}
