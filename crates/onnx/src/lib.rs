//! ONNX models: written from exported programs, read, and checked with the shapes of their operators.

pub mod check;
pub mod dot;
pub mod fill;
#[cfg(test)]
mod hostile_tests;
pub mod query;
pub mod read;
pub mod redeclare;
pub mod shape;
pub mod subject;
pub mod text;
pub mod walk;
mod write;

pub use write::{INLINE_BYTES, Options, Written, model, refused_at_example, write};

/// Why a program has no ONNX form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct OnnxError {
    /// The value or node that has none.
    pub place: String,
    /// Why. No full stop at the end.
    pub message: String,
}

impl OnnxError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> OnnxError {
        OnnxError { place: place.into(), message: message.into() }
    }
}
