//! Which results of a call become which values of its graph.
use sizewise_ir::{Graph, Meta, Node, Output, ValueId};
use sizewise_kernels::{Value, Values};

/// Results with lists taken apart: an operator with one list as its return may be recorded as one list or as that many
/// outputs, and conversely.
pub fn flat(returns: Values) -> Values {
    if !returns.iter().any(|value| matches!(value, Value::Tensors(_))) {
        return returns;
    }
    let mut flat = Values::new();
    for value in returns {
        match value {
            Value::Tensors(items) => {
                flat.extend(items.into_iter().map(|t| t.map_or(Value::None, Value::Tensor)));
            }
            other => flat.push(other),
        }
    }
    flat
}

/// Which value each output of a node gets.
pub(super) fn distribute<'v>(
    node: &Node,
    results: &'v [Value],
) -> impl Iterator<Item = (ValueId, &'v Value)> {
    places(node).zip(results).filter_map(|(place, value)| Some((place?, value)))
}

/// Gives floating results the dtypes that are recorded of them.
pub(super) fn retype(graph: &Graph, node: &Node, results: &mut Values) {
    for (place, value) in places(node).zip(results.iter_mut()) {
        if let (Some(Meta::Tensor(recorded)), Value::Tensor(t)) = (place.map(|id| graph.meta(id)), &*value)
            && t.dtype.is_float()
            && recorded.dtype.is_float()
        {
            *value = t.with_dtype(recorded.dtype).into();
        }
    }
}

/// Which value each result of a node becomes, if any.
fn places(node: &Node) -> impl Iterator<Item = Option<ValueId>> {
    node.outputs.iter().flat_map(|output| {
        let (one, many) = match output {
            Output::Value(id) => (Some(Some(*id)), &[] as &[Option<ValueId>]),
            Output::List(ids) => (None, ids.as_slice()),
            Output::None | Output::Constant(_) => (Some(None), &[] as &[_]),
        };
        one.into_iter().chain(many.iter().copied())
    })
}
