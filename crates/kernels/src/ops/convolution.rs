//! Convolutions.
use crate::conv::{Conv, convolution, idle};
use crate::domain::Domain;
use crate::error::one;
use crate::flops::{Flops, formulas, not_modelled, twice};
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[convolution_backward::ALL, conv_tbc::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    convolution => "aten.convolution.default", "aten.convolution_overrideable.default",
        "aten._convolution.default", "aten._convolution.deprecated";
    |cx, args| batched(cx, args, None, false) => "aten._convolution_mode.default";
    |cx, args| batched(cx, args, Some(1), false) => "aten.conv1d.default", "aten.conv1d.padding";
    |cx, args| batched(cx, args, Some(2), false) => "aten.conv2d.default", "aten.conv2d.padding";
    |cx, args| batched(cx, args, Some(3), false) => "aten.conv3d.default", "aten.conv3d.padding";
    |cx, args| batched(cx, args, Some(1), true) => "aten.conv_transpose1d.default";
    |cx, args| batched(cx, args, Some(2), true) => "aten.conv_transpose2d.input";
    |cx, args| batched(cx, args, Some(3), true) => "aten.conv_transpose3d.input";
    backward => "aten.convolution_backward.default";
    conv_tbc => "aten.conv_tbc.default";
    conv_tbc_backward => "aten.conv_tbc_backward.default";
    |cx, args| direct(cx, args, false) => "aten.mkldnn_convolution.default",
        "aten._slow_conv2d_forward.default", "aten.thnn_conv2d.default", "aten.slow_conv3d.default",
        "aten.slow_conv3d_forward.default", "aten.slow_conv_dilated2d.default",
        "aten.slow_conv_dilated3d.default";
    |cx, args| direct(cx, args, true) => "aten.slow_conv_transpose2d.default",
        "aten.slow_conv_transpose3d.default";
};

/// What the family's operators compute; bias and padding are not considered.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    |cx, args, results| of_convolution(cx, args, results, args.flag("transposed")?) => "aten.convolution.default",
        "aten._convolution.default", "aten._convolution.deprecated", "aten.convolution_overrideable.default";
    |cx, args, results| of_convolution(cx, args, results, false) => "aten._convolution_mode.default",
        "aten.conv1d.default", "aten.conv1d.padding", "aten.conv2d.default", "aten.conv2d.padding",
        "aten.conv3d.default", "aten.conv3d.padding";
    |cx, args, results| of_convolution(cx, args, results, true) => "aten.conv_transpose1d.default",
        "aten.conv_transpose2d.input", "aten.conv_transpose3d.input";
    |cx, args, _| of_gradients(cx, args) => "aten.convolution_backward.default";
    not_modelled => "aten._slow_conv2d_forward.default", "aten.thnn_conv2d.default", "aten.slow_conv3d.default",
        "aten._convolution_double_backward.default";
};

/// `2 n s w`: for each image, and each place of the result (of the input, if transposed), as many products as the weight
/// has elements. A missing batch is one image.
fn of_convolution(
    cx: &mut Cx,
    args: &Args,
    results: &[Value],
    transposed: bool,
) -> Result<Expr, KernelError> {
    let (x, w) = (args.tensor("input")?, args.tensor("weight")?);
    let Some(Value::Tensor(result)) = results.first() else {
        return Err(KernelError::Unsupported("a convolution without a result".into()));
    };
    let spatial = spatial(cx, w)?;
    let placed = if transposed { x } else { result };
    let batch = (x.rank() > spatial + 1).then(|| x.size(0));
    let places = placed.sizes[placed.rank() - spatial..].iter().copied();
    let weight = w.sizes.iter().copied();
    Ok(twice(cx, batch.into_iter().chain(places).chain(weight)))
}

/// The gradient of the input is a convolution of that of the result, and that of the weight one of both, without regard
/// to groups.
fn of_gradients(cx: &mut Cx, args: &Args) -> Result<Expr, KernelError> {
    let (grad, x, w) = (args.tensor("grad_output")?, args.tensor("input")?, args.tensor("weight")?);
    let placed = if args.flag("transposed")? { x } else { grad };
    let places: Vec<Expr> = placed.sizes.iter().skip(2).copied().collect();
    let mask = args.flags("output_mask")?;
    let mut total = Expr::ZERO;
    if mask.first() == Some(&true) {
        let of_input =
            twice(cx, [x.size(0)].into_iter().chain(places.iter().copied()).chain(w.sizes.iter().copied()));
        total = cx.add(total, of_input);
    }
    if mask.get(1) == Some(&true) {
        let channels = [x.size(0), x.size(1), grad.size(1)];
        let kernel = w.sizes.iter().skip(2).copied();
        let of_weight = twice(cx, channels.into_iter().chain(kernel).chain(places));
        total = cx.add(total, of_weight);
    }
    Ok(total)
}

/// A list argument that the schema may not have, `default` standing for it.
fn list(args: &Args, name: &str, default: Expr, rank: usize) -> Result<Vec<Expr>, KernelError> {
    if args.has(name) { Conv::spread(args.ints(name)?, rank, name) } else { Ok(vec![default; rank]) }
}

/// The parameters of a convolution over `rank` spatial dimensions, as the arguments say.
pub(super) fn parameters(args: &Args, rank: usize, transposed: bool) -> Result<Conv, KernelError> {
    Ok(Conv {
        stride: list(args, "stride", Expr::ONE, rank)?,
        padding: list(args, "padding", Expr::ZERO, rank)?,
        dilation: list(args, "dilation", Expr::ONE, rank)?,
        transposed,
        output_padding: list(args, "output_padding", Expr::ZERO, rank)?,
        groups: if args.has("groups") { args.int("groups")? } else { Expr::ONE },
    })
}

/// The number of spatial dimensions of a weight.
pub(super) fn spatial(cx: &mut Cx, w: &Tensor) -> Result<usize, KernelError> {
    cx.check(w.rank() >= 3, convolution::C1, |cx| {
        format!("the weight is to have at least 3 dimensions, its shape is {}", cx.show_all(&w.sizes))
    })?;
    Ok(w.rank() - 2)
}

fn dtypes(cx: &mut Cx, conv: &Conv, x: &Tensor, w: &Tensor, composed: bool) -> Result<(), KernelError> {
    cx.same_dtype(&[x, w], convolution::C9)?;
    conv.require_cpu_dtype(cx, x, composed)
}

/// The result of a convolution of an input with a batch dimension, where torch chooses the implementation: without input
/// channels the result has none, but for a transposed convolution, which needs some.
fn result(
    cx: &mut Cx,
    conv: &Conv,
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor, KernelError> {
    let mut sizes = conv.sizes(cx, x, w, bias.map(|b| b.sizes.as_slice()))?;
    if !conv.transposed {
        let channels = cx.mul(w.size(1), conv.groups);
        let none = cx.eq(channels, 0);
        sizes[1] = cx.pool().ite(none, Expr::ZERO, sizes[1]);
    }
    Ok(shaped(cx, conv, (x, w), sizes))
}

/// The result of a convolution with these sizes, in the memory format of its operands.
fn shaped(cx: &mut Cx, conv: &Conv, (x, w): (&Tensor, &Tensor), sizes: Sizes) -> Tensor {
    let format = conv.memory_format(cx, x, w);
    let strides = cx.format_strides(&sizes, format);
    cx.strided(sizes, strides, x.dtype, &x.device)
}

/// `aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[]
/// dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor`; see [`Conv::sizes`] for the shape
/// and the conditions.
fn convolution(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, w, bias) = (args.tensor("input")?, args.tensor("weight")?, args.opt_tensor("bias")?);
    let conv = parameters(args, spatial(cx, w)?, args.flag("transposed")?)?;
    dtypes(cx, &conv, x, w, false)?;
    let output = result(cx, &conv, x, w, bias.map(|b| &**b))?;
    conv.require_cpu_bias(cx, x, w, bias.map(|b| &**b))?;
    one(output)
}

/// `aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2]
/// dilation=1, SymInt groups=1) -> Tensor` and the like: the batch dimension may be missing. The padding may be a name:
/// `valid` is 0, `same` what keeps sizes.
fn batched(cx: &mut Cx, args: &Args, rank: Option<usize>, transposed: bool) -> KernelResult {
    let (x, w, bias) = (args.tensor("input")?, args.tensor("weight")?, args.opt_tensor("bias")?);
    let spatial = spatial(cx, w)?;
    cx.check(rank.is_none_or(|rank| rank == spatial), convolution::C1, |_| {
        format!("the weight has {spatial} spatial dimensions")
    })?;
    let missing = rank.is_some() && x.rank() == spatial + 1;
    cx.check(missing || x.rank() == spatial + 2, convolution::C1, |_| {
        format!("the input is to have {} dimensions, or one more, not {}", spatial + 1, x.rank())
    })?;
    let mut input = (**x).clone();
    if missing {
        let span = cx.mul(x.sizes[0], x.strides[0]);
        input.sizes.insert(0, Expr::ONE);
        input.strides.insert(0, span);
    }
    let mode = match args.value("padding")? {
        Value::Str(mode) => Some(mode.clone()),
        _ => None,
    };
    let conv = match mode.as_deref() {
        None => parameters(args, spatial, transposed)?,
        Some(mode) => by_name(cx, args, spatial, mode, w)?,
    };
    dtypes(cx, &conv, x, w, rank.is_some())?;
    if mode.is_some() || transposed {
        conv.require_cpu_bias(cx, &input, w, bias.map(|b| &**b))?;
    } else if let Some(bias) = bias {
        cx.same_dtype(&[x, bias], convolution::C9)?;
    }
    let mut output = if mode.as_deref() == Some("same") {
        same(cx, &conv, &input, w, bias.map(|b| &**b))?
    } else {
        result(cx, &conv, &input, w, bias.map(|b| &**b))?
    };
    if missing {
        output.sizes.remove(0);
        output.strides.remove(0);
    }
    one(output)
}

/// The parameters with a padding given by name; for `same` it is left 0.
fn by_name(cx: &mut Cx, args: &Args, rank: usize, mode: &str, w: &Tensor) -> Result<Conv, KernelError> {
    let conv = Conv {
        stride: list(args, "stride", Expr::ONE, rank)?,
        padding: vec![Expr::ZERO; rank],
        dilation: list(args, "dilation", Expr::ONE, rank)?,
        transposed: false,
        output_padding: vec![Expr::ZERO; rank],
        groups: args.int("groups")?,
    };
    cx.check(matches!(mode, "same" | "valid"), convolution::C10, |_| {
        format!("the padding is to be `same` or `valid`, not `{mode}`")
    })?;
    if mode == "same" {
        for (i, &stride) in conv.stride.iter().enumerate() {
            cx.require_eq(stride, Expr::ONE, convolution::C10, "`same` needs a stride of 1")?;
            // The kernel is to have elements and the dilation to be positive even where nothing is computed.
            for e in [conv.dilation[i], w.sizes[i + 2]] {
                let positive = cx.gt(e, 0);
                cx.require(positive, convolution::C2, |cx| format!("{} is to be positive", cx.show(e)))?;
            }
        }
    }
    Ok(conv)
}

/// A convolution that pads by `dilation * (kernel - 1)` in all: sizes stay.
fn same(
    cx: &mut Cx,
    conv: &Conv,
    x: &Tensor,
    w: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor, KernelError> {
    let mut padded = x.clone();
    for i in 0..conv.dilation.len() {
        let reach = cx.sub(w.sizes[i + 2], 1);
        let reach = cx.mul(conv.dilation[i], reach);
        padded.sizes[i + 2] = cx.add(x.sizes[i + 2], reach);
    }
    let mut output = result(cx, conv, &padded, w, bias)?;
    let format = conv.memory_format(cx, x, w);
    output.sizes.truncate(2);
    output.sizes.extend_from_slice(&x.sizes[2..]);
    output.strides = cx.format_strides(&output.sizes, format);
    Ok(output)
}

clauses! { convolution_backward {
    C10 "`grad_output` has the dtype of the input, and the shape of the result unless batch or channels \
         are empty."
    C11 "If `transposed` is false, `output_padding` is 0."
    mask "`output_mask` has 3 entries."
} }

/// `aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes, ..., bool[3]
/// output_mask) -> (Tensor, Tensor, Tensor)`: the gradients of input, weight and bias, as far as the mask asks for them.
fn backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, w) = (args.tensor("grad_output")?, args.tensor("input")?, args.tensor("weight")?);
    let conv = parameters(args, spatial(cx, w)?, args.flag("transposed")?)?;
    dtypes(cx, &conv, x, w, false)?;
    cx.same_dtype(&[grad, x], convolution_backward::C10)?;
    let mask = args.flags("output_mask")?;
    if mask.len() != 3 {
        return Err(KernelError::invalid(convolution_backward::mask, "the mask is to have 3 entries"));
    }
    cx.require_kind(x, Domain::FLOAT.on_cpu(), convolution::C9)?;
    let sizes = conv.sizes(cx, x, w, None)?;
    cx.check(grad.rank() == sizes.len(), convolution_backward::C10, |_| {
        format!("grad_output is to have {} dimensions, not {}", sizes.len(), grad.rank())
    })?;
    let idle = idle(cx, x);
    for (&given, &size) in grad.sizes.iter().zip(&sizes) {
        let same = cx.eq(given, size);
        let fine = cx.any(&[same, idle]);
        cx.require(fine, convolution_backward::C10, |cx| {
            format!("grad_output has a size of {}, the result of {}", cx.show(given), cx.show(size))
        })?;
    }
    if !conv.transposed {
        for &extra in &conv.output_padding {
            cx.require_eq(extra, Expr::ZERO, convolution_backward::C11, "there is an output padding")?;
        }
    }
    let format = conv.memory_format(cx, x, w);
    let like = |cx: &mut Cx, t: &Tensor| -> Value {
        let strides = cx.format_strides(&t.sizes, format);
        cx.strided(t.sizes.clone(), strides, t.dtype, &t.device).into()
    };
    let mut results = crate::Values::new();
    results.push(if mask[0] { like(cx, x) } else { Value::None });
    results.push(if mask[1] { like(cx, w) } else { Value::None });
    let bias = || -> Sizes { smallvec![sizes[1]] };
    results.push(if mask[2] { cx.contiguous(bias(), grad.dtype, &grad.device).into() } else { Value::None });
    Ok(results)
}

clauses! { conv_tbc {
    C1 "`self` and `weight` have 3 dimensions, and `bias` has 1."
    C2 "The last size of `self` is the second size of `weight`."
    C3 "`bias` has an element for each output channel."
    C4 "The kernel exceeds the padded input by at most one element."
    C5 "`self`, `weight` and `bias` have the same dtype."
} }

/// `aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor`: `[t, b, c], [k, c, o] → [t + 2 pad - k
/// + 1, b, o]`.
fn conv_tbc(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, w, bias) = (args.tensor("self")?, args.tensor("weight")?, args.tensor("bias")?);
    cx.rank(x, 3, conv_tbc::C1, "self")?;
    cx.rank(w, 3, conv_tbc::C1, "weight")?;
    cx.rank(bias, 1, conv_tbc::C1, "bias")?;
    cx.require_eq(x.size(2), w.size(1), conv_tbc::C2, "the channels differ")?;
    cx.require_eq(bias.size(0), w.size(2), conv_tbc::C3, "the bias does not fit")?;
    let pad = cx.mul(args.int("pad")?, 2);
    let padded = cx.add(x.size(0), pad);
    let length = cx.sub(padded, w.size(0));
    let length = cx.add(length, 1);
    let natural = cx.ge(length, 0);
    cx.require(natural, conv_tbc::C4, |_| "the window exceeds the padded input".into())?;
    cx.same_dtype(&[x, w, bias], conv_tbc::C5)?;
    one(cx.contiguous([length, x.size(1), w.size(2)].as_slice(), x.dtype, &x.device))
}

/// `aten::conv_tbc_backward(Tensor self, Tensor input, Tensor weight, Tensor bias, int pad) -> (Tensor, Tensor,
/// Tensor)`: shaped like input, weight and bias.
fn conv_tbc_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut results = crate::Values::new();
    for name in ["input", "weight", "bias"] {
        let t = args.tensor(name)?;
        results.push(cx.contiguous(t.sizes.clone(), t.dtype, &t.device).into());
    }
    Ok(results)
}

/// The convolutions that are particular kernels: `aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2]
/// kernel_size, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, SymInt[2] dilation=1) -> Tensor` and the
/// like. The kernel size is given beside the weight.
fn direct(cx: &mut Cx, args: &Args, transposed: bool) -> KernelResult {
    let (x, w, bias) = (args.tensor("self")?, args.tensor("weight")?, args.opt_tensor("bias")?);
    let spatial = spatial(cx, w)?;
    let conv = parameters(args, spatial, transposed)?;
    if x.rank() + 1 == w.rank() && x.rank() > 2 {
        return Err(KernelError::Unsupported("an input without a batch dimension is not modelled".into()));
    }
    dtypes(cx, &conv, x, w, false)?;
    let unfolds = args.has("kernel_size") && !args.has("dilation");
    for name in ["stride", "padding"] {
        let given = args.ints(name)?.len();
        cx.check(!unfolds || given == spatial, convolution::C1, |_| {
            format!("{name} is to have {spatial} entries, not {given}")
        })?;
    }
    let strict = args.has("dilation") && (!transposed || spatial == 3);
    let viewed = if args.has("kernel_size") { kernel_sizes(cx, args, w, strict)? } else { (**w).clone() };
    if let Some(bias) = bias {
        cx.check(bias.dtype == x.dtype || !strict, convolution::C12, |_| {
            format!("the dtypes differ: {} and {}", x.dtype, bias.dtype)
        })?;
    }
    let mut input = (**x).clone();
    if unfolds && !transposed && spatial == 2 && x.rank() == 4 {
        let (channels, held) = (x.sizes[1], cx.numel(w));
        let (none, some) = (cx.eq(channels, 0), cx.gt(held, 0));
        let filled = cx.not(none);
        let fits = cx.any(&[filled, some]);
        cx.require(fits, convolution::C11, |_| "the weight is empty".into())?;
        if cx.is_nothing(channels, convolution::C4) {
            input.sizes[1] = viewed.sizes[1];
        }
    }
    let sizes = conv.sizes(cx, &input, &viewed, bias.map(|b| b.sizes.as_slice()))?;
    one(shaped(cx, &conv, (&input, &viewed), sizes))
}

/// The weight as kernels see it that go by `kernel_size`.
///
/// Where `strict`, that is the weight's. In 2 spatial dimensions without transposition, as many channels are read as
/// kernels of that size the weight holds; else its channels stand. The weight is not empty.
pub(super) fn kernel_sizes(
    cx: &mut Cx,
    args: &Args,
    w: &Tensor,
    strict: bool,
) -> Result<Tensor, KernelError> {
    let kernel = Conv::spread(args.ints("kernel_size")?, w.rank() - 2, "kernel_size")?;
    if kernel == w.sizes[2..] {
        return Ok((*w).clone());
    }
    if strict {
        for (&k, &size) in kernel.iter().zip(&w.sizes[2..]) {
            cx.require_eq(k, size, convolution::C11, "the kernel size is not the weight's")?;
        }
        return Ok((*w).clone());
    }
    let held = cx.product(w.sizes[2..].iter().copied());
    let filled = cx.gt(held, 0);
    cx.require(filled, convolution::C11, |_| "the weight is empty".into())?;
    let mut sizes = w.sizes.clone();
    sizes.truncate(2);
    if kernel.len() == 2 && !args.has("output_padding") {
        for &k in &kernel {
            let positive = cx.gt(k, 0);
            cx.require(positive, convolution::C11, |_| "the kernel size is to be positive".into())?;
        }
        let (all, read) = (cx.mul(w.size(1), held), cx.product(kernel.iter().copied()));
        sizes[1] = cx.floor_div(all, read);
    }
    sizes.extend_from_slice(&kernel);
    let strides = cx.contiguous_strides(&sizes);
    Ok(w.viewed(sizes, strides))
}
