//! Normalization over batches, layers, groups and instances.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, all, one};
use sizewise_ir::Dtype;

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (op, _) = name.split_once('.')?;
    let known = [
        "layer_norm",
        "native_layer_norm",
        "rms_norm",
        "_fused_rms_norm",
        "batch_norm",
        "native_batch_norm",
        "_native_batch_norm_legit_no_training",
        "_batch_norm_no_update",
        "group_norm",
        "native_group_norm",
        "instance_norm",
    ];
    if !known.contains(&op) {
        return None;
    }
    let dtype = work(call.out_dtype()?);
    dtype.is_float().then_some(())?;
    let x = call.operand("input", dtype)?;
    match op {
        "layer_norm" | "native_layer_norm" => layer(call, op, &x),
        "rms_norm" | "_fused_rms_norm" => rms(call, op, &x),
        "group_norm" | "native_group_norm" => group(call, op, &x),
        "instance_norm" => {
            let with_statistics = call.has("running_mean") && !call.flag("use_input_stats", true)?;
            (!with_statistics).then_some(())?;
            let spatial: Vec<i64> = (2..i64::try_from(x.rank).ok()?).collect();
            let eps = call.real("eps", 1e-5)?;
            let (value, ..) = standardized(call, &x, &spatial, eps);
            one(by_channel(call, value)?)
        }
        _ => batch(call, op, &x),
    }
}

/// Zero mean and unit variance over dimensions; mean and reciprocal deviation beside it.
fn standardized(call: &mut Call<'_, '_, '_>, x: &Val, dims: &[i64], eps: f64) -> (Val, Val, Val) {
    let mean = call.reduce("ReduceMean", x, dims, true);
    let rest = call.map("Sub", &[x, &mean]);
    let square = call.map("Mul", &[&rest, &rest]);
    let variance = call.reduce("ReduceMean", &square, dims, true);
    let eps = call.float(eps, x.dtype);
    let sum = call.map("Add", &[&variance, &eps]);
    let deviation = call.map("Sqrt", &[&sum]);
    let value = call.map("Div", &[&rest, &deviation]);
    let inverse = call.map("Reciprocal", &[&deviation]);
    (value, mean, inverse)
}

fn scaled(call: &mut Call<'_, '_, '_>, value: Val, name: &str, node: &str, behind: &[i64]) -> Option<Val> {
    if !call.has(name) {
        return Some(value);
    }
    let factor = call.operand(name, value.dtype)?;
    let factor = if behind.is_empty() { factor } else { call.unsqueeze(&factor, behind) };
    Some(call.map(node, &[&value, &factor]))
}

/// Weight and bias for each channel, the second dimension.
fn by_channel(call: &mut Call<'_, '_, '_>, value: Val) -> Option<Val> {
    let behind: Vec<i64> = (1..i64::try_from(value.rank).ok()? - 1).collect();
    let value = scaled(call, value, "weight", "Mul", &behind)?;
    scaled(call, value, "bias", "Add", &behind)
}

fn layer(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let count = i64::try_from(call.elements("normalized_shape")?.len()).ok()?;
    let eps = call.real("eps", 1e-5)?;
    let native = op.starts_with("native");
    let weighted = call.has("weight") && x.dtype == Dtype::Float32;
    if weighted && (!native || !(call.is_used(1) || call.is_used(2))) {
        let mut inputs = vec![x.clone(), call.operand("weight", x.dtype)?];
        if call.has("bias") {
            inputs.push(call.operand("bias", x.dtype)?);
        }
        let inputs: Vec<&Val> = inputs.iter().collect();
        let attributes = vec![attribute::int("axis", -count), attribute::float("epsilon", eps)];
        let value = call.put("LayerNormalization", &inputs, attributes, (x.dtype, x.rank));
        return if native { Some(vec![Some(value), None, None]) } else { one(value) };
    }
    let dims: Vec<i64> = (-count..0).collect();
    let (value, mean, inverse) = standardized(call, x, &dims, eps);
    let value = scaled(call, value, "weight", "Mul", &[])?;
    let value = scaled(call, value, "bias", "Add", &[])?;
    if native { all(vec![value, mean, inverse]) } else { one(value) }
}

fn rms(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let count = i64::try_from(call.elements("normalized_shape")?.len()).ok()?;
    let recorded = call.recorded("input")?.dtype;
    let least = match recorded {
        Dtype::Float64 => f64::EPSILON,
        // What is half as wide is computed in `float32`.
        _ => f32::EPSILON.into(),
    };
    let eps = call.real("eps", least)?;
    let dims: Vec<i64> = (-count..0).collect();
    let square = call.map("Mul", &[x, x]);
    let mean = call.reduce("ReduceMean", &square, &dims, true);
    let eps = call.float(eps, x.dtype);
    let sum = call.map("Add", &[&mean, &eps]);
    let root = call.map("Sqrt", &[&sum]);
    let inverse = call.map("Reciprocal", &[&root]);
    let value = call.map("Mul", &[x, &inverse]);
    let value = scaled(call, value, "weight", "Mul", &[])?;
    if op == "rms_norm" { one(value) } else { all(vec![value, inverse]) }
}

/// Only with the statistics of before: training changes them.
fn batch(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    (!call.flag("training", false)?).then_some(())?;
    let behind: Vec<i64> = (1..i64::try_from(x.rank).ok()? - 1).collect();
    let (mean, variance) = (call.operand("running_mean", x.dtype)?, call.operand("running_var", x.dtype)?);
    let eps = call.float(call.real("eps", 1e-5)?, x.dtype);
    let sum = call.map("Add", &[&variance, &eps]);
    let root = call.map("Sqrt", &[&sum]);
    let (mean, root) = match behind.is_empty() {
        true => (mean, root),
        false => (call.unsqueeze(&mean, &behind), call.unsqueeze(&root, &behind)),
    };
    let rest = call.map("Sub", &[x, &mean]);
    let value = call.map("Div", &[&rest, &root]);
    let value = by_channel(call, value)?;
    if op == "batch_norm" {
        return one(value);
    }
    let count = super::super::items::made(call.node).len();
    if (1..count).any(|index| call.is_used(index)) {
        return None;
    }
    let mut values = vec![None; count];
    *values.first_mut()? = Some(value);
    Some(values)
}

fn group(call: &mut Call<'_, '_, '_>, op: &str, x: &Val) -> Made {
    let groups = match op {
        "group_norm" => call.int("num_groups", 1)?,
        _ => call.int("group", 1)?,
    };
    if op == "native_group_norm" && (call.is_used(1) || call.is_used(2)) {
        return None;
    }
    let (batch, sizes) = (call.size(x, 0), call.shape(x));
    let parts = call.constant_vector(&[groups, -1]);
    let split = call.put("Concat", &[&batch, &parts], vec![attribute::int("axis", 0)], (Dtype::Int64, 1));
    let rows = call.put("Reshape", &[x, &split], Vec::new(), (x.dtype, 3));
    let eps = call.real("eps", 1e-5)?;
    let (value, ..) = standardized(call, &rows, &[-1], eps);
    let value = call.reshape(&value, &sizes, x.rank);
    let value = by_channel(call, value)?;
    if op == "group_norm" { one(value) } else { Some(vec![Some(value), None, None]) }
}
