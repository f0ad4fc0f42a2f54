//! What forward-mode differentiation asks before it takes a tangent.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_expr::range::ValueRange;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[same_feature_meta::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    zeros => "aten._new_zeros_with_same_feature_meta.default";
    same_storage => "aten._has_same_storage_numel.default";
};

clauses! { same_feature_meta {
    C1 "`self_num_batch_dims` is not negative."
} }

/// `_new_zeros_with_same_feature_meta(Tensor self, Tensor other, *, int self_num_batch_dims=0) -> Tensor`: zeros with the
/// sizes, strides and dtype of `other`. With dimensions of batches of `self` before them, steps between batches are as
/// large as the storage of `other`, which a view does not tell.
fn zeros(cx: &mut Cx, args: &Args) -> KernelResult {
    let other = args.tensor("other")?;
    let batches = args.int("self_num_batch_dims")?;
    match cx.literal(batches, same_feature_meta::C1)? {
        0 => one(cx.strided(other.sizes.clone(), other.strides.clone(), other.dtype, &other.device)),
        count if count < 0 => {
            Err(KernelError::invalid(same_feature_meta::C1, format!("{count} dimensions of batches")))
        }
        _ => Err(KernelError::Unsupported("the storage of a view".into())),
    }
}

/// `_has_same_storage_numel(Tensor self, Tensor other) -> bool`: shapes do not tell how large storage is, so either
/// may be.
fn same_storage(cx: &mut Cx, _: &Args) -> KernelResult {
    let bit = cx.env.fresh_unbacked(ValueRange::between(0.into(), 1.into()));
    let value = cx.eq(bit, Expr::ONE);
    Ok([Value::Bool(value)].into_iter().collect())
}
