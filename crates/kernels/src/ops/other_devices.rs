//! Operators of other devices: those that the CPU has no kernel for, and those whose shapes are known all the same.
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Value, Values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[other_devices::ALL, fused_rms_norm_backward::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    elsewhere => "aten._conv_depthwise2d.default", "aten.batch_norm_stats.default", "aten.mkldnn_linear.default",
        "aten.cudnn_grid_sampler.default", "aten._cudnn_ctc_loss.default", "aten._copy_from.default";
    miopen_batch_norm => "aten.miopen_batch_norm.default";
    rms_norm_backward => "aten._fused_rms_norm_backward.default";
};

clauses! { other_devices {
    C1 "No tensor is on the CPU, for which the operator has no kernel."
} }

fn elsewhere(cx: &mut Cx, args: &Args) -> KernelResult {
    let on_cpu = |value: &Value| matches!(value, Value::Tensor(t) if cx.cpu_computes(&t.device));
    if args.values().iter().any(on_cpu) {
        let message = format!("`{}` has no kernel for the CPU", args.schema.name);
        return Err(KernelError::invalid(other_devices::C1, message));
    }
    Err(KernelError::Unsupported(format!("`{}` on another device", args.schema.name)))
}

/// `miopen_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool
/// training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor)`: shaped like the input,
/// and in training two statistics shaped like the running ones, or like the weight; else empty.
fn miopen_batch_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, weight) = (args.tensor("input")?, args.tensor("weight")?);
    let format = cx.suggested_format(x);
    let strides = cx.format_strides(&x.sizes, format);
    let mut results = Values::new();
    results.push(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device).into());
    let training = args.flag("training")?;
    for name in ["running_mean", "running_var"] {
        let like = args.opt_tensor(name)?.unwrap_or(weight);
        let sizes = if training { like.sizes.clone() } else { [Expr::ZERO].as_slice().into() };
        results.push(cx.contiguous(sizes, weight.dtype, &x.device).into());
    }
    Ok(results)
}

clauses! { fused_rms_norm_backward {
    C2 "The shapes of `grad_out`, `input` and `rstd` broadcast."
} }

/// `_fused_rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, bool[2]
/// output_mask) -> (Tensor, Tensor)`: the gradients of input and weight, the latter summed over the dimensions before
/// those that are normalised.
fn rms_norm_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, rstd) = (args.tensor("grad_out")?, args.tensor("input")?, args.tensor("rstd")?);
    let sizes = cx.broadcast([grad.sizes.as_slice(), &x.sizes, &rstd.sizes], fused_rms_norm_backward::C2)?;
    let outer = x.rank().saturating_sub(args.ints("normalized_shape")?.len());
    let mask = args.flags("output_mask")?;
    let asked = |i: usize| mask.get(i) == Some(&true);
    let mut results = Values::new();
    let of_weight = cx.contiguous(&sizes[outer..], x.dtype, &x.device);
    let of_input = cx.contiguous(sizes, x.dtype, &x.device);
    results.push(if asked(0) { of_input.into() } else { Value::None });
    let weighted = args.opt_tensor("weight")?.is_some();
    results.push(if asked(1) && weighted { of_weight.into() } else { Value::None });
    Ok(results)
}
