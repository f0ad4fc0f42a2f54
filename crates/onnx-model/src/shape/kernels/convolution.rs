//! Convolutions.
use super::{Family, policy, products};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::value::Tensor;
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError, windows};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    spatial::ALL,
    Conv::ALL,
    FusedConv::ALL,
    ConvInteger::ALL,
    QLinearConv::ALL,
    DeformConv::ALL,
    CausalConv::ALL,
];

pub(super) const KERNELS: Family = &[
    op("Conv", conv).multiplies(products::convolution).passes().infers(at_load::rank),
    op("ConvInteger", conv_integer).free().passes().infers(at_load::rank),
    op("DeformConv", deform_conv).infers(at_load::rank),
    op("QLinearConv", quantized_conv).free().passes().infers(at_load::rank),
    op("CausalConvWithState", causal_conv).infers(at_load::rank),
];

/// How windows lie over the spatial dimensions.
pub(super) struct Spatial {
    pub kernel: Vec<Expr>,
    pub strides: Vec<i64>,
    pub dilations: Vec<i64>,
    /// What is added before and after.
    pub pads: Vec<(i64, i64)>,
    pub auto_pad: AutoPad,
}

/// How padding is chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AutoPad {
    Given,
    Valid,
    SameUpper,
    SameLower,
}

/// A list of positive numbers, one for each spatial dimension.
fn positive(call: &Checked, name: &str, count: usize) -> Result<Vec<i64>, KernelError> {
    let list = call.ints(name).map_or_else(|| vec![1; count], <[i64]>::to_vec);
    call.check(list.len() == count, spatial::C1, || {
        format!("{name} has {} entries for {count} dimensions", list.len())
    })?;
    call.check(list.iter().all(|&n| n > 0), spatial::C2, || format!("{name} is to be positive"))?;
    Ok(list)
}

clauses! { spatial "Spatial" {
    C1 "`strides`, `dilations` and the like have an entry for each spatial dimension. `pads` has two."
    C2 "`strides` and `dilations` are positive, and `pads` are not negative."
    C3 "`auto_pad` is known, and is `NOTSET` if `pads` are given."
} }

impl Spatial {
    /// Reads strides, dilations and padding for a kernel.
    pub(super) fn read(call: &Checked, kernel: Vec<Expr>) -> Result<Spatial, KernelError> {
        let count = kernel.len();
        let (strides, dilations) = (positive(call, "strides", count)?, positive(call, "dilations", count)?);
        let auto_pad = match call.text("auto_pad", "NOTSET") {
            "NOTSET" | "" => AutoPad::Given,
            "VALID" => AutoPad::Valid,
            "SAME_UPPER" => AutoPad::SameUpper,
            "SAME_LOWER" => AutoPad::SameLower,
            other => {
                return Err(KernelError::invalid(
                    spatial::C3,
                    format!("{}: no padding is named {other}", call.op()),
                ));
            }
        };
        let given = call.ints("pads");
        if let Some(pads) = given {
            call.check(pads.len() == 2 * count, spatial::C1, || {
                format!("pads have {} entries for {count} dimensions", pads.len())
            })?;
            call.check(pads.iter().all(|&pad| pad >= 0), spatial::C2, || "a pad is negative".to_owned())?;
        }
        let pads = match given.filter(|_| auto_pad == AutoPad::Given) {
            None => vec![(0, 0); count],
            Some(pads) => (0..count).map(|i| (pads[i], pads[count + i])).collect(),
        };
        Ok(Spatial { kernel, strides, dilations, pads, auto_pad })
    }

    pub(super) fn padded_once(&self, call: &Checked) -> Result<(), KernelError> {
        let once = self.auto_pad == AutoPad::Given || call.ints("pads").is_none();
        call.check(once, spatial::C3, || "both auto_pad and pads are given".to_owned())
    }

    fn multiplies(&self, cx: &mut Cx, sizes: &[Expr], channels: Expr) -> Result<(), KernelError> {
        let area = cx.product(self.kernel.clone());
        let some = cx.ge(area, 1);
        if cx.surely(some) {
            return Ok(());
        }
        let mut ways = vec![some, cx.eq(sizes[0], 0), cx.eq(channels, 0)];
        let is_plain = self.strides.iter().chain(&self.dilations).all(|&n| n == 1)
            && self.pads.iter().all(|&pads| pads == (0, 0));
        if is_plain && self.kernel.len() <= 2 {
            let same: Vec<Expr> = self.kernel.iter().zip(&sizes[2..]).map(|(&k, &n)| cx.eq(k, n)).collect();
            ways.push(cx.all(&same));
        }
        let fine = cx.any(&ways);
        cx.require(fine, Conv::C8, |_| "the kernel is empty".to_owned())
    }

    /// As [`Spatial::counts`].
    fn counts_of_images(&self, cx: &mut Cx, sizes: &[Expr]) -> Result<Vec<Expr>, KernelError> {
        let mut counts = self.counts(cx, sizes, Conv::C4)?;
        if !cx.on_cpu() || !matches!(self.auto_pad, AutoPad::SameUpper | AutoPad::SameLower) {
            return Ok(counts);
        }
        let is_plain = cx.env.pool.bool(self.dilations.iter().all(|&dilation| dilation == 1));
        cx.require(is_plain, Conv::C4, |_| "windows with dilations cannot keep a size".to_owned())?;
        for (i, &size) in sizes.iter().enumerate() {
            if self.kernel[i] == Expr::ZERO {
                // No padding takes anything away.
                let (stride, dilation) = (cx.int(self.strides[i]), cx.int(self.dilations[i]));
                counts[i] = windows(cx, size, Expr::ZERO, stride, dilation);
                continue;
            }
            let (some, filled) = (cx.ge(size, 1), cx.ge(self.kernel[i], 1));
            for fine in [filled, some] {
                cx.require(fine, Conv::C4, |cx| format!("a size of {} cannot be kept", cx.show(size)))?;
            }
        }
        Ok(counts)
    }

    /// The number of windows along each dimension. The kernel has elements, and fits into what is padded.
    pub(super) fn counts(
        &self,
        cx: &mut Cx,
        sizes: &[Expr],
        clause: &'static OpClause,
    ) -> Result<Vec<Expr>, KernelError> {
        let mut counts = Vec::with_capacity(sizes.len());
        for (i, &size) in sizes.iter().enumerate() {
            let (kernel, stride, dilation) =
                (self.kernel[i], cx.int(self.strides[i]), cx.int(self.dilations[i]));
            if matches!(self.auto_pad, AutoPad::SameUpper | AutoPad::SameLower) {
                counts.push(cx.ceil_div(size, stride));
                continue;
            }
            let (before, after) = self.pads[i];
            let both = cx.int(before.saturating_add(after));
            let padded = cx.add(size, both);
            let reach = cx.sub(kernel, 1);
            let reach = cx.mul(dilation, reach);
            let fits = cx.gt(padded, reach);
            let span = cx.add(reach, 1);
            let is_padded = if self.pads[i] == (0, 0) { "input" } else { "padded input" };
            cx.require(fits, clause, |cx| match self.dilations[i] {
                1 => {
                    let (kernel, padded) = (cx.show(kernel), cx.show(padded));
                    format!("a kernel of {kernel} does not fit the {padded} elements of the {is_padded}")
                }
                dilation => {
                    let (kernel, span, padded) = (cx.show(kernel), cx.show(span), cx.show(padded));
                    format!(
                        "a kernel of {kernel} with dilation {dilation} spans {span} elements; the {is_padded} has {padded}"
                    )
                }
            })?;
            counts.push(windows(cx, padded, kernel, stride, dilation));
        }
        Ok(counts)
    }
}

/// The spatial sizes of a kernel: its shape behind the first two sizes, which `kernel_shape` repeats.
pub(super) fn kernel_sizes(cx: &mut Cx, call: &Checked, weight: &[Expr]) -> Result<Vec<Expr>, KernelError> {
    let sizes = weight[2..].to_vec();
    if let Some(stated) = call.ints("kernel_shape") {
        call.check(stated.len() == sizes.len(), Conv::C5, || {
            format!("kernel_shape has {} entries for {} dimensions", stated.len(), sizes.len())
        })?;
        for (&stated, &size) in stated.iter().zip(&sizes) {
            let stated = cx.int(stated);
            cx.require_eq(stated, size, Conv::C5, "kernel_shape and the size of the kernel")?;
        }
    }
    Ok(sizes)
}

clauses! { Conv {
    C1 "The input and the weight have the same rank, at least 3."
    C2 "The input has `group` times as many channels as the weight's second size. `group` is positive, and \
        the weight's first size is divisible by it."
    C3 "The bias has 1 dimension, with an element for each output channel."
    C4 "The kernel fits into the padded input. With `SAME_UPPER` or `SAME_LOWER`, onnxruntime needs sizes \
        that are not 0, and dilations of 1."
    C5 "`kernel_shape` is the shape of the weight's kernel."
    C6 "The tensor that is added has the shape of the result."
    C8 "The kernel has elements, as onnxruntime may not return otherwise. It does where the result is \
        empty, and where a kernel without padding is as large as an image of at most 2 dimensions."
    C9 "The kernel is not empty, where onnxruntime knows its sizes at load."
} }

/// `[n, out, windows..]` of an input `[n, c, ..]` and a weight `[out, c / groups, kernel..]`.
pub(super) fn convolved(
    cx: &mut Cx,
    call: &Checked,
    (sizes, weight_at): (&[Expr], usize),
    bias: Option<usize>,
) -> Result<Vec<Expr>, KernelError> {
    let weight = call.shape(weight_at)?.to_vec();
    call.check(sizes.len() == weight.len() && sizes.len() >= 3, Conv::C1, || {
        format!("ranks {} and {} are to agree and to be at least 3", sizes.len(), weight.len())
    })?;
    let groups = call.int("group", 1);
    call.check(groups > 0, Conv::C2, || format!("there are {groups} groups"))?;
    let groups = cx.int(groups);
    let channels = cx.mul(weight[1], groups);
    cx.require_eq(sizes[1], channels, Conv::C2, "the channels of the input and of the kernel")?;
    let remainder = cx.modulo(weight[0], groups);
    cx.require_eq(remainder, Expr::ZERO, Conv::C2, "output channels that are left over")?;
    if let Some(at) = bias.filter(|&at| call.has(at)) {
        let bias = call.shape(at)?.to_vec();
        call.check(bias.len() == 1, Conv::C3, || format!("the bias has 1 dimension, not {}", bias.len()))?;
        cx.require_eq(bias[0], weight[0], Conv::C3, "the bias and the channels")?;
    }
    let kernel = kernel_sizes(cx, call, &weight)?;
    // onnx infers no shape for a kernel without elements, if it knows its size; onnxruntime runs it.
    for (dim, _) in weight.iter().enumerate().skip(2).filter(|(_, size)| **size == Expr::ZERO) {
        let known = call.size_at_load(weight_at, dim);
        call.refused_where(known, Conv::C9, || "the kernel is empty".to_owned())?;
    }
    let spatial = Spatial::read(call, kernel)?;
    spatial.padded_once(call)?;
    if cx.on_cpu() && matches!(call.op(), "Conv" | "FusedConv") {
        spatial.multiplies(cx, sizes, weight[0])?;
    }
    let counts = spatial.counts_of_images(cx, &sizes[2..])?;
    Ok([&[sizes[0], weight[0]], counts.as_slice()].concat())
}

pub(super) fn conv(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = convolved(cx, call, (call.shape(0)?, 1), Some(2))?;
    call.one(shape)
}

clauses! { FusedConv {
    C6 "The tensor that is added has the shape of the result."
    C7 "The activation is known."
} }

/// A convolution, a summand and an activation.
pub(super) fn fused_conv(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = convolved(cx, call, (call.shape(0)?, 1), Some(2))?;
    if call.has(3) {
        cx.require_same_shape(call.shape(3)?, &shape, FusedConv::C6)?;
    }
    let activation = call.text("activation", "");
    let known = matches!(activation, "" | "Relu" | "Tanh" | "Sigmoid" | "LeakyRelu" | "Clip" | "HardSigmoid");
    call.check(known, FusedConv::C7, || format!("no activation is named {activation}"))?;
    call.one(shape)
}

clauses! { ConvInteger {
    C6 "Zero points have one element. That of the weight may have one for each output channel, but not for \
        onnxruntime."
} }

fn conv_integer(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = convolved(cx, call, (call.shape(0)?, 1), None)?;
    for at in [2, 3] {
        if call.has(at) {
            let channels = (at == 3 && !cx.on_cpu()).then_some(shape[1]);
            one_or_each(cx, call, at, channels, ConvInteger::C6)?;
        }
    }
    call.one(shape)
}

/// Requires a scalar, or a list of one or of an element for each channel.
fn one_or_each(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    channels: Option<Expr>,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let shape = call.shape(at)?.to_vec();
    call.check(shape.len() <= 1, clause, || format!("input {at} is of rank {}", shape.len()))?;
    let count = cx.product(shape);
    let mut cases = vec![cx.eq(count, 1)];
    if let Some(channels) = channels {
        cases.push(cx.eq(count, channels));
    }
    let fine = cx.any(&cases);
    cx.require(fine, clause, |cx| format!("input {at} has {} elements", cx.show(count)))
}

clauses! { QLinearConv {
    C6 "Scales and zero points have one element. Those of the weight may have one for each output channel."
} }

pub(super) fn quantized_conv(cx: &mut Cx, call: &Checked) -> Outcome {
    let mut sizes = call.shape(0)?.to_vec();
    let is_last = call.int("channels_last", 0) != 0;
    if is_last && sizes.len() > 2 {
        sizes[1..].rotate_right(1);
    }
    let mut shape = convolved(cx, call, (&sizes, 3), Some(8))?;
    for at in [1, 2, 4, 5, 6, 7] {
        if call.has(at) {
            let channels = matches!(at, 4 | 5).then_some(shape[1]);
            one_or_each(cx, call, at, channels, QLinearConv::C6)?;
        }
    }
    if is_last {
        shape[1..].rotate_left(1);
    }
    call.one(shape)
}

clauses! { DeformConv {
    C1 "Input `X` has 4 dimensions."
    C2 "`offset_group` is positive, and the number of input channels is divisible by it."
    C7 "`offset` has two channels, and `mask` one, for each element of the kernel and offset group; their \
        other sizes are those of the result."
    C8 "For onnxruntime, there is at least one output channel."
} }

/// A convolution at places that offsets shift.
fn deform_conv(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = convolved(cx, call, (call.shape(0)?, 1), Some(3))?;
    let (sizes, weight) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    policy::not_empty(cx, &weight[..1], DeformConv::C8)?;
    call.check(sizes.len() == 4, DeformConv::C1, || {
        format!("the input has 4 dimensions, not {}", sizes.len())
    })?;
    let groups = call.int("offset_group", 1);
    call.check(groups > 0, DeformConv::C2, || format!("there are {groups} offset groups"))?;
    let groups = cx.int(groups);
    let remainder = cx.modulo(sizes[1], groups);
    cx.require_eq(remainder, Expr::ZERO, DeformConv::C2, "channels that are left over")?;
    let area = cx.mul(weight[2], weight[3]);
    let each = cx.mul(area, groups);
    for (at, factor) in [(2, 2), (4, 1)] {
        if call.has(at) {
            let given = call.shape(at)?.to_vec();
            let channels = cx.mul(each, factor);
            cx.require_same_shape(&given, &[shape[0], channels, shape[2], shape[3]], DeformConv::C7)?;
        }
    }
    call.one(shape)
}

clauses! { CausalConv {
    C1 "The input and the weight have 3 dimensions."
    C2 "The weight is `[channels, 1, kernel]`, with the channels of the input."
    C3 "The bias has an element for each channel. The state is `[batch, channels, dilation * (kernel - \
        1)]`."
    C4 "`activation` is known, `dilation` is positive and `ndim` is 1. For onnxruntime, `state_window` is \
        0."
} }

/// A causal convolution along the last dimension and its state.
pub(super) fn causal_conv(cx: &mut Cx, call: &Checked) -> Outcome {
    let (sizes, weight) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(sizes.len() == 3 && weight.len() == 3, CausalConv::C1, || {
        "operands have 3 dimensions".to_owned()
    })?;
    cx.require_eq(sizes[1], weight[0], CausalConv::C2, "channels")?;
    cx.require_eq(weight[1], Expr::ONE, CausalConv::C2, "the kernel's second size")?;
    let activation = call.text("activation", "none");
    call.check(matches!(activation, "none" | "silu" | "swish"), CausalConv::C4, || {
        format!("no activation is named {activation}")
    })?;
    let (dilation, window) = (call.int("dilation", 1), call.int("state_window", 0));
    call.check(dilation >= 1 && call.int("ndim", 1) == 1, CausalConv::C4, || {
        "the dilation is positive, along one dimension".to_owned()
    })?;
    policy::onnxruntime_checks(cx, window == 0, CausalConv::C4, || "the state has no window".to_owned())?;
    let dilation = cx.int(dilation);
    let kept = cx.sub(weight[2], 1);
    let kept = cx.mul(kept, dilation);
    let state = vec![sizes[0], sizes[1], kept];
    if call.has(2) {
        cx.require_same_shape(call.shape(2)?, &[sizes[1]], CausalConv::C3)?;
    }
    if call.has(3) {
        cx.require_same_shape(call.shape(3)?, &state, CausalConv::C3)?;
    }
    let dtype = call.output_type(0).unwrap_or(Dtype::F32);
    Ok(vec![Tensor::new(dtype, sizes).into(), Tensor::new(dtype, state).into()])
}
