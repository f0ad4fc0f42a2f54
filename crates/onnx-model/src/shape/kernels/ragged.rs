//! Sequences of several lengths without padding: all tokens one behind the other, with the places where sequences begin.
use super::Family;
use super::attention::hidden_sizes;
use super::attention_mask::added_bias;
use super::meeting::exactly;
use super::normalization::vector;
use crate::shape::Dtype;
use crate::shape::call::{Checked, Outcome};
use crate::shape::kernels::attention::heads;
use crate::shape::op::op;
use crate::shape::value::Value;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[
    RemovePadding::ALL,
    RestorePadding::ALL,
    PackedTokens::ALL,
    PackedAttention::ALL,
    PackedMultiHeadAttention::ALL,
    PagedAttention::ALL,
    GatedDeltaNet::ALL,
    VarlenConv::ALL,
];

pub(super) const CONTRIB: Family = &[
    op("GatedDeltaNet", gated_delta).passes(),
    op("PackedAttention", packed_attention).passes(),
    op("PackedMultiHeadAttention", packed_heads).passes(),
    op("PagedAttention", paged_attention).passes(),
    op("RemovePadding", remove_padding).passes(),
    op("RestorePadding", restore_padding).passes(),
    op("VarlenCausalConvWithState", causal_conv).passes(),
];

clauses! { RemovePadding {
    C1 "The input has 3 dimensions."
    C2 "There is a token count for each sequence."
} }

/// The tokens `[tokens, hidden]` of `[batch, length, hidden]`, their places `[batch, length]`, where sequences begin
/// `[batch + 1]`, and the greatest length.
fn remove_padding(cx: &mut Cx, call: &Checked) -> Outcome {
    let &[batch, length, hidden] = call.shape(0)? else {
        return Err(KernelError::invalid(RemovePadding::C1, "the input is to have 3 dimensions"));
    };
    vector(cx, call, 1, batch, RemovePadding::C2)?;
    let most = cx.mul(batch, length);
    let (tokens, begins) = (cx.unbacked_size(0, Some(most)), cx.add(batch, 1));
    let shapes = [vec![tokens, hidden], vec![batch, length], vec![begins], vec![Expr::ONE]];
    shapes.into_iter().enumerate().map(|(at, shape)| Ok(call.output(at, shape)?.into())).collect()
}

clauses! { RestorePadding {
    C1 "The input and the token positions have 2 dimensions."
} }

/// `[batch, length, hidden]` of `[tokens, hidden]`.
fn restore_padding(_: &mut Cx, call: &Checked) -> Outcome {
    match (call.shape(0)?, call.shape(1)?) {
        (&[_, hidden], &[batch, length]) => call.one(vec![batch, length, hidden]),
        (input, places) => Err(KernelError::invalid(
            RestorePadding::C1,
            format!("ranks {} and {} are to be 2", input.len(), places.len()),
        )),
    }
}

clauses! { PackedTokens {
    C1 "Token positions are `[batch, length]`, and cumulative sequence lengths have `batch + 1` elements."
} }

/// The sizes of a batch from the places of tokens `[batch, length]`.
fn batched(cx: &mut Cx, call: &Checked, at: usize) -> Result<(), KernelError> {
    let &[batch, length] = call.shape(at)? else {
        return Err(KernelError::invalid(PackedTokens::C1, "the places of tokens have 2 dimensions"));
    };
    let begins = cx.add(batch, 1);
    vector(cx, call, at + 1, begins, PackedTokens::C1)?;
    if call.has(at + 2) {
        let heads = cx.int(call.int("num_heads", 0));
        added_bias(cx, call, at + 2, &[batch, heads, length, length])?;
    }
    Ok(())
}

clauses! { PackedAttention {
    C1 "The input and the weights have 2 dimensions."
    C2 "The weights have a row for each element of the input's last dimension, and the bias an element for \
        each column."
} }

/// `[tokens, hidden of values]` of an input `[tokens, hidden]` and weights of queries, keys and values in one.
fn packed_attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let (&[tokens, width], &[inner, columns]) = (call.shape(0)?, call.shape(1)?) else {
        return Err(KernelError::invalid(PackedAttention::C1, "the input and the weights have 2 dimensions"));
    };
    cx.require_eq(width, inner, PackedAttention::C2, "the input and the weights")?;
    vector(cx, call, 2, columns, PackedAttention::C2)?;
    let (_, value) = hidden_sizes(cx, call, columns)?;
    batched(cx, call, 3)?;
    call.one(vec![tokens, value])
}

clauses! { PackedMultiHeadAttention {
    C1 "Queries, keys and values have 2 dimensions, or queries have 4 and hold all three."
    C2 "There are as many keys and values as queries. Keys have the hidden size of queries."
    C3 "The bias has an element for each hidden element of queries, keys and values."
} }

/// `[tokens, hidden of values]` of queries, keys and values `[tokens, hidden]`, or of all in one, `[tokens, heads, 3,
/// size]`.
fn packed_heads(cx: &mut Cx, call: &Checked) -> Outcome {
    let heads = call.int("num_heads", 0);
    call.check(heads > 0, heads::C1, || format!("there are {heads} heads"))?;
    let heads = cx.int(heads);
    let (tokens, hidden, value) = match (call.shape(0)?, call.has(1), call.has(2)) {
        (&[tokens, count, three, size], false, false) => {
            let expected = cx.int(3);
            cx.require_eq(three, expected, PackedMultiHeadAttention::C2, "queries, keys and values")?;
            cx.require_eq(count, heads, heads::C1, "num_heads")?;
            let hidden = cx.mul(heads, size);
            (tokens, hidden, hidden)
        }
        (&[tokens, hidden], true, true) => {
            cx.require_same_shape(call.shape(1)?, &[tokens, hidden], PackedMultiHeadAttention::C2)?;
            let &[again, value] = call.shape(2)? else {
                return Err(KernelError::invalid(PackedMultiHeadAttention::C1, "values have 2 dimensions"));
            };
            cx.require_eq(again, tokens, PackedMultiHeadAttention::C2, "queries and values")?;
            for size in [hidden, value] {
                exactly(cx, size, heads, heads::C1)?;
            }
            (tokens, hidden, value)
        }
        (sizes, ..) => {
            let message = format!("queries of rank {} do not go with the keys and values", sizes.len());
            return Err(KernelError::invalid(PackedMultiHeadAttention::C1, message));
        }
    };
    if call.has(3) {
        let both = cx.mul(hidden, 2);
        let all = cx.add(both, value);
        vector(cx, call, 3, all, PackedMultiHeadAttention::C3)?;
    }
    batched(cx, call, 4)?;
    call.one(vec![tokens, value])
}

clauses! { PagedAttention {
    C1 "Queries have 2 dimensions, caches have 4, and keys, values and caches are given together. With the \
        layout `LATENT`, there are no values and no cache of them."
    C2 "Hidden sizes are divisible by the numbers of heads. `num_heads` is divisible by `kv_num_heads`, \
        and keys and values are `[tokens, kv_num_heads * head size]`."
    C3 "The caches have the same shape, `[blocks, block size, kv_num_heads, head size]`."
    C4 "The block table is `[batch, n]`. Cumulative sequence lengths have `batch + 1` elements, and past \
        lengths `batch`."
    C5 "There is a slot of the cache for each token."
} }

/// `[tokens, heads * size]` and the caches, which are written in place.
fn paged_attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let (heads, key_heads) = (call.int("num_heads", 0), call.int("kv_num_heads", 0));
    call.check(heads > 0 && key_heads > 0 && heads % key_heads == 0, PagedAttention::C2, || {
        format!("there are {heads} heads of queries and {key_heads} of keys")
    })?;
    let (&[tokens, width], &[_, _, cached, stored]) = (call.shape(0)?, call.shape(3)?) else {
        return Err(KernelError::invalid(PagedAttention::C1, "queries have 2 dimensions, a cache 4"));
    };
    let (heads, key_heads) = (cx.int(heads), cx.int(key_heads));
    cx.require_eq(cached, key_heads, PagedAttention::C3, "kv_num_heads")?;
    let size = match call.has(1) {
        true => exactly(cx, width, heads, PagedAttention::C2)?,
        false => {
            let all = cx.mul(key_heads, 2);
            let all = cx.add(heads, all);
            exactly(cx, width, all, PagedAttention::C2)?
        }
    };
    let in_one = call.text("kv_cache_layout", "SEPARATE") == "LATENT";
    call.check(
        if in_one { !call.has(2) && !call.has(4) } else { call.has(1) == call.has(2) && call.has(4) },
        PagedAttention::C1,
        || "keys, values and caches do not go together".to_owned(),
    )?;
    let hidden = cx.mul(key_heads, size);
    for at in [1, 2] {
        if call.has(at) {
            cx.require_same_shape(call.shape(at)?, &[tokens, hidden], PagedAttention::C2)?;
        }
    }
    // Two numbers of 4 bits are in a byte.
    if call.given(3)?.dtype != Dtype::U8 {
        cx.require_eq(stored, size, PagedAttention::C3, "the sizes of a head and of the cache")?;
    }
    if call.has(4) {
        cx.require_same_shape(call.shape(4)?, call.shape(3)?, PagedAttention::C3)?;
    }
    let &[table, _] = call.shape(7)? else {
        return Err(KernelError::invalid(PagedAttention::C4, "the table of blocks has 2 dimensions"));
    };
    let begins = cx.add(table, 1);
    vector(cx, call, 5, begins, PagedAttention::C4)?;
    vector(cx, call, 6, table, PagedAttention::C4)?;
    if call.has(10) {
        vector(cx, call, 10, tokens, PagedAttention::C5)?;
    }
    let narrow = call.int("v_head_size", 0);
    let size = if in_one && narrow > 0 { cx.int(narrow) } else { size };
    let mut outputs: Vec<Value> = vec![call.output(0, vec![tokens, cx.mul(heads, size)])?.into()];
    for at in [3, 4] {
        if call.has(at) {
            outputs.push(call.output(at - 2, call.shape(at)?.to_vec())?.into());
        }
    }
    Ok(outputs)
}

clauses! { GatedDeltaNet {
    C1 "Queries, keys and values have the same rank, 3 or 4, and the same number of tokens."
    C2 "Queries and keys have the same shape, and the number of value heads is divisible by theirs."
    C3 "The batch size is known, and states and update counts fit it. It is that of the sequence lengths, \
        of 4-dimensional inputs, or of the states."
    C4 "Decays and rates have an element for each token and head. Decays may have one for each element of \
        a key, too."
} }

/// A recurrence over tokens: `[tokens, heads of values, size of values]`, the states `[batch, heads, size of values, size
/// of keys]` after the last token of each sequence, and a compact form of the updates.
fn gated_delta(cx: &mut Cx, call: &Checked) -> Outcome {
    call.check(call.has(1) && call.has(2), GatedDeltaNet::C1, || "keys and values are needed".to_owned())?;
    let (query, key, value) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec(), call.shape(2)?.to_vec());
    let rank = query.len();
    call.check(matches!(rank, 3 | 4) && key.len() == rank && value.len() == rank, GatedDeltaNet::C1, || {
        format!("ranks {rank}, {} and {} are to be 3, or 4", key.len(), value.len())
    })?;
    let tokens = &query[..rank - 2];
    cx.require_same_shape(&key, &query, GatedDeltaNet::C2)?;
    cx.require_same_shape(&value[..rank - 2], tokens, GatedDeltaNet::C1)?;
    let (key_heads, key_size) = (query[rank - 2], query[rank - 1]);
    let (heads, size) = (value[rank - 2], value[rank - 1]);
    exactly(cx, heads, key_heads, GatedDeltaNet::C2)?;
    let batch = match (call.has(3), call.has(6)) {
        (true, _) => {
            let begins = call.shape(3)?;
            call.check(begins.len() == 1 && rank == 3, GatedDeltaNet::C3, || {
                "sequences begin at places of one dimension, among tokens of 3".to_owned()
            })?;
            cx.sub(begins[0], 1)
        }
        _ if rank == 4 => query[0],
        (_, true) => call.shape(6)?.first().copied().unwrap_or(Expr::ONE),
        _ => return Err(KernelError::invalid(GatedDeltaNet::C3, "nothing tells the batch")),
    };
    if call.has(6) {
        cx.require_same_shape(call.shape(6)?, &[batch, heads, size, key_size], GatedDeltaNet::C3)?;
    }
    for at in [7, 8] {
        if call.has(at) {
            vector(cx, call, at, heads, GatedDeltaNet::C4)?;
        }
    }
    if call.has(9) {
        vector(cx, call, 9, batch, GatedDeltaNet::C3)?;
    }
    let each = [tokens, &[heads]].concat();
    if call.has(4) {
        let wide = call.shape(4)?.len() == rank;
        let decays = if wide { [each.as_slice(), &[key_size]].concat() } else { each.clone() };
        cx.require_same_shape(call.shape(4)?, &decays, GatedDeltaNet::C4)?;
    }
    if call.has(5) {
        cx.require_same_shape(call.shape(5)?, &each, GatedDeltaNet::C4)?;
    }
    let capacity = call.int("state_update_capacity", 0);
    let (keys, states) = (cx.mul(key_heads, key_size), cx.mul(heads, size));
    let row = cx.sum(vec![heads, keys, states]);
    let row = cx.mul(row, i32::try_from(capacity).unwrap_or(0));
    let shapes = [[tokens, &[heads, size]].concat(), vec![batch, heads, size, key_size], vec![batch, row]];
    shapes.into_iter().enumerate().map(|(at, shape)| Ok(call.output(at, shape)?.into())).collect()
}

clauses! { VarlenConv {
    C1 "The input is `[tokens, channels]`, and the weight is `[channels, 1, kernel]`."
    C2 "The bias has an element for each channel."
    C3 "Cumulative sequence lengths have 1 dimension, and states and update counts fit the batch size. \
        States are `[batch, channels, (kernel - 1) * dilation]`."
    C4 "`dilation` is positive."
} }

/// A convolution along the tokens of each sequence: `[tokens, channels]`, the states `[batch, channels, (kernel - 1) *
/// dilation]` behind the last token of each sequence, and a compact form of the updates.
fn causal_conv(cx: &mut Cx, call: &Checked) -> Outcome {
    let (&[tokens, channels], &[again, single, kernel]) = (call.shape(0)?, call.shape(1)?) else {
        return Err(KernelError::invalid(VarlenConv::C1, "tokens have 2 dimensions, a kernel 3"));
    };
    cx.require_eq(channels, again, VarlenConv::C1, "the channels of tokens and of the kernel")?;
    cx.require_eq(single, Expr::ONE, VarlenConv::C1, "the channels of a group")?;
    if call.has(3) {
        vector(cx, call, 3, channels, VarlenConv::C2)?;
    }
    let dilation = call.int("dilation", 1);
    call.check(dilation >= 1, VarlenConv::C4, || format!("the dilation is {dilation}"))?;
    let (before, dilation) = (cx.sub(kernel, 1), cx.int(dilation));
    let before = cx.mul(before, dilation);
    let &[begins] = call.shape(2)? else {
        return Err(KernelError::invalid(VarlenConv::C3, "sequences begin at places of one dimension"));
    };
    let batch = cx.sub(begins, 1);
    let states = vec![batch, channels, before];
    cx.require_same_shape(call.shape(4)?, &states, VarlenConv::C3)?;
    if call.has(5) {
        vector(cx, call, 5, batch, VarlenConv::C3)?;
    }
    let capacity = cx.int(call.int("state_update_capacity", 0));
    let shapes = [vec![tokens, channels], states, vec![batch, capacity, channels]];
    shapes.into_iter().enumerate().map(|(at, shape)| Ok(call.output(at, shape)?.into())).collect()
}
