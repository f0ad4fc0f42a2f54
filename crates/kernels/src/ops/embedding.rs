//! Embeddings: rows looked up by index.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[embedding::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    embedding => "aten.embedding.default";
};

/// What indices into a table are held against.
pub(super) const ROWS: &str = "rows of the table";

/// Indices are of `int32` or `int64`.
pub fn check_indices(cx: &mut Cx, indices: &Tensor, clause: &'static OpClause) -> Result<(), KernelError> {
    cx.check(matches!(indices.dtype, Dtype::Int32 | Dtype::Int64), clause, |_| {
        format!("indices are to be int32 or int64, not {}", indices.dtype)
    })
}

clauses! { embedding {
    C1 "`weight` has 2 dimensions."
    C2 "`indices` is of `int32` or `int64`."
    C3 "`weight` has rows, unless there are no indices."
    C4 "Indices that are computed from sizes are rows of `weight`."
} }

/// `embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) ->
/// Tensor`: `[n, d] × [...] → [..., d]`.
fn embedding(cx: &mut Cx, args: &Args) -> KernelResult {
    let (weight, indices) = (args.tensor("weight")?, args.tensor("indices")?);
    cx.check(weight.rank() == 2, embedding::C1, |_| {
        format!("a matrix is expected, not {} dimensions", weight.rank())
    })?;
    check_indices(cx, indices, embedding::C2)?;
    let (rows, looked_up) = (weight.size(0), cx.numel(indices));
    let (some_rows, nothing) = (cx.gt(rows, Expr::ZERO), cx.eq(looked_up, Expr::ZERO));
    let possible = cx.any(&[some_rows, nothing]);
    cx.require(possible, embedding::C3, |_| "indices into an empty table".into())?;
    cx.require_indices(indices, weight.size(0), false, ROWS, embedding::C4)?;
    let mut sizes: Sizes = indices.sizes.clone();
    sizes.push(weight.size(1));
    one(cx.contiguous(sizes, weight.dtype, &weight.device))
}
