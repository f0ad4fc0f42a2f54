//! Running sums, products and extrema along a dimension.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[cumsum::ALL, cummax::ALL, logcumsumexp::ALL, cumprod::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    cumsum => "aten.cumsum.default", "aten.cumprod.default";
    cummax => "aten.cummax.default", "aten.cummin.default";
    logcumsumexp => "aten.logcumsumexp.default", "aten._logcumsumexp.default";
    cumprod_backward => "aten.cumprod_backward.default";
};

clauses! { cumsum {
    C1 "`dim` is in range."
    C2 "The dtype of the result is not `bool`, and there is a CPU kernel for it."
} }

/// `cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor`, and `cumprod`: shaped as the operand, integers
/// widened.
fn cumsum(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.dim(args.int("dim")?, x.rank(), cumsum::C1)?;
    let dtype = match args.opt_dtype("dtype")? {
        Some(dtype) => dtype,
        None if x.dtype.is_float() || x.dtype.is_complex() => x.dtype,
        None => Dtype::Int64,
    };
    cx.require_dtype(dtype, Domain::REAL.with(Domain::COMPLEX).on_cpu(), &x.device, cumsum::C2)?;
    one(cx.contiguous(x.sizes.clone(), dtype, &x.device))
}

clauses! { cummax {
    C1 "`dim` is in range."
    C2 "The dtype of `self` is ordered."
} }

/// `cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)`, and `cummin`: shaped as the operand.
fn cummax(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.dim(args.int("dim")?, x.rank(), cummax::C1)?;
    cx.require_dtype(x.dtype, Domain::REAL_BOOL.on_cpu(), &x.device, cummax::C2)?;
    let values = cx.contiguous(x.sizes.clone(), x.dtype, &x.device);
    let indices = values.with_dtype(Dtype::Int64);
    Ok(smallvec![values.into(), indices.into()])
}

clauses! { logcumsumexp {
    C1 "`dim` is in range."
    C2 "The dtype of `self` is floating point or complex."
} }

/// `logcumsumexp(Tensor self, int dim) -> Tensor`: shaped as the operand.
fn logcumsumexp(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.dim(args.int("dim")?, x.rank(), logcumsumexp::C1)?;
    cx.require_dtype(x.dtype, Domain::FLOAT_COMPLEX.on_cpu(), &x.device, logcumsumexp::C2)?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

clauses! { cumprod {
    C1 "`dim` is in range. Whether there is more than one element along it decides the result."
    C2 "The shapes of `grad`, `input` and `output` broadcast."
    C3 "The dtypes of `grad`, `input` and `output` promote to a common one."
} }

/// `cumprod_backward(Tensor grad, Tensor input, int dim, Tensor output) -> Tensor`: the operands broadcast; the gradient
/// is given back where there is at most one element in the input, or one along `dim`. Where the result is not of floats
/// or complex numbers, or the output alone is of higher ones, the values decide its dtype.
fn cumprod_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x, output) = (args.tensor("grad")?, args.tensor("input")?, args.tensor("output")?);
    let numel = cx.numel(x);
    let few = cx.le(numel, 1);
    let mut given_back = cx.branch(few, cumprod::C1)?;
    if !given_back {
        let dim = cx.dim(args.int("dim")?, x.rank(), cumprod::C1)?;
        let single = cx.eq(x.sizes[dim], 1);
        given_back = cx.branch(single, cumprod::C1)?;
    }
    if given_back {
        return one(Tensor { wrapped: false, ..(**grad).clone() });
    }
    let shapes = [grad, x, output].map(|t| t.sizes.as_slice());
    let sizes = cx.broadcast(shapes, cumprod::C2)?;
    let dtype = cx.common_dtype(&[grad, x], cumprod::C3)?;
    let all = cx.common_dtype(&[grad, x, output], cumprod::C3)?;
    if all != dtype || !(dtype.is_float() || dtype.is_complex()) {
        return Err(KernelError::Unsupported(format!("cumprod_backward in {dtype} or {all}")));
    }
    one(cx.contiguous(sizes, dtype, &x.device))
}
