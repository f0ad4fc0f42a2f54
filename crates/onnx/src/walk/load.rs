//! What onnxruntime is sure to know when it loads a model: the ranks of values.
use super::declared;
use crate::read::message::{GraphProto, NodeProto, ValueInfoProto};
use crate::shape::Value;

/// Operators of which the rank of the result may not be inferred, unless the inputs after the first are constants.
const BY_ELEMENTS: &[&str] = &[
    "ConstantOfShape",
    "Expand",
    "Pad",
    "RandomNormal",
    "ReduceL1",
    "ReduceL2",
    "ReduceLogSum",
    "ReduceLogSumExp",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "ReduceSumSquare",
    "Reshape",
    "Resize",
    "Slice",
    "Squeeze",
    "Tile",
    "Unsqueeze",
];

/// Operators of which the rank of the result may not be inferred at all.
const NEVER: &[&str] = &["ConcatFromSequence", "OptionalGetElement", "SequenceAt", "StringSplit"];

fn is_ranked(value: &Value) -> bool {
    value.tensor().is_some_and(|tensor| tensor.is_ranked_at_load || tensor.constant)
}

/// Marks an input of a graph of which the rank is declared.
pub(super) fn mark_declared(value: &mut Value, input: &ValueInfoProto) {
    if let Value::Tensor(tensor) = value
        && !tensor.is_ranked_at_load
    {
        tensor.is_ranked_at_load = declared(&input.name, input.r#type.as_ref()).shape.is_some();
    }
}

/// Marks the results of a node of which the rank is known when the model loads.
pub(super) fn mark_ranks(
    domain: &str,
    node: &NodeProto,
    inputs: &[Option<&Value>],
    values: &mut [Option<Value>],
) {
    let op = node.op_type.as_str();
    let is_constant = |value: &&Value| value.tensor().is_some_and(|tensor| tensor.constant);
    let skipped = usize::from(op != "ConstantOfShape");
    let known = domain.is_empty()
        && inputs.iter().flatten().all(|value| is_ranked(value))
        && !NEVER.contains(&op)
        && (!BY_ELEMENTS.contains(&op) || inputs.iter().skip(skipped).flatten().all(is_constant));
    for value in values.iter_mut().flatten() {
        if let Value::Tensor(tensor) = value {
            tensor.is_ranked_at_load = known && tensor.shape.is_some();
        }
    }
}

/// Whether onnxruntime is sure to know the rank of a graph's output: it is declared, or inferred.
pub(super) fn has_known_rank(output: &ValueInfoProto, value: &Value) -> bool {
    is_ranked(value) || declared(&output.name, output.r#type.as_ref()).shape.is_some()
}

/// Whether onnxruntime is sure to know the ranks of all that a graph makes.
pub(super) fn has_ranked_outputs(graph: &GraphProto, results: &[Value]) -> bool {
    graph.output.iter().zip(results).all(|(output, value)| has_known_rank(output, value))
}
