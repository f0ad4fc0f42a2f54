//! Writes graphs as `str(graph)` does.

use std::fmt::Write;

use super::checked::{TextReader, checked, parameter_text};
use super::flow::{Statement, statements, uses};
use super::input_names::input_names;
use super::readable::{returned, target_text};
use super::show::{Shower, Style};
use super::{Detail, annotation};
use crate::{Graph, GraphInput, Input, Node, PassedAs, Program, ValueId};

/// Writes the program's graph, and the graphs within behind it.
pub fn write_fx(program: &Program, detail: Detail) -> String {
    let checked = checked(program, TextReader::Text);
    let mut text = format!("graph():\n{}", checked.comments("    "));
    write(&checked.program, &checked.program.graph, "", detail, &mut text);
    text
}

fn write(program: &Program, graph: &Graph, scope: &str, detail: Detail, text: &mut String) {
    body(program, graph, scope.is_empty(), detail, text);
    let mut written = rustc_hash::FxHashSet::default();
    for node in graph.nodes() {
        for subgraph in node.subgraphs() {
            if written.insert(&subgraph.name) {
                let dot = if scope.is_empty() { "" } else { "." };
                let scope = format!("{scope}{dot}{}", subgraph.name);
                // Writing to a string cannot fail.
                let _ = writeln!(text, "\ngraph {scope}():");
                write(program, &subgraph.graph, &scope, detail, text);
            }
        }
    }
}

fn kind(program: &Program, graph: &Graph, value: Option<ValueId>, detail: Detail) -> String {
    let meta = value.map(|value| graph.meta(value));
    match meta
        .and_then(|meta| annotation::write_quoted(meta, &program.exprs, detail).map(|text| (meta, text)))
    {
        Some((meta, text)) if meta.tensor().is_some() => format!("Tensor {text} "),
        Some((_, text)) => format!("{text} "),
        None => String::new(),
    }
}

fn call_text(node: &Node, graph: &Graph) -> String {
    let shower = Shower { graph, style: Style::Fx, functions: None };
    let (keyword, positional): (Vec<&Input>, Vec<&Input>) =
        node.inputs.iter().partition(|input| input.passed_as == PassedAs::Keyword);
    let positional: Vec<String> = positional.iter().map(|input| shower.argument(&input.arg)).collect();
    let keyword: Vec<String> = keyword
        .iter()
        .map(|input| format!("{}: {}", parameter_text(&input.name), shower.argument(&input.arg)))
        .collect();
    let comma = if positional.len() == 1 { "," } else { "" };
    let target = target_text(node);
    format!(
        "call_function[target={target}](args = ({}{comma}), kwargs = {{{}}})",
        positional.join(", "),
        keyword.join(", ")
    )
}

/// The nodes of a graph as FX prints each:
/// `%y : [num_users=2] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})`.
pub fn node_lines(graph: &Graph) -> Vec<String> {
    let list = statements(graph, Detail::Short);
    let uses = uses(graph, &list);
    let line = |statement: &Statement<'_>| match statement {
        Statement::Call { node, name, .. } => {
            let users = uses.count.get(name).copied().unwrap_or(0);
            Some(format!("%{name} : [num_users={users}] = {}", call_text(node, graph)))
        }
        Statement::Fetch(_) | Statement::Item { .. } => None,
    };
    list.iter().filter_map(line).collect()
}

fn body(program: &Program, graph: &Graph, whole: bool, detail: Detail, text: &mut String) {
    let list = statements(graph, detail);
    let uses = uses(graph, &list);
    let users = |name: &str| uses.count.get(name).copied().unwrap_or(0);
    for (name, input) in input_names(program, graph, whole).iter().zip(graph.inputs()) {
        let kind = match input {
            GraphInput::Value(value) => kind(program, graph, Some(*value), detail),
            GraphInput::Constant(constant) => {
                format!("{} ", sizewise_expr::escape::python_string(&annotation::write_constant(constant)))
            }
        };
        let _ =
            writeln!(text, "    %{name} : {kind}[num_users={}] = placeholder[target={name}]", users(name));
    }
    for statement in &list {
        let (value, right) = match statement {
            Statement::Fetch(name) => (None, format!("get_attr[target={name}]")),
            Statement::Call { node, value, .. } => (*value, call_text(node, graph)),
            Statement::Item { from, index, value, .. } => {
                let target = "call_function[target=operator.getitem]";
                (*value, format!("{target}(args = (%{from}, {index}), kwargs = {{}})"))
            }
        };
        let name = statement.name();
        let kind = kind(program, graph, value, detail);
        let _ = writeln!(text, "    %{name} : {kind}[num_users={}] = {right}", users(name));
    }
    let _ = writeln!(text, "    return {}", returned(graph));
}
