//! The element types that control flow asks for. onnxruntime compares them when it loads a model.
use super::control::body;
use super::{Ended, Walk, declared};
use crate::read::message::{GraphProto, NodeProto, ValueInfoProto};
use crate::shape::{Dtype, Value};
use sizewise_kernels::KernelError;

fn dtype(value: Option<&Value>) -> Option<Dtype> {
    value.and_then(Value::tensor).map(|tensor| tensor.dtype)
}

/// What is said of an input of a graph that is declared with another element type than it is given.
fn declared_otherwise(op: &str, input: &ValueInfoProto, given: Option<Dtype>) -> Option<String> {
    let stated = declared(&input.name, input.r#type.as_ref());
    let (stated, given) = stated.dtype.filter(|_| stated.is_tensor).zip(given)?;
    (stated != given).then(|| {
        format!("{op}: `{}` is {}, where its graph declares {}", input.name, given.name(), stated.name())
    })
}

/// What is said of an input of a node that has another element type than the operator asks for.
fn is_not(op: &str, what: &str, value: Option<&Value>, expected: Dtype) -> Option<String> {
    let given = dtype(value).filter(|&given| given != expected)?;
    Some(format!("{op}: {what} is {}, not {}", given.name(), expected.name()))
}

impl Walk<'_> {
    /// Whether the inputs of a node of control flow are of the types that the operator and the graph within ask for; if
    /// not, that is noted.
    pub(super) fn has_types(
        &mut self,
        node: &NodeProto,
        inputs: &[Option<&Value>],
        is_old_scan: bool,
    ) -> Result<bool, Ended> {
        let input = |at: usize| inputs.get(at).copied().flatten();
        let op = node.op_type.as_str();
        let graph = body(node, "body").filter(|_| !is_old_scan);
        let wrong = match (op, graph) {
            ("If", _) => is_not(op, "the condition", input(0), Dtype::Bool),
            ("Loop", graph) => is_not(op, "the number of rounds", input(0), Dtype::I64)
                .or_else(|| is_not(op, "the condition", input(1), Dtype::Bool))
                .or_else(|| {
                    let own = [Some(Dtype::I64), Some(Dtype::Bool)];
                    let carried = inputs.iter().skip(2).map(|value| dtype(*value));
                    wrongly_declared(op, graph?, own.into_iter().chain(carried))
                }),
            ("Scan", Some(graph)) => wrongly_declared(op, graph, inputs.iter().map(|value| dtype(*value))),
            _ => None,
        };
        let Some(message) = wrong else { return Ok(true) };
        self.failed(self.steps.len() - 1, KernelError::invalid("schema.S2", message))?;
        Ok(false)
    }

    /// Requires that what a round makes of a state, or the branches of `If`, have one element type.
    pub(super) fn expect_same_type(&mut self, step: usize, a: &Value, b: &Value) -> Result<(), Ended> {
        let (Some(a), Some(b)) = (dtype(Some(a)), dtype(Some(b))) else { return Ok(()) };
        if a == b {
            return Ok(());
        }
        let op = self.steps[step].op();
        let (a, b) = (a.name(), b.name());
        let message = match op.as_str() {
            "If" => format!("If: its branches make {a} and {b}"),
            _ => format!("{op}: a state is {a}, and its graph makes {b} of it"),
        };
        self.failed(step, KernelError::invalid("schema.S2", message))
    }
}

/// What is said of the first input of a graph that is declared with another element type than it is given.
fn wrongly_declared(
    op: &str,
    graph: &GraphProto,
    given: impl Iterator<Item = Option<Dtype>>,
) -> Option<String> {
    graph.input.iter().zip(given).find_map(|(input, given)| declared_otherwise(op, input, given))
}
