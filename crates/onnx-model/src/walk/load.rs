//! What a walk notes of what onnxruntime knows when it loads a model.
use super::{Given, declared};
use crate::read::message::{GraphProto, ValueInfoProto};
use crate::shape::{AtLoad, Call, Known, Value, operator};

/// Marks an input of a graph with what is declared of it. Of an input of a model nothing else is known.
pub(super) fn mark_declared(value: &mut Value, input: &ValueInfoProto, is_main: bool) {
    let Value::Tensor(tensor) = value else { return };
    let stated = declared(&input.name, input.r#type.as_ref()).shape;
    tensor.at_load = if is_main { AtLoad::UNRANKED } else { tensor.at_load.without_elements() };
    let Some(stated) = stated else { return };
    tensor.at_load.rank = Known::Yes;
    for (dim, given) in stated.iter().enumerate() {
        if matches!(given, Given::Size(_)) {
            tensor.at_load = tensor.at_load.with_size(dim, Known::Yes);
        }
    }
}

/// Marks what control flow makes: its sizes are not sure to be known when the model loads, nor are the ranks of what loops
/// make.
pub(super) fn mark_controlled(op: &str, values: &mut [Value]) {
    for value in values {
        if let Value::Tensor(tensor) = value {
            tensor.at_load = tensor.at_load.without_sizes();
            // Of a loop nothing is known, though it may have no round and return constants.
            if op == "Loop" {
                tensor.forget_constant();
            }
            if op == "Loop" || tensor.at_load.rank == Known::No {
                tensor.at_load = AtLoad::default();
            }
        }
    }
}

/// Marks the results of a call with what is known of them when the model loads. In a walk over symbols, a size that is no
/// number is not known.
pub(super) fn mark_results(call: &Call, values: &mut [Option<Value>]) {
    let op = operator(call.domain, call.op);
    for value in values.iter_mut().flatten() {
        let Value::Tensor(tensor) = value else { continue };
        let rank = tensor.shape.as_ref().map(Vec::len);
        let found = op.map_or(AtLoad::default(), |op| op.inferred(call, rank.unwrap_or(0)));
        tensor.at_load = match rank {
            Some(_) => found,
            None if found.rank == Known::No => found,
            None => AtLoad::default(),
        };
        if !call.is_run {
            let sizes = tensor.shape.iter().flatten().enumerate();
            let open = sizes.filter(|(_, size)| size.as_inline().is_none());
            tensor.at_load = open.fold(tensor.at_load, |known, (dim, _)| known.with_size(dim, Known::No));
        }
    }
}

/// Whether onnxruntime is sure to know the rank of a graph's output: it is declared, or inferred. Where these differ it
/// knows none.
pub(super) fn has_known_rank(output: &ValueInfoProto, value: &Value) -> bool {
    let made = value.tensor().and_then(|tensor| tensor.shape.as_ref()).map(Vec::len);
    match declared(&output.name, output.r#type.as_ref()).shape {
        Some(stated) => made.is_none_or(|made| made == stated.len()),
        None => value.is_ranked_at_load(),
    }
}

/// Whether onnxruntime is sure to know the ranks of all that a graph makes.
pub(super) fn has_ranked_outputs(graph: &GraphProto, results: &[Value]) -> bool {
    graph.output.iter().zip(results).all(|(output, value)| has_known_rank(output, value))
}
