//! Models and their functions.

use indexmap::IndexSet;
use prost::Message;
use rustc_hash::{FxHashMap, FxHashSet};

use super::autocast;
use super::body::{Body, LOCAL};
use super::items::value_inputs;
use super::metadata;
use super::rename::rename;
use super::types::Types;
use super::weights::{External, initialisers};
use crate::OnnxError;
use sizewise_ir::pt2::Weights;
use sizewise_ir::{Argument, Functions, Program};
use sizewise_onnx_model::read::message::{
    FunctionProto, GraphProto, ModelProto, OperatorSetIdProto, ValueInfoProto,
};

/// The version of the file format: the first whose nodes have metadata and whose functions have `value_info`.
const IR_VERSION: i64 = 10;
/// The version of ONNX's own operators.
const OPSET_VERSION: i64 = 21;

/// How a model is written.
#[derive(Debug, Clone, Default)]
pub struct Options<'w> {
    /// The values of parameters, buffers and constants; those that are not there are inputs of the model.
    pub weights: Option<&'w Weights>,
    /// The name of the file beside the model that is to hold these values. Without one they are in the model as long
    /// as they fit: up to [`INLINE_BYTES`](crate::INLINE_BYTES).
    pub external: Option<String>,
    /// What to call the inputs, in their order; later ones keep their names.
    pub input_names: Vec<String>,
    /// What to call the outputs, in their order.
    pub output_names: Vec<String>,
    /// Conditions on sizes under which the program runs, to be stated beside those that it records.
    pub needed: Vec<String>,
}

/// A model that was written.
#[derive(Debug, Clone)]
pub struct Written {
    /// The model.
    pub model: ModelProto,
    /// What the file of external data is to hold; empty when there is none.
    pub external: Vec<u8>,
    /// The operators that have no counterpart and stand in the domain of their namespace, in order of appearance.
    pub left: Vec<String>,
}

/// The bytes of the ONNX model of a program, without weights.
///
/// # Errors
/// When a value has a dtype that ONNX does not know, or nothing is recorded of an input.
pub fn write(program: &Program) -> Result<Vec<u8>, OnnxError> {
    Ok(model(program, &Options::default())?.model.encode_to_vec())
}

/// The ONNX model of a program. What writes tensors has no counterpart: make the program functional first.
///
/// ```
/// use sizewise_ir::text;
/// use sizewise_onnx_write::{Options, model};
///
/// let program = text::read(
///     "class M(torch.nn.Module):
///     def forward(self, x: \"f32[s0, 3]\"):
///         y: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)
///         return (y,)
/// ",
/// )?;
/// let written = model(&program, &Options::default())?;
/// assert!(written.left.is_empty());
/// assert_eq!(written.model.graph.unwrap().node[0].op_type, "Relu");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`write()`], when weights do not fit the model and no file is named for them, and when names do not fit.
pub fn model(program: &Program, options: &Options<'_>) -> Result<Written, OnnxError> {
    let functions = Functions::new(program);
    let mut regions = autocast::regions(&program.graph, &functions);
    let identifiers = identifiers(&functions);
    let mut types = Types::new(&program.exprs);
    let (mut domains, mut left) = (IndexSet::new(), IndexSet::new());
    let mut written = Vec::new();
    let mut main = GraphProto::default();
    let mut external = External::new(options.external.clone());
    for function in functions.iter() {
        let around = regions.remove(&function.name).unwrap_or_default();
        let mut body = Body::new(function.graph, &functions, &mut types, around);
        body.write()?;
        let inputs = value_inputs(function.graph);
        let mut input = Vec::with_capacity(inputs.len());
        for &id in &inputs {
            let name = function.graph.name(id);
            // A function takes what it never uses as it comes.
            input.push(match function.scope.is_empty() {
                true => body.types.info(name, function.graph.meta(id))?,
                false => ValueInfoProto { name: name.to_string(), ..Default::default() },
            });
        }
        domains.extend(body.domains.iter().cloned());
        left.extend(body.left.iter().cloned());
        if function.scope.is_empty() {
            main = graph(body, &function.name, input);
            let weights = options.weights.map(|weights| initialisers(program, weights, &mut external));
            main.initializer = weights.transpose()?.unwrap_or_default();
            let kept: FxHashSet<String> =
                main.initializer.iter().map(|tensor| tensor.name.to_owned()).collect();
            main.input.retain(|info| !kept.contains(&info.name));
        } else {
            written.push(FunctionProto {
                name: function.name.clone(),
                input: input.into_iter().map(|info| info.name).collect(),
                output: body.outputs.iter().map(|(_, info)| info.name.clone()).collect(),
                node: body.nodes,
                doc_string: function.scope.clone(),
                opset_import: imports(&body.domains),
                domain: LOCAL.to_owned(),
                value_info: body.infos,
                metadata_props: metadata::of_function(identifiers.get(&function.name).copied()),
                ..FunctionProto::default()
            });
        }
    }
    rename(&mut main, &options.input_names, &options.output_names)?;
    if !written.is_empty() {
        domains.insert(LOCAL.to_owned());
    }
    let model = ModelProto {
        ir_version: IR_VERSION,
        producer_name: "sizewise".to_owned(),
        producer_version: env!("CARGO_PKG_VERSION").to_owned(),
        graph: Some(main),
        opset_import: imports(&domains),
        metadata_props: metadata::of_program(program, &options.needed),
        functions: written,
    };
    Ok(Written { model, external: external.bytes, left: left.into_iter().collect() })
}

/// The identifiers by which `invoke_subgraph` names graphs, by function.
fn identifiers<'p>(functions: &Functions<'p>) -> FxHashMap<String, &'p str> {
    let mut identifiers = FxHashMap::default();
    for node in functions.iter().flat_map(|function| function.graph.nodes()) {
        if node.target.higher_order() != Some("invoke_subgraph") {
            continue;
        }
        let named = node.inputs.iter().find_map(|input| match &input.arg {
            Argument::Str(text) => Some(&**text),
            _ => None,
        });
        let function = node.subgraphs().first().and_then(|inner| functions.of(inner));
        if let (Some(name), Some(function)) = (named, function) {
            identifiers.insert(function.name.clone(), name);
        }
    }
    identifiers
}

fn graph(body: Body<'_, '_>, name: &str, input: Vec<ValueInfoProto>) -> GraphProto {
    let outputs = body.outputs.iter().map(|(_, info)| info);
    let ends: FxHashSet<&str> = input.iter().chain(outputs).map(|info| info.name.as_str()).collect();
    let value_info = body.infos.into_iter().filter(|info| !ends.contains(info.name.as_str())).collect();
    let output = body.outputs.iter().map(|(_, info)| info.clone()).collect();
    GraphProto { node: body.nodes, name: name.to_owned(), output, value_info, input, ..GraphProto::default() }
}

fn imports(domains: &IndexSet<String>) -> Vec<OperatorSetIdProto> {
    let own = OperatorSetIdProto { domain: String::new(), version: OPSET_VERSION };
    let others = domains
        .iter()
        .filter(|domain| !domain.is_empty())
        .map(|domain| OperatorSetIdProto { domain: domain.clone(), version: 1 });
    std::iter::once(own).chain(others).collect()
}
