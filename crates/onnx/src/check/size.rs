//! A size as answers show it.

/// A size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShownSize {
    /// A number.
    Number(i64),
    /// An expression in the symbols.
    Text(String),
    /// Data decide it; with the greatest that it can be, if that is known.
    Open(Option<String>),
}

impl ShownSize {
    /// The size, if it is a number.
    pub fn number(&self) -> Option<i64> {
        match self {
            ShownSize::Number(number) => Some(*number),
            _ => None,
        }
    }
}
