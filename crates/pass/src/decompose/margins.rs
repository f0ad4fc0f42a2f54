//! Losses of how far the scores of classes that are meant lie above those of others.
//!
//! Source: torch 2.15, `torch/_decomp/decompositions.py` (`multi_margin_loss`, `multilabel_margin_loss_forward`).
use super::Made;
use super::builder::{Builder, Function};
use super::call::{Call, refused};
use super::losses::{float, reduced};
use super::views::unsqueezed;
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype};

pub const RULES: &[(&str, Function)] = &[
    ("multi_margin_loss.default", multi_margin),
    ("multilabel_margin_loss.default", multilabel_margin),
    ("margin_ranking_loss.default", ranking),
    ("triplet_margin_loss.default", triplet),
    ("hinge_embedding_loss.default", hinge_embedding),
    ("cosine_embedding_loss.default", cosine_embedding),
];

/// What lies above zero.
fn above_zero(b: &mut Builder<'_, '_>, x: Proxy) -> Result<Proxy, TraceError> {
    b.one("clamp.default", &[x.into(), Argument::Int(0)])
}

/// `max(0, -target (input1 - input2) + margin)`.
fn ranking(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let difference = b.one("sub.Tensor", &[call.argument("input1"), call.argument("input2")])?;
    let minus = b.one("neg.default", &[call.argument("target")])?;
    let product = b.one("mul.Tensor", &[minus.into(), difference.into()])?;
    let over = b.one("add.Scalar", &[product.into(), call.argument("margin")])?;
    let losses = above_zero(b, over)?;
    reduced(b, call, losses)
}

/// `max(0, margin + |anchor - positive| - |anchor - negative|)`; with `swap` the lesser distance of the negative counts.
fn triplet(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let distance = |b: &mut Builder<'_, '_>, x: &str, y: &str| {
        let given = [call.argument(x), call.argument(y), call.argument("p"), call.argument("eps")];
        b.one("pairwise_distance.default", &given)
    };
    let near = distance(b, "anchor", "positive")?;
    let mut far = distance(b, "anchor", "negative")?;
    if call.truth("swap")? {
        let other = distance(b, "positive", "negative")?;
        far = b.one("minimum.default", &[far.into(), other.into()])?;
    }
    let shifted = b.one("add.Scalar", &[near.into(), call.argument("margin")])?;
    let over = b.one("sub.Tensor", &[shifted.into(), far.into()])?;
    let losses = above_zero(b, over)?;
    reduced(b, call, losses)
}

/// Values where a target is (or is not, `is = false`) a number, zeros elsewhere.
fn where_target(
    b: &mut Builder<'_, '_>,
    target: &Argument,
    (is, number): (bool, i64),
    values: Proxy,
) -> Result<Proxy, TraceError> {
    let tensor = b.tensor(values)?;
    let zero = b.scalar(float(0.0), tensor.dtype, &tensor.device)?;
    let op = if is { "eq.Scalar" } else { "ne.Scalar" };
    let there = b.one(op, &[target.clone(), Argument::Int(number)])?;
    b.one("where.self", &[there.into(), values.into(), zero.into()])
}

/// The operand where the target is not -1, and what it lacks to the margin where the target is not 1.
fn hinge_embedding(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("self")?, call.argument("target"));
    let missing = b.one("sub.Tensor", &[call.argument("margin"), x.into()])?;
    let missing = above_zero(b, missing)?;
    let first = where_target(b, &target, (false, 1), missing)?;
    let second = where_target(b, &target, (false, -1), x)?;
    let losses = b.one("add.Tensor", &[first.into(), second.into()])?;
    reduced(b, call, losses)
}

/// `1 - cos` where the target is 1, what the cosine exceeds the margin by where it is -1.
fn cosine_embedding(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    // A float in torch's kernel.
    const EPSILON: f64 = 1e-12_f32 as f64;
    let (x, y, target) = (call.tensor("input1")?, call.tensor("input2")?, call.tensor("target")?);
    let over = Argument::Ints(vec![b.rank(target)? as i64]);
    let summed = |b: &mut Builder<'_, '_>, x: Proxy, y: Proxy| {
        let product = b.one("mul.Tensor", &[x.into(), y.into()])?;
        b.one("sum.dim_IntList", &[product.into(), over.clone()])
    };
    let (product, first, second) = (summed(b, x, y)?, summed(b, x, x)?, summed(b, y, y)?);
    let first = b.one("add.Scalar", &[first.into(), float(EPSILON)])?;
    let second = b.one("add.Scalar", &[second.into(), float(EPSILON)])?;
    let squared = b.one("mul.Tensor", &[first.into(), second.into()])?;
    let lengths = b.one("sqrt.default", &[squared.into()])?;
    let cosine = b.one("div.Tensor", &[product.into(), lengths.into()])?;
    let apart = b.one("sub.Tensor", &[Argument::Int(1), cosine.into()])?;
    let over = b.one("sub.Scalar", &[cosine.into(), call.argument("margin")])?;
    let over = above_zero(b, over)?;
    let target = target.into();
    let (alike, other) =
        (where_target(b, &target, (true, 1), apart)?, where_target(b, &target, (true, -1), over)?);
    let losses = b.one("add.Tensor", &[alike.into(), other.into()])?;
    reduced(b, call, losses)
}

/// How far scores of other classes come up to that of the class that is named.
fn multi_margin(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    let (single, dtype, power) = (b.rank(x)? < 2, b.dtype(x)?, call.int("p")?);
    if !matches!(dtype, Dtype::Float32 | Dtype::Float64) || !matches!(power, 1 | 2) || single {
        return Err(refused("halves, other powers, and single samples are not decomposed"));
    }
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
        return Err(refused("halves and single samples are not decomposed"));
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
