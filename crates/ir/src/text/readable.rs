//! Writes programs as `print_readable` and `ExportedProgram` do: Python with annotations.

use std::fmt::Write;

use super::checked::{TextReader, checked, is_parameter};
use super::flow::{Statement, Uses, statements, uses};
use super::input_names::input_names;
use super::names::{Notation, notation};
use super::show::{Shower, Style};
use super::{Detail, annotation, sections};
use crate::{Functions, Graph, GraphInput, Input, Node, PassedAs, Program, Subgraph, TargetKind, ValueId};
use sizewise_expr::escape::{python_string, visible};

/// Writes the whole program: its graph, the graphs within, the signature and the ranges.
pub fn write_readable(program: &Program, detail: Detail) -> String {
    let checked = checked(program, TextReader::Text);
    let program = &*checked.program;
    let mut text = format!("ExportedProgram:\n{}", checked.comments("    "));
    let class = Class { program, detail, annotate: true, functions: None };
    class.write(&program.graph, "GraphModule", 1, true, &mut text);
    text.push_str(&sections::write(program));
    text
}

/// Writes graphs as classes.
pub(super) struct Class<'p> {
    pub program: &'p Program,
    pub detail: Detail,
    pub annotate: bool,
    /// Functions that stand for the graphs within, instead of attributes.
    pub functions: Option<&'p Functions<'p>>,
}

/// What a graph returns; names stand without `%` in either form.
pub(super) fn returned(graph: &Graph) -> String {
    let shower = Shower { graph, style: Style::Python, functions: None };
    let items: Vec<String> = graph
        .outputs()
        .iter()
        .map(|output| match output.value() {
            Some(value) => graph.name(value).to_string(),
            None => shower.argument(output),
        })
        .collect();
    match items.as_slice() {
        [only] if graph.single_tensor_return() => only.clone(),
        [only] => format!("({only},)"),
        _ => format!("({})", items.join(", ")),
    }
}

/// A call's target and arguments in Python.
fn call_text(node: &Node, graph: &Graph, functions: Option<&Functions<'_>>, reader: TextReader) -> String {
    let shower = Shower { graph, style: Style::Python, functions };
    if let TargetKind::Python { module, function } = node.target.kind()
        && &**module == "_operator"
    {
        let arguments: Vec<String> = node.inputs.iter().map(|input| shower.argument(&input.arg)).collect();
        match (notation(function), arguments.as_slice()) {
            (Some(Notation::Infix(symbol)), [a, b]) => return format!("{a} {symbol} {b}"),
            (Some(Notation::Prefix(symbol)), [a]) => return format!("{symbol}{a}"),
            _ => {}
        }
    }
    let argument = |input: &Input| match input.passed_as {
        PassedAs::Keyword if is_parameter(&input.name, reader) => {
            format!("{} = {}", input.name, shower.argument(&input.arg))
        }
        PassedAs::Keyword => {
            format!("**{{{}: {}}}", python_string(&input.name), shower.argument(&input.arg))
        }
        _ => shower.argument(&input.arg),
    };
    let (keyword, positional): (Vec<&Input>, Vec<&Input>) =
        node.inputs.iter().partition(|input| input.passed_as == PassedAs::Keyword);
    let arguments: Vec<String> = positional.into_iter().chain(keyword).map(argument).collect();
    format!("{}({})", target_text(node), arguments.join(", "))
}

/// A target as Python's text names it.
pub(super) fn target_text(node: &Node) -> String {
    let name = node.target.qualified_name();
    match name.strip_prefix("_operator.") {
        Some(function) => format!("operator.{function}"),
        None => name,
    }
}

impl Class<'_> {
    /// What reads the text: Python, where it is without annotations.
    fn reader(&self) -> TextReader {
        if self.annotate { TextReader::Text } else { TextReader::Python }
    }

    fn annotation(&self, graph: &Graph, value: Option<ValueId>) -> String {
        let meta = value.filter(|_| self.annotate).map(|value| graph.meta(value));
        match meta.and_then(|meta| annotation::write_quoted(meta, &self.program.exprs, self.detail)) {
            Some(text) => format!(": {text}"),
            None => String::new(),
        }
    }

    /// The parameters behind `self`, each with a comma before it.
    pub fn parameters(&self, graph: &Graph, whole: bool) -> String {
        let names = input_names(self.program, graph, whole);
        let mut text = String::new();
        for (name, input) in names.iter().zip(graph.inputs()) {
            let annotation = match input {
                GraphInput::Value(value) => self.annotation(graph, Some(*value)),
                GraphInput::Constant(_) if !self.annotate => String::new(),
                GraphInput::Constant(constant) => {
                    format!(": {}", python_string(&annotation::write_constant(constant)))
                }
            };
            let _ = write!(text, ", {name}{annotation}");
        }
        text
    }

    /// Writes a graph and the graphs within, `level` levels in.
    pub fn write(&self, graph: &Graph, name: &str, level: usize, whole: bool, text: &mut String) {
        let (outer, inner) = ("    ".repeat(level), "    ".repeat(level + 1));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{outer}class {name}(torch.nn.Module):");
        let mut names = rustc_hash::FxHashSet::default();
        let graphs: Vec<&Subgraph> = graph
            .nodes()
            .iter()
            .flat_map(|node| node.subgraphs())
            .map(|subgraph| &**subgraph)
            .filter(|subgraph| names.insert(&*subgraph.name))
            .collect();
        // Python runs the text: a graph within is an attribute, which a class of the same name would hide.
        let class = |graph: &Subgraph| match self.annotate {
            true => graph.name.to_string(),
            false => class_name(&graph.name, &names),
        };
        if !self.annotate && !graphs.is_empty() {
            let _ = writeln!(text, "{inner}def __init__(self):\n{inner}    super().__init__()");
            for graph in &graphs {
                let _ = writeln!(text, "{inner}    self.{} = self.{}()", graph.name, class(graph));
            }
            text.push('\n');
        }
        let _ = writeln!(text, "{inner}def forward(self{}):", self.parameters(graph, whole));
        self.body(graph, level + 2, text);
        for graph in graphs {
            text.push('\n');
            self.write(&graph.graph, &class(graph), level + 1, false, text);
        }
    }

    /// Writes the statements of a graph.
    pub fn body(&self, graph: &Graph, level: usize, text: &mut String) {
        let indent = "    ".repeat(level);
        let list = statements(graph, self.detail);
        let uses = uses(graph, &list);
        let mut source: Option<String> = None;
        for (at, statement) in list.iter().enumerate() {
            if self.functions.is_some() && matches!(statement, Statement::Fetch(_)) {
                continue;
            }
            if let Statement::Call { node, .. } = statement {
                let location = node.provenance.location();
                let line = location.map(|place| {
                    let code: String = place.code.chars().take(200).collect();
                    let (file, function) = (visible(place.file), visible(place.function));
                    format!("# File: {file}:{} in {function}, code: {}", place.line, visible(&code))
                });
                if line.is_some() && line != source {
                    let _ = writeln!(text, "{indent}{}", line.as_deref().unwrap_or_default());
                    source = line;
                }
            }
            let (value, right) = match statement {
                Statement::Fetch(name) => (None, format!("self.{name}")),
                Statement::Call { node, value, .. } => {
                    (*value, call_text(node, graph, self.functions, self.reader()))
                }
                Statement::Item { from, index, value, .. } => (*value, format!("{from}[{index}]")),
            };
            let annotation = self.annotation(graph, value);
            let freed = match self.functions {
                Some(_) => String::new(),
                None => freed(statement, at, graph, &uses),
            };
            let _ = writeln!(text, "{indent}{}{annotation} = {right}{freed}", statement.name());
        }
        let _ = writeln!(text, "{indent}return {}", returned(graph));
    }
}

/// What the class of a graph within is called: as no graph is.
fn class_name(name: &str, names: &rustc_hash::FxHashSet<&str>) -> String {
    let mut class = format!("{name}_class");
    while names.contains(class.as_str()) {
        class.push('_');
    }
    class
}

/// The names that a statement is the last to use: `;  x = y = None`.
fn freed(statement: &Statement<'_>, at: usize, graph: &Graph, uses: &Uses) -> String {
    let mut names = statement.uses(graph);
    names.retain(|name| uses.last.get(name) == Some(&at));
    if !uses.last.contains_key(statement.name()) {
        names.push(statement.name().to_owned());
    }
    let mut told = rustc_hash::FxHashSet::default();
    names.retain(|name| told.insert(name.clone()));
    if names.is_empty() { String::new() } else { format!(";  {} = None", names.join(" = ")) }
}
