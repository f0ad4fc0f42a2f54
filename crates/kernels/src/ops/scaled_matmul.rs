//! Matrix products of bytes, and with scales.
use super::matmul::matrices;
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[int_mm::ALL, scaled_mm::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    int_mm => "aten._int_mm.default";
    scaled_mm => "aten._scaled_mm.default";
};

clauses! { int_mm {
    C3 "`self` is of `int8` or `uint8`, and `mat2` is of `int8`."
} }

/// `aten::_int_mm(Tensor self, Tensor mat2) -> Tensor`: `[n, k] × [k, p] → [n, p]` in `int32`.
fn int_mm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("mat2")?);
    let sizes = matrices(cx, a, b)?;
    let bytes = matches!(a.dtype, Dtype::Int8 | Dtype::Uint8) && b.dtype == Dtype::Int8;
    cx.check(bytes, int_mm::C3, |_| format!("int8 is expected, not {} and {}", a.dtype, b.dtype))?;
    one(cx.contiguous(sizes.as_slice(), Dtype::Int32, &a.device))
}

clauses! { scaled_mm {
    C3 "`self` and `mat2` are of 8-bit floats."
    C4 "`scale_a` and `scale_b` are of `float32`."
} }

/// `aten::_scaled_mm(Tensor self, Tensor mat2, Tensor scale_a, Tensor scale_b, ..., ScalarType? out_dtype=None) ->
/// Tensor`.
fn scaled_mm(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("mat2")?);
    let sizes = matrices(cx, a, b)?;
    let narrow = |d: Dtype| matches!(d, Dtype::Float8E4m3fn | Dtype::Float8E5m2);
    cx.check(narrow(a.dtype) && narrow(b.dtype), scaled_mm::C3, |_| {
        format!("8-bit floats are expected, not {} and {}", a.dtype, b.dtype)
    })?;
    for name in ["scale_a", "scale_b"] {
        let scale = args.tensor(name)?;
        cx.check(scale.dtype == Dtype::Float32, scaled_mm::C4, |_| {
            format!("{name} is to be float32, not {}", scale.dtype)
        })?;
        let numel = cx.numel(scale);
        if numel != Expr::ONE {
            return Err(KernelError::Unsupported("scales of several elements are not modelled".into()));
        }
    }
    let dtype = args.opt_dtype("out_dtype")?.unwrap_or(a.dtype);
    one(cx.contiguous(sizes.as_slice(), dtype, &a.device))
}
