//! Views of the `prims` namespace that have no counterpart in `aten`.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::tensor::Sizes;
use crate::{Args, Cx, KernelError, KernelResult};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[collapse::ALL, split_dim::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| {
        let sizes = collapsed(cx, args)?;
        one(cx.view(args.tensor("a")?, sizes, collapse::C3)?)
    } => "prims.collapse_view.default";
    |cx, args| {
        let (sizes, x) = (collapsed(cx, args)?, args.tensor("a")?);
        one(cx.contiguous(sizes, x.dtype, &x.device))
    } => "prims.collapse.default";
    split_dim => "prims.split_dim.default";
};

/// A dimension that is not counted from the end; a tensor without dimensions counts as one with one.
fn plain_dim(
    cx: &mut Cx,
    args: &Args,
    name: &str,
    rank: usize,
    clause: &'static OpClause,
) -> Result<usize, KernelError> {
    let dim = cx.literal(args.int(name)?, clause)?;
    usize::try_from(dim).ok().filter(|&dim| dim < rank.max(1)).ok_or_else(|| {
        KernelError::invalid(clause, format!("dimension {dim} is out of bounds for {rank} dimensions"))
    })
}

clauses! { collapse {
    C1 "`start` and `end` are in range, and not negative."
    C2 "`start` is not greater than `end`."
    C3 "For `collapse_view`, the strides allow a view in which the dimensions are merged."
} }

/// `prims::collapse(Tensor a, int start, int end) -> Tensor`: the dimensions from one to the other become one.
fn collapsed(cx: &mut Cx, args: &Args) -> Result<Sizes, KernelError> {
    let x = args.tensor("a")?;
    let start = plain_dim(cx, args, "start", x.rank(), collapse::C1)?;
    let end = plain_dim(cx, args, "end", x.rank(), collapse::C1)?;
    cx.check(start <= end, collapse::C2, |_| format!("start {start} comes after end {end}"))?;
    if x.rank() == 0 {
        return Ok([Expr::ONE].as_slice().into());
    }
    let mut sizes: Sizes = x.sizes[..start].into();
    sizes.push(cx.product(x.sizes[start..=end].iter().copied()));
    sizes.extend_from_slice(&x.sizes[end + 1..]);
    Ok(sizes)
}

clauses! { split_dim {
    C1 "`dim` is in range, and not negative."
    C2 "`outer_length` is positive, and the size of the dimension is divisible by it."
} }

/// `prims::split_dim(Tensor a, int dim, SymInt outer_length) -> Tensor`: one dimension becomes two, the first of the
/// given size.
fn split_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, outer) = (args.tensor("a")?, args.int("outer_length")?);
    cx.check(x.rank() > 0, split_dim::C1, |_| "the tensor has no dimensions".to_string())?;
    let dim = plain_dim(cx, args, "dim", x.rank(), split_dim::C1)?;
    let positive = cx.gt(outer, 0);
    cx.require(positive, split_dim::C2, |cx| format!("the outer length {} is not positive", cx.show(outer)))?;
    let rest = cx.modulo(x.sizes[dim], outer);
    let divides = cx.eq(rest, 0);
    cx.require(divides, split_dim::C2, |cx| {
        format!("the size {} is not divisible by {}", cx.show(x.sizes[dim]), cx.show(outer))
    })?;
    let inner = cx.floor_div(x.sizes[dim], outer);
    let distance = cx.mul(x.strides[dim], inner);
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    result.sizes[dim] = inner;
    result.sizes.insert(dim, outer);
    result.strides.insert(dim, distance);
    one(result)
}
