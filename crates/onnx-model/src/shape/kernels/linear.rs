//! Products of matrices.
use super::meeting::meet;
use super::{Family, products};
use crate::shape::at_load;
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::{free, op};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[MatMul::ALL, MatMulInteger::ALL, Gemm::ALL, Det::ALL];

pub(super) const KERNELS: Family = &free([
    op("Det", det).infers(at_load::rank),
    op("Gemm", gemm).multiplies(products::turned).passes().infers(at_load::rank),
    op("MatMul", matmul).multiplies(products::matrices).passes().infers(at_load::all),
    op("MatMulInteger", matmul_integer).passes().infers(at_load::rank),
]);

/// [`stacked_product`] of operands that lie as they are stacked.
pub(super) fn product(cx: &mut Cx, call: &Checked, a: &[Expr], b: &[Expr]) -> Result<Vec<Expr>, KernelError> {
    stacked_product(cx, call, a, b, is_flat(a, b))
}

clauses! { MatMul {
    C1 "Inputs `A` and `B` are not scalars."
    C2 "The inner sizes of `A` and `B` are equal."
    C3 "The batch dimensions of `A` and `B` broadcast."
    C4 "For onnxruntime, no batch dimension of size 0 broadcasts with one of size 1. If `B` is a vector, \
        the rows of `A` count as a batch dimension."
    C5 "Both operands have the same rank, at least 3. This applies to `transBatchA` and `transBatchB`."
} }

/// The shape of a product of stacks of matrices, as numpy has it: vectors are rows on the left and columns on the right.
/// The caller says whether the matrices on the left are taken as one.
pub(super) fn stacked_product(
    cx: &mut Cx,
    call: &Checked,
    a: &[Expr],
    b: &[Expr],
    flat: bool,
) -> Result<Vec<Expr>, KernelError> {
    call.check(!a.is_empty() && !b.is_empty(), MatMul::C1, || "an operand is a scalar".to_owned())?;
    let left: Vec<Expr> = if a.len() == 1 { vec![Expr::ONE, a[0]] } else { a.to_vec() };
    let right: Vec<Expr> = if b.len() == 1 { vec![b[0], Expr::ONE] } else { b.to_vec() };
    let (rows, columns) = (left[left.len() - 2], right[right.len() - 1]);
    cx.require_eq(left[left.len() - 1], right[right.len() - 2], MatMul::C2, "inner sizes")?;
    let stacks = [&left[..left.len() - 2], &right[..right.len() - 2]];
    if !flat {
        some_of_each(cx, a, b)?;
    }
    let mut shape = meet(cx, stacks, MatMul::C3)?;
    if a.len() > 1 {
        shape.push(rows);
    }
    if b.len() > 1 {
        shape.push(columns);
    }
    Ok(shape)
}

/// Whether there is one matrix on the right, so that the left ones are taken as one with more rows.
pub(super) fn is_flat(a: &[Expr], b: &[Expr]) -> bool {
    b.len() >= 2 && a.len() >= b.len() && b[..b.len() - 2].iter().all(|&size| size == Expr::ONE)
        || a.len() >= 2 && b.len() == 2
}

fn some_of_each(cx: &mut Cx, a: &[Expr], b: &[Expr]) -> Result<(), KernelError> {
    let left = if b.len() == 1 { &a[..a.len() - 1] } else { &a[..a.len().saturating_sub(2)] };
    let right = &b[..b.len().saturating_sub(2)];
    for back in 0..left.len().max(right.len()) {
        let at = |stack: &[Expr]| stack.iter().rev().nth(back).copied().unwrap_or(Expr::ONE);
        let (x, y) = (at(left), at(right));
        if x == y {
            continue;
        }
        let fine = match (x.as_inline(), y.as_inline()) {
            (Some(1..), _) => cx.gt(y, 0),
            (_, Some(1..)) => cx.gt(x, 0),
            _ => {
                let (same, some_x, some_y) = (cx.eq(x, y), cx.gt(x, 0), cx.gt(y, 0));
                let some = cx.all(&[some_x, some_y]);
                cx.any(&[same, some])
            }
        };
        cx.require(fine, MatMul::C4, |cx| {
            format!("a stack of {} does not broadcast with one of {}", cx.show(x), cx.show(y))
        })?;
    }
    Ok(())
}

fn matmul(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = product(cx, call, call.shape(0)?, call.shape(1)?)?;
    call.one(shape)
}

clauses! { MatMulInteger {
    C4 "`a_zero_point` has one element, in at most 1 dimension."
    C5 "`b_zero_point` has one element, one for each column of a matrix, or the shape of `B` with one row."
} }

fn matmul_integer(cx: &mut Cx, call: &Checked) -> Outcome {
    let (a, b) = (call.shape(0)?, call.shape(1)?);
    let shape = product(cx, call, a, b)?;
    if call.has(2) {
        one_of(cx, call, 2, MatMulInteger::C4)?;
    }
    for_columns(cx, call, 3, b, MatMulInteger::C5)?;
    call.one(shape)
}

/// Requires a scalar or a list of one.
pub(super) fn one_of(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    let shape = call.shape(at)?.to_vec();
    call.check(shape.len() <= 1, clause, || format!("input {at} is a scalar, not of rank {}", shape.len()))?;
    let count = cx.product(shape);
    cx.require_eq(count, Expr::ONE, clause, "the number of elements of a scalar")
}

/// Requires of an input, if it is given, that it goes with a matrix or a stack of matrices: it is a scalar or a list of
/// one, or with one matrix a list of an element for each column, or it has the shape of the stack with one row.
pub(super) fn for_columns(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    matrix: &[Expr],
    clause: &'static OpClause,
) -> Result<(), KernelError> {
    if !call.has(at) || call.shape(at)?.is_empty() {
        return Ok(());
    }
    let shape = call.shape(at)?.to_vec();
    if let &[count] = shape.as_slice() {
        let mut cases = vec![cx.eq(count, 1)];
        if let &[_, columns] = matrix {
            cases.push(cx.eq(count, columns));
        }
        let fine = cx.any(&cases);
        return cx.require(fine, clause, |cx| format!("input {at} has {} elements", cx.show(count)));
    }
    call.check(shape.len() == matrix.len(), clause, || format!("input {at} is of rank {}", shape.len()))?;
    let mut expected = matrix.to_vec();
    expected[matrix.len() - 2] = Expr::ONE;
    cx.require_same_shape(&shape, &expected, clause)
}

clauses! { Gemm {
    C1 "Inputs `A` and `B` have 2 dimensions."
    C2 "The inner sizes of `A` and `B` are equal."
    C3 "Input `C` broadcasts to the shape of the product."
} }

/// `alpha A' B' + beta C`.
pub(super) fn gemm(cx: &mut Cx, call: &Checked) -> Outcome {
    let shape = gemm_sizes(cx, call)?;
    call.one(shape.to_vec())
}

/// The rows and columns of [`gemm`].
pub(super) fn gemm_sizes(cx: &mut Cx, call: &Checked) -> Result<[Expr; 2], KernelError> {
    let [[rows, inner], [again, columns]] = gemm_sides(cx, call, [0, 1], Gemm::C1)?;
    cx.require_eq(inner, again, Gemm::C2, "inner sizes")?;
    if call.has(2) {
        cx.require_expandable(call.shape(2)?, &[rows, columns], Gemm::C3)?;
    }
    Ok([rows, columns])
}

/// The sizes of two matrices, as `transA` and `transB` turn them. onnxruntime takes a vector for a row where it does not
/// know the rank of the first one.
pub(super) fn gemm_sides(
    cx: &Cx,
    call: &Checked,
    inputs: [usize; 2],
    clause: &'static OpClause,
) -> Result<[[Expr; 2]; 2], KernelError> {
    let side = |at: usize, is_turned: bool| -> Result<[Expr; 2], KernelError> {
        let sizes = call.shape(at)?;
        if let &[length] = sizes
            && at == 0
            && !is_turned
            && cx.on_cpu()
            && !call.infers_rank(0)?
        {
            return Ok([Expr::ONE, length]);
        }
        call.check(sizes.len() == 2, clause, || format!("a matrix has 2 dimensions, not {}", sizes.len()))?;
        Ok(if is_turned { [sizes[1], sizes[0]] } else { [sizes[0], sizes[1]] })
    };
    Ok([side(inputs[0], call.int("transA", 0) != 0)?, side(inputs[1], call.int("transB", 0) != 0)?])
}

clauses! { Det {
    C1 "The input has at least 2 dimensions, and its last two sizes are equal."
} }

fn det(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?;
    call.check(sizes.len() >= 2, Det::C1, || format!("a matrix has 2 dimensions, not {}", sizes.len()))?;
    let (stack, matrix) = sizes.split_at(sizes.len() - 2);
    cx.require_eq(matrix[0], matrix[1], Det::C1, "rows and columns")?;
    call.one(stack.to_vec())
}
