//! Records: what the program says of its values, its ranges and the structure of its call.
use super::graphs::{Checks, ScopedGraph};
use super::rule::Rule;
use super::violation::Violation;
use sizewise_expr::escape::abridged;
use sizewise_expr::{Pool, read};
use sizewise_ir::{Layout, Meta, Sym, TensorMeta};

/// Checks records.
pub(super) fn check(checks: &mut Checks<'_>) {
    let graphs = std::sync::Arc::clone(&checks.graphs);
    for graph in graphs.iter() {
        for (_, name, value) in graph.graph.values() {
            if let Meta::Tensor(meta) = &value.meta {
                tensor(checks, graph, name, meta);
            }
        }
    }
    expressions(checks);
    structure(checks);
    for (name, bounds) in &checks.program.range_constraints {
        if let (Some(min), Some(max)) = (bounds.min, bounds.max)
            && min > max
        {
            let message = format!("`{name}` is to be at least {min} and at most {max}");
            checks.found.push(Violation::new(Rule::RangeOrder, message));
        }
    }
}

fn tensor(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, name: &str, meta: &TensorMeta) {
    let (sizes, strides) = (meta.sizes.len(), meta.strides.len());
    if meta.layout == Layout::Strided && sizes != strides {
        let message = format!("`{name}` has {sizes} sizes but {strides} strides");
        checks.report_at(Rule::MetadataStrides, &graph.scope, name, message);
    }
    let parts = [
        ("size", meta.sizes.as_slice()),
        ("stride", meta.strides.as_slice()),
        ("storage offset", std::slice::from_ref(&meta.storage_offset)),
    ];
    for (what, values) in parts {
        for value in values {
            if let Sym::Literal(value @ ..0) = value {
                let message = format!("`{name}` has a {what} of {value}");
                checks.report_at(Rule::MetadataSizes, &graph.scope, name, message);
            }
        }
    }
}

fn expressions(checks: &mut Checks<'_>) {
    for expr in checks.program.exprs.iter() {
        // A pool for each, so that thousands of expressions do not pile up.
        if let Err(error) = read::closed(&mut Pool::new(), &expr.text) {
            let text: String = expr.text.chars().take(80).collect();
            let message = format!("`{}` cannot be read: {error}", abridged(&text));
            checks.found.push(Violation::new(Rule::MetadataExpressions, message));
        }
    }
}

fn structure(checks: &mut Checks<'_>) {
    let Some(call) = checks.program.call_signature() else { return };
    let signature = &checks.program.signature;
    let inputs = signature.inputs.iter().filter(|input| input.is_user_input()).count();
    let outputs = signature.outputs.iter().filter(|output| output.is_user_output()).count();
    for (what, tree, graph) in
        [("arguments", call.in_spec.leaf_count(), inputs), ("result", call.out_spec.leaf_count(), outputs)]
    {
        if tree != graph {
            let message = format!("the structure of the {what} has {tree} values but the signature {graph}");
            checks.found.push(Violation::new(Rule::CallStructure, message));
        }
    }
}
