//! The element types that control flow asks for. onnxruntime compares them when it loads a model.
use super::clauses::Scan;
use super::control::body;
use super::stated::stated_row;
use super::{Ended, Walk, declared};
use crate::read::message::{GraphProto, NodeProto, ValueInfoProto};
use crate::shape::schema::signature;
use crate::shape::{Dtype, Value};
use sizewise_kernels::{Backend, Cx, KernelError};

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
        self.failed(self.steps.len() - 1, KernelError::invalid(signature::S2, message))?;
        Ok(false)
    }

    /// Requires that what a graph within the node of a step returns is of the types that the graph declares.
    pub(super) fn expect_declared_types(
        &mut self,
        step: usize,
        graph: &GraphProto,
        made: &[Value],
    ) -> Result<(), Ended> {
        let wrong = graph.output.iter().zip(made).find_map(|(output, made)| {
            let stated = declared(&output.name, output.r#type.as_ref());
            let (stated, made) = stated.dtype.filter(|_| stated.is_tensor).zip(dtype(Some(made)))?;
            let name = &output.name;
            (stated != made).then(|| {
                format!("its graph declares `{name}` as {}, and makes {}", stated.name(), made.name())
            })
        });
        let Some(what) = wrong else { return Ok(()) };
        let message = format!("{}: {what}", self.steps[step].op());
        self.failed(step, KernelError::invalid(signature::S2, message))
    }

    /// Onnxruntime makes room for states by the sizes that the body of a scan declares as numbers: these are the ones
    /// that they have.
    pub(super) fn expect_declared_sizes(
        &mut self,
        step: usize,
        stated: &[ValueInfoProto],
        given: &[Value],
    ) -> Result<(), Ended> {
        let mut cx = Cx::on(&mut self.env, self.model.backend);
        if !cx.on_cpu() {
            return Ok(());
        }
        let mut refusal = None;
        for (stated, given) in stated.iter().zip(given) {
            let sizes = given.tensor().and_then(|tensor| tensor.shape.clone());
            let (Some(row), Some(sizes)) = (stated_row(stated), sizes) else { continue };
            if row.len() != sizes.len() {
                let message =
                    format!("Scan: `{}` has {} dimensions, not {}", stated.name, sizes.len(), row.len());
                refusal = Some(KernelError::invalid(Scan::C5, message));
                break;
            }
            for (number, size) in row.into_iter().zip(sizes) {
                let Some(number) = number else { continue };
                let number = cx.int(number);
                let required = cx.require_eq(size, number, Scan::C5, "a size that the body declares");
                refusal = refusal.or(required.err());
            }
        }
        match refusal {
            Some(error) => self.failed(step, error),
            None => Ok(()),
        }
    }

    /// Notes that it is not known whether a loop loads whose body declares other numbers for carried values than these
    /// have: what else the body makes is inferred with them.
    pub(super) fn expect_same_numbers(
        &mut self,
        step: usize,
        graph: &GraphProto,
        carried: &[Value],
    ) -> Result<(), Ended> {
        let differs = |(input, value): (&ValueInfoProto, &Value)| {
            let sizes = value.tensor().and_then(|tensor| tensor.shape.as_ref());
            let (Some(row), Some(sizes)) = (stated_row(input), sizes) else { return false };
            let mut pairs = row.iter().zip(sizes);
            row.len() == sizes.len()
                && pairs.any(|(number, size)| {
                    number.is_some_and(|number| size.as_inline().is_some_and(|size| size != number))
                })
        };
        if self.model.backend != Backend::Cpu || !graph.input.iter().skip(2).zip(carried).any(differs) {
            return Ok(());
        }
        let message = "Loop: its body declares other numbers for carried values than these have";
        self.failed(step, KernelError::Unsupported(message.to_owned()))
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
        self.failed(step, KernelError::invalid(signature::S2, message))
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
