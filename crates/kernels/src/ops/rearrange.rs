//! Copies with the elements in another order: flips, rolls, rotations, shuffles of channels and pixels.
use super::permute::swapped;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::policy::Branch;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[flip::ALL, roll::ALL, rot90::ALL, channel_shuffle::ALL, pixel_shuffle::ALL, pixel_unshuffle::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| {
        let x = args.tensor("self")?;
        cx.dims(Some(args.ints("dims")?), x.rank(), false, flip::C1)?;
        one(flipped(cx, x))
    } => "aten.flip.default";
    |cx, args| {
        let x = args.tensor("self")?;
        cx.check(x.rank() >= 2, flip::C2, |_| {
            format!("at least 2 dimensions are expected, not {}", x.rank())
        })?;
        one(flipped(cx, x))
    } => "aten.fliplr.default";
    |cx, args| {
        let x = args.tensor("self")?;
        cx.check(x.rank() >= 1, flip::C2, |_| "a dimension is expected".to_string())?;
        one(flipped(cx, x))
    } => "aten.flipud.default";
    |cx, args| {
        let (x, dims) = (args.tensor("a")?, args.ints("dims")?);
        let natural = dims.iter().all(|d| d.as_inline().is_some_and(|v| v >= 0));
        cx.check(natural, flip::C1, |cx| format!("{} are not dimensions", cx.show_all(dims)))?;
        cx.dims(Some(dims), x.rank(), false, flip::C1)?;
        one(flipped(cx, x))
    } => "prims.rev.default";
    roll => "aten.roll.default";
    rot90 => "aten.rot90.default";
    channel_shuffle => "aten.channel_shuffle.default", "aten.native_channel_shuffle.default";
    pixel_shuffle => "aten.pixel_shuffle.default";
    pixel_unshuffle => "aten.pixel_unshuffle.default";
};

clauses! { flip {
    C1 "`dims` are distinct and in range."
    C2 "`self` has at least 2 dimensions for `fliplr`, and 1 for `flipud`."
} }

/// `aten::flip(Tensor self, int[] dims) -> Tensor`: a copy that keeps the order of dimensions in memory.
fn flipped(cx: &mut Cx, x: &Tensor) -> Tensor {
    let strides = cx.preserved_strides(x);
    cx.strided(x.sizes.clone(), strides, x.dtype, &x.device)
}

clauses! { roll {
    C1 "`shifts` has at least one entry."
    C2 "`dims` has an entry for each of `shifts`, or none for a single shift."
    C3 "`dims` are in range, and `self` is not a scalar."
} }

/// `aten::roll(Tensor self, SymInt[1] shifts, int[1] dims) -> Tensor`: elements moved around along dimensions; without
/// dimensions, along the flattened tensor.
fn roll(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, shifts, dims) = (args.tensor("self")?, args.ints("shifts")?, args.ints("dims")?);
    let aligned = shifts.len() == dims.len() || (dims.is_empty() && shifts.len() == 1);
    cx.check(!shifts.is_empty(), roll::C1, |_| "shifts are expected".to_string())?;
    cx.check(aligned, roll::C2, |_| format!("{} shifts for {} dimensions", shifts.len(), dims.len()))?;
    for &dim in dims {
        cx.check(x.rank() > 0, roll::C3, |_| "the tensor has no dimensions".to_string())?;
        cx.dim(dim, x.rank(), roll::C3)?;
    }
    one(cx.contiguous_copy(x))
}

clauses! { rot90 {
    C1 "`dims` has two different dimensions, which are in range."
} }

/// `aten::rot90(Tensor self, int k, int[] dims) -> Tensor`: `k` quarter turns in the plane of two dimensions.
fn rot90(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dims) = (args.tensor("self")?, args.ints("dims")?);
    cx.check(dims.len() == 2 && x.rank() >= 2, rot90::C1, |_| {
        format!("2 dimensions are expected, not {} of {}", dims.len(), x.rank())
    })?;
    let a = cx.dim(dims[0], x.rank(), rot90::C1)?;
    let b = cx.dim(dims[1], x.rank(), rot90::C1)?;
    cx.check(a != b, rot90::C1, |_| format!("two different dimensions are expected, not {a} twice"))?;
    let turns = cx.literal(args.int("k")?, rot90::C1)?.rem_euclid(4);
    let copy = flipped(cx, x);
    one(match turns {
        0 => cx.contiguous_copy(x),
        2 => copy,
        _ => swapped(&copy, a, b),
    })
}

clauses! { channel_shuffle {
    C1 "`self` has at least 3 dimensions."
    C2 "`groups` is positive."
    C3 "The number of channels is divisible by `groups`."
} }

/// `aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor`: channels of groups taken in turn.
fn channel_shuffle(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, groups) = (args.tensor("self")?, args.int("groups")?);
    cx.check(x.rank() > 2, channel_shuffle::C1, |_| {
        format!("at least 3 dimensions are expected, not {}", x.rank())
    })?;
    let positive = cx.gt(groups, 0);
    cx.require(positive, channel_shuffle::C2, |cx| format!("{} groups", cx.show(groups)))?;
    divided(cx, x.size(1), groups, channel_shuffle::C3)?;
    one(cx.contiguous_copy(x))
}

/// The quotient of a size that a divisor has to divide.
fn divided(cx: &mut Cx, size: Expr, divisor: Expr, clause: &'static OpClause) -> Result<Expr, KernelError> {
    let rest = cx.modulo(size, divisor);
    let divides = cx.eq(rest, 0);
    cx.require(divides, clause, |cx| {
        format!("the size {} is not divisible by {}", cx.show(size), cx.show(divisor))
    })?;
    Ok(cx.floor_div(size, divisor))
}

clauses! { pixel_shuffle {
    C1 "`self` has at least 3 dimensions."
    C2 "The scale factor is positive."
    C3 "The number of channels is divisible by the square of `upscale_factor`."
    C4 "Height and width are divisible by `downscale_factor`."
} }

fn pixel_factor(cx: &mut Cx, x: &Tensor, factor: Expr) -> Result<(), KernelError> {
    cx.check(x.rank() >= 3, pixel_shuffle::C1, |_| {
        format!("at least 3 dimensions are expected, not {}", x.rank())
    })?;
    let positive = cx.gt(factor, 0);
    cx.require(positive, pixel_shuffle::C2, |cx| format!("the factor {} is not positive", cx.show(factor)))
}

/// `aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor`: `[.., c r², h, w] → [.., c, h r, w r]`.
fn pixel_shuffle(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, r) = (args.tensor("self")?, args.int("upscale_factor")?);
    pixel_factor(cx, x, r)?;
    let square = cx.mul(r, r);
    let at = x.rank() - 3;
    let mut sizes = x.sizes.clone();
    sizes[at] = divided(cx, sizes[at], square, pixel_shuffle::C3)?;
    sizes[at + 1] = cx.mul(sizes[at + 1], r);
    sizes[at + 2] = cx.mul(sizes[at + 2], r);
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { pixel_unshuffle {
    C5 "Whether `self` is empty, in which case the CPU kernel returns it unchanged."
} }

/// `aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor`: `[.., c, h r, w r] → [.., c r², h, w]`.
fn pixel_unshuffle(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, r) = (args.tensor("self")?, args.int("downscale_factor")?);
    pixel_factor(cx, x, r)?;
    let square = cx.mul(r, r);
    let at = x.rank() - 3;
    let mut sizes = x.sizes.clone();
    sizes[at] = cx.mul(sizes[at], square);
    sizes[at + 1] = divided(cx, sizes[at + 1], r, pixel_shuffle::C4)?;
    sizes[at + 2] = divided(cx, sizes[at + 2], r, pixel_shuffle::C4)?;
    match cx.returns_empty_as_it_is(x, pixel_unshuffle::C5) {
        Branch::Yes => {
            let strides = cx.preserved_strides(x);
            return one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device));
        }
        Branch::No => {}
        Branch::Open(empty) => {
            for (size, &unchanged) in sizes.iter_mut().zip(&x.sizes) {
                *size = cx.pool().ite(empty, unchanged, *size);
            }
        }
    }
    one(cx.contiguous(sizes, x.dtype, &x.device))
}
