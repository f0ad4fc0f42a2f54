//! Elements that change places along dimensions.
use super::Made;
use super::builder::{Builder, Function, Size, size};
use super::call::{Call, refused};
use super::creation::numbers;
use super::views::{one, reshaped, transposed, viewed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("roll.default", roll),
    ("fft_fftshift.default", |b, call| shift_to_middle(b, call, false)),
    ("fft_ifftshift.default", |b, call| shift_to_middle(b, call, true)),
    ("fliplr.default", |b, call| {
        b.one("flip.default", &[call.argument("self"), Argument::Ints(vec![1])]).map(one)
    }),
    ("flipud.default", |b, call| {
        b.one("flip.default", &[call.argument("self"), Argument::Ints(vec![0])]).map(one)
    }),
    ("rot90.default", rot90),
];

fn roll(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let (shifts, dims) = (call.sizes("shifts")?, call.ints("dims")?);
    let rank = b.rank(x)?;
    if let ([shift], true) = (shifts.as_slice(), dims.is_empty()) {
        let shape = b.sizes(x)?;
        let flat = reshaped(b, x, &[Operand::Literal(-1)])?;
        let moved = rolled(b, flat, *shift, 0)?;
        return viewed(b, moved, &shape).map(one);
    }
    if shifts.len() != dims.len() {
        return Err(refused("it has other shifts than dimensions"));
    }
    let mut made = x;
    for (shift, dim) in shifts.into_iter().zip(dims) {
        let dim = b.dim(dim, rank)?;
        made = rolled(b, made, shift, dim)?;
    }
    Ok(vec![made])
}

/// A dimension whose elements move up by so many places, those at the end to the front.
fn rolled(b: &mut Builder<'_, '_>, x: Proxy, shift: Size, dim: usize) -> Result<Proxy, TraceError> {
    let device = b.tensor(x)?.device.clone();
    let full = b.size(x, dim)?;
    let places = numbers(b, full, &device)?;
    let moved = b.one("sub.Tensor", &[places.into(), size(shift)])?;
    let index = b.one("remainder.Scalar", &[moved.into(), size(full)])?;
    b.one("index_select.default", &[x.into(), Argument::Int(dim as i64), index.into()])
}

/// Moves the first element of each dimension to its middle, or back.
fn shift_to_middle(b: &mut Builder<'_, '_>, call: &Call<'_>, back: bool) -> Made {
    let mut x = call.tensor("self")?;
    let rank = b.rank(x)?;
    let dims = match call.optional_ints("dim")? {
        Some(dims) => dims.into_iter().map(|dim| b.dim(dim, rank)).collect::<Result<Vec<_>, _>>()?,
        None => (0..rank).collect(),
    };
    for dim in dims {
        let full = b.size(x, dim)?;
        let longer = b.plus(full, Operand::Literal(i64::from(back)))?;
        let half = b.divided(longer, Operand::Literal(2))?;
        x = rolled(b, x, half, dim)?;
    }
    Ok(vec![x])
}

fn rot90(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let rank = b.rank(x)?;
    let dims = call.ints("dims")?.into_iter().map(|dim| b.dim(dim, rank)).collect::<Result<Vec<_>, _>>()?;
    let [first, second] = dims[..] else { return Err(refused("it turns two dimensions")) };
    let mut flip =
        |x: Proxy, dims: Vec<usize>| b.one("flip.default", &[x.into(), super::builder::dims(dims)]);
    let made = match call.int("k")?.rem_euclid(4) {
        0 => return b.one("clone.default", &[x.into()]).map(one),
        1 => flip(x, vec![second])?,
        2 => return flip(x, vec![first, second]).map(one),
        _ => flip(x, vec![first])?,
    };
    transposed(b, made, first, second).map(one)
}
