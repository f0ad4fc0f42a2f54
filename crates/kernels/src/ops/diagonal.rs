//! Diagonals, triangles and traces of matrices.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::view::copied;
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[diagonal::ALL, diag::ALL, tril::ALL, trace::ALL, fill_diagonal::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| one(diagonal_of(cx, args, args.tensor("self")?)?) => "aten.diagonal.default";
    |cx, args| one(diagonal_of(cx, args, args.tensor("A")?)?) => "aten.linalg_diagonal.default";
    |cx, args| copied(cx, args, |cx, args| one(diagonal_of(cx, args, args.tensor("self")?)?)) =>
        "aten.diagonal_copy.default";
    diag => "aten.diag.default";
    |cx, args| {
        let (dim1, dim2) = (args.int("dim1")?, args.int("dim2")?);
        embedded(cx, args.tensor("self")?, args.int("offset")?, dim1, dim2)
    } => "aten.diag_embed.default";
    |cx, args| {
        let x = args.tensor("self")?;
        let numel = cx.numel(x);
        let flat = cx.contiguous([numel].as_slice(), x.dtype, &x.device);
        let (dim1, dim2) = (cx.int(0), cx.int(1));
        embedded(cx, &flat, args.int("offset")?, dim1, dim2)
    } => "aten.diagflat.default";
    triangle => "aten.tril.default", "aten.triu.default";
    trace => "aten.trace.default";
    trace_backward => "aten.trace_backward.default";
    fill_diagonal => "aten.fill_diagonal_.default";
};

clauses! { diagonal {
    C1 "`dim1` and `dim2` are in range and different."
} }

/// `aten::diagonal(Tensor self, int offset, int dim1, int dim2) -> Tensor`: the elements at `(i, i + offset)` of two
/// dimensions, as a last dimension of `max(0, min(d1, d2 - offset))` elements (of `max(0, min(d1 + offset, d2))` below
/// the main diagonal).
///
/// # Errors
/// [`KernelError::Invalid`] when they do not.
pub(super) fn diagonal_of(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Tensor, KernelError> {
    let (dim1, dim2) = two_dims(cx, args.int("dim1")?, args.int("dim2")?, x.rank())?;
    let offset = cx.literal(args.int("offset")?, diagonal::C1)?;
    let (mut rows, mut columns) = (x.sizes[dim1], x.sizes[dim2]);
    let shift = cx.int(offset.saturating_abs());
    let skipped = if offset >= 0 {
        columns = cx.sub(columns, shift);
        cx.mul(shift, x.strides[dim2])
    } else {
        rows = cx.sub(rows, shift);
        cx.mul(shift, x.strides[dim1])
    };
    let shorter = cx.le(rows, columns);
    let length = match cx.known(shorter) {
        Some(true) => rows,
        Some(false) => columns,
        None => cx.min(rows, columns),
    };
    let length = cx.clamped_below(length, Expr::ZERO);
    let stride = cx.add(x.strides[dim1], x.strides[dim2]);
    let mut result = x.viewed(x.sizes.clone(), x.strides.clone());
    for list in [&mut result.sizes, &mut result.strides] {
        list.remove(dim1.max(dim2));
        list.remove(dim1.min(dim2));
    }
    result.sizes.push(length);
    result.strides.push(stride);
    if length != Expr::ZERO {
        result.offset = cx.add(x.offset, skipped);
    }
    Ok(result)
}

fn two_dims(cx: &mut Cx, dim1: Expr, dim2: Expr, rank: usize) -> Result<(usize, usize), KernelError> {
    let (dim1, dim2) = (cx.dim(dim1, rank, diagonal::C1)?, cx.dim(dim2, rank, diagonal::C1)?);
    cx.check(dim1 != dim2 && rank >= 2, diagonal::C1, |_| {
        format!("two different dimensions are expected, not {dim1} and {dim2} of {rank}")
    })?;
    Ok((dim1, dim2))
}

clauses! { diag {
    C1 "`self` has 1 or 2 dimensions."
} }

/// `aten::diag(Tensor self, int diagonal) -> Tensor`: the diagonal of a matrix, copied; of a vector the matrix with that
/// diagonal.
fn diag(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, offset) = (args.tensor("self")?, args.int("diagonal")?);
    cx.check(matches!(x.rank(), 1 | 2), diag::C1, |_| {
        format!("1 or 2 dimensions are expected, not {}", x.rank())
    })?;
    let (dim1, dim2) = (cx.int(0), cx.int(1));
    if x.rank() == 1 {
        return embedded(cx, x, offset, dim1, dim2);
    }
    let offset = cx.literal(offset, diag::C1)?;
    let shift = cx.int(offset.saturating_abs());
    let (mut rows, mut columns) = (x.size(0), x.size(1));
    let shortened = if offset >= 0 { &mut columns } else { &mut rows };
    *shortened = cx.sub(*shortened, shift);
    let length = cx.min(rows, columns);
    let length = cx.clamped_below(length, Expr::ZERO);
    one(cx.contiguous([length].as_slice(), x.dtype, &x.device))
}

/// `aten::diag_embed(Tensor self, int offset, int dim1, int dim2) -> Tensor`: the last dimension as a diagonal of square
/// matrices in two new dimensions.
fn embedded(cx: &mut Cx, x: &Tensor, offset: Expr, dim1: Expr, dim2: Expr) -> KernelResult {
    cx.check(x.rank() > 0, diagonal::C1, |_| "the tensor has no dimensions".to_string())?;
    let (dim1, dim2) = two_dims(cx, dim1, dim2, x.rank() + 1)?;
    let offset = cx.literal(offset, diagonal::C1)?;
    let shift = cx.int(offset.saturating_abs());
    let extent = cx.add(x.size(-1), shift);
    let mut sizes = x.sizes.clone();
    sizes.pop();
    sizes.insert(dim1.min(dim2), extent);
    sizes.insert(dim1.max(dim2), extent);
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { tril {
    C1 "`self` has at least 2 dimensions."
} }

/// `aten::tril(Tensor self, SymInt diagonal) -> Tensor` and `aten::triu`: matrices with zeros on one side of a diagonal.
fn triangle(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() >= 2, tril::C1, |_| format!("at least 2 dimensions are expected, not {}", x.rank()))?;
    one(cx.contiguous_copy(x))
}

clauses! { trace {
    C1 "The operand has 2 dimensions. Sizes that are given are 2, and not negative."
    C2 "There is a CPU kernel to sum elements of the dtype."
    C3 "`grad` has no dimensions."
} }

/// `aten::trace(Tensor self) -> Tensor`: the sum of the diagonal, integers being added up in `int64`.
fn trace(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.rank(x, 2, trace::C1, "the matrix")?;
    cx.require_kind(x, Domain::NUMBER.with(Domain::BOOL).on_cpu(), trace::C2)?;
    let dtype = if x.dtype.is_float() || x.dtype.is_complex() { x.dtype } else { Dtype::Int64 };
    one(cx.contiguous([].as_slice(), dtype, &x.device))
}

/// `aten::trace_backward(Tensor grad, SymInt[] sizes) -> Tensor`: the gradient on the diagonal of a matrix of zeros.
fn trace_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, sizes) = (args.tensor("grad")?, args.ints("sizes")?);
    cx.check(sizes.len() == 2, trace::C1, |_| format!("two sizes are expected, not {}", sizes.len()))?;
    for &size in sizes {
        let natural = cx.ge(size, 0);
        cx.require(natural, trace::C1, |cx| format!("the size {} is negative", cx.show(size)))?;
    }
    cx.rank(grad, 0, trace::C3, "the gradient")?;
    one(cx.contiguous(sizes, grad.dtype, &grad.device))
}

clauses! { fill_diagonal {
    C1 "`self` has at least 2 dimensions, and with more than 2 all sizes are equal."
} }

/// `aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)`: `self`.
fn fill_diagonal(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() >= 2, fill_diagonal::C1, |_| {
        format!("at least 2 dimensions are expected, not {}", x.rank())
    })?;
    if x.rank() > 2 {
        for &size in &x.sizes[1..] {
            cx.require_eq(x.size(0), size, fill_diagonal::C1, "the sizes of the dimensions differ")?;
        }
    }
    one(Tensor { wrapped: false, ..(**x).clone() })
}
