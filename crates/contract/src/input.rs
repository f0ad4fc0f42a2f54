//! What is checked.

/// An input to check.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Input<'a> {
    /// The sizes of a tensor.
    Tensor(&'a [i64]),
    /// An integer.
    Integer(i64),
    /// A truth value.
    Bool(bool),
    /// A double.
    Double(f64),
    /// A string.
    String(&'a str),
    /// Anything else.
    Other,
}
