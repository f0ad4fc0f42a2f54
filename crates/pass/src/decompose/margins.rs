//! Losses of how far the scores of classes that are meant lie above those of others.
//!
//! Source: torch 2.15, `torch/_decomp/decompositions.py` (`multi_margin_loss`, `multilabel_margin_loss_forward`).
use super::Made;
use super::builder::{Builder, Function};
use super::call::{Call, refused};
use super::losses::{float, reduced};
use super::views::unsqueezed;
use sizewise_ir::{Argument, Dtype};

pub const RULES: &[(&str, Function)] =
    &[("multi_margin_loss.default", multi_margin), ("multilabel_margin_loss.default", multilabel_margin)];

/// How far scores of other classes come up to that of the class that is named.
fn multi_margin(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    let (single, dtype, power) = (b.rank(x)? < 2, b.dtype(x)?, call.int("p")?);
    if !matches!(dtype, Dtype::Float32 | Dtype::Float64) || !matches!(power, 1 | 2) || single {
        return Err(refused("halves, other powers, and single samples are left"));
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
