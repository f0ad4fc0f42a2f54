//! What models do with inputs: for given sizes, and for all.
mod changed;
mod conditions;
mod cost;
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
mod outline;
mod plain;
#[cfg(test)]
mod refused_tests;
#[cfg(test)]
mod repeat_tests;
#[cfg(test)]
mod run_tests;
mod run_time;
#[cfg(test)]
mod run_time_tests;
#[cfg(test)]
mod said;
mod shapes;
mod size;
mod sizing;
#[cfg(test)]
mod sizing_tests;
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

pub use conditions::{declared_spec, report, widen};
pub use cost::cost;
pub(crate) use declaration::written_size;
pub use declaration::{Declaration, Declared};
pub use difference::{side, side_of_spec};
pub use evaluate::{Evaluated, Filled, Refused, evaluate, evaluate_fully};
pub use explain::{DeclaredDim, dimension, dynamic_dimensions, explanations};
pub use guards::{NoGuards, guard_set};
pub use outline::outline;
pub use shapes::{Shapes, ShownValue, guarded_shapes, shapes};
pub use size::ShownSize;
#[cfg(test)]
pub(crate) use sizewise_check::report::Outcome as Verdict;
pub use sizing::sizing;
pub use symbolic::SizeSymbol;

/// The sizes of inputs, in the model's order.
pub type Sizes = indexmap::IndexMap<String, Vec<i64>>;

/// Checks a model under what it declares: sizes of at least 1, equal names being equal sizes.
pub fn check(model: &sizewise_onnx_model::read::Model) -> sizewise_check::report::Report {
    report(model, "model", &[], None, &sizewise_solve::Budget::default())
}
