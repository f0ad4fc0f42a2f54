//! Reductions to one of the elements: extrema, their places, medians and modes.
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::reduce::Reduction;
use crate::{Args, Cx, KernelResult};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[amax::ALL, max::ALL, median::ALL, argmax::ALL, kthvalue::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    extremum => "aten.amax.default", "aten.amin.default", "aten.max.default", "aten.min.default";
    extrema => "aten.aminmax.default", "aten._aminmax.default", "aten._aminmax.dim";
    |cx, args| placed(cx, args, Domain::REAL_BOOL.on_cpu()) => "aten.max.dim", "aten.min.dim", "aten.mode.default";
    |cx, args| placed(cx, args, Domain::REAL.on_cpu()) => "aten.median.dim", "aten.nanmedian.dim";
    median => "aten.median.default", "aten.nanmedian.default";
    place => "aten.argmax.default", "aten.argmin.default";
    kthvalue => "aten.kthvalue.default";
};

clauses! { amax {
    C1 "The dimensions are distinct and in range."
    C2 "The reduced dimensions are not empty."
    C3 "The dtype of `self` is ordered."
} }

/// `amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor`, and `amin`, `max`, `min` without `dim`: the
/// dimensions in `dim` go.
fn extremum(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let reduction = cx.reduction(args, x, amax::C1)?;
    cx.require_dtype(x.dtype, Domain::REAL_BOOL.on_cpu(), &x.device, amax::C3)?;
    cx.require_reducible(x, &reduction, amax::C2)?;
    one(cx.reduced(x, &reduction, x.dtype))
}

/// `aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)`: [`extremum`] twice.
fn extrema(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut results = extremum(cx, args)?;
    results.push(results[0].clone());
    Ok(results)
}

clauses! { max {
    C1 "`dim` is in range."
    C2 "The dimension `dim` is not empty."
    C3 "The dtype of `self` is ordered. It is not `bool` for medians."
} }

/// `max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)`, and the like: `dim` goes.
fn placed(cx: &mut Cx, args: &Args, accepted: Accepted) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = cx.dim(args.int("dim")?, x.rank(), max::C1)?;
    let reduction = Reduction::one(x.rank(), dim, args.flag("keepdim")?);
    cx.require_dtype(x.dtype, accepted, &x.device, max::C3)?;
    cx.require_reducible(x, &reduction, max::C2)?;
    let values = cx.reduced(x, &reduction, x.dtype);
    let indices = values.with_dtype(Dtype::Int64);
    Ok(smallvec![values.into(), indices.into()])
}

clauses! { median {
    C1 "The dtype of `self` is ordered and not `bool`."
} }

/// `median(Tensor self) -> Tensor`: a scalar; of no elements it is not a number.
fn median(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_dtype(x.dtype, Domain::REAL.on_cpu(), &x.device, median::C1)?;
    one(cx.contiguous([].as_slice(), x.dtype, &x.device))
}

clauses! { argmax {
    C1 "`dim` is in range."
    C2 "The reduced dimensions are not empty."
    C3 "The dtype of `self` is ordered and not `bool`."
} }

/// `argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor`: `dim` goes, or all dimensions.
fn place(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let reduction = cx.reduction(args, x, argmax::C1)?;
    cx.require_dtype(x.dtype, Domain::REAL.on_cpu(), &x.device, argmax::C3)?;
    cx.require_reducible(x, &reduction, argmax::C2)?;
    one(cx.reduced(x, &reduction, Dtype::Int64))
}

clauses! { kthvalue {
    C1 "`dim` is in range."
    C2 "`k` is from 1 to `self.size(dim)`."
    C3 "The dtype of `self` is ordered and not `bool`."
} }

/// `kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)`: `dim` goes.
fn kthvalue(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, k) = (args.tensor("self")?, args.int("k")?);
    let dim = cx.dim(args.int("dim")?, x.rank(), kthvalue::C1)?;
    let size = x.sizes.get(dim).copied().unwrap_or(Expr::ONE);
    let (least, most) = (cx.ge(k, 1), cx.le(k, size));
    for bound in [least, most] {
        cx.require(bound, kthvalue::C2, |cx| {
            format!("k = {} is not between 1 and the size {}", cx.show(k), cx.show(size))
        })?;
    }
    cx.require_dtype(x.dtype, Domain::REAL.on_cpu(), &x.device, kthvalue::C3)?;
    let values = cx.reduced(x, &Reduction::one(x.rank(), dim, args.flag("keepdim")?), x.dtype);
    let indices = values.with_dtype(Dtype::Int64);
    Ok(smallvec![values.into(), indices.into()])
}
