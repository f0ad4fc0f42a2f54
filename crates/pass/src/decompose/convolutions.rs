//! Convolutions and pooling.
use super::Made;
use super::builder::{Builder, Function, Size, sizes};
use super::call::Call;
use super::views::{one, squeezed, unsqueezed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("conv1d.default", |b, call| convolution(b, call, 1)),
    ("conv2d.default", |b, call| convolution(b, call, 2)),
    ("conv3d.default", |b, call| convolution(b, call, 3)),
    ("conv1d.padding", |b, call| convolution(b, call, 1)),
    ("conv2d.padding", |b, call| convolution(b, call, 2)),
    ("conv3d.padding", |b, call| convolution(b, call, 3)),
    ("conv_transpose1d.default", |b, call| convolution(b, call, 1)),
    ("conv_transpose2d.input", |b, call| convolution(b, call, 2)),
    ("conv_transpose3d.input", |b, call| convolution(b, call, 3)),
    ("_convolution.default", general),
    ("max_pool1d.default", max_pool1d),
    ("max_pool2d.default", |b, call| max_pool(b, call, "max_pool2d_with_indices.default", 2)),
    ("max_pool3d.default", |b, call| max_pool(b, call, "max_pool3d_with_indices.default", 3)),
    ("avg_pool1d.default", avg_pool1d),
    ("adaptive_avg_pool1d.default", adaptive_avg_pool1d),
    ("adaptive_avg_pool2d.default", |b, call| adaptive_avg_pool(b, call, 2)),
    ("adaptive_avg_pool3d.default", |b, call| adaptive_avg_pool(b, call, 3)),
];

/// A list of integers, one for each dimension.
fn spread(list: Vec<i64>, rank: usize) -> Vec<i64> {
    if let [only] = list[..] { vec![only; rank] } else { list }
}

fn convolution(b: &mut Builder<'_, '_>, call: &Call<'_>, rank: usize) -> Made {
    let (mut x, weight) = (call.tensor("input")?, call.tensor("weight")?);
    let transposed = call.has("output_padding");
    let dilation = spread(call.ints("dilation")?, rank);
    let stride = spread(call.ints("stride")?, rank);
    let unbatched = b.rank(x)? == rank + 1;
    if unbatched {
        x = unsqueezed(b, x, 0)?;
    }
    let padding = match call.argument("padding") {
        Argument::Str(mode) if &*mode == "valid" => Argument::Ints(vec![0; rank]),
        Argument::Str(_) => {
            let (padded, padding) = same_padding(b, x, weight, &dilation)?;
            x = padded;
            sizes(&padding)
        }
        _ => Argument::Ints(spread(call.ints("padding")?, rank)),
    };
    let output_padding = if transposed { spread(call.ints("output_padding")?, rank) } else { vec![0; rank] };
    let arguments = [
        x.into(),
        weight.into(),
        call.optional_tensor("bias").map_or(Argument::None, Into::into),
        Argument::Ints(stride),
        padding,
        Argument::Ints(dilation),
        Argument::Bool(transposed),
        Argument::Ints(output_padding),
        Argument::Int(call.int("groups")?),
    ];
    let made = b.one("convolution.default", &arguments)?;
    if unbatched { squeezed(b, made, vec![0]).map(one) } else { Ok(vec![made]) }
}

/// What `padding="same"` adds: evenly inside of the convolution, and what is odd before it, at the end.
fn same_padding(
    b: &mut Builder<'_, '_>,
    x: Proxy,
    weight: Proxy,
    dilation: &[i64],
) -> Result<(Proxy, Vec<Size>), TraceError> {
    let two = Operand::Literal(2);
    let (mut inside, mut before) = (Vec::new(), Vec::new());
    for (dim, &dilation) in dilation.iter().enumerate() {
        let kernel = b.size(weight, dim + 2)?;
        let gaps = b.minus(kernel, Operand::Literal(1))?;
        let total = b.times(gaps, Operand::Literal(dilation))?;
        let each = b.divided(total, two)?;
        let both = b.times(each, two)?;
        before.splice(0..0, [Operand::Literal(0), b.minus(total, both)?]);
        inside.push(each);
    }
    if before.iter().all(|&padding| padding == Operand::Literal(0)) {
        return Ok((x, inside));
    }
    let padded = b.one("constant_pad_nd.default", &[x.into(), sizes(&before)])?;
    Ok((padded, inside))
}

fn general(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let names = [
        "input",
        "weight",
        "bias",
        "stride",
        "padding",
        "dilation",
        "transposed",
        "output_padding",
        "groups",
    ];
    b.one("convolution.default", &names.map(|name| call.argument(name))).map(one)
}

fn max_pool(b: &mut Builder<'_, '_>, call: &Call<'_>, op: &str, rank: usize) -> Made {
    let kernel = spread(call.ints("kernel_size")?, rank);
    let stride = call.optional_ints("stride")?.filter(|stride| !stride.is_empty());
    let arguments = [
        call.argument("self"),
        Argument::Ints(kernel.clone()),
        Argument::Ints(stride.map_or(kernel, |stride| spread(stride, rank))),
        Argument::Ints(spread(call.ints("padding")?, rank)),
        Argument::Ints(spread(call.ints("dilation")?, rank)),
        call.argument("ceil_mode"),
    ];
    b.one(op, &arguments).map(one)
}

/// A list for one dimension as one for two, of which the first has the size one.
fn widened(list: Vec<i64>, first: i64) -> Argument {
    Argument::Ints(std::iter::once(first).chain(list).collect())
}

fn max_pool1d(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = unsqueezed(b, call.tensor("self")?, -2)?;
    let kernel = call.ints("kernel_size")?;
    let stride = call.optional_ints("stride")?.filter(|stride| !stride.is_empty());
    let arguments = [
        x.into(),
        widened(kernel.clone(), 1),
        widened(stride.unwrap_or(kernel), 1),
        widened(call.ints("padding")?, 0),
        widened(call.ints("dilation")?, 1),
        call.argument("ceil_mode"),
    ];
    let pooled = b.one("max_pool2d_with_indices.default", &arguments)?;
    let dim = b.rank(pooled)? - 2;
    squeezed(b, pooled, vec![dim]).map(one)
}

fn avg_pool1d(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = unsqueezed(b, call.tensor("self")?, -2)?;
    let kernel = call.ints("kernel_size")?;
    let stride = call.optional_ints("stride")?.filter(|stride| !stride.is_empty());
    let arguments = [
        x.into(),
        widened(kernel.clone(), 1),
        widened(stride.unwrap_or(kernel), 1),
        widened(call.ints("padding")?, 0),
        call.argument("ceil_mode"),
        call.argument("count_include_pad"),
    ];
    let pooled = b.one("avg_pool2d.default", &arguments)?;
    let dim = b.rank(pooled)? - 2;
    squeezed(b, pooled, vec![dim]).map(one)
}

fn adaptive_avg_pool1d(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = unsqueezed(b, call.tensor("self")?, -2)?;
    let size = widened(call.ints("output_size")?, 1);
    let pooled = b.one("_adaptive_avg_pool2d.default", &[x.into(), size])?;
    let dim = b.rank(pooled)? - 2;
    squeezed(b, pooled, vec![dim]).map(one)
}

fn adaptive_avg_pool(b: &mut Builder<'_, '_>, call: &Call<'_>, rank: usize) -> Made {
    let x = call.tensor("self")?;
    let wanted = call.sizes("output_size")?;
    if wanted.iter().all(|size| *size == Operand::Literal(1)) {
        let dims = (1..=rank as i64).map(|dim| -dim).collect();
        return b.one("mean.dim", &[x.into(), Argument::Ints(dims), Argument::Bool(true)]).map(one);
    }
    let op = format!("_adaptive_avg_pool{rank}d.default");
    b.one(&op, &[x.into(), super::builder::sizes(&wanted)]).map(one)
}
