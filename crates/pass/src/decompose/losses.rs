//! Losses.
use super::Made;
use super::builder::{Builder, Function};
use super::call::{Call, refused};
use super::views::{one, reshaped, unsqueezed};
use crate::tracer::{Proxy, TraceError};
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
    ("poisson_nll_loss.default", poisson),
    ("binary_cross_entropy.default", binary_cross_entropy),
    ("binary_cross_entropy_with_logits.default", binary_cross_entropy_with_logits),
    ("cross_entropy_loss.default", cross_entropy),
    ("nll_loss_nd.default", |b, call| likelihood(b, call, call.tensor("self")?).map(one)),
    ("nll_loss.default", |b, call| likelihood(b, call, call.tensor("self")?).map(one)),
    ("nll_loss2d.default", |b, call| likelihood(b, call, call.tensor("self")?).map(one)),
];

pub fn float(value: f64) -> Argument {
    Argument::Float(value)
}

/// As `reduction` says: each, the mean, or the sum.
pub fn reduced(b: &mut Builder<'_, '_>, call: &Call<'_>, losses: Proxy) -> Made {
    match call.int("reduction")? {
        0 => Ok(vec![losses]),
        1 => b.one("mean.default", &[losses.into()]).map(one),
        _ => b.one("sum.default", &[losses.into()]).map(one),
    }
}

fn difference(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Result<Proxy, TraceError> {
    let (x, target) = (call.tensor("self")?, call.tensor("target")?);
    if matches!(b.dtype(x)?, Dtype::Float16 | Dtype::Bfloat16) {
        return Err(refused("halves are not decomposed"));
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

/// Counts of a Poisson distribution, with Stirling's formula for what only the target decides if all terms are asked for.
fn poisson(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, target) = (call.tensor("input")?, call.tensor("target")?);
    let mut losses = if call.truth("log_input")? {
        let rate = b.one("exp.default", &[x.into()])?;
        let product = b.one("mul.Tensor", &[target.into(), x.into()])?;
        b.one("sub.Tensor", &[rate.into(), product.into()])?
    } else {
        let shifted = b.one("add.Scalar", &[x.into(), call.argument("eps")])?;
        let log = b.one("log.default", &[shifted.into()])?;
        let product = b.one("mul.Tensor", &[target.into(), log.into()])?;
        b.one("sub.Tensor", &[x.into(), product.into()])?
    };
    if call.truth("full")? {
        let log = b.one("log.default", &[target.into()])?;
        let product = b.one("mul.Tensor", &[target.into(), log.into()])?;
        let rest = b.one("sub.Tensor", &[product.into(), target.into()])?;
        let circle = b.one("mul.Scalar", &[target.into(), float(std::f64::consts::TAU)])?;
        let log = b.one("log.default", &[circle.into()])?;
        let half = b.one("mul.Scalar", &[log.into(), float(0.5)])?;
        let stirling = b.one("add.Tensor", &[rest.into(), half.into()])?;
        let few = b.one("le.Scalar", &[target.into(), Argument::Int(1)])?;
        let tensor = b.tensor(stirling)?;
        let zero = b.scalar(float(0.0), tensor.dtype, &tensor.device)?;
        let stirling = b.one("where.self", &[few.into(), zero.into(), stirling.into()])?;
        losses = b.one("add.Tensor", &[losses.into(), stirling.into()])?;
    }
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
    let classes = usize::from(b.rank(x)? != 1);
    let arguments = [x.into(), Argument::Int(classes as i64), Argument::Bool(false)];
    let logs = b.one("_log_softmax.default", &arguments)?;
    let smoothing = call.float("label_smoothing")?;
    if b.dtype(target)?.is_float() {
        return of_probabilities(b, call, (logs, classes), smoothing);
    }
    if smoothing == 0.0 {
        return likelihood(b, call, logs).map(one);
    }
    let named = likelihood(b, call, logs)?;
    let all = of_all_classes(b, call, (logs, classes))?;
    let named = b.one("mul.Tensor", &[named.into(), float(1.0 - smoothing)])?;
    let part = share(b, (logs, classes), smoothing)?;
    let all = b.one("mul.Tensor", &[all.into(), part])?;
    b.one("add.Tensor", &[named.into(), all.into()]).map(one)
}

/// What is smoothed by the number of classes.
fn share(
    b: &mut Builder<'_, '_>,
    (logs, classes): (Proxy, usize),
    smoothing: f64,
) -> Result<Argument, TraceError> {
    match b.size(logs, classes)? {
        Operand::Literal(count) if count > 0 => Ok(float(smoothing / count as f64)),
        count => b.computed("_operator.truediv", &[float(smoothing), super::builder::size(count)]),
    }
}

/// The weights of classes, each in the dimension of the classes.
fn class_weights(
    b: &mut Builder<'_, '_>,
    call: &Call<'_>,
    (logs, classes): (Proxy, usize),
) -> Result<Option<Proxy>, TraceError> {
    let Some(weight) = call.optional_tensor("weight") else { return Ok(None) };
    let mut shape = vec![Operand::Literal(1); b.rank(logs)?];
    shape[classes] = b.size(weight, 0)?;
    reshaped(b, weight, &shape).map(Some)
}

/// The target holds probabilities.
fn of_probabilities(
    b: &mut Builder<'_, '_>,
    call: &Call<'_>,
    (logs, classes): (Proxy, usize),
    smoothing: f64,
) -> Made {
    let mut target = call.tensor("target")?;
    if smoothing > 0.0 {
        let part = share(b, (logs, classes), smoothing)?;
        target = b.one("mul.Tensor", &[target.into(), float(1.0 - smoothing)])?;
        target = b.one("add.Tensor", &[target.into(), part])?;
    }
    let mut product = b.one("mul.Tensor", &[logs.into(), target.into()])?;
    if let Some(weight) = class_weights(b, call, (logs, classes))? {
        product = b.one("mul.Tensor", &[product.into(), weight.into()])?;
    }
    let reduction = call.int("reduction")?;
    if reduction == 0 {
        let sums = b.one("sum.dim_IntList", &[product.into(), Argument::Ints(vec![classes as i64])])?;
        return b.one("neg.default", &[sums.into()]).map(one);
    }
    let sum = b.one("sum.default", &[product.into()])?;
    let sum = b.one("neg.default", &[sum.into()])?;
    if reduction == 2 {
        return Ok(vec![sum]);
    }
    let mut shape = b.sizes(logs)?;
    shape.remove(classes);
    let count = b.product(&shape)?;
    b.one("div.Scalar", &[sum.into(), super::builder::size(count)]).map(one)
}

/// The negative of the logarithms of all classes, where the target is not ignored.
fn of_all_classes(
    b: &mut Builder<'_, '_>,
    call: &Call<'_>,
    (logs, classes): (Proxy, usize),
) -> Result<Proxy, TraceError> {
    let mut all = logs;
    if let Some(weight) = class_weights(b, call, (logs, classes))? {
        all = b.one("mul.Tensor", &[all.into(), weight.into()])?;
    }
    let sums = b.one("sum.dim_IntList", &[all.into(), Argument::Ints(vec![classes as i64])])?;
    let each = b.one("neg.default", &[sums.into()])?;
    let kept = Kept::of(b, call, (logs, classes))?;
    let weights = kept.weights(b, call, logs)?;
    kept.reduced(b, call, each, weights)
}

/// The targets that are not ignored.
struct Kept {
    is_kept: Proxy,
    /// The targets, 0 where they are ignored, with a dimension for the classes.
    index: Proxy,
    classes: usize,
    /// Zero, in the dtype of the losses.
    nothing: Proxy,
    dtype: Dtype,
}

impl Kept {
    fn of(
        b: &mut Builder<'_, '_>,
        call: &Call<'_>,
        (logs, classes): (Proxy, usize),
    ) -> Result<Kept, TraceError> {
        let target = call.tensor("target")?;
        let (tensor, indices) = (b.tensor(logs)?, b.tensor(target)?);
        let is_kept = b.one("ne.Scalar", &[target.into(), call.argument("ignore_index")])?;
        let zero = b.scalar(Argument::Int(0), indices.dtype, &indices.device)?;
        let safe = b.one("where.self", &[is_kept.into(), target.into(), zero.into()])?;
        let index = unsqueezed(b, safe, classes as i64)?;
        let nothing = b.scalar(Argument::Int(0), tensor.dtype, &tensor.device)?;
        Ok(Kept { is_kept, index, classes, nothing, dtype: tensor.dtype })
    }

    /// What stands at the targets.
    fn picked(&self, b: &mut Builder<'_, '_>, x: Proxy) -> Result<Proxy, TraceError> {
        let classes = self.classes as i64;
        let taken = b.one("gather.default", &[x.into(), Argument::Int(classes), self.index.into()])?;
        b.one("squeeze.dims", &[taken.into(), Argument::Ints(vec![classes])])
    }

    /// Zero where the target is ignored.
    fn only(&self, b: &mut Builder<'_, '_>, x: Proxy) -> Result<Proxy, TraceError> {
        b.one("where.self", &[self.is_kept.into(), x.into(), self.nothing.into()])
    }

    /// The weights of the targets.
    fn weights(
        &self,
        b: &mut Builder<'_, '_>,
        call: &Call<'_>,
        logs: Proxy,
    ) -> Result<Option<Proxy>, TraceError> {
        let Some(wide) = class_weights(b, call, (logs, self.classes))? else { return Ok(None) };
        let full = b.sizes(logs)?;
        let wide = super::views::expanded(b, wide, &full)?;
        let taken = self.picked(b, wide)?;
        self.only(b, taken).map(Some)
    }

    /// As `reduction` says: each, the sum, or the mean by weights or by how many are kept.
    fn reduced(
        &self,
        b: &mut Builder<'_, '_>,
        call: &Call<'_>,
        each: Proxy,
        weights: Option<Proxy>,
    ) -> Result<Proxy, TraceError> {
        let each = self.only(b, each)?;
        let reduction = call.int("reduction")?;
        if reduction == 0 {
            return Ok(each);
        }
        let sum = b.one("sum.default", &[each.into()])?;
        if reduction == 2 {
            return Ok(sum);
        }
        let counted = weights.unwrap_or(self.is_kept);
        let count = b.one("sum.default", &[counted.into()])?;
        let count = b.cast(count, self.dtype)?;
        b.one("div.Tensor", &[sum.into(), count.into()])
    }
}

/// The negative of the logarithms at the target, those that are ignored left out.
fn likelihood(b: &mut Builder<'_, '_>, call: &Call<'_>, logs: Proxy) -> Result<Proxy, TraceError> {
    let classes = usize::from(b.rank(logs)? != 1);
    let kept = Kept::of(b, call, (logs, classes))?;
    let mut each = kept.picked(b, logs)?;
    let weights = kept.weights(b, call, logs)?;
    if let Some(weights) = weights {
        each = b.one("mul.Tensor", &[each.into(), weights.into()])?;
    }
    let each = b.one("neg.default", &[each.into()])?;
    kept.reduced(b, call, each, weights)
}
