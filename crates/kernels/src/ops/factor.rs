//! Matrix factorisations. `k` stands for the lesser of the rows `m` and columns `n` of a matrix, `*` for batch
//! dimensions; factors are laid out by columns unless said otherwise.
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::matrix::{batch, with};
use crate::promote::to_real;
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    cholesky::ALL,
    cholesky_inverse::ALL,
    lu::ALL,
    lu_unpack::ALL,
    ldl::ALL,
    qr::ALL,
    geqrf::ALL,
    householder::ALL,
    ormqr::ALL,
    svd::ALL,
    polar::ALL,
    matrix_sqrth::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    cholesky_ex => "aten.linalg_cholesky_ex.default";
    |cx, args| first(cholesky_ex(cx, args)) => "aten.linalg_cholesky.default";
    cholesky_inverse => "aten.cholesky_inverse.default";
    lu => "aten.linalg_lu.default";
    lu_factor => "aten.linalg_lu_factor_ex.default", "aten._lu_with_info.default";
    |cx, args| firsts(lu_factor(cx, args), 2) => "aten.linalg_lu_factor.default";
    lu_unpack => "aten.lu_unpack.default";
    ldl_factor => "aten.linalg_ldl_factor_ex.default";
    |cx, args| firsts(ldl_factor(cx, args), 2) => "aten.linalg_ldl_factor.default";
    qr => "aten.linalg_qr.default";
    geqrf => "aten.geqrf.default";
    householder_product => "aten.linalg_householder_product.default", "aten.orgqr.default";
    ormqr => "aten.ormqr.default";
    svd => "aten._linalg_svd.default", "aten.linalg_svd.default", "prims.svd.default";
    svd_transposed => "aten.svd.default";
    svdvals => "aten.linalg_svdvals.default";
    polar => "aten.linalg_polar.default";
    matrix_sqrth => "aten.linalg_matrix_sqrth.default";
};

/// The first result.
pub(super) fn first(results: KernelResult) -> KernelResult {
    firsts(results, 1)
}

/// The first results.
fn firsts(results: KernelResult, count: usize) -> KernelResult {
    let mut results = results?;
    results.truncate(count);
    Ok(results)
}

/// Error codes, one a matrix.
pub(super) fn codes(cx: &mut Cx, x: &Tensor) -> Value {
    cx.contiguous(batch(&x.sizes, 2), Dtype::Int32, &x.device).into()
}

/// A result that was not asked for.
fn absent(cx: &mut Cx, x: &Tensor) -> Tensor {
    cx.contiguous([Expr::ZERO].as_slice(), x.dtype, &x.device)
}

clauses! { cholesky {
    C1 "`self` is a square matrix or a batch of them."
    C2 "There is a LAPACK kernel for the dtype of `self`, unless it is empty."
} }

/// `linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)`: `[*, n,
/// n]`, `[*]`.
fn cholesky_ex(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.square(x, cholesky::C1)?;
    cx.require_lapack_or_empty(x, cholesky::C2)?;
    Ok(smallvec![cx.by_columns(x.sizes.clone(), x.dtype, &x.device).into(), codes(cx, x)])
}

clauses! { cholesky_inverse {
    C1 "`self` is a square matrix or a batch of them."
    C2 "There is a LAPACK kernel for the dtype of `self`, unless it is empty."
} }

/// `cholesky_inverse(Tensor self, bool upper=False) -> Tensor`: `[*, n, n]`.
fn cholesky_inverse(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.square(x, cholesky_inverse::C1)?;
    if !cx.is_empty(x, cholesky_inverse::C2) {
        cx.require_kind(x, Accepted::LINALG, cholesky_inverse::C2)?;
    }
    one(cx.by_columns(x.sizes.clone(), x.dtype, &x.device))
}

clauses! { lu {
    C1 "The operand is a matrix or a batch of matrices."
    C2 "There is a LAPACK kernel for the dtype of the operand, unless it is empty."
    C3 "`pivot` is true on the CPU."
} }

/// The conditions on `A` of LU factorisations, and its rows, columns and the lesser of them.
fn lu_operand(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<[Expr; 3], KernelError> {
    let (m, n) = cx.matrix(x, lu::C1)?;
    cx.check(args.flag("pivot")? || !cx.cpu_computes(&x.device), lu::C3, |_| {
        "there is no factorisation without pivoting on the CPU".into()
    })?;
    if !cx.is_empty(x, lu::C2) {
        cx.require_kind(x, Accepted::LINALG, lu::C2)?;
    }
    Ok([m, n, cx.lesser(m, n)])
}

/// `linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)`: `[*, m, m]`, `[*, m, k]`, `[*, k, n]`,
/// laid out by rows; without pivoting `P` is empty.
fn lu(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("A")?;
    let [m, n, k] = lu_operand(cx, args, x)?;
    let mut rows = |further: [Expr; 2]| -> Value {
        cx.contiguous(with(batch(&x.sizes, 2), &further), x.dtype, &x.device).into()
    };
    let (p, l, u) = (rows([m, m]), rows([m, k]), rows([k, n]));
    let p = if args.flag("pivot")? { p } else { absent(cx, x).into() };
    Ok(smallvec![p, l, u])
}

/// `linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) -> (Tensor LU, Tensor pivots, Tensor
/// info)`, `_lu_with_info`: `[*, m, n]`, `[*, k]`, `[*]`, the last two of `int32`.
fn lu_factor(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    let [_, _, k] = lu_operand(cx, args, x)?;
    let pivots = cx.contiguous(with(batch(&x.sizes, 2), &[k]), Dtype::Int32, &x.device);
    Ok(smallvec![cx.by_columns(x.sizes.clone(), x.dtype, &x.device).into(), pivots.into(), codes(cx, x)])
}

clauses! { lu_unpack {
    C1 "`LU_data` is a matrix or a batch of matrices."
    C2 "`LU_pivots` is of `int32`, with as many pivots as rows or columns. It is not checked if pivots are \
        not unpacked."
} }

/// `lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True) -> (Tensor P, Tensor L,
/// Tensor U)`: as [`lu`]; what is not unpacked is empty.
fn lu_unpack(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, pivots) = (args.tensor("LU_data")?, args.tensor("LU_pivots")?);
    let (m, n) = cx.matrix(x, lu_unpack::C1)?;
    let k = cx.lesser(m, n);
    let (data, permutation) = (args.flag("unpack_data")?, args.flag("unpack_pivots")?);
    if permutation {
        cx.check(pivots.dtype == Dtype::Int32, lu_unpack::C2, |_| {
            format!("pivots are of int32, not {}", pivots.dtype)
        })?;
        cx.require_same_shape(&pivots.sizes, &with(batch(&x.sizes, 2), &[k]), lu_unpack::C2)?;
    }
    let mut part = |wanted: bool, further: [Expr; 2]| -> Value {
        if !wanted {
            return absent(cx, x).into();
        }
        cx.contiguous(with(batch(&x.sizes, 2), &further), x.dtype, &x.device).into()
    };
    Ok(smallvec![part(permutation, [m, m]), part(data, [m, k]), part(data, [k, n])])
}

clauses! { ldl {
    C1 "`self` is a square matrix or a batch of them."
    C2 "There is a LAPACK kernel for the dtype of `self`, unless it is empty."
} }

/// `linalg_ldl_factor_ex(Tensor self, *, bool hermitian=False, bool check_errors=False) -> (Tensor LD, Tensor pivots,
/// Tensor info)`: `[*, n, n]`, `[*, n]`, `[*]`, the last two of `int32`.
fn ldl_factor(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.square(x, ldl::C1)?;
    cx.require_lapack_or_empty(x, ldl::C2)?;
    let pivots = cx.contiguous(batch(&x.sizes, 1), Dtype::Int32, &x.device);
    Ok(smallvec![cx.by_columns(x.sizes.clone(), x.dtype, &x.device).into(), pivots.into(), codes(cx, x)])
}

clauses! { qr {
    C1 "The operand `A` is a matrix or a batch of matrices."
    C2 "There is a LAPACK kernel for the dtype of `A`."
    C3 "`mode` is `reduced`, `complete` or `r`."
} }

/// `linalg_qr(Tensor A, str mode="reduced") -> (Tensor Q, Tensor R)`: `[*, m, k]`, `[*, k, n]`; in mode `complete` `[*,
/// m, m]`, `[*, m, n]`; in mode `r` no `Q`.
fn qr(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, mode) = (args.tensor("A")?, args.str("mode")?);
    let (m, n) = cx.matrix(x, qr::C1)?;
    cx.require_kind(x, Accepted::LINALG, qr::C2)?;
    cx.check(matches!(mode, "reduced" | "complete" | "r"), qr::C3, |_| {
        format!("there is no mode `{mode}`: it is to be reduced, complete or r")
    })?;
    let k = if mode == "complete" { m } else { cx.lesser(m, n) };
    let q = match mode {
        "r" => absent(cx, x),
        _ => cx.by_columns(with(batch(&x.sizes, 2), &[m, k]), x.dtype, &x.device),
    };
    let r = cx.by_columns(with(batch(&x.sizes, 2), &[k, n]), x.dtype, &x.device);
    Ok(smallvec![q.into(), r.into()])
}

clauses! { geqrf {
    C1 "`self` is a matrix or a batch of matrices."
    C2 "There is a LAPACK kernel for the dtype of `self`."
} }

/// `geqrf(Tensor self) -> (Tensor a, Tensor tau)`: `[*, m, n]`, `[*, k]`.
fn geqrf(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let (m, n) = cx.matrix(x, geqrf::C1)?;
    cx.require_kind(x, Accepted::LINALG, geqrf::C2)?;
    let k = cx.lesser(m, n);
    let tau = cx.contiguous(with(batch(&x.sizes, 2), &[k]), x.dtype, &x.device);
    Ok(smallvec![cx.by_columns(x.sizes.clone(), x.dtype, &x.device).into(), tau.into()])
}

/// Requires `tau`, the scalars of reflectors, to have one dimension less than the matrices and the same batch.
fn require_reflectors(
    cx: &mut Cx,
    x: &Tensor,
    tau: &Tensor,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    cx.check(tau.rank() + 1 == x.rank(), clause, |_| {
        format!("tau has {} dimensions, {} are expected", tau.rank(), x.rank() - 1)
    })?;
    cx.require_same_shape(batch(&tau.sizes, 1), batch(&x.sizes, 2), clause)
}

clauses! { householder {
    C1 "The matrices have at least as many rows as columns, and columns as reflectors. They have at least \
        2 dimensions."
    C2 "`tau` has one dimension less than the matrices, and the same batch."
    C3 "The matrices and `tau` have the same dtype."
    C4 "There is a LAPACK kernel for the dtype of the matrices, unless they are empty."
} }

/// `linalg_householder_product(Tensor input, Tensor tau) -> Tensor`, `orgqr`: `[*, m, n]` of `[*, m, n]` and `[*, t]`.
fn householder_product(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, tau) = (args.tensor_at(0)?, args.tensor_at(1)?);
    let (m, n) = cx.matrix(x, householder::C1)?;
    cx.check(tau.rank() > 0, householder::C2, |_| "tau has no dimensions".into())?;
    for (more, fewer) in [(m, n), (n, tau.size(-1))] {
        let enough = cx.ge(more, fewer);
        cx.require(enough, householder::C1, |cx| {
            format!("{} is to be at least {}: rows >= columns >= reflectors", cx.show(more), cx.show(fewer))
        })?;
    }
    require_reflectors(cx, x, tau, householder::C2)?;
    cx.same_dtype(&[x, tau], householder::C3)?;
    if !cx.is_empty(x, householder::C4) {
        cx.require_kind(x, Accepted::LINALG, householder::C4)?;
    }
    one(cx.by_columns(x.sizes.clone(), x.dtype, &x.device))
}

clauses! { ormqr {
    C1 "`self` and `input3` are matrices or batches of them. `input2` has at least 1 dimension."
    C2 "`self` has as many rows as the multiplied side of `input3`, and `input2` has an element for each \
        reflector."
    C3 "`self`, `input2` and `input3` have the same batch dimensions."
    C4 "`self`, `input2` and `input3` have the same dtype."
    C5 "There is a LAPACK kernel for the dtype of `self`."
} }

/// `ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False) -> Tensor`: the shape of the
/// matrices `input3` that are multiplied, from the `left` or else from the right, by what reflectors `self` and their
/// scalars `input2` stand for.
fn ormqr(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, tau, other) = (args.tensor("self")?, args.tensor("input2")?, args.tensor("input3")?);
    let (rows, columns) = cx.matrix(x, ormqr::C1)?;
    let (m, n) = cx.matrix(other, ormqr::C1)?;
    cx.check(tau.rank() > 0, ormqr::C1, |_| "tau has no dimensions".into())?;
    let side = if args.flag("left")? { m } else { n };
    cx.require_eq(side, rows, ormqr::C2, "the sizes that are multiplied differ")?;
    let count = cx.lesser(side, columns);
    cx.require_eq(tau.size(-1), count, ormqr::C2, "tau has another number of reflectors")?;
    require_reflectors(cx, x, tau, ormqr::C3)?;
    cx.check(other.rank() == x.rank(), ormqr::C3, |_| {
        format!("matrices of {} and {} dimensions", x.rank(), other.rank())
    })?;
    cx.require_same_shape(batch(&other.sizes, 2), batch(&x.sizes, 2), ormqr::C3)?;
    cx.same_dtype(&[x, tau, other], ormqr::C4)?;
    cx.require_kind(x, Accepted::LINALG, ormqr::C5)?;
    one(cx.by_columns(other.sizes.clone(), other.dtype, &other.device))
}

clauses! { svd {
    C1 "The operand is a matrix or a batch of matrices."
    C2 "There is a LAPACK kernel for the dtype of the operand, unless it is empty."
    C3 "`driver` is not given on the CPU."
} }

/// The factors of a singular value decomposition: `U: [*, m, k]`, `S: [*, k]`, `Vh: [*, k, n]`; full ones `[*, m, m]` and
/// `[*, n, n]`. The singular values are real.
fn svd_factors(cx: &mut Cx, x: &Tensor, full: bool) -> Result<[Tensor; 3], KernelError> {
    let (m, n) = cx.matrix(x, svd::C1)?;
    cx.require_lapack_or_empty(x, svd::C2)?;
    let k = cx.lesser(m, n);
    let (left, right) = if full { (m, n) } else { (k, k) };
    let leading = batch(&x.sizes, 2);
    let u = cx.by_columns(with(leading, &[m, left]), x.dtype, &x.device);
    let s = cx.contiguous(with(leading, &[k]), to_real(x.dtype), &x.device);
    let vh = cx.by_columns(with(leading, &[right, n]), x.dtype, &x.device);
    Ok([u, s, vh])
}

fn require_no_driver(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<(), KernelError> {
    let driver = if args.has("driver") { args.opt_str("driver")? } else { None };
    cx.check(driver.is_none() || !cx.cpu_computes(&x.device), svd::C3, |_| {
        "there is no choice of a driver on the CPU".into()
    })
}

/// `_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> (Tensor U, Tensor S,
/// Tensor Vh)`, `linalg_svd`: see [`svd_factors`]; without `compute_uv` only `S`.
fn svd(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("A")?;
    let [u, s, vh] = svd_factors(cx, x, args.flag("full_matrices")?)?;
    require_no_driver(cx, args, x)?;
    if args.has("compute_uv") && !args.flag("compute_uv")? {
        let none = absent(cx, x);
        return Ok(smallvec![none.clone().into(), s.into(), none.into()]);
    }
    Ok(smallvec![u.into(), s.into(), vh.into()])
}

/// `svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)`: `V: [*, n, k]` is
/// transposed; without `compute_uv` full matrices of zeros.
fn svd_transposed(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let computed = args.flag("compute_uv")?;
    let [u, s, vh] = svd_factors(cx, x, !computed || !args.flag("some")?)?;
    let mut sizes = vh.sizes.clone();
    let at = sizes.len() - 2;
    sizes.swap(at, at + 1);
    let (u, v) = match computed {
        true => (u, cx.contiguous(sizes, x.dtype, &x.device)),
        false => (cx.contiguous(u.sizes, x.dtype, &x.device), cx.by_columns(sizes, x.dtype, &x.device)),
    };
    Ok(smallvec![u.into(), s.into(), v.into()])
}

/// `linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor`: `[*, k]`, real.
fn svdvals(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("A")?;
    let [_, s, _] = svd_factors(cx, x, false)?;
    require_no_driver(cx, args, x)?;
    one(s)
}

clauses! { polar {
    C1 "The operand `A` has at least as many rows as columns. It is a matrix or a batch of matrices."
    C2 "There is a LAPACK kernel for the dtype of `A`."
} }

/// `linalg_polar(Tensor A) -> (Tensor U, Tensor H)`: `[*, m, n]`, `[*, n, n]`, laid out by rows.
fn polar(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("A")?;
    let (m, n) = cx.matrix(x, polar::C1)?;
    let tall = cx.ge(m, n);
    cx.require(tall, polar::C1, |cx| format!("{} rows are fewer than {} columns", cx.show(m), cx.show(n)))?;
    cx.require_kind(x, Accepted::LINALG, polar::C2)?;
    let h = cx.contiguous(with(batch(&x.sizes, 2), &[n, n]), x.dtype, &x.device);
    Ok(smallvec![cx.contiguous_copy(x).into(), h.into()])
}

clauses! { matrix_sqrth {
    C1 "`self` is a square matrix or a batch of them."
    C2 "There is a LAPACK kernel for the dtype of `self`."
} }

/// `linalg_matrix_sqrth(Tensor self) -> Tensor`: the square root of Hermitian matrices, `[*, n, n]`, laid out by rows.
fn matrix_sqrth(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.square(x, matrix_sqrth::C1)?;
    cx.require_kind(x, Domain::LAPACK.by_definition(), matrix_sqrth::C2)?;
    one(cx.contiguous_copy(x))
}
