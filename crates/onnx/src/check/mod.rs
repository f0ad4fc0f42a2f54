//! What models do with inputs: for given sizes, and for all.
mod conditions;
mod evaluate;
mod findings;
mod names;
mod size;
mod symbols;
#[cfg(test)]
mod tests;

pub use conditions::{check, check_within};
pub use evaluate::{Evaluated, Filled, Refused, evaluate};
pub use findings::{Condition, Findings, Fix, Stated, Verdict, Violation, WrongOutput};
pub use size::ShownSize;
pub use symbols::{Named, Shapes, ShownValue, shapes};

/// The sizes of inputs, in the model's order.
pub type Sizes = indexmap::IndexMap<String, Vec<i64>>;
