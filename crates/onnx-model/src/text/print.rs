//! Writing models as text, as `onnx.printer` does.
use super::literal::KINDS;
use super::types::{ELEMENT_TYPES, element_type};
use crate::read::message::kind::{FLOAT, FLOATS, GRAPH, INT, INTS, TENSOR, TEXT, TEXTS, TYPE};
use crate::read::message::{
    AttributeProto, Dimension, ElementType, FunctionProto, GraphProto, ModelProto, NodeProto,
    OperatorSetIdProto, ShapeProto, StringStringEntryProto, TensorProto, TypeProto, TypeValue,
    ValueInfoProto,
};
use std::fmt::{Display, Write};

/// Writes a model as text. Elements of tensors that are in other files stay there; of types that no text can have, the
/// elements are left out.
pub fn print(model: &ModelProto) -> String {
    let mut out = Printer { text: String::new(), depth: 0 };
    out.add("<\n");
    let mut fields = vec![format!("ir_version: {}", model.ir_version)];
    fields.push(format!("opset_import: {}", imports(&model.opset_import)));
    if !model.producer_name.is_empty() {
        fields.push(format!("producer_name: {}", quoted(&model.producer_name)));
    }
    if !model.metadata_props.is_empty() {
        fields.push(format!("metadata_props: {}", entries(&model.metadata_props)));
    }
    out.add(&format!("   {}\n>\n", fields.join(",\n   ")));
    if let Some(graph) = &model.graph {
        out.graph(graph);
        out.add("\n");
    }
    model.functions.iter().for_each(|function| out.function(function));
    out.text
}

struct Printer {
    text: String,
    depth: usize,
}

/// Items between commas.
fn joined<T, S: Display>(items: impl IntoIterator<Item = T>, show: impl Fn(T) -> S) -> String {
    let mut text = String::new();
    for (at, item) in items.into_iter().enumerate() {
        let comma = if at > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{}", show(item));
    }
    text
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A name where no type may stand, in quotes if it is no identifier.
fn identifier(name: &str) -> String {
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_plain = starts && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain { name.to_owned() } else { quoted(name) }
}

/// A name, in quotes if it is no identifier, or would be read as a type.
fn name(name: &str) -> String {
    let is_type = || element_type(name).is_some();
    let is_word = || {
        ["seq", "map", "optional", "sparse_tensor", "inf", "infinity", "nan"]
            .contains(&name.to_ascii_lowercase().as_str())
    };
    if is_type() || is_word() { quoted(name) } else { identifier(name) }
}

fn imports(list: &[OperatorSetIdProto]) -> String {
    format!("[{}]", joined(list, |import| format!("{} : {}", quoted(&import.domain), import.version)))
}

fn entries(list: &[StringStringEntryProto]) -> String {
    format!("[{}]", joined(list, |entry| format!("{}: {}", quoted(&entry.key), quoted(&entry.value))))
}

fn element_name(number: i32) -> &'static str {
    ELEMENT_TYPES.iter().find(|(_, known)| *known == number).map_or("undefined", |(name, _)| name)
}

fn shape(shape: Option<&ShapeProto>) -> String {
    let Some(shape) = shape else { return "[]".to_owned() };
    if shape.dim.is_empty() {
        return String::new();
    }
    let size = |size: &crate::read::message::DimensionProto| match &size.value {
        Some(Dimension::Size(size)) => size.to_string(),
        Some(Dimension::Name(text)) if !text.is_empty() => name(text),
        _ => "?".to_owned(),
    };
    format!("[{}]", joined(&shape.dim, size))
}

fn value_type(message: &TypeProto) -> String {
    let inner = |element: &ElementType| element.elem_type.as_deref().map(value_type).unwrap_or_default();
    match &message.value {
        None => String::new(),
        Some(TypeValue::Tensor(tensor)) => {
            format!("{}{}", element_name(tensor.elem_type), shape(tensor.shape.as_ref()))
        }
        Some(TypeValue::Sparse(tensor)) => {
            format!("sparse_tensor({}{})", element_name(tensor.elem_type), shape(tensor.shape.as_ref()))
        }
        Some(TypeValue::Sequence(element)) => format!("seq({})", inner(element)),
        Some(TypeValue::Optional(element)) => format!("optional({})", inner(element)),
        Some(TypeValue::Map(map)) => {
            let value = map.value_type.as_deref().map(value_type).unwrap_or_default();
            format!("map({}, {value})", element_name(map.key_type))
        }
    }
}

fn value(message: &ValueInfoProto) -> String {
    match message.r#type.as_ref().map(value_type).filter(|text| !text.is_empty()) {
        Some(text) => format!("{text} {}", name(&message.name)),
        None => name(&message.name),
    }
}

/// A number that is read back as a float.
fn float(value: f32) -> String {
    match value {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
        _ => format!("{value:?}"),
    }
}

fn double(value: f64) -> String {
    match value {
        _ if value.is_nan() => "nan".to_owned(),
        _ if value.is_infinite() => if value > 0.0 { "inf" } else { "-inf" }.to_owned(),
        _ => format!("{value:?}"),
    }
}

fn text_of(bytes: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(bytes))
}

/// The elements of a tensor, or where they are.
fn elements(tensor: &TensorProto) -> String {
    if tensor.data_location != 0 {
        return entries(&tensor.external_data);
    }
    let raw = &tensor.raw_data;
    macro_rules! numbers {
        ($type:ty, $field:ident, $show:expr) => {
            if raw.is_empty() {
                joined(&tensor.$field, |value| $show((*value).into()))
            } else {
                joined(raw.as_chunks::<{ size_of::<$type>() }>().0, |bytes| {
                    $show(<$type>::from_le_bytes(*bytes).into())
                })
            }
        };
    }
    let int = |value: i64| value.to_string();
    let list = match tensor.data_type {
        1 | 14 => numbers!(f32, float_data, float),
        11 | 15 => numbers!(f64, double_data, double),
        7 => numbers!(i64, int64_data, int),
        8 => joined(&tensor.string_data, |text| text_of(text)),
        6 => numbers!(i32, int32_data, int),
        5 => numbers!(i16, int32_data, int),
        4 | 10 | 16 => numbers!(u16, int32_data, int),
        3 => numbers!(i8, int32_data, int),
        12 if !raw.is_empty() => {
            joined(raw.as_chunks::<4>().0, |bytes| u32::from_le_bytes(*bytes).to_string())
        }
        13 if !raw.is_empty() => {
            joined(raw.as_chunks::<8>().0, |bytes| u64::from_le_bytes(*bytes).to_string())
        }
        12 | 13 => joined(&tensor.uint64_data, u64::to_string),
        _ => numbers!(u8, int32_data, int),
    };
    format!("{{{list}}}")
}

/// A tensor: its type, a name, and its elements.
fn tensor(message: &TensorProto, behind: &str) -> String {
    let sizes = match message.dims.is_empty() {
        true => String::new(),
        false => format!("[{}]", joined(&message.dims, i64::to_string)),
    };
    format!("{}{sizes}{behind} {}", element_name(message.data_type), elements(message))
}

impl Printer {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn line(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("   ", self.depth));
    }

    fn graph(&mut self, graph: &GraphProto) {
        let head = format!(
            "{} ({}) => ({})",
            name(&graph.name),
            joined(&graph.input, value),
            joined(&graph.output, value)
        );
        self.add(&head);
        let tensors = graph.initializer.iter().map(|t| tensor(t, &format!(" {} =", name(&t.name))));
        let known: Vec<String> = tensors.chain(graph.value_info.iter().map(value)).collect();
        if !known.is_empty() {
            self.line();
            self.add(&format!("   <{}>", known.join(", ")));
            self.line();
        } else {
            self.add(" ");
        }
        self.nodes(&graph.node);
    }

    fn nodes(&mut self, nodes: &[NodeProto]) {
        self.add("{");
        self.depth += 1;
        for node in nodes {
            self.line();
            self.node(node);
        }
        self.depth -= 1;
        self.line();
        self.add("}");
    }

    fn node(&mut self, node: &NodeProto) {
        // An empty name is written as a text, since nothing behind the last comma is no name.
        let values = |names: &[String]| joined(names, |text| name(text));
        if !node.name.is_empty() {
            self.add(&format!("[{}] ", name(&node.name)));
        }
        self.add(&format!("{} = ", values(&node.output)));
        for part in node.domain.split('.').filter(|part| !part.is_empty()) {
            self.add(&format!("{}.", identifier(part)));
        }
        self.add(&identifier(&node.op_type));
        if !node.overload.is_empty() {
            self.add(&format!(":{}", name(&node.overload)));
        }
        if !node.attribute.is_empty() {
            self.add(" <");
            for (at, attribute) in node.attribute.iter().enumerate() {
                self.add(if at > 0 { ", " } else { "" });
                self.attribute(attribute);
            }
            self.add(">");
        }
        self.add(&format!(" ({})", values(&node.input)));
    }

    fn attribute(&mut self, attribute: &AttributeProto) {
        let kind = KINDS.iter().find(|(_, number)| *number == attribute.kind);
        self.add(&name(&attribute.name));
        if let Some((kind, _)) = kind {
            self.add(&format!(": {kind}"));
        }
        self.add(" = ");
        if !attribute.ref_attr_name.is_empty() {
            return self.add(&format!("@{}", name(&attribute.ref_attr_name)));
        }
        let shown = match attribute.kind {
            FLOAT => float(attribute.f),
            INT => attribute.i.to_string(),
            TEXT => text_of(&attribute.s),
            FLOATS => format!("[{}]", joined(&attribute.floats, |value| float(*value))),
            INTS => format!("[{}]", joined(&attribute.ints, i64::to_string)),
            TEXTS => format!("[{}]", joined(&attribute.strings, |text| text_of(text))),
            TENSOR => attribute.t.as_ref().map(|t| tensor(t, &named(&t.name))).unwrap_or_default(),
            TYPE => attribute.tp.as_ref().map(value_type).unwrap_or_default(),
            GRAPH => return attribute.g.as_deref().into_iter().for_each(|graph| self.graph(graph)),
            _ => "[]".to_owned(),
        };
        self.add(&shown);
    }

    fn function(&mut self, function: &FunctionProto) {
        self.add("<\n");
        let mut fields = vec![format!("domain: {}", quoted(&function.domain))];
        if !function.overload.is_empty() {
            fields.push(format!("overload: {}", quoted(&function.overload)));
        }
        fields.push(format!("opset_import: {}", imports(&function.opset_import)));
        self.add(&format!("   {}\n>\n{} ", fields.join(",\n   "), name(&function.name)));
        if !function.attribute.is_empty() || !function.attribute_proto.is_empty() {
            self.add("<");
            self.add(&joined(&function.attribute, |text| name(text)));
            for (at, default) in function.attribute_proto.iter().enumerate() {
                self.add(if at > 0 || !function.attribute.is_empty() { ", " } else { "" });
                self.attribute(default);
            }
            self.add("> ");
        }
        let names = |names: &[String]| joined(names, |text| name(text));
        self.add(&format!("({}) => ({})", names(&function.input), names(&function.output)));
        match function.value_info.is_empty() {
            true => self.add(" "),
            false => self.add(&format!("\n   <{}>\n", joined(&function.value_info, value))),
        }
        self.nodes(&function.node);
        self.add("\n");
    }
}

/// A name behind a type, if there is one.
fn named(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" {}", name(text)) }
}
