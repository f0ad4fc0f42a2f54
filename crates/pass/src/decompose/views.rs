//! Views, and copies where a view is not possible.
use super::Made;
use super::builder::{Builder, Function, Size, dims, size, sizes};
use super::call::{Call, refused};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, MemoryFormat, Operand, ValueId};

pub const RULES: &[(&str, Function)] = &[
    ("t.default", |b, call| {
        let x = call.tensor("self")?;
        let swap = b.rank(x)? == 2;
        if swap { transposed(b, x, 0, 1).map(one) } else { Ok(vec![x]) }
    }),
    ("numpy_T.default", |b, call| {
        let x = call.tensor("self")?;
        let rank = b.rank(x)?;
        permuted(b, x, (0..rank).rev()).map(one)
    }),
    ("mT.default", |b, call| swap_last(b, call)),
    ("adjoint.default", |b, call| swap_last(b, call)),
    ("matrix_H.default", |b, call| swap_last(b, call)),
    ("transpose.int", |b, call| swap(b, call, "dim0", "dim1")),
    ("swapaxes.default", |b, call| swap(b, call, "axis0", "axis1")),
    ("swapdims.default", |b, call| swap(b, call, "dim0", "dim1")),
    ("movedim.intlist", moved),
    ("movedim.int", moved),
    ("moveaxis.intlist", moved),
    ("moveaxis.int", moved),
    ("flatten.using_ints", flattened),
    ("ravel.default", |b, call| reshaped(b, call.tensor("self")?, &[Operand::Literal(-1)]).map(one)),
    ("unflatten.int", unflattened),
    ("reshape.default", |b, call| reshaped(b, call.tensor("self")?, &call.sizes("shape")?).map(one)),
    ("_reshape_alias.default", |b, call| reshaped(b, call.tensor("self")?, &call.sizes("size")?).map(one)),
    ("_unsafe_view.default", |b, call| viewed(b, call.tensor("self")?, &call.sizes("size")?).map(one)),
    ("reshape_as.default", |b, call| {
        let sizes = b.sizes(call.tensor("other")?)?;
        reshaped(b, call.tensor("self")?, &sizes).map(one)
    }),
    ("view_as.default", |b, call| {
        let sizes = b.sizes(call.tensor("other")?)?;
        viewed(b, call.tensor("self")?, &sizes).map(one)
    }),
    ("expand_as.default", |b, call| {
        let sizes = b.sizes(call.tensor("other")?)?;
        expanded(b, call.tensor("self")?, &sizes).map(one)
    }),
    ("broadcast_to.default", |b, call| expanded(b, call.tensor("self")?, &call.sizes("size")?).map(one)),
    ("broadcast_tensors.default", |b, call| broadcast(b, &call.tensor_list("tensors")?)),
    ("contiguous.default", contiguous),
    ("squeeze.default", |b, call| {
        let x = call.tensor("self")?;
        let tensor = b.tensor(x)?;
        let ones = tensor.sizes.iter().enumerate().filter(|(_, size)| b.number(**size) == Some(1));
        squeezed(b, x, ones.map(|(dim, _)| dim).collect::<Vec<_>>()).map(one)
    }),
    ("squeeze.dim", |b, call| {
        let x = call.tensor("self")?;
        b.one("squeeze.dims", &[x.into(), Argument::Ints(vec![call.int("dim")?])]).map(one)
    }),
    ("atleast_1d.default", |b, call| at_least(b, call, 1)),
    ("atleast_2d.default", |b, call| at_least(b, call, 2)),
    ("type_as.default", |b, call| {
        let dtype = b.dtype(call.tensor("other")?)?;
        b.cast(call.tensor("self")?, dtype).map(one)
    }),
    ("to.dtype", |b, call| converted(b, call, call.dtype("dtype"))),
    ("to.dtype_layout", |b, call| converted(b, call, call.dtype("dtype"))),
    ("to.device", |b, call| converted(b, call, call.dtype("dtype"))),
    ("to.other", |b, call| {
        let dtype = b.dtype(call.tensor("other")?)?;
        converted(b, call, Some(dtype))
    }),
    ("tile.default", tiled),
];

/// One value as the results of a call.
pub fn one(proxy: Proxy) -> Vec<Proxy> {
    vec![proxy]
}

pub fn permuted(
    b: &mut Builder<'_, '_>,
    x: Proxy,
    order: impl IntoIterator<Item = usize>,
) -> Result<Proxy, TraceError> {
    b.one("permute.default", &[x.into(), dims(order)])
}

pub fn transposed(
    b: &mut Builder<'_, '_>,
    x: Proxy,
    first: usize,
    second: usize,
) -> Result<Proxy, TraceError> {
    let mut order: Vec<usize> = (0..b.rank(x)?).collect();
    if first.max(second) >= order.len() {
        return Ok(x);
    }
    order.swap(first, second);
    permuted(b, x, order)
}

fn swap(b: &mut Builder<'_, '_>, call: &Call<'_>, first: &str, second: &str) -> Made {
    let x = call.tensor("self")?;
    let rank = b.rank(x)?;
    let (first, second) = (b.dim(call.int(first)?, rank)?, b.dim(call.int(second)?, rank)?);
    transposed(b, x, first, second).map(one)
}

fn swap_last(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let tensor = b.tensor(x)?;
    if tensor.dtype.is_complex() || tensor.sizes.len() < 2 {
        return Err(refused("complex tensors and those of fewer than two dimensions are not decomposed"));
    }
    transposed(b, x, tensor.sizes.len() - 2, tensor.sizes.len() - 1).map(one)
}

fn moved(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let rank = b.rank(x)?;
    let dims =
        |name: &str| call.ints(name)?.into_iter().map(|dim| b.dim(dim, rank)).collect::<Result<Vec<_>, _>>();
    let (from, to) = (dims("source")?, dims("destination")?);
    if rank == 0 {
        return Ok(vec![x]);
    }
    let mut order: Vec<Option<usize>> = vec![None; rank];
    for (&from, &to) in from.iter().zip(&to) {
        order[to] = Some(from);
    }
    let mut rest = (0..rank).filter(|dim| !from.contains(dim));
    let order: Option<Vec<usize>> = order.into_iter().map(|dim| dim.or_else(|| rest.next())).collect();
    let order = order.ok_or_else(|| refused("a dimension is moved twice"))?;
    permuted(b, x, order).map(one)
}

pub fn viewed(b: &mut Builder<'_, '_>, x: Proxy, shape: &[Size]) -> Result<Proxy, TraceError> {
    b.one("view.default", &[x.into(), sizes(shape)])
}

/// A view where memory allows it for all sizes, else a view of a copy. What has the sizes already keeps its strides: a later
/// view may need them.
pub fn reshaped(b: &mut Builder<'_, '_>, x: Proxy, shape: &[Size]) -> Result<Proxy, TraceError> {
    if b.is_contiguous(x)? || b.keeps_sizes(x, shape)? {
        return viewed(b, x, shape);
    }
    if b.is_static(x)?
        && let Ok(view) = viewed(b, x, shape)
    {
        return Ok(view);
    }
    let copy = copied(b, x)?;
    viewed(b, copy, shape)
}

/// A copy that is contiguous.
pub fn copied(b: &mut Builder<'_, '_>, x: Proxy) -> Result<Proxy, TraceError> {
    let format = MemoryFormat::Contiguous;
    b.one_with("clone.default", &[x.into()], &[("memory_format", Argument::MemoryFormat(format))])
}

pub fn expanded(b: &mut Builder<'_, '_>, x: Proxy, shape: &[Size]) -> Result<Proxy, TraceError> {
    b.one("expand.default", &[x.into(), sizes(shape)])
}

/// The tensors in the shape in which they meet.
pub fn broadcast(b: &mut Builder<'_, '_>, tensors: &[Proxy]) -> Made {
    let shape = common_shape(b, tensors)?;
    tensors
        .iter()
        .map(|&x| {
            let same = b.rank(x)? == shape.len() && b.sizes(x)? == shape;
            if same { Ok(x) } else { expanded(b, x, &shape) }
        })
        .collect()
}

/// The shape in which tensors meet; sizes that are not known to be one or equal are refused.
pub fn common_shape(b: &mut Builder<'_, '_>, tensors: &[Proxy]) -> Result<Vec<Size>, TraceError> {
    let mut shape: Vec<(Size, sizewise_expr::Expr)> = Vec::new();
    for &x in tensors {
        let (tensor, given) = (b.tensor(x)?, b.sizes(x)?);
        while shape.len() < given.len() {
            shape.insert(0, (Operand::Literal(1), sizewise_expr::Expr::ONE));
        }
        let offset = shape.len() - given.len();
        for (dim, (&size, &e)) in given.iter().zip(&tensor.sizes).enumerate() {
            let known = &mut shape[offset + dim];
            if known.0 == Operand::Literal(1) {
                *known = (size, e);
            } else if size != Operand::Literal(1) && known.1 != e {
                return Err(refused("it is open whether sizes that meet are one"));
            }
        }
    }
    Ok(shape.into_iter().map(|(size, _)| size).collect())
}

fn flattened(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let rank = b.rank(x)?;
    if rank == 0 {
        return viewed(b, x, &[Operand::Literal(1)]).map(one);
    }
    let (start, end) = (b.dim(call.int("start_dim")?, rank)?, b.dim(call.int("end_dim")?, rank)?);
    if start >= end {
        return Ok(vec![x]);
    }
    let mut shape = b.sizes(x)?;
    let merged = b.product(&shape[start..=end])?;
    shape.splice(start..=end, [merged]);
    reshaped(b, x, &shape).map(one)
}

fn unflattened(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let rank = b.rank(x)?;
    let dim = b.dim(call.int("dim")?, rank)?;
    let mut parts = call.sizes("sizes")?;
    let mut shape = b.sizes(x)?;
    if let Some(open) = parts.iter().position(|part| *part == Operand::Literal(-1)) {
        let others: Vec<Size> =
            parts.iter().enumerate().filter(|(at, _)| *at != open).map(|(_, part)| *part).collect();
        let product = b.product(&others)?;
        parts[open] = b.divided(shape[dim], product)?;
    }
    shape.splice(dim..=dim, parts);
    viewed(b, x, &shape).map(one)
}

fn contiguous(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let format = call.argument("memory_format");
    let plain = matches!(format, Argument::None | Argument::MemoryFormat(MemoryFormat::Contiguous));
    if plain && b.is_contiguous(x)? {
        return Ok(vec![x]);
    }
    let format = if plain { Argument::MemoryFormat(MemoryFormat::Contiguous) } else { format };
    b.one_with("clone.default", &[x.into()], &[("memory_format", format)]).map(one)
}

pub fn squeezed(b: &mut Builder<'_, '_>, x: Proxy, gone: Vec<usize>) -> Result<Proxy, TraceError> {
    b.one("squeeze.dims", &[x.into(), dims(gone)])
}

pub fn unsqueezed(b: &mut Builder<'_, '_>, x: Proxy, dim: i64) -> Result<Proxy, TraceError> {
    b.one("unsqueeze.default", &[x.into(), Argument::Int(dim)])
}

fn at_least(b: &mut Builder<'_, '_>, call: &Call<'_>, rank: usize) -> Made {
    let mut x = call.tensor("self")?;
    while b.rank(x)? < rank {
        x = unsqueezed(b, x, 0)?;
    }
    Ok(vec![x])
}

/// `to`: a copy where dtype or device change, or where one is asked for.
fn converted(b: &mut Builder<'_, '_>, call: &Call<'_>, dtype: Option<Dtype>) -> Made {
    let x = call.tensor("self")?;
    let tensor = b.tensor(x)?;
    let device = match (call.argument("device"), call.optional_tensor("other")) {
        (Argument::Device(device), _) => Some(device),
        (_, Some(other)) => Some(b.tensor(other)?.device.clone()),
        _ => None,
    };
    let dtype = dtype.filter(|dtype| *dtype != tensor.dtype);
    let device = device.filter(|device| *device != tensor.device);
    let format = match call.argument("memory_format") {
        Argument::MemoryFormat(MemoryFormat::Preserve) => Argument::None,
        format => format,
    };
    let moves = dtype.is_some() || device.is_some();
    let copies = call.truth("copy").unwrap_or(false);
    if !moves && !copies && matches!(format, Argument::None) {
        return Ok(vec![x]);
    }
    if !moves {
        return b.one_with("clone.default", &[x.into()], &[("memory_format", format)]).map(one);
    }
    let named = [
        ("dtype", dtype.map_or(Argument::None, Argument::Dtype)),
        ("device", device.map_or(Argument::None, Argument::Device)),
        ("memory_format", format),
    ];
    b.one_with("_to_copy.default", &[x.into()], &named).map(one)
}

fn tiled(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let mut times = call.sizes("dims")?;
    while times.len() < b.rank(x)? {
        times.insert(0, Operand::Literal(1));
    }
    b.one("repeat.default", &[x.into(), sizes(&times)]).map(one)
}

/// Tensors one behind the other.
pub fn concatenated(b: &mut Builder<'_, '_>, tensors: Vec<Proxy>, dim: i64) -> Result<Proxy, TraceError> {
    let ids: Vec<ValueId> = tensors.into_iter().map(Proxy::id).collect();
    b.one("cat.default", &[Argument::Tensors(ids), Argument::Int(dim)])
}

/// Part of a dimension.
pub fn sliced(
    b: &mut Builder<'_, '_>,
    x: Proxy,
    dim: usize,
    from: Size,
    to: Size,
) -> Result<Proxy, TraceError> {
    b.one("slice.Tensor", &[x.into(), Argument::Int(dim as i64), size(from), size(to)])
}
