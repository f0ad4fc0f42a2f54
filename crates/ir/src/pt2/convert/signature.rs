//! The signature: that it fits the graph, entry for entry.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::json::{
    self, Argument as Json, ConstantValue, Double, InputSpec as JsonInput, Int, OutputSpec as JsonOutput,
};
use crate::constant::Constant;
use crate::error::{ReadError, ReadErrorKind, ReadResult};
use crate::graph::Argument;
use crate::graph::{Graph, GraphInput, ValueId};
use crate::signature::{InputSpec, OutputSpec, Signature};

/// The inputs that are tokens, of which the graph records nothing.
pub(super) fn token_names(signature: &json::GraphSignature<'_>) -> FxHashSet<String> {
    let token = |spec: &JsonInput<'_>| match spec {
        JsonInput::Token(token) => Some(token.arg.name.to_string()),
        _ => None,
    };
    signature.input_specs.iter().filter_map(token).collect()
}

/// Builds the signature.
pub(super) fn convert(signature: &json::GraphSignature<'_>, graph: &Graph) -> ReadResult<Signature> {
    same_count(signature.input_specs.len(), graph.inputs().len(), "input")?;
    same_count(signature.output_specs.len(), graph.outputs().len(), "output")?;
    let inputs =
        signature.input_specs.iter().zip(graph.inputs()).enumerate().map(|(index, (spec, input))| {
            input_spec(spec, input, graph).map_err(|error| error.under(|| format!("input_specs[{index}]")))
        });
    let outputs =
        signature.output_specs.iter().zip(graph.outputs()).enumerate().map(|(index, (spec, output))| {
            output_spec(spec, output, graph).map_err(|error| error.under(|| format!("output_specs[{index}]")))
        });
    Ok(Signature { inputs: inputs.collect::<ReadResult<_>>()?, outputs: outputs.collect::<ReadResult<_>>()? })
}

fn signature_error(message: String) -> ReadError {
    ReadError::new(ReadErrorKind::Signature, message)
}

fn same_count(specs: usize, graph: usize, what: &str) -> ReadResult<()> {
    if specs == graph {
        return Ok(());
    }
    Err(signature_error(format!("the signature has {specs} {what}s but the graph {graph}; expected as many")))
}

/// The value that a specification names, which must be the graph's value at that place.
fn same_value(name: &str, value: Option<ValueId>, graph: &Graph) -> ReadResult<ValueId> {
    match value {
        Some(value) if **graph.name(value) == *name => Ok(value),
        Some(value) => {
            let found = graph.name(value);
            Err(signature_error(format!("the signature names `{name}` where the graph has `{found}`")))
        }
        None => Err(signature_error(format!("the signature names `{name}` where the graph has a constant"))),
    }
}

fn argument_name<'a>(argument: &'a Json<'_>) -> Option<&'a str> {
    match argument {
        Json::Tensor(tensor) => Some(&tensor.name),
        Json::SymInt(json::SymIntArgument::Name(name))
        | Json::SymFloat(json::SymFloatArgument::Name(name))
        | Json::SymBool(json::SymBoolArgument::Name(name)) => Some(name),
        Json::CustomObj(object) => Some(&object.name),
        _ => None,
    }
}

fn input_spec(spec: &JsonInput<'_>, input: &GraphInput, graph: &Graph) -> ReadResult<InputSpec> {
    let at = match input {
        GraphInput::Value(value) => Some(*value),
        GraphInput::Constant(_) => None,
    };
    let value = |name: &str| same_value(name, at, graph);
    let text = |text: &json::Text<'_>| -> Arc<str> { Arc::from(&**text) };
    Ok(match spec {
        JsonInput::User(spec) => InputSpec::User {
            value: match argument_name(&spec.arg) {
                Some(name) => Some(value(name)?),
                None => at,
            },
        },
        JsonInput::Parameter(spec) => {
            InputSpec::Parameter { value: value(&spec.arg.name)?, fqn: text(&spec.parameter_name) }
        }
        JsonInput::Buffer(spec) => InputSpec::Buffer {
            value: value(&spec.arg.name)?,
            fqn: text(&spec.buffer_name),
            persistent: spec.persistent,
        },
        JsonInput::TensorConstant(spec) => {
            InputSpec::TensorConstant { value: value(&spec.arg.name)?, fqn: text(&spec.tensor_constant_name) }
        }
        JsonInput::CustomObj(spec) => {
            InputSpec::CustomObj { value: value(&spec.arg.name)?, fqn: text(&spec.custom_obj_name) }
        }
        JsonInput::Token(spec) => InputSpec::Token { name: text(&spec.arg.name) },
        JsonInput::Constant(spec) => {
            if let Some(value) = at {
                let message = format!(
                    "the signature has the constant `{}` where the graph has the value `{}`",
                    &*spec.name,
                    graph.name(value)
                );
                return Err(signature_error(message));
            }
            InputSpec::Constant { name: text(&spec.name), value: constant(&spec.value) }
        }
    })
}

fn constant(value: &ConstantValue<'_>) -> Constant {
    match value {
        ConstantValue::None(_) => Constant::None,
        ConstantValue::Int(Int(value)) => Constant::Int(*value),
        ConstantValue::Float(Double(value)) => Constant::Float(*value),
        ConstantValue::Str(text) => Constant::Str(Arc::from(&**text)),
        ConstantValue::Bool(value) => Constant::Bool(*value),
    }
}

fn output_spec(spec: &JsonOutput<'_>, output: &Argument, graph: &Graph) -> ReadResult<OutputSpec> {
    let check = |name: &str| same_value(name, output.value(), graph).map(drop);
    let text = |text: &json::Text<'_>| -> Arc<str> { Arc::from(&**text) };
    Ok(match spec {
        JsonOutput::User(spec) => {
            if let Some(name) = argument_name(&spec.arg) {
                check(name)?;
            }
            OutputSpec::User
        }
        JsonOutput::Loss(spec) => {
            check(&spec.arg.name)?;
            OutputSpec::Loss
        }
        JsonOutput::BufferMutation(spec) => {
            check(&spec.arg.name)?;
            OutputSpec::BufferMutation { fqn: text(&spec.buffer_name) }
        }
        JsonOutput::ParameterMutation(spec) => {
            check(&spec.arg.name)?;
            OutputSpec::ParameterMutation { fqn: text(&spec.parameter_name) }
        }
        JsonOutput::GradientToParameter(spec) => {
            check(&spec.arg.name)?;
            OutputSpec::GradientToParameter { fqn: text(&spec.parameter_name) }
        }
        JsonOutput::GradientToUserInput(spec) => {
            check(&spec.arg.name)?;
            OutputSpec::GradientToUserInput { input: text(&spec.user_input_name) }
        }
        JsonOutput::UserInputMutation(spec) => {
            check(&spec.arg.name)?;
            OutputSpec::UserInputMutation { input: text(&spec.user_input_name) }
        }
        JsonOutput::Token(spec) => OutputSpec::Token { name: text(&spec.arg.name) },
    })
}
