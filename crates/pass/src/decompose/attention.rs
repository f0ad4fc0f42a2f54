//! Attention and softmax.
use super::Made;
use super::builder::{Builder, Function, size};
use super::call::{Call, refused};
use super::products::matmul;
use super::views::{copied, one, permuted, transposed};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Dtype, Operand};

pub const RULES: &[(&str, Function)] = &[
    ("scaled_dot_product_attention.default", attention),
    ("softmax.int", |b, call| softmax(b, call, "_softmax.default")),
    ("special_softmax.default", |b, call| softmax(b, call, "_softmax.default")),
    ("log_softmax.int", |b, call| softmax(b, call, "_log_softmax.default")),
    ("special_log_softmax.default", |b, call| softmax(b, call, "_log_softmax.default")),
    ("_safe_softmax.default", |b, call| {
        let x = call.tensor("self")?;
        let x = call.dtype("dtype").map_or(Ok(x), |dtype| b.cast(x, dtype))?;
        safe_softmax(b, x, call.int("dim")?).map(one)
    }),
];

fn softmax(b: &mut Builder<'_, '_>, call: &Call<'_>, op: &str) -> Made {
    let x = call.tensor("self")?;
    let x = call.dtype("dtype").map_or(Ok(x), |dtype| b.cast(x, dtype))?;
    b.one(op, &[x.into(), Argument::Int(call.int("dim")?), Argument::Bool(false)]).map(one)
}

/// Softmax that gives zeros where everything is minus infinity.
fn safe_softmax(b: &mut Builder<'_, '_>, x: Proxy, dim: i64) -> Result<Proxy, TraceError> {
    let dim = Argument::Int(dim);
    let plain = b.one("_softmax.default", &[x.into(), dim.clone(), Argument::Bool(false)])?;
    let masked = b.one("eq.Scalar", &[x.into(), Argument::Float(f64::NEG_INFINITY)])?;
    let seen = b.one("logical_not.default", &[masked.into()])?;
    let any = b.one("any.dim", &[seen.into(), dim, Argument::Bool(true)])?;
    let none = b.one("logical_not.default", &[any.into()])?;
    let zeros = b.one("full_like.default", &[plain.into(), Argument::Int(0)])?;
    b.one("where.self", &[none.into(), zeros.into(), plain.into()])
}

/// `softmax(q k^T / sqrt(e) + mask) v`. Query and key are each scaled by the square root, as torch does.
fn attention(b: &mut Builder<'_, '_>, call: &Call<'_>) -> Made {
    let (mut query, mut key, mut value) = (call.tensor("query")?, call.tensor("key")?, call.tensor("value")?);
    if call.float("dropout_p")? > 0.0 {
        return Err(refused("dropout draws random numbers"));
    }
    let rank = b.rank(query)?;
    let dtype = b.dtype(query)?;
    if rank < 2 {
        return Err(refused("an operand has fewer than two dimensions"));
    }
    // Halves are computed in float32.
    let half = matches!(dtype, Dtype::Float16 | Dtype::Bfloat16);
    if half {
        query = b.cast(query, Dtype::Float32)?;
        (key, value) = (b.cast(key, Dtype::Float32)?, b.cast(value, Dtype::Float32)?);
    }
    let mask = match (call.optional_tensor("attn_mask"), call.truth("is_causal")?) {
        (Some(mask), false) if b.dtype(mask)? == Dtype::Bool => Some(biases(b, mask, query)?),
        (mask, false) => mask,
        (None, true) => {
            let causal = causal_mask(b, query, key)?;
            Some(biases(b, causal, query)?)
        }
        (Some(_), true) => return Err(refused("it is causal and has a mask")),
    };
    if call.truth("enable_gqa").unwrap_or(false) {
        (key, value) = (repeated_heads(b, query, key)?, repeated_heads(b, query, value)?);
    }
    let root = root_of_scale(b, call, query)?;
    query = b.one("mul.Scalar", &[query.into(), root.clone()])?;
    let turned = transposed(b, key, rank - 2, rank - 1)?;
    let turned = b.one("mul.Scalar", &[turned.into(), root])?;
    let mut scores = matmul(b, query, turned)?;
    if let Some(mask) = mask {
        scores = b.one("add.Tensor", &[scores.into(), mask.into()])?;
    }
    let weights = safe_softmax(b, scores, -1)?;
    let result = matmul(b, weights, value)?;
    let result = b.cast(result, dtype)?;
    if rank != 4 {
        return Ok(vec![result]);
    }
    // It lies in memory as torch's own kernel has it.
    let first = permuted(b, result, [2, 0, 1, 3])?;
    let copy = copied(b, first)?;
    permuted(b, copy, [1, 2, 0, 3]).map(one)
}

/// The square root of the scale, which is that of the width of the heads if none is given.
fn root_of_scale(b: &mut Builder<'_, '_>, call: &Call<'_>, query: Proxy) -> Result<Argument, TraceError> {
    let scale = match call.argument("scale") {
        Argument::None => match b.size(query, b.rank(query)? - 1)? {
            Operand::Literal(width) => 1.0 / (width as f64).sqrt(),
            width @ Operand::Value(_) => {
                let width = b.computed("torch.sym_float", &[size(width)])?;
                let root = b.computed("_operator.pow", &[width, Argument::Float(0.5)])?;
                let scale = b.computed("_operator.truediv", &[Argument::Float(1.0), root])?;
                return b.computed("_operator.pow", &[scale, Argument::Float(0.5)]);
            }
        },
        _ => call.float("scale")?,
    };
    if scale <= 0.0 {
        return Err(refused("its scale is not positive"));
    }
    Ok(Argument::Float(scale.sqrt()))
}

/// Zero where the mask is true, minus infinity elsewhere.
fn biases(b: &mut Builder<'_, '_>, mask: Proxy, like: Proxy) -> Result<Proxy, TraceError> {
    let tensor = b.tensor(like)?;
    let masked = b.scalar(Argument::Float(f64::NEG_INFINITY), tensor.dtype, &tensor.device)?;
    let seen = b.scalar(Argument::Float(0.0), tensor.dtype, &tensor.device)?;
    b.one("where.self", &[mask.into(), seen.into(), masked.into()])
}

/// Whether a key is not behind its query.
fn causal_mask(b: &mut Builder<'_, '_>, query: Proxy, key: Proxy) -> Result<Proxy, TraceError> {
    let (rank, device) = (b.rank(query)?, b.tensor(query)?.device.clone());
    let (rows, columns) = (b.size(query, rank - 2)?, b.size(key, rank - 2)?);
    let shape = super::builder::sizes(&[rows, columns]);
    let named = [("dtype", Argument::Dtype(Dtype::Bool)), ("device", Argument::Device(device))];
    let full = b.one_with("full.default", &[shape, Argument::Bool(true)], &named)?;
    b.one("tril.default", &[full.into()])
}

/// Keys or values for each head of the query.
fn repeated_heads(b: &mut Builder<'_, '_>, query: Proxy, x: Proxy) -> Result<Proxy, TraceError> {
    let rank = b.rank(query)?;
    if rank < 3 {
        return Err(refused("groups of heads need three dimensions"));
    }
    let (heads, given) = (b.size(query, rank - 3)?, b.size(x, rank - 3)?);
    let times = b.divided(heads, given)?;
    b.one("repeat_interleave.self_int", &[x.into(), size(times), Argument::Int(rank as i64 - 3)])
}
