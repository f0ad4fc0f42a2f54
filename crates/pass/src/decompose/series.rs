//! Numbers in a row, windows of signals, and sums along a row.
//!
//! Source: torch 2.15, `torch/_refs/__init__.py` (`linspace`, `logspace`), `aten/src/ATen/native/TensorFactories.cpp`
//! (`hann_window`) and `aten/src/ATen/native/Integration.cpp`.
use super::Made;
use super::builder::{Builder, Function, Size, size};
use super::call::{Call, refused};
use super::creation::numbers;
use super::views::{concatenated, one, sliced, unsqueezed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("linspace.default", |b, call| {
        let (dtype, device) = result(b, call)?;
        evenly(b, call, dtype, &device).map(one)
    }),
    ("logspace.default", logspace),
    ("hann_window.default", |b, call| hann(b, call, true)),
    ("hann_window.periodic", |b, call| hann(b, call, call.truth("periodic")?)),
    ("trapezoid.dx", |b, call| trapezoid(b, call, false)),
    ("trapezoid.x", |b, call| trapezoid(b, call, false)),
    ("trapz.dx", |b, call| trapezoid(b, call, false)),
    ("trapz.x", |b, call| trapezoid(b, call, false)),
    ("cumulative_trapezoid.dx", |b, call| trapezoid(b, call, true)),
    ("cumulative_trapezoid.x", |b, call| trapezoid(b, call, true)),
    ("gradient.scalarint", gradient),
];

/// The dtype and device of what a call makes.
fn result(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Result<(Dtype, sizewise_ir::Device), TraceError> {
    let op = call.schema.qualified().to_string();
    let made = b.foreseen(call, &op).ok_or_else(|| refused("its result is not known"))?;
    Ok((made.dtype, made.device.clone()))
}

/// Numbers from `start` to `end`, each half counted from its own end, so that both ends are exact.
fn evenly(
    b: &mut Builder<'_, '_>,
    call: &Call<'_>,
    dtype: Dtype,
    device: &sizewise_ir::Device,
) -> Result<Proxy, TraceError> {
    let (start, end, steps) = (call.float("start")?, call.float("end")?, call.size("steps")?);
    if dtype.is_complex() || dtype.is_bool() {
        return Err(refused(format!("{dtype} is left")));
    }
    let computed = match dtype {
        Dtype::Float64 => Dtype::Float64,
        Dtype::Float32 | Dtype::Float16 | Dtype::Bfloat16 => Dtype::Float32,
        // Integers are computed from exact ones, and cut off at the end.
        _ => Dtype::Int64,
    };
    let parts = b.minus(steps, Operand::Literal(1))?;
    let parts = b.at_least(parts, 1)?;
    let step = match parts {
        Operand::Literal(parts) => Argument::Float((end - start) / parts as f64),
        parts => b.computed("_operator.truediv", &[Argument::Float(end - start), size(parts)])?,
    };
    let places = numbers(b, steps, device)?;
    let half = b.ratio(steps, Operand::Literal(2))?;
    let first = b.one("lt.Scalar", &[places.into(), half])?;
    let last = b.minus(steps, Operand::Literal(1))?;
    let minus = b.one("neg.default", &[places.into()])?;
    let back = b.one("add.Tensor", &[minus.into(), size(last)])?;
    let (places, back) = (b.cast(places, computed)?, b.cast(back, computed)?);
    let from_start = b.one("mul.Tensor", &[places.into(), step.clone()])?;
    let from_start = b.one("add.Tensor", &[from_start.into(), Argument::Float(start)])?;
    let to_end = b.one("mul.Tensor", &[back.into(), step])?;
    let to_end = b.one("neg.default", &[to_end.into()])?;
    let to_end = b.one("add.Tensor", &[to_end.into(), Argument::Float(end)])?;
    let made = b.one("where.self", &[first.into(), from_start.into(), to_end.into()])?;
    b.cast(made, dtype)
}

fn logspace(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (dtype, device) = result(b, call)?;
    if !dtype.is_float() {
        return Err(refused(format!("{dtype} is left")));
    }
    let base = call.float("base")?;
    let powers = evenly(b, call, Dtype::Float64, &device)?;
    let made = b.one("pow.Scalar", &[Argument::Float(base), powers.into()])?;
    b.cast(made, dtype).map(one)
}

/// Half of one less than a cosine, over a period, or up to its end.
fn hann(b: &mut Builder<'_, '_>, call: &Call<'_>, periodic: bool) -> Made {
    let (dtype, device) = result(b, call)?;
    let length = call.size("window_length")?;
    let at_least_two = matches!(length, Operand::Literal(length) if length > 1);
    if !at_least_two || !matches!(dtype, Dtype::Float32 | Dtype::Float64) {
        return Err(refused("a window that may have fewer than two elements, or halves, is left"));
    }
    let count = if periodic { b.plus(length, Operand::Literal(1))? } else { length };
    let Operand::Literal(last) = b.minus(count, Operand::Literal(1))? else {
        return Err(refused("its length is symbolic"));
    };
    let named = [("dtype", Argument::Dtype(dtype)), ("device", Argument::Device(device))];
    let places = b.one_with("arange.start_step", &[Argument::Int(0), size(length)], &named)?;
    let turn = Argument::Float(2.0 * std::f64::consts::PI / last as f64);
    let turned = b.one("mul.Tensor", &[places.into(), turn])?;
    let cosine = b.one("cos.default", &[turned.into()])?;
    let scaled = b.one("mul.Tensor", &[cosine.into(), Argument::Float(-0.5)])?;
    b.one("add.Tensor", &[scaled.into(), Argument::Float(0.5)]).map(one)
}

/// A dimension without its first element, and without its last.
fn neighbours(b: &mut Builder<'_, '_>, x: Proxy, dim: usize) -> Result<(Proxy, Proxy), TraceError> {
    let full = b.size(x, dim)?;
    let last = b.minus(full, Operand::Literal(1))?;
    Ok((sliced(b, x, dim, Operand::Literal(1), full)?, sliced(b, x, dim, Operand::Literal(0), last)?))
}

/// The area below a row of points: of each piece added up, or of all.
fn trapezoid(b: &mut Builder<'_, '_>, call: &Call<'_>, cumulative: bool) -> Made {
    let y = call.tensor("y")?;
    let tensor = b.tensor(y)?;
    let rank = tensor.sizes.len();
    let dim = b.dim(call.int("dim")?, rank)?;
    if rank == 0 || !tensor.dtype.is_float() || !b.has_at_least(y, dim, 1)? {
        return Err(refused("a row that may be empty, and other than floating numbers, are not decomposed"));
    }
    let (behind, before) = neighbours(b, y, dim)?;
    let sums = b.one("add.Tensor", &[behind.into(), before.into()])?;
    let halves = match call.optional_tensor("x") {
        Some(mut x) => {
            let at = if b.rank(x)? == 1 { 0 } else { b.dim(call.int("dim")?, b.rank(x)?)? };
            let single = b.rank(x)? == 1;
            if !single && b.rank(x)? != rank || b.dtype(x)? != tensor.dtype {
                return Err(refused("places of another rank or dtype are not decomposed"));
            }
            let behind = if single { rank - 1 - dim } else { 0 };
            for _ in 0..behind {
                x = unsqueezed(b, x, -1)?;
            }
            let (behind, before) = neighbours(b, x, at)?;
            let widths = b.one("sub.Tensor", &[behind.into(), before.into()])?;
            b.one("mul.Tensor", &[sums.into(), widths.into()])?
        }
        None => {
            let width = call.argument("dx");
            if matches!(width, Argument::Int(1)) { sums } else { b.one("mul.Tensor", &[sums.into(), width])? }
        }
    };
    let halves = b.one("mul.Tensor", &[halves.into(), Argument::Float(0.5)])?;
    if cumulative {
        return b.one("cumsum.default", &[halves.into(), Argument::Int(dim as i64)]).map(one);
    }
    b.one("sum.dim_IntList", &[halves.into(), Argument::Ints(vec![dim as i64])]).map(one)
}

/// Differences of neighbours in each dimension: of one on each side within, of one side at the ends.
fn gradient(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let (rank, spacing) = (b.rank(x)?, call.argument("spacing"));
    let spacing = if matches!(spacing, Argument::None) { 1.0 } else { call.float("spacing")? };
    let dims = match call.argument("dim") {
        Argument::None => (0..rank).collect(),
        _ => vec![b.dim(call.int("dim")?, rank)?],
    };
    if !b.dtype(x)?.is_float() || call.int("edge_order")? != 1 {
        return Err(refused("integers, and edges of second order, are not decomposed"));
    }
    let mut made = Vec::with_capacity(dims.len());
    for dim in dims {
        if !b.has_at_least(x, dim, 2)? {
            return Err(refused("a dimension may have fewer than two elements"));
        }
        let full = b.size(x, dim)?;
        let at = |b: &mut Builder<'_, '_>, back: i64| b.minus(full, Operand::Literal(back));
        let (last, before, two) = (at(b, 1)?, at(b, 2)?, Operand::Literal(2));
        let mut parts = Vec::with_capacity(3);
        for (from, to, apart) in [
            ((Operand::Literal(0), Operand::Literal(1)), (Operand::Literal(1), two), 1.0),
            ((Operand::Literal(0), before), (two, full), 2.0),
            ((before, last), (last, full), 1.0),
        ] {
            parts.push(slope(b, (x, dim), [from, to], apart * spacing)?);
        }
        made.push(concatenated(b, parts, dim as i64)?);
    }
    Ok(made)
}

/// The difference of two parts of a dimension, by how far they lie apart.
fn slope(
    b: &mut Builder<'_, '_>,
    (x, dim): (Proxy, usize),
    [from, to]: [(Size, Size); 2],
    apart: f64,
) -> Result<Proxy, TraceError> {
    let (before, behind) = (sliced(b, x, dim, from.0, from.1)?, sliced(b, x, dim, to.0, to.1)?);
    let difference = b.one("sub.Tensor", &[behind.into(), before.into()])?;
    b.one("div.Tensor", &[difference.into(), Argument::Float(apart)])
}
