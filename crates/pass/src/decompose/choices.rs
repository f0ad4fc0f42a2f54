//! Elements chosen by indices and by what they are, and diagonals.
//!
//! Source: torch 2.15, `torch/_decomp/decompositions.py` (`isin`, `take`, `max_unpool2d`) and `torch/_refs/__init__.py`
//! (`diag_embed`, `take_along_dim`).
use super::Made;
use super::builder::{Builder, Function, size};
use super::call::{Call, refused};
use super::creation::numbers;
use super::views::{copied, one, permuted, reshaped, squeezed, unsqueezed, viewed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, Operand, ValueId};

pub const RULES: &[(&str, Function)] = &[
    ("one_hot.default", one_hot),
    ("isin.Tensor_Tensor", isin),
    ("isin.Tensor_Scalar", |b, call| {
        let op = if call.truth("invert")? { "ne.Scalar" } else { "eq.Scalar" };
        b.one(op, &[call.argument("elements"), call.argument("test_element")]).map(one)
    }),
    ("isin.Scalar_Tensor", |b, call| {
        let same = b.one("eq.Scalar", &[call.argument("test_elements"), call.argument("element")])?;
        let found = b.one("any.dims", &[same.into(), Argument::None])?;
        if call.truth("invert")? {
            b.one("logical_not.default", &[found.into()]).map(one)
        } else {
            Ok(vec![found])
        }
    }),
    ("take.default", |b, call| {
        let flat = reshaped(b, call.tensor("self")?, &[Operand::Literal(-1)])?;
        let index = Argument::OptionalTensors(vec![Some(call.tensor("index")?.id())]);
        b.one("index.Tensor", &[flat.into(), index]).map(one)
    }),
    ("put.default", |b, call| {
        let x = call.tensor("self")?;
        let shape = b.sizes(x)?;
        let flat = reshaped(b, x, &[Operand::Literal(-1)])?;
        // As many elements as places, in whatever shapes.
        let places = reshaped(b, call.tensor("index")?, &[Operand::Literal(-1)])?;
        let source = reshaped(b, call.tensor("source")?, &[Operand::Literal(-1)])?;
        let index = Argument::OptionalTensors(vec![Some(places.id())]);
        let given = [flat.into(), index, source.into(), call.argument("accumulate")];
        let put = b.one("index_put.default", &given)?;
        viewed(b, put, &shape).map(one)
    }),
    ("index_fill.int_Scalar", |b, call| {
        let tensor = b.tensor(call.tensor("self")?)?;
        let value = b.scalar(call.argument("value"), tensor.dtype, &tensor.device)?;
        index_fill(b, call, value)
    }),
    ("index_fill.int_Tensor", |b, call| {
        let dtype = b.dtype(call.tensor("self")?)?;
        let value = b.cast(call.tensor("value")?, dtype)?;
        index_fill(b, call, value)
    }),
    ("take_along_dim.default", take_along),
    ("diag_embed.default", |b, call| {
        let x = call.tensor("self")?;
        let dims = (call.int("dim1")?, call.int("dim2")?);
        embedded(b, x, call.int("offset")?, dims).map(one)
    }),
    ("diag.default", |b, call| {
        let (x, offset) = (call.tensor("self")?, call.int("diagonal")?);
        if b.rank(x)? == 1 {
            return embedded(b, x, offset, (0, 1)).map(one);
        }
        let found = b.one("diagonal.default", &[x.into(), Argument::Int(offset)])?;
        b.one("clone.default", &[found.into()]).map(one)
    }),
    ("diagflat.default", |b, call| {
        let flat = reshaped(b, call.tensor("self")?, &[Operand::Literal(-1)])?;
        embedded(b, flat, call.int("offset")?, (0, 1)).map(one)
    }),
    ("trace.default", |b, call| {
        let found = b.one("diagonal.default", &[call.argument("self")])?;
        b.one("sum.default", &[found.into()]).map(one)
    }),
    ("embedding_bag.default", bags),
    ("embedding_bag.padding_idx", bags),
    ("max_pool1d_with_indices.default", max_pool1d),
    ("max_unpool2d.default", unpooled),
];

/// 1 at the place that each number names, of a known number of places.
fn one_hot(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let classes = call.int("num_classes")?;
    if classes < 1 {
        return Err(refused("data decide how many classes there are"));
    }
    let device = b.tensor(x)?.device.clone();
    let places = numbers(b, Operand::Literal(classes), &device)?;
    let x = unsqueezed(b, x, -1)?;
    let same = b.one("eq.Tensor", &[x.into(), places.into()])?;
    b.cast(same, Dtype::Int64).map(one)
}

/// Whether each element is one of others: each is compared with all.
fn isin(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, mut others) = (call.tensor("elements")?, call.tensor("test_elements")?);
    if b.rank(others)? == 0 {
        others = unsqueezed(b, others, 0)?;
    }
    let flat = reshaped(b, others, &[Operand::Literal(-1)])?;
    let column = unsqueezed(b, x, -1)?;
    let same = b.one("eq.Tensor", &[column.into(), flat.into()])?;
    let found = b.one("any.dim", &[same.into(), Argument::Int(-1)])?;
    if call.truth("invert")? {
        b.one("logical_not.default", &[found.into()]).map(one)
    } else {
        Ok(vec![found])
    }
}

fn index_fill(b: &mut Builder<'_, '_>, call: &Call<'_>, value: Proxy) -> Made {
    let (x, mut index) = (call.tensor("self")?, call.tensor("index")?);
    if b.rank(x)? == 0 {
        return Err(refused("an operand without dimensions is left"));
    }
    let dim = b.dim(call.int("dim")?, b.rank(x)?)?;
    if b.rank(index)? == 0 {
        index = unsqueezed(b, index, 0)?;
    }
    let index = b.cast(index, Dtype::Int64)?;
    let mut indices: Vec<Option<ValueId>> = vec![None; dim];
    indices.push(Some(index.id()));
    b.one("index_put.default", &[x.into(), Argument::OptionalTensors(indices), value.into()]).map(one)
}

/// The elements at indices along a dimension; other sizes are broadcast.
fn take_along(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, index) = (call.tensor("self")?, call.tensor("indices")?);
    if matches!(call.argument("dim"), Argument::None) {
        let flat = reshaped(b, x, &[Operand::Literal(-1)])?;
        let index = reshaped(b, index, &[Operand::Literal(-1)])?;
        return b.one("gather.default", &[flat.into(), Argument::Int(0), index.into()]).map(one);
    }
    let dim = b.dim(call.int("dim")?, b.rank(x)?)?;
    let (mut places, mut wide) = (b.sizes(index)?, b.sizes(x)?);
    if places.len() != wide.len() {
        return Err(refused("operands of other ranks are not decomposed"));
    }
    let (picked, full) = (places[dim], wide[dim]);
    let (x_sizes, index_sizes) = (b.tensor(x)?.sizes.clone(), b.tensor(index)?.sizes.clone());
    for at in 0..wide.len() {
        let met = match (wide[at], places[at]) {
            _ if at == dim => continue,
            (Operand::Literal(1), other) => other,
            (size, other) if other == Operand::Literal(1) || x_sizes[at] == index_sizes[at] => size,
            _ => return Err(refused("it is open whether sizes that meet are one")),
        };
        (wide[at], places[at]) = (met, met);
    }
    (places[dim], wide[dim]) = (picked, full);
    let index = super::views::expanded(b, index, &places)?;
    let x = super::views::expanded(b, x, &wide)?;
    let index = b.one("remainder.Scalar", &[index.into(), size(full)])?;
    b.one("gather.default", &[x.into(), Argument::Int(dim as i64), index.into()]).map(one)
}

/// The last dimension as a diagonal of two, with zeros beside it.
fn embedded(
    b: &mut Builder<'_, '_>,
    x: Proxy,
    mut offset: i64,
    (first, second): (i64, i64),
) -> Result<Proxy, TraceError> {
    let rank = b.rank(x)? + 1;
    let (mut first, mut second) = (b.dim(first, rank)?, b.dim(second, rank)?);
    if first > second {
        (first, second, offset) = (second, first, offset.saturating_neg());
    }
    let tensor = b.tensor(x)?;
    let longer = i64::try_from(offset.unsigned_abs()).map_err(|_| refused("its offset is beyond 64 bits"))?;
    // The element of column `c` lies in row `c - offset`: what is in front of it is never seen.
    let edges = if offset > 0 { vec![longer, 0] } else { vec![0, longer] };
    let padded = match longer {
        0 => x,
        _ => b.one("constant_pad_nd.default", &[x.into(), Argument::Ints(edges), Argument::Int(0)])?,
    };
    let columns = b.size(padded, rank - 2)?;
    let lying = unsqueezed(b, padded, first as i64)?;
    let mut order: Vec<usize> = (0..rank - 1).collect();
    order.insert(second, rank - 1);
    let lying = permuted(b, lying, order)?;
    let places = numbers(b, columns, &tensor.device)?;
    let rows = b.one("add.Tensor", &[places.into(), Argument::Int(offset)])?;
    let rows = unsqueezed(b, rows, -1)?;
    let on_diagonal = b.one("eq.Tensor", &[places.into(), rows.into()])?;
    let mut shape = vec![Operand::Literal(1); rank];
    (shape[first], shape[second]) = (columns, columns);
    let on_diagonal = viewed(b, on_diagonal, &shape)?;
    let made = if tensor.dtype.is_bool() {
        b.one("logical_and.default", &[on_diagonal.into(), lying.into()])?
    } else {
        let zero = b.scalar(Argument::Int(0), tensor.dtype, &tensor.device)?;
        b.one("where.self", &[on_diagonal.into(), lying.into(), zero.into()])?
    };
    if b.is_contiguous(made)? { Ok(made) } else { copied(b, made) }
}

/// Bags as training makes them, which is the form of the core set.
fn bags(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let names =
        ["weight", "indices", "offsets", "scale_grad_by_freq", "mode", "sparse", "per_sample_weights"];
    let mut given: Vec<Argument> = names.map(|name| call.argument(name)).into();
    given.push(call.argument("include_last_offset"));
    if call.has("padding_idx") && !matches!(call.argument("padding_idx"), Argument::None) {
        let mut row = call.int("padding_idx")?;
        if row < 0 {
            let Operand::Literal(rows) = b.size(call.tensor("weight")?, 0)? else {
                return Err(refused("a row counted from the end of a table of any size is left"));
            };
            row += rows;
        }
        given.push(Argument::Int(row));
    }
    b.call_with("_embedding_bag.default", &given, &[])
}

/// As the pool of an image of one row.
fn max_pool1d(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = unsqueezed(b, call.tensor("self")?, -2)?;
    let rank = b.rank(x)?;
    let mut given = vec![x.into()];
    for (name, other) in [("kernel_size", 1), ("stride", 1), ("padding", 0), ("dilation", 1)] {
        let list = call.ints(name)?;
        given.push(Argument::Ints(list.first().map_or_else(Vec::new, |&value| vec![other, value])));
    }
    given.push(call.argument("ceil_mode"));
    let made = b.call_with("max_pool2d_with_indices.default", &given, &[])?;
    made.into_iter().map(|made| squeezed(b, made, vec![rank - 2])).collect()
}

/// Elements put back where the largest ones were, with zeros beside them.
fn unpooled(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, index) = (call.tensor("self")?, call.tensor("indices")?);
    let (tensor, shape) = (b.tensor(x)?, b.sizes(x)?);
    let mut made = shape[..shape.len() - 2].to_vec();
    let images = b.product(&made)?;
    let places = call.sizes("output_size")?;
    let area = b.product(&places)?;
    let numbers = numbers(b, images, &tensor.device)?;
    let starts = b.one("mul.Tensor", &[numbers.into(), size(area)])?;
    let starts = viewed(b, starts, &[made.as_slice(), &[Operand::Literal(1); 2]].concat())?;
    let index = b.one("add.Tensor", &[index.into(), starts.into()])?;
    let index = reshaped(b, index, &[Operand::Literal(-1)])?;
    let values = reshaped(b, x, &[Operand::Literal(-1)])?;
    let all = b.times(images, area)?;
    let named =
        [("dtype", Argument::Dtype(tensor.dtype)), ("device", Argument::Device(tensor.device.clone()))];
    let zeros = b.one_with("full.default", &[super::builder::sizes(&[all]), Argument::Int(0)], &named)?;
    let index = Argument::OptionalTensors(vec![Some(index.id())]);
    let put = b.one("index_put.default", &[zeros.into(), index, values.into()])?;
    made.extend(places);
    let image = viewed(b, put, &made)?;
    b.laid_out_like(image, x).map(one)
}
