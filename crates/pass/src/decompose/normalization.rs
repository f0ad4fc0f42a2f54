//! Normalization and what dropout is in evaluation.
use super::Made;
use super::builder::{Builder, Function, dims, size};
use super::call::{Call, refused};
use super::views::{one, reshaped};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("layer_norm.default", |b, call| {
        let names = ["input", "normalized_shape", "weight", "bias", "eps"];
        b.one("native_layer_norm.default", &names.map(|name| call.argument(name))).map(one)
    }),
    ("group_norm.default", group_norm),
    ("rms_norm.default", rms_norm),
    ("instance_norm.default", instance_norm),
    ("batch_norm.default", batch_norm),
    ("_native_batch_norm_legit_functional.default", batch_norm_training),
    ("dropout.default", |b, call| {
        if !draws(call)? {
            return Ok(vec![call.tensor("input")?]);
        }
        let given = [call.argument("input"), call.argument("p"), Argument::Bool(true)];
        b.one("native_dropout.default", &given).map(one)
    }),
    ("feature_dropout.default", dropout),
    ("alpha_dropout.default", dropout),
    ("feature_alpha_dropout.default", dropout),
    ("prelu.default", prelu),
    ("rrelu.default", rrelu),
    ("glu.default", glu),
];

/// Whether a dropout draws numbers.
fn draws(call: &Call<'_>) -> Result<bool, TraceError> {
    Ok(call.truth("train")? && call.float("p")? != 0.0)
}

fn dropout(_: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    if draws(call)? {
        return Err(refused("dropout draws random numbers"));
    }
    Ok(vec![call.tensor("input")?])
}

fn group_norm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("input")?;
    let shape = b.sizes(x)?;
    if shape.len() < 2 {
        return Err(refused("its input has fewer than two dimensions"));
    }
    let area = b.product(&shape[2..])?;
    let arguments = [
        x.into(),
        call.argument("weight"),
        call.argument("bias"),
        size(shape[0]),
        size(shape[1]),
        size(area),
        call.argument("num_groups"),
        call.argument("eps"),
    ];
    b.one("native_group_norm.default", &arguments).map(one)
}

fn rms_norm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("input")?;
    let dtype = b.dtype(x)?;
    let (computed, least) = match dtype {
        Dtype::Float16 | Dtype::Bfloat16 => (Dtype::Float32, f64::from(f32::EPSILON)),
        Dtype::Float32 => (dtype, f64::from(f32::EPSILON)),
        Dtype::Float64 => (dtype, f64::EPSILON),
        _ => return Err(refused(format!("{dtype} is left"))),
    };
    let eps = if matches!(call.argument("eps"), Argument::None) { least } else { call.float("eps")? };
    let rank = b.rank(x)?;
    let normalized = call.sizes("normalized_shape")?.len();
    let first = rank.checked_sub(normalized).ok_or_else(|| refused("its shape has too many dimensions"))?;
    let wide = b.cast(x, computed)?;
    let squared = b.one("pow.Tensor_Scalar", &[wide.into(), Argument::Int(2)])?;
    let mean = b.one("mean.dim", &[squared.into(), dims(first..rank), Argument::Bool(true)])?;
    let shifted = b.one("add.Scalar", &[mean.into(), Argument::Float(eps)])?;
    let factor = b.one("rsqrt.default", &[shifted.into()])?;
    let mut made = b.one("mul.Tensor", &[wide.into(), factor.into()])?;
    if let Some(weight) = call.optional_tensor("weight") {
        made = b.one("mul.Tensor", &[made.into(), weight.into()])?;
    }
    b.cast(made, dtype).map(one)
}

/// Normalizes each channel of each sample; without running statistics.
fn instance_norm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("input")?;
    let statistics = call.optional_tensor("running_mean").is_some();
    if statistics && !call.truth("use_input_stats")? {
        let names = ["input", "weight", "bias", "running_mean", "running_var"];
        let mut given: Vec<Argument> = names.map(|name| call.argument(name)).into();
        given.extend([
            Argument::Bool(false),
            call.argument("momentum"),
            call.argument("eps"),
            Argument::Bool(false),
        ]);
        return b.one("batch_norm.default", &given).map(one);
    }
    let statistics = statistics || !call.truth("use_input_stats")?;
    let rank = b.rank(x)?;
    let dtype = b.dtype(x)?;
    if statistics || rank < 3 || matches!(dtype, Dtype::Float16 | Dtype::Bfloat16) {
        return Err(refused("running statistics, halves and fewer than three dimensions are not decomposed"));
    }
    let arguments = [x.into(), dims(2..rank)];
    let named = [("correction", Argument::Int(0)), ("keepdim", Argument::Bool(true))];
    let variance = b.one_with("var.correction", &arguments, &named)?;
    let mean = b.one("mean.dim", &[x.into(), dims(2..rank), Argument::Bool(true)])?;
    let shifted = b.one("add.Scalar", &[variance.into(), call.argument("eps")])?;
    let factor = b.one("rsqrt.default", &[shifted.into()])?;
    let centred = b.one("sub.Tensor", &[x.into(), mean.into()])?;
    let made = b.one("mul.Tensor", &[centred.into(), factor.into()])?;
    affine(b, call, made).map(one)
}

/// Times the weight plus the bias of each channel.
fn affine(b: &mut Builder<'_, '_>, call: &Call<'_>, x: Proxy) -> Result<Proxy, TraceError> {
    let mut made = x;
    for (name, op) in [("weight", "mul.Tensor"), ("bias", "add.Tensor")] {
        if let Some(operand) = call.optional_tensor(name) {
            let wide = per_channel(b, operand, x)?;
            made = b.one(op, &[made.into(), wide.into()])?;
        }
    }
    Ok(made)
}

/// A tensor of channels in the shape in which it meets another.
fn per_channel(b: &mut Builder<'_, '_>, channels: Proxy, x: Proxy) -> Result<Proxy, TraceError> {
    let mut shape = vec![Operand::Literal(1); b.rank(x)?];
    if let Some(size) = shape.get_mut(1) {
        *size = b.size(channels, 0)?;
    }
    reshaped(b, channels, &shape)
}

fn batch_norm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    if call.truth("training")? {
        if call.optional_tensor("running_mean").is_some() {
            return Err(refused("its running statistics are written (see `functionalize`)"));
        }
        let names = ["input", "weight", "bias", "training", "momentum", "eps"];
        return b.one("_native_batch_norm_legit.no_stats", &names.map(|name| call.argument(name))).map(one);
    }
    let names = ["input", "weight", "bias", "running_mean", "running_var", "momentum", "eps"];
    b.one("_native_batch_norm_legit_no_training.default", &names.map(|name| call.argument(name))).map(one)
}

/// Batch norm in training: the result, the mean and the inverse deviation of the batch, and the new running statistics.
fn batch_norm_training(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("input")?;
    let dtype = b.dtype(x)?;
    if !call.truth("training")? || matches!(dtype, Dtype::Float16 | Dtype::Bfloat16) {
        return Err(refused("halves, and evaluation, are not decomposed"));
    }
    let rank = b.rank(x)?;
    let over = || dims((0..rank).filter(|dim| *dim != 1));
    let named =
        |correction, keep| [("correction", Argument::Int(correction)), ("keepdim", Argument::Bool(keep))];
    let both = b.call_with("var_mean.correction", &[x.into(), over()], &named(0, true))?;
    let [variance, mean] = both[..] else { return Err(refused("there is no mean")) };
    let shifted = b.one("add.Tensor", &[variance.into(), call.argument("eps")])?;
    let factor = b.one("rsqrt.default", &[shifted.into()])?;
    let centred = b.one("sub.Tensor", &[x.into(), mean.into()])?;
    let normal = b.one("mul.Tensor", &[centred.into(), factor.into()])?;
    let result = affine(b, call, normal)?;
    let save_mean = b.one("squeeze.dims", &[mean.into(), over()])?;
    let save_factor = b.one("squeeze.dims", &[factor.into(), over()])?;
    let unbiased = b.one_with("var.correction", &[x.into(), over()], &named(1, false))?;
    let momentum = call.float("momentum")?;
    let mut running = |old: &str, new: Proxy| -> Result<Proxy, TraceError> {
        let new = b.one("mul.Tensor", &[new.into(), Argument::Float(momentum)])?;
        let old = b.one("mul.Tensor", &[call.tensor(old)?.into(), Argument::Float(1.0 - momentum)])?;
        b.one("add.Tensor", &[new.into(), old.into()])
    };
    let (new_mean, new_variance) = (running("running_mean", save_mean)?, running("running_var", unbiased)?);
    Ok(vec![result, save_mean, save_factor, new_mean, new_variance])
}

fn prelu(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, weight) = (call.tensor("self")?, call.tensor("weight")?);
    let rank = b.rank(x)?;
    let weight = if b.rank(weight)? == 0 {
        weight
    } else {
        let mut shape = vec![Operand::Literal(1); rank];
        let channels = usize::from(rank > 1);
        if let Some(size) = shape.get_mut(channels) {
            *size = b.size(weight, 0)?;
        }
        reshaped(b, weight, &shape)?
    };
    let positive = b.one("gt.Scalar", &[x.into(), Argument::Int(0)])?;
    let scaled = b.one("mul.Tensor", &[weight.into(), x.into()])?;
    b.one("where.self", &[positive.into(), x.into(), scaled.into()]).map(one)
}

/// In evaluation a leaky ReLU with the middle of its slopes.
fn rrelu(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    if call.truth("training")? {
        return Err(refused("it draws random numbers"));
    }
    let slope = (call.float("lower")? + call.float("upper")?) / 2.0;
    b.one("leaky_relu.default", &[call.argument("self"), Argument::Float(slope)]).map(one)
}

/// The first half times the sigmoid of the second.
fn glu(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let dtype = b.dtype(x)?;
    let wide = if matches!(dtype, Dtype::Float16 | Dtype::Bfloat16) { b.cast(x, Dtype::Float32)? } else { x };
    let dim = b.dim(call.int("dim")?, b.rank(x)?)?;
    let full = b.size(wide, dim)?;
    let half = b.divided(full, Operand::Literal(2))?;
    let first = super::views::sliced(b, wide, dim, Operand::Literal(0), half)?;
    let second = super::views::sliced(b, wide, dim, half, full)?;
    let gate = b.one("sigmoid.default", &[second.into()])?;
    let made = b.one("mul.Tensor", &[first.into(), gate.into()])?;
    b.cast(made, dtype).map(one)
}
