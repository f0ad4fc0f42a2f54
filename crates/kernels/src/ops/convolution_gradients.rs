//! Gradients of particular convolution kernels, and gradients of the gradients of convolutions.
use super::convolution::{kernel_sizes, parameters, spatial};
use crate::conv::Conv;
use crate::domain::Domain;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value, Values};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::MemoryFormat;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[slow_conv2d_backward::ALL, convolution_double_backward::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    slow_conv2d_backward => "aten._slow_conv2d_backward.output_mask";
    double_backward => "aten._convolution_double_backward.default";
};

/// Which of three gradients are asked for.
fn mask(args: &Args, clause: &'static OpClause) -> Result<[bool; 3], KernelError> {
    <[bool; 3]>::try_from(args.flags("output_mask")?)
        .map_err(|_| KernelError::invalid(clause, "the mask is to have 3 entries"))
}

clauses! { slow_conv2d_backward {
    C1 "`output_mask` has 3 entries."
    C2 "`self` has 4 dimensions."
    C3 "`grad_output` has 4 dimensions, and the sizes of the result behind the first."
    C4 "`grad_output`, `self` and, for the gradient of the input, `weight` have the same floating point \
        dtype."
    C5 "`grad_output` has 4 dimensions if the gradient of the bias is requested."
} }

/// `_slow_conv2d_backward.output_mask(Tensor grad_output, Tensor self, Tensor weight, SymInt[2] kernel_size, SymInt[2]
/// stride, SymInt[2] padding, bool[3] output_mask) -> (Tensor grad_input, Tensor grad_weight, Tensor grad_bias)`: shaped
/// like input and weight, and `[channels]` of the gradient given.
fn slow_conv2d_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, w) = (args.tensor("grad_output")?, args.tensor("self")?, args.tensor("weight")?);
    let [to_input, to_weight, to_bias] = mask(args, slow_conv2d_backward::C1)?;
    if to_input || to_weight {
        cx.rank(x, 4, slow_conv2d_backward::C2, "the input")?;
        gradient_fits(cx, args, grad, x, w)?;
        cx.same_dtype(&[x, grad], slow_conv2d_backward::C4)?;
        if to_input {
            cx.same_dtype(&[x, w], slow_conv2d_backward::C4)?;
        }
        cx.require_kind(x, Domain::FLOAT.on_cpu(), slow_conv2d_backward::C4)?;
    }
    if cx.suggested_format(x) == MemoryFormat::ChannelsLast {
        return Err(KernelError::Unsupported("an input whose channels are innermost".into()));
    }
    let format = cx.suggested_format(w);
    let like = |cx: &mut Cx, t: &Tensor| -> Value {
        let strides = cx.format_strides(&t.sizes, format);
        cx.strided(t.sizes.clone(), strides, x.dtype, &t.device).into()
    };
    let mut results = Values::new();
    results.push(if to_input { like(cx, x) } else { Value::None });
    results.push(if to_weight { like(cx, w) } else { Value::None });
    results.push(if to_bias {
        cx.rank(grad, 4, slow_conv2d_backward::C5, "the gradient")?;
        cx.contiguous([grad.size(1)].as_slice(), grad.dtype, &grad.device).into()
    } else {
        Value::None
    });
    Ok(results)
}

fn gradient_fits(cx: &mut Cx, args: &Args, grad: &Tensor, x: &Tensor, w: &Tensor) -> Result<(), KernelError> {
    if w.rank() == 2 {
        return Err(KernelError::Unsupported("a weight that has been flattened".into()));
    }
    let dimensions = spatial(cx, w)?;
    let conv = parameters(args, dimensions, false)?;
    let viewed = kernel_sizes(cx, args, w, false)?;
    let mut input = x.clone();
    if x.sizes[1] == Expr::ZERO {
        input.sizes[1] = viewed.sizes[1];
    }
    let sizes = conv.sizes(cx, &input, &viewed, None)?;
    cx.rank(grad, 4, slow_conv2d_backward::C3, "the gradient")?;
    for (&given, &size) in grad.sizes.iter().zip(&sizes).skip(1) {
        cx.require_eq(given, size, slow_conv2d_backward::C3, "the gradient has not the result's shape")?;
    }
    Ok(())
}

clauses! { convolution_double_backward {
    C1 "`output_mask` has 3 entries."
    C2 "The ranks of the operands fit the convolutions of the second derivatives."
    C3 "The terms of the gradient of `gO` broadcast."
} }

/// `_convolution_double_backward(Tensor? ggI, Tensor? ggW, Tensor? ggb, Tensor gO, Tensor weight, Tensor self, SymInt[]
/// stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool[3]
/// output_mask) -> (Tensor, Tensor, Tensor)`: the second derivatives with respect to `gO`, `self` and `weight`, each a
/// sum of convolutions: `ggI * weight + self * ggW + ggb`, `gO` with `ggW` the other way round, and `ggI * gO` with batch
/// and channels exchanged and steps and dilation exchanged.
fn double_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, w, x) = (args.tensor("gO")?, args.tensor("weight")?, args.tensor("self")?);
    let (seen, kernel, offset) = (args.opt_tensor("ggI")?, args.opt_tensor("ggW")?, args.opt_tensor("ggb")?);
    let mask = mask(args, convolution_double_backward::C1)?;
    let conv = parameters(args, spatial(cx, w)?, args.flag("transposed")?)?;
    let numel = cx.numel(x);
    let empty = cx.eq(numel, 0);
    let computes = !cx.branch(empty, convolution_double_backward::C2)?;
    let (seen, kernel) = (seen.filter(|_| computes), kernel.filter(|_| computes));
    let mut terms: Vec<Tensor> = Vec::with_capacity(3);
    for (operand, by) in [(seen, Some(w)), (Some(x), kernel)] {
        if let (Some(operand), Some(by)) = (operand, by) {
            terms.push(convolve(cx, operand, by, &conv)?);
        }
    }
    if let Some(offset) = offset {
        let mut view = vec![Expr::ONE; grad.rank()];
        if let Some(channels) = view.get_mut(1) {
            *channels = cx.numel(offset);
        }
        let view = cx.contiguous(view.as_slice(), offset.dtype, &offset.device);
        terms.push(cx.invoke_one("aten.expand_as.default", [Value::from(&view), Value::from(&**grad)])?);
    }
    let mut first: Option<Tensor> = None;
    for term in terms {
        first = Some(match first {
            None => term,
            Some(sum) => cx.combined(&[&sum, &term], convolution_double_backward::C3)?,
        });
    }
    let second = match kernel {
        Some(kernel) => Some(back_to_input(cx, &conv, grad, kernel, w, x)?),
        None => None,
    };
    let third = match seen {
        Some(seen) => Some(back_to_weight(cx, &conv, grad, seen, w)?),
        None => None,
    };
    let mut results = Values::new();
    for ((found, like), asked) in [(first, grad), (second, x), (third, w)].into_iter().zip(mask) {
        results.push(match found {
            Some(found) => found.into(),
            None if asked => {
                let strides = cx.preserved_strides(like);
                cx.strided(like.sizes.clone(), strides, like.dtype, &like.device).into()
            }
            None => Value::None,
        });
    }
    Ok(results)
}

/// The convolution of `x` by `w` without a bias.
fn convolve(cx: &mut Cx, x: &Tensor, w: &Tensor, conv: &Conv) -> Result<Tensor, KernelError> {
    let transposed = Value::Bool(cx.pool().bool(conv.transposed));
    let args = [
        Value::from(x),
        Value::from(w),
        Value::None,
        Value::Ints(conv.stride.clone()),
        Value::Ints(conv.padding.clone()),
        Value::Ints(conv.dilation.clone()),
        transposed,
        Value::Ints(conv.output_padding.clone()),
        Value::Int(conv.groups),
    ];
    cx.invoke_one("aten.convolution.default", args)
}

/// `gO` by `ggW` the other way round: padded so that the sizes are those of the input, or cut to them.
fn back_to_input(
    cx: &mut Cx,
    conv: &Conv,
    grad: &Tensor,
    kernel: &Tensor,
    w: &Tensor,
    x: &Tensor,
) -> Result<Tensor, KernelError> {
    let mut back = Conv { transposed: !conv.transposed, ..conv.clone() };
    if conv.transposed {
        let whole = convolve(cx, grad, kernel, &back)?;
        return narrowed(cx, whole, &x.sizes);
    }
    for i in 0..w.rank() - 2 {
        let (Some(&length), Some(&size)) = (grad.sizes.get(i + 2), x.sizes.get(i + 2)) else {
            let message = format!("{} and {} dimensions do not go together", grad.rank(), x.rank());
            return Err(KernelError::invalid(convolution_double_backward::C2, message));
        };
        let reach = cx.sub(w.sizes[i + 2], 1);
        let reach = cx.mul(reach, conv.dilation[i]);
        let steps = cx.sub(length, 1);
        let steps = cx.mul(steps, conv.stride[i]);
        let padding = cx.mul(conv.padding[i], 2);
        let span = cx.sum([reach, steps, Expr::ONE]);
        let span = cx.sub(span, padding);
        let same = cx.eq(span, size);
        if !cx.branch(same, convolution_double_backward::C2)? {
            back.output_padding[i] = cx.sub(size, span);
        }
    }
    convolve(cx, grad, kernel, &back)
}

/// `ggI` by `gO`, batch and channels exchanged, group by group, cut to the weight's sizes.
fn back_to_weight(
    cx: &mut Cx,
    conv: &Conv,
    grad: &Tensor,
    seen: &Tensor,
    w: &Tensor,
) -> Result<Tensor, KernelError> {
    let groups = cx.literal(conv.groups, convolution_double_backward::C2)?;
    let count = cx.int(groups);
    let single = Conv {
        stride: conv.dilation.clone(),
        dilation: conv.stride.clone(),
        transposed: false,
        groups: Expr::ONE,
        ..conv.clone()
    };
    let group = |cx: &mut Cx, t: &Tensor| -> Result<Tensor, KernelError> {
        let mut t = exchanged(t)?;
        t.sizes[0] = cx.floor_div(t.sizes[0], count);
        Ok(t)
    };
    let (grad, seen) = (group(cx, grad)?, group(cx, seen)?);
    let mut part = if conv.transposed {
        convolve(cx, &grad, &seen, &single)?
    } else {
        convolve(cx, &seen, &grad, &single)?
    };
    if groups > 1 {
        part.sizes[1] = cx.mul(part.sizes[1], count);
        part.strides = cx.contiguous_strides(&part.sizes);
    }
    let whole = exchanged(&part)?;
    narrowed(cx, whole, &w.sizes)
}

/// Batch and channels exchanged.
fn exchanged(t: &Tensor) -> Result<Tensor, KernelError> {
    if t.rank() < 2 {
        let message = format!("{} dimensions have no channels", t.rank());
        return Err(KernelError::invalid(convolution_double_backward::C2, message));
    }
    let (mut sizes, mut strides) = (t.sizes.clone(), t.strides.clone());
    sizes.swap(0, 1);
    strides.swap(0, 1);
    Ok(t.viewed(sizes, strides))
}

/// A result cut to spatial sizes where it exceeds them.
fn narrowed(cx: &mut Cx, mut t: Tensor, sizes: &Sizes) -> Result<Tensor, KernelError> {
    for at in 2..t.rank().min(sizes.len()) {
        let longer = cx.gt(t.sizes[at], sizes[at]);
        if cx.branch(longer, convolution_double_backward::C2)? {
            t.sizes[at] = sizes[at];
        }
    }
    Ok(t)
}
