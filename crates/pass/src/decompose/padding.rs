//! Padding, and reordering of pixels.
use super::Made;
use super::builder::{Builder, Function, size};
use super::call::{Call, refused};
use super::views::{copied, one, permuted, reshaped, viewed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("pad.default", pad),
    ("reflection_pad1d.default", |b, call| {
        padded(b, call.tensor("self")?, &call.ints("padding")?, Mode::Reflect)
    }),
    ("reflection_pad2d.default", |b, call| {
        padded(b, call.tensor("self")?, &call.ints("padding")?, Mode::Reflect)
    }),
    ("reflection_pad3d.default", |b, call| {
        padded(b, call.tensor("self")?, &call.ints("padding")?, Mode::Reflect)
    }),
    ("replication_pad1d.default", |b, call| {
        padded(b, call.tensor("self")?, &call.ints("padding")?, Mode::Replicate)
    }),
    ("replication_pad2d.default", |b, call| {
        padded(b, call.tensor("self")?, &call.ints("padding")?, Mode::Replicate)
    }),
    ("replication_pad3d.default", |b, call| {
        padded(b, call.tensor("self")?, &call.ints("padding")?, Mode::Replicate)
    }),
    ("pixel_shuffle.default", pixel_shuffle),
    ("pixel_unshuffle.default", pixel_unshuffle),
    ("channel_shuffle.default", channel_shuffle),
];

/// What stands beside the tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Reflect,
    Replicate,
    Circular,
}

fn pad(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let mode = match call.text("mode").as_deref() {
        Ok("constant") | Err(_) => {
            let value = match call.argument("value") {
                Argument::None => Argument::Int(0),
                value => value,
            };
            let padding = super::builder::sizes(&call.sizes("pad")?);
            return b.one("constant_pad_nd.default", &[x.into(), padding, value]).map(one);
        }
        Ok("reflect") => Mode::Reflect,
        Ok("replicate") => Mode::Replicate,
        Ok("circular") => Mode::Circular,
        Ok(mode) => return Err(refused(format!("the mode `{mode}` is not known"))),
    };
    padded(b, x, &call.ints("pad")?, mode)
}

/// Each dimension by an index: which element stands at each place.
fn padded(b: &mut Builder<'_, '_>, x: Proxy, padding: &[i64], mode: Mode) -> Made {
    let rank = b.rank(x)?;
    let count = padding.len() / 2;
    if count > rank {
        return Err(refused("it pads more dimensions than there are"));
    }
    let mut made = x;
    for dim in rank - count..rank {
        let at = 2 * (rank - 1 - dim);
        let (before, after) = (padding[at], padding[at + 1]);
        if (before, after) == (0, 0) {
            continue;
        }
        let index = places(b, made, dim, (before, after), mode)?;
        let mut indices: Vec<Option<sizewise_ir::ValueId>> = vec![None; dim];
        indices.push(Some(index.id()));
        made = b.one("index.Tensor", &[made.into(), Argument::OptionalTensors(indices)])?;
    }
    Ok(vec![made])
}

fn places(
    b: &mut Builder<'_, '_>,
    x: Proxy,
    dim: usize,
    (before, after): (i64, i64),
    mode: Mode,
) -> Result<Proxy, TraceError> {
    let device = ("device", Argument::Device(b.tensor(x)?.device.clone()));
    let full = b.size(x, dim)?;
    let end = b.plus(full, Operand::Literal(after))?;
    let start = before.checked_neg().ok_or_else(|| refused("its padding is beyond 64 bits"))?;
    let numbers = b.one_with("arange.start_step", &[Argument::Int(start), size(end)], &[device])?;
    let last = b.minus(full, Operand::Literal(1))?;
    match mode {
        Mode::Replicate => b.one("clamp.default", &[numbers.into(), Argument::Int(0), size(last)]),
        Mode::Circular => b.one("remainder.Scalar", &[numbers.into(), size(full)]),
        Mode::Reflect => {
            let mut made = numbers;
            for _ in 0..2 {
                let distance = b.one("abs.default", &[made.into()])?;
                made = b.one("sub.Tensor", &[size(last), distance.into()])?;
            }
            Ok(made)
        }
    }
}

/// The channels `c r r` of pixels become pixels.
fn pixel_shuffle(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, r) = (call.tensor("self")?, Operand::Literal(call.int("upscale_factor")?));
    let shape = b.sizes(x)?;
    let Some((batch, &[channels, height, width])) = shape.split_last_chunk::<3>() else {
        return Err(refused("its operand has fewer than three dimensions"));
    };
    let area = b.times(r, r)?;
    let fewer = b.divided(channels, area)?;
    let n = batch.len();
    let apart = reshaped(b, x, &[batch, &[fewer, r, r, height, width]].concat())?;
    let order = (0..n).chain([n, n + 3, n + 1, n + 4, n + 2]);
    let turned = permuted(b, apart, order)?;
    let (high, wide) = (b.times(height, r)?, b.times(width, r)?);
    let copy = copied(b, turned)?;
    viewed(b, copy, &[batch, &[fewer, high, wide]].concat()).map(one)
}

fn pixel_unshuffle(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, r) = (call.tensor("self")?, Operand::Literal(call.int("downscale_factor")?));
    let shape = b.sizes(x)?;
    let Some((batch, &[channels, height, width])) = shape.split_last_chunk::<3>() else {
        return Err(refused("its operand has fewer than three dimensions"));
    };
    let (high, wide) = (b.divided(height, r)?, b.divided(width, r)?);
    let n = batch.len();
    let apart = reshaped(b, x, &[batch, &[channels, high, r, wide, r]].concat())?;
    let turned = permuted(b, apart, (0..n).chain([n, n + 2, n + 4, n + 1, n + 3]))?;
    let area = b.times(r, r)?;
    let more = b.times(channels, area)?;
    let copy = copied(b, turned)?;
    viewed(b, copy, &[batch, &[more, high, wide]].concat()).map(one)
}

fn channel_shuffle(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, groups) = (call.tensor("self")?, Operand::Literal(call.int("groups")?));
    let shape = b.sizes(x)?;
    let (Some(&batch), Some(&channels)) = (shape.first(), shape.get(1)) else {
        return Err(refused("its operand has fewer than two dimensions"));
    };
    let each = b.divided(channels, groups)?;
    let apart = reshaped(b, x, &[&[batch, groups, each], &shape[2..]].concat())?;
    let rank = shape.len() + 1;
    let turned = permuted(b, apart, [0, 2, 1].into_iter().chain(3..rank))?;
    reshaped(b, turned, &shape).map(one)
}
