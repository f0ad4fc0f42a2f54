//! Losses that compare two tensors element by element.
use crate::compose::can_cast;
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, promote};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    loss::ALL,
    mse_loss::ALL,
    l1_loss::ALL,
    huber_loss::ALL,
    kl_div::ALL,
    poisson_nll_loss::ALL,
    soft_margin_loss::ALL,
    hinge_embedding_loss::ALL,
    margin_ranking_loss::ALL,
    binary_cross_entropy::ALL,
    binary_cross_entropy_with_logits::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    iterated_loss => "aten.mse_loss.default", "aten.smooth_l1_loss.default";
    l1_loss => "aten.l1_loss.default";
    huber_loss => "aten.huber_loss.default";
    kl_div => "aten.kl_div.default";
    poisson_nll_loss => "aten.poisson_nll_loss.default";
    soft_margin_loss => "aten.soft_margin_loss.default";
    hinge_embedding_loss => "aten.hinge_embedding_loss.default";
    margin_ranking_loss => "aten.margin_ranking_loss.default";
    binary_cross_entropy => "aten.binary_cross_entropy.default";
    binary_cross_entropy_with_logits => "aten.binary_cross_entropy_with_logits.default";
};

/// What a loss does with its elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reduce {
    /// They are the result (0).
    No,
    /// Their mean (1).
    Mean,
    /// Their sum (2).
    Sum,
    /// A number that stands for none of them.
    Other,
}

/// The argument `reduction`.
pub(super) fn reduction(cx: &mut Cx, args: &Args) -> Result<Reduce, KernelError> {
    Ok(match cx.literal(args.int("reduction")?, loss::reduction)? {
        0 => Reduce::No,
        1 => Reduce::Mean,
        2 => Reduce::Sum,
        _ => Reduce::Other,
    })
}

clauses! { loss {
    reduction "`reduction` is a known number."
    mean "The elements that a mean is taken of are floating point or complex."
} }

/// The elements of a loss reduced: a scalar for mean and sum, else the elements themselves.
pub(super) fn reduced(cx: &mut Cx, elements: Tensor, reduce: Reduce) -> Result<Tensor, KernelError> {
    let dtype = match reduce {
        Reduce::No | Reduce::Other => return Ok(elements),
        Reduce::Mean => {
            cx.require_dtype(
                elements.dtype,
                Domain::FLOAT_COMPLEX.by_definition(),
                &elements.device,
                loss::mean,
            )?;
            elements.dtype
        }
        Reduce::Sum if elements.dtype.is_float() || elements.dtype.is_complex() => elements.dtype,
        Reduce::Sum => Dtype::Int64,
    };
    Ok(cx.contiguous([].as_slice(), dtype, &elements.device))
}

clauses! { mse_loss {
    C1 "The shapes of `self` and `target` broadcast."
    C2 "`self` and `target` promote to a dtype that is neither complex nor `bool`."
    C3 "`reduction` is 0, 1 or 2."
} }

/// `mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor`, and `smooth_l1_loss`: the elements broadcast.
fn iterated_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let elements = cx.combined(&[args.tensor("self")?, args.tensor("target")?], mse_loss::C1)?;
    cx.require_dtype(elements.dtype, Domain::REAL.on_cpu(), &elements.device, mse_loss::C2)?;
    let reduce = reduction(cx, args)?;
    cx.check(reduce != Reduce::Other, mse_loss::C3, |_| "the reduction is none of 0, 1 and 2".into())?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { l1_loss {
    C1 "`self` and `target` are broadcastable, and neither is of `bool`."
} }

/// `l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor`: the magnitudes of the differences.
fn l1_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut elements = cx.difference(args.tensor("self")?, args.tensor("target")?, l1_loss::C1)?;
    elements.dtype = promote::to_real(elements.dtype);
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { huber_loss {
    C1 "The shapes of `self` and `target` broadcast."
    C2 "`self` and `target` promote to a floating point dtype. It can be cast to that of `self`."
    C3 "`delta` is positive."
} }

/// `huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor`: in the dtype of `self`.
fn huber_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    let computed = cx.common_dtype(&[x, target], huber_loss::C2)?;
    let mut elements = cx.elementwise(&[x, target], x.dtype, huber_loss::C1)?;
    cx.require_dtype(computed, Domain::FLOAT.on_cpu(), &x.device, huber_loss::C2)?;
    cx.check(can_cast(computed, x.dtype), huber_loss::C2, |_| {
        format!("a result of {computed} cannot be written as {}", x.dtype)
    })?;
    let delta = args.float("delta")?;
    if let Some(delta) = cx.pool().as_float(delta) {
        cx.check(delta > 0.0, huber_loss::C3, |_| format!("delta is {delta}, not positive"))?;
    }
    if elements.sizes == x.sizes {
        elements.strides = cx.preserved_strides(x);
    }
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { kl_div {
    C1 "The shapes of `self` and `target` broadcast."
    C2 "`self` and `target` have floating point dtypes."
} }

/// `kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor`
fn kl_div(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    cx.require_dtype(x.dtype, Domain::FLOAT.by_definition(), &x.device, kl_div::C2)?;
    cx.require_dtype(target.dtype, Domain::FLOAT.by_definition(), &target.device, kl_div::C2)?;
    // Both ways to compute it combine a function of the target with a function of both.
    let product = cx.combined(&[target, x], kl_div::C1)?;
    let elements = cx.combined(&[target, &product], kl_div::C1)?;
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { poisson_nll_loss {
    C1 "The shapes of `input` and `target` broadcast."
    C2 "With `full`, `target` broadcasts to the shape of the loss, and its dtype is ordered and not `bool`."
} }

/// `poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor`
fn poisson_nll_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("input")?, args.tensor("target")?);
    let curved = Tensor { dtype: promote::to_float(x.dtype), ..(**x).clone() };
    let elements = if args.flag("log_input")? {
        let product = cx.combined(&[target, x], poisson_nll_loss::C1)?;
        cx.combined(&[&curved, &product], poisson_nll_loss::C1)?
    } else {
        let product = cx.combined(&[target, &curved], poisson_nll_loss::C1)?;
        cx.difference(x, &product, poisson_nll_loss::C1)?
    };
    if args.flag("full")? {
        cx.require_dtype(target.dtype, Domain::REAL.on_cpu(), &target.device, poisson_nll_loss::C2)?;
        let stirling = Tensor { dtype: promote::to_float(target.dtype), ..(**target).clone() };
        cx.require_in_place(&elements, &[&stirling], poisson_nll_loss::C2)?;
    }
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { soft_margin_loss {
    C1 "`target` broadcasts to the shape of `self`, and the common dtype can be cast to that of `self`."
    C2 "`self` has a floating point or complex dtype."
} }

/// `soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor`: computed over a copy of `self`; any
/// reduction but none leaves a scalar.
fn soft_margin_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    cx.require_in_place(x, &[target], soft_margin_loss::C1)?;
    cx.require_dtype(x.dtype, Domain::FLOAT_COMPLEX.on_cpu(), &x.device, soft_margin_loss::C2)?;
    match reduction(cx, args)? {
        Reduce::No => {
            let strides = cx.elementwise_strides(&x.sizes, &[x]);
            one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
        }
        _ => one(cx.contiguous([].as_slice(), x.dtype, &x.device)),
    }
}

clauses! { hinge_embedding_loss {
    C1 "The shapes of `self` and `target` broadcast."
    C2 "The dtype of `self` is ordered and not `bool`."
} }

/// `hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor`
fn hinge_embedding_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    cx.require_dtype(x.dtype, Domain::REAL.on_cpu(), &x.device, hinge_embedding_loss::C2)?;
    // The margin takes the dtype of `self`, so integers stay integers.
    let elements = cx.elementwise(&[target, x], x.dtype, hinge_embedding_loss::C1)?;
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { margin_ranking_loss {
    C1 "`input1` and `input2` are broadcastable, and neither is of `bool`."
    C2 "`target` broadcasts with the difference of the inputs and is not of `bool`."
    C3 "The common dtype of the operands is ordered."
} }

/// `margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor`
fn margin_ranking_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let target = args.tensor("target")?;
    let difference =
        cx.difference(args.tensor("input1")?, args.tensor("input2")?, margin_ranking_loss::C1)?;
    cx.check(!target.dtype.is_bool(), margin_ranking_loss::C2, |_| "a bool target has no negative".into())?;
    let mut elements = cx.combined(&[target, &difference], margin_ranking_loss::C2)?;
    elements.dtype = promote::to_float(elements.dtype);
    cx.require_dtype(elements.dtype, Domain::FLOAT.on_cpu(), &elements.device, margin_ranking_loss::C3)?;
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

/// Requires that the shapes, dimensions of size 1 left out, broadcast. Shapes of one rank that agree at the hints are
/// required to agree.
pub(super) fn require_broadcast_squeezed(
    cx: &mut Cx,
    a: &[Expr],
    b: &[Expr],
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    if a.len() == b.len() {
        let mut same = Vec::new();
        for (&x, &y) in a.iter().zip(b) {
            same.push(cx.eq(x, y));
        }
        let same = cx.all(&same);
        if cx.env.hint(same).is_some_and(|value| value.as_bool()) {
            return cx.require(same, clause, |_| String::new());
        }
    }
    let (a, b) = (cx.squeezed(a, clause)?, cx.squeezed(b, clause)?);
    cx.broadcast([a.as_slice(), b.as_slice()], clause).map(drop)
}

clauses! { binary_cross_entropy {
    C1 "The shapes of `self` and `target` broadcast, with dimensions of size 1 left out."
    C2 "`self` and `target` have the same floating point dtype."
    C3 "`weight` broadcasts to the shape of `self`, and can be cast to its dtype."
} }

/// `binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor`: shaped as `self`.
fn binary_cross_entropy(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    require_broadcast_squeezed(cx, &x.sizes, &target.sizes, binary_cross_entropy::C1)?;
    cx.check(x.dtype == target.dtype, binary_cross_entropy::C2, |_| {
        format!("the dtypes differ: {} and {}", x.dtype, target.dtype)
    })?;
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, binary_cross_entropy::C2)?;
    if let Some(weight) = args.opt_tensor("weight")? {
        cx.require_in_place(x, &[weight], binary_cross_entropy::C3)?;
    }
    let strides = cx.preserved_strides(x);
    let elements = cx.strided(x.sizes.clone(), strides, x.dtype, &x.device);
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { binary_cross_entropy_with_logits {
    C1 "`self` has a floating point dtype."
    C2 "`self` and `weight` broadcast to the shape of `target`, and can be cast to its dtype, which is not \
        `bool`."
    C3 "`pos_weight` and `target` broadcast to the shape of `self`, and `pos_weight` is not of `bool`."
} }

/// `binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int
/// reduction=1) -> Tensor`: shaped as `target`.
fn binary_cross_entropy_with_logits(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, target) = (args.tensor("self")?, args.tensor("target")?);
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, binary_cross_entropy_with_logits::C1)?;
    cx.check(!target.dtype.is_bool(), binary_cross_entropy_with_logits::C2, |_| {
        "a bool target does not subtract".into()
    })?;
    if let Some(weight) = args.opt_tensor("pos_weight")? {
        cx.check(!weight.dtype.is_bool(), binary_cross_entropy_with_logits::C3, |_| {
            "a bool pos_weight does not subtract".into()
        })?;
        let weighted = cx.combined(&[weight, target], binary_cross_entropy_with_logits::C3)?;
        cx.require_in_place(x, &[&weighted], binary_cross_entropy_with_logits::C3)?;
    }
    cx.require_in_place(target, &[x], binary_cross_entropy_with_logits::C2)?;
    if let Some(weight) = args.opt_tensor("weight")? {
        cx.require_in_place(target, &[weight], binary_cross_entropy_with_logits::C2)?;
    }
    let strides = cx.elementwise_strides(&target.sizes, &[target]);
    let elements = cx.strided(target.sizes.clone(), strides, target.dtype, &target.device);
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}
