//! What models do with inputs: for given sizes, and for all.
mod conditions;
mod evaluate;
mod names;
mod symbols;
#[cfg(test)]
mod tests;

pub use conditions::{Condition, Report, Stated, Verdict, Violation, WrongOutput, check};
pub use evaluate::{Evaluated, Filled, Refused, evaluate};
pub use symbols::{Named, Shapes, ShownSize, ShownValue, shapes};

/// The sizes of inputs, in the model's order.
pub type Sizes = indexmap::IndexMap<String, Vec<i64>>;
