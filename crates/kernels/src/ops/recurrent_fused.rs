//! Steps of recurrent networks as single kernels: those of GPUs, of oneDNN, and their gradients.
use crate::kernel::{Kernel, kernels};
use crate::value::list;
use crate::{Args, Cx, KernelError, KernelResult, Sizes, Tensor, Value, Values};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses =
    &[fused_cell::ALL, gru_cell_backward::ALL, mkldnn_rnn::ALL, fused_rnn::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    gru_cell => "aten._thnn_fused_gru_cell.default";
    lstm_cell => "aten._thnn_fused_lstm_cell.default";
    gru_cell_backward => "aten._thnn_differentiable_gru_cell_backward.default";
    one_dnn_layer => "aten.mkldnn_rnn_layer.default";
    |cx, args| network(cx, args, true) => "aten._cudnn_rnn.default";
    |cx, args| network(cx, args, false) => "aten.miopen_rnn.default";
    one_dnn_layer_backward => "aten.mkldnn_rnn_layer_backward.default";
};

clauses! { fused_cell {
    C1 "`input_gates` and `hidden_gates` have 2 dimensions and the same shape."
    C2 "`input_bias` and `hidden_bias` have an element for each gate column. Both have 1 dimension, or \
        both are missing."
    C3 "The state has 2 dimensions, with an element for each row and hidden feature of the gates."
} }

/// What both fused cells ask.
fn gates(cx: &mut Cx, args: &Args, state: &Tensor, gates: i64) -> Result<(), KernelError> {
    let (input, hidden) = (args.tensor("input_gates")?, args.tensor("hidden_gates")?);
    cx.rank(input, 2, fused_cell::C1, "the input's gates")?;
    cx.require_same_shape(&input.sizes, &hidden.sizes, fused_cell::C1)?;
    if let Some(bias) = args.opt_tensor("input_bias")? {
        cx.rank(bias, 1, fused_cell::C2, "the input's bias")?;
        cx.require_eq(bias.size(0), input.size(1), fused_cell::C2, "the bias does not fit the gates")?;
        let other = args.opt_tensor("hidden_bias")?;
        let other =
            other.ok_or_else(|| KernelError::invalid(fused_cell::C2, "one bias comes without the other"))?;
        cx.require_same_shape(&bias.sizes, &other.sizes, fused_cell::C2)?;
    }
    cx.rank(state, 2, fused_cell::C3, "the state")?;
    let (held, all) = (cx.numel(state), cx.numel(input));
    let expected = cx.floor_div(all, gates as i32);
    cx.require_eq(held, expected, fused_cell::C3, "the state does not fit the gates")
}

/// `_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor? input_bias=None, Tensor?
/// hidden_bias=None) -> (Tensor, Tensor)`: `[n, 3 * h]` twice and `[n, h]` give `[n, h]` and `[n, 5 * h]`, kept for
/// the gradient.
fn gru_cell(cx: &mut Cx, args: &Args) -> KernelResult {
    let state = args.tensor("hx")?;
    gates(cx, args, state, 3)?;
    let kept = cx.mul(state.size(1), 5);
    let results = [
        cx.contiguous(state.sizes.clone(), state.dtype, &state.device),
        cx.contiguous([state.size(0), kept].as_slice(), state.dtype, &state.device),
    ];
    Ok(results.into_iter().map(Value::from).collect())
}

/// `_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx, Tensor? input_bias=None, Tensor?
/// hidden_bias=None) -> (Tensor, Tensor, Tensor)`: `[n, 4 * h]` twice and `[n, h]` give `[n, h]` twice and
/// `[n, 4 * h]`, kept for the gradient.
fn lstm_cell(cx: &mut Cx, args: &Args) -> KernelResult {
    let (state, input) = (args.tensor("cx")?, args.tensor("input_gates")?);
    gates(cx, args, state, 4)?;
    let state = cx.contiguous(state.sizes.clone(), state.dtype, &state.device);
    let kept = cx.contiguous(input.sizes.clone(), input.dtype, &input.device);
    Ok([state.clone(), state, kept].into_iter().map(Value::from).collect())
}

clauses! { gru_cell_backward {
    C4 "The gates split into three, which broadcast with each other and the state."
} }

/// `_thnn_differentiable_gru_cell_backward(Tensor grad_hy, Tensor input_gates, Tensor hidden_gates, Tensor hx, Tensor?
/// input_bias, Tensor? hidden_bias) -> (Tensor, Tensor, Tensor, Tensor, Tensor)`: the gradients of both gates, of the
/// state and of the biases.
fn gru_cell_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let (grad, state) = (args.tensor("grad_hy")?, args.tensor("hx")?);
    let biases = [args.opt_tensor("input_bias")?, args.opt_tensor("hidden_bias")?];
    let mut pieces = Vec::new();
    for (name, bias) in ["input_gates", "hidden_gates"].into_iter().zip(biases) {
        let mut gates = (**args.tensor(name)?).clone();
        if let Some(bias) = bias {
            gates = cx.combined(&[&gates, bias], gru_cell_backward::C4)?;
        }
        let three = Value::Int(cx.int(3));
        let chunks = cx.invoke("aten.chunk.default", [Value::from(&gates), three, Value::Int(Expr::ONE)])?;
        match chunks.first() {
            Some(Value::Tensors(chunks)) if chunks.len() == 3 => {
                pieces.extend(chunks.iter().flatten().map(|t| (**t).clone()));
            }
            _ => return Err(KernelError::invalid(gru_cell_backward::C4, "there are not three gates")),
        }
    }
    let mut product = |a: &Tensor, b: &Tensor| cx.combined(&[a, b], gru_cell_backward::C4);
    // Reset, update and new gate, from the input first and from the hidden state second.
    let (reset, update) = (product(&pieces[0], &pieces[3])?, product(&pieces[1], &pieces[4])?);
    let scaled = product(&reset, &pieces[5])?;
    let new = product(&pieces[2], &scaled)?;
    let to_state = product(grad, &update)?;
    let change = product(state, &new)?;
    let of_update = product(grad, &change)?;
    let of_update = product(&of_update, &update)?;
    let of_new = product(grad, &update)?;
    let of_new = product(&of_new, &new)?;
    let of_hidden_new = product(&of_new, &reset)?;
    let of_reset = product(&of_new, &pieces[5])?;
    let of_reset = product(&of_reset, &reset)?;
    let mut results = Values::new();
    for third in [of_new, of_hidden_new] {
        let parts = list([of_reset.clone(), of_update.clone(), third]);
        results.push(cx.invoke_one("aten.cat.default", [parts, Value::Int(Expr::ONE)])?.into());
    }
    let sums: Vec<Value> = biases
        .iter()
        .zip(&results)
        .map(|(bias, gates)| match (bias, gates) {
            (Some(_), Value::Tensor(gates)) => {
                Value::from(cx.contiguous(&gates.sizes[1..], gates.dtype, &gates.device))
            }
            _ => Value::None,
        })
        .collect();
    results.push(to_state.into());
    results.extend(sums);
    Ok(results)
}

clauses! { mkldnn_rnn {
    C1 "`input` has 3 dimensions, and all tensors are of `float32`."
    C2 "`mode` is 2 (LSTM)."
    C3 "The first two weights and the first state are not empty."
    C4 "The biases broadcast with each other. oneDNN does not check other shapes."
} }

/// `mkldnn_rnn_layer(Tensor input, Tensor weight0, ..., Tensor hx_, Tensor cx_, bool reverse, int[] batch_sizes, int
/// mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train) -> (Tensor,
/// Tensor, Tensor, Tensor)`: `[t, n, hidden_size]`, states shaped like those given, and memory of oneDNN's own.
fn one_dnn_layer(cx: &mut Cx, args: &Args) -> KernelResult {
    let (x, hidden) = (args.tensor("input")?, args.int("hidden_size")?);
    let states = [args.tensor("hx_")?, args.tensor("cx_")?];
    cx.rank(x, 3, mkldnn_rnn::C1, "the input")?;
    let weights =
        [args.tensor("weight0")?, args.tensor("weight1")?, args.tensor("weight2")?, args.tensor("weight3")?];
    for t in std::iter::once(x).chain(weights).chain(states) {
        if matches!(t.dtype, Dtype::Bfloat16 | Dtype::Float16) {
            return Err(KernelError::Unsupported("a layer of oneDNN in 16 bits".into()));
        }
        cx.check(t.dtype == Dtype::Float32, mkldnn_rnn::C1, |_| {
            format!("float32 is expected, not {}", t.dtype)
        })?;
    }
    let mode = cx.literal(args.int("mode")?, mkldnn_rnn::C2)?;
    cx.check(mode == 2, mkldnn_rnn::C2, |_| format!("mode {mode} is not that of an LSTM, 2"))?;
    for t in [weights[0], weights[1], states[0]] {
        let numel = cx.numel(t);
        let filled = cx.ne(numel, 0);
        cx.require(filled, mkldnn_rnn::C3, |_| "a weight or state is empty".into())?;
    }
    cx.broadcast([weights[2].sizes.as_slice(), &weights[3].sizes], mkldnn_rnn::C4)?;
    let memory = cx.unbacked_size(0, None);
    let output = cx.contiguous([x.size(0), x.size(1), hidden].as_slice(), x.dtype, &x.device);
    let mut results: Values = std::iter::once(Value::from(output)).collect();
    for state in states {
        results.push(cx.contiguous(state.sizes.clone(), state.dtype, &state.device).into());
    }
    results.push(cx.contiguous([memory].as_slice(), Dtype::Uint8, &x.device).into());
    Ok(results)
}

/// `mkldnn_rnn_layer_backward(Tensor input, Tensor weight1, ..., Tensor workspace) -> (Tensor, Tensor, Tensor, Tensor,
/// Tensor, Tensor, Tensor)`: the gradients of the input, of both weights, of the biases, `[4 * hidden_size]` where there
/// are none, and of both states.
fn one_dnn_layer_backward(cx: &mut Cx, args: &Args) -> KernelResult {
    let mode = cx.literal(args.int("mode")?, mkldnn_rnn::C2)?;
    cx.check(mode == 2, mkldnn_rnn::C2, |_| format!("mode {mode} is not that of an LSTM, 2"))?;
    let rows = cx.mul(args.int("hidden_size")?, 4);
    let biased = args.flag("has_biases")?;
    let mut results = Values::new();
    for name in ["input", "weight1", "weight2", "weight3", "weight4", "hx_", "cx_tmp"] {
        let t = args.tensor(name)?;
        if matches!(t.dtype, Dtype::Bfloat16 | Dtype::Float16) {
            return Err(KernelError::Unsupported("a layer of oneDNN in 16 bits".into()));
        }
        cx.check(t.dtype == Dtype::Float32, mkldnn_rnn::C1, |_| {
            format!("float32 is expected, not {}", t.dtype)
        })?;
        let bias = matches!(name, "weight3" | "weight4");
        let sizes: Sizes = if bias && !biased { [rows].as_slice().into() } else { t.sizes.clone() };
        results.push(cx.contiguous(sizes, t.dtype, &t.device).into());
    }
    Ok(results)
}

clauses! { fused_rnn {
    C1 "`input` has at least 2 dimensions, or 1 if it is packed."
} }

/// `_cudnn_rnn(Tensor input, Tensor[] weight, int weight_stride0, Tensor? weight_buf, Tensor hx, Tensor? cx, int mode,
/// SymInt hidden_size, SymInt proj_size, int num_layers, bool batch_first, float dropout, bool train, bool bidirectional,
/// SymInt[] batch_sizes, Tensor? dropout_state) -> (Tensor, Tensor, Tensor, Tensor, Tensor)` and `miopen_rnn`, which has
/// no projection and makes the buffer: the output, the last states, what is kept for the gradient (empty) and the buffer.
fn network(cx: &mut Cx, args: &Args, cudnn: bool) -> KernelResult {
    let (x, hx, state) = (args.tensor("input")?, args.tensor("hx")?, args.opt_tensor("cx")?);
    let packed = args.ints("batch_sizes")?;
    let wanted = if packed.is_empty() { 2 } else { 1 };
    cx.check(x.rank() >= wanted, fused_rnn::C1, |_| format!("the input has {} dimensions", x.rank()))?;
    let hidden = args.int("hidden_size")?;
    let mut out = hidden;
    if cudnn {
        let projected = args.int("proj_size")?;
        let none = cx.eq(projected, 0);
        out = if cx.branch(none, fused_rnn::C1)? { hidden } else { projected };
    }
    let directions = if args.flag("bidirectional")? { 2 } else { 1 };
    let width = cx.mul(out, directions);
    let layers = args.int("num_layers")?;
    let layers = cx.mul(layers, directions);
    let (sizes, batch): (Sizes, Expr) = match packed.first() {
        Some(&first) => ([x.size(0), width].as_slice().into(), first),
        None => {
            let batch = if args.flag("batch_first")? { x.size(0) } else { x.size(1) };
            ([x.size(0), x.size(1), width].as_slice().into(), batch)
        }
    };
    let last = match state {
        Some(state) => cx.contiguous([layers, batch, hidden].as_slice(), state.dtype, &state.device),
        None => cx.contiguous([Expr::ZERO].as_slice(), Dtype::Float32, &x.device),
    };
    let buffer = match cudnn {
        true => args.opt_tensor("weight_buf")?.map_or(Value::None, |t| Value::Tensor(t.clone())),
        false => {
            let counts: Vec<Expr> = args.tensors("weight")?.iter().map(|w| cx.numel(w)).collect();
            let total = cx.sum(counts);
            cx.contiguous([total].as_slice(), x.dtype, &x.device).into()
        }
    };
    let mut results = Values::new();
    results.push(cx.contiguous(sizes, x.dtype, &x.device).into());
    results.push(cx.contiguous([layers, batch, out].as_slice(), hx.dtype, &hx.device).into());
    results.push(last.into());
    results.push(cx.contiguous([Expr::ZERO].as_slice(), Dtype::Uint8, &x.device).into());
    results.push(buffer);
    Ok(results)
}
