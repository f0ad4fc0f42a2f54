//! Functions of elements that look at dtypes or options.
//!
//! Source: torch 2.15, `torch/_refs/__init__.py` (`nan_to_num`, `isclose`, `float_power`).
use super::Made;
use super::builder::{Builder, Function};
use super::call::{Call, refused};
use super::views::one;
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype};

pub const RULES: &[(&str, Function)] = &[
    ("sgn.default", |b, call| {
        let x = real(b, call)?;
        b.one("sign.default", &[x.into()]).map(one)
    }),
    ("nan_to_num.default", nan_to_num),
    ("isclose.default", isclose),
    ("logit.default", logit),
    ("special_logit.default", logit),
    ("float_power.Tensor_Tensor", |b, call| {
        let (x, power) = (wide(b, call, "self")?, wide(b, call, "exponent")?);
        b.one("pow.Tensor_Tensor", &[x.into(), power.into()]).map(one)
    }),
    ("float_power.Tensor_Scalar", |b, call| {
        let x = wide(b, call, "self")?;
        b.one("pow.Tensor_Scalar", &[x.into(), Argument::Float(call.float("exponent")?)]).map(one)
    }),
    ("float_power.Scalar", |b, call| {
        let power = wide(b, call, "exponent")?;
        b.one("pow.Scalar", &[Argument::Float(call.float("self")?), power.into()]).map(one)
    }),
    ("isreal.default", |b, call| {
        let x = real(b, call)?;
        let named = [("dtype", Argument::Dtype(Dtype::Bool))];
        b.one_with("full_like.default", &[x.into(), Argument::Bool(true)], &named).map(one)
    }),
    ("conj_physical.default", |b, call| real(b, call).map(one)),
];

fn real(b: &Builder<'_, '_>, call: &Call<'_>) -> Result<Proxy, TraceError> {
    let x = call.tensor("self")?;
    if b.dtype(x)?.is_complex() { Err(refused("complex tensors are not decomposed")) } else { Ok(x) }
}

/// An operand in `float64`.
fn wide(b: &mut Builder<'_, '_>, call: &Call<'_>, name: &str) -> Result<Proxy, TraceError> {
    let x = call.tensor(name)?;
    if b.dtype(x)?.is_complex() {
        return Err(refused("complex tensors are not decomposed"));
    }
    b.cast(x, Dtype::Float64)
}

/// The largest number of a dtype.
fn largest(dtype: Dtype) -> Result<f64, TraceError> {
    match dtype {
        Dtype::Float64 => Ok(f64::MAX),
        Dtype::Float32 => Ok(f64::from(f32::MAX)),
        Dtype::Float16 => Ok(65504.0),
        Dtype::Bfloat16 => Ok(f64::from(f32::from_bits(0x7f7f_0000))),
        other => Err(refused(format!("the largest number of {other} is not known"))),
    }
}

/// Numbers in the place of NaN and of infinities.
fn nan_to_num(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let tensor = b.tensor(x)?;
    if !tensor.dtype.is_float() {
        return match tensor.dtype.is_complex() {
            true => Err(refused("complex tensors are not decomposed")),
            false => b.one("clone.default", &[x.into()]).map(one),
        };
    }
    let most = largest(tensor.dtype)?;
    let given = |name: &str, otherwise: f64| match call.argument(name) {
        Argument::None => Ok(otherwise),
        _ => call.float(name),
    };
    let mut made = x;
    let not_a_number = b.one("isnan.default", &[x.into()])?;
    let below = b.one("eq.Scalar", &[x.into(), Argument::Float(f64::NEG_INFINITY)])?;
    let above = b.one("eq.Scalar", &[x.into(), Argument::Float(f64::INFINITY)])?;
    for (mask, value) in [
        (not_a_number, given("nan", 0.0)?),
        (below, given("neginf", -most)?),
        (above, given("posinf", most)?),
    ] {
        let value = b.scalar(Argument::Float(value), tensor.dtype, &tensor.device)?;
        made = b.one("where.self", &[mask.into(), value.into(), made.into()])?;
    }
    Ok(vec![made])
}

/// Equal, or a finite distance apart that is allowed.
fn isclose(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, y) = (call.tensor("self")?, call.tensor("other")?);
    let dtype = b.dtype(x)?;
    if dtype.is_complex() || dtype.is_bool() {
        return Err(refused(format!("{dtype} is left")));
    }
    let mut close = b.one("eq.Tensor", &[x.into(), y.into()])?;
    if call.truth("equal_nan")? && dtype.is_float() {
        let (first, second) = (b.one("isnan.default", &[x.into()])?, b.one("isnan.default", &[y.into()])?);
        let both = b.one("logical_and.default", &[first.into(), second.into()])?;
        close = b.one("logical_or.default", &[close.into(), both.into()])?;
    }
    let (relative, absolute) = (call.float("rtol")?, call.float("atol")?);
    if (relative, absolute) == (0.0, 0.0) {
        return Ok(vec![close]);
    }
    // Integers are compared as numbers of the default dtype.
    let computed = if dtype.is_float() { dtype } else { Dtype::Float32 };
    let (x, y) = (b.cast(x, computed)?, b.cast(y, computed)?);
    let allowed = b.one("mul.Tensor", &[y.into(), Argument::Float(relative)])?;
    let allowed = b.one("abs.default", &[allowed.into()])?;
    let allowed = b.one("add.Tensor", &[allowed.into(), Argument::Float(absolute)])?;
    let distance = b.one("sub.Tensor", &[x.into(), y.into()])?;
    let distance = b.one("abs.default", &[distance.into()])?;
    let finite = b.one("isfinite.default", &[distance.into()])?;
    let within = b.one("le.Tensor", &[distance.into(), allowed.into()])?;
    let within = b.one("logical_and.default", &[finite.into(), within.into()])?;
    b.one("logical_or.default", &[close.into(), within.into()]).map(one)
}

/// The logarithm of what a number is to what is left of 1.
fn logit(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let given = call.tensor("self")?;
    let dtype = b.dtype(given)?;
    let result = if dtype.is_float() { dtype } else { Dtype::Float32 };
    if dtype.is_complex() {
        return Err(refused("complex tensors are not decomposed"));
    }
    let computed = if result == Dtype::Float64 { Dtype::Float64 } else { Dtype::Float32 };
    let mut x = b.cast(given, computed)?;
    if !matches!(call.argument("eps"), Argument::None) {
        let edge = call.float("eps")?;
        x = b.one("clamp.default", &[x.into(), Argument::Float(edge), Argument::Float(1.0 - edge)])?;
    }
    let rest = b.one("neg.default", &[x.into()])?;
    let rest = b.one("add.Tensor", &[rest.into(), Argument::Float(1.0)])?;
    let ratio = b.one("div.Tensor", &[x.into(), rest.into()])?;
    let made = b.one("log.default", &[ratio.into()])?;
    b.cast(made, result).map(one)
}
