//! Normalisation layers.
use crate::expr::Expr;
use crate::fake::domain::Domain;
use crate::fake::error::one;
use crate::fake::registry::{Kernel, kernels};
use crate::fake::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use crate::ir::dtype::{Dtype, MemoryFormat};
use smallvec::smallvec;

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    layer_norm => "aten.layer_norm.default";
    rms_norm => "aten.rms_norm.default";
    native_layer_norm => "aten.native_layer_norm.default";
    batch_norm => "aten.batch_norm.default";
    native_batch_norm => "aten._native_batch_norm_legit_no_training.default", "aten.native_batch_norm.default",
        "aten._native_batch_norm_legit.default", "aten._native_batch_norm_legit.no_stats";
    instance_norm => "aten.instance_norm.default";
    group_norm => "aten.group_norm.default";
    native_group_norm => "aten.native_group_norm.default";
};

/// An affine parameter: absent, or of the given shape.
fn affine(
    cx: &mut Cx,
    args: &Args,
    name: &str,
    shape: &[Expr],
    clause: &'static str,
) -> Result<(), KernelError> {
    let Some(parameter) = args.opt_tensor(name)? else { return Ok(()) };
    cx.check(parameter.rank() == shape.len(), clause, |cx| {
        format!("`{name}` is to have the shape {}, not {}", cx.show_all(shape), cx.show_all(&parameter.sizes))
    })?;
    for (&size, &wanted) in parameter.sizes.iter().zip(shape) {
        cx.require_eq(size, wanted, clause, &format!("a size of `{name}` differs"))?;
    }
    Ok(())
}

/// The dimension from which on the operand is normalised.
///
/// (C1) `normalized_shape` is not empty. (C2) The last sizes of the operand are `normalized_shape`. (C3) Weight and bias have
/// that shape.
fn normalized_from(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<usize, KernelError> {
    let shape = args.ints("normalized_shape")?;
    cx.check(!shape.is_empty(), "layer_norm.C1", |_| {
        "normalized_shape is to have at least one dimension".into()
    })?;
    cx.check(x.rank() >= shape.len(), "layer_norm.C2", |cx| {
        format!(
            "normalized_shape {} has more dimensions than the operand {}",
            cx.show_all(shape),
            cx.show_all(&x.sizes)
        )
    })?;
    let axis = x.rank() - shape.len();
    for (&size, &wanted) in x.sizes[axis..].iter().zip(shape) {
        cx.require_eq(size, wanted, "layer_norm.C2", "the operand's last sizes are not normalized_shape")?;
    }
    for name in ["weight", "bias"] {
        if args.has(name) {
            affine(cx, args, name, shape, "layer_norm.C3")?;
        }
    }
    Ok(axis)
}

/// `layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, ...) -> Tensor`: shaped as the operand.
///
/// (C1) to (C3): see [`normalized_from`]. (C4) The dtype is of real floating point.
fn layer_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    normalized_from(cx, args, x)?;
    cx.require_kind(x, Domain::FLOAT, "layer_norm.C4")?;
    same_dtype(cx, args, x, "layer_norm.C5")?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

/// Affine parameters are of the operand's dtype, or `float32` beside one of 16 bits.
fn same_dtype(cx: &mut Cx, args: &Args, x: &Tensor, clause: &'static str) -> Result<(), KernelError> {
    for name in ["weight", "bias"] {
        if let Some(parameter) = args.opt_tensor(name)? {
            let mixed = Domain::HALVES.contains(x.dtype) && parameter.dtype == Dtype::Float32;
            cx.check(parameter.dtype == x.dtype || mixed, clause, |_| {
                format!("`{name}` of {} beside an operand of {}", parameter.dtype, x.dtype)
            })?;
        }
    }
    Ok(())
}

/// `rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor`: as element-wise operators
/// on the operand and the weight.
///
/// (C1) to (C3): see [`normalized_from`]. (C4) The dtype is of floating point.
fn rms_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    normalized_from(cx, args, x)?;
    cx.require_kind(x, Domain::FLOAT_COMPLEX, "rms_norm.C4")?;
    let mut operands: Vec<&Tensor> = vec![x];
    operands.extend(args.opt_tensor("weight")?.map(|w| &**w));
    let dtype = crate::fake::promote::ResultType::of(operands.iter().copied())
        .dtype()
        .map_err(|(a, b)| KernelError::invalid("rms_norm.C4", format!("{a} and {b} do not promote")))?;
    let strides = cx.elementwise_strides(&x.sizes, &operands);
    one(cx.strided(x.sizes.clone(), strides, dtype, &x.device))
}

/// `native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)`:
/// the result, and mean and reciprocal deviation with the normalised sizes 1.
fn native_layer_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    let axis = normalized_from(cx, args, x)?;
    cx.require_kind(x, Domain::FLOAT, "layer_norm.C4")?;
    same_dtype(cx, args, x, "layer_norm.C5")?;
    let mut statistics: Sizes = x.sizes[..axis].into();
    statistics.extend(std::iter::repeat_n(Expr::ONE, x.rank() - axis));
    let dtype = statistics_dtype(args, x)?;
    let y = cx.contiguous(x.sizes.clone(), x.dtype, &x.device);
    let mean = cx.contiguous(statistics, dtype, &x.device);
    Ok(smallvec![y.into(), mean.clone().into(), mean.into()])
}

/// Statistics of operands of 16 bits are kept in `float32` when the parameters are.
fn statistics_dtype(args: &Args, x: &Tensor) -> Result<Dtype, KernelError> {
    for name in ["weight", "bias"] {
        if let Some(parameter) = args.opt_tensor(name)? {
            return Ok(parameter.dtype);
        }
    }
    Ok(x.dtype)
}

/// What batch normalisation demands of its operand: the number of channels.
///
/// (C1) The operand has at least 2 dimensions. (C2) Parameters and running statistics have one entry a channel. (C3) The
/// dtype is of real floating point.
fn channels(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Expr, KernelError> {
    cx.check(x.rank() >= 2, "batch_norm.C1", |_| {
        format!("at least 2 dimensions are expected, not {}", x.rank())
    })?;
    let channels = x.size(1);
    for name in ["weight", "bias", "running_mean", "running_var"] {
        if args.has(name) && args.opt_tensor(name)?.is_some() {
            let parameter = args.tensor(name)?;
            let numel = cx.numel(parameter);
            cx.require_eq(
                numel,
                channels,
                "batch_norm.C2",
                &format!("`{name}` has not one entry a channel"),
            )?;
        }
    }
    cx.require_kind(x, Domain::FLOAT, "batch_norm.C3")?;
    Ok(channels)
}

fn format_of(cx: &mut Cx, x: &Tensor) -> Tensor {
    let format = cx.suggested_format(x);
    let strides = cx.format_strides(&x.sizes, format);
    cx.strided(x.sizes.clone(), strides, x.dtype, &x.device)
}

/// `batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, ...)`: shaped as
/// the operand, in its memory format.
///
/// (C1) to (C3): see [`channels`]. (C4) Outside training there are running statistics.
fn batch_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    let training = args.flag("training")?;
    let has_statistics =
        args.opt_tensor("running_mean")?.is_some() && args.opt_tensor("running_var")?.is_some();
    cx.check(training || has_statistics, "batch_norm.C4", |_| {
        "running statistics are needed outside training".into()
    })?;
    channels(cx, args, x)?;
    one(format_of(cx, x))
}

/// The forms that return statistics too: one entry a channel in training, none otherwise.
fn native_batch_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    let channels = channels(cx, args, x)?;
    let training = args.has("training") && args.flag("training")?;
    let y = format_of(cx, x);
    let entries = if training { channels } else { Expr::ZERO };
    let dtype = if Domain::HALVES.contains(x.dtype) { statistics_dtype(args, x)? } else { x.dtype };
    let statistics = cx.contiguous([entries].as_slice(), dtype, &x.device);
    Ok(smallvec![y.into(), statistics.clone().into(), statistics.into()])
}

/// `instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, ...)`:
/// shaped as the operand.
fn instance_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    let inputs = args.flag("use_input_stats")?;
    let has_statistics =
        args.opt_tensor("running_mean")?.is_some() && args.opt_tensor("running_var")?.is_some();
    cx.check(inputs || has_statistics, "instance_norm.C1", |_| {
        "running statistics are needed to not use those of the input".into()
    })?;
    channels(cx, args, x)?;
    one(format_of(cx, x))
}

/// `group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, ...) -> Tensor`: shaped as the operand, in its
/// memory format.
///
/// (C1) The operand has at least 2 dimensions. (C2) There is at least one group, and the channels divide evenly among them.
/// (C3) Weight and bias have one entry a channel. (C4) The dtype is of real floating point.
fn group_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    cx.check(x.rank() >= 2, "group_norm.C1", |_| {
        format!("at least 2 dimensions are expected, not {}", x.rank())
    })?;
    let groups = args.int("num_groups")?;
    let some = cx.gt(groups, 0);
    cx.require(some, "group_norm.C2", |cx| {
        format!("the number of groups is to be positive, not {}", cx.show(groups))
    })?;
    let rest = cx.modulo(x.size(1), groups);
    cx.require_eq(rest, Expr::ZERO, "group_norm.C2", "the channels do not divide evenly among the groups")?;
    for name in ["weight", "bias"] {
        affine(cx, args, name, &[x.size(1)], "group_norm.C3")?;
    }
    cx.require_kind(x, Domain::FLOAT, "group_norm.C4")?;
    same_dtype(cx, args, x, "group_norm.C4")?;
    one(channels_last_or_contiguous(cx, x))
}

fn channels_last_or_contiguous(cx: &mut Cx, x: &Tensor) -> Tensor {
    let format = cx.suggested_format(x);
    let format = if cx.has_format(x, format) { format } else { MemoryFormat::Contiguous };
    let strides = cx.format_strides(&x.sizes, format);
    cx.strided(x.sizes.clone(), strides, x.dtype, &x.device)
}

/// `native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps)`: the result,
/// and mean and reciprocal deviation `[N, group]`.
///
/// (C1) `N * C * HxW` is the number of elements. (C2) `C` divides evenly among the groups. (C3) Weight and bias have `C` entries.
fn native_group_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    let (n, c, hw, group) = (args.int("N")?, args.int("C")?, args.int("HxW")?, args.int("group")?);
    let (numel, product) = (cx.numel(x), cx.product([n, c, hw]));
    cx.require_eq(numel, product, "native_group_norm.C1", "N * C * HxW is not the number of elements")?;
    let some = cx.gt(group, 0);
    cx.require(some, "native_group_norm.C2", |cx| {
        format!("the number of groups is to be positive, not {}", cx.show(group))
    })?;
    let rest = cx.modulo(c, group);
    cx.require_eq(
        rest,
        Expr::ZERO,
        "native_group_norm.C2",
        "the channels do not divide evenly among the groups",
    )?;
    for name in ["weight", "bias"] {
        affine(cx, args, name, &[c], "native_group_norm.C3")?;
    }
    cx.require_kind(x, Domain::FLOAT, "native_group_norm.C4")?;
    same_dtype(cx, args, x, "native_group_norm.C4")?;
    let y = channels_last_or_contiguous(cx, x);
    let dtype = statistics_dtype(args, x)?;
    let statistics = cx.contiguous([n, group].as_slice(), dtype, &x.device);
    Ok(smallvec![y.into(), statistics.clone().into(), statistics.into()])
}
