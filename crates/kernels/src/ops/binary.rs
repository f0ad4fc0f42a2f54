//! Element-wise functions of two operands, each a tensor or a number: they broadcast and meet in their common dtype.
use super::unary::is_exact;
use crate::domain::{Accepted, Domain};
use crate::elementwise::{Operand, Out, common_dtype, pointwise};
use crate::kernel::{Kernel, kernels};
use crate::promote::{self, Category};
use crate::{Args, Cx, KernelError, KernelResult, Scalar};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;

const BITS: Domain = Domain::INT_BOOL.with(Domain::WIDE_UNSIGNED);
const SHIFT: Domain = Domain::INT.with(Domain::WIDE_UNSIGNED);

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    sub::ALL,
    add_relu::ALL,
    add::ALL,
    div::ALL,
    whole_quotient::ALL,
    pow::ALL,
    float_power::ALL,
    ldexp::ALL,
    heaviside::ALL,
    complex::ALL,
    isclose::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    add => "aten.add.Tensor", "aten.add.Scalar";
    sub => "aten.sub.Tensor", "aten.sub.Scalar", "aten.subtract.Tensor", "aten.subtract.Scalar",
        "aten.rsub.Tensor", "aten.rsub.Scalar";
    add_relu => "aten._add_relu.Tensor", "aten._add_relu.Scalar";
    |cx, args| binary(cx, args, Domain::ORDINARY.with(Domain::COMPLEX_HALF).on_cpu(), Out::Common) =>
        "aten.mul.Tensor", "aten.mul.Scalar", "aten.multiply.Tensor", "aten.multiply.Scalar";
    |cx, args| binary(cx, args, Domain::FLOAT_COMPLEX.with(Domain::COMPLEX_HALF).on_cpu(), Out::Float) =>
        "aten.div.Tensor", "aten.div.Scalar", "aten.divide.Tensor", "aten.divide.Scalar",
        "aten.true_divide.Tensor", "aten.true_divide.Scalar";
    divide_rounded => "aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.divide.Tensor_mode",
        "aten.divide.Scalar_mode";
    whole_quotient => "aten.floor_divide.default", "aten.floor_divide.Scalar", "aten.remainder.Tensor",
        "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor", "aten.fmod.Tensor", "aten.fmod.Scalar";
    pow => "aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar";
    float_power => "aten.float_power.Tensor_Tensor", "aten.float_power.Tensor_Scalar", "aten.float_power.Scalar";
    // Real numbers, integers becoming floats.
    |cx, args| binary(cx, args, Domain::FLOAT.on_cpu(), Out::Float) =>
        "aten.atan2.default", "aten.arctan2.default", "aten.copysign.Tensor", "aten.copysign.Scalar",
        "aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other", "aten.special_xlogy.default",
        "aten.special_xlogy.self_scalar", "aten.special_xlogy.other_scalar", "aten.special_xlog1py.default",
        "aten.special_xlog1py.self_scalar", "aten.special_xlog1py.other_scalar", "aten.igamma.default",
        "aten.igammac.default", "aten.special_gammainc.default", "aten.special_gammaincc.default";
    |cx, args| binary(cx, args, Domain::SINGLE_DOUBLE.on_cpu(), Out::Float) =>
        "aten.special_zeta.default", "aten.special_zeta.self_scalar", "aten.special_zeta.other_scalar",
        "aten.special_chebyshev_polynomial_t.default", "aten.special_chebyshev_polynomial_t.x_scalar",
        "aten.special_chebyshev_polynomial_t.n_scalar", "aten.special_chebyshev_polynomial_u.default",
        "aten.special_chebyshev_polynomial_u.x_scalar", "aten.special_chebyshev_polynomial_u.n_scalar",
        "aten.special_chebyshev_polynomial_v.default", "aten.special_chebyshev_polynomial_v.x_scalar",
        "aten.special_chebyshev_polynomial_v.n_scalar", "aten.special_chebyshev_polynomial_w.default",
        "aten.special_chebyshev_polynomial_w.x_scalar", "aten.special_chebyshev_polynomial_w.n_scalar",
        "aten.special_shifted_chebyshev_polynomial_t.default",
        "aten.special_shifted_chebyshev_polynomial_t.x_scalar",
        "aten.special_shifted_chebyshev_polynomial_t.n_scalar",
        "aten.special_shifted_chebyshev_polynomial_u.default",
        "aten.special_shifted_chebyshev_polynomial_u.x_scalar",
        "aten.special_shifted_chebyshev_polynomial_u.n_scalar",
        "aten.special_shifted_chebyshev_polynomial_v.default",
        "aten.special_shifted_chebyshev_polynomial_v.x_scalar",
        "aten.special_shifted_chebyshev_polynomial_v.n_scalar",
        "aten.special_shifted_chebyshev_polynomial_w.default",
        "aten.special_shifted_chebyshev_polynomial_w.x_scalar",
        "aten.special_shifted_chebyshev_polynomial_w.n_scalar",
        "aten.special_hermite_polynomial_h.default", "aten.special_hermite_polynomial_h.x_scalar",
        "aten.special_hermite_polynomial_h.n_scalar", "aten.special_hermite_polynomial_he.default",
        "aten.special_hermite_polynomial_he.x_scalar", "aten.special_hermite_polynomial_he.n_scalar",
        "aten.special_laguerre_polynomial_l.default", "aten.special_laguerre_polynomial_l.x_scalar",
        "aten.special_laguerre_polynomial_l.n_scalar", "aten.special_legendre_polynomial_p.default",
        "aten.special_legendre_polynomial_p.x_scalar", "aten.special_legendre_polynomial_p.n_scalar";
    // Of the common dtype.
    |cx, args| binary(cx, args, Domain::REAL_BOOL.on_cpu(), Out::Common) =>
        "aten.maximum.default", "aten.minimum.default", "aten.fmax.default", "aten.fmin.default",
        "aten.max.other", "aten.min.other";
    |cx, args| binary(cx, args, Domain::FLOAT.on_cpu(), Out::Common) => "aten.hypot.default", "aten.nextafter.default";
    |cx, args| binary(cx, args, Domain::FLOAT.on_cpu().within(Domain::NOT_COMPLEX.without(Domain::BOOL)), Out::Common) =>
        "aten.logaddexp2.default";
    |cx, args| binary(cx, args, Domain::FLOAT_COMPLEX.on_cpu(), Out::Common) => "aten.logaddexp.default";
    |cx, args| binary(cx, args, Domain::INT.on_cpu(), Out::Common) => "aten.gcd.default", "aten.lcm.default";
    |cx, args| binary(cx, args, BITS.on_cpu(), Out::Common) =>
        "aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar", "aten.bitwise_and.Scalar_Tensor",
        "aten.bitwise_or.Tensor", "aten.bitwise_or.Scalar", "aten.bitwise_or.Scalar_Tensor",
        "aten.bitwise_xor.Tensor", "aten.bitwise_xor.Scalar", "aten.bitwise_xor.Scalar_Tensor",
        "aten.__and__.Tensor", "aten.__and__.Scalar", "aten.__or__.Tensor", "aten.__or__.Scalar",
        "aten.__xor__.Tensor", "aten.__xor__.Scalar";
    |cx, args| binary(cx, args, SHIFT.on_cpu(), Out::Common) =>
        "aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar",
        "aten.bitwise_left_shift.Scalar_Tensor", "aten.bitwise_right_shift.Tensor",
        "aten.bitwise_right_shift.Tensor_Scalar", "aten.bitwise_right_shift.Scalar_Tensor";
    |cx, args| binary(cx, args, SHIFT.by_definition(), Out::Common) =>
        "aten.__lshift__.Tensor", "aten.__lshift__.Scalar", "aten.__rshift__.Tensor", "aten.__rshift__.Scalar";
    ldexp => "aten.ldexp.Tensor";
    heaviside => "aten.heaviside.default";
    complex => "aten.complex.default", "aten.polar.default";
    // Comparisons.
    |cx, args| binary(cx, args, Domain::ANY.on_cpu(), Out::Bool) =>
        "aten.eq.Tensor", "aten.eq.Scalar", "aten.ne.Tensor", "aten.ne.Scalar", "aten.not_equal.Tensor",
        "aten.not_equal.Scalar";
    |cx, args| binary(cx, args, Domain::REAL_BOOL.on_cpu(), Out::Bool) =>
        "aten.lt.Tensor", "aten.lt.Scalar", "aten.le.Tensor", "aten.le.Scalar", "aten.gt.Tensor",
        "aten.gt.Scalar", "aten.ge.Tensor", "aten.ge.Scalar", "aten.less.Tensor", "aten.less.Scalar",
        "aten.less_equal.Tensor", "aten.less_equal.Scalar", "aten.greater.Tensor", "aten.greater.Scalar",
        "aten.greater_equal.Tensor", "aten.greater_equal.Scalar";
    |cx, args| binary(cx, args, Domain::ORDINARY.on_cpu(), Out::Bool) =>
        "aten.logical_and.default", "aten.logical_or.default", "aten.logical_xor.default";
    isclose => "aten.isclose.default";
};

/// A function of the first two arguments: see [`Cx::pointwise`] for its clauses.
fn binary(cx: &mut Cx, args: &Args, accepted: Accepted, out: Out) -> KernelResult {
    cx.pointwise(&[args.operand(0)?, args.operand(1)?], accepted, out)
}

/// `aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`: `self + alpha * other`.
fn add(cx: &mut Cx, args: &Args) -> KernelResult {
    require_alpha(cx, args)?;
    binary(cx, args, Domain::ORDINARY.with(Domain::COMPLEX_HALF).on_cpu(), Out::Common)
}

clauses! { sub {
    C2 "No operand is of `bool`."
} }

/// `aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`, and `rsub` with the operands exchanged.
fn sub(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.operand(0)?, args.operand(1)?);
    cx.check(!a.dtype().is_bool() && !b.dtype().is_bool(), sub::C2, |_| {
        "truth values are not subtracted".to_string()
    })?;
    require_alpha(cx, args)?;
    binary(cx, args, Domain::NUMBER.with(Domain::COMPLEX_HALF).on_cpu(), Out::Common)
}

clauses! { add_relu {
    C1 "`self` is of a signed integer dtype, `float32` or `float64`."
} }

/// `aten::_add_relu.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor`: `relu(self + alpha * other)`.
fn add_relu(cx: &mut Cx, args: &Args) -> KernelResult {
    require_alpha(cx, args)?;
    let first = args.tensor_at(0)?.dtype;
    let served = Domain::REAL.contains(first) && !Domain::HALVES.contains(first) && first != Dtype::Uint8;
    cx.check(served, add_relu::C1, |_| format!("there is no kernel for {first}"))?;
    binary(cx, args, Domain::REAL.on_cpu(), Out::Common)
}

clauses! { add {
    C1 "The category of `alpha` is not higher than that of the result. There is no float for integers, and \
        no complex number for floats."
} }

/// A factor may be a float only where floats come out, and so on.
fn require_alpha(cx: &mut Cx, args: &Args) -> Result<(), KernelError> {
    let alpha = args.scalar("alpha")?;
    let common = Category::of(common_dtype(&[args.operand(0)?, args.operand(1)?], pointwise::C2)?);
    let fits = match alpha {
        Scalar::Bool(_) => common == Category::Bool,
        Scalar::Int(_) => true,
        Scalar::Float(_) => common >= Category::Float,
        Scalar::Complex(..) => common == Category::Complex,
    };
    cx.check(fits, add::C1, |_| format!("alpha is {:?}, the result {common:?}", alpha.category()))
}

clauses! { div {
    C1 "`rounding_mode` is `None`, `trunc` or `floor`."
} }

/// `aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor`.
fn divide_rounded(cx: &mut Cx, args: &Args) -> KernelResult {
    match args.opt_str("rounding_mode")? {
        None => binary(cx, args, Domain::FLOAT_COMPLEX.on_cpu(), Out::Float),
        Some("trunc" | "floor") => whole_quotient(cx, args),
        Some(other) => {
            let message = format!("rounding_mode is to be None, 'trunc' or 'floor', not '{other}'");
            Err(KernelError::invalid(div::C1, message))
        }
    }
}

clauses! { whole_quotient {
    C1 "An integer tensor is not divided by the integer 0, unless it is empty."
} }

/// `aten::floor_divide`, `remainder` and `fmod`: of the common dtype, which is real and not `bool`.
fn whole_quotient(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.operand(0)?, args.operand(1)?);
    let floored = args.schema.name.as_str().ends_with("floor_divide")
        || (args.has("rounding_mode") && args.opt_str("rounding_mode")? == Some("floor"));
    let definition = if floored { Domain::NOT_COMPLEX } else { Domain::ANY };
    let returns = cx.pointwise(&[a, b], Domain::REAL.on_cpu().within(definition), Out::Common)?;
    if let (Operand::Tensor(a), Operand::Scalar(Scalar::Int(divisor))) = (a, b)
        && a.dtype.is_integral()
    {
        let (numel, nonzero) = (cx.numel(a), cx.ne(divisor, 0));
        let empty = cx.eq(numel, 0);
        let either = cx.any(&[nonzero, empty]);
        cx.require(either, whole_quotient::C1, |cx| format!("division by {}", cx.show(divisor)))?;
    }
    Ok(returns)
}

clauses! { pow {
    C1 "An integer tensor is not raised to a negative integer."
} }

/// `aten::pow`: of the common dtype.
fn pow(cx: &mut Cx, args: &Args) -> KernelResult {
    let (base, exponent) = (args.operand(0)?, args.operand(1)?);
    if let (Operand::Tensor(base), Operand::Scalar(Scalar::Int(n))) = (base, exponent)
        && is_exact(Category::of(base.dtype))
    {
        let natural = cx.ge(n, 0);
        cx.require(natural, pow::C1, |cx| format!("an integer to the power of {}", cx.show(n)))?;
    }
    let by_number = matches!(base, Operand::Scalar(_)) || matches!(exponent, Operand::Scalar(_));
    let computed = if by_number { Domain::ORDINARY } else { Domain::NUMBER };
    cx.pointwise(&[base, exponent], computed.on_cpu(), Out::Common)
}

clauses! { float_power {
    C1 "The shapes of the operands broadcast."
} }

/// `aten::float_power`: computed in `float64`, or in `complex128` when an operand is complex.
fn float_power(cx: &mut Cx, args: &Args) -> KernelResult {
    use sizewise_ir::dtype::Dtype;
    let operands = [args.operand(0)?, args.operand(1)?];
    let complex = operands.iter().any(|o| o.category() == Category::Complex);
    let dtype = if complex { Dtype::Complex128 } else { Dtype::Float64 };
    crate::error::one(cx.elementwise(&crate::elementwise::tensors(&operands), dtype, float_power::C1)?)
}

clauses! { ldexp {
    C1 "The exponent of a floating point operand is not of `bool`."
} }

/// `aten::ldexp.Tensor(Tensor self, Tensor other) -> Tensor`: `self * 2 ** other`, in floating point.
fn ldexp(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, exponent) = (args.operand(0)?, args.operand(1)?);
    let truths = x.category() == Category::Float && exponent.category() == Category::Bool;
    cx.check(!truths, ldexp::C1, |_| "the exponent is of bool".to_string())?;
    let two = Scalar::Float(cx.pool().float(2.0));
    cx.pointwise(&[x, exponent, Operand::Scalar(two)], Domain::ORDINARY.on_cpu(), Out::Common)
}

clauses! { heaviside {
    C1 "The operands have the same dtype, which is not complex."
} }

/// `aten::heaviside(Tensor self, Tensor values) -> Tensor`.
fn heaviside(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.operand(0)?, args.operand(1)?);
    cx.check(a.dtype() == b.dtype() && !a.dtype().is_complex(), heaviside::C1, |_| {
        format!("two tensors of one real dtype are expected, not {} and {}", a.dtype(), b.dtype())
    })?;
    cx.pointwise(&[a, b], Domain::REAL_BOOL.on_cpu(), Out::Common)
}

clauses! { complex {
    C1 "Both operands have the same dtype: `float16`, `float32` or `float64`."
    C2 "The shapes of both operands broadcast."
} }

/// `aten::complex(Tensor real, Tensor imag) -> Tensor`, and `polar`: the complex dtype with such parts.
fn complex(cx: &mut Cx, args: &Args) -> KernelResult {
    use sizewise_ir::dtype::Dtype;
    let (re, im) = (args.tensor_at(0)?, args.tensor_at(1)?);
    let real = matches!(re.dtype, Dtype::Float16 | Dtype::Float32 | Dtype::Float64);
    cx.check(real && re.dtype == im.dtype, complex::C1, |_| {
        format!("two tensors of one float dtype are expected, not {} and {}", re.dtype, im.dtype)
    })?;
    crate::error::one(cx.elementwise(&[re, im], promote::to_complex(re.dtype), complex::C2)?)
}

clauses! { isclose {
    C1 "`self` and `other` have the same dtype."
    C2 "`rtol` and `atol` are not negative."
} }

/// `aten::isclose(Tensor self, Tensor other, float rtol, float atol, bool equal_nan) -> Tensor`.
fn isclose(cx: &mut Cx, args: &Args) -> KernelResult {
    let (a, b) = (args.tensor("self")?, args.tensor("other")?);
    cx.check(a.dtype == b.dtype, isclose::C1, |_| format!("{} and {} differ", a.dtype, b.dtype))?;
    for name in ["rtol", "atol"] {
        let tolerance = args.float(name)?;
        let negative = cx.pool().as_float(tolerance).is_some_and(|v| v < 0.0);
        cx.check(!negative, isclose::C2, |cx| format!("{name} is negative: {}", cx.show(tolerance)))?;
    }
    binary(cx, args, Domain::ORDINARY.on_cpu(), Out::Bool)
}
