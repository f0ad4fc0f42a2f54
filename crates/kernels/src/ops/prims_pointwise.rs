//! Element-wise operators of `prims`: no broadcasting and no type promotion, except that tensors without dimensions
//! and numbers go with every shape.
use crate::domain::{Accepted, Domain};
use crate::elementwise::{Operand, Out, tensors};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Values, promote};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::{Device, Dtype};
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    prims::ALL,
    prims_where::ALL,
    prims_frexp::ALL,
    convert_element_type::ALL,
    copy_strided::ALL,
    prims_reduce::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| pointwise(cx, args, Domain::FLOAT_COMPLEX.on_cpu(), Out::Float) => "prims.acos.default",
        "prims.acosh.default", "prims.asin.default", "prims.asinh.default", "prims.atan.default",
        "prims.atanh.default", "prims.cos.default", "prims.cosh.default", "prims.exp.default", "prims.exp2.default",
        "prims.expm1.default", "prims.log.default", "prims.log10.default", "prims.log1p.default",
        "prims.log2.default", "prims.reciprocal.default", "prims.rsqrt.default", "prims.sin.default",
        "prims.sinh.default", "prims.sqrt.default", "prims.tan.default", "prims.tanh.default";
    |cx, args| pointwise(cx, args, Domain::FLOAT.on_cpu(), Out::Float) => "prims.atan2.default",
        "prims.bessel_i0.default",
        "prims.bessel_i0e.default", "prims.bessel_i1.default", "prims.bessel_i1e.default", "prims.cbrt.default",
        "prims.digamma.default", "prims.erf.default", "prims.erf_inv.default", "prims.erfc.default",
        "prims.igamma.default", "prims.igammac.default", "prims.lgamma.default";
    |cx, args| pointwise(cx, args, Domain::SINGLE_DOUBLE.on_cpu(), Out::Float) => "prims.bessel_j0.default",
        "prims.bessel_j1.default", "prims.erfcx.default", "prims.ndtri.default",
        "prims.spherical_bessel_j0.default", "prims.zeta.default";
    |cx, args| pointwise(cx, args, Domain::NUMBER.on_cpu(), Out::Real) => "prims.abs.default";
    |cx, args| pointwise(cx, args, Domain::REAL.on_cpu(), Out::Common) => "prims.ceil.default", "prims.floor.default",
        "prims.round.default", "prims.trunc.default", "prims.fmod.default", "prims.remainder.default";
    |cx, args| pointwise(cx, args, Domain::REAL_BOOL.on_cpu(), Out::Common) => "prims.sign.default",
        "prims.fmax.default",
        "prims.fmin.default", "prims.maximum.default", "prims.minimum.default";
    |cx, args| pointwise(cx, args, Domain::NUMBER.on_cpu(), Out::Common) => "prims.neg.default", "prims.pow.default",
        "prims.sub.default", "prims.div.default";
    |cx, args| pointwise(cx, args, Domain::ORDINARY.on_cpu(), Out::Common) => "prims.add.default", "prims.mul.default";
    |cx, args| pointwise(cx, args, Domain::INT_BOOL.on_cpu(), Out::Common) => "prims.bitwise_and.default",
        "prims.bitwise_not.default", "prims.bitwise_or.default", "prims.bitwise_xor.default";
    |cx, args| pointwise(cx, args, Domain::INT.on_cpu(), Out::Common) => "prims.gcd.default",
        "prims.shift_left.default",
        "prims.shift_right_arithmetic.default";
    |cx, args| pointwise(cx, args, Domain::FLOAT.on_cpu(), Out::Common) => "prims.hypot.default",
        "prims.nextafter.default";
    |cx, args| pointwise(cx, args, Domain::ANY.on_cpu(), Out::Bool) => "prims.eq.default", "prims.ne.default",
        "prims.isfinite.default";
    |cx, args| pointwise(cx, args, Domain::REAL_BOOL.on_cpu(), Out::Bool) => "prims.ge.default", "prims.gt.default",
        "prims.le.default", "prims.lt.default", "prims.signbit.default";
    choose => "prims.where.default";
    frexp => "prims.frexp.default";
    convert_element_type => "prims.convert_element_type.default";
    device_put => "prims.device_put.default";
    copy_strided => "prims.copy_strided.default";
    conj => "prims.conj.default";
    |_, _| Ok(Values::new()) => "prims._sink_tokens.default";
    |cx, _| one(cx.contiguous([sizewise_expr::Expr::ZERO].as_slice(), Dtype::Float32, &Device::cpu())) =>
        "prims._make_token.default";
    |cx, args| reduce(cx, args, Out::Common) => "prims.sum.default", "prims.prod.default", "prims.amax.default",
        "prims.amin.default", "prims.xor_sum.default";
    |cx, args| reduce(cx, args, Out::Real) => "prims.var.default";
};

/// `prims::conj(Tensor(a) a) -> Tensor(a)`.
fn conj(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("a")?;
    cx.check(x.dtype.is_complex(), prims::C4, |_| format!("a complex tensor is expected, not {}", x.dtype))?;
    one(Tensor { wrapped: false, ..(**x).clone() })
}

clauses! { prims {
    C1 "Operands that have dimensions have the same shape."
    C2 "The operands have the same dtype."
    C3 "There is a CPU kernel for the dtype of the operands."
    C4 "The operand is complex."
} }

/// A function of all arguments, which are tensors or numbers.
fn pointwise(cx: &mut Cx, args: &Args, accepted: Accepted, out: Out) -> KernelResult {
    let mut operands = Vec::with_capacity(args.values().len());
    for at in 0..args.values().len() {
        operands.push(args.operand(at)?);
    }
    let dtype = alike(cx, &operands)?;
    let dtype = if out == Out::Float { promote::to_float(dtype) } else { dtype };
    let result = match out {
        Out::Common | Out::Float => dtype,
        Out::Real => promote::to_real(dtype),
        Out::Bool => Dtype::Bool,
    };
    let result = cx.elementwise(&tensors(&operands), result, prims::C1)?;
    cx.require_dtype(dtype, accepted, &result.device, prims::C3)?;
    one(result)
}

/// The dtype of operands of one shape and dtype.
fn alike(cx: &mut Cx, operands: &[Operand]) -> Result<Dtype, KernelError> {
    let proper: Vec<&Tensor> = tensors(operands).into_iter().filter(|t| !t.wrapped).collect();
    let lead = proper.iter().find(|t| t.rank() > 0).or(proper.first());
    let Some(lead) = lead else {
        return Ok(operands.first().map_or(Dtype::Float32, Operand::dtype));
    };
    for other in &proper {
        cx.check(other.dtype == lead.dtype, prims::C2, |_| {
            format!("{} and {} differ", other.dtype, lead.dtype)
        })?;
        if other.rank() > 0 {
            require_shape(cx, other, lead)?;
        }
    }
    Ok(lead.dtype)
}

fn require_shape(cx: &mut Cx, other: &Tensor, lead: &Tensor) -> Result<(), KernelError> {
    cx.check(other.rank() == lead.rank(), prims::C1, |cx| {
        format!("the shapes differ: {} and {}", cx.show_all(&lead.sizes), cx.show_all(&other.sizes))
    })?;
    for (&a, &b) in lead.sizes.iter().zip(&other.sizes) {
        cx.require_eq(a, b, prims::C1, "the shapes differ")?;
    }
    Ok(())
}

clauses! { prims_where "prims.where" {
    C1 "`pred` is of `bool` or `uint8`."
    C2 "The operands are strided tensors on the same device."
} }

/// `prims::where(Tensor pred, Tensor a, Tensor b) -> Tensor`.
fn choose(cx: &mut Cx, args: &Args) -> KernelResult {
    let condition = args.tensor("pred")?;
    cx.check(matches!(condition.dtype, Dtype::Bool | Dtype::Uint8), prims_where::C1, |_| {
        format!("the condition is of {}, not bool", condition.dtype)
    })?;
    let operands = [args.operand(1)?, args.operand(2)?];
    let dtype = alike(cx, &operands)?;
    let mut all: Vec<&Tensor> = vec![condition];
    all.extend(tensors(&operands));
    if condition.rank() > 0 {
        for other in &all[1..] {
            if other.rank() > 0 {
                require_shape(cx, other, condition)?;
            }
        }
    }
    one(cx.elementwise(&all, dtype, prims_where::C2)?)
}

clauses! { prims_frexp "prims.frexp" {
    C1 "The operand has a floating point dtype."
} }

/// `prims::frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)`: the exponents are `int32`.
fn frexp(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.dtype.is_float(), prims_frexp::C1, |_| format!("a float dtype is expected, not {}", x.dtype))?;
    let mantissa = cx.elementwise(&[x], x.dtype, prims_frexp::C1)?;
    let exponent = mantissa.with_dtype(Dtype::Int32);
    Ok(smallvec![mantissa.into(), exponent.into()])
}

clauses! { convert_element_type {
    C1 "The operand is a strided tensor."
} }

/// `prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor`.
fn convert_element_type(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("a")?;
    let dtype = args.opt_dtype("dtype")?.unwrap_or(x.dtype);
    one(cx.elementwise(&[x], dtype, convert_element_type::C1)?)
}

/// `prims::device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor`.
fn device_put(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("a")?;
    let device = args.opt_device("device")?.unwrap_or_else(|| x.device.clone());
    if device == x.device {
        return one(Tensor { wrapped: false, ..(**x).clone() });
    }
    let strides = cx.preserved_strides(x);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &device))
}

clauses! { copy_strided {
    C1 "`stride` has an entry for each dimension."
} }

/// `prims::copy_strided(Tensor a, SymInt[] stride) -> Tensor`: a copy with given strides.
fn copy_strided(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, strides) = (args.tensor("a")?, args.ints("stride")?);
    cx.check(strides.len() == x.rank(), copy_strided::C1, |_| {
        format!("{} strides for {} dimensions", strides.len(), x.rank())
    })?;
    one(cx.strided(x.sizes.clone(), strides.into(), x.dtype, &x.device))
}

clauses! { prims_reduce "prims.reduce" {
    C1 "`dims` are distinct and in range, and none is negative."
} }

/// `prims::sum(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor` and its kin: the dimensions are left
/// out.
fn reduce(cx: &mut Cx, args: &Args, out: Out) -> KernelResult {
    let x = args.tensor("inp")?;
    let dims = args.opt_ints("dims")?;
    for &dim in dims.unwrap_or_default() {
        let dim = cx.literal(dim, prims_reduce::C1)?;
        cx.check(dim >= 0, prims_reduce::C1, |_| format!("dimension {dim} is counted from the end"))?;
    }
    let gone = cx.dims(dims, x.rank(), false, prims_reduce::C1)?;
    let kept = x.sizes.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(&size, _)| size);
    let sizes: crate::Sizes = kept.collect();
    let dtype = if out == Out::Real { promote::to_real(x.dtype) } else { x.dtype };
    let dtype = args.opt_dtype("output_dtype")?.unwrap_or(dtype);
    one(cx.contiguous(sizes, dtype, &x.device))
}
