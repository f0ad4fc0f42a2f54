//! Element-wise functions of one tensor: same shape, dimensions kept in their order.
use crate::domain::{Accepted, Domain};
use crate::elementwise::{Operand, Out};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::{self, Category};
use crate::{Args, Cx, KernelError, KernelResult, Value};
use sizewise_env::{Clauses, clauses};

const REAL_FLOAT: Domain = Domain::FLOAT;
const SIGNED_ZERO: Domain = Domain::REAL_BOOL;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[angle::ALL, positive::ALL, mvlgamma::ALL, polygamma::ALL, frexp::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    // Computed in floating point, complex numbers too.
    |cx, args| unary(cx, args, Domain::FLOAT_COMPLEX.on_cpu(), Out::Float) =>
        "aten.acos.default", "aten.arccos.default", "aten.acosh.default", "aten.arccosh.default",
        "aten.asin.default", "aten.arcsin.default", "aten.asinh.default", "aten.arcsinh.default",
        "aten.atan.default", "aten.arctan.default", "aten.atanh.default", "aten.arctanh.default",
        "aten.cos.default", "aten.cosh.default", "aten.exp.default", "aten.exp2.default",
        "aten.special_exp2.default", "aten.expm1.default", "aten.special_expm1.default", "aten.log.default",
        "aten.log10.default", "aten.log1p.default", "aten.special_log1p.default", "aten.log2.default",
        "aten.reciprocal.default", "aten.rsqrt.default", "aten.sigmoid.default", "aten.special_expit.default",
        "aten.sin.default", "aten.sinc.default", "aten.special_sinc.default", "aten.sinh.default",
        "aten.sqrt.default", "aten.tan.default", "aten.tanh.default";
    // Computed in floating point, real numbers only.
    |cx, args| unary(cx, args, REAL_FLOAT.on_cpu(), Out::Float) =>
        "aten.digamma.default", "aten.special_digamma.default",
        "aten.special_psi.default", "aten.erf.default", "aten.special_erf.default", "aten.erfc.default",
        "aten.special_erfc.default", "aten.erfinv.default", "aten.special_erfinv.default", "aten.lgamma.default",
        "aten.special_gammaln.default", "aten.logit.default", "aten.special_logit.default",
        "aten.special_entr.default", "aten.i0.default", "aten.special_i0.default", "aten.special_i0e.default",
        "aten.special_i1.default", "aten.special_i1e.default", "aten.special_ndtr.default";
    |cx, args| unary(cx, args, REAL_FLOAT.on_cpu().within(Domain::NOT_COMPLEX), Out::Float) =>
        "aten.deg2rad.default", "aten.rad2deg.default";
    // As above, without the 16-bit floats.
    |cx, args| unary(cx, args, Domain::SINGLE_DOUBLE.on_cpu(), Out::Float) =>
        "aten.special_airy_ai.default", "aten.special_bessel_j0.default", "aten.special_bessel_j1.default",
        "aten.special_bessel_y0.default", "aten.special_bessel_y1.default", "aten.special_erfcx.default",
        "aten.special_log_ndtr.default", "aten.special_modified_bessel_i0.default",
        "aten.special_modified_bessel_i1.default", "aten.special_modified_bessel_k0.default",
        "aten.special_modified_bessel_k1.default", "aten.special_ndtri.default",
        "aten.special_scaled_modified_bessel_k0.default", "aten.special_scaled_modified_bessel_k1.default",
        "aten.special_spherical_bessel_j0.default";
    // Of the operand's own dtype.
    |cx, args| unary(cx, args, Domain::REAL.on_cpu(), Out::Common) =>
        "aten.ceil.default", "aten.floor.default", "aten.round.default", "aten.trunc.default", "aten.fix.default",
        "aten.relu.default", "aten.relu6.default";
    |cx, args| unary(cx, args, Domain::FLOAT.on_cpu(), Out::Common) =>
        "aten.frac.default", "aten.round.decimals", "aten.special_round.default",
        "aten.mish.default", "aten.hardsigmoid.default", "aten.hardswish.default", "aten.log_sigmoid.default";
    |cx, args| unary(cx, args, Domain::FLOAT.on_cpu().within(Domain::FLOAT_COMPLEX), Out::Common) =>
        "aten.selu.default";
    |cx, args| unary(cx, args, Domain::FLOAT_COMPLEX.on_cpu(), Out::Common) => "aten.silu.default";
    |cx, args| unary(cx, args, Domain::NUMBER.with(Domain::COMPLEX_HALF).on_cpu(), Out::Common) =>
        "aten.neg.default", "aten.negative.default";
    |cx, args| unary(cx, args, Domain::NUMBER.with(Domain::COMPLEX_HALF).on_cpu(), Out::Real) =>
        "aten.abs.default", "aten.absolute.default";
    |cx, args| unary(cx, args, SIGNED_ZERO.on_cpu(), Out::Common) => "aten.sign.default";
    |cx, args| unary(cx, args, Domain::ORDINARY.with(Domain::COMPLEX_HALF).on_cpu(), Out::Common) => "aten.sgn.default";
    |cx, args| unary(cx, args, Domain::INT_BOOL.with(Domain::WIDE_UNSIGNED).on_cpu(), Out::Common) =>
        "aten.bitwise_not.default";
    |cx, args| unary(cx, args, Domain::ORDINARY.on_cpu(), Out::Common) => "aten.nan_to_num.default";
    // Truth values.
    |cx, args| unary(cx, args, Domain::ANY.on_cpu(), Out::Bool) =>
        "aten.isnan.default", "aten.isinf.default", "aten.isfinite.default", "aten.isreal.default";
    |cx, args| unary(cx, args, Domain::ORDINARY.on_cpu(), Out::Bool) => "aten.logical_not.default";
    |cx, args| unary(cx, args, SIGNED_ZERO.on_cpu(), Out::Bool) => "aten.signbit.default";
    |cx, args| unary(cx, args, SIGNED_ZERO.on_cpu().within(Domain::NOT_COMPLEX), Out::Bool) =>
        "aten.isposinf.default", "aten.isneginf.default";
    angle => "aten.angle.default";
    positive => "aten.positive.default";
    square => "aten.square.default";
    mvlgamma => "aten.mvlgamma.default", "aten.special_multigammaln.default";
    polygamma => "aten.polygamma.default", "aten.special_polygamma.default";
    frexp => "aten.frexp.Tensor";
};

/// A function of the first argument: see [`Cx::pointwise`] for its clauses.
fn unary(cx: &mut Cx, args: &Args, accepted: Accepted, out: Out) -> KernelResult {
    cx.pointwise(&[Operand::Tensor(args.tensor_at(0)?)], accepted, out)
}

clauses! { angle {
    C1 "There is a CPU kernel for the dtype of `self`."
} }

/// `aten::angle(Tensor self) -> Tensor`: complex numbers give their real parts' dtype, integers `float32`.
fn angle(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let dtype = promote::to_real(promote::to_float(x.dtype));
    cx.require_dtype(x.dtype, Domain::ORDINARY.on_cpu(), &x.device, angle::C1)?;
    one(cx.elementwise(&[x], dtype, angle::C1)?)
}

clauses! { positive {
    C1 "`self` is not of `bool`."
} }

/// `aten::positive(Tensor(a) self) -> Tensor(a)`: the operand itself.
fn positive(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(!x.dtype.is_bool(), positive::C1, |_| "a bool tensor has no sign".to_string())?;
    Ok(smallvec::smallvec![Value::Tensor(x.clone())])
}

/// `aten::square(Tensor self) -> Tensor`: `self ** 2`, so that `bool` becomes `int64`.
fn square(cx: &mut Cx, args: &Args) -> KernelResult {
    let two = crate::Scalar::Int(cx.int(2));
    let operands = [Operand::Tensor(args.tensor("self")?), Operand::Scalar(two)];
    cx.pointwise(&operands, Domain::ORDINARY.on_cpu(), Out::Common)
}

clauses! { mvlgamma {
    C1 "`p` is at least 1."
    C2 "The dtype of `self` is neither `bool` nor complex."
} }

/// `aten::mvlgamma(Tensor self, int p) -> Tensor`.
fn mvlgamma(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, p) = (args.tensor("self")?, args.int("p")?);
    let positive = cx.ge(p, 1);
    cx.require(positive, mvlgamma::C1, |cx| format!("p is to be at least 1, not {}", cx.show(p)))?;
    cx.require_dtype(x.dtype, Domain::REAL.on_cpu(), &x.device, mvlgamma::C2)?;
    unary(cx, args, Domain::FLOAT.on_cpu(), Out::Float)
}

clauses! { polygamma {
    C1 "`n` is not negative."
} }

/// `aten::polygamma(int n, Tensor self) -> Tensor`.
fn polygamma(cx: &mut Cx, args: &Args) -> KernelResult {
    let n = args.int("n")?;
    let natural = cx.ge(n, 0);
    cx.require(natural, polygamma::C1, |cx| format!("n is to be at least 0, not {}", cx.show(n)))?;
    cx.pointwise(&[Operand::Tensor(args.tensor("self")?)], Domain::FLOAT.on_cpu(), Out::Float)
}

clauses! { frexp {
    C1 "`self` has a floating point dtype."
} }

/// `aten::frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)`: the exponents are `int32`.
fn frexp(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    if !x.dtype.is_float() {
        return Err(KernelError::invalid(frexp::C1, format!("a float dtype is expected, not {}", x.dtype)));
    }
    let mantissa = cx.elementwise(&[x], x.dtype, frexp::C1)?;
    let exponent = mantissa.with_dtype(sizewise_ir::dtype::Dtype::Int32);
    Ok(smallvec::smallvec![mantissa.into(), exponent.into()])
}

/// Whether a dtype is of integers or `bool`.
pub(super) fn is_exact(category: Category) -> bool {
    category <= Category::Int
}
