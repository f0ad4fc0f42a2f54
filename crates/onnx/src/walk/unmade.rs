//! Rows of loops without a round: onnxruntime makes their sizes of what it infers when it loads a model.
use super::control::{Results, place};
use super::load::is_sized;
use super::untracked::without_elements;
use super::{Frame, Given, Scope, Walk, declared};
use crate::read::Row;
use crate::read::message::{GraphProto, NodeProto};
use crate::shape::{Call, Tensor, Value};
use sizewise_expr::Expr;
use sizewise_kernels::{Backend, KernelError};

/// Operators of which the inference of shapes compares sizes that the kernel does not.
const COMPARED: &[&str] = &["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"];

fn row(value: &Value) -> Row {
    let tensor = value.tensor()?;
    let sizes: Vec<Option<i64>> = tensor.shape.as_ref()?.iter().map(|size| size.as_inline()).collect();
    let is_sure = tensor.is_ranked_at_load || tensor.constant || sizes.iter().all(Option::is_none);
    is_sure.then_some(sizes)
}

impl<'m> Walk<'m> {
    /// Takes from results the elements that are not known when the model loads.
    pub(super) fn forget_elements(&self, values: &mut [Option<Value>]) {
        if self.finding.is_none() {
            return;
        }
        for value in values.iter_mut().flatten() {
            if !value.tensor().is_some_and(|tensor| tensor.constant) {
                *value = without_elements(value);
            }
        }
    }

    /// The refusal of a call of which sizes disagree that are known when the model loads, where those of a run do.
    pub(super) fn disagreement_at_load(&mut self, node: &NodeProto, call: &Call) -> Option<KernelError> {
        if !call.domain.is_empty() || !COMPARED.contains(&call.op) {
            return None;
        }
        let row = |at: usize| call.inputs.get(at).copied().flatten().and_then(row);
        let disagree = |rows: &[Row]| {
            let [Some(scores), Some(labels)] = rows else { return false };
            // The body of one of them reshapes the scores: what becomes of their sizes is known where all are.
            if call.op == "SoftmaxCrossEntropyLoss" && scores.contains(&None) {
                return false;
            }
            let expected = scores.iter().take(1).chain(scores.iter().skip(2));
            labels.iter().zip(expected).any(|(&a, &b)| a.is_some() && b.is_some() && a != b)
        };
        let rows = vec![row(0), row(1)];
        if let Some(found) = &mut self.finding {
            found.rows.insert(place(node), rows);
        } else if !self.keeps && disagree(&rows) {
            let rows = self.at_load().rows.get(&place(node)).filter(|rows| disagree(rows))?;
            let known = |size: &Option<i64>| size.map_or_else(|| "?".to_owned(), |size| size.to_string());
            let sizes = |row: &Vec<Option<i64>>| row.iter().map(known).collect::<Vec<_>>().join(", ");
            let shown: Vec<String> = rows.iter().flatten().map(|row| format!("[{}]", sizes(row))).collect();
            let message = format!("{}: declared sizes disagree: {}", call.op, shown.join(" and "));
            return Some(KernelError::invalid("Loss.C2", message));
        }
        None
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
        node: &'m NodeProto,
        graph: &'m GraphProto,
        carried: &[Value],
        scope: &Scope<'_>,
        frame: &Frame<'m>,
    ) -> Results {
        let mut of_any_size = Vec::with_capacity(carried.len());
        for value in carried {
            of_any_size.push(match without_elements(value) {
                Value::Tensor(Tensor { dtype, shape: Some(shape), .. }) => {
                    Tensor::new(dtype, shape.iter().map(|_| self.open_size()).collect()).into()
                }
                other => other,
            });
        }
        let inputs = self.round(super::loops::any_number(), &of_any_size);
        let results = self.inferred(graph, inputs, scope, frame)?;
        let made = results.get(1 + carried.len()..).unwrap_or_default();
        let rows: Vec<Row> = made.iter().map(row).collect();
        if let Some(found) = &mut self.finding {
            // Calls of one function may differ.
            let known = found.rows.entry(place(node)).or_insert_with(|| rows.clone());
            known
                .iter_mut()
                .zip(rows)
                .filter(|(known, row)| *known != row)
                .for_each(|(known, _)| *known = None);
        }
        let count = self.open_size();
        let rows: Vec<Value> = made.iter().map(|row| super::loops::stacked(count, row)).collect();
        Ok(of_any_size.into_iter().chain(rows).collect())
    }

    /// A row that no round makes: the sizes that the body declares as numbers, and those that are numbers when the
    /// model loads; others are 0.
    pub(super) fn unmade_row(
        &mut self,
        node: &NodeProto,
        graph: &GraphProto,
        at: usize,
        row: &Value,
        before: usize,
    ) -> Value {
        let stated = graph
            .output
            .get(before + at)
            .and_then(|output| declared(&output.name, output.r#type.as_ref()).shape);
        let mut row = row.clone();
        let Value::Tensor(Tensor { shape: Some(shape), .. }) = &mut row else { return row };
        let is_stated =
            |dim: usize| stated.as_ref().is_some_and(|s| matches!(s.get(dim), Some(Given::Size(_))));
        let is_asked =
            |(dim, size): (usize, &Expr)| !is_stated(dim) && size.as_inline().is_some_and(|size| size != 0);
        let is_asked = shape.iter().enumerate().any(is_asked);
        let mut found: Row = None;
        if is_asked && self.finding.is_none() {
            let row = self.at_load().rows.get(&place(node)).and_then(|rows| rows.get(at)?.clone());
            found = row.filter(|row| row.len() == shape.len());
        }
        let is_open = is_asked && found.is_none();
        let found = found.unwrap_or_else(|| vec![None; shape.len()]);
        for (dim, size) in shape.iter_mut().enumerate().filter(|(dim, _)| !is_stated(*dim)) {
            let loaded = found.get(dim).copied().flatten().and_then(Expr::inline);
            *size = loaded.unwrap_or(Expr::ZERO);
        }
        if !is_open {
            return row;
        }
        let message = "what is inferred of a row that no round makes is not known".to_owned();
        let step = self.steps.len() - 1;
        // This is no matter of the sizes that are given: the walk goes on.
        let _ = self.failed(step, KernelError::Unsupported(message));
        Value::Unknown
    }
}
