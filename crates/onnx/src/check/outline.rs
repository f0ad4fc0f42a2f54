//! The main graph of a model, for pages: its nodes with the shapes of their results, and where they come from.
use super::shapes::{Shapes, info};
use sizewise_check::report::{CodeLine, GraphView, NodeView, ValueView};
use sizewise_ir::Provenance;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::read::message::NodeProto;
use sizewise_onnx_model::walk::inputs;

/// The main graph with its shapes.
pub fn outline(model: &Model, shapes: &Shapes) -> GraphView {
    let view = |name: &String| {
        let info = info(name, shapes.values.get(name));
        ValueView { name: info.name, kind: info.dtype, sizes: info.shape, value: None }
    };
    let named = |names: &[String]| names.iter().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>();
    let node = |node: &NodeProto| {
        let origin = origin(node);
        let location = origin.location();
        NodeView {
            name: match node.name.as_str() {
                "" => node.output.first().cloned().unwrap_or_default(),
                name => name.to_owned(),
            },
            op: node.op_type.clone(),
            depth: 0,
            uses: named(&node.input),
            values: named(&node.output).iter().map(view).collect(),
            location: location.map(|line| line.to_string()),
            code: location.map(|line| line.code.to_owned()).filter(|code| !code.is_empty()),
            module: module(node),
            place: location.as_ref().map(CodeLine::of),
        }
    };
    GraphView {
        inputs: inputs(model).iter().map(|input| view(&input.name)).collect(),
        nodes: model.graph.node.iter().map(node).collect(),
        outputs: model.graph.output.iter().map(|output| output.name.clone()).collect(),
        state: model.graph.initializer.iter().map(|tensor| view(&tensor.name)).collect(),
        inner: Vec::new(),
    }
}

/// Where a node comes from, as torch's exporter writes it.
pub(super) fn origin(node: &NodeProto) -> Provenance {
    let stack_trace = entry(node, "pkg.torch.onnx.stack_trace").map(Into::into);
    Provenance { stack_trace, ..Provenance::default() }
}

fn entry<'n>(node: &'n NodeProto, key: &str) -> Option<&'n str> {
    node.metadata_props.iter().find(|entry| entry.key == key).map(|entry| entry.value.as_str())
}

/// The module around a node: torch's exporter lists the names on the way to it, `['', 'encoder', 'linear']`; its older
/// one writes them in the node's name, `/encoder/linear/MatMul`.
pub(super) fn module(node: &NodeProto) -> Option<String> {
    let path = match entry(node, "pkg.torch.onnx.name_scopes") {
        Some(list) => {
            let names = list.trim_start_matches('[').trim_end_matches(']').split(", ");
            let names: Vec<&str> = names.map(|name| name.trim_matches(['\'', '"'])).collect();
            (*names.get(names.len().checked_sub(2)?)?).to_owned()
        }
        None => node.name.strip_prefix('/')?.rsplit_once('/')?.0.replace('/', "."),
    };
    (!path.is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::module;
    use sizewise_onnx_model::read::message::{NodeProto, StringStringEntryProto};

    #[test]
    fn modules_stand_in_metadata_or_in_names() {
        for (name, scopes, expected) in [
            ("", Some("['', 'encoder', 'encoder.l', 'linear']"), Some("encoder.l")),
            ("/a/b/MatMul", Some("['', 'linear']"), None),
            ("n", Some("[]"), None),
            ("/encoder/layer.0/MatMul", None, Some("encoder.layer.0")),
            ("/MatMul", None, None),
            ("MatMul_3", None, None),
        ] {
            let entry = |text: &str| StringStringEntryProto {
                key: "pkg.torch.onnx.name_scopes".to_owned(),
                value: text.to_owned(),
            };
            let node = NodeProto {
                name: name.to_owned(),
                metadata_props: scopes.map(entry).into_iter().collect(),
                ..NodeProto::default()
            };
            assert_eq!(module(&node).as_deref(), expected, "{name} {scopes:?}");
        }
    }
}
