//! Margin losses between classes.
use super::loss::{Reduce, reduction};
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Scalar, Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    multi_margin_loss::ALL,
    multi_margin_loss_backward::ALL,
    multilabel_margin_loss::ALL,
    multilabel_margin_loss_backward::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    multi_margin_loss => "aten.multi_margin_loss.default";
    multi_margin_loss_backward => "aten.multi_margin_loss_backward.default";
    |cx, args| {
        multilabel_margin_loss(cx, args).map(|mut values| {
            values.truncate(1);
            values
        })
    } => "aten.multilabel_margin_loss.default";
    multilabel_margin_loss => "aten.multilabel_margin_loss_forward.default";
    multilabel_margin_loss_backward => "aten.multilabel_margin_loss_backward.default";
};

/// The number of samples and of classes of `[n, c]`, `[c]` or a scalar.
fn frames(cx: &mut Cx, x: &Tensor) -> Result<(Expr, Expr), KernelError> {
    let (samples, classes) = match x.sizes.as_slice() {
        [] => (Expr::ONE, Expr::ONE),
        [classes] => (Expr::ONE, *classes),
        [samples, classes] => (*samples, *classes),
        _ => {
            let message = format!("a vector or matrix is expected, not {} dimensions", x.rank());
            return Err(KernelError::invalid(multi_margin_loss::C1, message));
        }
    };
    let some = cx.ne(classes, 0);
    cx.require(some, multi_margin_loss::C1, |_| "there are no classes".into())?;
    Ok((samples, classes))
}

/// The conditions of [`multi_margin_loss`], and the number of samples.
fn check_multi_margin(cx: &mut Cx, args: &Args) -> Result<Expr, KernelError> {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    let (samples, classes) = frames(cx, x)?;
    cx.check(target.rank() <= 1, multi_margin_loss::C2, |_| "the target has one dimension at most".into())?;
    let given = cx.numel(target);
    cx.require_eq(given, samples, multi_margin_loss::C2, "the target has not one entry a sample")?;
    if let Some(weight) = args.opt_tensor("weight")? {
        cx.check(weight.rank() <= 1, multi_margin_loss::C3, |_| {
            "the weight has one dimension at most".into()
        })?;
        let given = cx.numel(weight);
        cx.require_eq(given, classes, multi_margin_loss::C3, "the weight has not one entry a class")?;
        cx.check(weight.dtype == x.dtype, multi_margin_loss::C3, |_| {
            format!("the weight is {}, the operand {}", weight.dtype, x.dtype)
        })?;
    }
    let p = match args.scalar("p")? {
        Scalar::Int(e) => cx.pool().as_int(e).map(|v| v.to_f64()),
        Scalar::Float(e) => cx.pool().as_float(e),
        _ => None,
    };
    cx.check(matches!(p, Some(1.0 | 2.0)), multi_margin_loss::C4, |_| "p is neither 1 nor 2".into())?;
    cx.require_dtype(x.dtype, Domain::SINGLE_DOUBLE.on_cpu(), &x.device, multi_margin_loss::C5)?;
    cx.check(target.dtype == Dtype::Int64, multi_margin_loss::C5, |_| {
        format!("the target is {}, not int64", target.dtype)
    })?;
    Ok(samples)
}

clauses! { multi_margin_loss {
    C1 "`self` has at most 2 dimensions and at least one class."
    C2 "`target` has at most 1 dimension, with an element for each sample."
    C3 "`weight` has an element for each class, and the dtype of `self`. It has at most 1 dimension."
    C4 "`p` is 1 or 2."
    C5 "`self` is of `float32` or `float64`, and `target` is of `int64`."
} }

/// `multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) ->
/// Tensor`: `[n]` of a target with a dimension and without reduction, else a scalar.
///
/// `self` is `[n, c]`, `[c]` or a scalar, `c > 0`.
fn multi_margin_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let samples = check_multi_margin(cx, args)?;
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    let kept = reduction(cx, args)? == Reduce::No && target.rank() > 0;
    let sizes = if kept { smallvec![samples] } else { Sizes::new() };
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { multi_margin_loss_backward {
    C6 "`grad_output` has the dtype of `self`."
} }

/// `multi_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, Scalar p, Scalar margin, Tensor?
/// weight=None, int reduction=1) -> Tensor`: shaped as `self`.
fn multi_margin_loss_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    check_multi_margin(cx, args)?;
    let (x, grad) = (args.tensor("self")?, args.tensor("grad_output")?);
    cx.check(grad.dtype == x.dtype, multi_margin_loss_backward::C6, |_| {
        format!("the dtypes differ: {} and {}", grad.dtype, x.dtype)
    })?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

/// The conditions of [`multilabel_margin_loss`], and the number of samples.
fn check_multilabel(cx: &mut Cx, x: &Tensor, target: &Tensor) -> Result<Expr, KernelError> {
    let (samples, classes) = frames(cx, x)?;
    if x.rank() <= 1 {
        cx.check(target.rank() <= 1, multilabel_margin_loss::C2, |_| {
            format!("the target has {} dimensions, not 0 or 1", target.rank())
        })?;
        let given = cx.numel(target);
        cx.require_eq(given, classes, multilabel_margin_loss::C2, "the target has not one entry a class")?;
    } else {
        cx.require_same_shape(&x.sizes, &target.sizes, multilabel_margin_loss::C2)?;
    }
    if !Domain::SINGLE_DOUBLE.contains(x.dtype) {
        let nothing = cx.eq(samples, 0);
        cx.require(nothing, multilabel_margin_loss::C3, |_| {
            format!("the operator does not compute in {}", x.dtype)
        })?;
    }
    cx.check(target.dtype == Dtype::Int64, multilabel_margin_loss::C3, |_| {
        format!("the target is {}, not int64", target.dtype)
    })?;
    Ok(samples)
}

clauses! { multilabel_margin_loss {
    C2 "`target` has the shape of `self`; of a vector, it may be a scalar."
    C3 "`target` is of `int64`. `self` is of `float32` or `float64` if there are samples."
} }

/// `multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)`:
/// `[n]` of a matrix without reduction, else a scalar; `is_target` is shaped as the target.
///
/// `self` is `[n, c]`, `[c]` or a scalar, `c > 0`.
fn multilabel_margin_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    let samples = check_multilabel(cx, x, target)?;
    let kept = reduction(cx, args)? == Reduce::No && target.rank() > 1;
    let sizes = if kept { smallvec![samples] } else { Sizes::new() };
    let losses = cx.contiguous(sizes, x.dtype, &x.device);
    let marks = cx.contiguous(target.sizes.clone(), x.dtype, &x.device);
    Ok(smallvec![losses.into(), marks.into()])
}

clauses! { multilabel_margin_loss_backward {
    C4 "`is_target` has the shape of `target` and the dtype of `self`, as `grad_output` has. Without a \
        reduction, `grad_output` has an element for each sample."
} }

/// `multilabel_margin_loss_backward(Tensor grad_output, Tensor self, Tensor target, int reduction, Tensor is_target) ->
/// Tensor`: shaped as `self`.
fn multilabel_margin_loss_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    let (grad, marks) = (args.tensor("grad_output")?, args.tensor("is_target")?);
    let samples = check_multilabel(cx, x, target)?;
    if reduction(cx, args)? == Reduce::No && target.rank() > 1 {
        cx.require_same_shape(&grad.sizes, &[samples], multilabel_margin_loss_backward::C4)?;
    }
    cx.require_same_shape(&target.sizes, &marks.sizes, multilabel_margin_loss_backward::C4)?;
    cx.check(grad.dtype == x.dtype && marks.dtype == x.dtype, multilabel_margin_loss_backward::C4, |_| {
        format!("the dtypes differ: {}, {} and {}", grad.dtype, x.dtype, marks.dtype)
    })?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}
