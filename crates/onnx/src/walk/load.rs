//! What onnxruntime is sure to know when it loads a model: the ranks of values.
use super::{Given, declared};
use crate::read::message::{GraphProto, NodeProto, ValueInfoProto};
use crate::shape::{Call, Element, Tensor, Value};
use sizewise_expr::Expr;

/// Operators of which sizes of the result are inferred where the inputs after the first are in the file.
const BY_ELEMENTS: &[&str] = &[
    "Expand",
    "Pad",
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
    "Resize",
    "Slice",
    "Split",
    "Squeeze",
    "Tile",
    "TopK",
    "Unsqueeze",
];

/// Operators of which the rank of the result is inferred from the number of sizes that the last input gives, from these
/// versions on; before, and of those that follow, from constants alone.
const BY_COUNT: &[(&str, i64)] = &[("ConstantOfShape", 13), ("Expand", 13), ("Reshape", 14)];

/// Operators of which the rank of the result is that of the first input, of which this is inferred from version 13 on.
const LIKE_FIRST: &[&str] = &["Pad", "Resize", "Slice", "Tile"];

/// Operators of which the rank of the result may not be inferred at all.
const NEVER: &[&str] = &[
    "BlackmanWindow",
    "ConcatFromSequence",
    "ConvTranspose",
    "HammingWindow",
    "HannWindow",
    "MaxUnpool",
    "MeanVarianceNormalization",
    "MelWeightMatrix",
    "OptionalGetElement",
    "STFT",
    "SequenceAt",
    "StringSplit",
];

/// Operators of which the sizes of the result are inferred from those of all inputs.
const LIKE_ALL: &[&str] = &[
    "Abs",
    "Add",
    "And",
    "Cast",
    "Ceil",
    "Clip",
    "Concat",
    "Div",
    "Einsum",
    "Equal",
    "Floor",
    "Greater",
    "GreaterOrEqual",
    "Identity",
    "Less",
    "LessOrEqual",
    "MatMul",
    "Max",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "Reciprocal",
    "Round",
    "Sign",
    "Sqrt",
    "Sub",
    "Sum",
    "Where",
];

fn is_ranked(value: &Value) -> bool {
    value.tensor().is_some_and(|tensor| tensor.is_ranked_at_load || tensor.constant)
}

/// Marks an input of a graph of which the rank and the sizes are declared.
pub(super) fn mark_declared(value: &mut Value, input: &ValueInfoProto) {
    let Value::Tensor(tensor) = value else { return };
    tensor.is_in_file = false;
    if !tensor.is_ranked_at_load || !tensor.is_sized_at_load {
        let stated = declared(&input.name, input.r#type.as_ref()).shape;
        tensor.is_ranked_at_load |= stated.is_some();
        tensor.is_unranked_at_load &= stated.is_none();
        tensor.is_sized_at_load |=
            stated.is_some_and(|stated| stated.iter().all(|size| matches!(size, Given::Size(_))));
    }
}

/// Marks what control flow makes: its sizes are not sure to be known when the model loads, nor are the ranks of what loops
/// make.
pub(super) fn mark_controlled(op: &str, values: &mut [Value]) {
    for value in values {
        if let Value::Tensor(tensor) = value {
            (tensor.is_sized_at_load, tensor.is_in_file) = (false, false);
            // Of a loop nothing is known, though it may have no round and return constants.
            tensor.is_ranked_at_load &= op != "Loop";
            tensor.constant &= op != "Loop";
            tensor.is_unranked_at_load = false;
        }
    }
}

/// Whether onnxruntime infers the rank of the result of a node from inputs of known rank.
fn infers_rank(op: &str, version: i64, inputs: &[Option<&Value>]) -> bool {
    // What `Identity` makes of a constant is none.
    let are_constant = |from: usize| inputs.iter().skip(from).flatten().all(is_in_file);
    let is_counted = |since: i64| version >= since && inputs.last().copied().flatten().is_some_and(is_sized);
    match BY_COUNT.iter().find(|(known, _)| *known == op) {
        Some((_, since)) => is_counted(*since) || are_constant(usize::from(op != "ConstantOfShape")),
        None if version >= 13 && LIKE_FIRST.contains(&op) => true,
        None => !BY_ELEMENTS.contains(&op) || op == "TopK" || are_constant(1),
    }
}

/// Whether onnxruntime knows all sizes of a value as numbers when it loads the model.
pub(super) fn is_sized(value: &Value) -> bool {
    value.tensor().is_some_and(|tensor| tensor.is_sized_at_load || tensor.is_in_file)
}

/// Whether onnxruntime infers all sizes of the result of a node as numbers, where those of its inputs and the elements
/// that the file has let it.
fn infers_sizes(domain: &str, op: &str, inputs: &[Option<&Value>], result: &Tensor) -> bool {
    let is_number = |size: &Expr| size.as_inline().is_some();
    let Some(shape) = result.shape.as_ref().filter(|shape| shape.iter().all(is_number)) else {
        return false;
    };
    if !domain.is_empty() {
        return false;
    }
    if shape.is_empty() && result.is_ranked_at_load {
        return true;
    }
    let tensor = |at: usize| inputs.get(at).copied().flatten().and_then(Value::tensor);
    let is_sized = |at: usize| inputs.get(at).copied().flatten().is_some_and(is_sized);
    let are_in_file = |from: usize| inputs.iter().skip(from).flatten().all(is_in_file);
    let is_list = |at: usize| {
        let rank = tensor(at).and_then(|tensor| tensor.shape.as_ref()).map(Vec::len);
        rank == Some(1) && inputs[at].is_some_and(is_ranked)
    };
    match op {
        "Constant" => true,
        "Shape" => inputs.first().copied().flatten().is_some_and(is_ranked),
        _ if LIKE_ALL.contains(&op) => (0..inputs.len()).all(|at| inputs[at].is_none() || is_sized(at)),
        "CumSum" | "Dropout" | "ScatterElements" | "ScatterND" | "Transpose" => is_sized(0),
        "Gather" => is_sized(1) && (is_sized(0) || is_list(0)),
        "GatherElements" => is_sized(1),
        "ConstantOfShape" | "Range" => are_in_file(0),
        "Reshape" => are_in_file(1) && (is_sized(0) || tensor(1).is_some_and(has_all_sizes)),
        op => BY_ELEMENTS.contains(&op) && is_sized(0) && are_in_file(1),
    }
}

fn is_in_file(value: &&Value) -> bool {
    value.tensor().is_some_and(|tensor| tensor.is_in_file)
}

/// Whether every element is a size, and none stands for another.
fn has_all_sizes(target: &Tensor) -> bool {
    let is_size = |element: &Element| element.number().is_some_and(|size| size >= 1.0);
    target.list().is_some_and(|list| list.iter().all(is_size))
}

/// Marks the results of a node of which the rank and the sizes are known when the model loads.
pub(super) fn mark_ranks(node: &NodeProto, call: &Call, values: &mut [Option<Value>]) {
    let Call { domain, op, version, inputs, .. } = *call;
    let is_ranked = inputs.iter().flatten().all(|value| is_ranked(value));
    // Which sizes are 1 is not inferred of sizes that are no numbers.
    let drops_any = op == "Squeeze" && inputs.len() < 2 && node.attribute.is_empty();
    // Before version 11 the inference knows no negative axes.
    let is_behind =
        version < 11 && op == "Concat" && node.attribute.iter().any(|own| own.name == "axis" && own.i < 0);
    let known = match op {
        _ if is_behind => false,
        _ if !domain.is_empty() || NEVER.contains(&op) => false,
        _ if drops_any => inputs.first().copied().flatten().is_some_and(is_sized),
        "Shape" | "Size" => true,
        _ => is_ranked && infers_rank(op, version, inputs),
    };
    for value in values.iter_mut().flatten() {
        if let Value::Tensor(tensor) = value {
            // The inference of these says nothing where there are no dimensions to say.
            let is_silent = op == "GatherND" || op == "Transpose" && version < 13;
            let is_said = !is_silent || tensor.shape.as_ref().is_some_and(|sizes| !sizes.is_empty());
            tensor.is_ranked_at_load = known && is_said && tensor.shape.is_some();
            tensor.is_unranked_at_load &= domain.is_empty() && op == "Identity";
            tensor.is_sized_at_load = infers_sizes(domain, op, inputs, tensor);
            tensor.is_in_file = domain.is_empty() && op == "Constant";
        }
    }
}

/// Whether onnxruntime is sure to know the rank of a graph's output: it is declared, or inferred. Where these differ it
/// knows none.
pub(super) fn has_known_rank(output: &ValueInfoProto, value: &Value) -> bool {
    let made = value.tensor().and_then(|tensor| tensor.shape.as_ref()).map(Vec::len);
    match declared(&output.name, output.r#type.as_ref()).shape {
        Some(stated) => made.is_none_or(|made| made == stated.len()),
        None => is_ranked(value),
    }
}

/// Whether onnxruntime is sure to know the ranks of all that a graph makes.
pub(super) fn has_ranked_outputs(graph: &GraphProto, results: &[Value]) -> bool {
    graph.output.iter().zip(results).all(|(output, value)| has_known_rank(output, value))
}
