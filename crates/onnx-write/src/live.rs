//! Which nodes are written.
use sizewise_ir::schema::SchemaTable;
use sizewise_ir::{Graph, Node, TargetKind, ValueId};

/// Operators that only refuse: ONNX has no assertions, so they are left out.
const ASSERTIONS: &[&str] = &[
    "_assert_scalar",
    "_assert_async",
    "_assert_tensor_metadata",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "_functional_assert_scalar",
    "_functional_assert_async",
    "_functional_sym_constrain_range",
    "_functional_sym_constrain_range_for_size",
];

/// Whether a node only refuses.
pub(super) fn is_assertion(node: &Node) -> bool {
    match node.target.kind() {
        TargetKind::Op { namespace, op, .. } => &**namespace == "aten" && ASSERTIONS.contains(&&**op),
        TargetKind::Python { module, function } => {
            &**module == "torch" && function.starts_with("_check") || &**function == "_assert"
        }
        _ => false,
    }
}

/// Whether nothing but the results shows that a node is there.
fn is_pure(node: &Node) -> bool {
    match node.target.kind() {
        TargetKind::Op { .. } => SchemaTable::global().get(&node.target.to_string()).is_some_and(|schema| {
            !schema.returns.is_empty() && !schema.args.iter().any(|argument| argument.is_written())
        }),
        TargetKind::Python { function, .. } => !function.contains("autocast"),
        TargetKind::HigherOrder(_) => {
            node.subgraphs().iter().all(|inner| inner.graph.nodes().iter().all(is_pure))
        }
        TargetKind::Extension { .. } => false,
    }
}

/// The nodes that are written: not those that only refuse, nor those whose results nothing uses.
pub(super) fn live(graph: &Graph) -> Vec<bool> {
    let mut used = vec![false; graph.value_count()];
    graph.outputs().iter().for_each(|output| output.for_each_value(&mut |id| used[id.index()] = true));
    let mut live = vec![false; graph.nodes().len()];
    for (index, node) in graph.nodes().iter().enumerate().rev() {
        live[index] =
            !is_assertion(node) && (!is_pure(node) || node.output_values().any(|id| used[id.index()]));
        if live[index] {
            node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut |id| used[id.index()] = true));
        }
    }
    live
}

/// Whether a node or an output uses a value.
pub(super) fn is_used(graph: &Graph, wanted: ValueId) -> bool {
    let mut returned = false;
    graph.outputs().iter().for_each(|output| output.for_each_value(&mut |id| returned |= id == wanted));
    returned || graph.value_users(wanted).next().is_some()
}
