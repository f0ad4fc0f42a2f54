//! Sums, means, variances and norms.
use super::Made;
use super::builder::{self, Builder, Function};
use super::call::{Call, refused};
use super::views::{one, squeezed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("sum.default", |b, call| {
        let dtype = [("dtype", call.argument("dtype"))];
        b.one_with("sum.dim_IntList", &[call.argument("self"), Argument::Ints(Vec::new())], &dtype).map(one)
    }),
    ("var.default", |b, call| variance(b, call, false)),
    ("var.dim", |b, call| variance(b, call, false)),
    ("std.default", |b, call| variance(b, call, true)),
    ("std.dim", |b, call| variance(b, call, true)),
    ("std.correction", |b, call| variance(b, call, true)),
    ("var_mean.default", |b, call| variance_and_mean(b, call, false)),
    ("var_mean.dim", |b, call| variance_and_mean(b, call, false)),
    ("var_mean.correction", |b, call| variance_and_mean(b, call, false)),
    ("std_mean.default", |b, call| variance_and_mean(b, call, true)),
    ("std_mean.dim", |b, call| variance_and_mean(b, call, true)),
    ("std_mean.correction", |b, call| variance_and_mean(b, call, true)),
    ("linalg_vector_norm.default", norm),
    ("norm.ScalarOpt_dim", |b, call| powers(b, call, ("p", "self"))),
    ("logsumexp.default", logsumexp),
    ("aminmax.default", aminmax),
    ("count_nonzero.dim_IntList", |b, call| {
        let nonzero = b.one("ne.Scalar", &[call.argument("self"), Argument::Int(0)])?;
        b.one("sum.dim_IntList", &[nonzero.into(), call.argument("dim")]).map(one)
    }),
    ("count_nonzero.default", |b, call| {
        let nonzero = b.one("ne.Scalar", &[call.argument("self"), Argument::Int(0)])?;
        let over = match call.argument("dim") {
            Argument::None => Argument::Ints(Vec::new()),
            _ => Argument::Ints(vec![call.int("dim")?]),
        };
        b.one("sum.dim_IntList", &[nonzero.into(), over]).map(one)
    }),
    ("sum_to_size.default", sum_to_size),
    ("nansum.default", |b, call| without_nan(b, call).map(|(sum, _)| vec![sum])),
    ("nanmean.default", |b, call| {
        let (sum, counted) = without_nan(b, call)?;
        let keeps = call.argument("keepdim");
        let count = b.one("sum.dim_IntList", &[counted.into(), over(call), keeps])?;
        b.one("div.Tensor", &[sum.into(), count.into()]).map(one)
    }),
    ("quantile.scalar", quantile),
    ("pairwise_distance.default", pairwise_distance),
    ("cosine_similarity.default", cosine_similarity),
];

/// Sums over the dimensions in front that the wanted sizes do not have, and over those that become 1.
fn sum_to_size(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (x, wanted) = (call.tensor("self")?, call.sizes("size")?);
    let given = b.sizes(x)?;
    let front =
        given.len().checked_sub(wanted.len()).ok_or_else(|| refused("the result has more dimensions"))?;
    let ones = wanted.iter().zip(&given[front..]).enumerate();
    let one_literal = Operand::Literal(1);
    let kept = ones.filter(|(_, (wanted, given))| **wanted == one_literal && **given != one_literal);
    let kept: Vec<usize> = kept.map(|(at, _)| front + at).collect();
    let mut made = x;
    if front + kept.len() > 0 {
        let over = builder::dims((0..front).chain(kept));
        made = b.one("sum.dim_IntList", &[x.into(), over, Argument::Bool(true)])?;
    }
    if front > 0 { squeezed(b, made, (0..front).collect()).map(one) } else { Ok(vec![made]) }
}

/// What is taken off the number of elements: `unbiased` or `correction`.
fn correction(call: &Call<'_>) -> Result<Argument, TraceError> {
    if call.has("unbiased") {
        return Ok(Argument::Int(i64::from(call.truth("unbiased")?)));
    }
    Ok(call.argument("correction"))
}

fn options(call: &Call<'_>) -> Result<[(&'static str, Argument); 2], TraceError> {
    let keeps = call.has("keepdim") && call.truth("keepdim")?;
    Ok([("correction", correction(call)?), ("keepdim", Argument::Bool(keeps))])
}

fn dims(call: &Call<'_>) -> Argument {
    if call.has("dim") { call.argument("dim") } else { Argument::None }
}

fn variance(b: &mut Builder<'_, '_>, call: &Call<'_>, root: bool) -> Made {
    let made = b.one_with("var.correction", &[call.argument("self"), dims(call)], &options(call)?)?;
    if root { b.one("sqrt.default", &[made.into()]).map(one) } else { Ok(vec![made]) }
}

fn variance_and_mean(b: &mut Builder<'_, '_>, call: &Call<'_>, root: bool) -> Made {
    let x = call.argument("self");
    let named = options(call)?;
    let made = b.one_with("var.correction", &[x.clone(), dims(call)], &named)?;
    let first = if root { b.one("sqrt.default", &[made.into()])? } else { made };
    let mean = b.one("mean.dim", &[x, over(call), named[1].1.clone()])?;
    Ok(vec![first, mean])
}

/// The dimensions that are reduced, none for all.
fn over(call: &Call<'_>) -> Argument {
    match dims(call) {
        Argument::None => Argument::Ints(Vec::new()),
        dims => dims,
    }
}

/// The sum of what is a number, and where that is.
fn without_nan(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Result<(Proxy, Proxy), TraceError> {
    let x = call.tensor("self")?;
    let tensor = b.tensor(x)?;
    if !tensor.dtype.is_float() {
        return Err(refused(format!("{} is left", tensor.dtype)));
    }
    let nan = b.one("isnan.default", &[x.into()])?;
    let zero = b.scalar(Argument::Float(0.0), tensor.dtype, &tensor.device)?;
    let clean = b.one("where.self", &[nan.into(), zero.into(), x.into()])?;
    let dtype = [("dtype", call.argument("dtype"))];
    let given = [clean.into(), over(call), call.argument("keepdim")];
    let sum = b.one_with("sum.dim_IntList", &given, &dtype)?;
    Ok((sum, b.one("logical_not.default", &[nan.into()])?))
}

fn norm(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    powers(b, call, ("ord", "self"))
}

/// The root of the sum of powers; the largest or least where the power is infinite.
fn powers(b: &mut Builder<'_, '_>, call: &Call<'_>, (order, x): (&str, &str)) -> Made {
    let order = if matches!(call.argument(order), Argument::None) { 2.0 } else { call.float(order)? };
    let mut x = call.tensor(x)?;
    let dtype = b.dtype(x)?;
    let result = call.dtype("dtype").unwrap_or(dtype);
    if !result.is_float() || !dtype.is_float() {
        return Err(refused(format!("the norm of {dtype} is left")));
    }
    let computed = if matches!(result, Dtype::Float16 | Dtype::Bfloat16) { Dtype::Float32 } else { result };
    x = b.cast(x, computed)?;
    let over = over(call);
    let keeps = Argument::Bool(call.truth("keepdim")?);
    let made = if order.is_infinite() {
        let op = if order > 0.0 { "amax.default" } else { "amin.default" };
        let size = b.one("abs.default", &[x.into()])?;
        b.one(op, &[size.into(), over, keeps])?
    } else if order == 0.0 {
        let nonzero = b.one("ne.Scalar", &[x.into(), Argument::Int(0)])?;
        let nonzero = b.cast(nonzero, computed)?;
        b.one("sum.dim_IntList", &[nonzero.into(), over, keeps])?
    } else {
        let base = if order % 2.0 == 0.0 { x } else { b.one("abs.default", &[x.into()])? };
        let powers = b.one("pow.Tensor_Scalar", &[base.into(), Argument::Float(order)])?;
        let sum = b.one("sum.dim_IntList", &[powers.into(), over, keeps])?;
        b.one("pow.Tensor_Scalar", &[sum.into(), Argument::Float(1.0 / order)])?
    };
    b.cast(made, result).map(one)
}

/// With the largest taken out, so that powers stay small.
fn logsumexp(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let x = call.tensor("self")?;
    let tensor = b.tensor(x)?;
    if !tensor.dtype.is_float() {
        return Err(refused(format!("{} is left", tensor.dtype)));
    }
    let rank = tensor.sizes.len();
    let over = call.ints("dim")?;
    let gone = over.iter().map(|dim| b.dim(*dim, rank)).collect::<Result<Vec<_>, _>>()?;
    let keeps = call.truth("keepdim")?;
    let largest = b.one("amax.default", &[x.into(), Argument::Ints(over.clone()), Argument::Bool(true)])?;
    let size = b.one("abs.default", &[largest.into()])?;
    let infinite = b.one("eq.Scalar", &[size.into(), Argument::Float(f64::INFINITY)])?;
    let zero = b.scalar(Argument::Float(0.0), tensor.dtype, &tensor.device)?;
    let largest = b.one("where.self", &[infinite.into(), zero.into(), largest.into()])?;
    let shifted = b.one("sub.Tensor", &[x.into(), largest.into()])?;
    let power = b.one("exp.default", &[shifted.into()])?;
    let sum = b.one("sum.dim_IntList", &[power.into(), Argument::Ints(over), Argument::Bool(keeps)])?;
    let log = b.one("log.default", &[sum.into()])?;
    let largest = if keeps { largest } else { squeezed(b, largest, gone)? };
    b.one("add.Tensor", &[log.into(), largest.into()]).map(one)
}

fn aminmax(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let over = match call.argument("dim") {
        Argument::None => Argument::Ints(Vec::new()),
        dim => Argument::Ints(match dim {
            Argument::Int(dim) => vec![dim],
            _ => return Err(refused("`dim` is symbolic")),
        }),
    };
    let given = [call.argument("self"), over, Argument::Bool(call.truth("keepdim")?)];
    Ok(vec![b.one("amin.default", &given)?, b.one("amax.default", &given)?])
}

/// What so many of the elements in order lie below, between two of them by how far it lies behind the first. A row with
/// what is no number gives that: it is sorted to the end.
fn quantile(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (mut x, part) = (call.tensor("self")?, call.float("q")?);
    let tensor = b.tensor(x)?;
    let flat = matches!(call.argument("dim"), Argument::None);
    let rank = if flat { 1 } else { tensor.sizes.len() };
    if !matches!(tensor.dtype, Dtype::Float32 | Dtype::Float64)
        || rank == 0
        || flat && call.truth("keepdim")?
    {
        return Err(refused("halves, and all elements with dimensions that stay, are not decomposed"));
    }
    if flat {
        x = super::views::reshaped(b, x, &[sizewise_ir::Operand::Literal(-1)])?;
    }
    let dim = if flat { 0 } else { b.dim(call.int("dim")?, rank)? };
    let along = Argument::Int(dim as i64);
    let ordered = b.one("sort.default", &[x.into(), along.clone()])?;
    let full = b.size(x, dim)?;
    let last = b.minus(full, sizewise_ir::Operand::Literal(1))?;
    let last = b.scalar(super::builder::size(last), tensor.dtype, &tensor.device)?;
    let place = b.one("mul.Tensor", &[last.into(), Argument::Float(part)])?;
    let nan = b.one("isnan.default", &[x.into()])?;
    let nan = b.one("any.dim", &[nan.into(), along.clone(), Argument::Bool(true)])?;
    let place = b.one("where.self", &[nan.into(), last.into(), place.into()])?;
    let (low, high) = (b.one("floor.default", &[place.into()])?, b.one("ceil.default", &[place.into()])?);
    let behind = match call.text("interpolation")?.as_str() {
        "linear" => b.one("sub.Tensor", &[place.into(), low.into()])?,
        _ => return Err(refused("other interpolations than linear ones are not decomposed")),
    };
    let mut ends = Vec::with_capacity(2);
    for place in [low, high] {
        let place = b.cast(place, Dtype::Int64)?;
        ends.push(b.one("gather.default", &[ordered.into(), along.clone(), place.into()])?);
    }
    let made = b.one("lerp.Tensor", &[ends[0].into(), ends[1].into(), behind.into()])?;
    if call.truth("keepdim")? { Ok(vec![made]) } else { squeezed(b, made, vec![dim]).map(one) }
}

fn pairwise_distance(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let difference = b.one("sub.Tensor", &[call.argument("x1"), call.argument("x2")])?;
    let shifted = b.one("add.Scalar", &[difference.into(), call.argument("eps")])?;
    let last = Argument::Ints(vec![-1]);
    let keeps = Argument::Bool(call.truth("keepdim")?);
    b.one("linalg_vector_norm.default", &[shifted.into(), call.argument("p"), last, keeps]).map(one)
}

fn cosine_similarity(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let over = Argument::Ints(vec![call.int("dim")?]);
    let mut unit = |name: &str| -> Result<Proxy, TraceError> {
        let x = call.tensor(name)?;
        let order = Argument::Int(2);
        let length =
            b.one("linalg_vector_norm.default", &[x.into(), order, over.clone(), Argument::Bool(true)])?;
        let length = b.one("clamp.default", &[length.into(), call.argument("eps")])?;
        b.one("div.Tensor", &[x.into(), length.into()])
    };
    let (first, second) = (unit("x1")?, unit("x2")?);
    let product = b.one("mul.Tensor", &[first.into(), second.into()])?;
    b.one("sum.dim_IntList", &[product.into(), over]).map(one)
}
