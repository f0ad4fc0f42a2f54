//! onnxruntime's attention of one token, and attention to blocks of a cache.
use super::attention::table_fits;
use super::meeting::exactly;
use super::{Family, policy};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::values;
use crate::shape::value::{Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[DecoderMaskedAttention::ALL, SparseAttention::ALL];

pub(super) const CONTRIB: Family = &[
    op("DecoderMaskedMultiHeadAttention", of_one_token).at_run(&[
        values(
            7,
            DecoderMaskedAttention::C3,
            "the length {} is not negative and less than that of the caches",
        ),
        values(8, DecoderMaskedAttention::C5, "{} is the number of beams"),
    ]),
    op("SparseAttention", to_blocks).at_run(&[
        values(3, SparseAttention::C3, "the cache that is returned takes the memory of {}"),
        values(5, SparseAttention::C8, "each row of {} rises from 0 to at most the number of entries"),
        values(6, SparseAttention::C8, "every entry of {} is a block"),
        values(7, SparseAttention::C5, "the caches and the blocks have room for the length {}"),
        values(
            8,
            SparseAttention::C9,
            "every length in {} is from that of the queries, or 1 in a prompt, to the total one",
        ),
    ]),
];

clauses! { DecoderMaskedAttention {
    C1 "`query` is `[batch, 1, heads * head size]`, or three times as wide without `key` and `value`."
    C2 "`key`, `value` and `bias` fit `query`. `key` and `value` are `[batch, 1, heads * head size]` with \
        caches, else `[batch, heads, total length, head size]`; `bias` has `3 * heads * head size` \
        elements."
    C3 "Both caches are given or none. They are `[batch, heads, max length, head size]` and longer than \
        `past_sequence_length`; without caches, none is returned."
    C4 "`mask_index` is `[batch, total length]`, and `attention_bias` broadcasts along batches and heads."
    C5 "With more than one beam, `cache_indirection` is given. It is `[batch / beams, beams, max length]`."
    C6 "The fourth output needs `output_qk`. onnxruntime's CPU kernel takes no packed queries, and needs \
        caches that are shared and returned."
} }

/// `[batch, 1, hidden]`, the caches, and the products of queries and keys `[batch, heads, 1, total]`.
fn of_one_token(cx: &mut Cx, call: &Checked) -> Outcome {
    let query = call.shape(0)?.to_vec();
    let count = call.int("num_heads", 0);
    call.check(count > 0, DecoderMaskedAttention::C1, || format!("there are {count} heads"))?;
    call.check(call.has(1) == call.has(2), DecoderMaskedAttention::C2, || {
        "keys and values come together".to_owned()
    })?;
    let is_packed = !call.has(1);
    policy::onnxruntime_checks(cx, !is_packed, DecoderMaskedAttention::C6, || {
        "queries hold keys and values".to_owned()
    })?;
    if query.len() == 5 {
        return Err(KernelError::Unsupported(format!("{}: queries of 5 dimensions", call.op())));
    }
    call.check(query.len() == 3, DecoderMaskedAttention::C1, || {
        format!("queries have 3 dimensions, not {}", query.len())
    })?;
    cx.require_eq(query[1], Expr::ONE, DecoderMaskedAttention::C1, "the number of tokens")?;
    let heads = cx.int(count);
    let (hidden, size) = hidden_and_head(cx, query[2], heads, is_packed)?;
    let batch = query[0];
    if call.has(10) {
        let all = cx.mul(hidden, 3);
        cx.require_same_shape(call.shape(10)?, &[all], DecoderMaskedAttention::C2)?;
    }
    let is_cached = call.has(5);
    call.check(is_cached == call.has(6), DecoderMaskedAttention::C3, || "caches come together".to_owned())?;
    let asked = call.int("output_qk", 0) != 0 || !call.wants(3);
    call.check(asked, DecoderMaskedAttention::C6, || {
        "output_qk is 0, and its output is asked for".to_owned()
    })?;
    let result = call.output(0, vec![batch, Expr::ONE, hidden])?;
    let dtype = result.dtype;
    let products = |total: Expr| Tensor::new(dtype, vec![batch, heads, Expr::ONE, total]).into();
    if !is_cached {
        let total = others(cx, call, &[batch, heads, size], hidden)?;
        if call.int("past_present_share_buffer", 0) != 0 {
            // The keys have to fit into a cache, which has no room.
            let none = cx.eq(total, 0);
            policy::onnxruntime(cx, none, DecoderMaskedAttention::C6, |_| {
                "there are no caches to share".to_owned()
            })?;
        }
        return Ok(vec![result.into(), Value::Unknown, Value::Unknown, products(total)]);
    }
    let shared = call.int("past_present_share_buffer", 0) != 0;
    policy::onnxruntime_checks(cx, shared, DecoderMaskedAttention::C6, || {
        "caches are not shared".to_owned()
    })?;
    let returned = call.wants(1) && call.wants(2);
    policy::onnxruntime_checks(cx, returned, DecoderMaskedAttention::C6, || {
        "caches are not returned".to_owned()
    })?;
    if !is_packed {
        for at in [1, 2] {
            cx.require_same_shape(call.shape(at)?, &[batch, Expr::ONE, hidden], DecoderMaskedAttention::C2)?;
        }
    }
    let key = call.shape(5)?.to_vec();
    call.check(key.len() == 4, DecoderMaskedAttention::C3, || {
        format!("a cache has 4 dimensions, not {}", key.len())
    })?;
    let cache = [batch, heads, key[2], size];
    cx.require_same_shape(&key, &cache, DecoderMaskedAttention::C3)?;
    cx.require_same_shape(call.shape(6)?, &cache, DecoderMaskedAttention::C3)?;
    let total = total_length(cx, call, shared, key[2])?;
    masks(cx, call, &[batch, heads, Expr::ONE, total])?;
    beams(cx, call, batch, key[2])?;
    let mut present = cache.to_vec();
    if !shared {
        present[2] = total;
    }
    let present = Tensor::new(call.given(5)?.dtype, present);
    Ok(vec![result.into(), present.clone().into(), present.into(), products(total)])
}

/// The sizes of all heads and of one.
fn hidden_and_head(
    cx: &mut Cx,
    last: Expr,
    heads: Expr,
    is_packed: bool,
) -> Result<(Expr, Expr), KernelError> {
    let three = cx.int(3);
    let hidden = if is_packed { exactly(cx, last, three, DecoderMaskedAttention::C1)? } else { last };
    Ok((hidden, exactly(cx, hidden, heads, DecoderMaskedAttention::C1)?))
}

/// The length of keys and values of other inputs.
fn others(cx: &mut Cx, call: &Checked, of: &[Expr; 3], hidden: Expr) -> Result<Expr, KernelError> {
    call.check(call.has(1), DecoderMaskedAttention::C2, || "there are neither keys nor caches".to_owned())?;
    call.check(!call.wants(1) && !call.wants(2), DecoderMaskedAttention::C3, || {
        "there are no caches to return".to_owned()
    })?;
    let key = call.shape(1)?.to_vec();
    let [batch, heads, size] = *of;
    let length = match key.len() {
        4 => key[2],
        // onnxruntime does not look at the layout of the elements.
        3 if cx.on_cpu() => key[1],
        rank => {
            return Err(KernelError::invalid(DecoderMaskedAttention::C2, format!("keys have rank {rank}")));
        }
    };
    let expected =
        if key.len() == 4 { vec![batch, heads, length, size] } else { vec![batch, length, hidden] };
    for at in [1, 2] {
        cx.require_same_shape(call.shape(at)?, &expected, DecoderMaskedAttention::C2)?;
    }
    policy::onnxruntime_checks(cx, !call.has(4), DecoderMaskedAttention::C6, || {
        "products of other inputs are added to".to_owned()
    })?;
    masks(cx, call, &[batch, heads, Expr::ONE, length])?;
    Ok(length)
}

/// How many keys there are: those of the past, and one.
fn total_length(cx: &mut Cx, call: &Checked, shared: bool, most: Expr) -> Result<Expr, KernelError> {
    if !shared {
        return Ok(cx.add(most, 1));
    }
    call.check(call.has(7), DecoderMaskedAttention::C3, || "the length of the past is missing".to_owned())?;
    let count = cx.product(call.shape(7)?.to_vec());
    cx.require_eq(count, Expr::ONE, DecoderMaskedAttention::C3, "the number of lengths of the past")?;
    let rank = call.shape(7)?.len();
    policy::onnxruntime_checks(cx, rank <= 1, DecoderMaskedAttention::C3, || {
        format!("the length of the past has rank {rank}")
    })?;
    let Some(past) = call.given(7)?.single().and_then(|past| past.int()) else {
        return Ok(match (call.has(3), call.has(4)) {
            (true, _) if call.shape(3)?.len() == 2 => call.shape(3)?[1],
            (_, true) if call.shape(4)?.len() == 4 => call.shape(4)?[3],
            _ => cx.unbacked_size(1, Some(most)),
        });
    };
    let (natural, room) = (cx.ge(past, 0), cx.lt(past, most));
    let fits = cx.all(&[natural, room]);
    cx.require(fits, DecoderMaskedAttention::C3, |cx| {
        format!("a past of {} in caches of {}", cx.show(past), cx.show(most))
    })?;
    Ok(cx.add(past, 1))
}

fn masks(cx: &mut Cx, call: &Checked, products: &[Expr; 4]) -> Result<(), KernelError> {
    if call.has(3) {
        cx.require_same_shape(call.shape(3)?, &[products[0], products[3]], DecoderMaskedAttention::C4)?;
    }
    if call.has(4) {
        let added = call.shape(4)?.to_vec();
        call.check(added.len() == 4, DecoderMaskedAttention::C4, || {
            format!("an addition has rank {}", added.len())
        })?;
        cx.require_same_shape(&added[2..], &products[2..], DecoderMaskedAttention::C4)?;
        cx.require_expandable(&added[..2], &products[..2], DecoderMaskedAttention::C4)?;
    }
    Ok(())
}

fn beams(cx: &mut Cx, call: &Checked, batch: Expr, most: Expr) -> Result<(), KernelError> {
    let width = match call.tensor(8) {
        Some(width) => width.single().and_then(|width| width.int()),
        None => Some(Expr::ONE),
    };
    if call.has(8) {
        let count = cx.product(call.shape(8)?.to_vec());
        let some = cx.ge(count, 1);
        cx.require(some, DecoderMaskedAttention::C5, |_| "the number of beams is missing".to_owned())?;
    }
    if !call.has(9) {
        let Some(width) = width else { return Ok(()) };
        let single = cx.le(width, 1);
        return cx.require(single, DecoderMaskedAttention::C5, |cx| {
            format!("{} beams are not told apart", cx.show(width))
        });
    }
    let told = call.shape(9)?.to_vec();
    call.check(told.len() == 3, DecoderMaskedAttention::C5, || {
        format!("positions of beams have rank {}", told.len())
    })?;
    let rows = cx.mul(told[0], told[1]);
    cx.require_eq(rows, batch, DecoderMaskedAttention::C5, "rows of beams and batches")?;
    cx.require_eq(told[2], most, DecoderMaskedAttention::C5, "positions of beams and caches")?;
    match width {
        Some(width) => cx.require_eq(told[1], width, DecoderMaskedAttention::C5, "beams"),
        None => Ok(()),
    }
}

clauses! { SparseAttention {
    C1 "`query` is `[batch, length, heads * head size]`, and `num_heads` is divisible by `kv_num_heads`. \
        Without `key` and `value` it holds these as well."
    C2 "`key` and `value` are `[batch, length, kv_num_heads * head size]`. Both are given or both missing."
    C3 "`past_key` and `past_value` are `[batch, kv_num_heads, max length, head size]`."
    C4 "`block_row_indices` is `[layouts, blocks + 1]`, `block_col_indices` `[layouts, entries]`, and the \
        layouts divide the heads. There are at most `blocks * blocks` entries, and `sparse_block_size` is \
        positive."
    C5 "`key_total_sequence_lengths` is `[batch]`, and the one `total_sequence_length` is within the \
        caches and the blocks."
    C6 "`cos_cache` and `sin_cache` have the same shape, with a row for each position. This applies with \
        `do_rotary`."
    C7 "For onnxruntime, the head size is a multiple of 8, or of 16 with `do_rotary`. `cos_cache` has a \
        multiple of 8 columns, at most half the head size, and the batch is not empty."
    C8 "Each row of `block_row_indices` rises from 0 to at most the number of entries. The entries are \
        indices of blocks."
    C9 "For onnxruntime, each key length is from 1 to the total length, and outside of a prompt at least \
        that of `query`."
} }

/// The attention, `[batch, length, heads * size]`, and the caches, which the caller gives the memory of those that are
/// given.
fn to_blocks(cx: &mut Cx, call: &Checked) -> Outcome {
    const LAYOUT: &OpClause = SparseAttention::C1;
    let query = call.shape(0)?.to_vec();
    call.check(query.len() == 3, LAYOUT, || format!("queries have 3 dimensions, not {}", query.len()))?;
    let (count, kept) = (call.int("num_heads", 0), call.int("kv_num_heads", 0));
    call.check(count > 0 && kept > 0 && count % kept == 0, LAYOUT, || format!("{count} and {kept} heads"))?;
    call.check(call.has(1) == call.has(2), SparseAttention::C2, || {
        "keys and values come together".to_owned()
    })?;
    let held = if call.has(1) { count } else { count.saturating_add(kept.saturating_mul(2)) };
    let (heads, kv_heads, held) = (cx.int(count), cx.int(kept), cx.int(held));
    let size = exactly(cx, query[2], held, LAYOUT)?;
    if call.has(1) {
        let hidden = cx.mul(kv_heads, size);
        for at in [1, 2] {
            cx.require_same_shape(call.shape(at)?, &[query[0], query[1], hidden], SparseAttention::C2)?;
        }
    }
    let multiple = if call.int("do_rotary", 0) == 1 { 16 } else { 8 };
    let remainder = cx.modulo(size, multiple);
    let fine = cx.eq(remainder, 0);
    policy::onnxruntime(cx, fine, SparseAttention::C7, |cx| {
        format!("a head of {} is no multiple of {multiple}", cx.show(size))
    })?;
    let most = block_layouts(cx, call, heads)?;
    let key = call.shape(3)?.to_vec();
    call.check(key.len() == 4, SparseAttention::C3, || {
        format!("a cache has 4 dimensions, not {}", key.len())
    })?;
    let cache = vec![query[0], kv_heads, key[2], size];
    for at in [3, 4] {
        cx.require_same_shape(call.shape(at)?, &cache, SparseAttention::C3)?;
    }
    cx.require_same_shape(call.shape(8)?, &[query[0]], SparseAttention::C5)?;
    let totals = call.shape(7)?.to_vec();
    policy::onnxruntime_checks(cx, totals.len() <= 1, SparseAttention::C5, || {
        format!("the total length has rank {}", totals.len())
    })?;
    let totals = cx.product(totals);
    cx.require_eq(totals, Expr::ONE, SparseAttention::C5, "the number of total lengths")?;
    let total = call.given(7)?.single().and_then(|total| total.int());
    for room in [most, key[2]] {
        let Some(total) = total else { break };
        let fits = cx.le(total, room);
        cx.require(fits, SparseAttention::C5, |cx| {
            format!("a total length of {} for {}", cx.show(total), cx.show(room))
        })?;
    }
    key_lengths(cx, call, query[1], total)?;
    tables(cx, call, size, total)?;
    policy::not_empty(cx, &[query[0]], SparseAttention::C7)?;
    let hidden = cx.mul(heads, size);
    Ok(vec![
        call.output(0, vec![query[0], query[1], hidden])?.into(),
        call.output(1, cache.clone())?.into(),
        call.output(2, cache)?.into(),
    ])
}

/// How many positions the blocks have.
fn block_layouts(cx: &mut Cx, call: &Checked, heads: Expr) -> Result<Expr, KernelError> {
    const CLAUSE: &OpClause = SparseAttention::C4;
    let (rows, entries) = (call.shape(5)?.to_vec(), call.shape(6)?.to_vec());
    call.check(rows.len() == 2 && entries.len() == 2, CLAUSE, || {
        format!("layouts of ranks {} and {}", rows.len(), entries.len())
    })?;
    let (some, blocks_too) = (cx.ge(rows[0], 1), cx.ge(rows[1], 2));
    let filled = cx.all(&[some, blocks_too]);
    cx.require(filled, CLAUSE, |cx| format!("layouts are {}", cx.show_all(&rows)))?;
    let left_over = cx.modulo(heads, rows[0]);
    cx.require_eq(left_over, Expr::ZERO, CLAUSE, "heads beside the layouts")?;
    cx.require_eq(entries[0], rows[0], CLAUSE, "layouts")?;
    let blocks = cx.sub(rows[1], 1);
    let pairs = cx.mul(blocks, blocks);
    let fits = cx.le(entries[1], pairs);
    cx.require(fits, CLAUSE, |cx| format!("{} entries for {} blocks", cx.show(entries[1]), cx.show(blocks)))?;
    known_layouts(call, &rows, &entries)?;
    let block = call.int("sparse_block_size", 0);
    call.check(block > 0, CLAUSE, || format!("blocks of {block}"))?;
    let block = cx.int(block);
    Ok(cx.mul(blocks, block))
}

/// Looks at the elements of layouts that are known.
fn known_layouts(call: &Checked, rows: &[Expr], entries: &[Expr]) -> Result<(), KernelError> {
    let width = |sizes: &[Expr]| sizes[1].as_inline().and_then(|width| usize::try_from(width).ok());
    let (Some(ends), Some(of_row)) = (call.given(5)?.numbers(), width(rows)) else { return Ok(()) };
    let (columns, of_column) = (call.given(6)?.numbers(), width(entries));
    for (at, ends) in ends.chunks_exact(of_row.max(1)).enumerate() {
        let rises = ends.first() == Some(&0.0) && ends.windows(2).all(|pair| pair[0] <= pair[1]);
        call.check(rises, SparseAttention::C8, || format!("the rows {ends:?} do not rise from 0"))?;
        let (Some(of_column), Some(last)) = (of_column, ends.last().map(|&last| last as usize)) else {
            continue;
        };
        call.check(last <= of_column, SparseAttention::C8, || {
            format!("a row ends at {last}, of {of_column} entries")
        })?;
        let Some(columns) = &columns else { continue };
        let used = columns.iter().skip(at * of_column).take(last);
        let inside = used.clone().all(|&column| 0.0 <= column && column < (of_row - 1) as f64);
        call.check(inside, SparseAttention::C8, || format!("an entry is none of {} blocks", of_row - 1))?;
    }
    Ok(())
}

/// Looks at lengths that are known.
fn key_lengths(cx: &mut Cx, call: &Checked, length: Expr, total: Option<Expr>) -> Result<(), KernelError> {
    const CLAUSE: &OpClause = SparseAttention::C9;
    let (Some(lengths), Some(total)) = (call.given(8)?.ints(), total) else { return Ok(()) };
    let prompt = cx.eq(total, length);
    for given in lengths {
        let (one, within, new) = (cx.ge(given, 1), cx.le(given, total), cx.ge(given, length));
        let new = cx.any(&[prompt, new]);
        let fits = cx.all(&[one, within, new]);
        policy::onnxruntime(cx, fits, CLAUSE, |cx| {
            format!("{} keys of a total of {}", cx.show(given), cx.show(total))
        })?;
    }
    Ok(())
}

fn tables(cx: &mut Cx, call: &Checked, size: Expr, total: Option<Expr>) -> Result<(), KernelError> {
    const CLAUSE: &OpClause = SparseAttention::C6;
    if call.int("do_rotary", 0) != 1 {
        return Ok(());
    }
    call.check(call.has(9) && call.has(10), CLAUSE, || "rotation needs cosines and sines".to_owned())?;
    let cosines = call.shape(9)?.to_vec();
    // onnxruntime looks at the first two sizes.
    let fine = cosines.len() == 2 || cosines.len() > 2 && cx.on_cpu();
    call.check(fine, CLAUSE, || format!("a table has 2 dimensions, not {}", cosines.len()))?;
    let sines = call.shape(10)?.to_vec();
    call.check(sines.len() >= 2, CLAUSE, || format!("a table has 2 dimensions, not {}", sines.len()))?;
    let taken = if cx.on_cpu() { 2 } else { sines.len() };
    cx.require_same_shape(&cosines[..2], &sines[..taken], CLAUSE)?;
    table_fits(cx, [cosines[0], cosines[1]], size, total, [CLAUSE, SparseAttention::C7])?;
    policy::not_empty(cx, &[call.shape(0)?[1]], SparseAttention::C7)
}
