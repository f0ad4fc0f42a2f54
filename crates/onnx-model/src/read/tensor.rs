//! Weights and attributes as values: the elements of small tensors are read, others stay where they are.
use super::message::{AttributeProto, SparseTensorProto, TensorProto};
use crate::shape::{AtLoad, Attribute, Dtype, Element, MAX_ELEMENTS, Origin, Tensor};
use sizewise_expr::{Expr, Pool};
use std::sync::Arc;

/// The tensor of a message; `None` if its type or a size is impossible. Its elements are read if they are needed, few and
/// stand in the file.
pub fn tensor(pool: &mut Pool, message: &TensorProto, is_needed: bool) -> Option<Tensor> {
    let dtype = Dtype::from_number(i64::from(message.data_type))?;
    let sizes: Vec<u64> = message.dims.iter().map(|&size| u64::try_from(size).ok()).collect::<Option<_>>()?;
    let shape: Vec<Expr> = message.dims.iter().map(|&size| pool.int(size)).collect();
    let tensor = Tensor { origin: Origin::Constant, at_load: AtLoad::IN_FILE, ..Tensor::new(dtype, shape) };
    if !is_needed {
        return Some(tensor);
    }
    let count = if sizes.contains(&0) {
        Some(0)
    } else {
        sizes.iter().try_fold(1u64, |n, &size| n.checked_mul(size))
    };
    let few = count.and_then(|count| usize::try_from(count).ok()).filter(|&count| count <= MAX_ELEMENTS);
    match few.and_then(|count| elements(pool, message, dtype, count)) {
        Some(elements) => Some(tensor.with(elements)),
        None => Some(tensor),
    }
}

/// What is wrong with the elements of a tensor that the file holds: there are more or fewer of them than its sizes say.
/// Where it holds none, they were left out.
pub(super) fn misfilled(message: &TensorProto) -> Option<String> {
    let dtype = Dtype::from_number(i64::from(message.data_type)).filter(|_| message.data_location == 0)?;
    let sizes = message.dims.iter().map(|&size| u64::try_from(size).ok());
    let count = sizes.collect::<Option<Vec<_>>>()?.iter().try_fold(1u64, |n, &size| n.checked_mul(size))?;
    // Several elements of a few bits share a byte.
    let each = match dtype {
        Dtype::U4 | Dtype::I4 | Dtype::F4E2M1 => 2,
        Dtype::U2 | Dtype::I2 => 4,
        _ => 1,
    };
    let (given, expected, unit) = if message.raw_data.is_empty() {
        let (given, parts) = match dtype {
            Dtype::F32 => (message.float_data.len(), 1),
            Dtype::F64 => (message.double_data.len(), 1),
            Dtype::C64 => (message.float_data.len(), 2),
            Dtype::C128 => (message.double_data.len(), 2),
            Dtype::I64 => (message.int64_data.len(), 1),
            Dtype::U32 | Dtype::U64 => (message.uint64_data.len(), 1),
            Dtype::Str => (message.string_data.len(), 1),
            _ => (message.int32_data.len(), 1),
        };
        (given as u64, count.div_ceil(each).checked_mul(parts)?, "elements")
    } else {
        let bytes = count.div_ceil(each).checked_mul(dtype.bytes().unsigned_abs())?;
        (message.raw_data.len() as u64, bytes, "bytes")
    };
    (given != 0 && given != expected)
        .then(|| format!("it has {given} {unit}, where its sizes say {expected}"))
}

/// The tensor of a sparse message, with 0 where it has no element; `None` if its type or a size is impossible.
pub fn sparse(pool: &mut Pool, message: &SparseTensorProto) -> Option<Tensor> {
    let (values, indices) = (message.values.as_ref()?, message.indices.as_ref());
    let whole =
        TensorProto { dims: message.dims.clone(), data_type: values.data_type, ..TensorProto::default() };
    let result = tensor(pool, &whole, false)?;
    let elements = indices.and_then(|indices| scattered(pool, values, indices, &message.dims));
    Some(match elements {
        Some(elements) => result.with(elements),
        None => result,
    })
}

/// What is wrong with the sizes or the indices of a sparse tensor, as the specification has them. onnxruntime looks at
/// those of graphs within nodes only.
pub(super) fn misplaced(message: &SparseTensorProto) -> Option<&'static str> {
    if message.dims.iter().any(|&size| size <= 0) {
        return Some("its sizes are to be positive");
    }
    let indices = message.indices.as_ref().filter(|indices| indices.data_location == 0)?;
    let raw = indices.raw_data.chunks_exact(8);
    let raw = raw.map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap_or_default()));
    let list: Vec<i64> = raw.chain(indices.int64_data.iter().copied()).collect();
    let parts = if indices.dims.len() == 1 { 1 } else { message.dims.len().max(1) };
    let mut pairs = list.chunks(parts).zip(list.chunks(parts).skip(1));
    pairs.any(|(index, next)| index >= next).then_some("its indices are not in ascending order")
}

/// The elements of a sparse tensor. An index counts elements, or there is one for each dimension.
fn scattered(
    pool: &mut Pool,
    values: &TensorProto,
    indices: &TensorProto,
    sizes: &[i64],
) -> Option<Vec<Element>> {
    let sizes: Vec<usize> = sizes.iter().map(|&size| usize::try_from(size).ok()).collect::<Option<_>>()?;
    let count = sizes.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
    let (values, linear) = (tensor(pool, values, true)?, indices.dims.len() == 1);
    let zero = match values.dtype {
        Dtype::Bool => Element::Bool(pool.bool(false)),
        dtype if dtype.is_integer() => Element::Int(Expr::ZERO),
        dtype if dtype.is_float() => Element::Float(0.0),
        _ => return None,
    };
    if count > MAX_ELEMENTS {
        return None;
    }
    let indices = tensor(pool, indices, true)?;
    let (values, indices) = (values.list()?, indices.list()?);
    let mut result = vec![zero; count];
    let sizes = if linear { vec![count] } else { sizes };
    let parts = sizes.len().max(1);
    for (value, index) in values.iter().zip(indices.chunks(parts)) {
        let mut at = 0;
        for (part, size) in index.iter().zip(&sizes) {
            let part = part.int()?.as_inline().and_then(|part| usize::try_from(part).ok())?;
            at = at * size + Some(part).filter(|part| part < size)?;
        }
        result[at] = value.clone();
    }
    Some(result)
}

/// Its elements, which are written once, where they stay.
fn elements(pool: &mut Pool, message: &TensorProto, dtype: Dtype, count: usize) -> Option<Arc<[Element]>> {
    if message.data_location != 0 {
        return None;
    }
    let found: Arc<[Element]> = if message.raw_data.is_empty() {
        typed(pool, message, dtype)?
    } else {
        raw(pool, &message.raw_data, dtype)?
    };
    (found.len() == count).then_some(found)
}

fn typed(pool: &mut Pool, message: &TensorProto, dtype: Dtype) -> Option<Arc<[Element]>> {
    Some(match dtype {
        Dtype::F32 => message.float_data.iter().map(|&value| Element::Float(f64::from(value))).collect(),
        Dtype::F64 => message.double_data.iter().map(|&value| Element::Float(value)).collect(),
        Dtype::I64 => message.int64_data.iter().map(|&value| Element::Int(pool.int(value))).collect(),
        Dtype::U32 | Dtype::U64 => {
            message.uint64_data.iter().map(|&value| Element::Int(pool.int(i128::from(value)))).collect()
        }
        Dtype::Bool => message.int32_data.iter().map(|&value| Element::Bool(pool.bool(value != 0))).collect(),
        Dtype::I32 | Dtype::I16 | Dtype::I8 | Dtype::U16 | Dtype::U8 => {
            message.int32_data.iter().map(|&value| Element::Int(pool.int(i64::from(value)))).collect()
        }
        Dtype::Str => message
            .string_data
            .iter()
            .map(|text| Element::Text(String::from_utf8_lossy(text).as_ref().into()))
            .collect(),
        Dtype::F16 | Dtype::BF16 => vec![Element::Open; message.int32_data.len()].into(),
        _ => return None,
    })
}

fn raw(pool: &mut Pool, data: &[u8], dtype: Dtype) -> Option<Arc<[Element]>> {
    macro_rules! numbers {
        ($type:ty, $make:expr) => {{
            let (chunks, rest) = data.as_chunks::<{ size_of::<$type>() }>();
            if !rest.is_empty() {
                return None;
            }
            chunks.iter().map(|bytes| $make(<$type>::from_le_bytes(*bytes))).collect()
        }};
    }
    let mut int = |value: i128| Element::Int(pool.int(value));
    Some(match dtype {
        Dtype::F32 => numbers!(f32, |value: f32| Element::Float(f64::from(value))),
        Dtype::F64 => numbers!(f64, Element::Float),
        Dtype::I64 => numbers!(i64, |value: i64| int(value.into())),
        Dtype::I32 => numbers!(i32, |value: i32| int(value.into())),
        Dtype::I16 => numbers!(i16, |value: i16| int(value.into())),
        Dtype::I8 => numbers!(i8, |value: i8| int(value.into())),
        Dtype::U64 => numbers!(u64, |value: u64| int(value.into())),
        Dtype::U32 => numbers!(u32, |value: u32| int(value.into())),
        Dtype::U16 => numbers!(u16, |value: u16| int(value.into())),
        Dtype::U8 => numbers!(u8, |value: u8| int(value.into())),
        Dtype::Bool => data.iter().map(|&value| Element::Bool(pool.bool(value != 0))).collect(),
        Dtype::F16 | Dtype::BF16 => vec![Element::Open; data.len() / 2].into(),
        _ => return None,
    })
}

/// The value of an attribute; `None` if it has none that is understood. A tensor has no elements unless they are needed.
pub fn attribute(pool: &mut Pool, message: &AttributeProto, is_needed: bool) -> Option<Attribute> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(match message.kind {
        1 => Attribute::Float(f64::from(message.f)),
        2 => Attribute::Int(message.i),
        3 => Attribute::Text(text(&message.s)),
        4 => Attribute::Tensor(tensor(pool, message.t.as_ref()?, is_needed)?),
        5 => Attribute::Other('g'),
        6 => Attribute::Floats(message.floats.iter().map(|&value| f64::from(value)).collect()),
        7 => Attribute::Ints(message.ints.clone()),
        8 => Attribute::Texts(message.strings.iter().map(|bytes| text(bytes)).collect()),
        9 => Attribute::Other('T'),
        10 => Attribute::Other('G'),
        11 => Attribute::Other('p'),
        13 => Attribute::Other('y'),
        // Old files do not say of what kind an attribute is.
        0 if message.t.is_some() => Attribute::Tensor(tensor(pool, message.t.as_ref()?, is_needed)?),
        0 if message.g.is_some() => Attribute::Other('g'),
        0 if !message.ints.is_empty() => Attribute::Ints(message.ints.clone()),
        0 if !message.floats.is_empty() => {
            Attribute::Floats(message.floats.iter().map(|&value| f64::from(value)).collect())
        }
        0 if !message.strings.is_empty() => {
            Attribute::Texts(message.strings.iter().map(|b| text(b)).collect())
        }
        0 if !message.s.is_empty() => Attribute::Text(text(&message.s)),
        0 if message.f != 0.0 => Attribute::Float(f64::from(message.f)),
        0 => Attribute::Int(message.i),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(dims: &[i64], numbers: &[i64]) -> TensorProto {
        TensorProto {
            dims: dims.to_vec(),
            data_type: 7,
            int64_data: numbers.to_vec(),
            ..TensorProto::default()
        }
    }

    #[test]
    fn sparse_tensors_have_their_elements_where_the_indices_say() {
        let mut pool = Pool::default();
        for (dims, shape, indices, expected) in [
            (&[4][..], &[2][..], &[1, 3][..], Some(&[0, 5, 0, 6][..])),
            // In any order.
            (&[2], &[2], &[1, 0], Some(&[6, 5])),
            (&[2, 2], &[2], &[1, 2], Some(&[0, 5, 6, 0])),
            (&[2, 2], &[2, 2], &[0, 1, 1, 1], Some(&[0, 5, 0, 6])),
            (&[4], &[2], &[1, 4], None),
            (&[2, 2], &[2, 2], &[0, 2, 1, 1], None),
            (&[4], &[2], &[-1, 0], None),
        ] {
            let message = SparseTensorProto {
                values: Some(numbers(&[2], &[5, 6])),
                indices: Some(numbers(shape, indices)),
                dims: dims.to_vec(),
            };
            let tensor = sparse(&mut pool, &message).expect("a tensor");
            let found: Option<Vec<i64>> =
                tensor.ints().map(|list| list.iter().filter_map(|e| e.as_inline()).collect());
            assert_eq!(found.as_deref(), expected, "{dims:?} {indices:?}");
        }
    }
}
