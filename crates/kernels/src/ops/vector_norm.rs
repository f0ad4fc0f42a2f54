//! Norms of vectors and matrices.
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::reduce::Reduction;
use crate::{Args, Cx, KernelError, KernelResult, Scalar, Tensor, promote};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    linalg_vector_norm::ALL,
    dist::ALL,
    frobenius_norm::ALL,
    linalg_matrix_norm::ALL,
    linalg_norm::ALL,
    renorm::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    vector_norm => "aten.linalg_vector_norm.default";
    norm => "aten.linalg_norm.default", "aten.linalg_norm.ord_str";
    matrix_norm => "aten.linalg_matrix_norm.default", "aten.linalg_matrix_norm.str_ord";
    old_norm => "aten.norm.Scalar", "aten.norm.ScalarOpt_dim", "aten.norm.ScalarOpt_dim_dtype",
        "aten.norm.ScalarOpt_dtype";
    frobenius_norm => "aten.frobenius_norm.dim";
    nuclear_norm => "aten.nuclear_norm.default", "aten.nuclear_norm.dim";
    dist => "aten.dist.default";
    powsum => "aten.linalg__powsum.default";
    renorm => "aten.renorm.default";
};

/// The order of a norm.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Order {
    /// The `p` of a `p`-norm.
    Number(f64),
    /// The square root of the sum of squares.
    Frobenius,
    /// The sum of singular values.
    Nuclear,
}

/// The order as a number; a truth value or an integer stands for the double.
fn number(cx: &mut Cx, order: Scalar) -> Result<f64, KernelError> {
    let read = match order {
        Scalar::Int(e) => cx.pool().as_int(e).map(|v| v.to_f64()),
        Scalar::Float(e) => cx.pool().as_float(e),
        Scalar::Bool(e) => cx.pool().as_bool(e).map(f64::from),
        Scalar::Complex(..) => None,
    };
    read.ok_or_else(|| KernelError::Unsupported("a norm of symbolic or complex order".into()))
}

/// Requires that the norm is computed in a dtype of the operand's category that loses no precision.
fn check_computed_in(
    cx: &mut Cx,
    x: Dtype,
    dtype: Option<Dtype>,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let Some(dtype) = dtype else { return Ok(()) };
    let fits = (dtype.is_float() || dtype.is_complex())
        && dtype.is_complex() == x.is_complex()
        && promote::promote(x, dtype) == Some(dtype);
    cx.check(fits, clause, |_| format!("a norm of {x} is not computed in {dtype}"))
}

clauses! { linalg_vector_norm {
    C1 "The dimensions in `dim` are distinct and in range."
    C2 "`self` has a floating point or complex dtype, which `dtype` can represent."
    C3 "The reduced dimensions are not empty if the order is negative or infinite."
} }

/// The `p`-norm over a reduction.
fn reduced_norm(
    cx: &mut Cx,
    x: &Tensor,
    order: f64,
    reduction: &Reduction,
    dtype: Option<Dtype>,
) -> Result<Tensor, KernelError> {
    cx.require_dtype(x.dtype, Domain::FLOAT_COMPLEX.on_cpu(), &x.device, linalg_vector_norm::C2)?;
    check_computed_in(cx, x.dtype, dtype, linalg_vector_norm::C2)?;
    if order < 0.0 || order == f64::INFINITY {
        cx.require_reducible(x, reduction, linalg_vector_norm::C3)?;
    }
    Ok(cx.reduced(x, reduction, promote::to_real(dtype.unwrap_or(x.dtype))))
}

/// `linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) ->
/// Tensor`: the dimensions in `dim` go; of complex operands the result is real.
fn vector_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let order = number(cx, args.scalar("ord")?)?;
    let reduction = cx.reduction(args, x, linalg_vector_norm::C1)?;
    one(reduced_norm(cx, x, order, &reduction, args.opt_dtype("dtype")?)?)
}

/// `norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor` and its like: [`vector_norm`]
/// of order `p`, 2 by default.
fn old_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let order = match args.opt_scalar("p")? {
        Some(order) => number(cx, order)?,
        None => 2.0,
    };
    let dtype = if args.has("dtype") { args.opt_dtype("dtype")? } else { None };
    let reduction = cx.reduction(args, x, linalg_vector_norm::C1)?;
    one(reduced_norm(cx, x, order, &reduction, dtype)?)
}

clauses! { dist {
    C1 "`self` and `other` are broadcastable, and there is a kernel to subtract them."
} }

/// `dist(Tensor self, Tensor other, Scalar p=2) -> Tensor`: the norm of the difference, a scalar.
fn dist(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    let difference = cx.difference(a, b, dist::C1)?;
    let order = number(cx, args.scalar("p")?)?;
    let all = Reduction::all(difference.rank());
    one(reduced_norm(cx, &difference, order, &all, None)?)
}

clauses! { frobenius_norm {
    C1 "`dim` names at most 2 dimensions."
} }

/// `frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor`: the 2-norm over at most two dimensions.
fn frobenius_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, dim) = (args.tensor("self")?, args.ints("dim")?);
    cx.check(dim.len() <= 2, frobenius_norm::C1, |_| format!("{} dimensions are named, not 2", dim.len()))?;
    let reduction = cx.reduction(args, x, linalg_vector_norm::C1)?;
    one(reduced_norm(cx, x, 2.0, &reduction, None)?)
}

clauses! { linalg_matrix_norm {
    C1 "`self` has at least 2 dimensions."
    C2 "`dim` names 2 distinct dimensions."
    C3 "`ord` is 1, 2, infinity, one of their negatives, `fro` or `nuc`."
    C4 "`self` has a floating point or complex dtype, which `dtype` can represent. Norms by singular \
        values need a LAPACK kernel for it."
    C5 "The dimension that a minimum is taken over is not empty."
} }

/// A matrix norm over two dimensions.
fn matrix_norm_over(
    cx: &mut Cx,
    x: &Tensor,
    order: Order,
    dim: &[Expr],
    keepdim: bool,
    dtype: Option<Dtype>,
) -> Result<Tensor, KernelError> {
    cx.check(x.rank() >= 2, linalg_matrix_norm::C1, |_| {
        format!("a matrix is expected, not {} dimensions", x.rank())
    })?;
    cx.check(dim.len() == 2, linalg_matrix_norm::C2, |_| {
        format!("{} dimensions are named, not 2", dim.len())
    })?;
    let rows = cx.dim(dim[0], x.rank(), linalg_matrix_norm::C2)?;
    let columns = cx.dim(dim[1], x.rank(), linalg_matrix_norm::C2)?;
    cx.check(rows != columns, linalg_matrix_norm::C2, |_| format!("both dimensions are {rows}"))?;
    let magnitude = if let Order::Number(p) = order { p.abs() } else { 2.0 };
    cx.check(matches!(magnitude, 1.0 | 2.0 | f64::INFINITY), linalg_matrix_norm::C3, |_| {
        format!("there is no matrix norm of order {magnitude}")
    })?;
    let factors = order == Order::Nuclear || (magnitude == 2.0 && order != Order::Frobenius);
    let accepted = if factors { Accepted::LINALG } else { Domain::FLOAT_COMPLEX.on_cpu() };
    cx.require_dtype(x.dtype, accepted, &x.device, linalg_matrix_norm::C4)?;
    check_computed_in(cx, x.dtype, dtype, linalg_matrix_norm::C4)?;
    if let Order::Number(p) = order
        && p < 0.0
    {
        // Sums over rows, then the minimum over columns (order -1), or the other way round (-infinity).
        let filled = match p.abs() {
            1.0 => cx.ne(x.sizes[columns], 0),
            2.0 => {
                let least = cx.min(x.sizes[rows], x.sizes[columns]);
                cx.ne(least, 0)
            }
            _ => cx.ne(x.sizes[rows], 0),
        };
        cx.require(filled, linalg_matrix_norm::C5, |cx| {
            format!("the norm of order {p} of shape {} is over nothing", cx.show_all(&x.sizes))
        })?;
    }
    let dims = (0..x.rank()).map(|i| i == rows || i == columns).collect();
    let reduction = Reduction { dims, keepdim };
    Ok(cx.reduced(x, &reduction, promote::to_real(dtype.unwrap_or(x.dtype))))
}

/// The order of a matrix norm by name.
fn named_order(name: &str) -> Result<Order, KernelError> {
    match name {
        "fro" => Ok(Order::Frobenius),
        "nuc" => Ok(Order::Nuclear),
        _ => Err(KernelError::invalid(linalg_matrix_norm::C3, format!("there is no matrix norm `{name}`"))),
    }
}

/// The order of a norm that is given as number or name.
fn order(cx: &mut Cx, args: &Args) -> Result<Option<Order>, KernelError> {
    Ok(match args.value("ord")? {
        crate::Value::None => None,
        crate::Value::Str(name) => Some(named_order(name)?),
        _ => Some(Order::Number(number(cx, args.scalar("ord")?)?)),
    })
}

/// `linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) ->
/// Tensor`: see [`matrix_norm_over`].
fn matrix_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let order = order(cx, args)?.unwrap_or(Order::Frobenius);
    let (x, keepdim, dtype) = (args.tensor("self")?, args.flag("keepdim")?, args.opt_dtype("dtype")?);
    one(matrix_norm_over(cx, x, order, args.ints("dim")?, keepdim, dtype)?)
}

/// `nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) -> Tensor`: see [`matrix_norm_over`].
fn nuclear_norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, keepdim) = (args.tensor("self")?, args.flag("keepdim")?);
    let last = [cx.int(-2), cx.int(-1)];
    let dim = if args.has("dim") { args.ints("dim")? } else { &last };
    one(matrix_norm_over(cx, x, Order::Nuclear, dim, keepdim, None)?)
}

clauses! { linalg_norm {
    C1 "`dim` names 1 or 2 dimensions. If only `ord` is given, `self` has 1 or 2 dimensions."
} }

/// `linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) ->
/// Tensor`: without an order the 2-norm over `dim` or everything; else of one dimension the vector norm, of two the
/// matrix norm.
///
/// A named order goes with matrices.
fn norm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, keepdim, dtype) = (args.tensor("self")?, args.flag("keepdim")?, args.opt_dtype("dtype")?);
    let (order, dim) = (order(cx, args)?, args.opt_ints("dim")?);
    if let Some(dim) = dim {
        cx.check(matches!(dim.len(), 1 | 2), linalg_norm::C1, |_| {
            format!("one or two dimensions are to be named, not {}", dim.len())
        })?;
    } else if order.is_some() {
        cx.check(matches!(x.rank(), 1 | 2), linalg_norm::C1, |_| {
            format!("without `dim` one or two dimensions are expected, not {}", x.rank())
        })?;
    }
    let count = dim.map_or(x.rank(), <[Expr]>::len);
    let vector_order = match order {
        None => Some(2.0),
        Some(Order::Number(p)) if count == 1 => Some(p),
        _ => None,
    };
    if let Some(p) = vector_order {
        let dims = cx.dims(dim, x.rank(), true, linalg_norm::C1)?;
        return one(reduced_norm(cx, x, p, &Reduction { dims, keepdim }, dtype)?);
    }
    let (first, second) = (cx.int(0), cx.int(1));
    let both = [first, second];
    one(matrix_norm_over(cx, x, order.unwrap_or(Order::Frobenius), dim.unwrap_or(&both), keepdim, dtype)?)
}

/// `linalg__powsum(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) ->
/// Tensor`: the sum of powers that a [`vector_norm`] of a finite, positive order takes the root of; what other orders
/// give is not known.
fn powsum(cx: &mut Cx, args: &Args) -> KernelResult {
    let order = number(cx, args.scalar("ord")?)?;
    if order > 0.0 && order.is_finite() {
        let given = args.opt_dtype("dtype")?;
        let Some(dtype) = given.filter(|d| d.is_float() || d.is_complex()) else {
            return vector_norm(cx, args);
        };
        let x = args.tensor("self")?;
        let reduction = cx.reduction(args, x, linalg_vector_norm::C1)?;
        return one(cx.reduced(x, &reduction, promote::to_real(dtype)));
    }
    Err(KernelError::Unsupported(format!("a sum of powers of order {order}")))
}

clauses! { renorm {
    C1 "`self` has at least 2 dimensions, and `dim` is in range."
    C2 "`p` is real and positive, and `maxnorm` is real and not negative."
} }

/// `renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor`: slices along `dim` scaled down to a norm of at
/// most `maxnorm`.
fn renorm(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() >= 2, renorm::C1, |_| format!("2 dimensions are needed, not {}", x.rank()))?;
    let dim = cx.dim(args.int("dim")?, x.rank(), renorm::C1)?;
    let (p, most) = (number(cx, args.scalar("p")?)?, number(cx, args.scalar("maxnorm")?)?);
    cx.check(p > 0.0, renorm::C2, |_| format!("the order {p} is not positive"))?;
    cx.check(most >= 0.0, renorm::C2, |_| format!("maxnorm is {most}, which is negative"))?;
    let others = Reduction { dims: (0..x.rank()).map(|at| at != dim).collect(), keepdim: true };
    reduced_norm(cx, x, p, &others, None)?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}
