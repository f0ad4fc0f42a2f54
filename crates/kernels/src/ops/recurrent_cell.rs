//! Cells of recurrent networks: one step from a hidden state to the next.
use crate::flops::{Flops, formulas, twice};
use crate::kernel::{Kernel, kernels};
use crate::value::list;
use crate::{Args, Cx, KernelError, KernelResult, Tensor, Value};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::Expr;

/// The conditions of these operators.
pub(super) const CLAUSES: Clauses = &[recurrent_cell::ALL];

/// The kernels of the family.
pub const KERNELS: &[(&str, Kernel)] = kernels! {
    |cx, args| step(cx, args, Cell::Tanh) => "aten.rnn_tanh_cell.default";
    |cx, args| step(cx, args, Cell::Relu) => "aten.rnn_relu_cell.default";
    |cx, args| step(cx, args, Cell::Gru) => "aten.gru_cell.default";
    |cx, args| step(cx, args, Cell::Lstm) => "aten.lstm_cell.default";
};

/// What the family's operators compute: input and state are multiplied by their weights.
pub const FLOPS: &[(&str, Flops)] = formulas! {
    |cx, args, _| {
        let (mut total, input) = (Expr::ZERO, args.tensor("input")?);
        let state = match args.value("hx")? {
            Value::Tensors(_) => args.tensors("hx")?[0].clone(),
            _ => args.tensor("hx")?.clone(),
        };
        for (operand, weight) in [(input, "w_ih"), (&state, "w_hh")] {
            let elements = cx.numel(operand);
            let product = twice(cx, [elements, args.tensor(weight)?.size(0)]);
            total = cx.add(total, product);
        }
        Ok(total)
    } => "aten.rnn_tanh_cell.default", "aten.rnn_relu_cell.default", "aten.gru_cell.default",
        "aten.lstm_cell.default";
};

/// The kinds of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `tanh(W x + V h)`.
    Tanh,
    /// `relu(W x + V h)`.
    Relu,
    /// A gated recurrent unit.
    Gru,
    /// Long short-term memory: its state is two tensors.
    Lstm,
}

/// The parameters of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Parameters<'a> {
    /// What the input is multiplied with, `[gates * hidden, input]`.
    pub input: &'a Tensor,
    /// What the hidden state is multiplied with, `[gates * hidden, hidden]`.
    pub hidden: &'a Tensor,
    /// What is added to the former product.
    pub input_bias: Option<&'a Tensor>,
    /// What is added to the latter product.
    pub hidden_bias: Option<&'a Tensor>,
    /// What the hidden state of long short-term memory is projected with, `[projected, hidden]`.
    pub projection: Option<&'a Tensor>,
}

impl Cell {
    /// How many linear functions of input and hidden state the cell computes.
    pub fn gates(self) -> i64 {
        match self {
            Cell::Tanh | Cell::Relu => 1,
            Cell::Gru => 3,
            Cell::Lstm => 4,
        }
    }

    /// The state after a step, given the input's part of the gates: shapes are what the operators that the step is
    /// made of make them.
    ///
    /// # Errors
    /// Those of the operators.
    pub fn advance(
        self,
        cx: &mut Cx,
        gates: &Tensor,
        state: &[Tensor],
        parameters: &Parameters,
    ) -> Result<Vec<Tensor>, KernelError> {
        let hidden = &state[0];
        let fed = linear(cx, hidden, parameters.hidden, parameters.hidden_bias)?;
        match self {
            Cell::Tanh | Cell::Relu => {
                let sum = binary(cx, "aten.add_.Tensor", &fed, gates)?;
                let function = if self == Cell::Tanh { "aten.tanh.default" } else { "aten.relu.default" };
                Ok(vec![cx.invoke_one(function, [Value::from(sum)])?])
            }
            Cell::Gru => {
                let [from_input, from_hidden] =
                    [chunks(cx, gates, self.gates())?, chunks(cx, &fed, self.gates())?];
                let reset = binary(cx, "aten.add_.Tensor", &from_hidden[0], &from_input[0])?;
                let update = binary(cx, "aten.add_.Tensor", &from_hidden[1], &from_input[1])?;
                let kept = binary(cx, "aten.mul_.Tensor", &from_hidden[2], &reset)?;
                let new = binary(cx, "aten.add.Tensor", &from_input[2], &kept)?;
                let change = binary(cx, "aten.sub.Tensor", hidden, &new)?;
                let change = binary(cx, "aten.mul_.Tensor", &change, &update)?;
                Ok(vec![binary(cx, "aten.add_.Tensor", &change, &new)?])
            }
            Cell::Lstm => {
                let sum = binary(cx, "aten.add_.Tensor", &fed, gates)?;
                let gates = chunks(cx, &sum, self.gates())?;
                let kept = binary(cx, "aten.mul.Tensor", &gates[1], &state[1])?;
                let new = binary(cx, "aten.mul.Tensor", &gates[0], &gates[2])?;
                let memory = binary(cx, "aten.add_.Tensor", &kept, &new)?;
                let shown = binary(cx, "aten.mul.Tensor", &gates[3], &memory)?;
                let shown = match parameters.projection {
                    Some(projection) => linear(cx, &shown, projection, None)?,
                    None => shown,
                };
                Ok(vec![shown, memory])
            }
        }
    }
}

/// `x` times the transposed weight, plus a bias.
///
/// # Errors
/// Those of `aten.linear`.
pub fn linear(
    cx: &mut Cx,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
) -> Result<Tensor, KernelError> {
    cx.invoke_one("aten.linear.default", [x.into(), weight.into(), bias.into()])
}

fn binary(cx: &mut Cx, op: &str, a: &Tensor, b: &Tensor) -> Result<Tensor, KernelError> {
    cx.invoke_one(op, [a.into(), b.into()])
}

/// A tensor cut along its second dimension.
fn chunks(cx: &mut Cx, x: &Tensor, count: i64) -> Result<Vec<Tensor>, KernelError> {
    let pieces = Value::Int(cx.int(count));
    let results = cx.invoke("aten.chunk.default", [x.into(), pieces, Value::Int(Expr::ONE)])?;
    let tensors: Vec<Tensor> = match results.first() {
        Some(Value::Tensors(tensors)) => tensors.iter().flatten().map(|t| (**t).clone()).collect(),
        _ => Vec::new(),
    };
    cx.check(tensors.len() == count as usize, recurrent_cell::C1, |cx| {
        format!("{} does not divide into {count} gates", cx.show_all(&x.sizes))
    })?;
    Ok(tensors)
}

/// Tensors laid on top of each other along a new first dimension.
///
/// # Errors
/// Those of `aten.stack`.
pub fn stack(cx: &mut Cx, tensors: Vec<Tensor>) -> Result<Tensor, KernelError> {
    cx.invoke_one("aten.stack.default", [list(tensors), Value::Int(Expr::ZERO)])
}

clauses! { recurrent_cell {
    C1 "The gates split into as many chunks as the cell has gates."
    C2 "`input` and hidden states have 2 dimensions and the same number of rows."
    C3 "`input` has as many columns as `w_ih`, and hidden states as many as `w_hh`."
    C4 "`w_ih` and `w_hh` have 2 dimensions, with a row for each gate and hidden feature."
} }

/// `gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor` and the
/// like: `[n, input]` and `[n, hidden]` give `[n, hidden]`.
fn step(cx: &mut Cx, args: &Args, cell: Cell) -> KernelResult {
    let x = args.tensor("input")?;
    let state: Vec<Tensor> = if cell == Cell::Lstm {
        args.tensors("hx")?.iter().map(|t| (**t).clone()).collect()
    } else {
        vec![(**args.tensor("hx")?).clone()]
    };
    cx.check(state.len() == if cell == Cell::Lstm { 2 } else { 1 }, recurrent_cell::C2, |_| {
        format!("2 hidden states are expected, not {}", state.len())
    })?;
    let parameters = Parameters {
        input: args.tensor("w_ih")?,
        hidden: args.tensor("w_hh")?,
        input_bias: args.opt_tensor("b_ih")?.map(|t| &**t),
        hidden_bias: args.opt_tensor("b_hh")?.map(|t| &**t),
        projection: None,
    };
    cx.rank(x, 2, recurrent_cell::C2, "the input")?;
    for weight in [parameters.input, parameters.hidden] {
        cx.rank(weight, 2, recurrent_cell::C4, "a weight")?;
    }
    cx.require_eq(
        x.size(1),
        parameters.input.size(1),
        recurrent_cell::C3,
        "the input does not fit its weight",
    )?;
    let width = parameters.hidden.size(1);
    for hidden in &state {
        cx.rank(hidden, 2, recurrent_cell::C2, "the hidden state")?;
        cx.require_eq(
            x.size(0),
            hidden.size(0),
            recurrent_cell::C2,
            "input and hidden state differ in rows",
        )?;
        cx.require_eq(hidden.size(1), width, recurrent_cell::C3, "the hidden state does not fit its weight")?;
    }
    let gates = cx.int(cell.gates());
    let rows = cx.mul(width, gates);
    for weight in [parameters.input, parameters.hidden] {
        cx.require_eq(weight.size(0), rows, recurrent_cell::C4, "a weight has not a row for each gate")?;
    }
    let gates = linear(cx, x, parameters.input, parameters.input_bias)?;
    let results = cell.advance(cx, &gates, &state, &parameters)?;
    Ok(results.into_iter().map(Value::from).collect())
}
