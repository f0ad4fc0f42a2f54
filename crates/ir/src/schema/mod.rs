//! Operator schemas: the signature of every operator overload, and a parser for more of them.
//!
//! A schema such as `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor` names the arguments of
//! one overload, their types and defaults, which of them are keyword-only, and which results share memory with an
//! argument or are an argument that was written. Schemas of ATen and prims come with the crate ([`SchemaTable`]);
//! those of custom operators are parsed from text ([`Schema::parse_custom`]).
mod display;
mod error;
mod limits;
mod name;
mod parse;
mod scan;
mod table;
mod types;

pub use error::{SchemaError, SchemaErrorKind};
pub use limits::{MAX_ARGUMENTS, MAX_DEPTH, MAX_LENGTH, MAX_LIST};
pub use name::OperatorName;
pub use table::{Overload, SchemaTable, Tags};
pub use types::{Alias, ArgSpec, DefaultValue, RetSpec, Schema, Type};

#[cfg(test)]
mod table_tests;
#[cfg(test)]
mod tests;
