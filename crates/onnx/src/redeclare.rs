//! Models with other declarations of their inputs and outputs. Everything else stays byte for byte as it is in the file.
use crate::check::{Declaration, Declared, written_size};
use crate::fill::{binary, fields, push, push_varint};
use prost::Message;
use sizewise_onnx_model::read::message::{DimensionProto, ValueInfoProto};
use sizewise_onnx_model::read::{ReadError, wrong};

/// Numbers of fields: of the graph in a model, of inputs and outputs in a graph, of the type of a value, of the tensor in
/// a type, of the shape and the element type of a tensor, and of the dimensions of a shape.
const GRAPH: u64 = 7;
const INPUT: u64 = 11;
const OUTPUT: u64 = 12;
const TYPE: u64 = 2;
const TENSOR: u64 = 1;
const SHAPE: u64 = 2;
const ELEMENT: u64 = 1;
const DIM: u64 = 1;
/// The fields of a dimension that say its size.
const SIZES: [u64; 2] = [1, 2];

/// The bytes of a model, or of the text of one, with other declarations.
///
/// # Errors
/// When the file is no model, or has not what is declared.
pub fn redeclare(bytes: &[u8], declarations: &[Declaration]) -> Result<Vec<u8>, ReadError> {
    let bytes = binary(bytes)?;
    let of_graph = |graph: &[u8]| of_graph(graph, declarations);
    changed(&bytes, GRAPH, &of_graph).ok_or_else(|| wrong("the file", "a damaged ONNX model"))
}

/// The message with its field of this number changed. `None` if there is none. A message that comes several times is all
/// of them one behind the other, as protobuf merges them.
fn changed(bytes: &[u8], number: u64, change: &dyn Fn(&[u8]) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let own = fields(bytes)?;
    let parts = own.iter().filter(|field| field.number == number).filter_map(|field| field.value);
    let merged = parts.fold(Vec::new(), |merged, part| [&merged, part].concat());
    let mut is_done = false;
    for field in own {
        if field.number != number || field.value.is_none() {
            out.extend_from_slice(field.whole);
        } else if !std::mem::replace(&mut is_done, true) {
            push(&mut out, number, &change(&merged)?);
        }
    }
    is_done.then_some(out)
}

/// The graph with the declarations of its inputs and outputs; `None` if it has not all of them.
fn of_graph(graph: &[u8], declarations: &[Declaration]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(graph.len() + 64);
    let mut left = declarations.len();
    for field in fields(graph)? {
        let value = field.value.filter(|_| [INPUT, OUTPUT].contains(&field.number));
        let Some(value) = value else {
            out.extend_from_slice(field.whole);
            continue;
        };
        let name = ValueInfoProto::decode(value).ok()?.name;
        let mut value = value.to_vec();
        for Declaration { declared, .. } in
            declarations.iter().filter(|own| own.value == name && own.is_output == (field.number == OUTPUT))
        {
            let of_type = |kind: &[u8]| changed(kind, TENSOR, &|tensor| of_tensor(tensor, declared));
            value = changed(&value, TYPE, &of_type)?;
            left = left.checked_sub(1)?;
        }
        push(&mut out, field.number, &value);
    }
    (left == 0).then_some(out)
}

fn of_tensor(tensor: &[u8], declared: &Declared) -> Option<Vec<u8>> {
    // All of a field that stays but for those of this number.
    let without = |number: u64| {
        let kept = fields(tensor)?.into_iter().filter(|field| field.number != number);
        Some(kept.flat_map(|field| field.whole.to_vec()).collect::<Vec<u8>>())
    };
    match declared {
        Declared::Type(dtype) => {
            let mut out = without(ELEMENT)?;
            push_varint(&mut out, ELEMENT << 3);
            push_varint(&mut out, u64::try_from(dtype.number()).ok()?);
            Some(out)
        }
        Declared::Shape(sizes) => {
            let mut out = without(SHAPE)?;
            let mut shape = Vec::new();
            for size in sizes {
                let size = DimensionProto { value: size.as_deref().map(written_size) };
                push(&mut shape, DIM, &size.encode_to_vec());
            }
            push(&mut out, SHAPE, &shape);
            Some(out)
        }
        Declared::Size(dim, text) => changed(tensor, SHAPE, &|shape| of_shape(shape, *dim, text.as_deref())),
    }
}

fn of_shape(shape: &[u8], dim: usize, text: Option<&str>) -> Option<Vec<u8>> {
    let (mut out, mut at) = (Vec::new(), 0);
    for field in fields(shape)? {
        let is_dim = field.number == DIM && field.value.is_some();
        if is_dim && at == dim {
            let mut size = Vec::new();
            for own in fields(field.value?)?.iter().filter(|own| !SIZES.contains(&own.number)) {
                size.extend_from_slice(own.whole);
            }
            size.extend(DimensionProto { value: text.map(written_size) }.encode_to_vec());
            push(&mut out, DIM, &size);
        } else {
            out.extend_from_slice(field.whole);
        }
        at += usize::from(is_dim);
    }
    (dim < at).then_some(out)
}
