//! Activation functions and their gradients.
use crate::domain::{Accepted, Domain};
use crate::elementwise::{Operand, Out};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::promote::{Category, to_float};
use crate::{Args, Cx, KernelError, KernelResult, Scalar, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::MemoryFormat;
use sizewise_ir::schema::Type;
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    gelu::ALL,
    celu::ALL,
    softshrink::ALL,
    log_sigmoid::ALL,
    rrelu_with_noise::ALL,
    prelu::ALL,
    alike::ALL,
    glu::ALL,
    glu_backward::ALL,
    glu_jvp::ALL,
    elu_backward::ALL,
    leaky_relu_backward::ALL,
    mish_backward::ALL,
    gelu_backward::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    gelu => "aten.gelu.default";
    |cx, args| activation(cx, args, Domain::FLOAT.on_cpu()) => "aten.leaky_relu.default", "aten.elu.default",
        "aten.softplus.default", "aten.hardshrink.default";
    celu => "aten.celu.default";
    softshrink => "aten.softshrink.default";
    |cx, args| activation(cx, args, Domain::REAL.on_cpu()) => "aten.hardtanh.default", "aten.threshold.default";
    log_sigmoid_forward => "aten.log_sigmoid_forward.default";
    |cx, args| activation(cx, args, Domain::SINGLE_DOUBLE.with(Domain::BFLOAT).on_cpu()) => "aten.rrelu.default";
    rrelu_with_noise => "aten.rrelu_with_noise_functional.default";
    prelu => "aten.prelu.default";
    |cx, args| alike(cx, args, 2) => "aten._prelu_kernel.default";
    prelu_backward => "aten._prelu_kernel_backward.default";
    glu => "aten.glu.default";
    glu_backward => "aten.glu_backward.default";
    glu_jvp => "aten.glu_jvp.default";
    glu_backward_jvp => "aten.glu_backward_jvp.default";
    // Gradients: all tensor arguments meet in their common dtype.
    |cx, args| gradient(cx, args, Domain::FLOAT.on_cpu()) => "aten.gelu_backward.default",
        "aten.hardsigmoid_backward.default", "aten.hardswish_backward.default", "aten.hardtanh_backward.default",
        "aten.hardshrink_backward.default", "aten.softshrink_backward.default", "aten.softplus_backward.default",
        "aten.logit_backward.default";
    |cx, args| gradient(cx, args, Domain::FLOAT_COMPLEX.on_cpu()) => "aten.silu_backward.default",
        "aten.sigmoid_backward.default", "aten.tanh_backward.default";
    |cx, args| gradient(cx, args, Domain::REAL.on_cpu()) => "aten.threshold_backward.default";
    elu_backward => "aten.elu_backward.default";
    leaky_relu_backward => "aten.leaky_relu_backward.default";
    |cx, args| rrelu_backward(cx, args) => "aten.rrelu_with_noise_backward.default";
    mish_backward => "aten.mish_backward.default";
    // Only the CPU's kernel reads the buffer.
    |cx, args| alike(cx, args, if cx.cpu_computes(&args.tensor_at(0)?.device) { 3 } else { 2 }) =>
        "aten.log_sigmoid_backward.default";
    gelu_backward_differentiable => "aten.infinitely_differentiable_gelu_backward.default";
};

/// A function of the first argument that keeps its dtype: see [`Cx::pointwise`] for its clauses.
fn activation(cx: &mut Cx, args: &Args, accepted: Accepted) -> KernelResult {
    cx.pointwise(&[Operand::Tensor(args.tensor_at(0)?)], accepted, Out::Common)
}

/// A function of all tensor arguments.
fn gradient(cx: &mut Cx, args: &Args, accepted: Accepted) -> KernelResult {
    let mut operands: Vec<Operand> = Vec::with_capacity(3);
    for (at, spec) in args.schema.args.iter().enumerate() {
        if spec.ty == Type::Tensor {
            operands.push(Operand::Tensor(args.tensor_at(at)?));
        }
    }
    cx.pointwise(&operands, accepted, Out::Common)
}

clauses! { gelu {
    C1 "`approximate` is `none` or `tanh`."
} }

/// `aten::gelu(Tensor self, *, str approximate="none") -> Tensor`.
fn gelu(cx: &mut Cx, args: &Args) -> KernelResult {
    let approximate = args.str("approximate")?;
    cx.check(matches!(approximate, "none" | "tanh"), gelu::C1, |_| {
        format!("approximate is to be 'none' or 'tanh', not '{approximate}'")
    })?;
    activation(cx, args, Domain::FLOAT.on_cpu())
}

/// The value of a number that is known.
fn number(cx: &mut Cx, scalar: Scalar) -> Option<f64> {
    match scalar {
        Scalar::Float(e) => cx.pool().as_float(e),
        Scalar::Int(e) => e.as_inline().map(|v| v as f64),
        _ => None,
    }
}

clauses! { celu {
    C1 "`alpha` is not 0."
} }

/// `aten::celu(Tensor self, Scalar alpha=1.) -> Tensor`.
fn celu(cx: &mut Cx, args: &Args) -> KernelResult {
    let alpha = number(cx, args.scalar("alpha")?);
    cx.check(alpha != Some(0.0), celu::C1, |_| "alpha is 0".to_string())?;
    activation(cx, args, Domain::FLOAT.on_cpu())
}

clauses! { softshrink {
    C1 "`lambd` is not negative."
} }

/// `aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor`.
fn softshrink(cx: &mut Cx, args: &Args) -> KernelResult {
    let lambd = number(cx, args.scalar("lambd")?);
    cx.check(lambd.is_none_or(|v| v >= 0.0), softshrink::C1, |_| format!("lambd is {lambd:?}"))?;
    activation(cx, args, Domain::FLOAT.on_cpu())
}

clauses! { log_sigmoid {
    C1 "`self` has a floating point dtype."
} }

/// `aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)`: both like `self`.
fn log_sigmoid_forward(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, log_sigmoid::C1)?;
    let output = cx.elementwise(&[x], x.dtype, log_sigmoid::C1)?;
    Ok(smallvec![output.clone().into(), output.into()])
}

clauses! { rrelu_with_noise {
    C1 "`self` is of `bfloat16`, `float32` or `float64`."
    C2 "In training, `noise` has the shape and the dtype of `self`."
} }

/// `aten::rrelu_with_noise_functional(Tensor self, Tensor noise, …) -> (Tensor, Tensor noise_out)`: like `self` and
/// `noise`.
fn rrelu_with_noise(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, noise) = (args.tensor("self")?, args.tensor("noise")?);
    cx.require_dtype(
        x.dtype,
        Domain::SINGLE_DOUBLE.with(Domain::BFLOAT).on_cpu(),
        &x.device,
        rrelu_with_noise::C1,
    )?;
    if args.flag("training")? {
        cx.require_same_shape(&x.sizes, &noise.sizes, rrelu_with_noise::C2)?;
        cx.check(x.dtype == noise.dtype, rrelu_with_noise::C2, |_| {
            format!("noise of {} for {}", noise.dtype, x.dtype)
        })?;
    }
    let output = cx.elementwise(&[x], x.dtype, rrelu_with_noise::C1)?;
    let noise = cx.elementwise(&[noise], noise.dtype, rrelu_with_noise::C1)?;
    Ok(smallvec![output.into(), noise.into()])
}

clauses! { prelu {
    C1 "`self` and `weight` have the same floating point dtype."
    C2 "`weight` has at most 1 dimension."
    C3 "`weight` has one element, or one for each channel of `self`. A tensor with less than 2 dimensions \
        has one channel."
} }

/// `aten::prelu(Tensor self, Tensor weight) -> Tensor`: `[N, C, …], [C] or [1] -> [N, C, …]`.
fn prelu(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, weight) = (args.tensor("self")?, args.tensor("weight")?);
    cx.check(x.dtype == weight.dtype, prelu::C1, |_| format!("{} and {} differ", x.dtype, weight.dtype))?;
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, prelu::C1)?;
    cx.check(weight.rank() <= 1, prelu::C2, |_| format!("weight has {} dimensions", weight.rank()))?;
    let parameters = cx.numel(weight);
    let mut fits = vec![cx.eq(parameters, 1)];
    if x.rank() > 1 {
        fits.push(cx.eq(parameters, x.size(1)));
    }
    let fits = cx.any(&fits);
    cx.require(fits, prelu::C3, |cx| {
        format!("{} parameters for a tensor of shape {}", cx.show(parameters), cx.show_all(&x.sizes))
    })?;
    one(cx.elementwise(&[x], x.dtype, prelu::C3)?)
}

clauses! { alike {
    C1 "The operands have the same floating point dtype."
    C2 "The shapes of the operands broadcast."
} }

/// A function of the first `count` tensors, which are of one float dtype.
fn alike(cx: &mut Cx, args: &Args, count: usize) -> KernelResult {
    let mut operands: Vec<&Tensor> = Vec::new();
    for at in 0..count {
        operands.push(args.tensor_at(at)?);
    }
    require_alike(cx, &operands)?;
    one(cx.elementwise(&operands, operands[0].dtype, alike::C2)?)
}

fn require_alike(cx: &mut Cx, operands: &[&Tensor]) -> Result<(), KernelError> {
    for x in operands {
        let dtype = operands[0].dtype;
        cx.check(x.dtype == dtype, alike::C1, |_| format!("the dtypes differ: {dtype} and {}", x.dtype))?;
        cx.require_dtype(dtype, Domain::FLOAT.on_cpu(), &x.device, alike::C1)?;
    }
    Ok(())
}

/// `aten::_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight) -> (Tensor, Tensor)`: both of the
/// broadcast shape.
fn prelu_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let operands = [&**args.tensor("self")?, &**args.tensor("weight")?, &**args.tensor("grad_output")?];
    require_alike(cx, &operands)?;
    let result = cx.elementwise(&operands, operands[0].dtype, alike::C2)?;
    Ok(smallvec![result.clone().into(), result.into()])
}

clauses! { glu {
    C1 "`self` has a dimension `dim`."
    C2 "The size of `self` along `dim` is even."
    C3 "`self` has a floating point dtype with a CPU kernel."
} }

/// `aten::glu(Tensor self, int dim=-1) -> Tensor`: the dimension is halved.
fn glu(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(x.rank() > 0, glu::C1, |_| "self has no dimension to halve".to_string())?;
    let dim = cx.dim(args.int("dim")?, x.rank(), glu::C1)?;
    let (rest, two) = (cx.modulo(x.sizes[dim], 2), cx.int(2));
    cx.require_eq(rest, Expr::ZERO, glu::C2, "the halved size is odd")?;
    let mut half = (**x).clone();
    half.sizes[dim] = cx.floor_div(x.sizes[dim], two);
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, glu::C3)?;
    one(cx.elementwise(&[&half, &half], x.dtype, glu::C2)?)
}

clauses! { glu_backward {
    C1 "`self` has a dimension `dim`, whose size is even."
    C2 "`grad_output` expands to the shape of `glu(self)`."
    C3 "`grad_output` and `self` have the same floating point dtype."
} }

/// `aten::glu_backward(Tensor grad_output, Tensor self, int dim) -> Tensor`: like `self`, contiguous.
fn glu_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x) = (args.tensor("grad_output")?, args.tensor("self")?);
    cx.check(x.rank() > 0, glu_backward::C1, |_| "self has no dimension to halve".to_string())?;
    let dim = cx.dim(args.int("dim")?, x.rank(), glu_backward::C1)?;
    let rest = cx.modulo(x.sizes[dim], 2);
    cx.require_eq(rest, Expr::ZERO, glu_backward::C1, "the halved size is odd")?;
    let mut half = x.sizes.clone();
    half[dim] = cx.floor_div(x.sizes[dim], 2);
    cx.require_expandable(&grad.sizes, &half, glu_backward::C2)?;
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, glu_backward::C3)?;
    cx.check(grad.dtype == x.dtype, glu_backward::C3, |_| format!("{} is not {}", grad.dtype, x.dtype))?;
    let strides = cx.format_strides(&x.sizes, MemoryFormat::Contiguous);
    one(cx.strided(x.sizes.clone(), strides, x.dtype, &x.device))
}

/// One half of each operand along `dim`, the other one lying inside it as well.
fn halves(cx: &mut Cx, operands: &[&Tensor], dim: usize, half: Expr) -> Result<Vec<Tensor>, KernelError> {
    let whole = cx.mul(half, 2);
    let mut halves = Vec::with_capacity(operands.len());
    for operand in operands {
        cx.check(dim < operand.rank(), glu_jvp::C2, |_| format!("there is no dimension {dim}"))?;
        let inside = cx.le(whole, operand.sizes[dim]);
        cx.require(inside, glu_jvp::C2, |cx| {
            format!("two halves of {} are more than {}", cx.show(half), cx.show(operand.sizes[dim]))
        })?;
        let mut part = (*operand).clone();
        part.sizes[dim] = half;
        halves.push(part);
    }
    Ok(halves)
}

/// The dimension that is halved, which both tensors have.
fn halved(cx: &mut Cx, x: &Tensor, glu: &Tensor, dim: Expr) -> Result<usize, KernelError> {
    let dim = cx.dim(dim, x.rank(), glu_jvp::C1)?;
    cx.check(dim < x.rank() && dim < glu.rank(), glu_jvp::C1, |_| {
        format!("dimension {dim} is to be halved of {} and {}", x.rank(), glu.rank())
    })?;
    Ok(dim)
}

clauses! { glu_jvp {
    C1 "`dim` is a dimension of both `x` and the result of `glu`."
    C2 "Along `dim`, the operands are at least twice as large as the result of `glu`."
    C3 "The halves of the operands broadcast."
    C5 "The dtypes promote to a common one, and `x` is floating point or complex."
} }

/// `aten::glu_jvp(Tensor glu, Tensor x, Tensor dx, int dim) -> Tensor`: the tangent of `glu`, in which it and the halves
/// of the operands meet.
fn glu_jvp(cx: &mut Cx, args: &Args) -> KernelResult {
    let (glu, x, dx) = (args.tensor("glu")?, args.tensor("x")?, args.tensor("dx")?);
    let dim = halved(cx, x, glu, args.int("dim")?)?;
    let parts = halves(cx, &[x, dx], dim, glu.sizes[dim])?;
    cx.require_dtype(x.dtype, Domain::FLOAT_COMPLEX.on_cpu(), &x.device, glu_jvp::C5)?;
    one(cx.combined(&[&parts[1], &parts[0], glu], glu_jvp::C3)?)
}

/// `aten::glu_backward_jvp(Tensor grad_x, Tensor grad_glu, Tensor x, Tensor dgrad_glu, Tensor dx, int dim) -> Tensor`:
/// the two halves of the gradient's tangent, in which the halves of the operands meet, joined.
///
/// `x` has a dimension `dim`, and `grad_glu` as well. The halves, which are of the size of `grad_glu` there, lie inside
/// `x`, `dx` and `grad_x`. The dtypes promote; integers become `float32`.
fn glu_backward_jvp(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, grad_glu, tangent) = (args.tensor("x")?, args.tensor("grad_glu")?, args.tensor("dgrad_glu")?);
    let dim = halved(cx, x, grad_glu, args.int("dim")?)?;
    let parts = halves(cx, &[x, args.tensor("dx")?, args.tensor("grad_x")?], dim, grad_glu.sizes[dim])?;
    let operands = [&parts[0], &parts[1], &parts[2], &**tangent];
    let dtype = cx.common_dtype(&operands, glu_jvp::C5)?;
    let dtype = if x.dtype.is_float() || x.dtype.is_complex() { dtype } else { to_float(dtype) };
    let mut sizes = cx.broadcast(operands.map(|t| t.sizes.as_slice()), glu_jvp::C3)?;
    let at = dim + sizes.len() - x.rank();
    if let Some(size) = sizes.get_mut(at) {
        *size = cx.mul(*size, 2);
    }
    one(cx.contiguous(sizes, dtype, &x.device))
}

clauses! { elu_backward {
    C1 "If `is_result` is true, `alpha` is not negative."
} }

/// `aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor
/// self_or_result) -> Tensor`.
fn elu_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let alpha = number(cx, args.scalar("alpha")?);
    let told = !args.flag("is_result")? || alpha.is_none_or(|v| v >= 0.0);
    cx.check(told, elu_backward::C1, |_| format!("alpha is {alpha:?} and the result is given"))?;
    gradient(cx, args, Domain::FLOAT.on_cpu())
}

clauses! { leaky_relu_backward {
    C1 "If `self_is_result` is true, `negative_slope` is not negative."
} }

/// `aten::leaky_relu_backward(Tensor grad_output, Tensor self, Scalar negative_slope, bool self_is_result) -> Tensor`.
fn leaky_relu_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let slope = number(cx, args.scalar("negative_slope")?);
    let told = !args.flag("self_is_result")? || slope.is_none_or(|v| v >= 0.0);
    cx.check(told, leaky_relu_backward::C1, |_| format!("the slope is {slope:?} and the result is given"))?;
    gradient(cx, args, Domain::FLOAT.on_cpu())
}

/// `aten::rrelu_with_noise_backward(Tensor grad_output, Tensor self, Tensor noise, …) -> Tensor`:
/// `grad_output * noise` when training with distinct bounds, else as [`leaky_relu_backward`].
fn rrelu_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (lower, upper) = (number(cx, args.scalar("lower")?), number(cx, args.scalar("upper")?));
    let noisy = args.flag("training")? && lower.zip(upper).is_some_and(|(l, u)| u - l > 1e-6);
    let grad = Operand::Tensor(args.tensor("grad_output")?);
    if noisy {
        return cx.pointwise(
            &[grad, Operand::Tensor(args.tensor("noise")?)],
            Domain::ORDINARY.on_cpu(),
            Out::Common,
        );
    }
    cx.pointwise(&[grad, Operand::Tensor(args.tensor("self")?)], Domain::FLOAT.on_cpu(), Out::Common)
}

clauses! { mish_backward {
    C1 "`self` has a floating point dtype."
} }

/// `aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor`: of the dtype of `self`.
fn mish_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    cx.check(Category::of(x.dtype) == Category::Float, mish_backward::C1, |_| {
        format!("a gradient of mish is not of {}", x.dtype)
    })?;
    let returns = gradient(cx, args, Domain::FLOAT.on_cpu())?;
    match returns.first() {
        Some(Value::Tensor(t)) => one(t.with_dtype(x.dtype)),
        _ => Ok(returns),
    }
}

clauses! { gelu_backward {
    C1 "`grad` expands to the shape of `self`."
} }

/// `aten::infinitely_differentiable_gelu_backward(Tensor grad, Tensor self) -> Tensor`: products of the operands and
/// floats, the last of them in place.
fn gelu_backward_differentiable(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, x) = (args.tensor("grad")?, args.tensor("self")?);
    cx.require_expandable(&grad.sizes, &x.sizes, gelu_backward::C1)?;
    let half = Scalar::Float(cx.pool().float(0.5));
    let operands = [Operand::Tensor(grad), Operand::Tensor(x), Operand::Scalar(half)];
    cx.pointwise(&operands, Domain::ORDINARY.on_cpu(), Out::Common)
}
