//! Random tensors and dropout.
use super::cast::fresh_like;
use super::creation::{device_or, dtype_or, like_tensor, require_natural, sized};
use crate::domain::{Accepted, Domain};
use crate::error::one;
use crate::kernel::{Kernel, kernels};
use crate::ops::creation::creation;
use crate::promote::Category;
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::{Device, Dtype};
use smallvec::smallvec;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    uniform::ALL,
    randint::ALL,
    randperm::ALL,
    random::ALL,
    bernoulli::ALL,
    normal::ALL,
    multinomial::ALL,
    dropout::ALL,
    native_dropout::ALL,
];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| drawn(cx, args, Domain::FLOAT_COMPLEX.on_cpu()) => "aten.rand.default", "aten.rand.generator",
        "aten.randn.default", "aten.randn.generator";
    normal_sized => "aten.normal.float_float", "prims.normal.default";
    uniform_prim => "prims.uniform.default";
    |cx, args| drawn_like(cx, args, Domain::FLOAT_COMPLEX.on_cpu()) =>
        "aten.rand_like.default", "aten.rand_like.generator";
    |cx, args| drawn_like(cx, args, Domain::FLOAT_COMPLEX.by_definition()) =>
        "aten.randn_like.default", "aten.randn_like.generator";
    randint => "aten.randint.default", "aten.randint.generator", "aten.randint.low", "aten.randint.low_generator";
    randint_like => "aten.randint_like.default", "aten.randint_like.generator", "aten.randint_like.low_dtype",
        "aten.randint_like.low_generator_dtype", "aten.randint_like.Tensor", "aten.randint_like.Tensor_generator";
    randperm => "aten.randperm.default", "aten.randperm.generator";
    |cx, args| refilled(cx, args, Domain::FLOAT_COMPLEX.on_cpu()) => "aten.uniform.default";
    |cx, args| refilled(cx, args, Domain::FLOAT_COMPLEX.on_cpu()) => "aten.normal_functional.default";
    |cx, args| refilled(cx, args, Domain::FLOAT.by_definition()) =>
        "aten.exponential.default", "aten.log_normal.default", "aten.cauchy.default";
    |cx, args| refilled(cx, args, Domain::REAL.by_definition()) => "aten.geometric.default";
    |cx, args| refilled(cx, args, Domain::REAL_BOOL.on_cpu()) =>
        "aten.random.default", "aten.random.from", "aten.random.to";
    bernoulli => "aten.bernoulli.default", "aten.bernoulli.p", "aten.bernoulli.Tensor";
    normal => "aten.normal.Tensor_float", "aten.normal.float_Tensor", "aten.normal.Tensor_Tensor";
    multinomial => "aten.multinomial.default";
    dropout => "aten.dropout.default", "aten.alpha_dropout.default", "aten.feature_dropout.default",
        "aten.feature_alpha_dropout.default";
    native_dropout => "aten.native_dropout.default";
    sampled => "aten.poisson.default", "aten._standard_gamma.default", "aten._sample_dirichlet.default";
    binomial => "aten.binomial.default";
};

/// `aten::rand(SymInt[] size, *, …) -> Tensor`: `float32` by default.
fn drawn(cx: &mut Cx, args: &Args, accepted: Accepted) -> KernelResult {
    let dtype = dtype_or(args, Dtype::Float32)?;
    cx.require_dtype(dtype, accepted, &device_or(args, Device::cpu())?, random::C1)?;
    sized(cx, args, Dtype::Float32)
}

/// `aten::rand_like(Tensor self, *, …) -> Tensor`.
fn drawn_like(cx: &mut Cx, args: &Args, accepted: Accepted) -> KernelResult {
    let result = like_tensor(cx, args, args.tensor("self")?)?;
    cx.require_dtype(result.dtype, accepted, &result.device, random::C1)?;
    one(result)
}

/// A condition on a parameter of a distribution, checked where its value is known.
fn require_parameter(
    cx: &mut Cx,
    args: &Args,
    name: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<(), KernelError> {
    let parameter = args.float(name)?;
    let value = cx.pool().as_float(parameter);
    cx.check(value.is_none_or(fits), random::C2, |cx| format!("{name} is {}", cx.show(parameter)))
}

/// `aten::normal.float_float(float mean, float std, SymInt[] size, *, …) -> Tensor`.
///
/// `std` is not negative.
fn normal_sized(cx: &mut Cx, args: &Args) -> KernelResult {
    let negative = match args.value("std")?.as_scalar() {
        Some(crate::Scalar::Float(e) | crate::Scalar::Int(e)) => {
            let e = cx.pool().to_float(e);
            cx.pool().as_float(e).is_some_and(|v| v < 0.0)
        }
        _ => false,
    };
    cx.check(!negative, random::C2, |_| "std is negative".to_string())?;
    drawn(cx, args, Domain::FLOAT_COMPLEX.on_cpu())
}

clauses! { uniform {
    C1 "`stride` has an entry for each size."
} }

/// `prims::uniform(SymInt[] shape, *, …, SymInt[] stride, …) -> Tensor`.
fn uniform_prim(cx: &mut Cx, args: &Args) -> KernelResult {
    let (sizes, strides) = (args.ints("shape")?, args.ints("stride")?);
    cx.check(sizes.len() == strides.len(), uniform::C1, |_| {
        format!("{} sizes and {} strides", sizes.len(), strides.len())
    })?;
    require_natural(cx, sizes, creation::C1)?;
    let (dtype, device) = (dtype_or(args, Dtype::Float32)?, device_or(args, Device::cpu())?);
    one(cx.strided(sizes.into(), strides.into(), dtype, &device))
}

/// Requires `low < high`.
fn require_bounds(cx: &mut Cx, args: &Args) -> Result<(), KernelError> {
    let low = if args.has("low") { args.int("low")? } else { Expr::ZERO };
    let high = args.int("high")?;
    let less = cx.lt(low, high);
    cx.require(less, randint::C1, |cx| format!("no integer from {} below {}", cx.show(low), cx.show(high)))
}

clauses! { randint {
    C1 "`low` is less than `high`. A `high` that is a tensor has no dimensions."
    C2 "The dtype is not complex. It is `bool` only if `high` is at most 2."
    C3 "With a generator, `high` is not a tensor: torch reads its value while it traces, and fails."
} }

/// `aten::randint.low(SymInt low, SymInt high, SymInt[] size, *, ScalarType? dtype=long, …) -> Tensor`.
fn randint(cx: &mut Cx, args: &Args) -> KernelResult {
    require_bounds(cx, args)?;
    let dtype = dtype_or(args, Dtype::Int64)?;
    cx.check(!dtype.is_complex(), randint::C2, |_| format!("{dtype} is complex"))?;
    sized(cx, args, Dtype::Int64)
}

/// `aten::randint_like(Tensor self, SymInt high, *, …) -> Tensor`.
///
/// `low < high`; a limit given as a tensor has no dimensions. The dtype is not complex nor `bool`, unless 0 and 1 are the
/// numbers drawn.
fn randint_like(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    let result = like_tensor(cx, args, x)?;
    if let Ok(high) = args.opt_tensor("high") {
        cx.check(!args.has("generator"), randint::C3, |_| {
            "a limit given as a tensor has no elements while a program is traced".into()
        })?;
        let rank = high.map_or(0, |high| high.rank());
        cx.check(rank == 0, randint::C1, |_| format!("the limit has {rank} dimensions"))?;
    } else {
        require_bounds(cx, args)?;
    }
    cx.require_dtype(result.dtype, Domain::REAL_BOOL.on_cpu(), &result.device, randint::C2)?;
    if result.dtype.is_bool() && args.opt_tensor("high").is_err() {
        let small = cx.le(args.int("high")?, 2);
        cx.require(small, randint::C2, |_| "bool holds 0 and 1 only".to_string())?;
    }
    one(result)
}

clauses! { randperm {
    C1 "`n` is not negative."
    C2 "The dtype is neither complex nor `bool`."
} }

/// `aten::randperm(SymInt n, *, ScalarType? dtype=long, …) -> Tensor`: `[n]`.
fn randperm(cx: &mut Cx, args: &Args) -> KernelResult {
    let n = args.int("n")?;
    require_natural(cx, &[n], randperm::C1)?;
    let (dtype, device) = (dtype_or(args, Dtype::Int64)?, device_or(args, Device::cpu())?);
    cx.require_dtype(dtype, Domain::REAL.on_cpu(), &device, randperm::C2)?;
    one(cx.contiguous([n].as_slice(), dtype, &device))
}

clauses! { random {
    C1 "The dtype is one in which the distribution can be sampled."
    C2 "The parameters are within the range of the distribution."
    C4 "`count` and `prob` have the same dtype."
} }

/// `aten::uniform(Tensor self, float from=0., float to=1., *, …) -> Tensor` and others that draw all elements anew: like
/// `self`.
fn refilled(cx: &mut Cx, args: &Args, accepted: Accepted) -> KernelResult {
    let x = args.tensor("self")?;
    cx.require_dtype(x.dtype, accepted, &x.device, random::C1)?;
    match args.schema.name.as_str().trim_end_matches('_') {
        "uniform" => {
            let (from, to) = (args.float("from")?, args.float("to")?);
            let bounds = cx.pool().as_float(from).zip(cx.pool().as_float(to));
            cx.check(bounds.is_none_or(|(from, to)| from <= to), random::C2, |cx| {
                format!("no number from {} below {}", cx.show(from), cx.show(to))
            })?;
        }
        "normal_functional" => require_parameter(cx, args, "std", |v| v >= 0.0)?,
        "log_normal" => require_parameter(cx, args, "std", |v| v > 0.0)?,
        "exponential" => require_parameter(cx, args, "lambd", |v| v > 0.0)?,
        "geometric" => require_parameter(cx, args, "p", |v| 0.0 < v && v < 1.0)?,
        "cauchy" => require_parameter(cx, args, "sigma", |v| v > 0.0)?,
        "random" if args.has("to") => {
            let from = if args.has("from") { args.int("from")? } else { Expr::ZERO };
            if let Some(to) = args.opt_int("to")? {
                let less = cx.lt(from, to);
                cx.require(less, random::C2, |cx| {
                    format!("no integer from {} below {}", cx.show(from), cx.show(to))
                })?;
            }
        }
        _ => {}
    }
    one(fresh_like(cx, x, x.dtype, &x.device, None)?)
}

clauses! { bernoulli {
    C1 "`self` has a floating point dtype if it holds the probabilities."
    C3 "A tensor `p` has a floating point dtype, and broadcasts to the shape of `self` unless that is \
        empty."
} }

/// `aten::bernoulli(Tensor self, *, …) -> Tensor`: like `self`.
///
/// A probability given lies in `[0, 1]`.
fn bernoulli(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    if !args.has("p") {
        cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, bernoulli::C1)?;
    } else if let Ok(p) = args.tensor("p") {
        let numel = cx.numel(x);
        if !cx.is_nothing(numel, bernoulli::C3) {
            cx.require_expandable(&p.sizes, &x.sizes, bernoulli::C3)?;
        }
        cx.check(p.dtype.is_float(), bernoulli::C3, |_| format!("probabilities are not of {}", p.dtype))?;
    } else {
        require_parameter(cx, args, "p", |v| (0.0..=1.0).contains(&v))?;
    }
    one(fresh_like(cx, x, x.dtype, &x.device, None)?)
}

clauses! { normal {
    C1 "The shapes of `mean` and `std` broadcast."
    C2 "`mean` has a floating point or complex dtype, and `std` is not complex. A number for `std` is not \
        negative."
} }

/// `aten::normal.Tensor_Tensor(Tensor mean, Tensor std, *, …) -> Tensor`: the operands broadcast.
fn normal(cx: &mut Cx, args: &Args) -> KernelResult {
    let (mean, std) = (args.tensor("mean").ok(), args.tensor("std").ok());
    if let Some(std) = std {
        cx.check(!std.dtype.is_complex(), normal::C2, |_| format!("std is of {}", std.dtype))?;
    } else {
        require_parameter(cx, args, "std", |v| v >= 0.0)?;
    }
    let operands: Vec<&Tensor> = [mean, std].into_iter().flatten().map(|t| &**t).collect();
    let dtype = operands.first().map_or(Dtype::Float32, |t| t.dtype);
    cx.check(Category::of(dtype) >= Category::Float, normal::C2, |_| format!("{dtype} is not of floats"))?;
    one(cx.elementwise(&operands, dtype, normal::C1)?)
}

clauses! { multinomial {
    C1 "`self` has a floating point dtype, and 1 or 2 dimensions."
    C2 "`num_samples` is positive."
    C3 "Without `replacement`, `num_samples` is at most the last size of `self`."
} }

/// `aten::multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, …) -> Tensor`: `[n, k] -> [n,
/// num_samples]`, or `[k] -> [num_samples]`, of `int64`.
fn multinomial(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, count) = (args.tensor("self")?, args.int("num_samples")?);
    cx.require_dtype(x.dtype, Domain::FLOAT.on_cpu(), &x.device, multinomial::C1)?;
    cx.check(matches!(x.rank(), 1 | 2), multinomial::C1, |_| format!("{} dimensions", x.rank()))?;
    let positive = cx.gt(count, 0);
    cx.require(positive, multinomial::C2, |cx| format!("{} samples are asked for", cx.show(count)))?;
    if !args.flag("replacement")? {
        let enough = cx.le(count, x.size(-1));
        cx.require(enough, multinomial::C3, |cx| {
            format!("{} samples from {} without replacement", cx.show(count), cx.show(x.size(-1)))
        })?;
    }
    let mut sizes: Sizes = x.sizes.clone();
    sizes[x.rank() - 1] = count;
    one(cx.contiguous(sizes, Dtype::Int64, &x.device))
}

clauses! { dropout {
    C2 "`input` has a floating point or complex dtype, unless all or none is dropped."
    C3 "For feature dropout, `input` has at least 2 dimensions."
} }

/// `aten::dropout(Tensor input, float p, bool train) -> Tensor` and its kin: like `input`, which it is when nothing is
/// dropped.
///
/// `p` lies in `[0, 1]`.
fn dropout(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    require_parameter(cx, args, "p", |v| (0.0..=1.0).contains(&v))?;
    let p = args.float("p")?;
    let zero = cx.pool().as_float(p) == Some(0.0);
    if zero || !args.flag("train")? {
        return one(Tensor { wrapped: false, ..(**x).clone() });
    }
    if cx.pool().as_float(p) == Some(1.0) {
        // Everything is dropped: the product with 0.
        return one(cx.elementwise(&[x], x.dtype, dropout::C2)?);
    }
    if args.schema.name.starts_with("feature") {
        cx.check(x.rank() >= 2, dropout::C3, |_| format!("{} dimensions have no features", x.rank()))?;
    }
    cx.require_dtype(x.dtype, Domain::FLOAT_COMPLEX.by_definition(), &x.device, dropout::C2)?;
    one(cx.elementwise(&[x], x.dtype, dropout::C2)?)
}

clauses! { native_dropout {
    C2 "In training, `input` has a floating point or complex dtype."
    C3 "Whether `input` is empty, which decides the dtype of the mask."
} }

/// `aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)`: the result and the mask, of `bool`;
/// that of a tensor without elements is one like it.
///
/// `p` lies in `[0, 1]`.
fn native_dropout(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("input")?;
    let train = args.opt_flag("train")?.unwrap_or(true);
    if train {
        require_parameter(cx, args, "p", |v| (0.0..=1.0).contains(&v))?;
        cx.require_dtype(x.dtype, Domain::FLOAT_COMPLEX.by_definition(), &x.device, native_dropout::C2)?;
    }
    let result = fresh_like(cx, x, x.dtype, &x.device, None)?;
    let numel = cx.numel(x);
    let empty = cx.eq(numel, 0);
    let mask = if cx.branch_or(empty, false, native_dropout::C3) { x.dtype } else { Dtype::Bool };
    let mask = result.with_dtype(mask);
    Ok(smallvec![result.into(), mask.into()])
}

/// `aten::poisson(Tensor self, Generator? generator=None) -> Tensor` and its like: numbers drawn with the parameters
/// `self`, in its shape.
///
/// The parameters are floats; whether the CPU draws in 16 bits is not known.
fn sampled(cx: &mut Cx, args: &Args) -> KernelResult {
    let x = args.tensor("self")?;
    require_sampled_in(cx, x)?;
    one(cx.contiguous(x.sizes.clone(), x.dtype, &x.device))
}

fn require_sampled_in(cx: &mut Cx, x: &Tensor) -> Result<(), KernelError> {
    if Domain::HALVES.contains(x.dtype) {
        return Err(KernelError::Unsupported(format!("samples of {}", x.dtype)));
    }
    cx.require_kind(x, Domain::SINGLE_DOUBLE.on_cpu(), random::C1)
}

/// `aten::binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor`: numbers drawn with both parameters,
/// in the shape they share; parameters of different shapes are not followed.
fn binomial(cx: &mut Cx, args: &Args) -> KernelResult {
    let (count, probability) = (args.tensor("count")?, args.tensor("prob")?);
    require_sampled_in(cx, count)?;
    cx.same_dtype(&[count, probability], random::C4)?;
    if count.sizes != probability.sizes {
        return Err(KernelError::Unsupported("a binomial distribution with parameters of two shapes".into()));
    }
    one(cx.contiguous(count.sizes.clone(), count.dtype, &count.device))
}
