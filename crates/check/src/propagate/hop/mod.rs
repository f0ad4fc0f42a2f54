//! Higher-order operators: calls that take graphs.
mod attention;
mod branch;
mod carried;
mod cond;
mod dual;
mod functionalized;
pub(super) mod scan;
#[cfg(test)]
mod tests;
mod vmap;
mod while_loop;
mod wrap;

use super::frame::Frame;
use super::interpreter::{CallError, Interpreter};
pub(super) use dual::complete_dual;
use sizewise_env::Clauses;
use sizewise_ir::{Argument, Node};
use sizewise_kernels::Value;

/// The conditions of higher-order operators.
pub(super) const CLAUSES: [Clauses; 5] =
    [attention::CLAUSES, cond::CLAUSES, scan::CLAUSES, vmap::CLAUSES, while_loop::CLAUSES];

impl<'p> Interpreter<'p> {
    /// Calls the higher-order operator `name`.
    pub(super) fn call_higher_order(
        &mut self,
        frame: &Frame,
        node: &'p Node,
        name: &str,
    ) -> Result<Vec<Value>, CallError> {
        let mut results = self.call_with_graphs(frame, node, name)?;
        if !node.target.is_wrapper() {
            // What is known within a branch does not hold outside, and what is written has other elements.
            results.iter_mut().for_each(Value::forget_span);
        }
        Ok(results)
    }

    fn call_with_graphs(
        &mut self,
        frame: &Frame,
        node: &'p Node,
        name: &str,
    ) -> Result<Vec<Value>, CallError> {
        match name {
            "cond" => self.call_cond(frame, node),
            "switch" => self.call_switch(frame, node),
            "while_loop" => self.call_while_loop(frame, node, false),
            "while_loop_stack_output" => self.call_while_loop(frame, node, true),
            "map_impl" | "map" => self.call_map(frame, node),
            "scan" => self.call_scan(frame, node),
            "associative_scan" => self.call_associative_scan(frame, node),
            "flex_attention" => self.call_flex_attention(frame, node),
            "inductor_compiled_code" => self.call_wrapped(frame, node, name),
            _ if node.target.is_wrapper() => self.call_wrapped(frame, node, name),
            "auto_functionalized" | "auto_functionalized_v2" => self.call_functionalized(frame, node),
            "out_dtype" => self.call_out_dtype(frame, node),
            "with_effects" => self.call_with_effects(frame, node),
            _ => Err(CallError::Unsupported(format!("the higher-order operator `{name}` is not supported"))),
        }
    }

    /// The operands behind the graphs, lists taken apart: those of positions from `first` on.
    pub(super) fn operands(&mut self, frame: &Frame, node: &'p Node, first: usize) -> Vec<Value> {
        let unnamed = node.inputs.iter().filter(|i| i.name.is_empty()).skip(first);
        let arguments: Vec<&Argument> = unnamed.map(|i| &i.arg).collect();
        arguments.into_iter().flat_map(|argument| self.parts(frame, argument)).collect()
    }

    /// An argument as a list of values of which a graph gets slices, or others in other turns: it is not known where
    /// their elements lie.
    pub(super) fn list(&mut self, frame: &Frame, argument: &Argument) -> Vec<Value> {
        let mut parts = self.parts(frame, argument);
        parts.iter_mut().for_each(Value::forget_span);
        parts
    }

    /// An argument as a list of values.
    fn parts(&mut self, frame: &Frame, argument: &Argument) -> Vec<Value> {
        match self.argument(frame, argument) {
            Value::Tensors(items) => {
                items.into_iter().map(|t| t.map_or(Value::None, Value::Tensor)).collect()
            }
            Value::Ints(items) => items.into_iter().map(Value::Int).collect(),
            Value::Floats(items) => items.into_iter().map(Value::Float).collect(),
            Value::Bools(items) => items.into_iter().map(Value::Bool).collect(),
            // A dictionary of keyword arguments: no operator here is recorded with a filled one.
            Value::Opaque => match argument {
                Argument::Map(map) => map.values().flat_map(|a| self.parts(frame, a)).collect(),
                Argument::List(items) => items.iter().flat_map(|a| self.parts(frame, a)).collect(),
                _ => vec![Value::Opaque],
            },
            single => vec![single],
        }
    }
}
