//! Recurrent layers, step by step: the number of steps has to be known.
//!
//! Source: torch 2.15, `torch/_decomp/decompositions.py` (`one_layer_lstm`, `gru_cell`, `one_layer_rnn`).
use super::Made;
use super::builder::{Builder, Function};
use super::call::{Call, refused};
use crate::tracer::{Proxy, TraceError};
use sizewise_ir::{Argument, Operand, ValueId};

pub const RULES: &[(&str, Function)] = &[
    ("lstm.input", |b, call| layers(b, call, lstm_step, 4)),
    ("gru.input", |b, call| layers(b, call, gru_step, 3)),
    ("rnn_tanh.input", |b, call| layers(b, call, |b, gates, _| rnn_step(b, gates, "tanh.default"), 1)),
    ("rnn_relu.input", |b, call| layers(b, call, |b, gates, _| rnn_step(b, gates, "relu.default"), 1)),
    ("lstm_cell.default", |b, call| cell(b, call, lstm_step, 4)),
    ("gru_cell.default", |b, call| cell(b, call, gru_step, 3)),
    ("rnn_tanh_cell.default", |b, call| cell(b, call, |b, gates, _| rnn_step(b, gates, "tanh.default"), 1)),
    ("rnn_relu_cell.default", |b, call| cell(b, call, |b, gates, _| rnn_step(b, gates, "relu.default"), 1)),
];

/// The most steps and layers that are written out.
const MAX_STEPS: i64 = 1024;

/// What is carried from step to step: the hidden state, and the cell of an LSTM.
type State = Vec<Proxy>;

/// A step, of what the weights make of the input and of the hidden state, taken into gates, and of the state before.
type CellStep = fn(&mut Builder<'_, '_>, Gates<'_>, &[Proxy]) -> Result<State, TraceError>;

/// The parts of one gate each that weights make of an input and of a hidden state.
struct Gates<'g> {
    input: &'g [Proxy],
    hidden: &'g [Proxy],
}

/// The weights of a layer in one direction.
struct Weights<'w> {
    params: &'w [Proxy],
    gates: usize,
}

impl Weights<'_> {
    fn of_input(&self, b: &mut Builder<'_, '_>, x: Proxy) -> Result<Proxy, TraceError> {
        self.applied(b, x, 0)
    }

    fn applied(&self, b: &mut Builder<'_, '_>, x: Proxy, place: usize) -> Result<Proxy, TraceError> {
        let weight = self.params.get(place).ok_or_else(|| refused("it has too few weights"))?;
        let bias = self.params.get(place + 2).map_or(Argument::None, |bias| (*bias).into());
        b.one("linear.default", &[x.into(), (*weight).into(), bias])
    }

    /// The state after a step of which `input` is what the weights make of the input.
    fn step(
        &self,
        b: &mut Builder<'_, '_>,
        input: Proxy,
        state: &[Proxy],
        step: CellStep,
    ) -> Result<State, TraceError> {
        let hidden = self.applied(b, state[0], 1)?;
        let (input, hidden) = (self.parted(b, input)?, self.parted(b, hidden)?);
        step(b, Gates { input: &input, hidden: &hidden }, state)
    }

    fn parted(&self, b: &mut Builder<'_, '_>, x: Proxy) -> Made {
        match self.gates {
            1 => Ok(vec![x]),
            gates => {
                b.call_with("chunk.default", &[x.into(), Argument::Int(gates as i64), Argument::Int(-1)], &[])
            }
        }
    }
}

fn combined(b: &mut Builder<'_, '_>, op: &str, x: Proxy, y: Proxy) -> Result<Proxy, TraceError> {
    b.one(op, &[x.into(), y.into()])
}

/// A function of the sum of a gate's parts.
fn gate(b: &mut Builder<'_, '_>, gates: &Gates<'_>, at: usize, op: &str) -> Result<Proxy, TraceError> {
    let sum = combined(b, "add.Tensor", gates.hidden[at], gates.input[at])?;
    b.one(op, &[sum.into()])
}

fn lstm_step(b: &mut Builder<'_, '_>, gates: Gates<'_>, state: &[Proxy]) -> Result<State, TraceError> {
    let input = gate(b, &gates, 0, "sigmoid.default")?;
    let forget = gate(b, &gates, 1, "sigmoid.default")?;
    let cell = gate(b, &gates, 2, "tanh.default")?;
    let output = gate(b, &gates, 3, "sigmoid.default")?;
    let kept = combined(b, "mul.Tensor", forget, state[1])?;
    let new = combined(b, "mul.Tensor", input, cell)?;
    let cell = combined(b, "add.Tensor", kept, new)?;
    let shown = b.one("tanh.default", &[cell.into()])?;
    Ok(vec![combined(b, "mul.Tensor", output, shown)?, cell])
}

fn gru_step(b: &mut Builder<'_, '_>, gates: Gates<'_>, state: &[Proxy]) -> Result<State, TraceError> {
    let reset = gate(b, &gates, 0, "sigmoid.default")?;
    let update = gate(b, &gates, 1, "sigmoid.default")?;
    let kept = combined(b, "mul.Tensor", gates.hidden[2], reset)?;
    let new = combined(b, "add.Tensor", gates.input[2], kept)?;
    let new = b.one("tanh.default", &[new.into()])?;
    let change = combined(b, "sub.Tensor", state[0], new)?;
    let change = combined(b, "mul.Tensor", change, update)?;
    Ok(vec![combined(b, "add.Tensor", change, new)?])
}

fn rnn_step(b: &mut Builder<'_, '_>, gates: Gates<'_>, op: &str) -> Result<State, TraceError> {
    Ok(vec![gate(b, &gates, 0, op)?])
}

/// A single step of a layer.
fn cell(b: &mut Builder<'_, '_>, call: &Call<'_>, step: CellStep, gates: usize) -> Made {
    let state = call.tensor_list("hx").or_else(|_| call.tensor("hx").map(|hidden| vec![hidden]))?;
    let names = ["w_ih", "w_hh", "b_ih", "b_hh"];
    let params: Vec<Proxy> = names.iter().filter_map(|name| call.optional_tensor(name)).collect();
    if params.len() != 4 && params.len() != 2 {
        return Err(refused("it has one bias of two"));
    }
    let weights = Weights { params: &params, gates };
    let input = weights.of_input(b, call.tensor("input")?)?;
    weights.step(b, input, &state, step)
}

/// All layers: the output of the last one, and the last states of all.
fn layers(b: &mut Builder<'_, '_>, call: &Call<'_>, step: CellStep, gates: usize) -> Made {
    let (layers, directions) = (call.int("num_layers")?, 1 + i64::from(call.truth("bidirectional")?));
    if call.truth("train")? && call.float("dropout")? != 0.0 && layers > 1 {
        return Err(refused("it drops values at random"));
    }
    let each = if call.truth("has_biases")? { 4 } else { 2 };
    let (params, batch_first) = (call.tensor_list("params")?, call.truth("batch_first")?);
    let first = call.tensor_list("hx").or_else(|_| call.tensor("hx").map(|hidden| vec![hidden]))?;
    let count = usize::try_from(layers * directions).unwrap_or(0);
    if count == 0 || params.len() != count * each {
        return Err(refused("it has other weights than its layers ask for, such as projections"));
    }
    let mut x = call.tensor("input")?;
    if batch_first {
        x = turned(b, x)?;
    }
    let steps = match b.size(x, 0)? {
        Operand::Literal(steps) if (1..=MAX_STEPS).contains(&(steps * layers)) => steps,
        _ => return Err(refused("the number of its steps is symbolic, or large")),
    };
    let mut last: Vec<State> = Vec::new();
    for weights in params.chunks(each * directions as usize) {
        let mut outputs = Vec::new();
        for (direction, params) in weights.chunks(each).enumerate() {
            let weights = Weights { params, gates };
            let mut state = Vec::new();
            for carried in &first {
                state.push(selected(b, *carried, last.len() as i64)?);
            }
            let order: Vec<i64> =
                if direction == 0 { (0..steps).collect() } else { (0..steps).rev().collect() };
            let (output, state) = over(b, &weights, x, (state, &order), step)?;
            outputs.push(output);
            last.push(state);
        }
        x = match outputs.as_slice() {
            [only] => *only,
            _ => b.one("cat.default", &[list(&outputs), Argument::Int(-1)])?,
        };
    }
    let mut results = vec![if batch_first { turned(b, x)? } else { x }];
    for place in 0..first.len() {
        let states: Vec<Proxy> = last.iter().map(|state| state[place]).collect();
        results.push(b.one("stack.default", &[list(&states), Argument::Int(0)])?);
    }
    Ok(results)
}

/// A layer in one direction: its steps are taken in this order.
fn over(
    b: &mut Builder<'_, '_>,
    weights: &Weights<'_>,
    x: Proxy,
    (mut state, order): (State, &[i64]),
    step: CellStep,
) -> Result<(Proxy, State), TraceError> {
    let made = weights.of_input(b, x)?;
    let mut hidden = Vec::with_capacity(order.len());
    for &at in order {
        let input = selected(b, made, at)?;
        state = weights.step(b, input, &state, step)?;
        hidden.push((at, state[0]));
    }
    hidden.sort_by_key(|(at, _)| *at);
    let hidden: Vec<Proxy> = hidden.into_iter().map(|(_, hidden)| hidden).collect();
    Ok((b.one("stack.default", &[list(&hidden), Argument::Int(0)])?, state))
}

fn list(tensors: &[Proxy]) -> Argument {
    Argument::Tensors(tensors.iter().map(|tensor| tensor.id()).collect::<Vec<ValueId>>())
}

fn selected(b: &mut Builder<'_, '_>, x: Proxy, at: i64) -> Result<Proxy, TraceError> {
    b.one("select.int", &[x.into(), Argument::Int(0), Argument::Int(at)])
}

/// With steps and batch changed round.
fn turned(b: &mut Builder<'_, '_>, x: Proxy) -> Result<Proxy, TraceError> {
    b.one("transpose.int", &[x.into(), Argument::Int(0), Argument::Int(1)])
}
