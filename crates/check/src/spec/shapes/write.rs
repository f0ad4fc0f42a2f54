//! Writing a ShapesSpec as Python, to paste beside `torch.export.export`.
use super::given::as_given;
use super::{Node, Shapes, Variable, in_python};
use sizewise_expr::escape::python_string;
use sizewise_expr::text::read;
use sizewise_expr::{Expr, Pool, Symbol};
use sizewise_solve::requirements;
use std::fmt::Write;

/// Lists of conditions are at most this long where they are written on one line.
const WIDTH: usize = 90;

/// The text of a spec: imports, variables, and an assignment to `dynamic_shapes`.
pub(in crate::spec) fn write(shapes: &Shapes) -> String {
    let mut writer = ShapesWriter::new(shapes);
    let mut params = String::new();
    if let Node::Dict(fields) | Node::Map(fields) | Node::Object(fields) = &shapes.params {
        for (key, node) in fields {
            let value = writer.param(key, node);
            // Writing to a string cannot fail.
            let _ = writeln!(params, "        {}: {value},", python_string(key));
        }
    }
    let assumptions = writer.assumptions(shapes);
    let mut variables = String::new();
    for (key, variable) in &shapes.variables {
        let _ = writeln!(variables, "{key} = {}", declaration(key, variable, &shapes.params));
    }
    let body = match assumptions.join(", ") {
        none if none.is_empty() => String::new(),
        line if line.len() <= WIDTH => format!("    assumptions=[{line}],\n"),
        _ => {
            let lines: String = assumptions.iter().map(|text| format!("        {text},\n")).collect();
            format!("    assumptions=[\n{lines}    ],\n")
        }
    };
    let text = format!(
        "{variables}\ndynamic_shapes = ShapesSpec(\n    params=ParamsSpec({{\n{params}    }}),\n{body})\n"
    );
    imports(&text) + "\n" + &text
}

/// The imports that a text needs.
fn imports(text: &str) -> String {
    let classes =
        ["DictSpec", "IntVar", "ObjectSpec", "ParamsSpec", "SeqSpec", "ShapeVar", "ShapesSpec", "TensorSpec"];
    let used: Vec<&str> = classes.into_iter().filter(|class| text.contains(&format!("{class}("))).collect();
    let torch = if text.contains("torch.sym_") { "import torch\n" } else { "" };
    format!("{torch}from torch.fx.experimental.dynamic_spec import {}\n", used.join(", "))
}

/// The text of a spec in few lines.
pub(super) fn compact(shapes: &Shapes) -> String {
    let mut writer = ShapesWriter::new(shapes);
    let mut params = Vec::new();
    if let Node::Dict(fields) | Node::Map(fields) | Node::Object(fields) = &shapes.params {
        for (key, node) in fields {
            params.push(format!("{}: {}", python_string(key), writer.param(key, node)));
        }
    }
    let assumptions = writer.assumptions(shapes).join(", ");
    let declared = shapes
        .variables
        .iter()
        .map(|(key, variable)| format!("{key} = {}\n", declaration(key, variable, &shapes.params)));
    let declared: String = declared.collect();
    let spec = format!("{declared}dynamic_shapes = ShapesSpec({{{}}}", params.join(", "));
    let text = if assumptions.is_empty() {
        spec + ")"
    } else {
        format!("{spec},\n    assumptions=[{assumptions}])")
    };
    imports(&text) + &text
}

/// The assumptions of a spec as torch takes them.
pub(super) fn assumptions(shapes: &Shapes) -> Vec<String> {
    ShapesWriter::new(shapes).assumptions(shapes)
}

/// `ShapeVar("b", min=2, max=64)`.
pub(crate) fn declaration(key: &str, variable: &Variable, params: &Node) -> String {
    let is_size = variable.is_size.unwrap_or_else(|| is_size_in(params, key, false));
    let is_size = is_size && !variable.min.as_ref().is_some_and(|min| min.is_negative());
    let class = if is_size { "ShapeVar" } else { "IntVar" };
    let mut text = format!("{class}({}", python_string(variable.name.as_deref().unwrap_or(key)));
    let implied = |min: &&sizewise_expr::Int| is_size && min.is_zero();
    if let Some(min) = variable.min.as_ref().filter(|min| !implied(min)) {
        let _ = write!(text, ", min={min}");
    }
    if let Some(max) = &variable.max {
        let _ = write!(text, ", max={max}");
    }
    if let Some(hint) = &variable.hint {
        let _ = write!(text, ", optimization_hint={hint}");
    }
    text + ")"
}

/// Whether a variable is the size of a dimension.
fn is_size_in(node: &Node, key: &str, in_list: bool) -> bool {
    match node {
        Node::Expr(text) => in_list && text == key,
        Node::Tensor(items) => items.iter().any(|item| is_size_in(item, key, true)),
        Node::List(items) => items.iter().any(|item| is_size_in(item, key, items.iter().all(Node::is_leaf))),
        Node::Seq(items) => items.iter().any(|item| is_size_in(item, key, false)),
        Node::Dict(fields) | Node::Object(fields) | Node::Map(fields) => {
            fields.values().any(|node| is_size_in(node, key, false))
        }
        Node::Static | Node::Size(_) => false,
    }
}

struct ShapesWriter<'s> {
    shapes: &'s Shapes,
    pool: Pool,
    /// Divisors that are not zero, where the written form divides no more.
    more: Vec<String>,
}

impl<'s> ShapesWriter<'s> {
    fn new(shapes: &'s Shapes) -> ShapesWriter<'s> {
        ShapesWriter { shapes, pool: Pool::new(), more: Vec::new() }
    }

    /// The assumptions, and what was lost of the expressions written so far.
    fn assumptions(&mut self, shapes: &Shapes) -> Vec<String> {
        let written: Vec<String> = shapes.assumptions.iter().map(|text| self.expression(text)).collect();
        let mut kept: Vec<String> = Vec::new();
        for mut text in written.into_iter().chain(std::mem::take(&mut self.more)) {
            // torch takes conditions on variables only: one that never holds.
            if let ("False", Some(any)) = (text.as_str(), shapes.variables.keys().next()) {
                text = format!("{any} < {any}");
            }
            if text != "True" && !kept.contains(&text) {
                kept.push(text);
            }
        }
        kept
    }

    /// An expression as torch takes it: as it is given, if torch takes that.
    fn expression(&mut self, text: &str) -> String {
        if let Some(kept) = as_given(text, &|name| self.shapes.variables.contains_key(name)) {
            return kept;
        }
        let Ok(read) = read::closed(&mut self.pool, text) else { return text.to_owned() };
        let kept = requirements(&mut self.pool, &[read.expr]);
        let lost: Vec<Expr> =
            read.divisors.iter().map(|&divisor| self.pool.ne(divisor, Expr::ZERO)).collect();
        for condition in lost {
            if !kept.contains(&condition) && self.pool.as_bool(condition) != Some(true) {
                self.more.extend(self.written(condition));
            }
        }
        self.written(read.expr).unwrap_or_else(|| text.to_owned())
    }

    fn written(&self, e: Expr) -> Option<String> {
        let names = |symbol: Symbol| self.pool.symbol_name(symbol).to_owned();
        in_python(&self.pool, e, &names, true)
    }

    /// What stands for a parameter; `*args` and `**kwargs` have plain containers.
    fn param(&mut self, key: &str, node: &Node) -> String {
        match (key, node) {
            ("*args", Node::Seq(items) | Node::List(items)) => format!("[{}]", self.items(items)),
            ("**kwargs", Node::Dict(fields) | Node::Map(fields)) => {
                let fields =
                    fields.iter().map(|(key, node)| format!("{}: {}", python_string(key), self.node(node)));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            _ => self.node(node),
        }
    }

    fn items(&mut self, items: &[Node]) -> String {
        items.iter().map(|item| self.node(item)).collect::<Vec<_>>().join(", ")
    }

    fn node(&mut self, node: &Node) -> String {
        let mut members = |class: &str, fields: &indexmap::IndexMap<String, Node>| {
            let fields = fields.iter().map(|(key, node)| {
                let digits = !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit());
                let key = if digits && class == "DictSpec" { key.clone() } else { python_string(key) };
                format!("{key}: {}", self.node(node))
            });
            format!("{class}({{{}}})", fields.collect::<Vec<_>>().join(", "))
        };
        match node {
            Node::Static => "None".to_owned(),
            Node::Size(size) => size.to_string(),
            Node::Dict(fields) | Node::Map(fields) => members("DictSpec", fields),
            Node::Object(fields) => members("ObjectSpec", fields),
            Node::Expr(text) => self.expression(text),
            Node::Seq(items) => format!("SeqSpec([{}])", self.items(items)),
            Node::List(items) if !items.iter().all(Node::is_leaf) => {
                format!("SeqSpec([{}])", self.items(items))
            }
            Node::Tensor(items) | Node::List(items) => format!("TensorSpec([{}])", self.items(items)),
        }
    }
}
