//! Arguments and expressions as Python writes them.

use crate::{Argument, Constant, ExprTable, Functions, Graph, Operand, Sym, ValueId};
use sizewise_expr::escape::{python_string, visible};
use sizewise_expr::{Pool, print, read};
use std::fmt;

/// How strings and references are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// As `str(graph)` does: `%x`, strings without quotes.
    Fx,
    /// As generated Python does: `x`, `'text'`.
    Python,
}

/// An expression of the program as torch prints it.
pub(super) fn expr_text(text: &str) -> String {
    let mut pool = Pool::new();
    match read::closed(&mut pool, text) {
        Ok(read) => print::try_expression(&pool, read.expr).unwrap_or_else(|_| text.to_owned()),
        Err(_) => text.to_owned(),
    }
}

/// A size or another symbolic value.
pub(super) fn sym_text<T: ToString>(sym: &Sym<T>, exprs: &ExprTable) -> String {
    match sym {
        Sym::Literal(value) => value.to_string(),
        Sym::Expr(expr) => exprs.get(*expr).map_or_else(|| "?".to_owned(), |known| expr_text(&known.text)),
    }
}

/// A float as Python's `repr` writes it.
pub(super) fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let plain = format!("{value:?}");
    match plain.split_once('e') {
        // Python writes at least two digits of an exponent, and its sign.
        Some((mantissa, exponent)) => {
            let mantissa = mantissa.strip_suffix(".0").unwrap_or(mantissa);
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => plain,
    }
}

/// `True` or `False`.
pub(super) fn bool_text(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

impl fmt::Display for Constant {
    /// As Python's `repr` writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&constant_text(self))
    }
}

/// A constant.
pub(super) fn constant_text(constant: &Constant) -> String {
    match constant {
        Constant::None => "None".to_owned(),
        Constant::Int(value) => value.to_string(),
        Constant::Float(value) => float_text(*value),
        Constant::Bool(value) => bool_text(*value).to_owned(),
        Constant::Str(text) => python_string(text),
    }
}

fn list<T>(items: &[T], show: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", "))
}

/// Writes arguments of one graph's nodes.
#[derive(Clone, Copy)]
pub(super) struct Shower<'g> {
    pub graph: &'g Graph,
    pub style: Style,
    /// What graphs within are called, where that is not their own name.
    pub functions: Option<&'g Functions<'g>>,
}

impl Shower<'_> {
    /// A reference to a value.
    pub fn value(&self, value: ValueId) -> String {
        let percent = if self.style == Style::Fx { "%" } else { "" };
        format!("{percent}{}", self.graph.name(value))
    }

    fn optional(&self, value: &Option<ValueId>) -> String {
        value.map_or_else(|| "None".to_owned(), |value| self.value(value))
    }

    fn operand<T>(&self, operand: &Operand<T>, literal: impl Fn(&T) -> String) -> String {
        match operand {
            Operand::Value(value) => self.value(*value),
            Operand::Literal(value) => literal(value),
        }
    }

    /// A string; FX leaves the quotes out, where it can be read all the same.
    pub fn string(&self, text: &str) -> String {
        let begins_safely = text.chars().next().is_some_and(|c| !c.is_whitespace() && !"'\"".contains(c));
        let plain = begins_safely && visible(text) == text && !text.ends_with(char::is_whitespace);
        if self.style == Style::Fx && plain { text.to_owned() } else { python_string(text) }
    }

    /// An argument.
    pub fn argument(&self, argument: &Argument) -> String {
        let ints = |items: &Vec<i64>| list(items, i64::to_string);
        let floats = |items: &Vec<f64>| list(items, |value| float_text(*value));
        let bools = |value: &bool| bool_text(*value).to_owned();
        match argument {
            Argument::None | Argument::OptionalTensor(None) => "None".to_owned(),
            Argument::Tensor(value) | Argument::CustomObj(value) | Argument::OptionalTensor(Some(value)) => {
                self.value(*value)
            }
            Argument::Tensors(values) => list(values, |value| self.value(*value)),
            Argument::OptionalTensors(values) => list(values, |value| self.optional(value)),
            Argument::NestedTensors(lists) => list(lists, |values| list(values, |value| self.value(*value))),
            Argument::Int(value) => value.to_string(),
            Argument::Ints(items) => ints(items),
            Argument::IntLists(lists) => list(lists, ints),
            Argument::Float(value) => float_text(*value),
            Argument::Floats(items) => floats(items),
            Argument::FloatLists(lists) => list(lists, floats),
            Argument::Str(text) => self.string(text),
            Argument::Strs(items) => list(items, |text| python_string(text)),
            Argument::Bool(value) => bools(value),
            Argument::Bools(items) => list(items, bools),
            Argument::Complex(real, imag) => {
                let sign = if imag.is_sign_negative() { "" } else { "+" };
                format!("({}{sign}{}j)", float_text(*real), float_text(*imag))
            }
            Argument::SymInt(operand) => self.operand(operand, i64::to_string),
            Argument::SymInts(items) => list(items, |item| self.operand(item, i64::to_string)),
            Argument::SymFloat(operand) => self.operand(operand, |value| float_text(*value)),
            Argument::SymFloats(items) => list(items, |item| self.operand(item, |value| float_text(*value))),
            Argument::SymBool(operand) => self.operand(operand, bools),
            Argument::SymBools(items) => list(items, |item| self.operand(item, bools)),
            Argument::Dtype(dtype) => format!("torch.{dtype}"),
            Argument::MemoryFormat(format) => format!("torch.{format}"),
            Argument::Layout(layout) => format!("torch.{layout}"),
            Argument::Device(device) if self.style == Style::Fx => visible(&device.to_string()).into_owned(),
            Argument::Device(device) => match device.index {
                Some(index) => format!("device(type={}, index={index})", python_string(&device.kind)),
                None => format!("device(type={})", python_string(&device.kind)),
            },
            Argument::Graph(subgraph) if self.style == Style::Fx => format!("%{}", subgraph.name),
            Argument::Graph(subgraph) => match self.functions.and_then(|functions| functions.of(subgraph)) {
                Some(function) => function.name.clone(),
                None => subgraph.name.to_string(),
            },
            Argument::Operator(target) => target.to_string(),
            Argument::List(items) => list(items, |item| self.argument(item)),
            Argument::Map(map) => {
                let entry = |(key, value): (&std::sync::Arc<str>, &Argument)| {
                    let bare = self.style == Style::Fx && visible(key) == **key;
                    let key = if bare { key.to_string() } else { python_string(key) };
                    format!("{key}: {}", self.argument(value))
                };
                // Dictionaries nest no deeper than the document they were read from.
                format!("{{{}}}", map.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
        }
    }
}
