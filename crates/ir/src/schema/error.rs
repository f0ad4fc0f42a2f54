//! What can be wrong with the text of a schema.
use super::limits::{MAX_ARGUMENTS, MAX_DEPTH, MAX_LENGTH, MAX_LIST};
use thiserror::Error;

/// The text is not a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("column {column}: {kind}")]
pub struct SchemaError {
    /// Where, in characters of the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub kind: SchemaErrorKind,
}

/// The ways in which text is not a schema.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaErrorKind {
    /// Something else stands where the grammar wants `expected`.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What the grammar wants.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// No type has this name.
    #[error("unknown type `{0}`")]
    UnknownType(String),
    /// Two arguments have one name.
    #[error("a second argument is called `{0}`")]
    DuplicateArgument(String),
    /// `*` stands twice among the arguments.
    #[error("a second `*`: keyword-only arguments have begun")]
    SecondStar,
    /// One type has two alias annotations.
    #[error("a second alias annotation in one type")]
    SecondAlias,
    /// `...` stands for any number of arguments or results, which only TorchScript builtins have.
    #[error("a variable number of arguments or results (`...`) is not supported")]
    Variadic,
    /// The default is not a value of the argument's type.
    #[error("the default {value} does not fit the type `{ty}`")]
    DefaultType {
        /// The default.
        value: String,
        /// The argument's type.
        ty: String,
    },
    /// A number that 64 bits cannot hold.
    #[error("the number {0} does not fit 64 bits")]
    NumberRange(String),
    /// An escape that strings do not have.
    #[error("unknown escape in a string")]
    Escape,
    /// A schema longer than the limit.
    #[error("longer than {MAX_LENGTH} bytes")]
    TooLong,
    /// Types or defaults nested deeper than the limit.
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// More arguments or results than the limit.
    #[error("more than {MAX_ARGUMENTS} arguments or results")]
    TooManyArguments,
    /// A list, or the fixed length of one, beyond the limit.
    #[error("a list of more than {MAX_LIST} elements")]
    ListTooLong,
}
