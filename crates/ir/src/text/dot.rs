//! Writes graphs in the DOT language.

use std::fmt::Write;

use super::flow::{Statement, statements};
use super::input_names::input_names;
use super::{Detail, annotation};
use crate::{Graph, GraphInput, Program, ValueId};
use sizewise_expr::escape::{self, visible};

/// Writes the program's graph with the graphs within as clusters; for Graphviz.
pub fn write_dot(program: &Program) -> String {
    let mut text = String::from("digraph program {\n    node [shape=box, fontname=\"monospace\"];\n");
    write(program, &program.graph, "", 1, &mut text);
    text.push_str("}\n");
    text
}

/// A string of DOT, in which line breaks are the only hidden characters.
fn quoted(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| visible(line).into_owned()).collect();
    escape::quoted(&lines.join("\n"), '"')
}

/// A name as part of a string: names that differ stay different.
fn shown(name: &str) -> String {
    visible(&name.replace('\\', "\\\\")).into_owned()
}

fn write(program: &Program, graph: &Graph, scope: &str, level: usize, text: &mut String) {
    let indent = "    ".repeat(level);
    let id = |name: &str| quoted(&format!("{scope}{}", shown(name)));
    let shape = |value: Option<ValueId>| {
        let meta = value.map(|value| graph.meta(value));
        meta.and_then(|meta| annotation::write(meta, &program.exprs, Detail::Short))
    };
    let mut node = |name: &str, label: &str, value: Option<ValueId>, style: &str| {
        let shape = shape(value).map_or_else(String::new, |shape| format!("\n{shape}"));
        let label = quoted(&format!("{}\n{}{shape}", visible(name), visible(label)));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{indent}{} [label={label}{style}];", id(name));
    };
    for (name, input) in input_names(program, graph, scope.is_empty()).iter().zip(graph.inputs()) {
        let value = match input {
            GraphInput::Value(value) => Some(*value),
            GraphInput::Constant(_) => None,
        };
        node(name, "input", value, ", style=rounded");
    }
    let list = statements(graph, Detail::Short);
    for statement in &list {
        match statement {
            Statement::Fetch(_) => {}
            Statement::Call { node: call, name, value } => node(name, &call.target.to_string(), *value, ""),
            Statement::Item { name, index, value, .. } => node(name, &format!("[{index}]"), *value, ""),
        }
    }
    node("output", "output", None, ", style=rounded");
    for statement in list.iter().filter(|statement| !matches!(statement, Statement::Fetch(_))) {
        for used in statement.uses(graph) {
            let fetched = list.iter().any(|other| matches!(other, Statement::Fetch(name) if *name == used));
            if !fetched {
                let _ = writeln!(text, "{indent}{} -> {};", id(&used), id(statement.name()));
            }
        }
    }
    for output in graph.outputs() {
        output.for_each_value(&mut |value| {
            let _ = writeln!(text, "{indent}{} -> {};", id(graph.name(value)), id("output"));
        });
    }
    for call in graph.nodes() {
        for subgraph in call.subgraphs() {
            let inner = format!("{scope}{}.", shown(&subgraph.name));
            let _ = writeln!(text, "{indent}subgraph {} {{", quoted(&format!("cluster_{inner}")));
            let _ = writeln!(text, "{indent}    label={};", quoted(&shown(&subgraph.name)));
            write(program, &subgraph.graph, &inner, level + 1, text);
            let _ = writeln!(text, "{indent}}}");
        }
    }
}
