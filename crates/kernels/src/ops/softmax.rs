//! Softmax, its logarithm, and their gradients.
use crate::domain::Domain;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelResult};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    softmax::ALL,
    softmax_backward::ALL,
    log_softmax_backward::ALL,
    masked_softmax::ALL,
    masked_softmax_backward::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    softmax => "aten.softmax.int", "aten.log_softmax.int", "aten.special_softmax.default",
        "aten.special_log_softmax.default", "aten._safe_softmax.default";
    inner_softmax => "aten._softmax.default", "aten._log_softmax.default";
    softmax_backward => "aten._softmax_backward_data.default";
    log_softmax_backward => "aten._log_softmax_backward_data.default";
    masked_softmax => "aten._masked_softmax.default";
    masked_softmax_backward => "aten._masked_softmax_backward.default";
};

/// `softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor`, and `log_softmax`: shaped as the operand,
/// contiguous.
fn softmax(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(x.dtype);
    cx.dim(args.int("dim")?, x.rank(), softmax::C1)?;
    cx.require_kind_where_filled(&x.with_dtype(dtype), Domain::FLOAT.on_cpu(), &x.sizes, softmax::C2)?;
    one(cx.contiguous(x.sizes.clone(), dtype, &x.device))
}

clauses! { softmax {
    C1 "`dim` is in range."
    C2 "`dtype`, or else the dtype of `self`, is floating point, unless `self` is empty."
    C3 "`half_to_float` is not set on the CPU. On other devices, it needs a `self` of `float16`."
} }

/// `_softmax(Tensor self, int dim, bool half_to_float) -> Tensor`, and `_log_softmax`: shaped as the operand, contiguous.
///
/// The dtype is of real floating point, unless there are no elements.
fn inner_softmax(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.dim(args.int("dim")?, x.rank(), softmax::C1)?;
    cx.require_kind_where_filled(x, Domain::FLOAT.on_cpu(), &x.sizes, softmax::C2)?;
    let converts = args.flag("half_to_float")?;
    let dtype = if converts { Dtype::Float32 } else { x.dtype };
    cx.check(!converts || cx.softmax_converts(x.dtype, dtype), softmax::C3, |cx| {
        let place = if cx.on_cpu() { " on the CPU" } else { "" };
        format!("half_to_float is set for a {} operand{place}", x.dtype)
    })?;
    one(cx.contiguous(x.sizes.clone(), dtype, &x.device))
}

clauses! { softmax_backward {
    C1 "`dim` is in range."
    C2 "`grad_output` and `output` have the same shape."
    C3 "`grad_output` and `output` are of `input_dtype`, which is floating point. Other devices than the \
        CPU accept `float32` with an input of `float16`."
} }

/// `_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor`: shaped as
/// both.
fn softmax_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, output) = (args.tensor("grad_output")?, args.tensor("output")?);
    cx.dim(args.int("dim")?, grad.rank(), softmax_backward::C1)?;
    cx.require_same_shape(&grad.sizes, &output.sizes, softmax_backward::C2)?;
    cx.require_dtype(grad.dtype, Domain::FLOAT.on_cpu(), &grad.device, softmax_backward::C3)?;
    let input = args.opt_dtype("input_dtype")?.unwrap_or(grad.dtype);
    let fits = grad.dtype == input || cx.softmax_converts(input, grad.dtype);
    cx.check(grad.dtype == output.dtype && fits, softmax_backward::C3, |_| {
        format!("the dtypes differ: {}, {} and {input}", grad.dtype, output.dtype)
    })?;
    one(cx.contiguous(grad.sizes.clone(), input, &grad.device))
}

clauses! { log_softmax_backward {
    C1 "`dim` is in range."
    C2 "`grad_output` and `output` have one floating point dtype, if they have elements."
} }

/// `_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor`: shaped as
/// `grad_output`. The CPU kernel does not look at the shape of `output`.
fn log_softmax_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, output) = (args.tensor("grad_output")?, args.tensor("output")?);
    cx.dim(args.int("dim")?, grad.rank(), log_softmax_backward::C1)?;
    if grad.dtype != output.dtype || !Domain::FLOAT.contains(grad.dtype) {
        let numel = cx.numel(output);
        let empty = cx.eq(numel, 0);
        cx.require(empty, log_softmax_backward::C2, |_| {
            format!("there is no implementation for {} and {}", grad.dtype, output.dtype)
        })?;
    }
    one(cx.contiguous(grad.sizes.clone(), grad.dtype, &grad.device))
}

clauses! { masked_softmax {
    C1 "`mask` is of `bool`, and `mask_type` is 0, 1 or 2."
    C2 "`mask` has the shape of `self`. If `self` has 4 dimensions and `mask` has 2, `mask` is `[L, L]` \
        (`mask_type` 0) or `[B, L]` (`mask_type` 1)."
    C3 "`dim` is in range."
    C4 "`self` has a floating point dtype."
} }

/// `_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor`: shaped as the operand.
fn masked_softmax(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, mask) = (args.tensor("self")?, args.tensor("mask")?);
    cx.require_dtype(mask.dtype, Domain::BOOL.on_cpu(), &mask.device, masked_softmax::C1)?;
    let kind = match args.opt_int("mask_type")? {
        Some(kind) => cx.literal(kind, masked_softmax::C1)?,
        None => -1,
    };
    cx.check((0..=2).contains(&kind), masked_softmax::C1, |_| "mask_type is to be 0, 1 or 2".into())?;
    if kind == 2 || mask.rank() != 2 || x.rank() != 4 {
        cx.require_same_shape(&x.sizes, &mask.sizes, masked_softmax::C2)?;
    } else {
        let first = if kind == 0 { x.size(2) } else { x.size(0) };
        cx.require_eq(first, mask.size(0), masked_softmax::C2, "the mask does not fit")?;
        cx.require_eq(x.size(2), mask.size(1), masked_softmax::C2, "the mask does not fit")?;
    }
    if let Some(dim) = args.opt_int("dim")? {
        cx.dim(dim, x.rank(), masked_softmax::C3)?;
    }
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, masked_softmax::C4)?;
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

clauses! { masked_softmax_backward {
    C1 "`mask` is of `bool` and has the shape of `grad_output`."
    C2 "`dim` is in range."
    C3 "`grad_output` and `output` have the same floating point dtype."
} }

/// `_masked_softmax_backward(Tensor grad_output, Tensor output, Tensor mask, int? dim=None) -> Tensor`: shaped as the
/// gradient, a scalar becoming a vector.
fn masked_softmax_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, mask) = (args.tensor("grad_output")?, args.tensor("mask")?);
    cx.check(mask.dtype == Dtype::Bool, masked_softmax_backward::C1, |_| {
        format!("the mask is {}, not bool", mask.dtype)
    })?;
    cx.require_same_shape(&grad.sizes, &mask.sizes, masked_softmax_backward::C1)?;
    if let Some(dim) = args.opt_int("dim")? {
        cx.dim(dim, grad.rank(), masked_softmax_backward::C2)?;
    }
    let output = args.tensor("output")?;
    cx.same_dtype(&[grad, output], masked_softmax_backward::C3)?;
    cx.require_dtype(grad.dtype, Domain::FLOAT.on_cpu(), &grad.device, masked_softmax_backward::C3)?;
    let mut sizes = grad.sizes.clone();
    if sizes.is_empty() {
        sizes.push(sizewise_expr::Expr::ONE);
    }
    one(cx.contiguous(sizes, grad.dtype, &grad.device))
}
