//! Transposed convolutions.
use super::convolution::{AutoPad, Spatial, kernel_sizes};
use super::output_shape::ConvTranspose;
use super::{Family, output_shape, policy, products};
use crate::shape::at_load;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

pub(super) const KERNELS: Family = &[op("ConvTranspose", conv_transpose)
    .multiplies(products::transposed)
    .passes()
    .infers(at_load::transposed)];

/// `stride (n - 1) + output_padding + dilation (kernel - 1) + 1 - pads` along each dimension, or `output_shape`.
///
/// Output padding is below stride or dilation.
fn conv_transpose(cx: &mut Cx, call: &Checked) -> Outcome {
    let (shape, spatial) = transposed(cx, call, 2)?;
    let sizes = call.shape(0)?[2..].to_vec();
    let image = transposed_sizes(cx, call, &spatial, &sizes, &[])?;
    output_shape::left_out(cx, call, &sizes);
    call.one([shape, image].concat())
}

/// [`conv_transpose`] with pads that an input holds.
pub(super) fn padded_conv_transpose(cx: &mut Cx, call: &Checked) -> Outcome {
    let (shape, spatial) = transposed(cx, call, 3)?;
    let sizes = call.shape(0)?[2..].to_vec();
    let pads = match call.has(2) {
        true => super::layout::sizes_of(cx, call, 2, ConvTranspose::C8)?,
        false => {
            policy::onnxruntime_checks(cx, false, ConvTranspose::C8, || "pads are to be given".to_owned())?;
            vec![Expr::ZERO; 2 * sizes.len()]
        }
    };
    for &pad in &pads {
        let natural = cx.ge(pad, 0);
        cx.require(natural, ConvTranspose::C8, |cx| format!("a pad is {}", cx.show(pad)))?;
    }
    for &size in &spatial.kernel {
        let some = cx.ge(size, 1);
        cx.require(some, ConvTranspose::C8, |_| "the kernel is empty".to_owned())?;
    }
    call.check(pads.len() == 2 * sizes.len(), ConvTranspose::C8, || {
        format!("there are {} pads for {} dimensions", pads.len(), sizes.len())
    })?;
    let image = transposed_sizes(cx, call, &spatial, &sizes, &pads)?;
    call.one([shape, image].concat())
}

/// The batch and the channels of [`conv_transpose`], and how windows lie. The bias is an input.
fn transposed(cx: &mut Cx, call: &Checked, bias: usize) -> Result<(Vec<Expr>, Spatial), KernelError> {
    let (sizes, weight) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(sizes.len() == weight.len() && sizes.len() >= 3, ConvTranspose::C1, || {
        format!("ranks {} and {} are to agree and to be at least 3", sizes.len(), weight.len())
    })?;
    let groups = call.int("group", 1);
    call.check(groups > 0, ConvTranspose::C2, || format!("there are {groups} groups"))?;
    let groups = cx.int(groups);
    cx.require_eq(sizes[1], weight[0], ConvTranspose::C2, "the channels of the input and of the kernel")?;
    let remainder = cx.modulo(sizes[1], groups);
    cx.require_eq(remainder, Expr::ZERO, ConvTranspose::C2, "channels that are left over")?;
    let channels = cx.mul(weight[1], groups);
    if call.has(bias) {
        let bias = call.shape(bias)?.to_vec();
        call.check(bias.len() == 1, ConvTranspose::C3, || {
            format!("the bias has 1 dimension, not {}", bias.len())
        })?;
        cx.require_eq(bias[0], channels, ConvTranspose::C3, "the bias and the channels")?;
    }
    let kernel = kernel_sizes(cx, call, &weight)?;
    let spatial = Spatial::read(call, kernel)?;
    spatial.padded_once(call)?;
    Ok((vec![sizes[0], channels], spatial))
}

fn extra_fits(
    cx: &mut Cx,
    call: &Checked,
    (stride, dilation): (i64, i64),
    extra: i64,
    size: Option<Expr>,
) -> Result<(), KernelError> {
    let most = stride.max(dilation);
    call.check((0..most).contains(&extra), ConvTranspose::C6, || {
        format!("output_padding of {extra} is not less than {most}")
    })?;
    // onnxruntime counts the windows over the result: there are as many as elements of the input.
    policy::onnxruntime_checks(cx, extra < stride, ConvTranspose::C7, || {
        format!("output_padding of {extra} is not less than the stride {stride}")
    })?;
    let Some(size) = size.filter(|_| extra > 0) else { return Ok(()) };
    // What is added to nothing makes a window.
    let some = cx.ge(size, 1);
    policy::onnxruntime(cx, some, ConvTranspose::C7, |_| "nothing is padded".to_owned())
}

/// The spatial sizes of [`conv_transpose`]; with pads that an input holds, if these are not empty.
pub(super) fn transposed_sizes(
    cx: &mut Cx,
    call: &Checked,
    spatial: &Spatial,
    sizes: &[Expr],
    pads: &[Expr],
) -> Result<Vec<Expr>, KernelError> {
    let count = sizes.len();
    let extra = call.ints("output_padding").map_or_else(|| vec![0; count], <[i64]>::to_vec);
    call.check(extra.len() == count, ConvTranspose::C6, || {
        format!("output_padding has {} entries", extra.len())
    })?;
    let stated = output_shape::output_shape(cx, call, count)?;
    let mut shape = Vec::with_capacity(count);
    for i in 0..count {
        let (stride, dilation) = (cx.int(spatial.strides[i]), cx.int(spatial.dilations[i]));
        let is_same = matches!(spatial.auto_pad, AutoPad::SameUpper | AutoPad::SameLower);
        let padded = Some(sizes[i]).filter(|_| stated.is_none() && !is_same);
        extra_fits(cx, call, (spatial.strides[i], spatial.dilations[i]), extra[i], padded)?;
        let steps = cx.sub(sizes[i], 1);
        let steps = cx.mul(stride, steps);
        let reach = cx.sub(spatial.kernel[i], 1);
        let reach = cx.mul(dilation, reach);
        let rest = cx.int(extra[i].saturating_add(1));
        let unpadded = cx.sum([steps, reach, rest]);
        let (before, after) = spatial.pads[i];
        let size = match (stated, pads) {
            (Some(stated), _) => {
                let size = cx.int(stated[i]);
                let last = cx.mul(sizes[i], stride);
                let most = cx.add(last, reach);
                let reached = cx.le(size, most);
                policy::onnxruntime(cx, reached, ConvTranspose::C7, |cx| {
                    format!("a size of {} is more than {}", cx.show(size), cx.show(most))
                })?;
                size
            }
            // Padding is not negative: what is short of the size stays so.
            (None, _) if is_same => {
                let size = cx.mul(sizes[i], stride);
                let fits = cx.le(size, unpadded);
                if cx.surely(fits) { size } else { cx.min(size, unpadded) }
            }
            (None, []) => unpadded,
            (None, pads) => {
                let both = cx.add(pads[i], pads[count + i]);
                cx.sub(unpadded, both)
            }
        };
        let size = if stated.is_none() && !is_same {
            let both = cx.int(before.saturating_add(after));
            cx.sub(size, both)
        } else {
            size
        };
        let some = cx.ge(size, i32::from(cx.on_cpu()));
        cx.require(some, ConvTranspose::C4, |cx| format!("a size becomes {}", cx.show(size)))?;
        shape.push(size);
    }
    Ok(shape)
}
