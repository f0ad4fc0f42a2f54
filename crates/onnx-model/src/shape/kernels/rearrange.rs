//! Images rearranged: channels as blocks, and parts around the centre.
use super::{Family, layout, policy};
use crate::shape::at_load;
use crate::shape::call::{Checked, Outcome};
use crate::shape::dtype::Dtype;
use crate::shape::op::{free, op};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Blocks::ALL, DepthToSpace::ALL, SpaceToDepth::ALL, CenterCropPad::ALL];

pub(super) const KERNELS: Family = &free([
    op("CenterCropPad", center_crop_pad).infers(at_load::rank),
    op("DepthToSpace", depth_to_space).infers(at_load::rank),
    op("SpaceToDepth", space_to_depth).infers(at_load::rank),
]);

clauses! { Blocks {
    C1 "The input has 4 dimensions."
    C2 "`blocksize` is positive."
} }

/// The number of channels and the spatial sizes of an image `[n, c, h, w]`.
fn blocks(cx: &mut Cx, call: &Checked) -> Result<(Vec<Expr>, Expr), KernelError> {
    let sizes = call.shape(0)?.to_vec();
    call.check(sizes.len() == 4, Blocks::C1, || format!("an image has 4 dimensions, not {}", sizes.len()))?;
    let block = call.int("blocksize", 0);
    call.check(block > 0, Blocks::C2, || format!("the block size is to be positive, not {block}"))?;
    Ok((sizes, cx.int(block)))
}

fn exactly(cx: &mut Cx, a: Expr, b: Expr, clause: &'static OpClause) -> Result<Expr, KernelError> {
    let remainder = cx.modulo(a, b);
    let divides = cx.eq(remainder, 0);
    cx.require(divides, clause, |cx| format!("{} is no multiple of {}", cx.show(a), cx.show(b)))?;
    Ok(cx.floor_div(a, b))
}

clauses! { DepthToSpace {
    C3 "The number of channels is divisible by the square of `blocksize`."
    C4 "`mode` is `DCR` or `CRD`."
} }

/// `[n, c / b², h b, w b]`.
fn depth_to_space(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, block) = blocks(cx, call)?;
    let mode = call.text("mode", "DCR");
    call.check(matches!(mode, "DCR" | "CRD"), DepthToSpace::C4, || format!("no mode is named {mode}"))?;
    let square = cx.mul(block, block);
    let channels = exactly(cx, sizes[1], square, DepthToSpace::C3)?;
    let (height, width) = (cx.mul(sizes[2], block), cx.mul(sizes[3], block));
    call.one(vec![sizes[0], channels, height, width])
}

clauses! { SpaceToDepth {
    C3 "Height and width are divisible by `blocksize`."
} }

/// `[n, c b², h / b, w / b]`.
fn space_to_depth(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, block) = blocks(cx, call)?;
    let square = cx.mul(block, block);
    let channels = cx.mul(sizes[1], square);
    let height = exactly(cx, sizes[2], block, SpaceToDepth::C3)?;
    let width = exactly(cx, sizes[3], block, SpaceToDepth::C3)?;
    call.one(vec![sizes[0], channels, height, width])
}

clauses! { CenterCropPad {
    C1 "`shape` has a size for each of `axes`. `axes` are distinct and within the rank of the input, which \
        is not a scalar."
    C2 "For onnxruntime, `shape` is of `int64`."
} }

/// The input cut or padded around its centre to a shape.
fn center_crop_pad(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    let target = layout::sizes_of(cx, call, 1, CenterCropPad::C1)?;
    call.check(!shape.is_empty(), CenterCropPad::C1, || "a scalar has no axis".to_owned())?;
    let axes = call.ints("axes").map_or_else(|| (0..shape.len() as i64).collect(), <[i64]>::to_vec);
    // The body takes the maximum of the shape and the target, where one size broadcasts.
    let repeated = cx.on_cpu() && target.len() == 1;
    if repeated && axes.len() != 1 {
        let message = || format!("there is 1 size for {} axes", axes.len());
        call.refused_where(call.given(1)?.at_load.elements, CenterCropPad::C1, message)?;
    }
    call.check(axes.len() == target.len() || repeated, CenterCropPad::C1, || {
        format!("there are {} sizes for {} axes", target.len(), axes.len())
    })?;
    let is_long = call.given(1)?.dtype == Dtype::I64;
    policy::onnxruntime_checks(cx, is_long, CenterCropPad::C2, || {
        "the body needs sizes of 64 bits".to_owned()
    })?;
    let (rank, mut seen) = (shape.len(), Vec::new());
    if target.iter().any(|size| size.as_inline().is_some_and(|size| size < 0)) {
        call.misinferred(cx);
    }
    for (axis, size) in axes.into_iter().zip(target.into_iter().cycle()) {
        let at = call.axis(axis, rank, CenterCropPad::C1)?;
        call.check(!seen.contains(&at), CenterCropPad::C1, || format!("axis {at} is named twice"))?;
        seen.push(at);
        let natural = cx.ge(size, 0);
        shape[at] = if cx.surely(natural) { size } else { cx.max(size, 0) };
    }
    call.one(shape)
}
