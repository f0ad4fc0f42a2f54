//! Systems of linear equations and inverses. Solutions are laid out by columns unless said otherwise; `*` stands for
//! batch dimensions.
use super::factor::{codes, first};
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::matrix::{batch, with};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    solve::ALL,
    solve_triangular::ALL,
    triangular_solve::ALL,
    cholesky_solve::ALL,
    lu_solve::ALL,
    ldl_solve::ALL,
    inv::ALL,
    tensorinv::ALL,
    tensorsolve::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    solve => "aten._linalg_solve_ex.default";
    |cx, args| {
        let mut results = solve(cx, args)?;
        results.drain(1..3);
        Ok(results)
    } => "aten.linalg_solve_ex.default";
    |cx, args| first(solve(cx, args)) => "aten.linalg_solve.default";
    solve_triangular => "aten.linalg_solve_triangular.default";
    triangular_solve => "aten.triangular_solve.default";
    cholesky_solve => "aten.cholesky_solve.default";
    cholesky_solve_helper => "aten._cholesky_solve_helper.default";
    |cx, args| lu_solve(cx, args, ["LU", "pivots", "B"], args.flag("left")?) => "aten.linalg_lu_solve.default";
    |cx, args| lu_solve(cx, args, ["LU_data", "LU_pivots", "self"], true) => "aten.lu_solve.default";
    ldl_solve => "aten.linalg_ldl_solve.default";
    inv_ex => "aten.linalg_inv_ex.default";
    |cx, args| first(inv_ex(cx, args)) => "aten.linalg_inv.default", "aten.inverse.default";
    tensorinv => "aten.linalg_tensorinv.default";
    tensorsolve => "aten.linalg_tensorsolve.default";
};

clauses! { solve {
    C1 "The matrix `A` has a floating point or complex dtype."
    C2 "The matrices `A` and `B` have the same dtype."
    C3 "The operand `A` is a square matrix or a batch of square matrices."
    C4 "The right-hand side `B` is a vector, a batch of vectors, or a batch of matrices that fit `A`. \
        Batches broadcast. Vectors need `left`, and a batch of them has the shape of `A` without the last \
        dimension."
    C6 "There is a LAPACK kernel for the dtype of `A`, unless `A` is empty."
} }

/// The conditions and the shape of the solution of `AX = B` (of `XA = B`, if not `left`).
fn solve_sizes(cx: &mut Cx, a: &Tensor, b: &Tensor, left: bool) -> Result<Sizes, KernelError> {
    cx.require_kind(a, Domain::FLOAT_COMPLEX.by_definition(), solve::C1)?;
    cx.same_dtype(&[a, b], solve::C2)?;
    cx.square(a, solve::C3)?;
    if !cx.is_empty(a, solve::C6) {
        cx.require_kind(a, Accepted::LINALG, solve::C6)?;
    }
    if !are_vectors(cx, a, b)? {
        return cx.solution_sizes(a, &b.sizes, left, solve::C4);
    }
    cx.check(left, solve::C4, |_| "vectors stand only on the right-hand side of AX = B".into())?;
    let columns = with(&b.sizes, &[Expr::ONE]);
    let mut sizes = cx.solution_sizes(a, &columns, left, solve::C4)?;
    sizes.pop();
    Ok(sizes)
}

/// Whether `B` is taken as one vector a matrix of `A` rather than as matrices: it has a single dimension, or the shape of
/// `A` but for the last dimension.
fn are_vectors(cx: &mut Cx, a: &Tensor, b: &Tensor) -> Result<bool, KernelError> {
    if b.rank() == 1 || b.rank() + 1 != a.rank() {
        return Ok(b.rank() == 1);
    }
    let alike: Vec<Expr> = b.sizes.iter().zip(&a.sizes).map(|(&x, &y)| cx.eq(x, y)).collect();
    let alike = cx.all(&alike);
    cx.branch(alike, solve::C4)
}

/// `_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) -> (Tensor result, Tensor LU, Tensor
/// pivots, Tensor info)`: the shape of `B`, batches broadcast; `[*, n, n]`; `[*, n]` and `[*]` of `int32`. If not `left`,
/// the result is laid out by rows.
fn solve(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b, left) = (args.tensor("A")?, args.tensor("B")?, args.flag("left")?);
    let sizes = solve_sizes(cx, a, b, left)?;
    let result = match left {
        true => cx.by_columns(sizes, a.dtype, &a.device),
        false => cx.contiguous(sizes, a.dtype, &a.device),
    };
    let lu = cx.by_columns(a.sizes.clone(), a.dtype, &a.device);
    let pivots = cx.contiguous(batch(&a.sizes, 1), Dtype::Int32, &a.device);
    Ok(smallvec![result.into(), lu.into(), pivots.into(), codes(cx, a)])
}

clauses! { solve_triangular {
    C1 "The matrix `self` is square, and `B` has a matching size. Batches broadcast."
    C2 "There is a LAPACK kernel for the dtype of `self`."
} }

/// `linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, bool unitriangular=False) -> Tensor`:
/// the shape of `B`, batches broadcast, in the dtype of `self`.
fn solve_triangular(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("B")?);
    let sizes = cx.solution_sizes(a, &b.sizes, args.flag("left")?, solve_triangular::C1)?;
    cx.require_kind(a, Accepted::LINALG, solve_triangular::C2)?;
    one(cx.by_columns(sizes, a.dtype, &a.device))
}

clauses! { triangular_solve {
    C1 "The matrix `A` is square, and `self` has as many rows. Batches broadcast."
    C2 "`self` and `A` have the same dtype."
    C3 "There is a LAPACK kernel for the dtype of `A`."
} }

/// `triangular_solve(Tensor self, Tensor A, bool upper=True, …) -> (Tensor solution, Tensor cloned_coefficient)`: the
/// right-hand side `self` and `A`, batches broadcast.
fn triangular_solve(cx: &mut Cx, args: &Args) -> KernelResult {
    let (b, a) = (args.tensor("self")?, args.tensor("A")?);
    let sizes = cx.solution_sizes(a, &b.sizes, true, triangular_solve::C1)?;
    cx.same_dtype(&[b, a], triangular_solve::C2)?;
    cx.require_kind(a, Accepted::LINALG, triangular_solve::C3)?;
    let coefficients = with(batch(&sizes, 2), &a.sizes[a.rank() - 2..]);
    let solution = cx.by_columns(sizes, a.dtype, &a.device);
    Ok(smallvec![solution.into(), cx.by_columns(coefficients, a.dtype, &a.device).into()])
}

clauses! { cholesky_solve {
    C1 "The factor is a square matrix, and `self` has as many rows. Batches broadcast."
    C2 "`self` and the factor have the same dtype."
    C3 "There is a LAPACK kernel for the dtype of `self`."
} }

/// `cholesky_solve(Tensor self, Tensor input2, bool upper=False) -> Tensor`: the right-hand side `self`, its batch
/// broadcast with that of the factors.
fn cholesky_solve(cx: &mut Cx, args: &Args) -> KernelResult {
    let (b, a) = (args.tensor("self")?, args.tensor("input2")?);
    let sizes = cx.solution_sizes(a, &b.sizes, true, cholesky_solve::C1)?;
    cx.same_dtype(&[b, a], cholesky_solve::C2)?;
    cx.require_kind(a, Accepted::LINALG, cholesky_solve::C3)?;
    one(cx.by_columns(sizes, b.dtype, &b.device))
}

/// `_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor`: `cholesky_solve` after its shapes were checked.
fn cholesky_solve_helper(cx: &mut Cx, args: &Args) -> KernelResult {
    let (b, a) = (args.tensor("self")?, args.tensor("A")?);
    cx.matrix(b, cholesky_solve::C1)?;
    cx.matrix(a, cholesky_solve::C1)?;
    cx.same_dtype(&[b, a], cholesky_solve::C2)?;
    cx.require_kind(b, Accepted::LINALG, cholesky_solve::C3)?;
    one(cx.by_columns(b.sizes.clone(), b.dtype, &b.device))
}

clauses! { lu_solve {
    C1 "There is a LAPACK kernel for the dtype of the factorization, unless it is empty."
    C2 "The factorization and the right-hand side have the same dtype. The pivots are of `int32`."
    C3 "The factorization is a square matrix, and the right-hand side fits it. Batches broadcast."
    C4 "The pivots have one element for each row of each matrix."
} }

/// `linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False) -> Tensor`, `lu_solve`:
/// the shape of `B`, batches broadcast; by rows, if not `left`.
fn lu_solve(cx: &mut Cx, args: &Args, names: [&str; 3], left: bool) -> KernelResult {
    let [lu, pivots, b] = [args.tensor(names[0])?, args.tensor(names[1])?, args.tensor(names[2])?];
    cx.require_lapack_or_empty(lu, lu_solve::C1)?;
    cx.same_dtype(&[lu, b], lu_solve::C2)?;
    cx.check(pivots.dtype == Dtype::Int32, lu_solve::C2, |_| {
        format!("pivots are of int32, not {}", pivots.dtype)
    })?;
    let sizes = cx.solution_sizes(lu, &b.sizes, left, lu_solve::C3)?;
    cx.require_same_shape(&pivots.sizes, batch(&lu.sizes, 1), lu_solve::C4)?;
    one(match left {
        true => cx.by_columns(sizes, b.dtype, &b.device),
        false => cx.contiguous(sizes, b.dtype, &b.device),
    })
}

clauses! { ldl_solve {
    C1 "The matrix `LD` is square, and `B` has as many rows. Batches broadcast."
    C2 "`pivots` has an integer dtype, and one element for each row of each matrix."
    C3 "`LD` and `B` have the same dtype."
    C4 "There is a LAPACK kernel for the dtype of `LD`, unless it is empty."
} }

/// `linalg_ldl_solve(Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False) -> Tensor`: the shape of `B`, batches
/// broadcast.
fn ldl_solve(cx: &mut Cx, args: &Args) -> KernelResult {
    let (ld, pivots, b) = (args.tensor("LD")?, args.tensor("pivots")?, args.tensor("B")?);
    let sizes = cx.solution_sizes(ld, &b.sizes, true, ldl_solve::C1)?;
    cx.check(pivots.dtype.is_integral() && !pivots.dtype.is_bool(), ldl_solve::C2, |_| {
        format!("pivots are integers, not {}", pivots.dtype)
    })?;
    cx.require_same_shape(&pivots.sizes, batch(&ld.sizes, 1), ldl_solve::C2)?;
    cx.same_dtype(&[ld, b], ldl_solve::C3)?;
    cx.require_lapack_or_empty(ld, ldl_solve::C4)?;
    one(cx.by_columns(sizes, b.dtype, &b.device))
}

clauses! { inv {
    C1 "The operand is a square matrix or a batch of square matrices."
    C2 "There is a LAPACK kernel for the dtype of the operand."
} }

/// The conditions on a matrix that is inverted.
pub(super) fn invertible(cx: &mut Cx, x: &Tensor) -> Result<(), KernelError> {
    cx.square(x, inv::C1)?;
    cx.require_kind(x, Domain::LAPACK.by_definition(), inv::C2)
}

/// `linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)`: `[*, n, n]`, `[*]` of `int32`.
fn inv_ex(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor_at(0)?;
    invertible(cx, x)?;
    Ok(smallvec![cx.by_columns(x.sizes.clone(), x.dtype, &x.device).into(), codes(cx, x)])
}

clauses! { tensorinv {
    C1 "`ind` is from 1 to the number of dimensions of `self`."
    C2 "The first `ind` dimensions of `self` have as many elements as the others."
    C3 "There is a LAPACK kernel for the dtype of `self`."
} }

/// `linalg_tensorinv(Tensor self, int ind=2) -> Tensor`: the dimensions from `ind` on, then those before it.
fn tensorinv(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, at) = (args.tensor("self")?, args.int("ind")?);
    let at = cx.literal(at, tensorinv::C1)?;
    cx.check(at > 0 && at <= x.rank() as i64, tensorinv::C1, |_| {
        format!("ind is to be from 1 to {}, not {at}", x.rank())
    })?;
    let (front, back) = x.sizes.split_at(at as usize);
    let (rows, columns) = (cx.product(front.iter().copied()), cx.product(back.iter().copied()));
    cx.require_eq(
        rows,
        columns,
        tensorinv::C2,
        "the dimensions before and from `ind` on differ in elements",
    )?;
    cx.require_kind(x, Domain::LAPACK.by_definition(), tensorinv::C3)?;
    let inverse = cx.by_columns([rows, columns].as_slice(), x.dtype, &x.device);
    one(cx.reshaped(&inverse, with(back, front)))
}

clauses! { tensorsolve {
    C1 "`dims` are distinct dimensions of `self`, and `self` has no fewer dimensions than `other`."
    C2 "The result has as many elements as `other`."
    C3 "The number of elements of `self` is the square of that of the result."
    C4 "`self` and `other` have the same dtype."
    C5 "There is a LAPACK kernel for the dtype of `self`."
} }

/// `linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor`: the dimensions of `self` after those of
/// `other`, once `dims` are moved to the end.
fn tensorsolve(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    let mut moved = Vec::new();
    for &dim in args.opt_ints("dims")?.unwrap_or_default() {
        let dim = cx.dim(dim, a.rank(), tensorsolve::C1)?;
        cx.check(!moved.contains(&dim) && dim < a.rank(), tensorsolve::C1, |_| {
            format!("dimension {dim} does not exist or is named twice")
        })?;
        moved.push(dim);
    }
    let order = (0..a.rank()).filter(|dim| !moved.contains(dim)).chain(moved.iter().copied());
    let sizes: Sizes = order.map(|dim| a.sizes[dim]).collect();
    cx.check(sizes.len() >= b.rank(), tensorsolve::C1, |_| {
        format!("{} dimensions are fewer than the {} of the right-hand side", sizes.len(), b.rank())
    })?;
    let result = &sizes[b.rank()..];
    let (unknowns, equations) = (cx.product(result.iter().copied()), cx.numel(b));
    cx.require_eq(unknowns, equations, tensorsolve::C2, "there are not as many unknowns as equations")?;
    let (numel, square) = (cx.numel(a), cx.mul(unknowns, unknowns));
    cx.require_eq(numel, square, tensorsolve::C3, "the coefficients form no square matrix")?;
    cx.same_dtype(&[a, b], tensorsolve::C4)?;
    cx.require_kind(a, Accepted::LINALG, tensorsolve::C5)?;
    one(cx.contiguous(result, a.dtype, &a.device))
}
