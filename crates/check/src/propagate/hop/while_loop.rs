//! `while_loop(cond_graph, body_graph, carried, additional)`, and the variant that returns the values of
//! every iteration.
use super::super::frame::Frame;
use super::super::interpreter::{CallError, Interpreter};
use sizewise_env::{Clauses, clauses};
use sizewise_expr::range::ValueRange;
use sizewise_ir::{Dtype, Node};
use sizewise_kernels::Value;

/// The conditions of these operators.
pub(in crate::propagate) const CLAUSES: Clauses = &[while_loop::ALL];

clauses! { while_loop {
    C1 "The body returns tensors with the shapes and dtypes of those that it is given."
    C2 "The condition returns one truth value."
} }

impl<'p> Interpreter<'p> {
    /// Both graphs run once on what is carried, integers being unknown as they change with each iteration.
    /// The body must return tensors of the shapes that it was given; its conditions apply where the loop
    /// condition holds.
    pub(super) fn call_while_loop(
        &mut self,
        frame: &Frame,
        node: &'p Node,
        every_turn: bool,
    ) -> Result<Vec<Value>, CallError> {
        let graphs = node.subgraphs();
        let [condition, body] = graphs.as_slice() else {
            return Err(self.malformed("while_loop needs two graphs"));
        };
        let lists: Vec<_> = node.inputs.iter().filter(|i| i.name.is_empty()).skip(2).collect();
        let mut carried = lists.first().map_or(Vec::new(), |i| self.list(frame, &i.arg));
        let additional: Vec<Value> = lists.iter().skip(1).flat_map(|i| self.list(frame, &i.arg)).collect();
        for value in &mut carried {
            if matches!(value, Value::Int(_)) {
                *value = Value::Int(self.run.env.fresh_unbacked(ValueRange::all()));
            }
        }
        let inputs: Vec<Value> = carried.iter().chain(&additional).cloned().collect();
        let goes_on = self.run_subgraph(condition, inputs.clone())?;
        let truth = match goes_on.as_slice() {
            [Value::Bool(e)] => Some(*e),
            [Value::Tensor(t)] if t.dtype == Dtype::Bool && t.rank() == 0 => None,
            [Value::Opaque] => None,
            other => {
                let forms: Vec<String> = other.iter().map(|value| self.form(value)).collect();
                let message =
                    format!("the condition of a loop is one truth value, not ({})", forms.join(", "));
                return Err(self.invalid(while_loop::C2, message));
            }
        };
        let outside = self.run.env.enter(truth);
        let turned = self.run_subgraph_where(truth, body, inputs);
        let kept = turned.map_err(CallError::from).and_then(|next| {
            self.keep_form(&carried, &next, while_loop::C1)?;
            Ok(next)
        });
        self.run.env.leave(outside);
        let next = kept?;
        let turns = every_turn.then(|| self.run.env.fresh_unbacked(ValueRange::at_least(0.into())));
        let mut results = Vec::with_capacity(next.len());
        for (before, after) in carried.into_iter().zip(next) {
            results.push(match (before, after, turns) {
                (before @ Value::Tensor(_), _, Some(turns)) => self.stacked(before, turns),
                (before @ Value::Tensor(_), _, None) => before,
                (_, Value::Int(_), _) => Value::Int(self.run.env.fresh_unbacked(ValueRange::all())),
                (_, after, _) => after,
            });
        }
        Ok(results)
    }
}
