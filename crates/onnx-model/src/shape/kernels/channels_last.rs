//! Images whose channels are the last dimension, as onnxruntime's accelerators take them.
use super::Family;
use super::convolution::convolved;
use super::normalization::vector;
use crate::shape::call::{Checked, Outcome};
use crate::shape::kernels::convolution::Conv;
use crate::shape::op::op;
use crate::shape::value::Value;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[GroupNorm::ALL];

pub(super) const CONTRIB: Family = &[
    op("GroupNorm", group_norm).passes(),
    op("NhwcConv", conv).passes(),
    op("NhwcFusedConv", conv).passes(),
    op("SkipGroupNorm", skip_group_norm).passes(),
];

/// `[n, windows.., out]` of an input `[n, .., c]`; the weight is `[out, c / groups, kernel..]`.
fn conv(cx: &mut Cx, call: &Checked) -> Outcome {
    let [batch, spatial @ .., channels] = call.shape(0)? else {
        return Err(KernelError::invalid(Conv::C1, "the input has less than 3 dimensions"));
    };
    let first = [&[*batch, *channels], spatial].concat();
    let mut shape = convolved(cx, call, (&first, 1), Some(2))?;
    let channels = shape.remove(1);
    shape.push(channels);
    if call.has(3) {
        cx.require_same_shape(call.shape(3)?, &shape, Conv::C6)?;
    }
    call.one(shape)
}

clauses! { GroupNorm {
    C1 "Input `X` has 4 dimensions."
    C2 "`gamma` and `beta` have an element for each channel."
    C3 "`groups` is positive, and the number of channels is divisible by it."
    C4 "`skip` has the shape of `X`, or is `[n, 1, 1, c]` or `[n, c]`. `bias` has an element for each \
        channel."
} }

/// The shape of the input, and its channels.
fn grouped(cx: &mut Cx, call: &Checked) -> Result<(Vec<Expr>, Expr), KernelError> {
    let sizes = call.shape(0)?.to_vec();
    call.check(sizes.len() == 4, GroupNorm::C1, || format!("an image has rank {}", sizes.len()))?;
    let channels = if call.int("channels_last", 1) != 0 { sizes[3] } else { sizes[1] };
    for at in [1, 2] {
        vector(cx, call, at, channels, GroupNorm::C2)?;
    }
    let groups = call.int("groups", 0);
    call.check(groups > 0, GroupNorm::C3, || format!("there are {groups} groups"))?;
    let groups = cx.int(groups);
    let left = cx.modulo(channels, groups);
    cx.require_eq(left, Expr::ZERO, GroupNorm::C3, "channels that are left over")?;
    Ok((sizes, channels))
}

/// Conditions as for [`grouped`].
fn group_norm(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, _) = grouped(cx, call)?;
    call.one(sizes)
}

/// `group_norm(X + skip + bias)`, and the sum.
fn skip_group_norm(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, channels) = grouped(cx, call)?;
    let skip = call.shape(3)?.to_vec();
    match skip.len() {
        2 => cx.require_same_shape(&skip, &[sizes[0], channels], GroupNorm::C4)?,
        4 => {
            cx.require_same_shape(&[skip[0], skip[3]], &[sizes[0], sizes[3]], GroupNorm::C4)?;
            let (both, one) = ([&skip[1..3], &sizes[1..3]], [&skip[1..3], &[Expr::ONE, Expr::ONE]]);
            let mut fine = Vec::with_capacity(2);
            for [given, expected] in [both, one] {
                let same: Vec<Expr> = given.iter().zip(expected).map(|(&a, &b)| cx.eq(a, b)).collect();
                fine.push(cx.all(&same));
            }
            let fine = cx.any(&fine);
            cx.require(fine, GroupNorm::C4, |cx| format!("{} does not fit the image", cx.show_all(&skip)))?;
        }
        rank => call.check(false, GroupNorm::C4, || format!("what is added is of rank {rank}"))?,
    }
    if call.has(4) {
        vector(cx, call, 4, channels, GroupNorm::C4)?;
    }
    let results: [Value; 2] = [call.output(0, sizes.clone())?.into(), call.output(1, sizes)?.into()];
    Ok(results.into())
}
