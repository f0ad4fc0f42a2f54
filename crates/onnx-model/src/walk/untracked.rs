//! Numbers that are computed from sizes, but not followed as expressions: `Shape`, a cast to floats, arithmetic.
//!
//! Sizes decide them, not data, so what an operator requires of them is no matter of run time: it has to hold for all
//! sizes. Whether an operator's result depends on such numbers at all is found by trying some.
use super::Walk;
use crate::shape::{
    Call, Dtype, Element, Elements, Op, Origin, Sequence, Tensor, Use, Value, infer, operator,
};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_kernels::{Cx, KernelError};
use std::cell::RefCell;

/// How reasons end that speak of numbers which are not followed.
pub const NOT_FOLLOWED: &str = ", which are not followed";

/// Numbers that are tried in the place of those that are not followed.
const TRIED: &[f64] = &[0.0, 1.0, 2.0, -1.0, -3.0, 1_000_003.0];

/// The most elements of a tensor that is computed of constants and may say sizes.
const MAX_NUMBERS: u64 = 64;

/// What decides the elements of a value.
fn origin(value: &Value) -> Origin {
    match value {
        Value::Tensor(tensor) => origin_of(tensor),
        Value::Sequence(Sequence { items: Some(items), .. }) => {
            items.iter().map(origin_of).max().unwrap_or(Origin::Constant)
        }
        Value::Sequence(Sequence { origin, .. }) => *origin,
        Value::Optional(Some(value), _) => origin(value),
        _ => Origin::Data,
    }
}

fn origin_of(tensor: &Tensor) -> Origin {
    let is_open = match &tensor.elements {
        None => true,
        Some(Elements::Fill(element)) => *element == Element::Open,
        Some(Elements::List(list)) => list.contains(&Element::Open),
    };
    let is_number = |element: &Element| element.number().is_some() || matches!(element, Element::Text(_));
    match &tensor.elements {
        _ if tensor.origin == Origin::Sizes => Origin::Sizes,
        _ if tensor.origin == Origin::Constant || tensor.count() == Some(0) => Origin::Constant,
        _ if is_open => Origin::Data,
        Some(Elements::Fill(element)) if is_number(element) => Origin::Constant,
        Some(Elements::List(list)) if list.iter().all(is_number) => Origin::Constant,
        _ => Origin::Sizes,
    }
}

/// Whether the elements of a value are numbers, or sizes decide them.
pub(super) fn are_sizes(value: &Value) -> bool {
    origin(value) != Origin::Data
}

/// A value of whose elements nothing is known.
pub(super) fn without_elements(value: &Value) -> Value {
    match value {
        Value::Tensor(tensor) => {
            let mut tensor = Tensor { elements: None, ..tensor.clone() };
            tensor.forget_constant();
            tensor.into()
        }
        other => other.clone(),
    }
}

/// A value of whose elements no more is known than whether sizes decide them.
pub(super) fn marked(value: &Value, from_sizes: bool) -> Value {
    let origin = Origin::of_sizes(from_sizes);
    match without_elements(value) {
        Value::Tensor(tensor) => Value::Tensor(Tensor { origin, spans: None, places: None, ..tensor }),
        Value::Sequence(sequence) if sequence.items.is_none() => {
            Value::Sequence(Sequence { origin, ..sequence })
        }
        other => other,
    }
}

/// Marks a tensor of which sizes decide the elements, unless they are followed. Few operators follow quotients.
fn mark_tensor(tensor: &mut Tensor) {
    if origin_of(tensor) == Origin::Data || tensor.has_quotients() {
        tensor.origin = Origin::Sizes;
    }
}

/// As [`mark_tensor`], of any value.
pub(super) fn mark(value: &mut Value) {
    match value {
        Value::Tensor(tensor) => mark_tensor(tensor),
        Value::Sequence(Sequence { items: Some(items), .. }) => items.iter_mut().for_each(mark_tensor),
        Value::Sequence(sequence) => sequence.origin = Origin::Sizes,
        _ => {}
    }
}

/// Marks results of which sizes decide the elements, but are not followed.
pub(super) fn mark_untracked(call: &Call, mut values: Vec<Option<Value>>) -> Vec<Option<Value>> {
    let origins = || call.inputs.iter().flatten().map(|value| origin(value));
    let op = operator(call.domain, call.op);
    let reads_sizes = op.is_some_and(Op::reads_sizes);
    let is_drawn = op.is_some_and(|op| op.draws_given(|input| call.has(input)));
    if !reads_sizes && (is_drawn || origins().any(|o| o == Origin::Data)) {
        return values;
    }
    // What is computed of constants alone is the same in every run. Large tensors are weights.
    let is_constant = !reads_sizes && !origins().any(|o| o == Origin::Sizes);
    let is_small = |tensor: &Tensor| tensor.count().is_none_or(|count| count <= MAX_NUMBERS);
    let mark_known = |tensor: &mut Tensor| {
        if !is_constant || is_small(tensor) {
            mark_tensor(tensor);
        }
    };
    for value in values.iter_mut().flatten() {
        match value {
            Value::Tensor(tensor) => mark_known(tensor),
            Value::Sequence(Sequence { items: Some(items), .. }) => items.iter_mut().for_each(mark_known),
            value => mark(value),
        }
    }
    values
}

/// The value with a number in the place of elements that are not followed.
fn with_number(value: &Value, number: f64, env: &mut ShapeEnv) -> Option<Value> {
    let tensor = value.tensor().filter(|tensor| tensor.origin == Origin::Sizes)?;
    let element = match tensor.dtype {
        Dtype::Bool => Element::Bool(env.pool.bool(number != 0.0)),
        dtype if dtype.is_integer() => Element::Int(env.pool.int(number as i64)),
        dtype if dtype.is_float() => Element::Float(number / 2.0),
        _ => return None,
    };
    Some(Tensor { origin: Origin::Data, ..tensor.clone().filled(element) }.into())
}

/// What of a call depends on elements of its inputs: the shapes of its results, or that it is refused.
type Seen = Result<Vec<Option<Vec<Expr>>>, ()>;

impl Walk<'_> {
    /// Whether a call reads elements that are computed from sizes and not followed.
    pub(super) fn reads_untracked(&mut self, call: &Call) -> bool {
        let op = operator(call.domain, call.op);
        let is_untracked = |(at, value): (usize, &Option<&Value>)| {
            let tensor = value.and_then(Value::tensor).filter(|tensor| tensor.origin == Origin::Sizes);
            tensor.is_some_and(|tensor| op.is_none_or(|op| op.used(at, Some(tensor.dtype)) == Use::Reads))
        };
        call.inputs.iter().enumerate().any(is_untracked)
            && !op.is_some_and(|op| op.is_settled(&mut Cx::on(&mut self.env, self.model.backend), call))
    }

    /// Notes that nothing is known if the call depends on numbers that are not followed. `before` is the environment
    /// from before the call.
    pub(super) fn ask_of_untracked(&mut self, step: usize, call: &Call, before: ShapeEnv) {
        // A run has no data but those that are given.
        if !self.takes_any_data && self.env.runtime_asserts().len() > before.runtime_asserts().len() {
            return self.depends_on_untracked(step, call.op);
        }
        let mut first: Option<(Seen, usize, usize)> = None;
        // Indices and labels that are not followed are taken to be within their dimension, unless sizes alone decide them.
        let is_index = self.stops && operator(call.domain, call.op).is_some_and(Op::looks_up);
        for &number in TRIED {
            let mut env = before.clone();
            let tried: Vec<Option<Value>> = call
                .inputs
                .iter()
                .map(|value| {
                    value.map(|value| with_number(value, number, &mut env).unwrap_or_else(|| value.clone()))
                })
                .collect();
            let inputs: Vec<Option<&Value>> = tried.iter().map(Option::as_ref).collect();
            let call = Call { inputs: &inputs, doubts: &RefCell::default(), ..*call };
            let seen: Seen = match infer(&mut Cx::on(&mut env, self.model.backend), &call) {
                Ok(values) => Ok(values
                    .iter()
                    .map(|value| {
                        value.as_ref().and_then(Value::tensor).and_then(|tensor| tensor.shape.clone())
                    })
                    .collect()),
                // Without a shape function nothing is known anyway.
                Err(KernelError::Unsupported(_)) => return,
                Err(_) => Err(()),
            };
            let seen = (seen, env.guards().len(), env.runtime_asserts().len());
            if is_index && (seen.0.is_err() || seen.2 > before.runtime_asserts().len()) {
                // As with data, it is not known to be refused.
                continue;
            }
            if seen.0.is_err() || first.get_or_insert_with(|| seen.clone()) != &seen {
                return self.depends_on_untracked(step, call.op);
            }
        }
    }

    /// Notes that nothing is known of what a node makes of numbers that are not followed.
    pub(super) fn depends_on_untracked(&mut self, step: usize, op: &str) {
        let reason = format!("{op} depends on numbers that are computed from sizes{NOT_FOLLOWED}");
        self.unsupported.get_or_insert((step, reason.clone()));
        self.unknown.push((step, reason));
    }
}
