//! Fake quantisation: rounding to what integers of a scale and a zero point can hold, in floating point.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value, Values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[fake_quantize::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| per_tensor(cx, args, false) => "aten.fake_quantize_per_tensor_affine.default";
    |cx, args| per_tensor(cx, args, true) => "aten.fake_quantize_per_tensor_affine_cachemask.default";
    |cx, args| by_tensors(cx, args, &["scale", "zero_point"], false) =>
        "aten.fake_quantize_per_tensor_affine.tensor_qparams";
    |cx, args| by_tensors(cx, args, &["fake_quant_enabled", "scale", "zero_point"], true) =>
        "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default";
    learnable_per_tensor => "aten._fake_quantize_learnable_per_tensor_affine.default";
    |cx, args| per_channel(cx, args, Domain::HALF, false) => "aten.fake_quantize_per_channel_affine.default";
    |cx, args| per_channel(cx, args, Domain::HALF, true) => "aten.fake_quantize_per_channel_affine_cachemask.default";
    |cx, args| per_channel(cx, args, Domain::REAL_BOOL, false) =>
        "aten._fake_quantize_learnable_per_channel_affine.default";
    backward => "aten.fake_quantize_per_channel_affine_cachemask_backward.default",
        "aten.fake_quantize_per_tensor_affine_cachemask_backward.default";
    observed => "aten._fused_moving_avg_obs_fq_helper_functional.default";
};

/// The operand rounded, and with `masked` where it was within the range, both laid out as it is.
fn rounded(cx: &mut Cx, x: &Tensor, masked: bool) -> KernelResult {
    cx.require_kind(x, Domain::FLOAT.on_cpu(), fake_quantize::C1)?;
    Ok(laid_out(cx, x, masked))
}

fn laid_out(cx: &mut Cx, x: &Tensor, masked: bool) -> Values {
    let strides = cx.preserved_strides(x);
    let mut results = Values::new();
    results.push(cx.strided(x.sizes.clone(), strides.clone(), x.dtype, &x.device).into());
    if masked {
        results.push(cx.strided(x.sizes.clone(), strides, Dtype::Bool, &x.device).into());
    }
    results
}

fn range(cx: &mut Cx, args: &Args) -> Result<[Expr; 2], KernelError> {
    let (least, most) = (args.int("quant_min")?, args.int("quant_max")?);
    let ordered = cx.le(least, most);
    cx.require(ordered, fake_quantize::C2, |cx| {
        format!("quant_min {} exceeds quant_max {}", cx.show(least), cx.show(most))
    })?;
    Ok([least, most])
}

/// `fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, int quant_max) ->
/// (Tensor output, Tensor mask)` and without the mask.
fn per_tensor(cx: &mut Cx, args: &Args, masked: bool) -> KernelResult {
    let ([least, most], zero) = (range(cx, args)?, args.int("zero_point")?);
    let (above, below) = (cx.ge(zero, least), cx.le(zero, most));
    let within = cx.all(&[above, below]);
    cx.require(within, fake_quantize::C3, |cx| format!("the zero point {} is out of range", cx.show(zero)))?;
    rounded(cx, args.tensor("self")?, masked)
}

/// `_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, Tensor
/// fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)`, and
/// `fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int
/// quant_max) -> Tensor`, which always quantises.
fn by_tensors(cx: &mut Cx, args: &Args, numbers: &[&str], masked: bool) -> KernelResult {
    range(cx, args)?;
    for name in numbers {
        let numel = cx.numel(args.tensor(name)?);
        cx.require_eq(numel, Expr::ONE, fake_quantize::C4, &format!("{name} is to be one element"))?;
    }
    rounded(cx, args.tensor("self")?, masked)
}

/// `_fake_quantize_learnable_per_tensor_affine(Tensor self, Tensor scale, Tensor zero_point, int quant_min, int
/// quant_max, float grad_factor=1.) -> Tensor`.
fn learnable_per_tensor(cx: &mut Cx, args: &Args) -> KernelResult {
    for name in ["scale", "zero_point"] {
        let t = args.tensor(name)?;
        cx.check(t.rank() > 0, fake_quantize::C5, |_| format!("{name} has no dimension"))?;
        let some = cx.gt(t.size(0), 0);
        cx.require(some, fake_quantize::C5, |_| format!("{name} is empty"))?;
        let numbers = cx.product(t.sizes[1..].iter().copied());
        cx.require_eq(numbers, Expr::ONE, fake_quantize::C5, "the first element is no number")?;
    }
    rounded(cx, args.tensor("self")?, false)
}

clauses! { fake_quantize {
    C1 "`self` has a floating point dtype."
    C2 "`quant_min` does not exceed `quant_max`."
    C3 "`zero_point` is from `quant_min` to `quant_max`."
    C4 "`scale`, `zero_point` and `fake_quant_enabled` have one element each."
    C5 "`scale` and `zero_point` have at least 1 dimension. Their first element is a single number."
    C6 "`scale` and `zero_point` have 1 dimension, with an element for each index of `axis`. `axis` is in \
        range and not negative."
    C7 "`scale` is of `float32`, and `zero_point` of `int32`, `float32` or another dtype that the operator \
        takes."
    C8 "`mask` is of `bool`, and has as many elements as `grad`. They broadcast."
    C9 "`ch_axis` is less than the rank of `self`. Other conditions depend on the values of the flags."
} }

/// `fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, int
/// quant_max) -> (Tensor output, Tensor mask)`, without the mask, and with parameters that are learned.
fn per_channel(cx: &mut Cx, args: &Args, more: Domain, masked: bool) -> KernelResult {
    let (x, scale, zero) = (args.tensor("self")?, args.tensor("scale")?, args.tensor("zero_point")?);
    range(cx, args)?;
    cx.check(scale.dtype == Dtype::Float32, fake_quantize::C7, |_| {
        format!("the scale is to be float32, not {}", scale.dtype)
    })?;
    let fits = matches!(zero.dtype, Dtype::Int32 | Dtype::Float32) || more.contains(zero.dtype);
    cx.check(fits, fake_quantize::C7, |_| {
        format!("the zero point is to be int32, float32 or float16, not {}", zero.dtype)
    })?;
    cx.rank(scale, 1, fake_quantize::C6, "the scale")?;
    cx.rank(zero, 1, fake_quantize::C6, "the zero point")?;
    cx.require_eq(scale.size(0), zero.size(0), fake_quantize::C6, "scale and zero point differ in length")?;
    let axis = cx.literal(args.int("axis")?, fake_quantize::C6)?;
    cx.check((0..x.rank() as i64).contains(&axis), fake_quantize::C6, |_| {
        format!("axis {axis} is none of {} dimensions", x.rank())
    })?;
    cx.require_eq(
        scale.size(0),
        x.sizes[axis as usize],
        fake_quantize::C6,
        "the scale does not fit the axis",
    )?;
    rounded(cx, x, masked)
}

/// `fake_quantize_per_channel_affine_cachemask_backward(Tensor grad, Tensor mask) -> Tensor`: the gradient where the mask
/// is true.
fn backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, mask) = (args.tensor("grad")?, args.tensor("mask")?);
    cx.check(mask.dtype.is_bool(), fake_quantize::C8, |_| format!("the mask is of {}", mask.dtype))?;
    let (held, masked) = (cx.numel(grad), cx.numel(mask));
    cx.require_eq(held, masked, fake_quantize::C8, "gradient and mask differ in elements")?;
    one(cx.combined(&[grad, mask], fake_quantize::C8)?)
}

/// `_fused_moving_avg_obs_fq_helper_functional(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min,
/// Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis,
/// ...) -> (Tensor output, Tensor mask, Tensor, Tensor, Tensor, Tensor)`: the operand rounded, the mask, and the state
/// after it has seen the operand.
fn observed(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, axis) = (args.tensor("self")?, args.int("ch_axis")?);
    let axis = cx.literal(axis, fake_quantize::C9)?;
    cx.check(axis < x.rank() as i64, fake_quantize::C9, |_| {
        format!("axis {axis} is none of {} dimensions", x.rank())
    })?;
    let mut results = laid_out(cx, x, true);
    for name in ["running_min", "running_max", "scale", "zero_point"] {
        let t = args.tensor(name)?;
        let strides = cx.preserved_strides(t);
        results.push(Value::from(cx.strided(t.sizes.clone(), strides, t.dtype, &t.device)));
    }
    Ok(results)
}
