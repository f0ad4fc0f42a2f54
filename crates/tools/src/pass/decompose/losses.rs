//! Losses.
use super::Made;
use super::builder::{Builder, Function};
use super::call::{Call, refused};
use super::views::{one, reshaped, unsqueezed};
use crate::pass::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("mse_loss.default", |b, call| {
        let distance = difference(b, call)?;
        let squared = b.one("pow.Tensor_Scalar", &[distance.into(), Argument::Int(2)])?;
        reduced(b, call, squared)
    }),
    ("l1_loss.default", |b, call| {
        let distance = distance(b, call)?;
        reduced(b, call, distance)
    }),
    ("smooth_l1_loss.default", smooth_l1),
    ("huber_loss.default", huber),
    ("soft_margin_loss.default", soft_margin),
    ("kl_div.default", kl_div),
    ("binary_cross_entropy.default", binary_cross_entropy),
    ("binary_cross_entropy_with_logits.default", binary_cross_entropy_with_logits),
    ("multi_margin_loss.default", multi_margin),
    ("multilabel_margin_loss.default", multilabel_margin),
    ("cross_entropy_loss.default", cross_entropy),
    ("nll_loss_nd.default", |b, call| likelihood(b, call, call.tensor("self")?).map(one)),
    ("nll_loss.default", |b, call| likelihood(b, call, call.tensor("self")?).map(one)),
    ("nll_loss2d.default", |b, call| likelihood(b, call, call.tensor("self")?).map(one)),
];

fn float(value: f64) -> Argument {
    Argument::Float(value)
}

/// As `reduction` says: each, the mean, or the sum.
fn reduced(b: &mut Builder<'_, '_>, call: &Call<'_>, losses: Proxy) -> Made {
    match call.int("reduction")? {
        0 => Ok(vec![losses]),
        1 => b.one("mean.default", &[losses.into()]).map(one),
        _ => b.one("sum.default", &[losses.into()]).map(one),
    }
}

fn difference(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Result<Proxy, TraceError> {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    if matches!(b.dtype(x)?, Dtype::Float16 | Dtype::Bfloat16) {
        return Err(refused("halves are left"));
    }
    b.one("sub.Tensor", &[x.into(), target.into()])
}

fn distance(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Result<Proxy, TraceError> {
    let difference = difference(b, call)?;
    b.one("abs.default", &[difference.into()])
}

fn smooth_l1(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let distance = distance(b, call)?;
    let beta = call.float("beta")?;
    if beta == 0.0 {
        return reduced(b, call, distance);
    }
    let near = b.one("lt.Scalar", &[distance.into(), float(beta)])?;
    let squared = b.one("pow.Tensor_Scalar", &[distance.into(), Argument::Int(2)])?;
    let half = b.one("mul.Tensor", &[squared.into(), float(0.5)])?;
    let inside = b.one("div.Tensor", &[half.into(), float(beta)])?;
    let outside = b.one("sub.Tensor", &[distance.into(), float(0.5 * beta)])?;
    let losses = b.one("where.self", &[near.into(), inside.into(), outside.into()])?;
    reduced(b, call, losses)
}

fn huber(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let distance = distance(b, call)?;
    let delta = call.float("delta")?;
    let near = b.one("lt.Scalar", &[distance.into(), float(delta)])?;
    let half = b.one("mul.Tensor", &[distance.into(), float(0.5)])?;
    let inside = b.one("mul.Tensor", &[half.into(), distance.into()])?;
    let less = b.one("sub.Tensor", &[distance.into(), float(0.5 * delta)])?;
    let outside = b.one("mul.Tensor", &[less.into(), float(delta)])?;
    let losses = b.one("where.self", &[near.into(), inside.into(), outside.into()])?;
    reduced(b, call, losses)
}

fn soft_margin(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let minus = b.one("neg.default", &[call.argument("self")])?;
    let product = b.one("mul.Tensor", &[minus.into(), call.argument("target")])?;
    let power = b.one("exp.default", &[product.into()])?;
    let losses = b.one("log1p.default", &[power.into()])?;
    reduced(b, call, losses)
}

fn kl_div(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.argument("self"), call.argument("target"));
    let losses = if call.truth("log_target")? {
        let distance = b.one("sub.Tensor", &[target.clone(), x])?;
        let weight = b.one("exp.default", &[target])?;
        b.one("mul.Tensor", &[weight.into(), distance.into()])?
    } else {
        let entropy = b.one("xlogy.Tensor", &[target.clone(), target.clone()])?;
        let cross = b.one("mul.Tensor", &[target, x])?;
        b.one("sub.Tensor", &[entropy.into(), cross.into()])?
    };
    reduced(b, call, losses)
}

/// Each loss times its weight, where there is one.
fn weighted(b: &mut Builder<'_, '_>, call: &Call<'_>, losses: Proxy) -> Result<Proxy, TraceError> {
    match call.optional_tensor("weight") {
        Some(weight) => b.one("mul.Tensor", &[losses.into(), weight.into()]),
        None => Ok(losses),
    }
}

fn binary_cross_entropy(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    let tensor = b.tensor(x)?;
    let least = b.scalar(Argument::Int(-100), tensor.dtype, &tensor.device)?;
    let minus = b.one("neg.default", &[x.into()])?;
    let log_rest = b.one("log1p.default", &[minus.into()])?;
    let log_rest = b.one("maximum.default", &[log_rest.into(), least.into()])?;
    let log = b.one("log.default", &[x.into()])?;
    let log = b.one("maximum.default", &[log.into(), least.into()])?;
    let rest = b.one("sub.Tensor", &[target.into(), Argument::Int(1)])?;
    let first = b.one("mul.Tensor", &[rest.into(), log_rest.into()])?;
    let second = b.one("mul.Tensor", &[target.into(), log.into()])?;
    let losses = b.one("sub.Tensor", &[first.into(), second.into()])?;
    let losses = weighted(b, call, losses)?;
    reduced(b, call, losses)
}

fn binary_cross_entropy_with_logits(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.argument("self"), call.argument("target"));
    let rest = b.one("sub.Tensor", &[Argument::Int(1), target.clone()])?;
    let first = b.one("mul.Tensor", &[rest.into(), x.clone()])?;
    let mut second = b.one("log_sigmoid.default", &[x])?;
    if let Some(weight) = call.optional_tensor("pos_weight") {
        let more = b.one("sub.Tensor", &[weight.into(), Argument::Int(1)])?;
        let more = b.one("mul.Tensor", &[more.into(), target])?;
        let factor = b.one("add.Tensor", &[more.into(), Argument::Int(1)])?;
        second = b.one("mul.Tensor", &[factor.into(), second.into()])?;
    }
    let losses = b.one("sub.Tensor", &[first.into(), second.into()])?;
    let losses = weighted(b, call, losses)?;
    reduced(b, call, losses)
}

fn cross_entropy(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    let classes = i64::from(b.rank(x)? != 1);
    if call.float("label_smoothing")? != 0.0 {
        return Err(refused("labels that are smoothed are left"));
    }
    let arguments = [x.into(), Argument::Int(classes), Argument::Bool(false)];
    let logs = b.one("_log_softmax.default", &arguments)?;
    if !b.dtype(target)?.is_float() {
        return likelihood(b, call, logs).map(one);
    }
    // The target holds probabilities.
    if call.optional_tensor("weight").is_some() {
        return Err(refused("probabilities with weights are left"));
    }
    let product = b.one("mul.Tensor", &[logs.into(), target.into()])?;
    let each = |b: &mut Builder<'_, '_>| {
        let sums = b.one("sum.dim_IntList", &[product.into(), Argument::Ints(vec![classes])])?;
        b.one("neg.default", &[sums.into()])
    };
    let reduction = call.int("reduction")?;
    if reduction == 0 {
        return each(b).map(one);
    }
    let sum = b.one("sum.default", &[product.into()])?;
    let sum = b.one("neg.default", &[sum.into()])?;
    if reduction == 2 {
        return Ok(vec![sum]);
    }
    let mut shape = b.sizes(x)?;
    shape.remove(classes as usize);
    let count = b.product(&shape)?;
    b.one("div.Scalar", &[sum.into(), super::builder::size(count)]).map(one)
}

/// The negative of the logarithms at the target, those that are ignored left out.
fn likelihood(b: &mut Builder<'_, '_>, call: &Call<'_>, logs: Proxy) -> Result<Proxy, TraceError> {
    let target = call.tensor("target")?;
    let rank = b.rank(logs)?;
    let classes = i64::from(rank != 1);
    let (tensor, indices) = (b.tensor(logs)?, b.tensor(target)?);
    let kept = b.one("ne.Scalar", &[target.into(), call.argument("ignore_index")])?;
    let zero = b.scalar(Argument::Int(0), indices.dtype, &indices.device)?;
    let safe = b.one("where.self", &[kept.into(), target.into(), zero.into()])?;
    let index = unsqueezed(b, safe, classes)?;
    let picked = |b: &mut Builder<'_, '_>, x: Proxy| {
        let taken = b.one("gather.default", &[x.into(), Argument::Int(classes), index.into()])?;
        b.one("squeeze.dims", &[taken.into(), Argument::Ints(vec![classes])])
    };
    let nothing = b.scalar(Argument::Int(0), tensor.dtype, &tensor.device)?;
    let only_kept =
        |b: &mut Builder<'_, '_>, x: Proxy| b.one("where.self", &[kept.into(), x.into(), nothing.into()]);
    let mut each = picked(b, logs)?;
    let mut weights = None;
    if let Some(weight) = call.optional_tensor("weight") {
        let mut shape = vec![Operand::Literal(1); rank];
        shape[classes as usize] = b.size(weight, 0)?;
        let wide = reshaped(b, weight, &shape)?;
        let full = b.sizes(logs)?;
        let wide = super::views::expanded(b, wide, &full)?;
        let taken = picked(b, wide)?;
        let taken = only_kept(b, taken)?;
        each = b.one("mul.Tensor", &[each.into(), taken.into()])?;
        weights = Some(taken);
    }
    let each = b.one("neg.default", &[each.into()])?;
    let each = only_kept(b, each)?;
    let reduction = call.int("reduction")?;
    if reduction == 0 {
        return Ok(each);
    }
    let sum = b.one("sum.default", &[each.into()])?;
    if reduction == 2 {
        return Ok(sum);
    }
    let counted = weights.unwrap_or(kept);
    let count = b.one("sum.default", &[counted.into()])?;
    let count = b.cast(count, tensor.dtype)?;
    b.one("div.Tensor", &[sum.into(), count.into()])
}

/// The operand with a batch in front, where it is a single sample.
fn batched(b: &mut Builder<'_, '_>, x: Proxy, rank: usize) -> Result<Proxy, TraceError> {
    if b.rank(x)? + 1 == rank { unsqueezed(b, x, 0) } else { Ok(x) }
}

/// How far scores of other classes come up to that of the class that is named.
fn multi_margin(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    let (single, dtype, power) = (b.rank(x)? < 2, b.dtype(x)?, call.int("p")?);
    if !matches!(dtype, Dtype::Float32 | Dtype::Float64) || !matches!(power, 1 | 2) || single {
        return Err(refused("halves, other powers, and single samples are left"));
    }
    let target = batched(b, target, 1)?;
    let column = unsqueezed(b, target, 1)?;
    let named = b.one("gather.default", &[x.into(), Argument::Int(1), column.into()])?;
    let rest = b.one("sub.Tensor", &[x.into(), named.into()])?;
    let over = b.one("add.Tensor", &[rest.into(), float(call.float("margin")?)])?;
    let mut loss = b.one("clamp.default", &[over.into(), Argument::Int(0)])?;
    if power == 2 {
        loss = b.one("mul.Tensor", &[loss.into(), loss.into()])?;
    }
    if let Some(weight) = call.optional_tensor("weight") {
        let weight = b.one("index_select.default", &[weight.into(), Argument::Int(0), target.into()])?;
        let weight = unsqueezed(b, weight, 1)?;
        loss = b.one("mul.Tensor", &[loss.into(), weight.into()])?;
    }
    let tensor = b.tensor(x)?;
    let classes = b.size(x, 1)?;
    let classes_in_order = super::creation::numbers(b, classes, &tensor.device)?;
    let others = b.one("ne.Tensor", &[classes_in_order.into(), column.into()])?;
    let zero = b.scalar(float(0.0), tensor.dtype, &tensor.device)?;
    let loss = b.one("where.self", &[others.into(), loss.into(), zero.into()])?;
    let each = b.one("mean.dim", &[loss.into(), Argument::Ints(vec![1])])?;
    reduced(b, call, each)
}

/// How far scores of classes that are not named come up to those that are; names end at the first -1.
fn multilabel_margin(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    let tensor = b.tensor(x)?;
    if !matches!(tensor.dtype, Dtype::Float32 | Dtype::Float64) || tensor.sizes.len() != 2 {
        return Err(refused("halves and single samples are left"));
    }
    let classes = b.size(x, 1)?;
    let places = super::creation::numbers(b, classes, &tensor.device)?;
    let whole = b.scalar(super::builder::size(classes), Dtype::Int64, &tensor.device)?;
    let ends = b.one("eq.Scalar", &[target.into(), Argument::Int(-1)])?;
    let ends = b.one("where.self", &[ends.into(), places.into(), whole.into()])?;
    let end = b.one("amin.default", &[ends.into(), Argument::Ints(vec![-1]), Argument::Bool(true)])?;
    let counts = b.one("lt.Tensor", &[places.into(), end.into()])?;
    let (none, zero) = (
        b.scalar(Argument::Int(-1), Dtype::Int64, &tensor.device)?,
        b.scalar(Argument::Int(0), Dtype::Int64, &tensor.device)?,
    );
    let chosen = b.one("where.self", &[counts.into(), target.into(), zero.into()])?;
    let named = b.one("gather.default", &[x.into(), Argument::Int(-1), chosen.into()])?;
    let names = b.one("where.self", &[counts.into(), target.into(), none.into()])?;
    let names = unsqueezed(b, names, -1)?;
    let is_named = b.one("eq.Tensor", &[places.into(), names.into()])?;
    let is_named = b.one("any.dim", &[is_named.into(), Argument::Int(1), Argument::Bool(true)])?;
    // By sample, named class and other class.
    let (scores, named) = (unsqueezed(b, x, 1)?, unsqueezed(b, named, -1)?);
    let over = b.one("sub.Tensor", &[scores.into(), named.into()])?;
    let over = b.one("add.Tensor", &[over.into(), float(1.0)])?;
    let over = b.one("clamp.default", &[over.into(), Argument::Int(0)])?;
    let nothing = b.scalar(float(0.0), tensor.dtype, &tensor.device)?;
    let over = b.one("where.self", &[is_named.into(), nothing.into(), over.into()])?;
    let counts = unsqueezed(b, counts, -1)?;
    let over = b.one("where.self", &[counts.into(), over.into(), nothing.into()])?;
    let sum = b.one("sum.dim_IntList", &[over.into(), Argument::Ints(vec![1, 2])])?;
    let each = b.one("div.Tensor", &[sum.into(), super::builder::size(classes)])?;
    reduced(b, call, each)
}
