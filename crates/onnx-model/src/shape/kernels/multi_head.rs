//! Attention of several heads with queries, keys and values apart, as onnxruntime fuses it.
use super::attention_mask::added_bias;
use super::meeting::exactly;
use super::{Family, policy, products};
use crate::shape::call::{Checked, Outcome};
use crate::shape::kernels::attention::heads;
use crate::shape::op::op;
use crate::shape::value::Tensor;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[MultiHeadAttention::ALL];

pub(super) const CONTRIB: Family = &[op("MultiHeadAttention", multi_head).multiplies(products::multi_head)];

clauses! { MultiHeadAttention {
    C1 "`query`, `key` and `value` have 3 dimensions; the latter may have 4. onnxruntime's CPU kernel \
        takes none that are packed."
    C2 "`query`, `key` and `value` have the same batch size. `key` and `value` have the same length, `key` \
        the hidden size of `query`, and `bias` an element for each hidden element of the three."
    C3 "`past_key` and `past_value` are `[batch, heads, past length, head size]`. Both are given or both \
        missing."
    C4 "`key_padding_mask` is `[batch]`, `[3 * batch + 2]`, `[batch, total length]` or `[batch, length, \
        total length]`."
} }

/// `[batch, length, hidden of values]` of queries, keys and values of 3 dimensions.
fn multi_head(cx: &mut Cx, call: &Checked) -> Outcome {
    let query = call.shape(0)?.to_vec();
    call.check(matches!(query.len(), 3 | 5), MultiHeadAttention::C1, || {
        format!("queries have 3 or 5 dimensions, not {}", query.len())
    })?;
    let count = call.int("num_heads", 0);
    call.check(count > 0, heads::C1, || format!("there are {count} heads"))?;
    if query.len() == 5 || call.has(1) && !call.has(2) {
        let packed = query.len() == 5 || call.shape(1)?.len() == 5;
        call.check(packed, MultiHeadAttention::C1, || "values are missing".to_owned())?;
        policy::onnxruntime_checks(cx, false, MultiHeadAttention::C1, || {
            "onnxruntime's CPU kernel takes no packed queries, keys and values".to_owned()
        })?;
        return Err(KernelError::Unsupported("packed queries, keys and values".to_owned()));
    }
    call.check(call.has(1), MultiHeadAttention::C1, || "keys are missing".to_owned())?;
    let count = cx.int(count);
    let size = exactly(cx, query[2], count, heads::C1)?;
    let (key, value) = (call.shape(1)?.to_vec(), call.shape(2)?.to_vec());
    let (length, value_hidden) = match (key.as_slice(), value.as_slice()) {
        (&[batch, length, hidden], &[again, same, value_hidden]) => {
            cx.require_eq(batch, query[0], MultiHeadAttention::C2, "batches")?;
            cx.require_eq(hidden, query[2], MultiHeadAttention::C2, "hidden sizes")?;
            cx.require_eq(again, query[0], MultiHeadAttention::C2, "batches")?;
            cx.require_eq(same, length, MultiHeadAttention::C2, "lengths of keys and values")?;
            (length, value_hidden)
        }
        (&[batch, heads, length, head], &[again, heads_again, same, value_size]) => {
            cx.require_same_shape(&[batch, heads, head], &[query[0], count, size], MultiHeadAttention::C2)?;
            cx.require_same_shape(
                &[again, heads_again, same],
                &[query[0], count, length],
                MultiHeadAttention::C2,
            )?;
            let alike = cx.eq(value_size, size);
            policy::onnxruntime(cx, alike, MultiHeadAttention::C2, |cx| {
                format!("values of {} for keys of {}", cx.show(value_size), cx.show(size))
            })?;
            (length, cx.mul(value_size, count))
        }
        _ => {
            return Err(KernelError::invalid(
                MultiHeadAttention::C1,
                "keys and values have 3 or 4 dimensions",
            ));
        }
    };
    let value_size = exactly(cx, value_hidden, count, heads::C1)?;
    if call.has(3) {
        let twice = cx.mul(query[2], 2);
        let all = cx.add(twice, value_hidden);
        cx.require_same_shape(call.shape(3)?, &[all], MultiHeadAttention::C2)?;
    }
    let mut total = length;
    if call.has(6) {
        let past = call.shape(6)?.to_vec();
        call.check(past.len() == 4 && call.has(7), MultiHeadAttention::C3, || {
            "caches come together".to_owned()
        })?;
        cx.require_same_shape(&past, &[query[0], count, past[2], size], MultiHeadAttention::C3)?;
        cx.require_same_shape(
            call.shape(7)?,
            &[query[0], count, past[2], value_size],
            MultiHeadAttention::C3,
        )?;
        total = cx.add(length, past[2]);
    }
    if call.has(4) {
        key_padding(cx, call, [query[0], query[1], total])?;
    }
    if call.has(5) {
        added_bias(cx, call, 5, &[query[0], count, query[1], total])?;
    }
    Ok(vec![
        call.output(0, vec![query[0], query[1], value_hidden])?.into(),
        call.output(1, vec![query[0], count, total, size])?.into(),
        call.output(2, vec![query[0], count, total, value_size])?.into(),
        Tensor::new(call.given(0)?.dtype, vec![query[0], count, query[1], total]).into(),
    ])
}

fn key_padding(cx: &mut Cx, call: &Checked, [batch, length, total]: [Expr; 3]) -> Result<(), KernelError> {
    let mask = call.shape(4)?.to_vec();
    match *mask.as_slice() {
        [count] => {
            let three = cx.mul(batch, 3);
            let three = cx.add(three, 2);
            let cases = [cx.eq(count, batch), cx.eq(count, three)];
            let fine = cx.any(&cases);
            cx.require(fine, MultiHeadAttention::C4, |cx| format!("the mask has {} elements", cx.show(count)))
        }
        [_, _] => cx.require_same_shape(&mask, &[batch, total], MultiHeadAttention::C4),
        [_, _, _] => cx.require_same_shape(&mask, &[batch, length, total], MultiHeadAttention::C4),
        _ => call.check(false, MultiHeadAttention::C4, || format!("the mask is of rank {}", mask.len())),
    }
}
