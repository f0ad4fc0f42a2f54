//! Why a spec cannot be used.

/// A spec that cannot be used, and the place in it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{path}: {message}")]
pub struct SpecError {
    /// Where in the spec, such as `x[0].min`.
    pub path: String,
    /// What is wrong and what was expected.
    pub message: String,
    /// Lines to follow the message: the line of the text, with a caret below the place. Empty where the place is no
    /// line.
    pub excerpt: String,
}

impl SpecError {
    /// What is wrong at a place of a spec; without a place it is wrong as a whole.
    pub fn new(path: &str, message: impl Into<String>) -> SpecError {
        let path = if path.is_empty() { "the spec" } else { path };
        SpecError { path: path.to_string(), message: message.into(), excerpt: String::new() }
    }

    /// The error of a part at a path of the whole.
    pub(super) fn within(self, path: &str) -> SpecError {
        SpecError { path: format!("{path}.{}", self.path), ..self }
    }
}
