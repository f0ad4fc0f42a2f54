//! From training IR to ATen: operators that write become operators that return what the others write. Writes through
//! views reach all that shares the memory; what is written of parameters, buffers and inputs becomes an output, before
//! the program's own.
//!
//! Which arguments are written and which results share memory is read from schemas (`Tensor(a!)`, `Tensor(a)`), and so
//! are the functional forms of operators that write and the operators that put a view back.
//!
//! Source: torch 2.15, `torch/export/exported_program.py` (`run_decompositions`),
//! `aten/src/ATen/FunctionalTensorWrapper.cpp` and `aten/src/ATen/FunctionalInverses.cpp`.
mod aliases;
mod calls;
mod emitter;
mod frame;
mod functional;
mod inverse;
mod silent;
mod step;
mod wrap;

use super::derive;
use super::error::PassError;
use super::purity::writes;
use super::rewrite::{rename_results, with_graph};
use aliases::Aliases;
use emitter::{Emitter, Shapes};
use frame::{Frame, Functionalizer, Slot};
use sizewise_check::records::Records;
use sizewise_check::spec::Contract;
use sizewise_ir::{Argument, Dialect, Graph, GraphInput, InputSpec, Meta, OutputSpec, Program, Signature};
use sizewise_kernels::Operators;
use std::borrow::Cow;

const NAME: &str = "functionalize";

/// Where a graph returns the inputs that it writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before its results.
    Before,
    /// Behind its results.
    Behind,
}

/// A functional graph.
struct Rewritten {
    graph: Graph,
    /// The inputs that it writes, by place, and what is recorded of their new values.
    written: Vec<(usize, Meta)>,
}

/// The functional form of a training program that writes tensors; any other program as it is, and one that has no
/// functional form.
pub fn without_writes<'p>(program: &'p Program, operators: &Operators) -> Cow<'p, Program> {
    let functional = match program.dialect == Dialect::Training && writes(&program.graph) {
        true => functionalize(program, operators).ok(),
        false => None,
    };
    functional.map_or(Cow::Borrowed(program), Cow::Owned)
}

/// The functional form of a program: of the ATen dialect, with an output for each state and input that it writes.
///
/// # Errors
/// When an operator writes and no functional form is known, or a view that is written cannot be put back: all that is
/// left is named.
pub fn functionalize(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    let contract = Contract::load(program).map_err(|error| PassError::failed(NAME, error.to_string()))?;
    let env = contract.assumed().env.clone();
    let records = Records::new(program);
    let mut shapes = Shapes { operators, env, records, exprs: program.exprs.clone(), nodes: 0 };
    let made = rewrite(&mut shapes, &program.graph, Place::Before)?;
    let mut outputs = Vec::with_capacity(made.written.len() + program.signature.outputs.len());
    for (at, _) in &made.written {
        outputs.push(mutation(program, *at)?);
    }
    outputs.extend(program.signature.outputs.iter().cloned());
    let user_outputs = made.graph.outputs().iter().zip(&outputs);
    let user_outputs: Vec<Argument> = user_outputs
        .filter(|(_, spec)| spec.is_user_output())
        .map(|(argument, _)| argument.clone())
        .collect();
    let mut functional = with_graph(program, made.graph);
    functional.signature = Signature { inputs: program.signature.inputs.clone(), outputs };
    functional.dialect = Dialect::Aten;
    functional.exprs = shapes.exprs;
    rename_results(&mut functional, &user_outputs);
    Ok(functional)
}

pub(super) fn run(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    if program.dialect != Dialect::Training {
        return Ok(program.clone());
    }
    let functional = functionalize(program, operators)?;
    // Strides of what follows an operator whose result lies otherwise in memory than what was written.
    Ok(derive::run(&functional, operators).unwrap_or(functional))
}

/// What an output is that is the new value of an input.
fn mutation(program: &Program, at: usize) -> Result<OutputSpec, PassError> {
    match program.signature.inputs.get(at) {
        Some(InputSpec::Parameter { fqn, .. }) => Ok(OutputSpec::ParameterMutation { fqn: fqn.clone() }),
        Some(InputSpec::Buffer { fqn, .. }) => Ok(OutputSpec::BufferMutation { fqn: fqn.clone() }),
        Some(InputSpec::User { value: Some(value) }) => {
            Ok(OutputSpec::UserInputMutation { input: program.graph.name(*value).clone() })
        }
        Some(InputSpec::TensorConstant { fqn, .. }) => {
            Err(PassError::left(NAME, [format!("the constant `{fqn}` is written")]))
        }
        _ => Err(PassError::left(NAME, ["an input that is no tensor is written".to_owned()])),
    }
}

/// The functional form of a graph.
fn rewrite(shapes: &mut Shapes<'_>, graph: &Graph, place: Place) -> Result<Rewritten, PassError> {
    let mut emitter = Emitter::new(shapes, graph);
    let mut aliases = Aliases::default();
    let mut frame = Frame::new(graph, true);
    let mut inputs = Vec::with_capacity(graph.inputs().len());
    for input in graph.inputs() {
        let GraphInput::Value(value) = input else {
            if let GraphInput::Constant(constant) = input {
                emitter.constant_input(constant.clone());
            }
            inputs.push(None);
            continue;
        };
        let meta = graph.meta(*value).clone();
        let is_tensor = matches!(meta, Meta::Tensor(_));
        let new = emitter.input(graph.name(*value).clone(), meta)?;
        let tensor = is_tensor.then(|| aliases.own(new));
        frame.set(*value, tensor.map_or(Slot::Other(super::rewrite::New::Value(new)), Slot::Tensor));
        inputs.push(tensor);
    }
    let mut this = Functionalizer { emitter, aliases, inputs };
    let mut left: Vec<String> = Vec::new();
    for node in graph.nodes() {
        match this.node(&mut frame, node) {
            Ok(()) => {}
            Err(PassError::Left { operators, .. }) => {
                left.extend(operators);
                // On with the call as it stands, to name all that is left.
                this.plain(&mut frame, node)?;
            }
            Err(error) => return Err(error),
        }
    }
    if !left.is_empty() {
        return Err(PassError::left(NAME, left));
    }
    let results = this.outputs(&frame)?;
    let mut written = Vec::new();
    let mut values = Vec::new();
    for (at, tensor) in this.inputs.clone().into_iter().enumerate() {
        let Some(tensor) = tensor.filter(|tensor| this.aliases.writes(*tensor) > 0) else { continue };
        let value = this.aliases.value(tensor, &mut this.emitter)?;
        written.push((at, this.emitter.meta(value).clone()));
        values.push(Argument::Tensor(value));
    }
    let single = graph.single_tensor_return() && written.is_empty();
    let outputs = match place {
        Place::Before => [values, results].concat(),
        Place::Behind => [results, values].concat(),
    };
    Ok(Rewritten { graph: this.emitter.finish(outputs, single), written })
}
