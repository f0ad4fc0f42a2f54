//! Distances between vectors, and the losses made of them.
use super::loss::{reduced, reduction};
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::reduce::Reduction;
use crate::{Args, Cx, KernelError, KernelResult, Tensor, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[cosine_similarity::ALL, cosine_embedding_loss::ALL, pairwise_distance::ALL, triplet_margin_loss::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    cosine_similarity => "aten.cosine_similarity.default";
    cosine_embedding_loss => "aten.cosine_embedding_loss.default";
    |cx, args| {
        let (a, b) = (args.tensor("x1")?, args.tensor("x2")?);
        one(pairwise_distance(cx, args, a, b, args.flag("keepdim")?)?)
    } => "aten.pairwise_distance.default";
    triplet_margin_loss => "aten.triplet_margin_loss.default";
};

clauses! { cosine_similarity {
    C1 "The shapes of `x1` and `x2` broadcast."
    C2 "The dtypes of `x1` and `x2` promote to a floating point one."
    C3 "`dim` is in range."
} }

/// `cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor`: `dim` of the common shape goes.
fn cosine_similarity(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("x1")?, args.tensor("x2")?);
    let mut common = cx.combined(&[a, b], cosine_similarity::C1)?;
    // The dtypes meet as those of tensors with dimensions do.
    common.dtype = promote::promote(a.dtype, b.dtype).unwrap_or(common.dtype);
    cx.require_dtype(common.dtype, Domain::FLOAT.by_definition(), &common.device, cosine_similarity::C2)?;
    let dim = cx.dim(args.int("dim")?, common.rank(), cosine_similarity::C3)?;
    one(cx.reduced(&common, &Reduction::one(common.rank(), dim, false), common.dtype))
}

/// The dtype of a sum of elements of a dtype, in floating point.
fn float_sum(dtype: Dtype) -> Dtype {
    promote::to_float(dtype)
}

clauses! { cosine_embedding_loss {
    C1 "`input1` and `input2` have one dimension more than `target`, which has at most 1."
    C2 "`input1` and `input2` broadcast, and the cosines broadcast with `target`."
    C3 "The dtypes of `input1` and `input2` promote to one that is not complex."
} }

/// `cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor`: one
/// loss a sample.
fn cosine_embedding_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b, target) = (args.tensor("input1")?, args.tensor("input2")?, args.tensor("target")?);
    let rank = target.rank();
    cx.check(rank <= 1 && a.rank() == rank + 1 && b.rank() == rank + 1, cosine_embedding_loss::C1, |_| {
        format!("{} and {} dimensions do not go with a target of {rank}", a.rank(), b.rank())
    })?;
    let common = cx.combined(&[a, b], cosine_embedding_loss::C2)?;
    let over = Reduction::one(rank + 1, rank, false);
    let cosine = cx.reduced(&common, &over, float_sum(common.dtype));
    // The magnitudes of both are multiplied as well: their samples broadcast.
    cx.require_dtype(cosine.dtype, Domain::FLOAT.on_cpu(), &cosine.device, cosine_embedding_loss::C3)?;
    let elements = cx.elementwise(&[target, &cosine], cosine.dtype, cosine_embedding_loss::C2)?;
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}

clauses! { pairwise_distance {
    C1 "The operands can be subtracted: their shapes broadcast, and neither is of `bool`."
    C2 "The last dimension is not empty if `p` is negative or infinite."
    C3 "The operands promote to a floating point or complex dtype."
} }

/// The distance along the last dimension of the common shape, which goes unless `keepdim`.
fn pairwise_distance(
    cx: &mut Cx,
    args: &Args,
    a: &Tensor,
    b: &Tensor,
    keepdim: bool,
) -> Result<Tensor, KernelError> {
    let mut difference = cx.difference(a, b, pairwise_distance::C1)?;
    difference.dtype = promote::to_float(difference.dtype);
    cx.require_dtype(
        difference.dtype,
        Domain::FLOAT_COMPLEX.on_cpu(),
        &difference.device,
        pairwise_distance::C3,
    )?;
    let over = Reduction::one(difference.rank(), difference.rank().saturating_sub(1), keepdim);
    let p = args.float("p")?;
    match cx.pool().as_float(p) {
        Some(p) if p < 0.0 || p == f64::INFINITY => {
            cx.require_reducible(&difference, &over, pairwise_distance::C2)?;
        }
        _ => {}
    }
    Ok(cx.reduced(&difference, &over, promote::to_real(difference.dtype)))
}

clauses! { triplet_margin_loss {
    C1 "`anchor`, `positive` and `negative` have the same rank."
    C2 "The distances between the operands broadcast."
} }

/// `triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=…, bool
/// swap=False, int reduction=1) -> Tensor`: one loss a sample.
fn triplet_margin_loss(cx: &mut Cx, args: &Args) -> KernelResult {
    let (anchor, positive) = (args.tensor("anchor")?, args.tensor("positive")?);
    let negative = args.tensor("negative")?;
    cx.check(
        anchor.rank() == positive.rank() && anchor.rank() == negative.rank(),
        triplet_margin_loss::C1,
        |_| format!("{}, {} and {} dimensions are given", anchor.rank(), positive.rank(), negative.rank()),
    )?;
    let near = pairwise_distance(cx, args, anchor, positive, false)?;
    let mut far = pairwise_distance(cx, args, anchor, negative, false)?;
    if args.flag("swap")? {
        let swapped = pairwise_distance(cx, args, positive, negative, false)?;
        far = cx.combined(&[&far, &swapped], triplet_margin_loss::C2)?;
    }
    let elements = cx.combined(&[&near, &far], triplet_margin_loss::C2)?;
    let reduce = reduction(cx, args)?;
    one(reduced(cx, elements, reduce)?)
}
