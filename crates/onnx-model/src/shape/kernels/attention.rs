//! Attention.
use super::attention_mask::{AttentionMask, added_bias, padding};
use super::meeting::exactly;
use super::{Family, gather, policy, products};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::{Op, Reads, op};
use crate::shape::run_time::{About, LENGTHS, NATURAL, Rule, rule, values};
use crate::shape::value::{Tensor, Value};
use crate::shape::{Dtype, at_load};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

const LENGTHS_OF_KEYS: Rule =
    values(6, Attention::C4, "no length in {} is negative or exceeds that of the keys and values");
const ATTENTION: Op = op("Attention", attention).multiplies(products::attention).reads(Reads::Behind(6));
/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[Attention::ALL, FusedAttention::ALL, QAttention::ALL, heads::ALL, GroupQueryAttention::ALL];

pub(super) const KERNELS: Family = &[ATTENTION.infers(at_load::rank).at_run(&[LENGTHS_OF_KEYS])];

pub(super) const CONTRIB: Family = &[
    op("Attention", packed_attention).at_run(&[rule(3, AttentionMask::C2, About::Lengths, NATURAL)]),
    op("GroupQueryAttention", group_query).at_run(&[values(5, GroupQueryAttention::C5, LENGTHS)]),
    op("QAttention", quantized_attention).at_run(&[rule(3, AttentionMask::C2, About::Lengths, NATURAL)]),
];

/// Queries, keys or values as `[batch, heads, length, size]`.
pub(super) struct Heads {
    pub batch: Expr,
    heads: Expr,
    pub length: Expr,
    pub size: Expr,
}

/// Reads `[batch, heads, length, size]`, or `[batch, length, heads * size]` with the number of heads from an attribute.
pub(super) fn heads(
    cx: &mut Cx,
    call: &Checked,
    at: usize,
    count: &'static str,
) -> Result<Heads, KernelError> {
    match call.shape(at)? {
        &[batch, heads, length, size] => {
            let stated = call.int(count, 0);
            if stated > 0 {
                let stated = cx.int(stated);
                cx.require_eq(stated, heads, Attention::C1, count)?;
            }
            Ok(Heads { batch, heads, length, size })
        }
        &[batch, length, hidden] => {
            let heads = call.int(count, 0);
            call.check(heads > 0, Attention::C1, || format!("{count} is {heads}"))?;
            let heads = cx.int(heads);
            let size = exactly(cx, hidden, heads, Attention::C1)?;
            Ok(Heads { batch, heads, length, size })
        }
        sizes => Err(KernelError::invalid(
            Attention::C1,
            format!("an operand has 3 or 4 dimensions, not {}", sizes.len()),
        )),
    }
}

clauses! { Attention {
    C1 "The inputs `Q`, `K` and `V` have the same rank, 3 or 4. With 3, their last sizes are divisible by \
        the numbers of heads."
    C2 "The inputs `Q`, `K` and `V` have the same batch size. `K` and `V` have the same heads and length, \
        `Q` and `K` the same head size."
    C3 "The number of heads of `Q` is divisible by that of `K`."
    C4 "`past_key`, `past_value` and `nonpad_kv_seqlen` fit `K` and `V`. Both caches are given or none; \
        onnxruntime needs them as outputs, too."
    C5 "`attn_mask` broadcasts to `[batch, heads, length, total length]`. It has 1 to 4 dimensions; from \
        version 24 on, its last size may be smaller."
    C6 "onnxruntime supports the types, attributes and sizes of the call. None of `Q`, `K` and `V` is \
        empty."
} }

/// `softmax(Q K' + mask) V`, the extended caches, and the products of queries and keys.
fn attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let rank = call.shape(0)?.len();
    for at in [1, 2] {
        call.check(call.shape(at)?.len() == rank, Attention::C1, || "ranks differ".to_owned())?;
    }
    let q = heads(cx, call, 0, "q_num_heads")?;
    let k = heads(cx, call, 1, "kv_num_heads")?;
    let v = heads(cx, call, 2, "kv_num_heads")?;
    for (a, b, what) in [
        (q.batch, k.batch, "batches"),
        (q.batch, v.batch, "batches"),
        (k.heads, v.heads, "heads"),
        (k.length, v.length, "lengths of keys and values"),
        (q.size, k.size, "sizes of queries and keys"),
    ] {
        cx.require_eq(a, b, Attention::C2, what)?;
    }
    known_to_onnxruntime(cx, call)?;
    let operands = [q.batch, q.heads, q.length, q.size, k.heads, k.length, v.size];
    policy::not_empty(cx, &operands, Attention::C6)?;
    let remainder = cx.modulo(q.heads, k.heads);
    cx.require_eq(remainder, Expr::ZERO, Attention::C3, "heads of queries that are left over")?;
    let mut total = k.length;
    call.check(call.has(4) == call.has(5), Attention::C4, || "one of two caches is given".to_owned())?;
    if call.has(4) {
        let (key, value) = (call.shape(4)?.to_vec(), call.shape(5)?.to_vec());
        call.check(key.len() == 4 && value.len() == 4, Attention::C4, || {
            "a cache has 4 dimensions".to_owned()
        })?;
        cx.require_same_shape(&key, &[k.batch, k.heads, key[2], k.size], Attention::C4)?;
        cx.require_same_shape(&value, &[v.batch, v.heads, key[2], v.size], Attention::C4)?;
        total = cx.add(total, key[2]);
        let returned = call.wants(1) && call.wants(2);
        policy::onnxruntime_checks(cx, returned, Attention::C4, || {
            "a cache is given and not returned".to_owned()
        })?;
    }
    if call.has(3) {
        mask(cx, call, &[q.batch, q.heads, q.length, total])?;
    }
    if call.has(6) {
        cx.require_same_shape(call.shape(6)?, &[q.batch], Attention::C4)?;
        let bound = cx.add(total, 1);
        gather::inside(cx, call.given(6)?, bound, Attention::C4)?;
        gather::not_negative(call, 6, Attention::C4)?;
    }
    let result = match rank {
        4 => vec![q.batch, q.heads, q.length, v.size],
        _ => {
            let hidden = cx.mul(q.heads, v.size);
            vec![q.batch, q.length, hidden]
        }
    };
    let cache = |size: Expr| vec![k.batch, k.heads, total, size];
    Ok(vec![
        call.output(0, result)?.into(),
        Tensor::new(call.given(1)?.dtype, cache(k.size)).into(),
        Tensor::new(call.given(2)?.dtype, cache(v.size)).into(),
        Tensor::new(call.given(0)?.dtype, vec![q.batch, q.heads, q.length, total]).into(),
    ])
}

/// The element types by number in which the body of attention takes a softmax: `float`, `float16`, `double`, `bfloat16`.
const BODIES: [i64; 4] = [1, 10, 11, 16];

fn known_to_onnxruntime(cx: &Cx, call: &Checked) -> Result<(), KernelError> {
    for name in ["left_window_size", "right_window_size"] {
        policy::onnxruntime_checks(cx, call.attribute(name).is_none(), Attention::C6, || {
            format!("onnxruntime has no {name}")
        })?;
    }
    let scale = call.float("scale");
    policy::onnxruntime_checks(cx, scale.is_none_or(|scale| scale > 0.0), Attention::C6, || {
        "scale is to be positive".to_owned()
    })?;
    let mode = call.int("qk_matmul_output_mode", 0);
    policy::onnxruntime_checks(cx, (0..4).contains(&mode), Attention::C6, || format!("the mode is {mode}"))?;
    let (own, values) = (call.given(0)?.dtype, call.given(2)?.dtype);
    let refusal = || "onnxruntime has no attention of these types".to_owned();
    policy::onnxruntime_checks(cx, own != Dtype::BF16 && values == own, Attention::C6, refusal)?;
    let mask = call.tensor(3).map_or(Dtype::Bool, |mask| mask.dtype);
    let kernel = [Dtype::F16, Dtype::F32].contains(&own);
    if kernel && (mask == Dtype::Bool || mask == own) {
        return Ok(());
    }
    // Else it runs the body, which adds a mask of numbers to one of `float`; without a body, it casts to the kernel's types.
    let is_added = call.int("is_causal", 0) != 0 || call.has(6);
    let precision = call.int("softmax_precision", BODIES[0]);
    let runs = match BODIES.contains(&precision) {
        // There are no kernels for a body in `bfloat16`.
        true => precision != 16 && (!is_added || matches!(mask, Dtype::Bool | Dtype::F32)),
        false => kernel && matches!(mask, Dtype::F16 | Dtype::F32),
    };
    policy::onnxruntime_checks(cx, runs, Attention::C6, refusal)
}

/// Its last size may be shorter than that of the products.
fn mask(cx: &mut Cx, call: &Checked, products: &[Expr; 4]) -> Result<(), KernelError> {
    let mask = call.shape(3)?.to_vec();
    let rank = mask.len();
    call.check((1..=4).contains(&rank), Attention::C5, || format!("the mask has rank {rank}"))?;
    policy::onnxruntime_checks(cx, rank >= 2, Attention::C6, || "the mask has rank 1".to_owned())?;
    let ends: Vec<Expr> =
        mask.iter().rev().zip(products.iter().rev()).take(2).map(|(&size, &of)| cx.eq(size, of)).collect();
    let whole = cx.all(&ends);
    policy::onnxruntime(cx, whole, Attention::C6, |cx| {
        format!("the mask is {} for {}", cx.show_all(&mask), cx.show_all(products))
    })?;
    let (rest, last) = mask.split_at(mask.len() - 1);
    cx.require_expandable(rest, &products[..3], Attention::C5)?;
    if call.since() < 24 {
        return cx.require_expandable(last, &products[3..], Attention::C5);
    }
    let fits = cx.le(last[0], products[3]);
    cx.require(fits, Attention::C5, |cx| {
        format!("the mask is {} wide for {}", cx.show(last[0]), cx.show(products[3]))
    })
}

clauses! { FusedAttention {
    C1 "`input` has 3 dimensions and `weights` has 2."
    C2 "`weights` has a row for each element of the last dimension of `input`, and `bias` an element for \
        each column."
    C3 "`past` is `[2, batch, heads, past length, head size]`."
    C4 "If `past` is given, the output `present` is used."
    C5 "onnxruntime's CPU kernel does not take `attention_bias` together with `past`."
} }

/// `[batch, length, hidden of values]` of `input [batch, length, in]` and `weights [in, 3 hidden]`, and the extended
/// cache.
fn packed_attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let outputs = packed(cx, call, 3, 4)?;
    policy::onnxruntime_checks(cx, !call.has(4) || call.wants(1), FusedAttention::C4, || {
        "the cache is not extended".to_owned()
    })?;
    if call.has(5) {
        let [input, _, _] = call.shape(0)? else { return Ok(outputs) };
        let (batch, length) = (*input, call.shape(0)?[1]);
        let Some([_, _, count, total, _]) = outputs[1].tensor().and_then(|t| t.shape.as_deref()) else {
            return Ok(outputs);
        };
        policy::onnxruntime_checks(cx, !call.has(4), FusedAttention::C5, || {
            "with a cache there is no bias of the products".to_owned()
        })?;
        added_bias(cx, call, 5, &[batch, *count, length, *total])?;
    }
    Ok(outputs)
}

clauses! { QAttention {
    C1 "Scales and zero points of the input have one element. Those of the weights have one, or one for \
        each column."
} }

/// [`packed_attention`] with scales.
fn quantized_attention(cx: &mut Cx, call: &Checked) -> Outcome {
    let outputs = packed(cx, call, 5, 8)?;
    let columns = call.shape(1)?[1];
    for (at, columns) in [(3, None), (6, None), (4, Some(columns)), (7, Some(columns))] {
        if !call.has(at) {
            continue;
        }
        let shape = call.shape(at)?.to_vec();
        call.check(shape.len() <= 1, QAttention::C1, || format!("input {at} is of rank {}", shape.len()))?;
        let count = cx.product(shape);
        let one = cx.eq(count, 1);
        let each = columns.map(|columns| cx.eq(count, columns));
        let fine = each.map_or(one, |each| cx.any(&[one, each]));
        cx.require(fine, QAttention::C1, |cx| format!("there are {} scales", cx.show(count)))?;
    }
    call.check(!call.has(8) || call.wants(1), FusedAttention::C4, || "the cache is not extended".to_owned())?;
    Ok(outputs)
}

/// The outputs of [`packed_attention`] with a mask and a cache.
fn packed(cx: &mut Cx, call: &Checked, mask: usize, cache: usize) -> Outcome {
    let (input, weights) = (call.shape(0)?.to_vec(), call.shape(1)?.to_vec());
    call.check(input.len() == 3 && weights.len() == 2, FusedAttention::C1, || {
        format!("ranks {} and {} are to be 3 and 2", input.len(), weights.len())
    })?;
    cx.require_eq(input[2], weights[0], FusedAttention::C2, "the input and the weights")?;
    if call.has(2) {
        cx.require_same_shape(call.shape(2)?, &[weights[1]], FusedAttention::C2)?;
    }
    let (_, value) = hidden_sizes(cx, call, weights[1])?;
    let count = cx.int(call.int("num_heads", 0));
    let size = exactly(cx, value, count, heads::C1)?;
    let mut outputs: Vec<Value> = vec![call.output(0, vec![input[0], input[1], value])?.into()];
    let two = cx.int(2);
    let mut total = input[1];
    if call.has(cache) {
        let past = call.shape(cache)?.to_vec();
        call.check(past.len() == 5, FusedAttention::C3, || {
            format!("a cache has 5 dimensions, not {}", past.len())
        })?;
        cx.require_same_shape(&past, &[two, input[0], count, past[3], size], FusedAttention::C3)?;
        total = cx.add(total, past[3]);
    }
    outputs.push(call.output(1, vec![two, input[0], count, total, size])?.into());
    if call.has(mask) {
        padding(cx, call, mask, input[0], input[1], total)?;
    }
    Ok(outputs)
}

clauses! { heads "Heads" {
    C1 "The columns of the weights split into hidden sizes that are divisible by `num_heads`. The sizes \
        are those in `qkv_hidden_sizes`, or three equal ones."
} }

/// The hidden sizes of queries and of values, for so many columns of weights.
pub(super) fn hidden_sizes(cx: &mut Cx, call: &Checked, columns: Expr) -> Result<(Expr, Expr), KernelError> {
    let count = call.int("num_heads", 0);
    call.check(count > 0, heads::C1, || format!("there are {count} heads"))?;
    let count = cx.int(count);
    let (query, value) = match call.ints("qkv_hidden_sizes") {
        Some(sizes) if !sizes.is_empty() => {
            call.check(sizes.len() == 3, heads::C1, || format!("there are {} hidden sizes", sizes.len()))?;
            call.check(sizes[0] == sizes[1], heads::C1, || "queries and keys differ in size".to_owned())?;
            let sum = cx.int(sizes.iter().sum());
            cx.require_eq(columns, sum, heads::C1, "the weights and the hidden sizes")?;
            (cx.int(sizes[0]), cx.int(sizes[2]))
        }
        _ => {
            let three = cx.int(3);
            let each = exactly(cx, columns, three, heads::C1)?;
            (each, each)
        }
    };
    exactly(cx, query, count, heads::C1)?;
    exactly(cx, value, count, heads::C1)?;
    Ok((query, value))
}

clauses! { GroupQueryAttention {
    C1 "`query` has 3 dimensions, and its last size is divisible by the heads. `num_heads` is divisible by \
        `kv_num_heads`."
    C2 "`key` and `value` are `[batch, length, kv_num_heads * head size]`. Both are given or both missing."
    C3 "Caches are `[batch, kv_num_heads, past length, head size]`. `past_key` and `past_value` are both \
        given or both missing."
    C4 "`seqlens_k` has an element for each batch. `total_sequence_length` has one element."
    C5 "`total_sequence_length` and `seqlens_k` fit the cache and the length of `query`. The cache is long \
        enough for the total length, or grows to it; lengths are positions in the cache that is returned."
    C6 "For onnxruntime, the head size is a multiple of 8, or of 16 with `do_rotary`."
    C7 "`cos_cache` and `sin_cache` have the same shape, with a row for each position. For onnxruntime, \
        the number of columns is a multiple of 8 and at most half the head size."
} }

/// `[batch, length, heads * size]` and caches as long as the total length.
fn group_query(cx: &mut Cx, call: &Checked) -> Outcome {
    let query = call.shape(0)?.to_vec();
    call.check(query.len() == 3, GroupQueryAttention::C1, || {
        format!("queries have 3 dimensions, not {}", query.len())
    })?;
    let (count, kv) = (call.int("num_heads", 0), call.int("kv_num_heads", 0));
    call.check(count > 0 && kv > 0 && count % kv == 0, GroupQueryAttention::C1, || {
        format!("{count} and {kv} heads")
    })?;
    let (all, kv_heads) = (cx.int(count), cx.int(kv));
    let packed = !call.has(1);
    call.check(call.has(1) == call.has(2), GroupQueryAttention::C2, || {
        "keys and values come together".to_owned()
    })?;
    let size = if packed {
        let heads = cx.int(count.saturating_add(kv.saturating_mul(2)));
        exactly(cx, query[2], heads, GroupQueryAttention::C1)?
    } else {
        exactly(cx, query[2], all, GroupQueryAttention::C1)?
    };
    if !packed {
        let hidden = cx.mul(kv_heads, size);
        for at in [1, 2] {
            cx.require_same_shape(call.shape(at)?, &[query[0], query[1], hidden], GroupQueryAttention::C2)?;
        }
    }
    let mut past = Expr::ZERO;
    call.check(call.has(3) == call.has(4), GroupQueryAttention::C3, || {
        "one of two caches is given".to_owned()
    })?;
    if call.has(3) {
        let key = call.shape(3)?.to_vec();
        call.check(key.len() == 4, GroupQueryAttention::C3, || {
            format!("a cache has 4 dimensions, not {}", key.len())
        })?;
        let expected = [query[0], kv_heads, key[2], size];
        cx.require_same_shape(&key, &expected, GroupQueryAttention::C3)?;
        cx.require_same_shape(call.shape(4)?, &expected, GroupQueryAttention::C3)?;
        past = key[2];
    }
    let (of_lengths, of_totals) = (call.shape(5)?.len(), call.shape(6)?.len());
    let fine = of_lengths >= 1 && of_totals <= 1;
    policy::onnxruntime_checks(cx, fine, GroupQueryAttention::C4, || {
        format!("lengths are of rank {of_lengths}, the total one of rank {of_totals}")
    })?;
    let lengths = cx.product(call.shape(5)?.to_vec());
    cx.require_eq(lengths, query[0], GroupQueryAttention::C4, "lengths and batches")?;
    let totals = cx.product(call.shape(6)?.to_vec());
    cx.require_eq(totals, Expr::ONE, GroupQueryAttention::C4, "the number of total lengths")?;
    let total = match call.given(6)?.single().and_then(|total| total.int()) {
        Some(total) => total,
        None => cx.unbacked_size(0, None),
    };
    let multiple = if call.int("do_rotary", 0) != 0 { 16 } else { 8 };
    let remainder = cx.modulo(size, multiple);
    let fine = cx.eq(remainder, 0);
    policy::onnxruntime(cx, fine, GroupQueryAttention::C6, |cx| {
        format!("a head of {} is no multiple of {multiple}", cx.show(size))
    })?;
    if call.given(6)?.elements.is_some() {
        total_length(cx, call, &query, past, total)?;
    }
    rotary_caches(cx, call, size, total)?;
    let present = cx.max(past, total);
    let hidden = cx.mul(all, size);
    let cache = vec![query[0], kv_heads, present, size];
    let dtype = call.tensor(3).map_or(call.given(0)?.dtype, |cache| cache.dtype);
    Ok(vec![
        call.output(0, vec![query[0], query[1], hidden])?.into(),
        Tensor::new(dtype, cache.clone()).into(),
        Tensor::new(dtype, cache).into(),
        Tensor::new(call.given(0).map_or(Dtype::F32, |q| q.dtype), vec![query[0], all, query[1], total])
            .into(),
    ])
}

fn rotary_caches(cx: &mut Cx, call: &Checked, size: Expr, total: Expr) -> Result<(), KernelError> {
    const CLAUSE: &OpClause = GroupQueryAttention::C7;
    if !call.has(7) && !call.has(8) {
        let rotates = call.int("do_rotary", 0) != 0;
        return policy::onnxruntime_checks(cx, !rotates, CLAUSE, || {
            "rotation needs cosines and sines".to_owned()
        });
    }
    call.check(call.has(7) && call.has(8), CLAUSE, || "cosines and sines come together".to_owned())?;
    let cosines = call.shape(7)?.to_vec();
    call.check(cosines.len() == 2, CLAUSE, || {
        format!("a table of cosines has 2 dimensions, not {}", cosines.len())
    })?;
    cx.require_same_shape(&cosines, call.shape(8)?, CLAUSE)?;
    table_fits(cx, [cosines[0], cosines[1]], size, Some(total), [CLAUSE, CLAUSE])
}

/// Tables of cosines and sines for rotation: a row for each position, at most half as many columns as a
/// head has elements, in eights. The clauses are those of rows and of columns.
pub(super) fn table_fits(
    cx: &mut Cx,
    [rows, columns]: [Expr; 2],
    head: Expr,
    total: Option<Expr>,
    clauses: [&'static OpClause; 2],
) -> Result<(), KernelError> {
    if let Some(total) = total {
        let enough = cx.ge(rows, total);
        cx.require(enough, clauses[0], |cx| {
            format!("{} rows of cosines for a total length of {}", cx.show(rows), cx.show(total))
        })?;
    }
    let (doubled, remainder) = (cx.mul(columns, 2), cx.modulo(columns, 8));
    let (within, whole) = (cx.le(doubled, head), cx.eq(remainder, 0));
    let fits = cx.all(&[within, whole]);
    policy::onnxruntime(cx, fits, clauses[1], |cx| {
        format!("{} columns of cosines for heads of {}", cx.show(columns), cx.show(head))
    })
}

fn total_length(
    cx: &mut Cx,
    call: &Checked,
    query: &[Expr],
    past: Expr,
    total: Expr,
) -> Result<(), KernelError> {
    let length = query[1];
    let positive = cx.ge(total, 1);
    let room = cx.ge(total, length);
    let all = cx.add(past, length);
    let (shared, extended) = (cx.ge(past, total), cx.eq(total, all));
    let cached = cx.any(&[shared, extended]);
    let (prompt, one, single) = (cx.eq(total, length), cx.eq(length, 1), cx.eq(query[0], 1));
    let step = cx.any(&[prompt, one, single]);
    let fine = cx.all(&[positive, room, cached, step]);
    policy::onnxruntime(cx, fine, GroupQueryAttention::C5, |cx| {
        format!("a total length of {} for {} and {}", cx.show(total), cx.show(past), cx.show(length))
    })?;
    let present = cx.max(past, total);
    gather::inside(cx, call.given(5)?, present, GroupQueryAttention::C5)?;
    gather::not_negative(call, 5, GroupQueryAttention::C5)?;
    for last in call.given(5)?.ints().unwrap_or_default() {
        let tokens = cx.add(last, 1);
        let enough = cx.ge(tokens, length);
        let fine = cx.any(&[prompt, enough]);
        policy::onnxruntime(cx, fine, GroupQueryAttention::C5, |cx| {
            format!("{} tokens for queries of {}", cx.show(tokens), cx.show(length))
        })?;
    }
    Ok(())
}
