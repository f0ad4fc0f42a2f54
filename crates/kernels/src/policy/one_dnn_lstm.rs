//! LSTM layers by oneDNN, which takes the shapes of weights and states on trust: it asks less of them than the cells
//! do.
//!
//! Source: `use_mkldnn` and `lstm_mkldnn_stub` in `aten/src/ATen/native/RNN.cpp`, `mkldnn_rnn` in
//! `aten/src/ATen/native/mkldnn/RNN.cpp`.
use crate::{Args, Cx, KernelError, Tensor};
use sizewise_env::{Clauses, clauses};
use sizewise_ir::dtype::Dtype;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[lstm::ALL];

/// Whether oneDNN computes: in `float32`, from an input with elements, without projection (`use_mkldnn` in `RNN.cpp`).
fn by_one_dnn(cx: &mut Cx, args: &Args) -> Result<bool, KernelError> {
    let (x, states) = (args.tensor("input")?, args.tensors("hx")?);
    let [hidden, memory] = states.as_slice() else { return Ok(false) };
    if x.dtype != Dtype::Float32 || !cx.cpu_computes(&x.device) || hidden.rank() < 3 || memory.rank() < 3 {
        return Ok(false);
    }
    let numel = cx.numel(x);
    let (filled, plain) = (cx.ne(numel, 0), cx.eq(hidden.sizes[2], memory.sizes[2]));
    let both = cx.all(&[filled, plain]);
    cx.branch(both, lstm::path)
}

clauses! { lstm {
    C1 "The input and the states have 3 dimensions."
    C2 "`params` holds a group of weights for each layer and direction. There may be more groups, but at \
        least one layer."
    C3 "The states have a row for each layer and direction."
    C4 "Neither the weights nor the first state are empty."
    C5 "The two biases of a layer and direction are broadcastable."
    path "Whether oneDNN computes the layer, which decides which conditions are checked."
} }

/// The output and the final states of `lstm.input` where oneDNN computes it, else `None`: `[t, n, input]` gives an output
/// as wide as the first state, and final states shaped like the first of those given. The output is `[t, n, ..]` with
/// `batch_first` too.
///
/// # Errors
/// [`KernelError::Invalid`] when a condition does not hold.
pub fn one_dnn_lstm(cx: &mut Cx, args: &Args) -> Result<Option<(Tensor, Vec<Tensor>)>, KernelError> {
    if !by_one_dnn(cx, args)? {
        return Ok(None);
    }
    let (x, states, weights) = (args.tensor("input")?, args.tensors("hx")?, args.tensors("params")?);
    cx.rank(x, 3, lstm::C1, "the input")?;
    for state in &states {
        cx.rank(state, 3, lstm::C1, "the hidden state")?;
    }
    let biased = args.flag("has_biases")?;
    let size = if biased { 4 } else { 2 };
    let layers = cx.literal(args.int("num_layers")?, lstm::C2)?;
    let directions = if args.flag("bidirectional")? { 2 } else { 1 };
    let needed = layers.saturating_mul(directions);
    let groups = weights.len() / size;
    let whole = weights.len().is_multiple_of(size);
    cx.check(layers > 0 && whole && groups as i64 >= needed, lstm::C2, |_| {
        format!("{} parameters are not {size} for each of {needed} layers and directions", weights.len())
    })?;
    let count = cx.int(needed);
    for state in &states {
        let enough = cx.ge(state.size(0), count);
        cx.require(enough, lstm::C3, |cx| {
            format!("{needed} hidden states are needed, there are {}", cx.show(state.size(0)))
        })?;
    }
    let used: Vec<&Tensor> = weights.iter().take(needed as usize * size).map(|w| &**w).collect();
    for tensor in used.iter().copied().chain([&*states[0]]) {
        let numel = cx.numel(tensor);
        let filled = cx.ne(numel, 0);
        cx.require(filled, lstm::C4, |cx| {
            format!("a tensor of shape {} is empty", cx.show_all(&tensor.sizes))
        })?;
    }
    if biased {
        for group in used.chunks(size) {
            cx.broadcast([group[2].sizes.as_slice(), &group[3].sizes], lstm::C5)?;
        }
    }
    let [steps, batch] = if args.flag("batch_first")? { [1, 0] } else { [0, 1] };
    let directions = cx.int(directions);
    let width = cx.mul(states[0].size(2), directions);
    let output = cx.contiguous([x.size(steps), x.size(batch), width].as_slice(), x.dtype, &x.device);
    let finals = states.iter().map(|state| {
        let sizes = [count, state.size(1), state.size(2)];
        cx.contiguous(sizes.as_slice(), state.dtype, &state.device)
    });
    Ok(Some((output, finals.collect())))
}
