//! Models as graphs for Graphviz.
use crate::check::{Shapes, ShownSize};
use rustc_hash::FxHashMap;
use sizewise_onnx_model::read::message::{GraphProto, NodeProto};
use std::fmt::Write;

/// A text within quotes. Line breaks and characters that do not show are left out.
fn quoted(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control());
    let escaped = shown.flat_map(|c| matches!(c, '"' | '\\').then_some('\\').into_iter().chain([c]));
    format!("\"{}\"", escaped.collect::<String>())
}

/// The type and the sizes of a value: `f32[N, 4]`.
fn shape(shapes: &Shapes, name: &str) -> String {
    let Some(shown) = shapes.values.get(name) else { return String::new() };
    let size = |size: &ShownSize| match size {
        ShownSize::Number(number) => number.to_string(),
        ShownSize::Text(text) => text.to_string(),
        ShownSize::Open(..) => "?".to_owned(),
    };
    let dtype = shown.dtype.map_or("", |dtype| dtype.name());
    match &shown.shape {
        Some(sizes) => format!("{dtype}[{}]", sizes.iter().map(size).collect::<Vec<_>>().join(", ")),
        None => dtype.to_owned(),
    }
}

/// A graph for Graphviz: nodes with their operators, and edges with the shapes of values. Weights are left out.
pub fn dot(graph: &GraphProto, shapes: &Shapes) -> String {
    let mut out = String::from("digraph {\n  node [shape=box];\n");
    // What makes each value.
    let mut makers: FxHashMap<&str, String> = FxHashMap::default();
    let weights: Vec<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    let inputs = graph.input.iter().filter(|input| !weights.contains(&input.name.as_str()));
    for (at, input) in inputs.enumerate() {
        let _ = writeln!(out, "  i{at} [shape=oval, label={}];", quoted(&input.name));
        makers.insert(&input.name, format!("i{at}"));
    }
    let label = |node: &NodeProto| match node.name.as_str() {
        "" => node.op_type.clone(),
        name => format!("{} {name}", node.op_type),
    };
    for (at, node) in graph.node.iter().enumerate() {
        let _ = writeln!(out, "  n{at} [label={}];", quoted(&label(node)));
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            makers.insert(output, format!("n{at}"));
        }
    }
    let mut edge = |from: &str, to: String| {
        if let Some(maker) = makers.get(from) {
            let _ = writeln!(out, "  {maker} -> {to} [label={}];", quoted(&shape(shapes, from)));
        }
    };
    for (at, node) in graph.node.iter().enumerate() {
        node.input.iter().for_each(|input| edge(input, format!("n{at}")));
    }
    for (at, output) in graph.output.iter().enumerate() {
        edge(&output.name, format!("o{at}"));
    }
    for (at, output) in graph.output.iter().enumerate() {
        let _ = writeln!(out, "  o{at} [shape=oval, label={}];", quoted(&output.name));
    }
    out.push_str("}\n");
    out
}
