//! Boxes in images: which to keep, and what lies in them.
use super::{Family, gather, policy};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::run_time::{About, values, within};
use crate::shape::value::{Element, Tensor};
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[NonMaxSuppression::ALL, RoiAlign::ALL];

pub(super) const KERNELS: Family = &free([
    op("NonMaxSuppression", non_max_suppression).infers(at_load::rank).at_run(&[values(
        3,
        NonMaxSuppression::C2,
        "{} is from 0 to 1",
    )]),
    op("RoiAlign", roi_align).infers(at_load::rank).at_run(&[within(
        2,
        RoiAlign::C2,
        About::Dimension(0, 0),
    )]),
]);

clauses! { NonMaxSuppression {
    C1 "`boxes` is `[n, boxes, 4]` and `scores` is `[n, classes, boxes]`. `center_point_box` is 0 or 1."
    C2 "The limits are single numbers, and `iou_threshold` is from 0 to 1."
} }

/// `[kept, 3]`.
fn non_max_suppression(cx: &mut Cx, call: &Checked) -> Outcome {
    let (boxes, scores) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(boxes.len() == 3 && scores.len() == 3, NonMaxSuppression::C1, || {
        format!("ranks {} and {} are to be 3", boxes.len(), scores.len())
    })?;
    let four = cx.int(4);
    cx.require_eq(boxes[2], four, NonMaxSuppression::C1, "the numbers of a box")?;
    cx.require_eq(boxes[0], scores[0], NonMaxSuppression::C1, "batches")?;
    cx.require_eq(boxes[1], scores[2], NonMaxSuppression::C1, "boxes and scores")?;
    let center = call.int("center_point_box", 0);
    call.check(matches!(center, 0 | 1), NonMaxSuppression::C1, || format!("center_point_box is {center}"))?;
    for at in 2..call.count() {
        // onnxruntime reads the first element of a limit, whatever its shape.
        if call.has(at) && !cx.on_cpu() {
            let shape = call.shape(at)?.to_vec();
            call.check(shape.len() <= 1, NonMaxSuppression::C2, || {
                format!("a limit is of rank {}", shape.len())
            })?;
            let count = cx.product(shape);
            cx.require_eq(count, Expr::ONE, NonMaxSuppression::C2, "the number of a limit")?;
        }
    }
    if cx.on_cpu() && call.has(3) && call.shape(3)?.contains(&Expr::ZERO) {
        let message = "NonMaxSuppression: onnxruntime reads a threshold of overlaps where there is none";
        return Err(KernelError::Unsupported(message.to_owned()));
    }
    let overlap = call.tensor(3).and_then(Tensor::single).and_then(|limit| limit.number());
    policy::onnxruntime_checks(
        cx,
        overlap.is_none_or(|limit| (0.0..=1.0).contains(&limit)),
        NonMaxSuppression::C2,
        || "the limit of overlaps is not from 0 to 1".to_owned(),
    )?;
    let three = cx.int(3);
    let most = match call.tensor(2).map(Tensor::single) {
        // Without a limit nothing is kept.
        None => Expr::ZERO,
        Some(Some(Element::Int(limit))) => {
            let limit = cx.max(limit, 0);
            let each = cx.min(limit, boxes[1]);
            let classes = cx.mul(scores[0], scores[1]);
            cx.mul(each, classes)
        }
        Some(_) => cx.product([scores[0], scores[1], boxes[1]]),
    };
    let kept = if most == Expr::ZERO { Expr::ZERO } else { cx.unbacked_size(0, Some(most)) };
    Ok(vec![Tensor::new(Dtype::I64, vec![kept, three]).into()])
}

clauses! { RoiAlign {
    C1 "Input `X` has 4 dimensions, and `rois` is `[n, 4]`."
    C2 "`batch_indices` has an element for each region, which is an index of a batch."
    C3 "The modes are known, and output sizes and `sampling_ratio` are not negative."
} }

/// `[regions, c, height, width]`.
fn roi_align(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, regions, batches) =
        (call.shape(0)?.to_vec(), call.shape(1)?.to_vec(), call.shape(2)?.to_vec());
    call.check(sizes.len() == 4 && regions.len() == 2 && batches.len() == 1, RoiAlign::C1, || {
        format!("ranks {}, {} and {}", sizes.len(), regions.len(), batches.len())
    })?;
    let four = cx.int(4);
    cx.require_eq(regions[1], four, RoiAlign::C1, "the numbers of a region")?;
    cx.require_eq(regions[0], batches[0], RoiAlign::C2, "regions and batch indices")?;
    let mode = call.text("mode", "avg");
    call.check(matches!(mode, "avg" | "max"), RoiAlign::C3, || format!("no mode is named {mode}"))?;
    let (height, width) = (call.int("output_height", 1), call.int("output_width", 1));
    call.check(height >= 0 && width >= 0, RoiAlign::C3, || format!("the output is {height} by {width}"))?;
    gather::inside(cx, call.given(2)?, sizes[0], RoiAlign::C2)?;
    gather::not_negative(call, 2, RoiAlign::C2)?;
    call.check(call.int("sampling_ratio", 0) >= 0, RoiAlign::C3, || "sampling_ratio is negative".to_owned())?;
    let places = call.text("coordinate_transformation_mode", "half_pixel");
    call.check(matches!(places, "half_pixel" | "output_half_pixel"), RoiAlign::C3, || {
        format!("no coordinates are named {places}")
    })?;
    let shape = vec![regions[0], sizes[1], cx.int(height), cx.int(width)];
    call.one(shape)
}
