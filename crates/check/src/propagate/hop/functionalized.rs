//! `auto_functionalized(op, ...)` and its second version: a mutating operator made functional. The results
//! are those of the operator, then the new value of each tensor it writes.
use super::super::frame::Frame;
use super::super::interpreter::{CallError, Interpreter};
use super::wrap::short_name;
use sizewise_ir::{Argument, Node};
use sizewise_kernels::Value;

impl<'p> Interpreter<'p> {
    pub(super) fn call_functionalized(
        &mut self,
        frame: &Frame,
        node: &'p Node,
    ) -> Result<Vec<Value>, CallError> {
        let Some(Argument::Operator(op)) = node.inputs.first().map(|i| &i.arg) else {
            return Err(self.malformed("auto_functionalized needs an operator"));
        };
        let op = short_name(op);
        self.calls_through(op);
        let Some((schema, _)) = self.operators.find(op) else {
            return Err(CallError::Unsupported(format!("there is no fake kernel for `{op}`")));
        };
        let given: Vec<(std::sync::Arc<str>, Value)> =
            node.inputs[1..].iter().map(|i| (i.name.clone(), self.argument(frame, &i.arg))).collect();
        let find = |name: &str| given.iter().find(|(n, _)| **n == *name).map(|(_, v)| v.clone());
        let bases = match find("_all_bases") {
            Some(Value::Tensors(bases)) => bases,
            _ => Vec::new(),
        };
        // The second version passes written tensors by their index among the bases.
        let mut arguments = Vec::with_capacity(schema.args.len());
        let mut written = Vec::new();
        for arg in &schema.args {
            let by_index = find(&format!("_{}_base_index", arg.name))
                .and_then(|v| Self::literal_index(&v))
                .and_then(|i| bases.get(i).cloned().flatten())
                .map(Value::Tensor);
            let Some(value) = by_index.or_else(|| find(&arg.name)) else { continue };
            if arg.is_written() {
                written.push(value.clone());
            }
            arguments.push((arg.name.as_str().into(), value));
        }
        let returns_nothing = schema.returns.is_empty();
        let mut results = self.call_operator(op, arguments)?;
        if returns_nothing {
            results = vec![Value::None];
        }
        if bases.is_empty() {
            results.extend(written);
        } else {
            results.extend(bases.into_iter().map(|t| t.map_or(Value::None, Value::Tensor)));
        }
        Ok(results)
    }
}
