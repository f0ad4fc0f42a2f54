//! Biases of attention by relative position, and attention in windows or with a cache, as onnxruntime fuses them for
//! accelerators. Its CPU provider has no kernels for them, so that they ask for what their specification says.
use super::Family;
use super::attention::hidden_sizes;
use super::meeting::exactly;
use super::normalization::vector;
use crate::shape::call::{Checked, Outcome};
use crate::shape::kernels::attention::heads;
use crate::shape::op::op;
use crate::shape::value::{Element, Elements, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    RelativePositionBias::ALL,
    GatedRelativePositionBias::ALL,
    Longformer::ALL,
    DecoderAttention::ALL,
    DecoderMaskedSelfAttention::ALL,
];

pub(super) const CONTRIB: Family = &[
    op("DecoderAttention", decoder_attention),
    op("DecoderMaskedSelfAttention", masked_self_attention).passes(),
    op("GatedRelativePositionBias", gated_bias).passes(),
    op("LongformerAttention", longformer).passes(),
    op("QOrderedLongformerAttention", longformer).passes(),
    op("RelativePositionBias", position_bias),
];

clauses! { RelativePositionBias {
    C1 "The bias table has 2 dimensions."
    C2 "The lengths of queries and keys are single numbers, not negative, and equal."
} }

/// `[1, heads, queries, keys]` of a table `[buckets, heads]`.
fn position_bias(cx: &mut Cx, call: &Checked) -> Outcome {
    let &[_, heads] = call.shape(0)? else {
        return Err(KernelError::invalid(RelativePositionBias::C1, "the table is to have 2 dimensions"));
    };
    let mut lengths = Vec::with_capacity(2);
    for at in [1, 2] {
        let count = cx.product(call.shape(at)?.to_vec());
        cx.require_eq(count, Expr::ONE, RelativePositionBias::C2, "the number of lengths")?;
        let length = call.given(at)?.single().and_then(|length| length.int());
        let length = length.unwrap_or_else(|| cx.unbacked_size(0, None));
        let natural = cx.ge(length, 0);
        cx.require(natural, RelativePositionBias::C2, |cx| format!("a length is {}", cx.show(length)))?;
        lengths.push(length);
    }
    cx.require_eq(lengths[0], lengths[1], RelativePositionBias::C2, "the lengths of queries and keys")?;
    call.one(vec![Expr::ONE, heads, lengths[0], lengths[1]])
}

clauses! { GatedRelativePositionBias {
    C1 "Queries are `[batch, length, hidden]`, or `[tokens, hidden]` with token positions `[batch, \
        length]`."
    C2 "The hidden size is divisible by `num_heads`. The bias of queries has an element for each hidden \
        element."
    C3 "The position bias is `[1, heads, length, length]`, and the gate's weight `[head size, n]`, with a \
        bias of n elements. The size n is even."
} }

/// `[batch, heads, length, length]`: the bias by position, scaled by a gate of each query.
fn gated_bias(cx: &mut Cx, call: &Checked) -> Outcome {
    let heads = call.int("num_heads", 0);
    call.check(heads > 0, GatedRelativePositionBias::C2, || format!("there are {heads} heads"))?;
    let heads = cx.int(heads);
    let (batch, length, hidden) = match (call.shape(0)?, call.has(6)) {
        (&[batch, length, hidden], _) => (batch, length, hidden),
        (&[_, hidden], true) => match call.shape(6)? {
            &[batch, length] => (batch, length, hidden),
            _ => {
                return Err(KernelError::invalid(GatedRelativePositionBias::C1, "places have 2 dimensions"));
            }
        },
        (sizes, _) => {
            let message = format!("queries are of rank {}", sizes.len());
            return Err(KernelError::invalid(GatedRelativePositionBias::C1, message));
        }
    };
    vector(cx, call, 1, hidden, GatedRelativePositionBias::C2)?;
    let size = exactly(cx, hidden, heads, GatedRelativePositionBias::C2)?;
    cx.require_same_shape(
        call.shape(2)?,
        &[Expr::ONE, heads, length, length],
        GatedRelativePositionBias::C3,
    )?;
    let &[rows, columns] = call.shape(3)? else {
        return Err(KernelError::invalid(GatedRelativePositionBias::C3, "the weight has 2 dimensions"));
    };
    cx.require_eq(rows, size, GatedRelativePositionBias::C3, "the size of a head and the weight")?;
    let two = cx.int(2);
    exactly(cx, columns, two, GatedRelativePositionBias::C3)?;
    vector(cx, call, 4, columns, GatedRelativePositionBias::C3)?;
    call.one(vec![batch, heads, length, length])
}

clauses! { Longformer {
    C1 "The input has 3 dimensions."
    C2 "The weights are `[hidden, 3 * hidden]`, with biases, and the hidden size is divisible by \
        `num_heads`. `num_heads` and `window` are positive."
    C3 "The sequence length is divisible by `2 * window`."
    C4 "The mask and the global attention flags are `[batch, length]`."
} }

/// The shape of the input: attention in windows, and of some tokens to all.
fn longformer(cx: &mut Cx, call: &Checked) -> Outcome {
    let &[batch, length, hidden] = call.shape(0)? else {
        return Err(KernelError::invalid(Longformer::C1, "the input is to have 3 dimensions"));
    };
    let (heads, window) = (call.int("num_heads", 0), call.int("window", 0));
    call.check(heads > 0 && window > 0, Longformer::C2, || format!("{heads} heads, windows of {window}"))?;
    let (heads, both) = (cx.int(heads), cx.int(window.saturating_mul(2)));
    exactly(cx, hidden, heads, Longformer::C2)?;
    let three = cx.mul(hidden, 3);
    // The quantized operator has scales between.
    let (weights, mask, flags) =
        if call.op() == "LongformerAttention" { ([1, 4], 3, 6) } else { ([2, 8], 7, 12) };
    let apart = if flags == 6 { 1 } else { 2 };
    for at in weights {
        cx.require_same_shape(call.shape(at)?, &[hidden, three], Longformer::C2)?;
        vector(cx, call, at + apart, three, Longformer::C2)?;
    }
    let left = cx.modulo(length, both);
    cx.require_eq(left, Expr::ZERO, Longformer::C3, "what windows leave over")?;
    for at in [mask, flags] {
        cx.require_same_shape(call.shape(at)?, &[batch, length], Longformer::C4)?;
    }
    call.one(vec![batch, length, hidden])
}

/// A flag that an input holds, if it is known.
fn flag(call: &Checked, at: usize) -> Option<bool> {
    match call.given(at).ok()?.elements.as_ref()? {
        Elements::Fill(Element::Bool(condition)) => condition.as_literal_bool(),
        Elements::List(list) => match list.first()? {
            Element::Bool(condition) => condition.as_literal_bool(),
            _ => None,
        },
        Elements::Fill(_) => None,
    }
}

clauses! { DecoderAttention {
    C1 "Queries and keys have 3 dimensions, and the same batch and hidden size. Caches have 4 dimensions."
    C2 "The weights are `[hidden, hidden]` and `[hidden, 2 * hidden]`. The bias has `3 * hidden` elements."
    C3 "`num_heads` is positive, and the hidden size is divisible by it."
    C4 "The caches have the same shape, `[batch, heads, keys, head size]`."
} }

/// `[length, batch, hidden]` and the caches `[batch, heads, keys, size]`: flags say whether keys are those of another
/// sequence, and whether a cache is used.
fn decoder_attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let (&[length, batch, hidden], &[others, again, width]) = (call.shape(0)?, call.shape(1)?) else {
        return Err(KernelError::invalid(DecoderAttention::C1, "queries and keys have 3 dimensions"));
    };
    cx.require_eq(batch, again, DecoderAttention::C1, "the batches of queries and keys")?;
    cx.require_eq(hidden, width, DecoderAttention::C1, "the hidden sizes of queries and keys")?;
    let (two, three) = (cx.mul(hidden, 2), cx.mul(hidden, 3));
    cx.require_same_shape(call.shape(2)?, &[hidden, hidden], DecoderAttention::C2)?;
    cx.require_same_shape(call.shape(3)?, &[hidden, two], DecoderAttention::C2)?;
    vector(cx, call, 4, three, DecoderAttention::C2)?;
    let heads = call.int("num_heads", 0);
    call.check(heads > 0, DecoderAttention::C3, || format!("there are {heads} heads"))?;
    let heads = cx.int(heads);
    let size = exactly(cx, hidden, heads, DecoderAttention::C3)?;
    let mut cached = None;
    for at in [6, 7] {
        if call.has(at) {
            let cache = call.shape(at)?;
            call.check(cache.len() == 4, DecoderAttention::C1, || {
                format!("a cache has 4 dimensions, not {}", cache.len())
            })?;
            let keys = *cached.get_or_insert(cache[2]);
            cx.require_same_shape(cache, &[batch, heads, keys, size], DecoderAttention::C4)?;
        }
    }
    let uses_cache = flag(call, 9).zip(flag(call, 10)).map(|(uses, has)| uses && has);
    let keys = match (flag(call, 8), uses_cache, cached) {
        (Some(true), Some(true), Some(cached)) => cached,
        (Some(false), Some(true), Some(cached)) => cx.add(cached, length),
        (Some(true), Some(false), _) => others,
        (Some(false), Some(false), _) => length,
        _ => cx.unbacked_size(0, None),
    };
    let cache = vec![batch, heads, keys, size];
    let shapes = [vec![length, batch, hidden], cache.clone(), cache];
    shapes.into_iter().enumerate().map(|(at, shape)| Ok(call.output(at, shape)?.into())).collect()
}

clauses! { DecoderMaskedSelfAttention {
    C1 "The input is `[batch, 1, hidden]`, and the weights have 2 dimensions."
    C2 "The weights have a row for each element of the input's last dimension, and the bias an element for \
        each column."
    C3 "The cache is `[2, batch, heads, max length, head size]`. `past_present_share_buffer` is set."
} }

/// `[batch, 1, hidden]` and the cache, which has room for more tokens.
fn masked_self_attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let (&[batch, length, width], &[inner, columns]) = (call.shape(0)?, call.shape(1)?) else {
        return Err(KernelError::invalid(
            DecoderMaskedSelfAttention::C1,
            "the input has 3 dimensions, the weights 2",
        ));
    };
    cx.require_eq(length, Expr::ONE, DecoderMaskedSelfAttention::C1, "the number of tokens")?;
    cx.require_eq(width, inner, DecoderMaskedSelfAttention::C2, "the input and the weights")?;
    vector(cx, call, 2, columns, DecoderMaskedSelfAttention::C2)?;
    let (_, value) = hidden_sizes(cx, call, columns)?;
    let heads = cx.int(call.int("num_heads", 0));
    let size = exactly(cx, value, heads, heads::C1)?;
    call.check(call.int("past_present_share_buffer", 0) != 0, DecoderMaskedSelfAttention::C3, || {
        "the cache is to be shared".to_owned()
    })?;
    let &[_, _, _, most, _] = call.shape(4)? else {
        return Err(KernelError::invalid(DecoderMaskedSelfAttention::C3, "the cache has 5 dimensions"));
    };
    let cache = vec![cx.int(2), batch, heads, most, size];
    cx.require_same_shape(call.shape(4)?, &cache, DecoderMaskedSelfAttention::C3)?;
    let results: [Value; 2] =
        [call.output(0, vec![batch, length, value])?.into(), call.output(1, cache)?.into()];
    Ok(results.into())
}
