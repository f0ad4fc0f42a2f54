//! Sorting and selecting along a dimension.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[sort::ALL, topk::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    sort => "aten.sort.default", "aten.sort.stable";
    argsort => "aten.argsort.default", "aten.argsort.stable";
    msort => "aten.msort.default";
    topk => "aten.topk.default";
};

clauses! { sort {
    C1 "`dim` is in range."
    C2 "The dtype of `self` is ordered: not complex."
} }

/// The sorted tensor: as the operand, keeping the order of dimensions in memory.
fn sorted(cx: &mut Cx, x: &Arc<Tensor>, dim: Expr) -> Result<Tensor, KernelError> {
    cx.dim(dim, x.rank(), sort::C1)?;
    cx.require_dtype(x.dtype, Domain::REAL_BOOL.with(Domain::WIDE_UNSIGNED).on_cpu(), &x.device, sort::C2)?;
    let strides = cx.preserved_strides(x);
    Ok(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

/// `sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)`: both shaped as the
/// operand.
fn sort(cx: &mut Cx, args: &Args) -> KernelResult {
    let values = sorted(cx, args.tensor("self")?, args.int("dim")?)?;
    let indices = values.with_dtype(Dtype::Int64);
    Ok(smallvec![values.into(), indices.into()])
}

/// `argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor`: shaped as the operand.
fn argsort(cx: &mut Cx, args: &Args) -> KernelResult {
    let values = sorted(cx, args.tensor("self")?, args.int("dim")?)?;
    one(values.with_dtype(Dtype::Int64))
}

/// `msort(Tensor self) -> Tensor`: sorted along the first dimension.
fn msort(cx: &mut Cx, args: &Args) -> KernelResult {
    one(sorted(cx, args.tensor("self")?, Expr::ZERO)?)
}

clauses! { topk {
    C1 "`dim` is in range."
    C2 "`k` is from 0 to `self.size(dim)`, which is 1 for a tensor without dimensions."
    C3 "The dtype of `self` is neither `bool` nor complex."
} }

/// `topk(Tensor self, SymInt k, int dim=-1, …) -> (Tensor values, Tensor indices)`: the size of `dim` becomes `k`.
fn topk(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, k) = (args.tensor("self")?, args.int("k")?);
    let dim = cx.dim(args.int("dim")?, x.rank(), topk::C1)?;
    let size = x.sizes.get(dim).copied().unwrap_or(Expr::ONE);
    let (least, most) = (cx.ge(k, 0), cx.le(k, size));
    for bound in [least, most] {
        cx.require(bound, topk::C2, |cx| {
            format!("k = {} is not between 0 and the size {}", cx.show(k), cx.show(size))
        })?;
    }
    cx.require_dtype(x.dtype, Domain::REAL.on_cpu(), &x.device, topk::C3)?;
    let mut sizes = x.sizes.clone();
    if let Some(size) = sizes.get_mut(dim) {
        *size = k;
    }
    let values = cx.contiguous(sizes, x.dtype, &x.device);
    let indices = values.with_dtype(Dtype::Int64);
    Ok(smallvec![values.into(), indices.into()])
}
