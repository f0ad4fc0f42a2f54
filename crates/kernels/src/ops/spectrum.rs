//! Eigenvalues, determinants, ranks, pseudo-inverses and functions of matrices. `*` stands for batch dimensions.
use super::factor::first;
use super::solve::invertible;
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::matrix::{batch, with};
use crate::promote::{to_complex, to_real};
use crate::{Args, Cx, KernelError, KernelResult, Scalar, Sizes, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[eig::ALL, eigh::ALL, det::ALL, matrix_exp::ALL, matrix_power::ALL, tolerance::ALL, cond::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    eig => "aten.linalg_eig.default";
    |cx, args| first(eig(cx, args)) => "aten.linalg_eigvals.default", "aten._linalg_eigvals.default";
    eigh => "aten._linalg_eigh.default", "aten.linalg_eigh.default";
    |cx, args| first(eigh(cx, args)) => "aten.linalg_eigvalsh.default";
    det => "aten._linalg_det.default";
    |cx, args| first(det(cx, args)) => "aten.linalg_det.default", "aten.det.default";
    slogdet => "aten._linalg_slogdet.default";
    |cx, args| {
        let mut results = slogdet(cx, args)?;
        results.truncate(2);
        Ok(results)
    } => "aten.linalg_slogdet.default", "aten.slogdet.default";
    logdet => "aten.logdet.default";
    matrix_exp => "aten.linalg_matrix_exp.default", "aten.matrix_exp.default";
    matrix_exp_backward => "aten.matrix_exp_backward.default";
    matrix_power => "aten.linalg_matrix_power.default", "aten.matrix_power.default";
    matrix_rank => "aten.linalg_matrix_rank.default", "aten.linalg_matrix_rank.atol_rtol_float",
        "aten.linalg_matrix_rank.atol_rtol_tensor", "aten.linalg_matrix_rank.tol_tensor";
    pinv => "aten.linalg_pinv.default", "aten.linalg_pinv.atol_rtol_float", "aten.linalg_pinv.atol_rtol_tensor",
        "aten.linalg_pinv.rcond_tensor", "aten.pinverse.default";
    cond => "aten.linalg_cond.default", "aten.linalg_cond.p_str";
};

clauses! { eig {
    C1 "The operand is a square matrix or a batch of square matrices."
    C2 "There is a LAPACK kernel for the dtype of the operand."
} }

/// `linalg_eig(Tensor self) -> (Tensor eigenvalues, Tensor eigenvectors)`: `[*, n]` and, by columns, `[*, n, n]`, both
/// complex.
fn eig(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.square(x, eig::C1)?;
    cx.require_kind(x, Accepted::LINALG, eig::C2)?;
    let dtype = to_complex(x.dtype);
    let values = cx.contiguous(batch(&x.sizes, 1), dtype, &x.device);
    Ok(smallvec![values.into(), cx.by_columns(x.sizes.clone(), dtype, &x.device).into()])
}

clauses! { eigh {
    C1 "The operand is a square matrix or a batch of square matrices."
    C2 "There is a LAPACK kernel for the dtype of the operand."
    C3 "`UPLO` is `U` or `L`, in upper or lower case."
} }

/// `_linalg_eigh(Tensor A, str UPLO="L", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)`,
/// `linalg_eigh`: of Hermitian matrices, `[*, n]`, real, and, by columns, `[*, n, n]`; without `compute_v` no vectors.
fn eigh(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, half) = (args.tensor_at(0)?, args.str("UPLO")?);
    cx.square(x, eigh::C1)?;
    cx.require_kind(x, Accepted::LINALG, eigh::C2)?;
    cx.check(matches!(half, "U" | "u" | "L" | "l"), eigh::C3, |_| {
        format!("UPLO is to be U or L, not `{half}`")
    })?;
    let values = cx.contiguous(batch(&x.sizes, 1), to_real(x.dtype), &x.device);
    let vectors = match !args.has("compute_v") || args.flag("compute_v")? {
        true => cx.by_columns(x.sizes.clone(), x.dtype, &x.device),
        false => cx.contiguous([Expr::ZERO].as_slice(), x.dtype, &x.device),
    };
    Ok(smallvec![values.into(), vectors.into()])
}

/// The LU factors, `[*, n, n]` by columns, and pivots, `[*, n]` of `int32`, that a determinant is computed from.
fn factors(cx: &mut Cx, x: &Tensor) -> [Value; 2] {
    let lu = cx.by_columns(x.sizes.clone(), x.dtype, &x.device);
    let pivots = cx.contiguous(batch(&x.sizes, 1), Dtype::Int32, &x.device);
    [lu.into(), pivots.into()]
}

/// A number a matrix.
fn each(cx: &mut Cx, x: &Tensor, dtype: Dtype) -> Tensor {
    cx.contiguous(batch(&x.sizes, 2), dtype, &x.device)
}

clauses! { det {
    C1 "The operand is a square matrix or a batch of square matrices."
    C2 "There is a LAPACK kernel for the dtype of the operand, unless it is empty."
} }

/// `_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)`: `[*]` and the [`factors`].
fn det(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    cx.square(x, det::C1)?;
    cx.require_lapack_or_empty(x, det::C2)?;
    let [lu, pivots] = factors(cx, x);
    Ok(smallvec![each(cx, x, x.dtype).into(), lu, pivots])
}

/// `_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)`: `[*]`, real `[*]`, and the
/// [`factors`].
fn slogdet(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    cx.square(x, det::C1)?;
    cx.require_kind(x, Domain::LAPACK.by_definition(), det::C2)?;
    let [lu, pivots] = factors(cx, x);
    let (sign, magnitude) = (each(cx, x, x.dtype), each(cx, x, to_real(x.dtype)));
    Ok(smallvec![sign.into(), magnitude.into(), lu, pivots])
}

/// `logdet(Tensor self) -> Tensor`: `[*]`.
fn logdet(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.square(x, det::C1)?;
    cx.require_kind(x, Accepted::LINALG, det::C2)?;
    one(each(cx, x, x.dtype))
}

/// `linalg_matrix_exp(Tensor self) -> Tensor`: `[*, n, n]`.
fn matrix_exp(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.square(x, matrix_exp::C1)?;
    cx.require_kind(x, Domain::FLOAT_COMPLEX.by_definition(), matrix_exp::C2)?;
    one(cx.contiguous_copy(x))
}

clauses! { matrix_exp {
    C1 "The operand is a square matrix or a batch of square matrices."
    C2 "`self` has a floating point or complex dtype. `grad` broadcasts to `self`."
    C3 "`grad` has a floating point or complex dtype."
} }

/// `matrix_exp_backward(Tensor self, Tensor grad) -> Tensor`: the upper right quarter of the exponential of matrices of
/// twice the size.
fn matrix_exp_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, grad) = (args.tensor("self")?, args.tensor("grad")?);
    let n = cx.square(x, matrix_exp::C1)?;
    cx.require_expandable(&grad.sizes, &x.sizes, matrix_exp::C2)?;
    cx.require_kind(grad, Domain::FLOAT_COMPLEX.by_definition(), matrix_exp::C3)?;
    let twice = cx.mul(n, 2);
    let blocks = cx.contiguous(with(batch(&x.sizes, 2), &[twice, twice]), grad.dtype, &x.device);
    let mut quarter = blocks.viewed(x.sizes.clone(), blocks.strides.clone());
    quarter.offset = n;
    one(quarter)
}

clauses! { matrix_power {
    C1 "The operand is a square matrix or a batch of square matrices."
    C2 "There is a LAPACK kernel for the dtype if `n` is negative, and a kernel for products if `n` is \
        above 1."
} }

/// `linalg_matrix_power(Tensor self, int n) -> Tensor`: `[*, m, m]`; the inverse (`n = -1`) is laid out by columns.
fn matrix_power(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, n) = (args.tensor("self")?, args.int("n")?);
    let n = cx.literal(n, matrix_power::C2)?;
    cx.square(x, matrix_power::C1)?;
    if n < 0 {
        invertible(cx, x)?;
    }
    if n.unsigned_abs() > 1 {
        cx.products_or_empty(x.dtype, &x.sizes, matrix_power::C2)?;
    }
    match n {
        -1 => one(cx.by_columns(x.sizes.clone(), x.dtype, &x.device)),
        _ => one(cx.contiguous_copy(x)),
    }
}

clauses! { tolerance {
    C1 "The operand is a matrix or a batch of matrices."
    C2 "Tolerances have real dtypes."
    C3 "There is a LAPACK kernel for the dtype of the operand. Without elements, this matters only where a \
        relative tolerance is computed from the dtype."
    C4 "The matrices are square if `hermitian` is set, unless they are empty."
    C5 "Tolerances broadcast with the batch dimensions of the operand."
} }

/// The shape that the batch and tolerances meet in, for matrices whose singular values, or `hermitian` eigenvalues, are
/// compared with them; that of the batch for matrices without elements.
fn compared(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Sizes, KernelError> {
    cx.matrix(x, tolerance::C1)?;
    let mut tolerances = Vec::new();
    for name in ["tol", "rcond", "atol", "rtol"] {
        if args.has(name) && matches!(args.value(name)?, Value::Tensor(_)) {
            let tolerance = args.tensor(name)?;
            cx.check(!tolerance.dtype.is_complex(), tolerance::C2, |_| {
                format!("{name} is of {}", tolerance.dtype)
            })?;
            tolerances.push(tolerance);
        }
    }
    if args.has("rtol") && matches!(args.value("rtol")?, Value::None) {
        cx.require_kind(x, Accepted::LINALG, tolerance::C3)?;
    }
    let mut sizes = Sizes::from_slice(batch(&x.sizes, 2));
    let numel = cx.numel(x);
    let empty = cx.eq(numel, 0);
    let without_elements = match tolerances.iter().all(|t| t.rank() == 0) {
        true => cx.exceptionally(empty, tolerance::C5),
        false => cx.branch(empty, tolerance::C5)?,
    };
    if without_elements {
        return Ok(sizes);
    }
    cx.require_kind(x, Accepted::LINALG, tolerance::C3)?;
    if args.has("hermitian") && args.flag("hermitian")? {
        cx.square(x, tolerance::C4)?;
    }
    for tolerance in tolerances {
        sizes = cx.broadcast([sizes.as_slice(), tolerance.sizes.as_slice()], tolerance::C5)?;
    }
    Ok(sizes)
}

/// `linalg_matrix_rank.atol_rtol_tensor(Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) ->
/// Tensor` and its like: `[*]` of `int64`, tolerances broadcast; matrices without elements have rank 0 whatever the
/// tolerance.
fn matrix_rank(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    let sizes = compared(cx, args, x)?;
    one(cx.contiguous(sizes, Dtype::Int64, &x.device))
}

/// `linalg_pinv.atol_rtol_tensor(Tensor self, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor`
/// and its like, `pinverse`: `[*, n, m]` of `[*, m, n]`, tolerances broadcast.
fn pinv(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let (m, n) = cx.matrix(x, tolerance::C1)?;
    cx.require_kind(x, Domain::LAPACK.by_definition(), tolerance::C3)?;
    let sizes = compared(cx, args, x)?;
    one(cx.contiguous(with(&sizes, &[n, m]), x.dtype, &x.device))
}

clauses! { cond "linalg_cond" {
    C1 "`self` is a matrix or a batch of matrices."
    C2 "`p` is 1, 2, infinity, one of their negatives, `fro` or `nuc`."
    C3 "The matrices are square, unless `p` is 2 or -2."
    C4 "There is a LAPACK kernel for the dtype of `self`. Empty matrices need to be square only for a \
        named `p`."
} }

/// `linalg_cond(Tensor self, Scalar? p=None) -> Tensor`: `[*]`, real.
fn cond(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.matrix(x, cond::C1)?;
    let number = match args.value("p")? {
        Value::None => Some(2.0),
        Value::Str(name) => {
            cx.check(matches!(&**name, "fro" | "nuc"), cond::C2, |_| format!("there is no norm `{name}`"))?;
            cx.square(x, cond::C3)?;
            None
        }
        _ => Some(order(cx, args.scalar("p")?)?),
    };
    let magnitude = number.map_or(1.0, f64::abs);
    cx.check(magnitude == 1.0 || magnitude == 2.0 || magnitude == f64::INFINITY, cond::C2, |_| {
        format!("there is no matrix norm of order {magnitude}")
    })?;
    if !cx.is_empty(x, cond::C4) {
        if magnitude != 2.0 {
            cx.square(x, cond::C3)?;
        }
        cx.require_kind(x, Accepted::LINALG, cond::C4)?;
    }
    one(each(cx, x, to_real(x.dtype)))
}

/// The order of a norm as a number.
fn order(cx: &mut Cx, p: Scalar) -> Result<f64, KernelError> {
    match p {
        Scalar::Int(e) | Scalar::Float(e) => cx.literal_float(e, cond::C2),
        Scalar::Bool(_) | Scalar::Complex(..) => {
            Err(KernelError::invalid(cond::C2, "the order of a norm is a real number"))
        }
    }
}
