//! Products of groups of matrices, one after the other in one tensor.
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[grouped_mm::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    grouped_mm => "aten._grouped_mm.default";
};

clauses! { grouped_mm {
    C1 "`self` and `mat2` have 2 or 3 dimensions and the same dtype: `float32`, `float16` or `bfloat16`. \
        `out_dtype` is the same."
    C2 "`offs` is a vector of `int32` if an operand has 2 dimensions, and not given otherwise."
    C3 "There are as many groups in `offs` or `self` as matrices in the other operand."
    C4 "`self` has as many columns as `mat2` has rows, unless both have 2 dimensions."
    C5 "Rows or columns of each operand are dense, and begin at multiples of 16 bytes."
    C6 "`bias` is not given."
} }

/// `_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) -> Tensor`:
/// `[m, k]` and `[g, k, n]` give `[m, n]`, `[g, m, k]` and `[k, n]` give `[m, n]`, `[m, k]` and `[k, n]` give `[g, m,
/// n]`, `[g, m, k]` and `[g, k, n]` give `[g, m, n]`. Rows are padded to 16 bytes.
///
/// Offsets are an int32 vector where groups lie in a matrix, and absent where none does. There are as many offsets as
/// matrices. Rows or columns are dense and begin at multiples of 16 bytes.
fn grouped_mm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("mat2")?);
    let known = matches!(a.dtype, Dtype::Float32 | Dtype::Float16 | Dtype::Bfloat16) && a.dtype == b.dtype;
    let dtype = args.opt_dtype("out_dtype")?.unwrap_or(a.dtype);
    cx.check(known && dtype == a.dtype, grouped_mm::C1, |_| {
        format!("{} times {} in {dtype}", a.dtype, b.dtype)
    })?;
    let flat = [a, b].map(|t| t.rank() == 2);
    for operand in [a, b] {
        cx.check(matches!(operand.rank(), 2 | 3), grouped_mm::C1, |_| {
            format!("an operand has {} dimensions", operand.rank())
        })?;
    }
    if flat != [true, true] {
        let (columns, rows) = (a.sizes[a.rank() - 1], b.sizes[b.rank() - 2]);
        cx.require_eq(columns, rows, grouped_mm::C4, "columns of the first, rows of the second")?;
    }
    aligned(cx, a)?;
    aligned(cx, b)?;
    cx.check(args.opt_tensor("bias")?.is_none(), grouped_mm::C6, |_| "a bias is not supported".into())?;
    let sizes = sizes(cx, args, a, b)?;
    let strides = padded(cx, &sizes, 16 / dtype.item_size());
    one(cx.strided(sizes, strides, dtype, &a.device))
}

/// The sizes of the result, by which operands have groups.
fn sizes(cx: &mut Cx, args: &Args, a: &Tensor, b: &Tensor) -> Result<Sizes, KernelError> {
    let offsets = args.opt_tensor("offs")?;
    let needed = a.rank() == 2 || b.rank() == 2;
    cx.check(offsets.is_some() == needed, grouped_mm::C2, |_| {
        format!("offsets are {}", if needed { "needed" } else { "not needed" })
    })?;
    let (m, n) = (a.sizes[a.rank() - 2], b.sizes[b.rank() - 1]);
    let Some(offsets) = offsets else {
        cx.require_eq(a.size(0), b.size(0), grouped_mm::C3, "matrices of the first and of the second")?;
        return Ok([a.size(0), m, n].as_slice().into());
    };
    cx.check(offsets.rank() == 1 && offsets.dtype == Dtype::Int32, grouped_mm::C2, |_| {
        format!("offsets are {} with {} dimensions", offsets.dtype, offsets.rank())
    })?;
    let groups = offsets.size(0);
    Ok(match (a.rank(), b.rank()) {
        (2, 2) => [groups, m, n].as_slice().into(),
        _ => {
            let batched = if a.rank() == 3 { a } else { b };
            cx.require_eq(groups, batched.size(0), grouped_mm::C3, "offsets and matrices")?;
            [m, n].as_slice().into()
        }
    })
}

/// Requires rows or columns to begin at multiples of 16 bytes.
fn aligned(cx: &mut Cx, x: &Tensor) -> Result<(), KernelError> {
    let last = x.rank() - 1;
    let step = 16 / x.dtype.item_size();
    for (dense, other) in [(last - 1, last), (last, last - 1)] {
        let length = cx.at_least_one(x.sizes[dense]);
        let beside = [cx.eq(x.strides[dense], 1), cx.ge(x.strides[other], length)];
        let lies_so = cx.all(&beside);
        if cx.branch(lies_so, grouped_mm::C5)? {
            let rest = cx.modulo(x.strides[other], step as i32);
            let fits = cx.eq(rest, 0);
            return cx.require(fits, grouped_mm::C5, |cx| {
                format!("a stride of {} is no multiple of {step}", cx.show(x.strides[other]))
            });
        }
    }
    Err(KernelError::invalid(grouped_mm::C5, "neither rows nor columns are dense"))
}

/// Strides of rows that begin at multiples of `step` elements.
fn padded(cx: &mut Cx, sizes: &[Expr], step: u32) -> Sizes {
    let step = step as i32;
    let columns = sizes[sizes.len() - 1];
    let up = cx.add(columns, step - 1);
    let blocks = cx.floor_div(up, step);
    let row = cx.mul(blocks, step);
    match sizes {
        [_, rows, _] => [cx.mul(*rows, row), row, Expr::ONE].as_slice().into(),
        _ => [row, Expr::ONE].as_slice().into(),
    }
}
