//! Gathering and scattering along one dimension by a tensor of positions that has as many dimensions.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[scatter::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    gather => "aten.gather.default";
    gather_backward => "aten.gather_backward.default";
    |cx, args| scatter(cx, args, Some("src")) => "aten.scatter.src", "aten.scatter_add.default";
    |cx, args| scatter(cx, args, None) => "aten.scatter.value";
    |cx, args| {
        known_reduction(cx, args, &["add", "multiply"])?;
        scatter(cx, args, Some("src"))
    } => "aten.scatter.reduce";
    |cx, args| {
        known_reduction(cx, args, &["add", "multiply"])?;
        scatter(cx, args, None)
    } => "aten.scatter.value_reduce";
    |cx, args| {
        known_reduction(cx, args, &["sum", "prod", "mean", "amax", "amin"])?;
        scatter(cx, args, Some("src"))
    } => "aten.scatter_reduce.two";
    take_along_dim => "aten.take_along_dim.default";
    selecting_backward => "aten.value_selecting_reduction_backward.default";
    cummaxmin_backward => "aten.cummaxmin_backward.default";
};

/// What positions are held against.
pub(super) const POSITIONS: &str = "elements of the dimension";

pub(super) fn known_reduction(cx: &mut Cx, args: &Args, known: &[&str]) -> Result<(), KernelError> {
    let reduce = args.str("reduce")?;
    cx.check(known.contains(&reduce), scatter::C6, |_| {
        format!("reduce is to be one of {}, not {reduce}", known.join(", "))
    })
}

/// Size `dim` of a tensor, a 0-dimensional one counting as one element in one dimension.
fn size_along(x: &Tensor, dim: usize) -> Expr {
    x.sizes.get(dim).copied().unwrap_or(Expr::ONE)
}

/// Whether the index has no elements, in which case its shape does not matter; open, it is taken to have some.
fn is_empty(cx: &mut Cx, index: &Tensor) -> bool {
    let numel = cx.numel(index);
    let empty = cx.eq(numel, 0);
    let backed = cx.env.hint(empty).is_some_and(|v| v.as_bool());
    // A guard is recorded only for an index that is empty at the hints.
    if backed { cx.branch_or(empty, false, scatter::C3) } else { cx.surely(empty) }
}

clauses! { scatter {
    C1 "`dim` is in range."
    C2 "The index is of `int64` or `int32`, unless it is empty. For `take_along_dim`, it is of `int64`."
    C3 "The index has the same rank as `self`, unless it is empty."
    C4 "The index is no larger than `self`, except along `dim`. `src` that replaces a part of `self` has \
        the shape of that part."
    C5 "`src` has the dtype of `self`, and the rank of the index unless that is empty. `src` is no smaller \
        than the index along each dimension."
    C6 "The operator supports the value of `reduce`."
    C7 "`self` and `indices` are broadcastable along the dimensions other than `dim`."
    C8 "No entry of `sizes` is negative."
    C9 "Indices that are computed from sizes are in range, and not negative."
} }

/// The conditions on an index.
fn index_fits(cx: &mut Cx, x: &Tensor, index: &Tensor, dim: Expr) -> Result<usize, KernelError> {
    let dim = cx.dim(dim, x.rank(), scatter::C1)?;
    if is_empty(cx, index) {
        return Ok(dim);
    }
    cx.check(matches!(index.dtype, Dtype::Int64 | Dtype::Int32), scatter::C2, |_| {
        format!("the index is of {}, int64 or int32 is expected", index.dtype)
    })?;
    let rank = x.rank().max(1);
    cx.check(index.rank().max(1) == rank, scatter::C3, |_| {
        format!("the index has {} dimensions, the tensor {}", index.rank(), x.rank())
    })?;
    for at in (0..rank).filter(|&at| at != dim) {
        covers(cx, size_along(x, at), size_along(index, at))?;
    }
    cx.require_indices(index, size_along(x, dim), false, POSITIONS, scatter::C9)?;
    Ok(dim)
}

fn covers(cx: &mut Cx, size: Expr, index: Expr) -> Result<(), KernelError> {
    let inside = cx.le(index, size);
    cx.require(inside, scatter::C4, |cx| {
        format!("the index reaches over {} of {} elements", cx.show(index), cx.show(size))
    })
}

/// `aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad) -> Tensor`: the elements at positions along a
/// dimension, shaped like the index.
fn gather(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index) = (args.tensor("self")?, args.tensor("index")?);
    index_fits(cx, x, index, args.int("dim")?)?;
    one(cx.contiguous(index.sizes.clone(), x.dtype, &x.device))
}

/// `aten::gather_backward(Tensor grad, Tensor self, int dim, Tensor index, bool sparse_grad) -> Tensor`: the gradient
/// scattered to the shape of `self`.
fn gather_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, index) = (args.tensor("grad")?, args.tensor("self")?, args.tensor("index")?);
    if args.flag("sparse_grad")? {
        return Err(KernelError::Unsupported("gather_backward with a sparse gradient".to_string()));
    }
    scatter_fits(cx, x, index, Some(grad), args.int("dim")?)?;
    one(cx.contiguous(x.sizes.clone(), grad.dtype, &grad.device))
}

/// `aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor` and the like: a copy with elements at
/// positions along a dimension replaced or combined.
fn scatter(cx: &mut Cx, args: &Args, src: Option<&str>) -> KernelResult {
    let (x, index) = (args.tensor("self")?, args.tensor("index")?);
    let src = match src {
        Some(name) => Some(&**args.tensor(name)?),
        None => None,
    };
    if let Some(src) = src {
        cx.check(x.dtype == src.dtype, scatter::C5, |_| {
            format!("the dtypes differ: {} and {}", x.dtype, src.dtype)
        })?;
    }
    scatter_fits(cx, x, index, src, args.int("dim")?)?;
    one(cx.contiguous_copy(x))
}

fn scatter_fits(
    cx: &mut Cx,
    x: &Tensor,
    index: &Tensor,
    src: Option<&Tensor>,
    dim: Expr,
) -> Result<(), KernelError> {
    index_fits(cx, x, index, dim)?;
    let Some(src) = src else { return Ok(()) };
    if is_empty(cx, index) {
        return Ok(());
    }
    cx.check(src.rank().max(1) == index.rank().max(1), scatter::C5, |_| {
        format!("src has {} dimensions, the index {}", src.rank(), index.rank())
    })?;
    for at in 0..index.rank() {
        covers(cx, size_along(src, at), index.sizes[at])?;
    }
    Ok(())
}

/// `aten::take_along_dim(Tensor self, Tensor indices, int? dim) -> Tensor`: as `gather`, both broadcast along the other
/// dimensions; without a dimension, of the flattened tensors.
///
/// The indices are of `int64`. Both have as many dimensions. Without a dimension, positions that sizes decide are in
/// range; with one they wrap around.
fn take_along_dim(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, index) = (args.tensor("self")?, args.tensor("indices")?);
    cx.check(index.dtype == Dtype::Int64, scatter::C2, |_| {
        format!("the indices are of {}, int64 is expected", index.dtype)
    })?;
    let Some(dim) = args.opt_int("dim")? else {
        let (numel, held) = (cx.numel(index), cx.numel(x));
        cx.require_indices(index, held, false, "elements", scatter::C9)?;
        return one(cx.contiguous([numel].as_slice(), x.dtype, &x.device));
    };
    cx.check(x.rank() == index.rank(), scatter::C3, |_| {
        format!("the tensor has {} dimensions, the indices {}", x.rank(), index.rank())
    })?;
    let dim = cx.dim(dim, x.rank(), scatter::C1)?;
    let mut sizes = index.sizes.clone();
    for at in (0..x.rank()).filter(|&at| at != dim) {
        sizes[at] = cx.broadcast_size(x.sizes[at], index.sizes[at], scatter::C7)?;
    }
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// `aten::value_selecting_reduction_backward(Tensor grad, int dim, Tensor indices, SymInt[] sizes, bool keepdim) ->
/// Tensor`: the gradient at the positions of the values that a reduction such as `max` selected, of `sizes`.
fn selecting_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, indices, sizes) = (args.tensor("grad")?, args.tensor("indices")?, args.ints("sizes")?);
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, scatter::C8, |cx| format!("the size {} is negative", cx.show(size)))?;
    }
    let result = cx.contiguous(sizes, grad.dtype, &grad.device);
    let dim = args.int("dim")?;
    if args.flag("keepdim")? || sizes.is_empty() {
        scatter_fits(cx, &result, indices, Some(grad), dim)?;
        return one(result);
    }
    let at = cx.dim(dim, sizes.len(), scatter::C1)?;
    let kept = |cx: &mut Cx, x: &Tensor| {
        cx.check(at <= x.rank(), scatter::C1, |_| format!("dimension {at} is not one of {}", x.rank() + 1))?;
        let mut sizes = x.sizes.clone();
        sizes.insert(at, Expr::ONE);
        Ok(cx.contiguous(sizes, x.dtype, &x.device))
    };
    let (grad, indices) = (kept(cx, grad)?, kept(cx, indices)?);
    scatter_fits(cx, &result, &indices, Some(&grad), dim)?;
    one(result)
}

/// `aten::cummaxmin_backward(Tensor grad, Tensor input, Tensor indices, int dim) -> Tensor`: the gradient added at the
/// positions of running extrema; an input without elements is given back.
fn cummaxmin_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, indices) = (args.tensor("grad")?, args.tensor("input")?, args.tensor("indices")?);
    if cx.is_empty(x, scatter::C3) {
        return one(Tensor { wrapped: false, ..(**x).clone() });
    }
    cx.same_dtype(&[x, grad], scatter::C5)?;
    scatter_fits(cx, x, indices, Some(grad), args.int("dim")?)?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}
