//! Recurrent layers.
use super::{Family, gather, policy, products};
use crate::shape::at_load;
use crate::shape::call::{Attribute, Checked, Outcome};
use crate::shape::op::op;
use crate::shape::run_time::{LENGTHS, values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};

pub(super) const CONTRIB: Family = &[op("DynamicQuantizeLSTM", recurrent)];

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[Recurrent::ALL];

pub(super) const KERNELS: Family = &[
    op("GRU", recurrent).multiplies(products::recurrent).infers(at_load::rank).at_run(&[values(
        4,
        Recurrent::C4,
        LENGTHS,
    )]),
    op("LSTM", recurrent).multiplies(products::recurrent).infers(at_load::rank).at_run(&[values(
        4,
        Recurrent::C4,
        LENGTHS,
    )]),
    op("RNN", recurrent).multiplies(products::recurrent).infers(at_load::rank).at_run(&[values(
        4,
        Recurrent::C4,
        LENGTHS,
    )]),
];

clauses! { Recurrent {
    C1 "`direction` is known, `hidden_size` is positive, and `layout` is 0 or 1."
    C2 "Input `X` has 3 dimensions."
    C3 "The weights `W`, `R` and `B` fit the input and the hidden size. `W` is `[directions, gates * \
        hidden, input]`, `R` `[directions, gates * hidden, hidden]`, `B` `[directions, 2 * gates * \
        hidden]`."
    C4 "`sequence_lens` has an element for each batch. Each is from 0 to the length of the sequence."
    C5 "Initial states have the shape of the last ones. `P` is `[directions, 3 * hidden]`."
    C6 "`activations` has an entry for each gate and direction, and the names are known."
    C7 "Scales and zero points are per direction, or per column of the weights."
    C8 "For onnxruntime, `layout` is 0."
    C9 "For onnxruntime, `clip` is positive."
} }

/// `Y`: `[seq, directions, batch, hidden]`, and the last states `[directions, batch, hidden]`; with `layout` 1 `[batch,
/// seq, directions, hidden]` and `[batch, directions, hidden]`.
///
/// Scales are `[directions]` or `[directions, gates * hidden]`.
fn recurrent(cx: &mut Cx, call: &Checked) -> Outcome {
    let (gates, activations) = match call.op() {
        "LSTM" | "DynamicQuantizeLSTM" => (4, 3),
        "GRU" => (3, 2),
        _ => (1, 1),
    };
    let directions = match call.text("direction", "forward") {
        "forward" | "reverse" => 1,
        "bidirectional" => 2,
        other => return Err(KernelError::invalid(Recurrent::C1, format!("no direction is named {other}"))),
    };
    activated(cx, call, (activations, directions))?;
    let is_bounded = call.op() == "RNN" || call.float("clip").is_none_or(|clip| clip > 0.0);
    policy::onnxruntime_checks(cx, is_bounded, Recurrent::C9, || "clip is to be positive".to_owned())?;
    let layout = call.int("layout", 0);
    call.check(matches!(layout, 0 | 1), Recurrent::C1, || format!("layout is {layout}"))?;
    policy::onnxruntime_checks(cx, layout == 0, Recurrent::C8, || "layout is 1".to_owned())?;
    let x = call.shape(0)?.to_vec();
    call.check(x.len() == 3, Recurrent::C2, || format!("the input has 3 dimensions, not {}", x.len()))?;
    let recurrence = call.shape(2)?.to_vec();
    call.check(recurrence.len() == 3, Recurrent::C3, || {
        format!("R has 3 dimensions, not {}", recurrence.len())
    })?;
    policy::onnxruntime_checks(cx, call.int("hidden_size", 0) > 0, Recurrent::C1, || {
        "hidden_size is to be given".to_owned()
    })?;
    let hidden = match call.int("hidden_size", 0) {
        0 => recurrence[2],
        size => {
            call.check(size > 0, Recurrent::C1, || format!("the hidden size is {size}"))?;
            cx.int(size)
        }
    };
    let (seq, batch) = if layout == 0 { (x[0], x[1]) } else { (x[1], x[0]) };
    let directions = cx.int(directions as i64);
    let rows = cx.mul(hidden, gates);
    weights(cx, call, directions, rows, (x[2], hidden))?;
    if call.has(3) {
        let both = cx.mul(rows, 2);
        cx.require_same_shape(call.shape(3)?, &[directions, both], Recurrent::C3)?;
    }
    if call.has(4) {
        cx.require_same_shape(call.shape(4)?, &[batch], Recurrent::C4)?;
        let bound = cx.add(seq, 1);
        gather::inside(cx, call.given(4)?, bound, Recurrent::C4)?;
        gather::not_negative(call, 4, Recurrent::C4)?;
    }
    let state = if layout == 0 { vec![directions, batch, hidden] } else { vec![batch, directions, hidden] };
    let states = if matches!(call.op(), "LSTM" | "DynamicQuantizeLSTM") { 2 } else { 1 };
    for at in 5..5 + states {
        if call.has(at) {
            cx.require_same_shape(call.shape(at)?, &state, Recurrent::C5)?;
        }
    }
    if call.has(7) {
        let peepholes = cx.mul(hidden, 3);
        cx.require_same_shape(call.shape(7)?, &[directions, peepholes], Recurrent::C5)?;
    }
    let all: Vec<Expr> =
        if layout == 0 { vec![seq, directions, batch, hidden] } else { vec![batch, seq, directions, hidden] };
    let mut outputs = vec![call.output(0, all)?.into()];
    for at in 1..=states {
        outputs.push(call.output(at, state.clone())?.into());
    }
    Ok(outputs)
}

const ACTIVATIONS: [&str; 11] = [
    "Affine",
    "Elu",
    "HardSigmoid",
    "LeakyRelu",
    "Relu",
    "ScaledTanh",
    "Sigmoid",
    "Softplus",
    "Softsign",
    "Tanh",
    "ThresholdedRelu",
];

fn activated(cx: &Cx, call: &Checked, (each, directions): (usize, usize)) -> Result<(), KernelError> {
    let Some(Attribute::Texts(named)) = call.attribute("activations") else { return Ok(()) };
    let count = each * directions;
    // onnxruntime leaves a second activation of `RNN` unread, and does not tell cases apart in the others.
    let is_rnn = cx.on_cpu() && call.op() == "RNN";
    call.check(named.len() == count || is_rnn && named.len() == 2, Recurrent::C6, || {
        format!("there are {} activations, not {count}", named.len())
    })?;
    let is_known = |name: &&String| {
        let is = |known: &&str| *known == name.as_str() || !is_rnn && known.eq_ignore_ascii_case(name);
        ACTIVATIONS.iter().any(is)
    };
    let unknown = named.iter().take(count).find(|name| !is_known(name));
    call.check(unknown.is_none(), Recurrent::C6, || format!("no activation is named {}", named.join(", ")))
}

fn weights(
    cx: &mut Cx,
    call: &Checked,
    directions: Expr,
    rows: Expr,
    columns: (Expr, Expr),
) -> Result<(), KernelError> {
    let is_quantized = call.op() == "DynamicQuantizeLSTM";
    for (at, columns) in [(1, columns.0), (2, columns.1)] {
        let expected = if is_quantized { [directions, columns, rows] } else { [directions, rows, columns] };
        cx.require_same_shape(call.shape(at)?, &expected, Recurrent::C3)?;
    }
    for at in if is_quantized { 8..12 } else { 0..0 } {
        let scale = call.shape(at)?.to_vec();
        let expected = if scale.len() == 1 { vec![directions] } else { vec![directions, rows] };
        cx.require_same_shape(&scale, &expected, Recurrent::C7)?;
    }
    Ok(())
}
