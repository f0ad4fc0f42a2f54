//! What attention adds to its products, and which positions it leaves out.
use super::gather;
use crate::shape::call::Checked;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[AttentionBias::ALL, AttentionMask::ALL];

clauses! { AttentionBias {
    C1 "A bias of the attention has 4 dimensions and broadcasts to `[batch, heads, length, total length]`; \
        only the first two sizes may be 1."
} }

pub(super) fn added_bias(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    products: &[Expr; 4],
) -> Result<(), KernelError> {
    let bias = call.shape(at)?.to_vec();
    call.check(bias.len() == 4, AttentionBias::C1, || {
        format!("a bias has 4 dimensions, not {}", bias.len())
    })?;
    cx.require_expandable(&bias[..2], &products[..2], AttentionBias::C1)?;
    cx.require_same_shape(&bias[2..], &products[2..], AttentionBias::C1)
}

clauses! { AttentionMask {
    C1 "The mask has a shape that the operator knows. It is `[batch]`, `[2 * batch]`, `[3 * batch + 2]`, \
        `[batch, total length]`, `[batch, 1]`, `[1, 1]` or `[batch, length, total length]`."
    C2 "No length in the mask is negative."
} }

pub(super) fn padding(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    batch: Expr,
    length: Expr,
    total: Expr,
) -> Result<(), KernelError> {
    let mask = call.shape(at)?.to_vec();
    match mask.len() {
        1 => {
            gather::not_negative(call, at, AttentionMask::C2)?;
            let (two, three) = (cx.mul(batch, 2), cx.mul(batch, 3));
            let three = cx.add(three, 2);
            let conditions: Vec<Expr> =
                [batch, two, three].into_iter().map(|size| cx.eq(mask[0], size)).collect();
            let fine = cx.any(&conditions);
            cx.require(fine, AttentionMask::C1, |cx| format!("the mask has {} elements", cx.show(mask[0])))
        }
        2 => {
            let (each, whole) = (cx.eq(mask[0], batch), cx.eq(mask[1], total));
            let (shared, single) = (cx.eq(mask[0], 1), cx.eq(mask[1], 1));
            let rows = cx.any(&[each, shared]);
            let cases = [cx.all(&[each, whole]), cx.all(&[rows, single])];
            let fine = cx.any(&cases);
            cx.require(fine, AttentionMask::C1, |cx| {
                format!("the mask is {} for {}", cx.show_all(&mask), cx.show_all(&[batch, total]))
            })
        }
        3 => cx.require_same_shape(&mask, &[batch, length, total], AttentionMask::C1),
        rank => call.check(false, AttentionMask::C1, || format!("the mask is of rank {rank}")),
    }
}
