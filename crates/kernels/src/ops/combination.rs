//! Cross products, covariances, linear combinations, and the gradients of products.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::{promote, to_float};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[cross::ALL, cov::ALL, linear_combination::ALL, linear_backward::ALL, matmul_backward::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| {
        let dim = args.int("dim")?;
        cross(cx, args, dim)
    } => "aten.linalg_cross.default";
    cross_of_threes => "aten.cross.default";
    cov => "aten.cov.default", "aten.corrcoef.default";
    linear_combination => "aten._compute_linear_combination.default";
    linear_backward => "aten.linear_backward.default";
    matmul_backward => "aten.matmul_backward.default";
};

clauses! { cross {
    C1 "`self` and `other` have the same rank, which is not 0."
    C2 "`dim` is in range."
    C3 "`self` and `other` have size 3 along `dim`."
    C4 "The shapes of `self` and `other` broadcast."
    C5 "`self` and `other` have the same dtype, which is not `bool`."
    C6 "If `dim` is not given, a dimension of `self` has size 3."
} }

/// `linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor`: vectors of three numbers along `dim`, the other
/// dimensions broadcasting.
fn cross(cx: &mut Cx, args: &Args, dim: Expr) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    cx.check(a.rank() == b.rank() && a.rank() > 0, cross::C1, |_| {
        format!("operands of {} and {} dimensions", a.rank(), b.rank())
    })?;
    let dim = cx.dim(dim, a.rank(), cross::C2)?;
    let three = cx.int(3);
    for x in [a, b] {
        cx.require_eq(x.sizes[dim], three, cross::C3, "vectors have another length than 3")?;
    }
    let sizes = cx.broadcast([a.sizes.as_slice(), b.sizes.as_slice()], cross::C4)?;
    cx.same_dtype(&[a, b], cross::C5)?;
    cx.require_kind(a, Domain::NUMBER.on_cpu(), cross::C5)?;
    one(cx.contiguous(sizes, a.dtype, &a.device))
}

/// `cross(Tensor self, Tensor other, int? dim=None) -> Tensor`: as [`cross`], by default along the first dimension of
/// `self` that has size 3.
fn cross_of_threes(cx: &mut Cx, args: &Args) -> KernelResult {
    if let Some(dim) = args.opt_int("dim")? {
        return cross(cx, args, dim);
    }
    let x = args.tensor("self")?;
    for (at, &size) in x.sizes.iter().enumerate() {
        let three = cx.eq(size, 3);
        if cx.branch(three, cross::C6)? {
            let dim = cx.int(at as i64);
            return cross(cx, args, dim);
        }
    }
    let shape = cx.show_all(&x.sizes);
    Err(KernelError::invalid(cross::C6, format!("no dimension of {shape} has size 3")))
}

clauses! { cov {
    C1 "`self` has at most 2 dimensions and is not of `bool`."
    C2 "`fweights` has an integer dtype, and an element for each observation. It has at most 1 dimension."
    C3 "`aweights` has a floating point dtype, and an element for each observation. It has at most 1 \
        dimension."
} }

/// `cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor`, and `corrcoef`
/// without weights: the covariances of variables, which are the rows of `self`, over observations, its columns: `[n, n]`,
/// without dimensions for one variable. Integers become `float32`.
fn cov(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() <= 2 && !x.dtype.is_bool(), cov::C1, |_| {
        format!("a matrix of numbers is expected, not {} dimensions of {}", x.rank(), x.dtype)
    })?;
    let observations = x.sizes.last().copied().unwrap_or(Expr::ONE);
    let mut dtype = to_float(x.dtype);
    for (name, clause) in [("fweights", cov::C2), ("aweights", cov::C3)] {
        let weights = if args.has(name) { args.opt_tensor(name)? } else { None };
        let Some(weights) = weights else { continue };
        let counts = weights.dtype.is_integral() && !weights.dtype.is_bool();
        let kind = if name == "fweights" { counts } else { weights.dtype.is_float() };
        cx.check(kind && weights.rank() <= 1, clause, |_| {
            format!("{name} are of {} in {} dimensions", weights.dtype, weights.rank())
        })?;
        let count = cx.numel(weights);
        cx.require_eq(count, observations, clause, "there is to be one weight an observation")?;
        if let Some(common) = promote(dtype, weights.dtype) {
            dtype = common;
        }
    }
    let variables = if x.rank() == 2 { x.size(0) } else { Expr::ONE };
    let sizes = cx.squeezed(&[variables, variables], cov::C1)?;
    one(cx.contiguous(sizes.as_slice(), dtype, &x.device))
}

clauses! { linear_combination {
    C1 "The input and the coefficients have dimensions and elements. The coefficients may have no rows; \
        the kernel does not check the dtype and size of the rows."
} }

/// `_compute_linear_combination(Tensor input, Tensor coefficients) -> Tensor`: combinations of the slices of `input`, one
/// a row of coefficients.
fn linear_combination(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, coefficients) = (args.tensor("input")?, args.tensor("coefficients")?);
    for (operand, rows) in [(x, 0), (coefficients, 1)] {
        cx.check(operand.rank() > 0, linear_combination::C1, |_| "an operand has no dimensions".into())?;
        let numel = cx.product(operand.sizes[rows..].iter().copied());
        let some = cx.ne(numel, 0);
        cx.require(some, linear_combination::C1, |_| "an operand is empty".into())?;
    }
    let mut sizes = x.sizes.clone();
    sizes[0] = coefficients.size(0);
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

clauses! { linear_backward {
    C1 "`self` and `grad_output` have dimensions."
} }

/// `linear_backward(Tensor self, Tensor grad_output, Tensor weight, bool[3] output_mask) -> (Tensor, Tensor, Tensor)`:
/// the gradients of the input, `[.., k]`, of the weight, `[p, k]`, and of the bias, `[p]`, in the dtype of `grad_output`,
/// whose last size is `p`.
fn linear_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, grad, mask) = (args.tensor("self")?, args.tensor("grad_output")?, args.flags("output_mask")?);
    cx.check(x.rank() > 0 && grad.rank() > 0, linear_backward::C1, |_| {
        format!("the input has {} dimensions and the gradient {}", x.rank(), grad.rank())
    })?;
    let (p, k) = (grad.size(-1), x.size(-1));
    let shapes: [&[Expr]; 3] = [&x.sizes, &[p, k], &[p]];
    let asked = |at: usize| mask.get(at) == Some(&true);
    let either = asked(1) || asked(2);
    let wanted = [asked(0), either, either];
    let mut gradient = |at: usize, shape: &[Expr]| match wanted.get(at) {
        Some(true) => Value::from(cx.contiguous(shape, grad.dtype, &grad.device)),
        _ => Value::None,
    };
    Ok(smallvec![gradient(0, shapes[0]), gradient(1, shapes[1]), gradient(2, shapes[2])])
}

clauses! { matmul_backward {
    C1 "The tensors are nested: there is no CPU kernel for strided ones."
} }

/// `matmul_backward(Tensor grad, Tensor self, Tensor other, bool[2] mask) -> (Tensor, Tensor)`: the gradients of the
/// operands, in their shapes.
fn matmul_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let grad: &Tensor = args.tensor("grad")?;
    cx.check(&*grad.device.kind != "cpu", matmul_backward::C1, |_| {
        "there is no kernel for dense tensors on the CPU".into()
    })?;
    Err(KernelError::Unsupported("matmul_backward of nested tensors".into()))
}
