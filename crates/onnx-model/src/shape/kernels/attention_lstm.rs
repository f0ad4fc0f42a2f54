//! onnxruntime's recurrent layer with attention to a memory.
use super::{Family, gather, policy};
use crate::shape::call::{Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::{COUNTED, values};
use crate::shape::value::Tensor;
use sizewise_env::{Clauses, OpClause, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[AttnLSTM::ALL];

pub(super) const CONTRIB: Family =
    &[op("AttnLSTM", layer).at_run(&[values(4, AttnLSTM::C4, COUNTED), values(12, AttnLSTM::C4, COUNTED)])];

clauses! { AttnLSTM {
    C1 "The direction is known, `hidden_size` and `clip` are positive, and there are no or 3 activations \
        for each direction."
    C2 "Input `X` is `[length, batch, size]` and the memory is `[batch, steps, depth]`. The weights of the \
        attention are given; for onnxruntime, neither length nor steps are 0."
    C3 "The weights `W`, `R`, `B` and `P` fit the hidden size, the input and the attention. `W` is \
        `[directions, 4 * hidden, size + attention]`, `R` `[directions, 4 * hidden, hidden]`, `B` \
        `[directions, 8 * hidden]` and `P` `[directions, 3 * hidden]`."
    C4 "Lengths of the input and of the memory have an element for each batch, from 1 to the number of \
        steps."
    C5 "Initial states are `[directions, batch, hidden]`."
    C6 "The weights of the attention fit the hidden size and the memory. They are `[directions, hidden, \
        n]`, `[directions, depth, n]` and `[directions, n]`, and `[directions, depth + hidden, attention]` \
        for its layer."
} }

/// `Y`, `[length, directions, batch, hidden]`, and the last states, `[directions, batch, hidden]`.
fn layer(cx: &mut Cx, call: &Checked) -> Outcome {
    let directions = match call.text("direction", "forward") {
        "forward" | "reverse" => 1,
        "bidirectional" => 2,
        other => return Err(KernelError::invalid(AttnLSTM::C1, format!("no direction is named {other}"))),
    };
    let (hidden, activations) = (call.int("hidden_size", 0), call.length("activations"));
    let fine = hidden > 0 && (activations == 0 || activations == 3 * directions);
    call.check(fine, AttnLSTM::C1, || format!("{activations} activations, and a hidden size of {hidden}"))?;
    let clip = call.float("clip").is_none_or(|clip| clip > 0.0);
    call.check(clip, AttnLSTM::C1, || "clip is not positive".to_owned())?;
    let (hidden, directions) = (cx.int(hidden), cx.int(directions as i64));
    let x = call.shape(0)?.to_vec();
    call.check(x.len() == 3, AttnLSTM::C2, || format!("the input has 3 dimensions, not {}", x.len()))?;
    for at in 8..12 {
        call.check(call.has(at), AttnLSTM::C2, || format!("the input {at} is missing"))?;
    }
    let (length, batch) = (x[0], x[1]);
    let memory = call.shape(11)?.to_vec();
    call.check(memory.len() == 3, AttnLSTM::C2, || {
        format!("the memory has 3 dimensions, not {}", memory.len())
    })?;
    cx.require_eq(memory[0], batch, AttnLSTM::C2, "batches")?;
    let attention = attention(cx, call, directions, hidden, memory[2])?;
    let (rows, all) = (cx.mul(hidden, 4), cx.add(x[2], attention));
    let (twice, peepholes) = (cx.mul(hidden, 8), cx.mul(hidden, 3));
    let state = vec![directions, batch, hidden];
    for (at, expected, clause) in [
        (1, vec![directions, rows, all], AttnLSTM::C3),
        (2, vec![directions, rows, hidden], AttnLSTM::C3),
        (3, vec![directions, twice], AttnLSTM::C3),
        (5, state.clone(), AttnLSTM::C5),
        (6, state.clone(), AttnLSTM::C5),
        (7, vec![directions, peepholes], AttnLSTM::C3),
    ] {
        if call.has(at) {
            cx.require_same_shape(call.shape(at)?, &expected, clause)?;
        }
    }
    for (at, most) in [(4, length), (12, memory[1])] {
        if call.has(at) {
            cx.require_same_shape(call.shape(at)?, &[batch], AttnLSTM::C4)?;
            lengths(cx, call, call.given(at)?, most)?;
        }
    }
    policy::not_empty(cx, &[length, batch, memory[1]], AttnLSTM::C2)?;
    let mut outputs = vec![call.output(0, vec![length, directions, batch, hidden])?.into()];
    for at in [1, 2] {
        outputs.push(call.output(at, state.clone())?.into());
    }
    Ok(outputs)
}

/// The size of the attention.
fn attention(
    cx: &mut Cx,
    call: &Checked,
    directions: Expr,
    hidden: Expr,
    depth: Expr,
) -> Result<Expr, KernelError> {
    const CLAUSE: &OpClause = AttnLSTM::C6;
    let of_memory = call.shape(9)?.to_vec();
    call.check(of_memory.len() == 3, CLAUSE, || {
        format!("weights of the memory have 3 dimensions, not {}", of_memory.len())
    })?;
    cx.require_same_shape(&of_memory[..2], &[directions, depth], CLAUSE)?;
    cx.require_same_shape(call.shape(8)?, &[directions, hidden, of_memory[2]], CLAUSE)?;
    cx.require_same_shape(call.shape(10)?, &[directions, of_memory[2]], CLAUSE)?;
    if !call.has(13) {
        return Ok(depth);
    }
    let of_layer = call.shape(13)?.to_vec();
    call.check(of_layer.len() == 3, CLAUSE, || {
        format!("weights of the layer have 3 dimensions, not {}", of_layer.len())
    })?;
    let both = cx.add(depth, hidden);
    cx.require_same_shape(&of_layer[..2], &[directions, both], CLAUSE)?;
    Ok(of_layer[2])
}

fn lengths(cx: &mut Cx, call: &Checked, given: &Tensor, most: Expr) -> Result<(), KernelError> {
    let known = given.list().unwrap_or_default();
    let positive = known.iter().all(|length| length.number().is_none_or(|length| length >= 1.0));
    call.check(positive, AttnLSTM::C4, || "a length is not positive".to_owned())?;
    let bound = cx.add(most, 1);
    gather::inside(cx, given, bound, AttnLSTM::C4)
}
