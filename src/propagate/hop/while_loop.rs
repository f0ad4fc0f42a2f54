//! `while_loop(cond_graph, body_graph, carried, additional)`.
use super::super::interpreter::{CallError, Frame, Interpreter};
use super::super::step::FailureKind;
use crate::fake::Value;
use crate::ir::Node;
use crate::range::ValueRange;

impl Interpreter<'_> {
    /// Both graphs run once on what is carried, integers being unknown as they change from turn to turn. The body has to return
    /// tensors of the shapes that it was given.
    pub(super) fn call_while_loop(&mut self, frame: &Frame, node: &Node) -> Result<Vec<Value>, CallError> {
        let graphs = Self::graphs(node);
        let [condition, body] = graphs.as_slice() else {
            return Err(self.malformed("while_loop needs two graphs"));
        };
        let lists: Vec<_> = node.inputs.iter().filter(|i| i.name.is_empty()).skip(2).collect();
        let mut carried = lists.first().map_or(Vec::new(), |i| self.list(frame, &i.arg));
        let additional: Vec<Value> = lists.iter().skip(1).flat_map(|i| self.list(frame, &i.arg)).collect();
        for value in &mut carried {
            if matches!(value, Value::Int(_)) {
                *value = Value::Int(self.env.fresh_unbacked(ValueRange::all()));
            }
        }
        let inputs: Vec<Value> = carried.iter().chain(&additional).cloned().collect();
        self.run_subgraph(&condition.name, &condition.graph, inputs.clone())?;
        let next = self.run_subgraph(&body.name, &body.graph, inputs)?;
        if next.len() != carried.len() {
            return Err(
                self.malformed("the body of while_loop returns another number of values than it carries")
            );
        }
        let mut results = Vec::with_capacity(next.len());
        for (i, (before, after)) in carried.into_iter().zip(next).enumerate() {
            if let (Value::Tensor(x), Value::Tensor(y)) = (&before, &after) {
                if x.rank() != y.rank() || x.dtype != y.dtype {
                    let message = format!(
                        "what is carried has to keep its form: value {i} goes from {} to {}",
                        self.describe(x),
                        self.describe(y)
                    );
                    return Err(self
                        .failure(FailureKind::Invalid, message, Some("while_loop.C1"), None)
                        .into());
                }
                results.push(self.join(before, after));
            } else if matches!(after, Value::Int(_)) {
                results.push(Value::Int(self.env.fresh_unbacked(ValueRange::all())));
            } else {
                results.push(after);
            }
        }
        Ok(results)
    }
}
