//! The outline of a document: its names as they are written.

use super::json::{self, Argument as Json, InputSpec as JsonInput, OutputSpec as JsonOutput};
use crate::outline::{
    GraphOutline, InputKind, InputOutline, ModuleOutline, Outline, OutlineStep, OutputKind, OutputOutline,
    SignatureOutline, State, StepKind, ValueKind,
};

type Text<'a> = json::Text<'a>;

/// The outline of a program.
pub(super) fn outline(document: &json::ExportedProgram<'_>, state: Option<State>) -> Outline {
    let module = &document.graph_module;
    Outline {
        graph: graph(&module.graph),
        signature: Some(SignatureOutline {
            inputs: module.signature.input_specs.iter().map(input_spec).collect(),
            outputs: module.signature.output_specs.iter().map(output_spec).collect(),
        }),
        modules: module.module_call_graph.iter().map(module_call).collect(),
        schema_version: Some((document.schema_version.major.0, document.schema_version.minor.0)),
        state,
    }
}

fn graph(graph: &json::Graph<'_>) -> GraphOutline {
    let mut outline = GraphOutline::default();
    fn record<V>(outline: &mut GraphOutline, values: &json::Ordered<'_, V>, kind: ValueKind) {
        outline.recorded.extend(values.0.iter().map(|(name, _)| (name.to_string(), kind)));
    }
    record(&mut outline, &graph.tensor_values, ValueKind::Tensor);
    record(&mut outline, &graph.sym_int_values, ValueKind::SymInt);
    record(&mut outline, &graph.sym_float_values, ValueKind::SymFloat);
    record(&mut outline, &graph.sym_bool_values, ValueKind::SymBool);
    record(&mut outline, &graph.custom_obj_values, ValueKind::CustomObj);
    for (index, input) in graph.inputs.iter().enumerate() {
        let makes = values(input);
        let name = makes.first().map_or_else(|| format!("input_{index}"), |(name, _)| name.clone());
        outline.steps.push(OutlineStep {
            name,
            named: true,
            kind: StepKind::Input,
            uses: Vec::new(),
            makes,
            subgraphs: Vec::new(),
        });
    }
    outline.steps.extend(graph.nodes.iter().enumerate().map(|(index, node)| call(node, index)));
    let mut output = OutlineStep {
        name: "output".to_owned(),
        named: true,
        kind: StepKind::Output,
        uses: Vec::new(),
        makes: Vec::new(),
        subgraphs: Vec::new(),
    };
    for argument in &graph.outputs {
        uses(argument, &mut output);
        let single = (!matches!(argument, Json::Tensors(_) | Json::OptionalTensors(_)))
            .then(|| values(argument).pop().map(|(name, _)| name));
        outline.returns.push(single.flatten());
    }
    outline.steps.push(output);
    outline
}

fn call(node: &json::Node<'_>, index: usize) -> OutlineStep {
    let makes: Vec<(String, ValueKind)> = node.outputs.iter().flat_map(values).collect();
    let name = match (&node.name, makes.first()) {
        (Some(name), _) => name.to_string(),
        (None, Some((name, _))) => name.clone(),
        (None, None) => format!("node_{index}"),
    };
    let mut step = OutlineStep {
        name,
        named: node.name.is_some(),
        kind: StepKind::Call,
        uses: Vec::new(),
        makes,
        subgraphs: Vec::new(),
    };
    for input in &node.inputs {
        uses(&input.arg, &mut step);
    }
    step
}

/// The values that an argument names.
fn values(argument: &Json<'_>) -> Vec<(String, ValueKind)> {
    let one = |name: &Text<'_>, kind| vec![(name.to_string(), kind)];
    let tensors = |names: &mut dyn Iterator<Item = &Text<'_>>| {
        names.map(|name| (name.to_string(), ValueKind::Tensor)).collect()
    };
    match argument {
        Json::Tensor(tensor) | Json::OptionalTensor(json::OptionalTensorArgument::Tensor(tensor)) => {
            one(&tensor.name, ValueKind::Tensor)
        }
        Json::Tensors(list) => tensors(&mut list.iter().map(|tensor| &tensor.name)),
        Json::NestedTensors(lists) => tensors(&mut lists.iter().flatten().map(|tensor| &tensor.name)),
        Json::OptionalTensors(list) => tensors(&mut list.iter().filter_map(|tensor| match tensor {
            json::OptionalTensorArgument::Tensor(tensor) => Some(&tensor.name),
            json::OptionalTensorArgument::None(_) => None,
        })),
        Json::SymInt(json::SymIntArgument::Name(name)) => one(name, ValueKind::SymInt),
        Json::SymFloat(json::SymFloatArgument::Name(name)) => one(name, ValueKind::SymFloat),
        Json::SymBool(json::SymBoolArgument::Name(name)) => one(name, ValueKind::SymBool),
        Json::SymInts(list) => list
            .iter()
            .filter_map(|operand| match operand {
                json::SymIntArgument::Name(name) => Some((name.to_string(), ValueKind::SymInt)),
                json::SymIntArgument::Int(_) => None,
            })
            .collect(),
        Json::SymFloats(list) => list
            .iter()
            .filter_map(|operand| match operand {
                json::SymFloatArgument::Name(name) => Some((name.to_string(), ValueKind::SymFloat)),
                json::SymFloatArgument::Float(_) => None,
            })
            .collect(),
        Json::SymBools(list) => list
            .iter()
            .filter_map(|operand| match operand {
                json::SymBoolArgument::Name(name) => Some((name.to_string(), ValueKind::SymBool)),
                json::SymBoolArgument::Bool(_) => None,
            })
            .collect(),
        Json::CustomObj(object) => one(&object.name, ValueKind::CustomObj),
        _ => Vec::new(),
    }
}

fn uses(argument: &Json<'_>, step: &mut OutlineStep) {
    match argument {
        Json::Graph(subgraph) => {
            step.subgraphs.push((subgraph.name.to_string(), graph(&subgraph.graph)));
        }
        Json::Map(map) => {
            // Dictionaries nest no deeper than the JSON reader allows.
            for (_, value) in &map.0 {
                uses(value, step);
            }
        }
        other => step.uses.extend(values(other).into_iter().map(|(name, _)| name)),
    }
}

fn only(argument: &Json<'_>) -> Option<String> {
    values(argument).pop().map(|(name, _)| name)
}

fn input_spec(spec: &JsonInput<'_>) -> InputOutline {
    let entry = |kind, name: &Text<'_>, target: Option<&Text<'_>>| InputOutline {
        kind,
        name: Some(name.to_string()),
        target: target.map(|target| target.to_string()),
    };
    match spec {
        JsonInput::User(spec) => InputOutline { kind: InputKind::User, name: only(&spec.arg), target: None },
        JsonInput::Parameter(spec) => entry(InputKind::Parameter, &spec.arg.name, Some(&spec.parameter_name)),
        JsonInput::Buffer(spec) => {
            let kind = InputKind::Buffer { persistent: spec.persistent };
            entry(kind, &spec.arg.name, Some(&spec.buffer_name))
        }
        JsonInput::TensorConstant(spec) => {
            entry(InputKind::TensorConstant, &spec.arg.name, Some(&spec.tensor_constant_name))
        }
        JsonInput::CustomObj(spec) => {
            entry(InputKind::CustomObj, &spec.arg.name, Some(&spec.custom_obj_name))
        }
        JsonInput::Token(spec) => entry(InputKind::Token, &spec.arg.name, None),
        JsonInput::Constant(spec) => {
            InputOutline { kind: InputKind::Constant, name: None, target: Some(spec.name.to_string()) }
        }
    }
}

fn output_spec(spec: &JsonOutput<'_>) -> OutputOutline {
    let entry = |kind, name: &Text<'_>, target: Option<&Text<'_>>| OutputOutline {
        kind,
        name: Some(name.to_string()),
        target: target.map(|target| target.to_string()),
    };
    match spec {
        JsonOutput::User(spec) => {
            OutputOutline { kind: OutputKind::User, name: only(&spec.arg), target: None }
        }
        JsonOutput::Loss(spec) => entry(OutputKind::Loss, &spec.arg.name, None),
        JsonOutput::BufferMutation(spec) => {
            entry(OutputKind::BufferMutation, &spec.arg.name, Some(&spec.buffer_name))
        }
        JsonOutput::ParameterMutation(spec) => {
            entry(OutputKind::ParameterMutation, &spec.arg.name, Some(&spec.parameter_name))
        }
        JsonOutput::GradientToParameter(spec) => {
            entry(OutputKind::GradientToParameter, &spec.arg.name, Some(&spec.parameter_name))
        }
        JsonOutput::GradientToUserInput(spec) => {
            entry(OutputKind::GradientToUserInput, &spec.arg.name, Some(&spec.user_input_name))
        }
        JsonOutput::UserInputMutation(spec) => {
            entry(OutputKind::UserInputMutation, &spec.arg.name, Some(&spec.user_input_name))
        }
        JsonOutput::Token(spec) => entry(OutputKind::Token, &spec.arg.name, None),
    }
}

fn module_call(entry: &json::ModuleCallEntry<'_>) -> ModuleOutline {
    let signature = entry.signature.iter();
    let arguments = signature.flat_map(|signature| signature.inputs.iter().chain(&signature.outputs));
    let values = arguments.flat_map(values).map(|(name, _)| name).collect();
    ModuleOutline { fqn: entry.fqn.to_string(), values }
}
