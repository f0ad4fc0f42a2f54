//! Padding: with a constant, by reflection, by replication, around the circle; and the gradients of these.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::MemoryFormat;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[pad::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| {
        let value = args.opt_float("value")?;
        pad(cx, args.tensor("self")?, args.ints("pad")?, args.str("mode")?, value)
    } => "aten.pad.default";
    |cx, args| {
        let mode = cx.literal(args.int("mode")?, pad::C4)?;
        let names = ["reflect", "replicate", "circular", "constant"];
        let mode = usize::try_from(mode).ok().and_then(|mode| names.get(mode).copied()).unwrap_or("unknown");
        let value = args.opt_float("value")?;
        pad(cx, args.tensor("self")?, args.ints("pad")?, mode, value)
    } => "aten._pad_enum.default";
    |cx, args| constant(cx, args.tensor("self")?, args.ints("pad")?) => "aten.constant_pad_nd.default";
    |cx, args| circular(cx, args.tensor("self")?, args.ints("pad")?) => "aten._pad_circular.default";
    |cx, args| mirrored(cx, args, 1, Mode::Reflect) => "aten.reflection_pad1d.default";
    |cx, args| mirrored(cx, args, 2, Mode::Reflect) => "aten.reflection_pad2d.default";
    |cx, args| mirrored(cx, args, 3, Mode::Reflect) => "aten.reflection_pad3d.default";
    |cx, args| mirrored(cx, args, 1, Mode::Replicate) => "aten.replication_pad1d.default";
    |cx, args| mirrored(cx, args, 2, Mode::Replicate) => "aten.replication_pad2d.default";
    |cx, args| mirrored(cx, args, 3, Mode::Replicate) => "aten.replication_pad3d.default";
    |cx, args| gradient(cx, args, 1, Mode::Reflect) => "aten.reflection_pad1d_backward.default";
    |cx, args| gradient(cx, args, 2, Mode::Reflect) => "aten.reflection_pad2d_backward.default";
    |cx, args| gradient(cx, args, 3, Mode::Reflect) => "aten.reflection_pad3d_backward.default";
    |cx, args| gradient(cx, args, 1, Mode::Replicate) => "aten.replication_pad1d_backward.default";
    |cx, args| gradient(cx, args, 2, Mode::Replicate) => "aten.replication_pad2d_backward.default";
    |cx, args| gradient(cx, args, 3, Mode::Replicate) => "aten.replication_pad3d_backward.default";
};

/// What padding by elements of the tensor takes them from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The elements beside the border, backwards.
    Reflect,
    /// The border.
    Replicate,
}

clauses! { pad {
    C1 "The padding has two entries for each padded dimension."
    C2 "No more dimensions are padded than the tensor has. With a mode other than `constant`, one or two \
        are left."
    C3 "With a mode other than `constant`, `value` is 0 or not given."
    C4 "`mode` is known. Modes other than `constant` pad the last 1, 2 or 3 dimensions, with one or two \
        before them."
    C5 "Negative padding removes no more elements than there are."
    C6 "Circular padding does not exceed the size of the dimension."
    C7 "No size of the result is negative."
    C8 "Only the batch dimension may be empty."
    C9 "Reflection padding on each side is less than the size of the dimension."
    C10 "Padded sizes of the result are positive."
    C11 "`grad_output` has the channels of `self`, and its sizes after padding."
    C12 "`grad_output` and `self` have the same dtype, unless one is empty."
    C13 "The tensor is not of `bool`."
} }

/// `aten::pad(Tensor self, SymInt[] pad, str mode, float? value) -> Tensor`
fn pad(cx: &mut Cx, x: &Tensor, pad: &[Expr], mode: &str, value: Option<Expr>) -> KernelResult {
    if mode == "constant" {
        return constant(cx, x, pad);
    }
    let dims = padded_dims(cx, x, pad)?;
    let zero = cx.env.pool.float(0.0);
    cx.check(value.is_none_or(|v| v == zero), pad::C3, |_| format!("mode {mode} takes no value"))?;
    let fits = (1..=3).contains(&dims) && (dims + 1..=dims + 2).contains(&x.rank());
    cx.check(fits, pad::C4, |_| format!("mode {mode} does not pad {dims} of {} dimensions", x.rank()))?;
    match mode {
        "circular" => circular(cx, x, pad),
        "reflect" => padded(cx, x, pad, Mode::Reflect),
        "replicate" => padded(cx, x, pad, Mode::Replicate),
        _ => Err(KernelError::invalid(pad::C4, format!("unknown padding mode {mode}"))),
    }
}

/// How many dimensions are padded.
///
/// # Errors
/// [`KernelError::Invalid`] when (C1) or (C2) of [`pad`] does not hold.
fn padded_dims(cx: &mut Cx, x: &Tensor, pad: &[Expr]) -> Result<usize, KernelError> {
    cx.check(pad.len().is_multiple_of(2), pad::C1, |_| {
        format!("the length of pad is {}, which is odd", pad.len())
    })?;
    let dims = pad.len() / 2;
    cx.check(dims <= x.rank(), pad::C2, |_| format!("{dims} of {} dimensions are padded", x.rank()))?;
    Ok(dims)
}

/// The padding before and behind dimension `at` of `rank`: `pad` begins with the last dimension.
fn around(pad: &[Expr], at: usize, rank: usize) -> Option<(Expr, Expr)> {
    let from_end = 2 * (rank - 1 - at);
    Some((*pad.get(from_end)?, *pad.get(from_end + 1)?))
}

/// `aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value) -> Tensor`: sizes grow by the padding; where it is
/// negative, elements are cut off first.
fn constant(cx: &mut Cx, x: &Tensor, pad: &[Expr]) -> KernelResult {
    padded_dims(cx, x, pad)?;
    let mut sizes = x.sizes.clone();
    let mut added: Vec<Expr> = Vec::new();
    for at in 0..x.rank() {
        let Some((before, behind)) = around(pad, at, x.rank()) else { continue };
        let (cut_before, cut_behind) = (cx.min(before, 0), cx.min(behind, 0));
        let cut = cx.add(cut_before, cut_behind);
        let left = cx.add(x.sizes[at], cut);
        let natural = cx.ge(left, 0);
        cx.require(natural, pad::C5, |cx| {
            let size = cx.show(x.sizes[at]);
            format!("{} and {} cut more off than the {size} there are", cx.show(before), cx.show(behind))
        })?;
        added.extend([before, behind].map(|side| cx.gt(side, 0)));
        let grown = cx.add(x.sizes[at], before);
        sizes[at] = cx.add(grown, behind);
    }
    let format = cx.suggested_format(x);
    let mut strides = cx.format_strides(&sizes, format);
    let grows = cx.any(&added);
    // What is only cut is a copy of the part that is left, in the order of its dimensions: the same for a contiguous
    // tensor.
    let contiguous = format == MemoryFormat::Contiguous && x.strides == cx.contiguous_strides(&x.sizes);
    if !contiguous && !cx.layout_choice(grows) {
        let part = x.viewed(sizes.clone(), x.strides.clone());
        strides = cx.preserved_strides(&part);
    }
    one(cx.strided(sizes, strides, x.dtype, &x.device))
}

/// `aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor`
///
/// There are one or two dimensions more than padded ones; a last entry without a pair is not looked at.
fn circular(cx: &mut Cx, x: &Tensor, pad: &[Expr]) -> KernelResult {
    let (dims, rank) = (pad.len() / 2, x.rank());
    let pad = &pad[..2 * dims];
    cx.check(rank == dims + 1 || rank == dims + 2, pad::C2, |_| {
        format!("padding {dims} of {rank} dimensions leaves neither 1 nor 2")
    })?;
    let mut sizes = x.sizes.clone();
    for at in 0..x.rank() {
        let Some((before, behind)) = around(pad, at, x.rank()) else { continue };
        for side in [before, behind] {
            let once = cx.le(side, x.sizes[at]);
            cx.require(once, pad::C6, |cx| {
                format!("the padding {} wraps around {} more than once", cx.show(side), cx.show(x.sizes[at]))
            })?;
        }
        let grown = cx.add(x.sizes[at], before);
        sizes[at] = cx.add(grown, behind);
        let natural = cx.ge(sizes[at], 0);
        cx.require(natural, pad::C7, |cx| format!("the padded size {} is negative", cx.show(sizes[at])))?;
    }
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// `aten::reflection_pad{1,2,3}d(Tensor self, SymInt[] padding) -> Tensor` and `aten::replication_pad{1,2,3}d`: the last
/// dimensions padded with elements of the tensor.
fn mirrored(cx: &mut Cx, args: &Args, dims: usize, mode: Mode) -> KernelResult {
    let (x, pad) = (args.tensor("self")?, args.ints("padding")?);
    padding_fits(cx, x, pad, dims)?;
    padded(cx, x, pad, mode)
}

fn padding_fits(cx: &mut Cx, x: &Tensor, pad: &[Expr], dims: usize) -> Result<(), KernelError> {
    cx.check(pad.len() == 2 * dims, pad::C1, |_| {
        format!("{} entries are expected, not {}", 2 * dims, pad.len())
    })?;
    cx.check((dims + 1..=dims + 2).contains(&x.rank()), pad::C2, |_| {
        format!("{} or {} dimensions are expected, not {}", dims + 1, dims + 2, x.rank())
    })
}

/// Reflection needs more elements than it adds.
fn padded(cx: &mut Cx, x: &Tensor, pad: &[Expr], mode: Mode) -> KernelResult {
    cx.check(!x.dtype.is_bool(), pad::C13, |_| "the operator does not pad tensors of bool".into())?;
    let sizes = padded_sizes(cx, x, pad, mode)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

fn padded_sizes(cx: &mut Cx, x: &Tensor, pad: &[Expr], mode: Mode) -> Result<crate::Sizes, KernelError> {
    let dims = pad.len() / 2;
    let batches = x.rank() - dims - 1;
    let mut sizes = x.sizes.clone();
    for at in batches..x.rank() {
        let size = x.sizes[at];
        let some = cx.ne(size, 0);
        cx.require(some, pad::C8, |_| format!("dimension {at} is empty"))?;
        let Some((before, behind)) = around(pad, at, x.rank()) else { continue };
        if mode == Mode::Reflect {
            require_enough(cx, size, [before, behind])?;
        }
        let grown = cx.add(size, before);
        sizes[at] = cx.add(grown, behind);
        let positive = cx.ge(sizes[at], 1);
        cx.require(positive, pad::C10, |cx| format!("the padded size {} is below 1", cx.show(sizes[at])))?;
    }
    Ok(sizes)
}

fn require_enough(cx: &mut Cx, size: Expr, sides: [Expr; 2]) -> Result<(), KernelError> {
    for side in sides {
        let enough = cx.lt(side, size);
        cx.require(enough, pad::C9, |cx| {
            format!("the padding {} is not less than the size {}", cx.show(side), cx.show(size))
        })?;
    }
    Ok(())
}

/// `aten::reflection_pad{1,2,3}d_backward(Tensor grad_output, Tensor self, SymInt[] padding) -> Tensor` and
/// `aten::replication_pad{1,2,3}d_backward`: shaped like `self`.
fn gradient(cx: &mut Cx, args: &Args, dims: usize, mode: Mode) -> KernelResult {
    let (grad, x, pad) = (args.tensor("grad_output")?, args.tensor("self")?, args.ints("padding")?);
    padding_fits(cx, x, pad, dims)?;
    let (numel, of_grad) = (cx.numel(x), cx.numel(grad));
    let same = grad.dtype == x.dtype || cx.is_nothing(numel, pad::C12) || cx.is_nothing(of_grad, pad::C12);
    cx.check(same, pad::C12, |_| format!("the gradient is of {}, self of {}", grad.dtype, x.dtype))?;
    cx.check(grad.rank() == x.rank(), pad::C11, |_| {
        format!("the gradient has {} dimensions, self has {}", grad.rank(), x.rank())
    })?;
    for at in x.rank() - dims - 1..x.rank() {
        let (before, behind) = around(pad, at, x.rank()).unwrap_or((Expr::ZERO, Expr::ZERO));
        if mode == Mode::Reflect && dims == 1 {
            require_enough(cx, x.sizes[at], [before, behind])?;
        }
        let grown = cx.add(x.sizes[at], before);
        let grown = cx.add(grown, behind);
        cx.require_eq(grown, grad.sizes[at], pad::C11, "the gradient has another size")?;
    }
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}
