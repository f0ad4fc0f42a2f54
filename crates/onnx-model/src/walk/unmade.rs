//! Rows of loops without a round: onnxruntime makes their sizes of what it infers when it loads a model.
use super::control::Results;
use super::loading::address;
use super::stated::{declared_and_made, stated_row};
use super::untracked::without_elements;
use super::{Frame, Walk, WalkScope};
use crate::read::message::GraphProto;
use crate::shape::{Element, Elements, Origin, Tensor, Value};
use sizewise_expr::Expr;
use sizewise_kernels::KernelError;

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

impl<'m> Walk<'m> {
    /// Takes from results the elements that are not known when the model loads: of those that are computed of sizes,
    /// onnxruntime follows at most lists in which all are numbers.
    pub(super) fn forget_elements(&self, values: &mut [Option<Value>]) {
        let Some(found) = &self.finding else { return };
        for value in values.iter_mut().flatten() {
            if !value.tensor().is_some_and(|tensor| {
                tensor.origin == Origin::Constant || found.follows && has_numbers(tensor)
            }) {
                *value = without_elements(value);
            }
        }
    }

    /// Notes what of the rows of a loop is inferred when the model loads. Carried values may have any sizes.
    pub(super) fn loaded(
        &mut self,
        graph: &'m GraphProto,
        carried: &[Value],
        scope: &WalkScope<'_>,
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
