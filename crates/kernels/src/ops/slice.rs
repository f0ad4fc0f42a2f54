//! Views of part of a dimension: slices, selections, splits and sliding windows.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::value::list;
use crate::view::copied;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[slice::ALL, select::ALL, narrow::ALL, unbind::ALL, unfold::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    slice => "aten.slice.Tensor";
    |cx, args| copied(cx, args, slice) => "aten.slice_copy.Tensor";
    select => "aten.select.int";
    |cx, args| copied(cx, args, select) => "aten.select_copy.int";
    narrow => "aten.narrow.default";
    |cx, args| copied(cx, args, narrow) => "aten.narrow_copy.default";
    narrow_tensor => "aten.narrow.Tensor";
    unbind => "aten.unbind.int";
    |cx, args| copied(cx, args, unbind) => "aten.unbind_copy.int";
    unfold => "aten.unfold.default";
    |cx, args| copied(cx, args, unfold) => "aten.unfold_copy.default";
};

/// A dimension of a tensor that has some.
///
/// # Errors
/// [`KernelError::Invalid`] when it does not exist, or the tensor has none.
pub(super) fn real_dim(
    cx: &mut Cx,
    x: &Tensor,
    dim: Expr,
    clause: &'static OpClause,
) -> Result<usize, KernelError> {
    cx.check(x.rank() > 0, clause, |_| "a 0-dimensional tensor has no dimension to take".to_string())?;
    cx.dim(dim, x.rank(), clause)
}

/// The bounds and the step of a slice: `start`, `end` and `step`, the first two being 0 and the greatest integer where
/// absent.
///
/// # Errors
/// [`KernelError::Invalid`] when the step is not positive.
pub(super) fn slice_arguments(cx: &mut Cx, args: &Args) -> Result<(Expr, Expr, Expr), KernelError> {
    let start = args.opt_int("start")?.unwrap_or(Expr::ZERO);
    let end = match args.opt_int("end")? {
        Some(end) => end,
        None => cx.int(i64::MAX),
    };
    let step = args.int("step")?;
    let positive = cx.gt(step, 0);
    cx.require(positive, slice::C2, |cx| format!("the step {} is not positive", cx.show(step)))?;
    Ok((start, end, step))
}

clauses! { slice {
    C1 "`dim` is in range."
    C2 "`step` is positive."
} }

/// `aten::slice.Tensor(Tensor self, int dim, SymInt? start, SymInt? end, SymInt step) -> Tensor`: every `step`-th element
/// from `start` up to `end`, as in Python.
fn slice(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = real_dim(cx, x, args.int("dim")?, slice::C1)?;
    let (start, end, step) = slice_arguments(cx, args)?;
    one(cx.sliced(x, dim, start, end, step))
}

clauses! { select {
    C1 "`dim` is in range."
    C2 "`index` is from `-self.size(dim)` to `self.size(dim) - 1`."
} }

/// `aten::select.int(Tensor self, int dim, SymInt index) -> Tensor`: one element of a dimension, which is dropped.
fn select(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = real_dim(cx, x, args.int("dim")?, select::C1)?;
    let index = args.int("index")?;
    require_index(cx, index, x.sizes[dim], select::C2)?;
    one(selected(cx, x, dim, index))
}

/// Requires `-size <= index < size`.
///
/// # Errors
/// [`KernelError::Invalid`] when the index is out of range.
pub(super) fn require_index(
    cx: &mut Cx,
    index: Expr,
    size: Expr,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let message = |cx: &Cx| format!("index {} is out of range for size {}", cx.show(index), cx.show(size));
    let below = cx.lt(index, size);
    let least = cx.sub(0, size);
    let above = cx.ge(index, least);
    // One of the two bounds follows from the other where the sign is known.
    let negative = cx.lt(index, 0);
    match cx.known(negative) {
        Some(true) => cx.require(above, clause, message),
        Some(false) => cx.require(below, clause, message),
        None => {
            cx.require(below, clause, message)?;
            cx.require(above, clause, message)
        }
    }
}

/// The view of one element of a dimension, which is dropped.
pub(super) fn selected(cx: &mut Cx, x: &Tensor, dim: usize, index: Expr) -> Tensor {
    let at = cx.from_start(index, x.sizes[dim]);
    let skipped = cx.mul(at, x.strides[dim]);
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    result.sizes.remove(dim);
    result.strides.remove(dim);
    result.offset = cx.add(result.offset, skipped);
    result
}

clauses! { narrow {
    C1 "`dim` is in range."
    C2 "`length` is not negative."
    C3 "`start` is from `-self.size(dim)` to `self.size(dim)`."
    C4 "`start + length` is at most `self.size(dim)`. A negative `start` counts from the end."
    C5 "`start` is an integer tensor without dimensions."
} }

/// `aten::narrow(Tensor self, int dim, SymInt start, SymInt length) -> Tensor`: `length` elements from `start` on.
fn narrow(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = real_dim(cx, x, args.int("dim")?, narrow::C1)?;
    let start = args.int("start")?;
    one(narrowed(cx, x, dim, start, args.int("length")?)?)
}

fn narrowed(cx: &mut Cx, x: &Tensor, dim: usize, start: Expr, length: Expr) -> Result<Tensor, KernelError> {
    let size = x.sizes[dim];
    let natural = cx.ge(length, 0);
    cx.require(natural, narrow::C2, |cx| format!("the length {} is negative", cx.show(length)))?;
    let least = cx.sub(0, size);
    let (above, below) = (cx.ge(start, least), cx.le(start, size));
    for bound in [above, below] {
        cx.require(bound, narrow::C3, |cx| {
            format!("start {} is out of range for size {}", cx.show(start), cx.show(size))
        })?;
    }
    // Implied by (C4), but said without the start, which only running may tell.
    let room = cx.le(length, size);
    cx.require(room, narrow::C4, |cx| {
        format!("the length {} exceeds the size {}", cx.show(length), cx.show(size))
    })?;
    let start = cx.from_start(start, size);
    let end = cx.add(start, length);
    let fits = cx.le(end, size);
    cx.require(fits, narrow::C4, |cx| {
        format!("start {} + length {} exceeds the size {}", cx.show(start), cx.show(length), cx.show(size))
    })?;
    Ok(part(cx, x, dim, start, length))
}

/// The view of `length` elements of a dimension from `start` on; the caller knows that they are there.
fn part(cx: &mut Cx, x: &Tensor, dim: usize, start: Expr, length: Expr) -> Tensor {
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    result.sizes[dim] = length;
    let skipped = cx.mul(start, x.strides[dim]);
    result.offset = cx.add(result.offset, skipped);
    result
}

/// `aten::narrow.Tensor(Tensor self, int dim, Tensor start, SymInt length) -> Tensor`: as `narrow` with the value of
/// `start`.
fn narrow_tensor(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, start) = (args.tensor("self")?, args.tensor("start")?);
    let integral = start.dtype.is_integral() && start.dtype != Dtype::Bool;
    cx.check(start.rank() == 0 && integral, narrow::C5, |_| {
        format!("start is a {} of {} dimensions, not one integer", start.dtype, start.rank())
    })?;
    let dim = real_dim(cx, x, args.int("dim")?, narrow::C1)?;
    let start = cx.env.fresh_unbacked(sizewise_expr::range::ValueRange::default());
    one(narrowed(cx, x, dim, start, args.int("length")?)?)
}

clauses! { unbind {
    C1 "`dim` is in range."
    C2 "`self.size(dim)` is a known number, because it is the number of results."
} }

/// `aten::unbind.int(Tensor self, int dim) -> Tensor[]`: each element of a dimension, which is dropped.
fn unbind(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dim = real_dim(cx, x, args.int("dim")?, unbind::C1)?;
    let count = cx.literal(x.sizes[dim], unbind::C2)?;
    let mut results = Vec::new();
    for i in cx.result_count(count)? {
        let index = cx.int(i);
        results.push(selected(cx, x, dim, index));
    }
    Ok(smallvec![list(results)])
}

clauses! { unfold {
    C1 "`dimension` is in range."
    C2 "`size` is from 0 to `self.size(dimension)`. That is 1 for a tensor without dimensions."
    C3 "`step` is positive."
} }

/// `aten::unfold(Tensor self, int dimension, int size, int step) -> Tensor`: windows of `size` elements at distances of
/// `step` along a dimension; `(d - size) // step + 1` of them, their elements as a last dimension.
fn unfold(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let (size, step) = (args.int("size")?, args.int("step")?);
    let dim = cx.dim(args.int("dimension")?, x.rank(), unfold::C1)?;
    let extent = x.sizes.get(dim).copied().unwrap_or(Expr::ONE);
    let natural = cx.ge(size, 0);
    cx.require(natural, unfold::C2, |cx| format!("the window size {} is negative", cx.show(size)))?;
    let fits = cx.le(size, extent);
    cx.require(fits, unfold::C2, |cx| {
        format!("the window size {} exceeds the size {}", cx.show(size), cx.show(extent))
    })?;
    let positive = cx.gt(step, 0);
    cx.require(positive, unfold::C3, |cx| format!("the step {} is not positive", cx.show(step)))?;
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    result.sizes.push(size);
    result.strides.push(x.strides.get(dim).copied().unwrap_or(Expr::ONE));
    if x.rank() > 0 {
        let span = cx.sub(extent, size);
        let steps = cx.floor_div(span, step);
        result.sizes[dim] = cx.add(steps, 1);
        result.strides[dim] = cx.mul(x.strides[dim], step);
    }
    one(result)
}
