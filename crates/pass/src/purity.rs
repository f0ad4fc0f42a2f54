//! Which calls may be left out, or made once where they are made twice.
use sizewise_ir::schema::{SchemaTable, Tags};
use sizewise_ir::{Graph, Node, TargetKind};

/// Functions of torch on numbers, without an effect.
const TORCH_NUMBERS: [&str; 8] =
    ["sym_int", "sym_float", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"];

/// Whether a call is arithmetic on numbers in Python.
pub(super) fn is_arithmetic(node: &Node) -> bool {
    match node.target.kind() {
        TargetKind::Python { module, function } => match &**module {
            "_operator" | "math" => true,
            "torch" => TORCH_NUMBERS.contains(&function.trim_start_matches("_")),
            _ => false,
        },
        _ => false,
    }
}

/// The tags of an operator that writes nothing; `None` where it writes, returns nothing or is not known.
fn functional(node: &Node) -> Option<Tags> {
    let overload = SchemaTable::global().find(&node.target.to_string())?;
    let schema = overload.schema().ok()?;
    let writes = schema.args.iter().any(|argument| argument.is_written());
    (!writes && !schema.returns.is_empty()).then(|| overload.tags())
}

/// Whether nothing but the results shows that a call was made, and no new symbol stems from it.
pub(super) fn is_pure(node: &Node) -> bool {
    is_arithmetic(node)
        || functional(node).is_some_and(|tags| {
            !tags.contains(Tags::NONDETERMINISTIC_SEEDED)
                && !tags.contains(Tags::DATA_DEPENDENT_OUTPUT)
                && !tags.contains(Tags::DYNAMIC_OUTPUT_SHAPE)
        })
}

/// Whether equal calls give equal results.
pub(super) fn is_repeatable(node: &Node) -> bool {
    let uninitialised = node.target.op().is_some_and(|(_, op, _)| op.contains("empty"));
    is_pure(node) && !uninitialised
}

/// Whether a call may write its arguments: by its schema, or because nothing is known of it.
fn may_write(node: &Node) -> bool {
    match node.target.kind() {
        TargetKind::Op { .. } => match SchemaTable::global().get(&node.target.to_string()) {
            Some(schema) => schema.args.iter().any(|argument| argument.is_written()),
            None => true,
        },
        TargetKind::HigherOrder(_) => node.subgraphs().iter().any(|inner| writes(&inner.graph)),
        TargetKind::Python { .. } | TargetKind::Extension { .. } => false,
    }
}

/// Whether a graph may write tensors, so that equal tensors are not the same.
pub(super) fn writes(graph: &Graph) -> bool {
    graph.nodes().iter().any(may_write)
}
