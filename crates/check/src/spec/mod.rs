//! Dynamic-shape specs.
//!
//! A spec says, in the structure of the inputs, which dimensions vary and how. [`Spec::parse`] reads one
//! (JSON, or Python as in `python`),
//! [`Contract`] is what a program itself says of its inputs, and [`bind`] combines them into what may be
//! assumed about the program's symbols, and what the program demands that remains to be proved.
mod asked;
mod assumptions;
mod bind;
mod bind_guards;
mod bind_shapes;
mod change;
mod completed;
mod contract;
mod convert;
mod dim;
mod error;
mod examples;
mod file;
mod flat;
mod initial;
mod initial_shapes;
mod inputs;
mod locate;
mod parse;
mod parts;
mod python;
mod related;
pub mod shapes;
mod solved;
mod torch;
mod width;

pub use assumptions::{Assumptions, Demand, DemandKind, InputSizes, Shape};
pub use bind::bind;
pub use change::{Change, Computed, NamedPlace, dimension_name};
pub use completed::Forgotten;
pub(crate) use contract::bound_conditions;
pub use contract::{Contract, ContractError, ContractGuard, UNCHECKED_MINIMUM};
pub use dim::{DimSpec, Entry, Hint, sum_of};
pub use error::SpecError;
pub use file::is_program;
pub use flat::FlatInput;
pub use initial::Width;
pub use initial_shapes::Language;
pub(crate) use inputs::path_text;
pub use inputs::{InputKind, ProgramInput};
pub use parse::Spec;
pub use related::Related;
pub use solved::Solved;
pub use torch::Containers;
pub use torch::range_in_words;
pub use torch::text::linear as linear_text;
pub(crate) use torch::{Lines, Reason, Refused, refused};
