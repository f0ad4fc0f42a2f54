//! What a node says of where it comes from, under the keys that torch's own exporter uses.
//!
//! Source: `torch/onnx/_internal/exporter/_core.py` (`_set_node_metadata`). The line of the model's source is `source` beside them.

use super::proto::StringStringEntryProto;
use sizewise_expr::escape::python_string;
use sizewise_ir::Node;

fn entry(key: &str, value: String) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.to_owned()), value: Some(value) }
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| python_string(item)).collect();
    format!("[{}]", items.join(", "))
}

/// The entries for a node.
pub(super) fn of(node: &Node) -> Vec<StringStringEntryProto> {
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
    ];
    if let Some(trace) = &node.provenance.stack_trace {
        entries.push(entry("pkg.torch.onnx.stack_trace", trace.to_string()));
    }
    if let Some(location) = node.provenance.location() {
        entries.push(entry("source", format!("{}:{}", location.file, location.line)));
    }
    entries
}
