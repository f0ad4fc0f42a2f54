//! What a node says of where it comes from, under the keys that torch's own exporter uses.
//!
//! Source: `torch/onnx/_internal/exporter/_core.py` (`_set_node_metadata`). The line of the model's source is
//! `source` beside them.

use super::live::is_assertion;
use super::proto::StringStringEntryProto;
use crate::read::CONDITIONS;
use indexmap::IndexSet;
use sizewise_expr::escape::python_string;
use sizewise_ir::{Argument, InputSpec, Meta, Node, Operand, Program, Sym, text};

fn entry(key: &str, value: String) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) }
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| python_string(item)).collect();
    format!("[{}]", items.join(", "))
}

/// The entries for the values of a state: what it is, and of a buffer whether the archive keeps it.
pub(super) fn of_state(spec: &InputSpec) -> Vec<StringStringEntryProto> {
    let of = |field: &str, value: &str| {
        entry(&format!("pkg.torch.export.graph_signature.InputSpec.{field}"), value.to_owned())
    };
    match spec {
        InputSpec::Parameter { .. } => vec![of("kind", "PARAMETER")],
        InputSpec::Buffer { persistent, .. } => {
            vec![of("kind", "BUFFER"), of("persistent", if *persistent { "True" } else { "False" })]
        }
        InputSpec::TensorConstant { .. } => vec![of("kind", "CONSTANT_TENSOR")],
        _ => Vec::new(),
    }
}

/// The conditions that a program asserts on every run or was exported with, as Python. Those of graphs within hold on
/// some runs only.
fn conditions(program: &Program) -> Vec<String> {
    let asserted = |node: &Node| -> Option<String> {
        let Some(Argument::SymBool(Operand::Value(id))) = node.inputs.first().map(|input| input.arg.clone())
        else {
            return None;
        };
        let Meta::SymBool(Sym::Expr(condition)) = program.graph.meta(id) else { return None };
        Some(text::expression_text(&program.exprs.get(*condition)?.text))
    };
    let assertions = program.graph.nodes().iter().filter(|node| is_assertion(node));
    let guards = program.guards_code.iter().map(|guard| guard.to_string());
    let unique: IndexSet<String> = assertions.filter_map(asserted).chain(guards).collect();
    unique.into_iter().collect()
}

/// The entries for a function: the identifier under which `invoke_subgraph` knows its graph.
///
/// Source: `torch/onnx/_internal/exporter/_torchlib/ops/hop.py` (`higher_order_invoke_subgraph`).
pub(super) fn of_function(identifier: Option<&str>) -> Vec<StringStringEntryProto> {
    let key = "pkg.torch.ops.higher_order.invoke_subgraph.identifier";
    identifier.map(|identifier| entry(key, identifier.to_owned())).into_iter().collect()
}

/// The entry for an input or output that was renamed.
pub(super) fn of_renamed(name: &str) -> StringStringEntryProto {
    entry("pkg.torch.onnx.original_node_name", name.to_owned())
}

/// The entries for a model: the version of torch, the signature, the ranges and the conditions of the program.
pub(super) fn of_program(program: &Program) -> Vec<StringStringEntryProto> {
    let version = (!program.torch_version.is_empty()).then(|| program.torch_version.to_string());
    let mut entries: Vec<_> = version.map(|version| entry("torch_version", version)).into_iter().collect();
    let text = text::write_signature_and_ranges(program);
    let key = |field: &str| format!("pkg.torch.export.ExportedProgram.{field}");
    let (signature, ranges) = text.split_once("Range constraints: ").unwrap_or((&text, ""));
    let signature = signature.trim_start_matches("Graph signature:").trim_matches('\n');
    entries.push(entry(&key("graph_signature"), signature.to_owned()));
    entries.push(entry(&key("range_constraints"), ranges.trim_end().to_owned()));
    let conditions = conditions(program);
    if !conditions.is_empty() {
        entries.push(entry(CONDITIONS, conditions.join("\n")));
    }
    entries
}

/// The entries for a node, which FX prints as `line`.
pub(super) fn of(node: &Node, line: String) -> Vec<StringStringEntryProto> {
    let target = node.target.to_string();
    let (mut names, mut classes, mut scopes) = (Vec::new(), Vec::new(), Vec::new());
    for module in node.provenance.modules() {
        scopes.push(format!("{}: {}", module.path, module.class));
        names.push(module.path.to_owned());
        classes.push(module.class.to_owned());
    }
    scopes.push(format!("{}: {target}", node.name));
    names.push(node.name.to_string());
    classes.push(target);
    let mut entries = vec![
        entry("namespace", scopes.join("/")),
        entry("pkg.torch.onnx.class_hierarchy", list(&classes)),
        entry("pkg.torch.onnx.name_scopes", list(&names)),
        entry("pkg.torch.onnx.fx_node", line),
    ];
    if let Some(trace) = &node.provenance.stack_trace {
        entries.push(entry("pkg.torch.onnx.stack_trace", trace.to_string()));
    }
    if let Some(location) = node.provenance.location() {
        entries.push(entry("source", format!("{}:{}", location.file, location.line)));
    }
    entries
}
