//! Programs, signatures and the calls of modules as the schema has them.

use super::WriteError;
use super::emit::{Json, array, object, optional, optional_int, string, tagged};
use super::graph::{GraphWriter, constant};
use crate::outline::ValueKind;
use crate::program::CallValue;
use crate::pytree::NamedTupleFields;
use crate::{Constant, Dialect, InputSpec, ModuleCall, OutputSpec, Program};

/// The whole document.
pub(super) fn document(program: &Program) -> Result<Json, WriteError> {
    let graph = GraphWriter { graph: &program.graph, exprs: &program.exprs };
    let ranges = program.range_constraints.iter().map(|(key, bounds)| {
        let range = object([("min_val", optional_int(bounds.min)), ("max_val", optional_int(bounds.max))]);
        (key, range)
    });
    let verifier = match program.dialect {
        Dialect::Training => "TRAINING",
        Dialect::Aten => "ATEN",
        Dialect::Edge => "EDGE",
    };
    let (major, minor) = program.schema_version;
    let mut fields = NamedTupleFields::new();
    let calls = program.module_calls.iter().map(|call| module_call(call, &mut fields));
    let calls = calls.collect::<Result<Vec<_>, _>>()?;
    let tuples = fields.iter().map(|(class, names)| {
        let names = array(names.iter().map(|name| string(name)));
        (class, object([("field_names", names)]))
    });
    let module = object([
        ("graph", graph.write()?),
        ("signature", signature(program, &graph)?),
        ("module_call_graph", array(calls)),
        ("metadata", object(program.metadata.iter().map(|(key, text)| (key, string(text))))),
        ("treespec_namedtuple_fields", object(tuples)),
    ]);
    Ok(object([
        ("graph_module", module),
        ("opset_version", object(program.opset_version.iter().map(|(name, n)| (name, n.to_string())))),
        ("range_constraints", object(ranges)),
        ("schema_version", object([("major", major.to_string()), ("minor", minor.to_string())])),
        ("verifiers", array([string(verifier)])),
        ("torch_version", string(&program.torch_version)),
        ("guards_code", array(program.guards_code.iter().map(|guard| string(guard)))),
    ]))
}

fn signature(program: &Program, graph: &GraphWriter<'_>) -> Result<Json, WriteError> {
    let name = |value: &crate::ValueId| object([("name", string(graph.graph.name(*value)))]);
    let lifted = |tag: &str, field: &str, value, fqn: &str| {
        tagged(tag, object([("arg", name(value)), (field, string(fqn))]))
    };
    let inputs =
        program.signature.inputs.iter().zip(program.graph.inputs()).map(|(spec, input)| match spec {
            InputSpec::User { value } => {
                let arg = match (value, input) {
                    (Some(value), _) => graph.value(*value),
                    (None, crate::GraphInput::Constant(value)) => constant(value),
                    (None, crate::GraphInput::Value(value)) => graph.value(*value),
                };
                tagged("user_input", object([("arg", arg)]))
            }
            InputSpec::Parameter { value, fqn } => lifted("parameter", "parameter_name", value, fqn),
            InputSpec::Buffer { value, fqn, persistent } => {
                let fields = [
                    ("arg", name(value)),
                    ("buffer_name", string(fqn)),
                    ("persistent", persistent.to_string()),
                ];
                tagged("buffer", object(fields))
            }
            InputSpec::TensorConstant { value, fqn } => {
                lifted("tensor_constant", "tensor_constant_name", value, fqn)
            }
            InputSpec::CustomObj { value, fqn } => {
                let class = match graph.graph.meta(*value) {
                    crate::Meta::CustomObj(class) => class.to_string(),
                    _ => String::new(),
                };
                let arg = object([("name", string(graph.graph.name(*value))), ("class_fqn", string(&class))]);
                tagged("custom_obj", object([("arg", arg), ("custom_obj_name", string(fqn))]))
            }
            InputSpec::Token { name } => tagged("token", object([("arg", object([("name", string(name))]))])),
            InputSpec::Constant { name, value } => {
                tagged("constant_input", object([("name", string(name)), ("value", constant(value))]))
            }
        });
    let inputs = array(inputs);
    let mut outputs = Vec::with_capacity(program.signature.outputs.len());
    for (spec, output) in program.signature.outputs.iter().zip(program.graph.outputs()) {
        let plain = object([("name", string(output.value().map_or("", |value| graph.graph.name(value))))]);
        let with = |tag: &str, field: &str, target: &str| {
            tagged(tag, object([("arg", plain.clone()), (field, string(target))]))
        };
        outputs.push(match spec {
            OutputSpec::User => tagged("user_output", object([("arg", graph.argument(output)?)])),
            OutputSpec::Loss => tagged("loss_output", object([("arg", plain)])),
            OutputSpec::BufferMutation { fqn } => with("buffer_mutation", "buffer_name", fqn),
            OutputSpec::ParameterMutation { fqn } => with("parameter_mutation", "parameter_name", fqn),
            OutputSpec::GradientToParameter { fqn } => with("gradient_to_parameter", "parameter_name", fqn),
            OutputSpec::GradientToUserInput { input } => {
                with("gradient_to_user_input", "user_input_name", input)
            }
            OutputSpec::UserInputMutation { input } => with("user_input_mutation", "user_input_name", input),
            OutputSpec::Token { name } => {
                tagged("token", object([("arg", object([("name", string(name))]))]))
            }
        });
    }
    Ok(object([("input_specs", inputs), ("output_specs", array(outputs))]))
}

fn call_value(value: &CallValue, fqn: &str) -> Result<Json, WriteError> {
    Ok(match value {
        CallValue::Named { name, kind } => {
            let reference = |tag: &str| tagged(tag, tagged("as_name", string(name)));
            match kind {
                ValueKind::SymInt => reference("as_sym_int"),
                ValueKind::SymFloat => reference("as_sym_float"),
                ValueKind::SymBool => reference("as_sym_bool"),
                ValueKind::Tensor | ValueKind::CustomObj | ValueKind::Unknown => {
                    tagged("as_tensor", object([("name", string(name))]))
                }
            }
        }
        CallValue::Object { name, class } => {
            tagged("as_custom_obj", object([("name", string(name)), ("class_fqn", string(class))]))
        }
        CallValue::Constant(Constant::None) => constant(&Constant::None),
        CallValue::Constant(value) => constant(value),
        CallValue::Other => {
            let message = "an argument of its call is neither a value nor a constant";
            return Err(WriteError::new(format!("module `{fqn}`"), message));
        }
    })
}

fn module_call(call: &ModuleCall, fields: &mut NamedTupleFields) -> Result<Json, WriteError> {
    let Some(signature) = &call.signature else {
        return Ok(object([("fqn", string(&call.fqn)), ("signature", "null".to_owned())]));
    };
    signature.in_spec.named_tuples(fields);
    signature.out_spec.named_tuples(fields);
    let values = |list: &[CallValue]| -> Result<Json, WriteError> {
        Ok(array(list.iter().map(|value| call_value(value, &call.fqn)).collect::<Result<Vec<_>, _>>()?))
    };
    let names = match &signature.forward_arg_names {
        Some(names) => array(names.iter().map(|name| optional(Some(name)))),
        None => "null".to_owned(),
    };
    let signature = object([
        ("inputs", values(&signature.inputs)?),
        ("outputs", values(&signature.outputs)?),
        ("in_spec", string(&signature.in_spec.to_json())),
        ("out_spec", string(&signature.out_spec.to_json())),
        ("forward_arg_names", names),
    ]);
    Ok(object([("fqn", string(&call.fqn)), ("signature", signature)]))
}
