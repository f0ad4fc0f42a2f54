//! Models with what was found out about them: the shapes of values in `value_info`, conditions in `metadata_props`.
//!
//! Everything else stays byte for byte as it is in the file, fields that are not known here included.
use crate::check::{Shapes, ShownSize, ShownValue};
use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::FxHashSet;
use sizewise_check::report::Report;
use sizewise_onnx_model::read::message::{
    Dimension, DimensionProto, ShapeProto, StringStringEntryProto, TensorType, TypeValue, ValueInfoProto,
};
use sizewise_onnx_model::read::{CONDITIONS, ReadError, is_text, message, wrong};
use std::borrow::Cow;

/// Numbers of fields of `ModelProto` and `GraphProto`.
const GRAPH: u64 = 7;
const METADATA: u64 = 14;
const VALUE_INFO: u64 = 13;

/// A field of a message: its number, all its bytes, and those of its value if it has a length.
pub(crate) struct Field<'b> {
    pub number: u64,
    pub whole: &'b [u8],
    pub value: Option<&'b [u8]>,
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// The fields of a message; `None` if it is damaged.
pub(crate) fn fields(bytes: &[u8]) -> Option<Vec<Field<'_>>> {
    let mut fields = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let key = varint(bytes, &mut at)?;
        let mut value = None;
        match key & 7 {
            0 => drop(varint(bytes, &mut at)?),
            1 => at += 8,
            2 => {
                let length = usize::try_from(varint(bytes, &mut at)?).ok()?;
                let end = at.checked_add(length)?;
                value = Some(bytes.get(at..end)?);
                at = end;
            }
            5 => at += 4,
            _ => return None,
        }
        fields.push(Field { number: key >> 3, whole: bytes.get(start..at)?, value });
    }
    Some(fields)
}

pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Adds a field that has a length.
pub(crate) fn push(out: &mut Vec<u8>, number: u64, value: &[u8]) {
    push_varint(out, number << 3 | 2);
    push_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// The protobuf of a model, of which the bytes may be a text.
///
/// # Errors
/// When the text is no model.
pub(crate) fn binary(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ReadError> {
    Ok(match is_text(bytes) {
        true => Cow::Owned(message(Bytes::copy_from_slice(bytes))?.encode_to_vec()),
        false => Cow::Borrowed(bytes),
    })
}

/// The declaration of a value of which the sizes are known.
fn declaration(name: &str, shown: &ShownValue, shapes: &Shapes) -> Option<ValueInfoProto> {
    let (dtype, sizes) = (shown.dtype?, shown.shape.as_ref()?);
    let size = |size: &ShownSize| DimensionProto {
        value: match size {
            ShownSize::Number(number) => Some(Dimension::Size(*number)),
            // A name that no expression may have stands alone as the model gives it.
            ShownSize::Text(text) => Some(Dimension::Name(
                shapes
                    .symbols
                    .iter()
                    .find(|named| *named.name == **text)
                    .and_then(|named| named.declared.clone())
                    .unwrap_or_else(|| text.to_string()),
            )),
            ShownSize::Open(..) => None,
        },
    };
    let shape = ShapeProto { dim: sizes.iter().map(size).collect() };
    let tensor = TensorType { elem_type: dtype.number(), shape: Some(shape) };
    let r#type = Some(TypeValue::Tensor(tensor).into());
    Some(ValueInfoProto { name: name.to_owned(), r#type, ..ValueInfoProto::default() })
}

/// The bytes of a model, or of the text of one, with the shapes of its values and the conditions under which it runs.
///
/// # Errors
/// When the file is no model.
pub fn fill(bytes: &[u8], shapes: &Shapes, report: &Report) -> Result<Vec<u8>, ReadError> {
    let bytes = binary(bytes)?;
    let damaged = || wrong("the file", "a damaged ONNX model");
    let model = fields(&bytes).ok_or_else(damaged)?;
    let mut out = Vec::with_capacity(bytes.len() + (1 << 16));
    for field in &model {
        match (field.number, field.value) {
            (GRAPH, Some(graph)) => push(&mut out, GRAPH, &filled(graph, shapes).ok_or_else(damaged)?),
            (METADATA, Some(entry)) if is_ours(entry) => {}
            _ => out.extend_from_slice(field.whole),
        }
    }
    if !report.minimal_guards.is_empty() {
        let value = report.minimal_guards.join("\n");
        let entry = StringStringEntryProto { key: CONDITIONS.to_owned(), value };
        push(&mut out, METADATA, &entry.encode_to_vec());
    }
    Ok(out)
}

fn is_ours(entry: &[u8]) -> bool {
    StringStringEntryProto::decode(entry).is_ok_and(|entry| entry.key == CONDITIONS)
}

/// A graph with declarations of the values that its nodes make.
fn filled(graph: &[u8], shapes: &Shapes) -> Option<Vec<u8>> {
    const NODE: u64 = 1;
    const OUTPUT: u64 = 12;
    let fields = fields(graph)?;
    let declared = |field: &Field| Some(ValueInfoProto::decode(field.value?).ok()?.name);
    let mut outputs = FxHashSet::default();
    let mut made = FxHashSet::default();
    for field in &fields {
        match field.number {
            OUTPUT => outputs.extend(declared(field)),
            NODE => made.extend(node_outputs(field.value?)?),
            _ => {}
        }
    }
    let known: Vec<(&String, ValueInfoProto)> = shapes
        .values
        .iter()
        .filter(|(name, _)| made.contains(name.as_bytes()) && !outputs.contains(*name))
        .filter_map(|(name, shown)| Some((name, declaration(name, shown, shapes)?)))
        .collect();
    let names: FxHashSet<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
    let mut out = Vec::with_capacity(graph.len() + (1 << 12));
    for field in &fields {
        let replaced =
            field.number == VALUE_INFO && declared(field).is_some_and(|name| names.contains(name.as_str()));
        if !replaced {
            out.extend_from_slice(field.whole);
        }
    }
    known.iter().for_each(|(_, value)| push(&mut out, VALUE_INFO, &value.encode_to_vec()));
    Some(out)
}

/// The names of a node's outputs.
fn node_outputs(node: &[u8]) -> Option<Vec<&[u8]>> {
    const OUTPUT: u64 = 2;
    let outputs = fields(node)?.into_iter().filter(|field| field.number == OUTPUT);
    Some(outputs.filter_map(|field| field.value).collect())
}
