//! Operators that tell dtypes: promotion and casts, by the numbers that dtypes have in torch's core.
use crate::compose::can_cast;
use crate::elementwise::common_dtype;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Value, c10, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[result_type::ALL, promote_types::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    result_type => "aten.result_type.Tensor", "aten.result_type.Scalar", "aten.result_type.Scalar_Tensor",
        "aten.result_type.Scalar_Scalar";
    promote_types => "aten.promote_types.default";
    castable => "aten.can_cast.default";
};

fn number(cx: &mut Cx, dtype: Dtype) -> KernelResult {
    match c10::number_of(dtype) {
        Some(number) => Ok(smallvec![Value::Int(cx.int(number))]),
        None => Err(KernelError::Unsupported(format!("{dtype} has no known number"))),
    }
}

fn pair(args: &Args) -> Result<(Dtype, Dtype), KernelError> {
    let at = |i: usize| match args.values().get(i) {
        Some(Value::Dtype(dtype)) => Ok(*dtype),
        _ => Err(KernelError::Unsupported("two dtypes are expected".into())),
    };
    Ok((at(0)?, at(1)?))
}

clauses! { result_type {
    C1 "The dtypes of the operands promote to a common one."
} }

/// `aten::result_type.Tensor(Tensor tensor, Tensor other) -> ScalarType`: the dtype in which two operands meet.
fn result_type(cx: &mut Cx, args: &Args) -> KernelResult {
    let dtype = common_dtype(&[args.operand(0)?, args.operand(1)?], result_type::C1)?;
    number(cx, dtype)
}

clauses! { promote_types {
    C1 "The two dtypes promote to a common one."
} }

/// `aten::promote_types(ScalarType type1, ScalarType type2) -> ScalarType`.
fn promote_types(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = pair(args)?;
    match promote::promote(a, b) {
        Some(dtype) => number(cx, dtype),
        None => Err(KernelError::invalid(promote_types::C1, format!("{a} and {b} do not promote"))),
    }
}

/// `aten::can_cast(ScalarType from_, ScalarType to) -> bool`.
fn castable(cx: &mut Cx, args: &Args) -> KernelResult {
    let (from, to) = pair(args)?;
    Ok(smallvec![Value::Bool(cx.pool().bool(can_cast(from, to)))])
}
