//! Losses of class predictions: negative log likelihood, cross entropy, margins between classes.
use super::loss::{Reduce, reduced, reduction};
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    nll_loss::ALL,
    nll_loss2d::ALL,
    nll_loss_backward::ALL,
    nll_loss2d_backward::ALL,
    nll_loss_nd::ALL,
    cross_entropy_loss::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    nll_loss_forward => "aten.nll_loss_forward.default";
    nll_loss2d_forward => "aten.nll_loss2d_forward.default";
    |cx, args| first(nll_loss_forward(cx, args)) => "aten.nll_loss.default";
    |cx, args| first(nll_loss2d_forward(cx, args)) => "aten.nll_loss2d.default";
    nll_loss_backward => "aten.nll_loss_backward.default";
    nll_loss2d_backward => "aten.nll_loss2d_backward.default";
    nll_loss_nd => "aten.nll_loss_nd.default";
    cross_entropy_loss => "aten.cross_entropy_loss.default";
};

/// The first result of a kernel.
fn first(results: KernelResult) -> KernelResult {
    results.map(|mut values| {
        values.truncate(1);
        values
    })
}

/// Requires a weight, if there is one, to have one entry a class and the dtype of the operand.
fn check_weight(
    cx: &mut Cx,
    weight: Option<&Tensor>,
    classes: Expr,
    dtype: Option<Dtype>,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let Some(weight) = weight else { return Ok(()) };
    cx.check(weight.rank() == 1, clause, |_| format!("the weight has {} dimensions, not 1", weight.rank()))?;
    cx.require_eq(weight.size(0), classes, clause, "the weight has not one entry a class")?;
    match dtype {
        Some(dtype) => cx.check(weight.dtype == dtype, clause, |_| {
            format!("the weight is {}, the operand {dtype}", weight.dtype)
        }),
        None => Ok(()),
    }
}

/// The target holds class numbers: `int64` or `uint8`.
fn check_dtypes(
    cx: &mut Cx,
    x: &Tensor,
    target: &Tensor,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, clause)?;
    cx.check(matches!(target.dtype, Dtype::Int64 | Dtype::Uint8), clause, |_| {
        format!("the target is {}, not int64 or uint8", target.dtype)
    })
}

/// The conditions of the negative log likelihood of `[n, c]` or `[c]` with a target of `[n]` or `[]`.
fn check_nll(cx: &mut Cx, x: &Tensor, target: &Tensor) -> Result<(), KernelError> {
    cx.check(matches!(x.rank(), 1 | 2), nll_loss::C1, |_| {
        format!("the operand has {} dimensions, not 1 or 2", x.rank())
    })?;
    cx.check(target.rank() <= 1, nll_loss::C1, |_| {
        format!("the target has {} dimensions, not 0 or 1", target.rank())
    })?;
    if x.rank() == 1 && target.rank() == 0 {
        return Ok(());
    }
    cx.check(target.rank() == 1, nll_loss::C2, |_| "a batch has a target of one dimension".into())?;
    cx.require_eq(x.size(0), target.size(0), nll_loss::C2, "the batch sizes of operand and target differ")
}

/// The losses, and the total weight.
fn with_total(cx: &mut Cx, sizes: Sizes, x: &Tensor) -> KernelResult {
    let losses = cx.contiguous(sizes, x.dtype, &x.device);
    let total = cx.contiguous([].as_slice(), x.dtype, &x.device);
    Ok(smallvec![losses.into(), total.into()])
}

clauses! { nll_loss {
    C1 "`self` is `[n, c]` or `[c]`, and `target` has at most 1 dimension."
    C2 "`target` is `[n]`, or a scalar if `self` is `[c]`."
    C3 "`weight` is `[c]`, with the dtype of `self`."
    C4 "`self` has a floating point dtype, and `target` is of `int64` or `uint8`."
} }

/// `nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output,
/// Tensor total_weight)`: `[n]` of a batch without reduction, else scalars.
fn nll_loss_forward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    check_nll(cx, x, target)?;
    let weight = args.opt_tensor("weight")?;
    check_weight(cx, weight.map(|w| &**w), x.size(-1), Some(x.dtype), nll_loss::C3)?;
    check_dtypes(cx, x, target, nll_loss::C4)?;
    let kept = reduction(cx, args)? == Reduce::No && x.rank() == 2;
    let sizes = if kept { smallvec![x.size(0)] } else { Sizes::new() };
    with_total(cx, sizes, x)
}

/// The conditions of the negative log likelihood of images.
fn check_nll2d(cx: &mut Cx, x: &Tensor, target: &Tensor) -> Result<(), KernelError> {
    cx.check(x.rank() == 4 && target.rank() == 3, nll_loss2d::C1, |_| {
        format!("4 and 3 dimensions are expected, not {} and {}", x.rank(), target.rank())
    })?;
    let expected = [x.size(0), x.size(2), x.size(3)];
    cx.require_same_shape(&expected, &target.sizes, nll_loss2d::C2)
}

clauses! { nll_loss2d {
    C1 "`self` has 4 dimensions, and `target` has 3."
    C2 "`self` is `[n, c, h, w]`, and `target` is `[n, h, w]`."
    C3 "`weight` is `[c]`, with the dtype of `self`."
    C4 "`self` has a floating point dtype, and `target` is of `int64`, or of `uint8` with a reduction."
} }

/// `nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output,
/// Tensor total_weight)`: `[n, h, w]` without reduction, else scalars.
fn nll_loss2d_forward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    check_nll2d(cx, x, target)?;
    let weight = args.opt_tensor("weight")?;
    check_weight(cx, weight.map(|w| &**w), x.size(1), Some(x.dtype), nll_loss2d::C3)?;
    check_dtypes(cx, x, target, nll_loss2d::C4)?;
    let kept = reduction(cx, args)? == Reduce::No;
    cx.check(!kept || target.dtype == Dtype::Int64, nll_loss2d::C4, |_| {
        "without reduction the target is to be int64".into()
    })?;
    let sizes = if kept { target.sizes.clone() } else { Sizes::new() };
    with_total(cx, sizes, x)
}

/// Requires a gradient of one element.
fn require_single(
    cx: &mut Cx,
    t: &Tensor,
    most_dims: usize,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    cx.check(t.rank() <= most_dims, clause, |_| {
        format!("{} dimensions where one element is expected", t.rank())
    })?;
    let numel = cx.numel(t);
    cx.require_eq(numel, Expr::ONE, clause, "one element is expected")
}

clauses! { nll_loss_backward {
    C5 "`grad_output` has an element for each loss and the dtype of `self`, and `total_weight` has one \
        element. With a reduction, it has the dtype of `self`."
} }

/// `nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index,
/// Tensor total_weight) -> Tensor`: shaped as `self`.
fn nll_loss_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target, grad) = (args.tensor("self")?, args.tensor("target")?, args.tensor("grad_output")?);
    check_nll(cx, x, target)?;
    let weight = args.opt_tensor("weight")?;
    check_weight(cx, weight.map(|w| &**w), x.size(-1), Some(x.dtype), nll_loss::C3)?;
    check_dtypes(cx, x, target, nll_loss::C4)?;
    let total = args.tensor("total_weight")?;
    require_single(cx, total, usize::MAX, nll_loss_backward::C5)?;
    if reduction(cx, args)? == Reduce::No && x.rank() == 2 {
        cx.require_same_shape(&grad.sizes, &[x.size(0)], nll_loss_backward::C5)?;
    } else {
        require_single(cx, grad, 1, nll_loss_backward::C5)?;
    }
    let divides = reduction(cx, args)? != Reduce::No;
    cx.check(grad.dtype == x.dtype && (!divides || total.dtype == x.dtype), nll_loss_backward::C5, |_| {
        format!("the dtypes differ: {}, {} and {}", grad.dtype, x.dtype, total.dtype)
    })?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

clauses! { nll_loss2d_backward {
    C5 "`grad_output` has an element for each loss and the dtype of `self`, and `total_weight` has one \
        element. With a reduction, it has the dtype of `self`."
} }

/// `nll_loss2d_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction, SymInt
/// ignore_index, Tensor total_weight) -> Tensor`: shaped as `self`.
fn nll_loss2d_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target, grad) = (args.tensor("self")?, args.tensor("target")?, args.tensor("grad_output")?);
    check_nll2d(cx, x, target)?;
    let weight = args.opt_tensor("weight")?;
    check_weight(cx, weight.map(|w| &**w), x.size(1), Some(x.dtype), nll_loss2d::C3)?;
    check_dtypes(cx, x, target, nll_loss2d::C4)?;
    let total = args.tensor("total_weight")?;
    require_single(cx, total, usize::MAX, nll_loss2d_backward::C5)?;
    if reduction(cx, args)? == Reduce::No {
        cx.require_same_shape(&grad.sizes, &target.sizes, nll_loss2d_backward::C5)?;
    } else {
        require_single(cx, grad, 1, nll_loss2d_backward::C5)?;
    }
    let divides = reduction(cx, args)? != Reduce::No;
    cx.check(grad.dtype == x.dtype && (!divides || total.dtype == x.dtype), nll_loss2d_backward::C5, |_| {
        format!("the dtypes differ: {}, {} and {}", grad.dtype, x.dtype, total.dtype)
    })?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

clauses! { nll_loss_nd {
    C1 "The input has a dimension of classes, which is not empty if there are targets."
    C2 "`target` has the shape of the input without the dimension of classes."
    C3 "`weight` has an element for each class, and the dtype of the input. It has 1 dimension."
    C4 "The input has a floating point dtype, and `target` is of `int64` or `uint8`."
} }

/// The negative log likelihood of `[n, c, …]` or `[c]`: shaped as the target without reduction, else a scalar.
fn likelihood(
    cx: &mut Cx,
    x: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduce: Reduce,
) -> Result<Tensor, KernelError> {
    cx.check(x.rank() >= 1, nll_loss_nd::C1, |_| "a scalar has no classes".into())?;
    let classes = if x.rank() == 1 { x.size(0) } else { x.size(1) };
    let kept = match x.rank() {
        1 | 2 => {
            check_nll(cx, x, target)?;
            if x.rank() == 2 { smallvec![x.size(0)] } else { Sizes::new() }
        }
        _ => {
            let mut expected = x.sizes.clone();
            expected.remove(1);
            cx.require_same_shape(&expected, &target.sizes, nll_loss_nd::C2)?;
            target.sizes.clone()
        }
    };
    if x.rank() == 3 || x.rank() > 4 {
        // Without classes, elements of other dimensions have nothing to be taken from.
        let (none, filled) = (cx.eq(classes, 0), cx.numel(target));
        let empty = cx.eq(filled, 0);
        let some = cx.not(none);
        let fits = cx.any(&[some, empty]);
        cx.require(fits, nll_loss_nd::C1, |_| "there are no classes".into())?;
    }
    check_weight(cx, weight, classes, Some(x.dtype), nll_loss_nd::C3)?;
    check_dtypes(cx, x, target, nll_loss_nd::C4)?;
    let sizes = if reduce == Reduce::No { kept } else { Sizes::new() };
    Ok(cx.contiguous(sizes, x.dtype, &x.device))
}

/// `nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) ->
/// Tensor`: see [`likelihood`].
fn nll_loss_nd(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    let reduce = reduction(cx, args)?;
    one(likelihood(cx, x, target, args.opt_tensor("weight")?.map(|w| &**w), reduce)?)
}

clauses! { cross_entropy_loss {
    C1 "`self` has a dimension of classes and a floating point dtype."
    C2 "Probabilities in `target` are floating point, and `ignore_index` is negative. `target` holds \
        probabilities if it has the shape of `self`."
    C3 "`weight` has 1 dimension, with an element for each class."
    C4 "`reduction` is 0, 1 or 2, and `label_smoothing` is at most 1. Only probabilities and smoothing \
        need it."
} }

/// `cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float
/// label_smoothing=0.) -> Tensor`: of class numbers see [`likelihood`]; of probabilities (a target shaped as `self`) the
/// sum over classes without reduction.
fn cross_entropy_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    let weight = args.opt_tensor("weight")?.map(|w| &**w);
    let reduce = reduction(cx, args)?;
    cx.check(x.rank() >= 1, cross_entropy_loss::C1, |_| "a scalar has no classes".into())?;
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, cross_entropy_loss::C1)?;
    let known_reduction = |cx: &mut Cx| {
        cx.check(reduce != Reduce::Other, cross_entropy_loss::C4, |_| {
            "the reduction is none of 0, 1 and 2".into()
        })
    };
    let smoothing = args.float("label_smoothing")?;
    let smoothing = cx.pool().as_float(smoothing).unwrap_or(0.0);
    if !has_probabilities(cx, x, target)? {
        if smoothing > 0.0 {
            known_reduction(cx)?;
            cx.check(smoothing <= 1.0, cross_entropy_loss::C4, |_| {
                format!("smoothing of {smoothing} exceeds 1")
            })?;
        }
        return one(likelihood(cx, x, target, weight, reduce)?);
    }
    let class_dim = usize::from(x.rank() > 1);
    cx.check(target.dtype.is_float(), cross_entropy_loss::C2, |_| {
        format!("probabilities are floating point, not {}", target.dtype)
    })?;
    let ignored = args.int("ignore_index")?;
    let none_ignored = cx.lt(ignored, 0);
    cx.require(none_ignored, cross_entropy_loss::C2, |_| "of probabilities no class is ignored".into())?;
    check_weight(cx, weight, x.sizes[class_dim], None, cross_entropy_loss::C3)?;
    known_reduction(cx)?;
    let mut operands = vec![&**x, &**target];
    operands.extend(weight);
    let dtype = cx.common_dtype(&operands, cross_entropy_loss::C2)?;
    let mut sizes = x.sizes.clone();
    sizes.remove(class_dim);
    let sizes = if reduce == Reduce::No { sizes } else { Sizes::new() };
    let losses = cx.contiguous(sizes, dtype, &x.device);
    one(reduced(cx, losses, reduce)?)
}

/// Whether a target holds probabilities: it is shaped as the operand.
fn has_probabilities(cx: &mut Cx, x: &Tensor, target: &Tensor) -> Result<bool, KernelError> {
    if x.rank() != target.rank() {
        return Ok(false);
    }
    let mut same = Vec::new();
    for (&a, &b) in x.sizes.iter().zip(&target.sizes) {
        same.push(cx.eq(a, b));
    }
    let same = cx.all(&same);
    cx.branch(same, cross_entropy_loss::C2)
}
