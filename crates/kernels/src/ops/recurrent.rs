//! Recurrent networks: layers of cells stepping through a sequence, in one direction or in both.
use super::recurrent_cell::{Cell, Parameters, linear, stack};
use crate::flops::{Flops, formulas, not_modelled, twice};
use crate::kernel::{Kernel, kernels};
use crate::policy::one_dnn_lstm;
use crate::value::list;
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;
use sizewise_ir::dtype::Dtype;
use std::sync::Arc;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[recurrent::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| sequence(cx, args, Cell::Tanh) => "aten.rnn_tanh.input";
    |cx, args| sequence(cx, args, Cell::Relu) => "aten.rnn_relu.input";
    |cx, args| sequence(cx, args, Cell::Gru) => "aten.gru.input";
    lstm => "aten.lstm.input";
    |cx, args| packed(cx, args, Cell::Tanh) => "aten.rnn_tanh.data";
    |cx, args| packed(cx, args, Cell::Relu) => "aten.rnn_relu.data";
    |cx, args| packed(cx, args, Cell::Gru) => "aten.gru.data";
    |cx, args| packed(cx, args, Cell::Lstm) => "aten.lstm.data";
};

/// What the family's operators compute: each step is multiplied by the weights of inputs and states. Long short-term
/// memory is one kernel, which is not counted, where oneDNN has it.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    |cx, args, _| of_sequence(cx, args, args.tensor("input")?, Cell::Gru) => "aten.gru.input";
    |cx, args, _| of_sequence(cx, args, args.tensor("input")?, Cell::Tanh) =>
        "aten.rnn_tanh.input", "aten.rnn_relu.input";
    |cx, args, _| of_sequence(cx, args, args.tensor("data")?, Cell::Gru) => "aten.gru.data";
    |cx, args, _| of_sequence(cx, args, args.tensor("data")?, Cell::Tanh) =>
        "aten.rnn_tanh.data", "aten.rnn_relu.data";
    of_lstm => "aten.lstm.input";
    not_modelled => "aten.lstm.data";
};

/// As [`of_sequence`], unless oneDNN computes.
fn of_lstm(cx: &mut Cx, args: &Args, _: &[Value]) -> Result<Expr, KernelError> {
    match one_dnn_lstm(cx, args)? {
        Some(_) => Ok(Expr::ZERO),
        None => of_sequence(cx, args, args.tensor("input")?, Cell::Lstm),
    }
}

/// `2 n w` for `n` steps, batch entries included, and weights of `w` elements.
fn of_sequence(cx: &mut Cx, args: &Args, input: &Tensor, cell: Cell) -> Result<Expr, KernelError> {
    let layers = Layers::read(cx, args, cell)?;
    let rows = cx.product(input.sizes[..input.rank() - 1].iter().copied());
    let mut weights = Expr::ZERO;
    for at in 0..layers.groups.len() {
        let Parameters { input, hidden, projection, .. } = layers.parameters(at);
        for weight in [Some(input), Some(hidden), projection].into_iter().flatten() {
            let elements = cx.numel(weight);
            weights = cx.add(weights, elements);
        }
    }
    Ok(twice(cx, [rows, weights]))
}

/// Layers as the arguments describe them.
struct Layers {
    /// The weights of each layer and direction: two products, their biases, a projection.
    groups: Vec<Vec<Arc<Tensor>>>,
    biased: bool,
    /// The state of each layer and direction before the first step.
    states: Vec<Vec<Tensor>>,
    directions: usize,
    layers: usize,
    dropout: Option<Expr>,
}

/// `[n, rest]` without its first dimension.
fn unbound(x: &Tensor) -> Tensor {
    x.viewed(x.sizes[1..].into(), x.strides[1..].into())
}

clauses! { recurrent {
    C1 "`hx` has at least 1 dimension. For LSTM it is two tensors with at least 3 each."
    C2 "`params` has a whole number of groups. Each has two weights, two biases if there are any, and a \
        projection if the two states of an LSTM differ in size."
    C3 "`hx` and `params` have an entry for each layer and direction. `num_layers` is positive."
    C5 "The sequence is not empty."
    C6 "All steps return states of the same shape."
    C7 "`batch_sizes` has 1 dimension, is of `int64`, and not empty."
} }

impl Layers {
    /// Reads and checks the numbers of layers, weights and states.
    fn read(cx: &mut Cx, args: &Args, cell: Cell) -> Result<Layers, KernelError> {
        let hidden: Vec<Arc<Tensor>> = match args.value("hx")? {
            Value::Tensors(_) => args.tensors("hx")?,
            _ => vec![args.tensor("hx")?.clone()],
        };
        let (parts, rank) = if cell == Cell::Lstm { (2, 3) } else { (1, 1) };
        cx.check(hidden.len() == parts, recurrent::C1, |_| {
            format!("{parts} hidden states are expected, not {}", hidden.len())
        })?;
        cx.check(hidden.iter().all(|h| h.rank() >= rank), recurrent::C1, |_| {
            format!("a hidden state has not {rank} dimensions")
        })?;
        let biased = args.flag("has_biases")?;
        let projected = cell == Cell::Lstm && {
            let same = cx.eq(hidden[0].sizes[2], hidden[1].sizes[2]);
            !cx.branch(same, recurrent::C2)?
        };
        let weights = args.tensors("params")?;
        let size = 2 + if biased { 2 } else { 0 } + usize::from(projected);
        cx.check(weights.len().is_multiple_of(size), recurrent::C2, |_| {
            format!("{} parameters are no multiple of {size}", weights.len())
        })?;
        let groups: Vec<Vec<Arc<Tensor>>> = weights.chunks(size).map(<[_]>::to_vec).collect();
        let directions = if args.flag("bidirectional")? { 2 } else { 1 };
        let layers = cx.literal(args.int("num_layers")?, recurrent::C3)?;
        let count = cx.literal(hidden[0].sizes[0], recurrent::C3)?;
        let needed = layers.saturating_mul(directions as i64);
        cx.check(layers > 0 && count == needed && groups.len() as i64 == needed, recurrent::C3, |_| {
            format!(
                "{layers} layers in {directions} directions need {needed} hidden states and groups of parameters, \
                 there are {count} and {}",
                groups.len()
            )
        })?;
        for other in &hidden[1..] {
            let enough = cx.ge(other.sizes[0], count_of(count));
            cx.require(enough, recurrent::C3, |_| "the second hidden state is shorter".into())?;
        }
        let state: Vec<Tensor> = hidden.iter().map(|h| unbound(h)).collect();
        let dropout = dropout(cx, args, layers)?;
        let layers = layers as usize;
        let states = vec![state; layers * directions];
        Ok(Layers { groups, biased, states, directions, layers, dropout })
    }

    fn parameters(&self, at: usize) -> Parameters<'_> {
        let group = &self.groups[at];
        let bias = |i: usize| if self.biased { Some(&*group[i]) } else { None };
        let plain = if self.biased { 4 } else { 2 };
        Parameters {
            input: &group[0],
            hidden: &group[1],
            input_bias: bias(2),
            hidden_bias: bias(3),
            projection: group.get(plain).map(|t| &**t),
        }
    }

    /// The output of all layers, the last dimension holding the directions, and each part of the final states,
    /// stacked. A layer takes its input whole; `run` says what it makes of it and of the state.
    fn run(
        &self,
        cx: &mut Cx,
        input: Tensor,
        mut run: impl FnMut(
            &mut Cx,
            &Tensor,
            &[Tensor],
            &Parameters,
        ) -> Result<(Tensor, Vec<Tensor>), KernelError>,
    ) -> Result<(Tensor, Vec<Tensor>), KernelError> {
        let (mut input, mut finals) = (input, Vec::new());
        for layer in 0..self.layers {
            let mut outputs = Vec::new();
            for direction in 0..self.directions {
                let at = layer * self.directions + direction;
                let (output, last) = run(cx, &input, &self.states[at], &self.parameters(at))?;
                outputs.push(output);
                finals.push(last);
            }
            input = if self.directions == 1 { outputs.swap_remove(0) } else { joined(cx, outputs)? };
            if let Some(dropout) = self.dropout.filter(|_| layer + 1 < self.layers) {
                let always = Value::Bool(cx.pool().bool(true));
                let args = [Value::from(&input), Value::Float(dropout), always];
                input = cx.invoke_one("aten.dropout.default", args)?;
            }
        }
        let parts = finals[0].len();
        let stacked =
            (0..parts).map(|part| stack(cx, finals.iter().map(|last| last[part].clone()).collect()));
        let stacked = stacked.collect::<Result<_, _>>()?;
        Ok((input, stacked))
    }
}

fn count_of(count: i64) -> Expr {
    Expr::inline(count).unwrap_or(Expr::ZERO)
}

/// Tensors one after the other along the last dimension.
fn joined(cx: &mut Cx, tensors: Vec<Tensor>) -> Result<Tensor, KernelError> {
    let last = cx.int(-1);
    cx.invoke_one("aten.cat.default", [list(tensors), Value::Int(last)])
}

fn dropout(cx: &mut Cx, args: &Args, layers: i64) -> Result<Option<Expr>, KernelError> {
    let dropout = args.float("dropout")?;
    if layers < 2 || !args.flag("train")? || cx.pool().as_float(dropout) == Some(0.0) {
        return Ok(None);
    }
    Ok(Some(dropout))
}

/// The input with the sequence first.
fn sequence_first(cx: &mut Cx, args: &Args, x: &Tensor) -> Result<Tensor, KernelError> {
    if args.flag("batch_first")? { transposed(cx, x) } else { Ok(x.clone()) }
}

fn transposed(cx: &mut Cx, x: &Tensor) -> Result<Tensor, KernelError> {
    cx.invoke_one("aten.transpose.int", [x.into(), Value::Int(Expr::ZERO), Value::Int(Expr::ONE)])
}

fn results(cx: &mut Cx, args: &Args, output: Tensor, finals: Vec<Tensor>) -> KernelResult {
    let output =
        if args.has("batch_first") && args.flag("batch_first")? { transposed(cx, &output)? } else { output };
    Ok(std::iter::once(output).chain(finals).map(Value::from).collect())
}

/// `gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool
/// bidirectional, bool batch_first) -> (Tensor, Tensor)` and the like: `[t, n, input]` and `[layers * directions, n,
/// hidden]` give `[t, n, directions * hidden]` and the final state, shaped like `hx`; with `batch_first`, input and
/// output are `[n, t, ..]`.
fn sequence(cx: &mut Cx, args: &Args, cell: Cell) -> KernelResult {
    let layers = Layers::read(cx, args, cell)?;
    let input = sequence_first(cx, args, args.tensor("input")?)?;
    let (output, finals) = layers.run(cx, input, |cx, input, state, parameters| {
        let gates = linear(cx, input, parameters.input, parameters.input_bias)?;
        let Some(&length) = gates.sizes.first() else {
            return Err(KernelError::invalid(recurrent::C5, "there is no sequence"));
        };
        let some = cx.ge(length, 1);
        cx.require(some, recurrent::C5, |_| "the sequence is empty".into())?;
        let gates = unbound(&gates);
        let mut next = cell.advance(cx, &gates, state, parameters)?;
        let shapes = |state: &[Tensor]| state.iter().map(|t| t.sizes.clone()).collect::<Vec<_>>();
        if shapes(&next) != shapes(state) {
            let more = cx.gt(length, 1);
            if cx.branch_or(more, true, recurrent::C6) {
                let second = cell.advance(cx, &gates, &next, parameters)?;
                cx.require_same_shape(&next[0].sizes, &second[0].sizes, recurrent::C6)?;
                next = second;
            }
        }
        let mut sizes = next[0].sizes.clone();
        sizes.insert(0, length);
        let output = cx.contiguous(sizes, next[0].dtype, &input.device);
        Ok((output, next))
    })?;
    results(cx, args, output, finals)
}

/// `lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool
/// train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)`: as [`sequence`] with two states, unless
/// oneDNN computes (see [`one_dnn_lstm`]), which takes shapes on trust: it asks less of weights and states.
fn lstm(cx: &mut Cx, args: &Args) -> KernelResult {
    match one_dnn_lstm(cx, args)? {
        Some((output, finals)) => results(cx, args, output, finals),
        None => sequence(cx, args, Cell::Lstm),
    }
}

/// `gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout,
/// bool train, bool bidirectional) -> (Tensor, Tensor)` and the like: sequences of different lengths, packed step by
/// step: `[total, input]` gives `[total, directions * hidden]`.
fn packed(cx: &mut Cx, args: &Args, cell: Cell) -> KernelResult {
    let (data, batches) = (args.tensor("data")?, args.tensor("batch_sizes")?);
    cx.check(batches.rank() == 1 && batches.dtype == Dtype::Int64, recurrent::C7, |_| {
        format!(
            "sizes of batches are a vector of int64, not {} in {} dimensions",
            batches.dtype,
            batches.rank()
        )
    })?;
    let some = cx.ge(batches.size(0), 1);
    cx.require(some, recurrent::C7, |_| "there is no batch".into())?;
    let layers = Layers::read(cx, args, cell)?;
    let (output, finals) = layers.run(cx, (**data).clone(), |cx, input, state, parameters| {
        let gates = linear(cx, input, parameters.input, parameters.input_bias)?;
        let mut first = gates.clone();
        if first.rank() > 0 && state[0].rank() > 0 {
            first.sizes[0] = state[0].sizes[0];
        }
        let next = cell.advance(cx, &first, state, parameters)?;
        let mut sizes = next[0].sizes.clone();
        if let (Some(rows), Some(total)) = (sizes.first_mut(), gates.sizes.first()) {
            *rows = *total;
        }
        let output = cx.contiguous(sizes, next[0].dtype, &input.device);
        Ok((output, next))
    })?;
    results(cx, args, output, finals)
}
