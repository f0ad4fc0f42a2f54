//! Element-wise operators.
use crate::fake::error::one;
use crate::fake::promote::{self, ResultType};
use crate::fake::registry::Kernel;
use crate::fake::{Args, Cx, KernelError, KernelResult, Tensor};

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = &[
    ("aten.mul.Tensor", |cx, args| binary(cx, args.tensor("self")?, args.tensor("other")?)),
    ("aten.sin.default", |cx, args| floating(cx, args.tensor("self")?)),
];

/// A function of one operand that computes in floating point: same shape, integers become `float32`.
fn floating(cx: &mut Cx, x: &Tensor) -> KernelResult {
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, promote::to_float(x.dtype), &x.device))
}

/// A function of two operands: they broadcast, and meet in their common dtype.
///
/// (C1) The shapes broadcast. (C2) The dtypes promote.
fn binary(cx: &mut Cx, a: &Tensor, b: &Tensor) -> KernelResult {
    let sizes = cx.broadcast([a.sizes.as_slice(), b.sizes.as_slice()], "binary.C1")?;
    let dtype = ResultType::of([a, b])
        .dtype()
        .map_err(|(x, y)| KernelError::invalid("binary.C2", format!("{x} and {y} do not promote")))?;
    let strides = cx.elementwise_strides(&sizes, &[a, b]);
    one(cx.strided(sizes, strides, dtype, &a.device))
}
