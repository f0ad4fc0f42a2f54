//! Gradients of losses that compare two tensors element by element.
use super::loss::require_broadcast_squeezed;
use crate::compose::can_cast;
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelResult, Tensor, promote};
use sizewise_env::{Clauses, OpClause, clauses};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    mse_loss_backward::ALL,
    huber_loss_backward::ALL,
    soft_margin_loss_backward::ALL,
    binary_cross_entropy_backward::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    iterated_backward => "aten.mse_loss_backward.default", "aten.smooth_l1_loss_backward.default";
    huber_loss_backward => "aten.huber_loss_backward.default";
    soft_margin_loss_backward => "aten.soft_margin_loss_backward.default";
    binary_cross_entropy_backward => "aten.binary_cross_entropy_backward.default";
};

/// The gradient as an element-wise operator writes it over zeros shaped as `self`: in the shape that all operands
/// meet in, laid out as `self` where it has that shape.
fn over_zeros(
    cx: &mut Cx,
    x: &Tensor,
    operands: &[&Tensor],
    clause: &'static OpClause,
) -> Result<Tensor, crate::KernelError> {
    let mut gradient = cx.elementwise(operands, x.dtype, clause)?;
    if gradient.sizes == x.sizes {
        gradient.strides = cx.preserved_strides(x);
    }
    Ok(gradient)
}

clauses! { mse_loss_backward {
    C1 "The shapes of `grad_output`, `self` and `target` broadcast."
    C2 "The dtypes of the operands promote to one that can be cast to that of `self` and is neither \
        complex nor `bool`."
} }

/// `mse_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor`, and that of
/// `smooth_l1_loss`: in the dtype of `self`.
fn iterated_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, target) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("target")?);
    let computed = cx.common_dtype(&[x, target, grad], mse_loss_backward::C2)?;
    let gradient = over_zeros(cx, x, &[x, target, grad], mse_loss_backward::C1)?;
    cx.require_dtype(computed, Domain::REAL.on_cpu(), &x.device, mse_loss_backward::C2)?;
    cx.check(can_cast(computed, x.dtype), mse_loss_backward::C2, |_| {
        format!("a result of {computed} cannot be written as {}", x.dtype)
    })?;
    one(gradient)
}

clauses! { huber_loss_backward {
    C1 "The shapes of `grad_output`, `self` and `target` broadcast."
    C2 "`grad_output`, `self` and `target` have the same floating point dtype."
} }

/// `huber_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, float delta) -> Tensor`
fn huber_loss_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, target) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("target")?);
    let gradient = over_zeros(cx, x, &[x, target, grad], huber_loss_backward::C1)?;
    cx.check(x.dtype == target.dtype && x.dtype == grad.dtype, huber_loss_backward::C2, |_| {
        format!("the dtypes differ: {}, {} and {}", grad.dtype, x.dtype, target.dtype)
    })?;
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, huber_loss_backward::C2)?;
    one(gradient)
}

clauses! { soft_margin_loss_backward {
    C1 "The shapes of `self` and `target` broadcast, and `target` is not of `bool`."
    C2 "`grad_output` broadcasts to the common shape of `self` and `target`."
    C3 "The common dtype of the operands can be cast to that of `self`."
} }

/// `soft_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor`: in the dtype of
/// `self`.
fn soft_margin_loss_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, target) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("target")?);
    cx.check(!target.dtype.is_bool(), soft_margin_loss_backward::C1, |_| {
        "a bool target has no negative".into()
    })?;
    let mut factor = cx.combined(&[target, x], soft_margin_loss_backward::C1)?;
    factor.dtype = promote::to_float(factor.dtype);
    let computed = cx.common_dtype(&[target, &factor], soft_margin_loss_backward::C3)?;
    cx.check(can_cast(computed, x.dtype), soft_margin_loss_backward::C3, |_| {
        format!("a result of {computed} cannot be written as {}", x.dtype)
    })?;
    let gradient = cx.elementwise(&[target, &factor], x.dtype, soft_margin_loss_backward::C1)?;
    cx.require_in_place(&gradient, &[grad], soft_margin_loss_backward::C2)?;
    one(gradient)
}

clauses! { binary_cross_entropy_backward {
    C1 "`grad_output`, `self` and `target` broadcast without their dimensions of size 1."
    C2 "`grad_output`, `self` and `target` have the same floating point dtype."
    C3 "`weight` broadcasts to the shape of `self`, and can be cast to its dtype."
} }

/// `binary_cross_entropy_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight=None, int reduction=1)
/// -> Tensor`: shaped as `self`.
fn binary_cross_entropy_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, target) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("target")?);
    for (a, b) in [(x, target), (x, grad), (target, grad)] {
        require_broadcast_squeezed(cx, &a.sizes, &b.sizes, binary_cross_entropy_backward::C1)?;
    }
    cx.check(x.dtype == target.dtype && x.dtype == grad.dtype, binary_cross_entropy_backward::C2, |_| {
        format!("the dtypes differ: {}, {} and {}", grad.dtype, x.dtype, target.dtype)
    })?;
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, binary_cross_entropy_backward::C2)?;
    if let Some(weight) = args.opt_tensor("weight")? {
        cx.require_in_place(x, &[weight], binary_cross_entropy_backward::C3)?;
    }
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}
