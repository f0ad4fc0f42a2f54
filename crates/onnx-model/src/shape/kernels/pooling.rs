//! Pooling.
use super::convolution::{AutoPad, Spatial};
use super::{Family, policy};
use crate::shape::Dtype;
use crate::shape::at_load::{self, Known};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::{free, op};
use crate::shape::run_time::values;
use crate::shape::value::Tensor;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, windows};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Pool::ALL, GlobalPool::ALL, MaxRoiPool::ALL, MaxUnpool::ALL];

pub(super) const KERNELS: Family = &free([
    op("AveragePool", pool).passes().infers(at_load::rank),
    op("GlobalAveragePool", global).passes().infers(at_load::rank),
    op("GlobalLpPool", global).infers(at_load::rank),
    op("GlobalMaxPool", global).passes().infers(at_load::rank),
    op("LpPool", pool).infers(at_load::rank),
    op("MaxPool", pool).passes().infers(at_load::rank),
    op("MaxRoiPool", max_roi_pool).infers(at_load::rank),
    op("MaxUnpool", max_unpool).at_run(&[values(
        1,
        MaxUnpool::C5,
        "every index in {} is one of an element of the result",
    )]),
]);

pub(super) const CONTRIB: Family = &free([op("MaxpoolWithMask", masked_pool), op("NhwcMaxPool", pool)]);

fn masked_pool(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = pooled(cx, call)?;
    let (sizes, mask) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(mask.len() == sizes.len(), Pool::C7, || format!("the mask is of rank {}", mask.len()))?;
    cx.require_same_shape(&mask[2..], &sizes[2..], Pool::C7)?;
    let (no_batch, no_channel) = (cx.eq(sizes[0], 0), cx.eq(sizes[1], 0));
    let (some, too) = (cx.ge(mask[0], 1), cx.ge(mask[1], 1));
    let filled = cx.all(&[some, too]);
    let fine = cx.any(&[no_batch, no_channel, filled]);
    policy::onnxruntime(cx, fine, Pool::C9, |cx| format!("the mask is {}", cx.show_all(&mask)))?;
    call.one(shape)
}

/// The windows of the attribute `kernel_shape`.
fn read(cx: &mut Cx, call: &Checked, rank: usize) -> Result<Spatial, KernelError> {
    let kernel = call.ints("kernel_shape").unwrap_or_default();
    call.check(rank >= 3, Pool::C1, || format!("an image has at least 3 dimensions, not {rank}"))?;
    call.check(kernel.len() == rank - 2, Pool::C1, || {
        format!("kernel_shape has {} entries for {} dimensions", kernel.len(), rank - 2)
    })?;
    call.check(kernel.iter().all(|&size| size > 0), Pool::C2, || "a window is empty".to_owned())?;
    let kernel: Vec<Expr> = kernel.iter().map(|&size| cx.int(size)).collect();
    Spatial::read(call, kernel)
}

clauses! { Pool {
    C1 "The input has at least 3 dimensions, and `kernel_shape` has an entry for each spatial dimension."
    C2 "`kernel_shape` is positive, and for onnxruntime `storage_order` is 0 or 1."
    C3 "Each pad is less than the size of the window."
    C4 "The window fits into the padded input."
    C6 "Only the batch of the input is empty, if any dimension is."
    C7 "The mask has the rank and the spatial sizes of the input."
    C8 "The padding that `SAME_UPPER` or `SAME_LOWER` computes is not negative. It can be if the stride is \
        greater than the window."
    C9 "For onnxruntime, the mask has a batch and channels if the input has."
} }

/// `[n, c, windows..]`; with `ceil_mode` a last window that only begins inside counts.
pub(super) fn pool(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = pooled(cx, call)?;
    let indices = Tensor::new(Dtype::I64, shape.clone());
    Ok(vec![call.output(0, shape)?.into(), indices.into()])
}

/// The shape of [`pool`].
pub(super) fn pooled(cx: &mut Cx, call: &Checked) -> Result<Vec<Expr>, KernelError> {
    let mut sizes = call.shape(0)?.to_vec();
    let is_last = call.op() == "NhwcMaxPool" || call.int("channels_last", 0) != 0;
    if is_last && sizes.len() > 2 {
        sizes[1..].rotate_right(1);
    }
    let spatial = read(cx, call, sizes.len())?;
    // onnxruntime takes every other number for no.
    let mode = call.int("ceil_mode", 0);
    let ceil = mode == 1 || mode != 0 && !cx.on_cpu();
    let order = call.int("storage_order", 0);
    policy::onnxruntime_checks(cx, matches!(order, 0 | 1), Pool::C2, || format!("storage_order is {order}"))?;
    let given = call.ints("pads").unwrap_or_default();
    let given = (0..given.len() / 2).map(|i| (given[i], given[given.len() / 2 + i]));
    // onnxruntime looks at pads also where auto_pad takes no notice of them.
    let stated: Vec<(i64, i64)> = if cx.on_cpu() { given.collect() } else { spatial.pads.clone() };
    for (i, &(before, after)) in stated.iter().enumerate() {
        let window = spatial.kernel[i].as_inline().unwrap_or(i64::MAX);
        call.check(before < window && after < window, Pool::C3, || {
            format!("padding of {before} and {after} for a window of {window}")
        })?;
    }
    some_elements(cx, &sizes)?;
    let mut shape = sizes[..2].to_vec();
    for (i, &size) in sizes[2..].iter().enumerate() {
        let (stride, dilation) = (cx.int(spatial.strides[i]), cx.int(spatial.dilations[i]));
        let (before, both) = padding(cx, call, &spatial, (i, size))?;
        let padded = cx.add(size, both);
        let count = if ceil {
            let less = cx.int(spatial.strides[i] - 1);
            let padded = cx.add(padded, less);
            let upwards = windows(cx, padded, spatial.kernel[i], stride, dilation);
            // A window that begins in the padding behind is none.
            let inside = cx.add(size, before);
            let inside = cx.sub(inside, 1);
            let inside = cx.floor_div(inside, stride);
            let inside = cx.add(inside, 1);
            cx.min(upwards, inside)
        } else {
            truncated(cx, (padded, spatial.kernel[i], stride, dilation))?
        };
        let inferred = windows_at_load(&spatial, (i, size), ceil);
        let differ = inferred.zip(count.as_inline()).is_some_and(|(inferred, count)| inferred != count);
        if differ && call.size_at_load(0, if is_last { i + 1 } else { i + 2 }) != Known::No {
            call.misinferred(cx);
        }
        let natural = cx.ge(count, 0);
        cx.require(natural, Pool::C4, |cx| format!("no window fits a size of {}", cx.show(size)))?;
        shape.push(count);
    }
    if is_last {
        shape[1..].rotate_left(1);
    }
    Ok(shape)
}

/// The number of windows that the inference of shapes of the ONNX specification counts along dimension `i`, of this size:
/// padding to the same size fits the dilated window, and a window that begins in the padding behind counts.
fn windows_at_load(spatial: &Spatial, (i, size): (usize, Expr), ceil: bool) -> Option<i64> {
    let (size, kernel, stride) = (size.as_inline()?, spatial.kernel[i].as_inline()?, spatial.strides[i]);
    let reach = (kernel - 1).checked_mul(spatial.dilations[i])?.checked_add(1)?;
    let padding = match (spatial.auto_pad, spatial.pads[i]) {
        (AutoPad::SameUpper | AutoPad::SameLower, _) => match size % stride {
            0 => (reach - stride).max(0),
            rest => (reach - rest).max(0),
        },
        (_, (before, after)) => before.checked_add(after)?,
    };
    let room =
        size.checked_add(padding)?.checked_sub(reach)?.checked_add(if ceil { stride - 1 } else { 0 })?;
    Some(room.div_euclid(stride) + 1)
}

/// The number of windows as onnxruntime counts them, which rounds towards zero also where no window fits.
fn truncated(
    cx: &mut Cx,
    (padded, kernel, stride, dilation): (Expr, Expr, Expr, Expr),
) -> Result<Expr, KernelError> {
    let count = windows(cx, padded, kernel, stride, dilation);
    let reach = cx.sub(kernel, 1);
    let reach = cx.mul(dilation, reach);
    let fits = cx.gt(padded, reach);
    if cx.surely(fits) || stride == Expr::ONE {
        let natural = cx.ge(count, 0);
        cx.require(natural, Pool::C4, |cx| format!("no window fits a size of {}", cx.show(padded)))?;
        return Ok(count);
    }
    let short = cx.sub(reach, padded);
    let short = cx.add(short, 1);
    let missing = cx.floor_div(short, stride);
    let negative = cx.sub(1, missing);
    let count = cx.pool().ite(fits, count, negative);
    let natural = cx.ge(count, 0);
    cx.require(natural, Pool::C4, |cx| format!("no window fits a size of {}", cx.show(padded)))?;
    Ok(count)
}

/// What is added before, and on both sides together. Padding to the same size takes no notice of dilation, as
/// onnxruntime has it.
fn padding(
    cx: &mut Cx,
    call: &Checked,
    spatial: &Spatial,
    (i, size): (usize, Expr),
) -> Result<(Expr, Expr), KernelError> {
    let (before, after) = spatial.pads[i];
    if !matches!(spatial.auto_pad, AutoPad::SameUpper | AutoPad::SameLower) {
        return Ok((cx.int(before), cx.int(before.saturating_add(after))));
    }
    let stride = cx.int(spatial.strides[i]);
    let count = cx.ceil_div(size, stride);
    let steps = cx.sub(count, 1);
    let reach = cx.mul(steps, stride);
    let reach = cx.add(reach, spatial.kernel[i]);
    let needed = cx.sub(reach, size);
    let natural = cx.ge(needed, 0);
    if refuses_negative_padding(call, spatial) {
        let none = cx.eq(call.shape(0)?[0], 0);
        let fine = cx.any(&[natural, none]);
        policy::onnxruntime(cx, fine, Pool::C8, |cx| format!("padding of {} is negative", cx.show(needed)))?;
    }
    // onnxruntime counts windows with the negative padding.
    let needed = if cx.on_cpu() || cx.surely(natural) { needed } else { cx.max(needed, 0) };
    let two = cx.int(2);
    let half = if spatial.auto_pad == AutoPad::SameLower {
        cx.ceil_div(needed, two)
    } else {
        cx.floor_div(needed, two)
    };
    Ok((half, needed))
}

/// Whether onnxruntime refuses this call when the computed padding is negative, by what version 1.31.1 does with calls of
/// each kind: `MaxPool` of 32-bit and 16-bit floats with neither dilations, indices nor `storage_order`, and `AveragePool`
/// before version 19 but with both `count_include_pad` and `ceil_mode`.
fn refuses_negative_padding(call: &Checked, spatial: &Spatial) -> bool {
    let is_float = call.tensor(0).is_some_and(|x| matches!(x.dtype, Dtype::F32 | Dtype::F16));
    let is_plain = match call.op() {
        "MaxPool" => {
            let in_columns = call.int("storage_order", 0) != 0;
            spatial.dilations.iter().all(|&dilation| dilation == 1) && !call.wants(1) && !in_columns
        }
        "AveragePool" => {
            let counts_all = call.int("count_include_pad", 0) != 0 && call.int("ceil_mode", 0) != 0;
            call.since() < 19 && !counts_all
        }
        _ => false,
    };
    is_float && is_plain
}

/// onnxruntime: only the batch may be empty.
fn some_elements(cx: &mut Cx, sizes: &[Expr]) -> Result<(), KernelError> {
    let mut filled: Vec<Expr> = Vec::with_capacity(sizes.len());
    for &size in &sizes[1..] {
        filled.push(cx.ne(size, 0));
    }
    let filled = cx.all(&filled);
    let none = cx.eq(sizes[0], 0);
    let fine = cx.any(&[filled, none]);
    cx.require(fine, Pool::C6, |cx| format!("of {} only the batch may be empty", cx.show_all(sizes)))
}

clauses! { GlobalPool {
    C1 "The input has at least 3 dimensions."
    C6 "For onnxruntime, no spatial dimension of the input is empty."
} }

/// `[n, c, 1..]`.
pub(super) fn global(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut shape = call.shape(0)?.to_vec();
    call.check(shape.len() >= 3, GlobalPool::C1, || {
        format!("an image has at least 2 dimensions, not {}", shape.len())
    })?;
    some_elements(cx, &shape)?;
    shape[2..].fill(Expr::ONE);
    call.one(shape)
}

clauses! { MaxRoiPool {
    C1 "Input `X` has 4 dimensions, and `rois` is `[n, 5]`. There is a batch if there are regions."
    C2 "`pooled_shape` is two positive numbers."
    C3 "For onnxruntime, `spatial_scale` is positive."
} }

/// `[regions, c, height, width]`.
fn max_roi_pool(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, regions) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(sizes.len() == 4 && regions.len() == 2, MaxRoiPool::C1, || {
        "images have 4 dimensions, regions 2".to_owned()
    })?;
    let five = cx.int(5);
    cx.require_eq(regions[1], five, MaxRoiPool::C1, "the numbers of a region")?;
    let pooled = call.ints("pooled_shape").unwrap_or_default();
    call.check(pooled.len() == 2 && pooled.iter().all(|&n| n > 0), MaxRoiPool::C2, || {
        format!("pooled_shape is {pooled:?}")
    })?;
    let (some, none) = (cx.ge(sizes[0], 1), cx.eq(regions[0], 0));
    let fine = cx.any(&[some, none]);
    cx.require(fine, MaxRoiPool::C1, |_| "a region is of no image".to_owned())?;
    let scale = call.float("spatial_scale").unwrap_or(1.0);
    super::policy::onnxruntime_checks(cx, scale > 0.0, MaxRoiPool::C3, || format!("the scale is {scale}"))?;
    let shape = vec![regions[0], sizes[1], cx.int(pooled[0]), cx.int(pooled[1])];
    call.one(shape)
}

clauses! { MaxUnpool {
    C2 "The indices have the shape of the input."
    C3 "`output_shape` has a size for each dimension, at least as large as needed. Batch and channels are \
        those of the input; onnxruntime compares the numbers of elements."
    C4 "For onnxruntime, the unpooled image is not empty, and each pad is less than the size of the window."
    C5 "The indices are positions in the result."
} }

/// `stride (n - 1) + kernel - pads` along each dimension, or the given shape.
fn max_unpool(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let spatial = read(cx, call, sizes.len())?;
    cx.require_same_shape(&sizes, call.shape(1)?, MaxUnpool::C2)?;
    let mut shape = sizes[..2].to_vec();
    for (i, &size) in sizes[2..].iter().enumerate() {
        let stride = cx.int(spatial.strides[i]);
        let steps = cx.sub(size, 1);
        let steps = cx.mul(stride, steps);
        let (before, after) = spatial.pads[i];
        let window = spatial.kernel[i].as_inline().unwrap_or(i64::MAX);
        super::policy::onnxruntime_checks(cx, before < window && after < window, MaxUnpool::C4, || {
            format!("padding of {before} and {after} for a window of {window}")
        })?;
        let pads = cx.int(before.saturating_add(after).saturating_neg());
        let size = cx.sum([steps, spatial.kernel[i], pads]);
        let some = cx.ge(size, 1);
        super::policy::onnxruntime(cx, some, MaxUnpool::C4, |cx| {
            format!("a size becomes {}", cx.show(size))
        })?;
        shape.push(size);
    }
    if call.has(2) {
        let stated = super::layout::sizes_of(cx, call, 2, MaxUnpool::C3)?;
        call.check(stated.len() == sizes.len(), MaxUnpool::C3, || {
            format!("the shape has {} sizes", stated.len())
        })?;
        for (&stated, &own) in stated.iter().zip(&sizes[..2]) {
            cx.require_eq(stated, own, MaxUnpool::C3, "batches and channels")?;
        }
        let pairs = match cx.on_cpu() {
            true => vec![(cx.product(stated.clone()), cx.product(shape.clone()))],
            false => stated.iter().copied().zip(shape).collect(),
        };
        for (stated, least) in pairs {
            let fits = cx.ge(stated, least);
            cx.require(fits, MaxUnpool::C3, |cx| {
                format!("{} is less than {}", cx.show(stated), cx.show(least))
            })?;
        }
        for &size in &stated[2..] {
            let natural = cx.ge(size, 0);
            cx.require(natural, MaxUnpool::C3, |cx| format!("a size is {}", cx.show(size)))?;
        }
        shape = stated;
    }
    let count = cx.product(shape.clone());
    super::gather::inside(cx, call.given(1)?, count, MaxUnpool::C5)?;
    super::gather::not_negative(call, 1, MaxUnpool::C5)?;
    call.one(shape)
}
