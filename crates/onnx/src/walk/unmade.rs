//! Rows of loops without a round: onnxruntime makes their sizes of what it infers when it loads a model.
use super::control::Results;
use super::known_sizes::both;
use super::load::is_sized;
use super::loading::address;
use super::misinferred::int;
use super::stated::{declared_and_made, shown, stated_row};
use super::untracked::without_elements;
use super::{Frame, Scope, Walk};
use crate::read::message::GraphProto;
use crate::shape::{Call, Element, Elements, Tensor, Value};
use rustc_hash::FxHashSet;
use sizewise_expr::Expr;
use sizewise_kernels::{Backend, KernelError};

/// Operators of which the inference of shapes compares sizes that the kernel does not.
const COMPARED: &[&str] = &["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"];

/// Whether every element is a number.
fn has_numbers(tensor: &Tensor) -> bool {
    let is_number = |element: &Element| match element {
        Element::Int(number) => number.as_inline().is_some(),
        Element::Bool(condition) => condition.as_literal_bool().is_some(),
        Element::Float(_) => true,
        _ => false,
    };
    match &tensor.elements {
        Some(Elements::List(list)) => list.iter().all(is_number),
        Some(Elements::Fill(element)) => is_number(element),
        None => false,
    }
}

/// The sizes of a value that are numbers.
fn stated_sizes(value: &Value) -> Option<Vec<Option<i64>>> {
    Some(value.tensor()?.shape.as_ref()?.iter().map(|size| size.as_inline()).collect())
}

fn is_empty(value: &Value) -> bool {
    value.tensor().and_then(|tensor| tensor.shape.as_ref()).is_some_and(|shape| shape.contains(&Expr::ZERO))
}

/// Whether sizes that are known when the model loads are compared with those of a run.
pub(super) fn compares_at_load(op: &str, inputs: &[Option<&Value>]) -> bool {
    COMPARED.contains(&op) || op == "Concat" && inputs.iter().flatten().any(|value| is_empty(value))
}

/// The refusal of a `Concat` of sizes beside the axis that differ: its kernel leaves out what is empty, and the inference of
/// shapes does not.
fn joined_at_load(call: &Call) -> Option<KernelError> {
    let rows: Vec<_> = call.inputs.iter().map(|value| value.and_then(stated_sizes)).collect::<Option<_>>()?;
    let rank = rows.first()?.len();
    let axis = int(call, "axis").unwrap_or(1);
    let axis = if axis < 0 { axis + rank as i64 } else { axis };
    let mut is_open = false;
    for dim in (0..rank).filter(|dim| *dim as i64 != axis) {
        let of = |is_meant: fn(Option<bool>) -> bool| -> FxHashSet<i64> {
            let known = rows.iter().enumerate().filter(|(at, _)| is_meant((call.sizes_at_load)(*at, dim)));
            known.filter_map(|(_, row)| *row.get(dim)?).collect()
        };
        if of(|is_known| is_known == Some(true)).len() > 1 {
            return Some(KernelError::invalid(
                "Concat.C2",
                "Concat: declared sizes beside the axis disagree",
            ));
        }
        is_open |= of(|is_known| is_known != Some(false)).len() > 1;
    }
    let message = "Concat: sizes beside the axis disagree, if onnxruntime knows them";
    is_open.then(|| KernelError::Unsupported(message.to_owned()))
}

impl<'m> Walk<'m> {
    /// Takes from results the elements that are not known when the model loads: of those that are computed of sizes,
    /// onnxruntime follows at most lists in which all are numbers.
    pub(super) fn forget_elements(&self, values: &mut [Option<Value>]) {
        let Some(found) = &self.finding else { return };
        for value in values.iter_mut().flatten() {
            if !value.tensor().is_some_and(|tensor| tensor.constant || found.follows && has_numbers(tensor)) {
                *value = without_elements(value);
            }
        }
    }

    /// The refusal of a call of which sizes disagree that are known when the model loads, where those of a run do.
    pub(super) fn disagreement_at_load(&self, call: &Call) -> Option<KernelError> {
        if self.keeps || !call.domain.is_empty() || !compares_at_load(call.op, call.inputs) {
            return None;
        }
        if call.op == "Concat" {
            return joined_at_load(call).filter(|_| self.model.backend == Backend::Cpu);
        }
        let row = |at: usize| call.inputs.get(at).copied().flatten().and_then(stated_sizes);
        let (scores, labels) = (row(0)?, row(1)?);
        // The body of one of them reshapes the scores: what becomes of their sizes is known where all are.
        let mut all = (0..scores.len()).map(|dim| (call.sizes_at_load)(0, dim));
        if call.op == "SoftmaxCrossEntropyLoss" && all.any(|is_known| is_known == Some(false)) {
            return None;
        }
        let expected = scores.iter().enumerate().filter(|(dim, _)| *dim != 1);
        let differ = labels.iter().enumerate().zip(expected).filter(|((_, a), (_, b))| a != b);
        let known = differ.map(|((label, _), (score, _))| {
            both((call.sizes_at_load)(0, score), (call.sizes_at_load)(1, label))
        });
        let known: Vec<Option<bool>> = known.filter(|is_known| *is_known != Some(false)).collect();
        let message =
            format!("{}: declared sizes disagree: {} and {}", call.op, shown(&scores), shown(&labels));
        match known.contains(&Some(true)) {
            true => Some(KernelError::invalid("Loss.C2", message)),
            false if known.is_empty() => None,
            false => Some(KernelError::Unsupported(format!("{message}, if onnxruntime knows them"))),
        }
    }

    /// That it is not known whether a call loads: of sizes onnxruntime has to infer how many there are.
    pub(super) fn uncounted_sizes(&self, call: &Call) -> Option<KernelError> {
        let sizes = call.inputs.get(3).copied().flatten()?;
        if (call.domain, call.op) != ("", "Resize") || is_sized(sizes) || self.model.backend == Backend::Any {
            return None;
        }
        let message = "Resize: onnxruntime loads it only if it infers how many sizes there are";
        Some(KernelError::Unsupported(message.to_owned()))
    }

    /// Notes what of the rows of a loop is inferred when the model loads. Carried values may have any sizes.
    pub(super) fn loaded(
        &mut self,
        graph: &'m GraphProto,
        carried: &[Value],
        scope: &Scope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let mut of_any_size = Vec::with_capacity(carried.len());
        for (at, value) in carried.iter().enumerate() {
            let stated = graph.input.get(2 + at).and_then(stated_row);
            of_any_size.push(match without_elements(value) {
                // Within the body, onnxruntime has the rank that is declared there.
                Value::Tensor(Tensor { dtype, .. }) if stated.is_some() => {
                    Tensor::new(dtype, stated.iter().flatten().map(|_| self.open_size()).collect()).into()
                }
                Value::Tensor(Tensor { dtype, shape: Some(shape), .. }) => {
                    Tensor::new(dtype, shape.iter().map(|_| self.open_size()).collect()).into()
                }
                other => other,
            });
        }
        let inputs = self.round(super::loops::any_number(), &of_any_size);
        let results = self.inferred(graph, inputs, scope, frame)?;
        self.note_results(graph, &results);
        let made = results.get(1 + carried.len()..).unwrap_or_default();
        let count = self.open_size();
        let rows: Vec<Value> = made.iter().map(|row| super::loops::stacked(count, row)).collect();
        Ok(of_any_size.into_iter().chain(rows).collect())
    }

    /// The sizes of a row that no round makes: the numbers that the body declares and those that are inferred when the
    /// model loads. Where these disagree, only those are left on which both agree. Others are 0. `at` is the position
    /// of the row among the outputs of the body. `None` where it is not known what is inferred.
    fn unmade_sizes(&self, graph: &GraphProto, at: usize, shape: &[Expr]) -> Option<Vec<Expr>> {
        let stated = graph.output.get(at).and_then(stated_row);
        let found = self.at_load().results.get(&address(graph)).and_then(|rows| rows.get(at)?.clone());
        let size = |size: &Option<i64>| size.and_then(Expr::inline).unwrap_or(Expr::ZERO);
        match found.filter(|row| row.len() == shape.len()) {
            Some(row) => Some(declared_and_made(stated, row)?.iter().map(size).collect()),
            None => {
                let stated = stated.unwrap_or_else(|| vec![None; shape.len()]);
                let sizes: Vec<Expr> = stated.iter().map(size).collect();
                // Whatever is inferred is one of these.
                (sizes == shape).then_some(sizes)
            }
        }
    }

    /// A row that no round makes. `at` is its position among the outputs of the body.
    pub(super) fn unmade_row(&mut self, graph: &GraphProto, at: usize, row: &Value) -> Value {
        let Value::Tensor(tensor) = row else { return row.clone() };
        let sizes = match &tensor.shape {
            Some(shape) => self.unmade_sizes(graph, at, shape),
            None => graph.output.get(at).and_then(stated_row).map(|stated| {
                stated.iter().map(|size| size.and_then(Expr::inline).unwrap_or(Expr::ZERO)).collect()
            }),
        };
        if let Some(sizes) = sizes {
            return Tensor::new(tensor.dtype, sizes).into();
        }
        if tensor.shape.is_none() {
            return row.clone();
        }
        let message = "what is inferred of a row that no round makes is not known".to_owned();
        let step = self.steps.len() - 1;
        // This is no matter of the sizes that are given: the walk goes on.
        let _ = self.failed(step, KernelError::Unsupported(message));
        Value::Unknown
    }
}
