//! Element-wise functions of three operands: choice, limits, interpolation, masks.
use crate::domain::Domain;
use crate::elementwise::{Operand, Out, common_dtype, tensors};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::Category;
use crate::{Args, Cx, KernelResult, Scalar, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[where_::ALL, addcdiv::ALL, lerp::ALL, clamp::ALL, masked_fill::ALL, masked_scale::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    choose => "aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar";
    addcmul => "aten.addcmul.default";
    addcdiv => "aten.addcdiv.default";
    lerp => "aten.lerp.Tensor", "aten.lerp.Scalar";
    clamp => "aten.clamp.default", "aten.clip.default";
    clamp_tensor => "aten.clamp.Tensor", "aten.clip.Tensor";
    |cx, args| cx.pointwise(&[args.operand(0)?, args.operand(1)?], Domain::REAL.on_cpu(), Out::Common) =>
        "aten.clamp_min.default", "aten.clamp_max.default";
    |cx, args| cx.pointwise(&[args.operand(0)?, args.operand(1)?], Domain::REAL_BOOL.on_cpu(), Out::Common) =>
        "aten.clamp_min.Tensor", "aten.clamp_max.Tensor";
    masked_fill => "aten.masked_fill.Scalar", "aten.masked_fill.Tensor";
    native_dropout_backward => "aten.native_dropout_backward.default";
    masked_scale => "aten._masked_scale.default";
};

clauses! { where_ "where" {
    C1 "`condition` is of `bool` or `uint8`."
    C2 "The dtypes of `self` and `other` promote to a common one."
    C3 "`condition`, `self` and `other` are broadcastable."
} }

/// `aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor`, the operands being numbers in other
/// overloads.
fn choose(cx: &mut Cx, args: &Args) -> KernelResult {
    let condition = args.tensor("condition")?;
    cx.check(matches!(condition.dtype, Dtype::Bool | Dtype::Uint8), where_::C1, |_| {
        format!("the condition is of {}, not bool", condition.dtype)
    })?;
    let operands = [args.operand(1)?, args.operand(2)?];
    let dtype = common_dtype(&operands, where_::C2)?;
    let mut all: Vec<&Tensor> = vec![condition];
    all.extend(tensors(&operands));
    one(cx.elementwise(&all, dtype, where_::C3)?)
}

/// `aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor`.
fn addcmul(cx: &mut Cx, args: &Args) -> KernelResult {
    cx.pointwise(
        &[args.operand(0)?, args.operand(1)?, args.operand(2)?],
        Domain::NUMBER.on_cpu(),
        Out::Common,
    )
}

clauses! { addcdiv {
    C1 "`tensor1` and `tensor2` do not both have an integer or `bool` dtype."
} }

/// `aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor`.
fn addcdiv(cx: &mut Cx, args: &Args) -> KernelResult {
    let operands = [args.operand(0)?, args.operand(1)?, args.operand(2)?];
    let exact = operands[1].category() <= Category::Int && operands[2].category() <= Category::Int;
    cx.check(!exact, addcdiv::C1, |_| "integers are not divided".to_string())?;
    cx.pointwise(&operands, Domain::FLOAT_COMPLEX.on_cpu(), Out::Common)
}

clauses! { lerp {
    C1 "`self`, `end` and `weight` have the same dtype. `weight` may differ if it has no dimensions, and a \
        number is complex only for complex tensors."
} }

/// `aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor`.
fn lerp(cx: &mut Cx, args: &Args) -> KernelResult {
    let dtype = args.tensor("self")?.dtype;
    let operands = [args.operand(0)?, args.operand(1)?, args.operand(2)?];
    for other in tensors(&operands[..2]) {
        cx.check(other.dtype == dtype, lerp::C1, |_| format!("{dtype} and {} differ", other.dtype))?;
    }
    if let Operand::Tensor(weight) = operands[2] {
        // A weight without dimensions counts as a number.
        cx.check(weight.dtype == dtype || weight.rank() == 0, lerp::C1, |_| {
            format!("{dtype} and {} differ", weight.dtype)
        })?;
    }
    if let Operand::Scalar(weight) = operands[2] {
        cx.check(weight.category() <= Category::of(dtype).max(Category::Float), lerp::C1, |_| {
            format!("a complex weight for a tensor of {dtype}")
        })?;
        return cx.pointwise(&operands[..2], Domain::FLOAT_COMPLEX.on_cpu(), Out::Common);
    }
    cx.pointwise(&operands, Domain::FLOAT_COMPLEX.on_cpu(), Out::Common)
}

clauses! { clamp {
    C1 "`min` or `max` is given."
} }

/// `aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor`.
fn clamp(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut operands = vec![args.operand(0)?];
    for name in ["min", "max"] {
        operands.extend(args.opt_scalar(name)?.map(Operand::Scalar));
    }
    cx.check(operands.len() > 1, clamp::C1, |_| "neither min nor max is given".to_string())?;
    cx.pointwise(&operands, Domain::REAL.on_cpu(), Out::Common)
}

/// `aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor`.
///
/// The common dtype is not complex, nor `bool` when both limits are given.
fn clamp_tensor(cx: &mut Cx, args: &Args) -> KernelResult {
    let mut operands = vec![args.operand(0)?];
    for name in ["min", "max"] {
        operands.extend(args.opt_tensor(name)?.map(|t| Operand::Tensor(t)));
    }
    cx.check(operands.len() > 1, clamp::C1, |_| "neither min nor max is given".to_string())?;
    let domain = if operands.len() == 3 { Domain::REAL } else { Domain::REAL_BOOL };
    cx.pointwise(&operands, domain.on_cpu(), Out::Common)
}

clauses! { masked_fill {
    C1 "`mask` is of `bool`."
    C2 "`value` is a number or has no dimensions."
    C3 "`value` is complex only if `self` is."
    C4 "`self` and `mask` are broadcastable."
} }

/// `aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor`: contiguous, of the broadcast shape.
fn masked_fill(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, mask) = (args.tensor("self")?, args.tensor("mask")?);
    cx.check(mask.dtype.is_bool(), masked_fill::C1, |_| format!("the mask is of {}, not bool", mask.dtype))?;
    let value = args.operand(2)?;
    if let Operand::Tensor(value) = value {
        cx.check(value.rank() == 0, masked_fill::C2, |_| {
            format!("the value has {} dimensions instead of none", value.rank())
        })?;
    }
    let complex = value.category() == Category::Complex && !x.dtype.is_complex();
    cx.check(!complex, masked_fill::C3, |_| format!("a complex value for a tensor of {}", x.dtype))?;
    let sizes = cx.broadcast([x.sizes.as_slice(), mask.sizes.as_slice()], masked_fill::C4)?;
    one(cx.contiguous(sizes, x.dtype, &x.device))
}

/// `aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor`:
/// `grad_output * mask * scale`.
fn native_dropout_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let scale = Operand::Scalar(Scalar::Float(args.float("scale")?));
    cx.pointwise(&[args.operand(0)?, args.operand(1)?, scale], Domain::ORDINARY.on_cpu(), Out::Common)
}

clauses! { masked_scale {
    C1 "`self` is a strided tensor, of which the result has the shape and dtype."
} }

/// `aten::_masked_scale(Tensor self, Tensor mask, float scale) -> Tensor`: like `self`; only accelerators have it.
fn masked_scale(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    one(cx.elementwise(&[x], x.dtype, masked_scale::C1)?)
}
