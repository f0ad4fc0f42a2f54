//! LSTM and GRU, a node for each layer.
//!
//! Source: `LSTM` and `GRU` of ONNX, whose gates stand in another order than torch's: `iofc` for `ifgo`, and `zrh`
//! for `rzn`.

use super::super::attribute;
use super::super::call::{Call, work};
use super::super::value::{Made, Val, all};
use sizewise_ir::{Dtype, Sym};

/// What the layers share.
struct Cell {
    node: &'static str,
    /// Where each of ONNX's gates stands among torch's.
    gates: &'static [usize],
    directions: usize,
    hidden: i64,
    has_biases: bool,
}

pub(super) fn translate(call: &mut Call<'_, '_, '_>, name: &str) -> Made {
    let (node, gates): (_, &'static [usize]) = match name {
        "lstm.input" => ("LSTM", &[0, 3, 1, 2]),
        "gru.input" => ("GRU", &[1, 0, 2]),
        _ => return None,
    };
    if call.out_dtype().map(work)? != Dtype::Float32
        || call.flag("train", false)? && call.real("dropout", 0.0)? > 0.0
    {
        return None;
    }
    let directions = 1 + usize::from(call.flag("bidirectional", false)?);
    let has_biases = call.flag("has_biases", true)?;
    let layers = usize::try_from(call.int("num_layers", 1)?).ok()?;
    let states = match node {
        "LSTM" => call.tensors("hx")?,
        _ => vec![call.tensor("hx")?],
    };
    let params = call.tensors("params")?;
    let each = if has_biases { 4 } else { 2 };
    // With projections there are more.
    if Some(params.len()) != layers.checked_mul(directions).and_then(|count| count.checked_mul(each)) {
        return None;
    }
    let cell = Cell { node, gates, directions, hidden: hidden(call)?, has_biases };
    let batch_first = call.flag("batch_first", false)?;
    let mut x = call.operand("input", Dtype::Float32)?;
    if x.rank != 3 {
        return None;
    }
    if batch_first {
        x = call.permute(&x, &[1, 0, 2]);
    }
    let mut ends: Vec<Vec<Val>> = vec![Vec::new(); states.len()];
    for (layer, params) in params.chunks(each * directions).enumerate() {
        let made = cell.layer(call, &x, &states, (layer, params))?;
        x = made.0;
        ends.iter_mut().zip(made.1).for_each(|(end, state)| end.push(state));
    }
    if batch_first {
        x = call.permute(&x, &[1, 0, 2]);
    }
    let mut results = vec![x];
    for end in ends {
        results.push(joined(call, &end, 0));
    }
    all(results)
}

/// The width of the state, which is one of the weights' sizes.
fn hidden(call: &Call<'_, '_, '_>) -> Option<i64> {
    let state = match call.arg("hx")? {
        sizewise_ir::Argument::Tensors(ids) => *ids.first()?,
        argument => argument.value()?,
    };
    match call.body.graph.meta(state).tensor()?.sizes.last()? {
        Sym::Literal(width) => Some(*width),
        Sym::Expr(_) => None,
    }
}

fn joined(call: &mut Call<'_, '_, '_>, parts: &[Val], axis: i64) -> Val {
    match parts {
        [part] => part.clone(),
        parts => {
            let (dtype, rank) = parts.first().map_or((Dtype::Float32, 1), |part| (part.dtype, part.rank));
            let parts: Vec<&Val> = parts.iter().collect();
            call.put("Concat", &parts, vec![attribute::int("axis", axis)], (dtype, rank))
        }
    }
}

impl Cell {
    /// The gates of a weight in ONNX's order.
    fn ordered(&self, call: &mut Call<'_, '_, '_>, weight: &Val) -> Val {
        let weight = call.cast(weight, Dtype::Float32);
        let lengths = call.constant_vector(&vec![self.hidden; self.gates.len()]);
        let names = [weight.name.as_str(), lengths.name.as_str()];
        let parts = call.body.emit("Split", &names, vec![attribute::int("axis", 0)], self.gates.len());
        let parts: Vec<Val> =
            self.gates.iter().map(|&gate| Val { name: parts[gate].clone(), ..weight.clone() }).collect();
        joined(call, &parts, 0)
    }

    /// The outputs of a layer and its states at the end.
    fn layer(
        &self,
        call: &mut Call<'_, '_, '_>,
        x: &Val,
        states: &[Val],
        (layer, params): (usize, &[Val]),
    ) -> Option<(Val, Vec<Val>)> {
        let mut stacks: [Vec<Val>; 3] = Default::default();
        for direction in params.chunks(params.len() / self.directions) {
            let ordered: Vec<Val> = direction.iter().map(|weight| self.ordered(call, weight)).collect();
            let (weights, biases) = ordered.split_at(2);
            for (stack, weight) in stacks.iter_mut().zip(weights) {
                stack.push(call.unsqueeze(weight, &[0]));
            }
            if self.has_biases {
                let bias = joined(call, biases, 0);
                stacks[2].push(call.unsqueeze(&bias, &[0]));
            }
        }
        let [input, hidden, bias] = &stacks;
        let mut names = vec![x.name.clone(), joined(call, input, 0).name, joined(call, hidden, 0).name];
        names.push(if self.has_biases { joined(call, bias, 0).name } else { String::new() });
        names.push(String::new());
        let directions = i64::try_from(self.directions).ok()?;
        let begin = i64::try_from(layer).ok()? * directions;
        for state in states {
            let state = call.cast(state, Dtype::Float32);
            let bounds = [begin, begin + directions, 0, 1].map(|value| call.constant_vector(&[value]));
            names.push(call.slice(&state, [&bounds[0], &bounds[1], &bounds[2], &bounds[3]]).name);
        }
        let direction = if self.directions == 2 { "bidirectional" } else { "forward" };
        let mut attributes =
            vec![attribute::int("hidden_size", self.hidden), attribute::string("direction", direction)];
        if self.node == "GRU" {
            attributes.push(attribute::int("linear_before_reset", 1));
        }
        let inputs: Vec<&str> = names.iter().map(String::as_str).collect();
        let made = call.body.emit(self.node, &inputs, attributes, 1 + states.len());
        let mut made =
            made.into_iter().map(|name| Val { name, dtype: Dtype::Float32, rank: 3 }).collect::<Vec<_>>();
        let states = made.split_off(1);
        // Steps, directions, batch and width: the directions of a step are side by side.
        let outputs = Val { rank: 4, ..made.pop()? };
        let outputs = call.permute(&outputs, &[0, 2, 1, 3]);
        let sizes = call.constant_vector(&[0, 0, directions * self.hidden]);
        Some((call.put("Reshape", &[&outputs, &sizes], Vec::new(), (Dtype::Float32, 3)), states))
    }
}
