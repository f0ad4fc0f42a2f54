//! onnxruntime's operators for attention with a recurrent state, and for its gates.
use super::meeting::exactly;
use super::{Family, policy};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::value::{Tensor, Value};
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[LinearAttention::ALL, LinearAttentionGate::ALL, GatedRMSNorm::ALL];

pub(super) const CONTRIB: Family = &[
    op("GatedRMSNorm", gated_norm).passes(),
    op("LinearAttention", attention).passes(),
    op("LinearAttentionGate", gate).passes(),
];

clauses! { LinearAttention {
    C1 "Queries, keys and values are `[batch, length, heads * head size]`, and heads are not empty."
    C2 "The numbers of heads divide each other. Those of queries are a multiple of those of values, or the \
        other way round; the heads of keys divide those of values."
    C3 "The past state is `[batch, heads, key size, value size]`."
    C4 "`update_rule` is known."
    C5 "Decay and rate are given if `update_rule` needs them, and have an element for each token and head. \
        A decay may have one for each element of a key, and a rate one for all heads."
    C6 "For onnxruntime's CPU kernel, `state_window` is 0."
} }

/// `[batch, length, max(query heads, heads) * value size]`, and the state `[batch, heads, key size, value size]`.
fn attention(cx: &mut Cx, call: &Checked) -> Outcome {
    const LAYOUT: &OpClause = LinearAttention::C1;
    let query = call.shape(0)?.to_vec();
    for at in 0..3 {
        let rank = call.shape(at)?.len();
        call.check(rank == 3, LAYOUT, || format!("input {at} has 3 dimensions, not {rank}"))?;
        cx.require_same_shape(&call.shape(at)?[..2], &query[..2], LAYOUT)?;
    }
    let (asked, kept) = (call.int("q_num_heads", 0), call.int("kv_num_heads", 0));
    let whole = asked > 0 && kept > 0 && (asked % kept == 0 || kept % asked == 0);
    call.check(whole, LinearAttention::C2, || format!("{asked} and {kept} heads"))?;
    let heads = cx.int(kept);
    let query_heads = cx.int(asked);
    let size = exactly(cx, query[2], query_heads, LAYOUT)?;
    let key = call.shape(1)?[2];
    for filled in [size, key] {
        let some = cx.ge(filled, 1);
        cx.require(some, LAYOUT, |_| "a key has no elements".to_owned())?;
    }
    let key_heads = exactly(cx, key, size, LAYOUT)?;
    let left_over = cx.modulo(heads, key_heads);
    cx.require_eq(left_over, Expr::ZERO, LinearAttention::C2, "heads of values beside those of keys")?;
    let value_size = exactly(cx, call.shape(2)?[2], heads, LAYOUT)?;
    let state = vec![query[0], heads, size, value_size];
    gates(cx, call, &query[..2], heads, size)?;
    let window = call.int("state_window", 0);
    policy::onnxruntime_checks(cx, window == 0, LinearAttention::C6, || format!("the window is {window}"))?;
    if window != 0 {
        return Err(KernelError::Unsupported("LinearAttention: a window of states".to_owned()));
    }
    if call.has(3) {
        cx.require_same_shape(call.shape(3)?, &state, LinearAttention::C3)?;
    }
    let most = cx.int(asked.max(kept));
    let hidden = cx.mul(most, value_size);
    let state_type = call.tensor(3).map_or(call.given(0)?.dtype, |state| state.dtype);
    Ok(vec![call.output(0, vec![query[0], query[1], hidden])?.into(), Tensor::new(state_type, state).into()])
}

fn gates(cx: &mut Cx, call: &Checked, rows: &[Expr], heads: Expr, size: Expr) -> Result<(), KernelError> {
    let rule = call.text("update_rule", "gated_delta");
    let (decays, learns) = match rule {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        _ => return Err(KernelError::invalid(LinearAttention::C4, format!("no rule is named {rule}"))),
    };
    let each = cx.mul(heads, size);
    for (at, needed, other, what) in [(4, decays, each, "a decay"), (5, learns, Expr::ONE, "a rate")] {
        if !call.has(at) {
            call.check(!needed, LinearAttention::C5, || format!("the rule {rule} needs {what}"))?;
            continue;
        }
        let given = call.shape(at)?.to_vec();
        call.check(given.len() == 3, LinearAttention::C5, || {
            format!("{what} has 3 dimensions, not {}", given.len())
        })?;
        cx.require_same_shape(&given[..2], rows, LinearAttention::C5)?;
        let (of_heads, of_others) = (cx.eq(given[2], heads), cx.eq(given[2], other));
        let fine = cx.any(&[of_heads, of_others]);
        cx.require(fine, LinearAttention::C5, |cx| {
            format!("{what} has {} numbers for {} heads", cx.show(given[2]), cx.show(heads))
        })?;
    }
    Ok(())
}

clauses! { LinearAttentionGate {
    C1 "`a` is not a scalar, and its last size, the number of heads, is positive."
    C2 "`dt_bias` and `decay_scale` have an element for each head."
    C3 "`b` has the shape of `a`, and is given if the second output is used."
} }

/// `decay_scale * softplus(a + dt_bias)` and `sigmoid(b)`, of the shape of `a`.
fn gate(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let Some(&heads) = sizes.last() else {
        return Err(KernelError::invalid(LinearAttentionGate::C1, "the input is a scalar"));
    };
    let some = cx.ge(heads, 1);
    cx.require(some, LinearAttentionGate::C1, |_| "there are no heads".to_owned())?;
    for at in [1, 2] {
        let count = cx.product(call.shape(at)?.to_vec());
        cx.require_eq(count, heads, LinearAttentionGate::C2, "numbers and heads")?;
    }
    if call.wants(1) {
        call.check(call.has(3), LinearAttentionGate::C3, || "the input b is missing".to_owned())?;
    }
    if call.has(3) && (call.wants(1) || !cx.on_cpu()) {
        cx.require_same_shape(call.shape(3)?, &sizes, LinearAttentionGate::C3)?;
    }
    let result = |at: usize| call.output(at, sizes.clone()).map(Value::from);
    Ok(vec![result(0)?, result(1)?])
}

clauses! { GatedRMSNorm {
    C1 "The input is not a scalar, and the gate has its shape."
    C2 "The last size of the input is divisible by the scale's length, which is not 0."
    C3 "`activation` is `silu`, `swish` or `sigmoid`."
} }

/// `X / rms(X) * scale * activation(gate)`, of the shape of `X`.
fn gated_norm(cx: &mut Cx, call: &Checked) -> Outcome {
    let sizes = call.shape(0)?.to_vec();
    let Some(&last) = sizes.last() else {
        return Err(KernelError::invalid(GatedRMSNorm::C1, "the input is a scalar"));
    };
    cx.require_same_shape(call.shape(2)?, &sizes, GatedRMSNorm::C1)?;
    let length = cx.product(call.shape(1)?.to_vec());
    let some = cx.ge(length, 1);
    cx.require(some, GatedRMSNorm::C2, |_| "the scale is empty".to_owned())?;
    exactly(cx, last, length, GatedRMSNorm::C2)?;
    let activation = call.text("activation", "silu");
    call.check(matches!(activation, "silu" | "swish" | "sigmoid"), GatedRMSNorm::C3, || {
        format!("no activation is named {activation}")
    })?;
    call.one(sizes)
}
