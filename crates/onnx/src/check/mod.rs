//! What models do with inputs: for given sizes, and for all.
mod conditions;
#[cfg(test)]
mod data_tests;
mod declaration;
#[cfg(test)]
mod declaration_tests;
mod difference;
mod evaluate;
#[cfg(test)]
mod evaluate_tests;
#[cfg(test)]
mod everyday_tests;
mod examples;
mod existing;
mod explain;
mod findings;
#[cfg(test)]
mod fix_tests;
#[cfg(test)]
mod graph_tests;
mod guards;
mod integers;
mod limits;
#[cfg(test)]
mod load_tests;
mod names;
#[cfg(test)]
mod names_tests;
#[cfg(test)]
mod open_tests;
#[cfg(test)]
mod operand_tests;
mod plain;
#[cfg(test)]
mod refused_tests;
#[cfg(test)]
mod run_tests;
mod run_time;
#[cfg(test)]
mod run_time_tests;
mod shapes;
mod size;
mod sources;
mod symbolic;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tree_tests;
#[cfg(test)]
mod typed_tests;
mod ways;
mod written;

pub use conditions::{check, check_within, declared_spec, widen};
pub use declaration::{Declaration, Declared};
pub(crate) use declaration::{full_name, written_size};
pub use difference::{side, side_of_spec};
pub(crate) use evaluate::without_operator;
pub use evaluate::{Evaluated, Filled, Refused, evaluate, evaluate_fully};
#[cfg(test)]
pub(crate) use examples::walked;
pub use explain::{Place, dimension, dynamic_dimensions, explanations};
pub use findings::{
    Condition, Data, Findings, Fix, LeftToRunTime, Rejects, Stated, Verdict, Violation, WrongOutput,
};
pub use guards::{NoGuards, guard_set};
pub use limits::Limits;
pub use shapes::{Shapes, ShownValue, guarded_shapes, shapes};
pub use size::ShownSize;
pub use symbolic::Named;

/// The sizes of inputs, in the model's order.
pub type Sizes = indexmap::IndexMap<String, Vec<i64>>;
