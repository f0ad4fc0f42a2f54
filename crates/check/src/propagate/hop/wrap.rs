//! Operators that run one graph on their operands: grad mode, autocast, checkpointing, hints and the like.
use super::super::frame::Frame;
use super::super::interpreter::{CallError, Interpreter};
use sizewise_expr::Expr;
use sizewise_ir::{Argument, Node};
use sizewise_kernels::Value;
use sizewise_kernels::autocast::Regions;

impl<'p> Interpreter<'p> {
    /// Runs the graph on the operands that follow it.
    pub(super) fn call_wrapped(
        &mut self,
        frame: &Frame,
        node: &'p Node,
        name: &str,
    ) -> Result<Vec<Value>, CallError> {
        let graphs = node.subgraphs();
        let [graph] = graphs.as_slice() else {
            return Err(self.malformed(format!("{name} needs one graph")));
        };
        let position = node.inputs.iter().position(|i| matches!(i.arg, Argument::Graph(_))).unwrap_or(0);
        let mut inputs = self.operands(frame, node, position + 1);
        // invoke_subgraph names the graph in its first operand.
        inputs.retain(|v| !matches!(v, Value::Str(_)));
        let wanted = graph.graph.inputs().len();
        if inputs.len() != wanted {
            return Err(self.malformed(format!(
                "the graph of {name} takes {wanted} values, {} are given",
                inputs.len()
            )));
        }
        let autocast = self.autocast.clone();
        if name == "wrap_with_autocast" {
            self.autocast = self.region(node)?;
        }
        let result = self.run_subgraph(graph, inputs);
        self.autocast = autocast;
        Ok(result?)
    }

    /// What holds in the graph of `wrap_with_autocast(device, dtype, enabled, cache_enabled, graph, args...)`.
    fn region(&self, node: &Node) -> Result<Regions, CallError> {
        let mut given = node.inputs.iter().map(|input| &input.arg);
        let (Some(Argument::Str(device)), dtype, Some(Argument::Bool(enabled))) =
            (given.next(), given.next(), given.next())
        else {
            return Err(
                self.malformed("wrap_with_autocast needs a device, a dtype and whether it is enabled")
            );
        };
        let dtype = if let Some(Argument::Dtype(dtype)) = dtype { Some(*dtype) } else { None };
        Ok(self.autocast.within(device, dtype, *enabled))
    }

    /// `out_dtype(op, dtype, args...)`: the operator's result in another dtype.
    pub(super) fn call_out_dtype(&mut self, frame: &Frame, node: &'p Node) -> Result<Vec<Value>, CallError> {
        let (Some(Argument::Operator(op)), Some(Argument::Dtype(dtype))) =
            (node.inputs.first().map(|i| &i.arg), node.inputs.get(1).map(|i| &i.arg))
        else {
            return Err(self.malformed("out_dtype needs an operator and a dtype"));
        };
        let arguments: Vec<_> =
            node.inputs[2..].iter().map(|i| ("".into(), self.argument(frame, &i.arg))).collect();
        let results = self.call_operator(short_name(op), arguments)?;
        let retyped = |value| match value {
            Value::Tensor(t) => t.with_dtype(*dtype).into(),
            other => other,
        };
        Ok(results.into_iter().map(retyped).collect())
    }

    /// `with_effects(token, op, args...)`: a new token and the operator's results.
    pub(super) fn call_with_effects(
        &mut self,
        frame: &Frame,
        node: &'p Node,
    ) -> Result<Vec<Value>, CallError> {
        let Some(Argument::Operator(op)) = node.inputs.get(1).map(|i| &i.arg) else {
            return Err(self.malformed("with_effects needs a token and an operator"));
        };
        let arguments: Vec<_> =
            node.inputs[2..].iter().map(|i| (i.name.clone(), self.argument(frame, &i.arg))).collect();
        self.calls_through(short_name(op));
        let mut results = vec![Value::Opaque];
        results.extend(self.call_operator(short_name(op), arguments)?);
        Ok(results)
    }

    /// Says that the step at hand calls `op` through an operator that is given it: reports name the operator within.
    pub(super) fn calls_through(&mut self, op: &str) {
        if let Some(step) = self.run.steps_mut().get_mut(self.origin.0 as usize) {
            step.calls_through(op);
        }
    }

    /// The index in a literal argument, for operators that refer to others of their arguments.
    pub(super) fn literal_index(value: &Value) -> Option<usize> {
        match value {
            Value::Int(e) => Expr::as_inline(*e).and_then(|v| usize::try_from(v).ok()),
            _ => None,
        }
    }
}

/// An operator's target without the `torch.ops.` in front.
pub(super) fn short_name(op: &str) -> &str {
    op.strip_prefix("torch.ops.").unwrap_or(op)
}
