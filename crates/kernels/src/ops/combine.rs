//! Products and powers of vectors as matrices: combinations, Cartesian products, Vandermonde matrices.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[cartesian_prod::ALL, combinations::ALL, vander::ALL, linalg_vander::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    cartesian_prod => "aten.cartesian_prod.default";
    combinations => "aten.combinations.default";
    vander => "aten.vander.default";
    linalg_vander => "aten.linalg_vander.default";
};

/// Combinations of more elements than this are not followed.
const MAX_CHOSEN: i64 = 20;

clauses! { cartesian_prod {
    C1 "There is at least one tensor."
    C2 "Each tensor has 1 dimension."
    C3 "The tensors have the same dtype."
} }

/// `aten::cartesian_prod(Tensor[] tensors) -> Tensor`: all tuples of elements, one a row; of one tensor the tensor
/// itself.
fn cartesian_prod(cx: &mut Cx, args: &Args) -> KernelResult {
    let tensors = args.tensors("tensors")?;
    let Some(first) = tensors.first() else {
        return Err(KernelError::invalid(cartesian_prod::C1, "tensors are expected"));
    };
    for tensor in &tensors {
        cx.check(tensor.rank() == 1, cartesian_prod::C2, |cx| {
            format!("1 dimension is expected, not shape {}", cx.show_all(&tensor.sizes))
        })?;
        cx.check(tensor.dtype == first.dtype, cartesian_prod::C3, |_| {
            format!("the dtypes differ: {} and {}", first.dtype, tensor.dtype)
        })?;
    }
    if tensors.len() == 1 {
        return one(Tensor::clone(first));
    }
    let rows = cx.product(tensors.iter().map(|t| t.sizes[0]));
    let columns = cx.int(tensors.len() as i64);
    one(cx.contiguous([rows, columns].as_slice(), first.dtype, &first.device))
}

clauses! { combinations {
    C1 "`self` has 1 dimension."
    C2 "`r` is not negative."
} }

/// `aten::combinations(Tensor self, int r, bool with_replacement) -> Tensor`: all combinations of `r` elements, one a
/// row: `n (n - 1) ... (n - r + 1) / r!` of them, or with replacement `n (n + 1) ... (n + r - 1) / r!`.
fn combinations(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() == 1, combinations::C1, |_| format!("1 dimension is expected, not {}", x.rank()))?;
    let chosen = cx.literal(args.int("r")?, combinations::C2)?;
    cx.check(chosen >= 0, combinations::C2, |_| format!("{chosen} elements cannot be chosen"))?;
    if chosen == 0 {
        return one(cx.contiguous([Expr::ZERO].as_slice(), x.dtype, &x.device));
    }
    if chosen > MAX_CHOSEN {
        return Err(KernelError::Unsupported(format!("combinations of more than {MAX_CHOSEN} elements")));
    }
    let direction = if args.flag("with_replacement")? { 1 } else { -1 };
    let (mut ways, mut orders) = (Expr::ONE, Expr::ONE);
    for i in 0..chosen {
        let (shift, order) = (cx.int(direction * i), cx.int(i + 1));
        let factor = cx.add(x.sizes[0], shift);
        ways = cx.mul(ways, factor);
        orders = cx.mul(orders, order);
    }
    let rows = cx.floor_div(ways, orders);
    let columns = cx.int(chosen);
    one(cx.contiguous([rows, columns].as_slice(), x.dtype, &x.device))
}

clauses! { vander {
    C1 "The operand has 1 dimension."
    C2 "The number of columns, `N`, is not negative."
} }

/// `aten::vander(Tensor x, int? N, bool increasing) -> Tensor`: powers of the elements, one element a row; `N` columns,
/// as many as elements where absent.
fn vander(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("x")?;
    cx.check(x.rank() == 1, vander::C1, |_| format!("1 dimension is expected, not {}", x.rank()))?;
    let columns = args.opt_int("N")?.unwrap_or(x.sizes[0]);
    let natural = cx.ge(columns, 0);
    cx.require(natural, vander::C2, |cx| format!("N is {}, which is negative", cx.show(columns)))?;
    let dtype = promote::promote(x.dtype, Dtype::Int64).unwrap_or(x.dtype);
    one(cx.contiguous([x.sizes[0], columns].as_slice(), dtype, &x.device))
}

clauses! { linalg_vander {
    C1 "The operand has an integer, floating point or complex dtype, not a 16-bit float."
    C2 "The number of columns, `N`, is greater than 1."
} }

/// `aten::linalg_vander(Tensor x, *, SymInt? N) -> Tensor`: powers of the elements along a new last dimension of `N`, by
/// default the last size.
fn linalg_vander(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("x")?;
    let served = Domain::REAL.with(Domain::COMPLEX).contains(x.dtype) && !Domain::HALVES.contains(x.dtype);
    cx.check(served, linalg_vander::C1, |_| format!("the operator does not compute in {}", x.dtype))?;
    let mut sizes = x.sizes.clone();
    if sizes.is_empty() {
        sizes.push(Expr::ONE);
    }
    let columns = args.opt_int("N")?.unwrap_or(sizes[sizes.len() - 1]);
    let several = cx.gt(columns, 1);
    cx.require(several, linalg_vander::C2, |cx| format!("N is {}, not above 1", cx.show(columns)))?;
    sizes.push(columns);
    let dtype = if x.dtype.is_float() || x.dtype.is_complex() { x.dtype } else { Dtype::Int64 };
    one(cx.contiguous(sizes, dtype, &x.device))
}
