//! Reads ONNX models.
//!
//! Names are scoped as the specification says: the values of a graph are those of its inputs, initializers and nodes,
//! and graphs within see those of the graphs around them. What is read is checked for what the walk relies on;
//! everything else the walk finds out.
mod links;
mod loaded;
pub mod message;
mod names;
mod needed;
mod order;
mod scope;
mod tensor;

pub use crate::text::is_text;
pub use links::{Links, Operator};
pub use loaded::{Loaded, Row};
pub use message::graphs_of;
pub use needed::Needed;
pub use scope::names_before;
pub use tensor::{attribute, sparse, tensor};

use crate::text;
use loaded::Loading;
use message::{Dimension, FunctionProto, GraphProto, ModelProto, OperatorSetIdProto, TypeValue};
use prost::Message;
use prost::bytes::Bytes;
use rustc_hash::FxHashMap;
use sizewise_ir::other_file;
use sizewise_kernels::Backend;
use std::sync::OnceLock;

/// Why a file is no model that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ReadError {
    /// The node, value or field.
    pub place: String,
    /// What is wrong. No full stop at the end.
    pub message: String,
}

/// An error at a place. No full stop at the end of the message.
pub fn wrong(place: impl Into<String>, message: impl Into<String>) -> ReadError {
    ReadError { place: place.into(), message: message.into() }
}

/// Versions of domains.
pub type Imports = FxHashMap<String, i64>;

/// The key under which the conditions stand in `metadata_props`, one a line.
pub const CONDITIONS: &str = "sizewise.conditions";

/// A model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Its graph, nodes in an order in which values are made before they are used.
    pub graph: GraphProto,
    /// The numbers of its values.
    pub links: Links,
    /// The version of each domain.
    pub imports: Imports,
    /// The functions that it brings.
    pub functions: Vec<Function>,
    /// The version of the format.
    pub ir_version: i64,
    /// What wrote it; empty if it does not say.
    pub producer: String,
    /// The conditions that it states for itself in `metadata_props`.
    pub conditions: Vec<String>,
    /// The backend that runs it: onnxruntime unless said otherwise.
    pub backend: Backend,
    /// The positions of functions by domain and name.
    places: FxHashMap<(String, String), usize>,
    /// The numbers of the graph's values by name, once a graph within it needed them.
    numbers: OnceLock<FxHashMap<String, usize>>,
    /// Which elements are needed, once that was asked.
    needed: OnceLock<Needed>,
    /// What onnxruntime finds when it loads the model, once that was asked.
    pub loading: Loading,
    /// Declared names that look like names made here, once that was asked.
    numbered: OnceLock<Vec<String>>,
}

/// A function of a model.
#[derive(Debug, Clone)]
pub struct Function {
    /// The message.
    pub message: FunctionProto,
    /// The version of each domain within it.
    pub imports: Imports,
}

/// The format's versions that are read.
const IR_VERSIONS: std::ops::RangeInclusive<i64> = 3..=14;
/// The versions of `ai.onnx` that are read.
const OPSETS: std::ops::RangeInclusive<i64> = 7..=28;
/// The longest file.
const MAX_BYTES: usize = i32::MAX as usize;

fn domain(name: &str) -> &str {
    if name == "ai.onnx" { "" } else { name }
}

fn imports(list: &[OperatorSetIdProto]) -> Imports {
    list.iter().map(|import| (domain(&import.domain).to_owned(), import.version)).collect()
}

/// Whether a file looks like a model: its first field is the version of the format, or it is the text of one.
pub fn is_model(bytes: &[u8]) -> bool {
    matches!(bytes, [0x08, version, ..] if *version < 0x80) || text::is_text(bytes)
}

/// The message in a file: protobuf, or text.
///
/// # Errors
/// When it is neither.
pub fn message(bytes: impl Into<Bytes>) -> Result<ModelProto, ReadError> {
    let bytes = bytes.into();
    if bytes.is_empty() {
        return Err(wrong("the file", "nothing is in it; expected an ONNX model"));
    }
    if let Some(what) = other_file(&bytes) {
        return Err(wrong("the file", what));
    }
    if text::is_text(&bytes) {
        let text = std::str::from_utf8(&bytes)
            .map_err(|error| wrong("the text", format!("it is not UTF-8: {error}")))?;
        return text::parse(text).map_err(|error| wrong("the text", error.to_string()));
    }
    if bytes.len() > MAX_BYTES {
        return Err(wrong("the file", "it is longer than 2 GiB, the most that protobuf allows"));
    }
    ModelProto::decode(bytes)
        .map_err(|error| wrong("the file", format!("not an ONNX model, or a damaged one: {error}")))
}

/// Refuses inputs that are declared with other sizes than their initializers have, as onnxruntime does.
fn initialized(graph: &GraphProto) -> Result<(), ReadError> {
    if graph.input.is_empty() || graph.initializer.is_empty() {
        return Ok(());
    }
    let sizes: FxHashMap<&str, &[i64]> =
        graph.initializer.iter().map(|tensor| (tensor.name.as_str(), tensor.dims.as_slice())).collect();
    for input in &graph.input {
        let Some(own) = sizes.get(input.name.as_str()) else { continue };
        let Some(TypeValue::Tensor(tensor)) = input.r#type.as_ref().and_then(|own| own.value.as_ref()) else {
            continue;
        };
        let Some(shape) = &tensor.shape else { continue };
        let differs = |(dim, size): (&message::DimensionProto, &i64)| match &dim.value {
            Some(Dimension::Size(stated)) => stated != size && *stated >= 0,
            _ => false,
        };
        if shape.dim.len() != own.len() || shape.dim.iter().zip(*own).any(differs) {
            let message = "its declared sizes are not those of its initializer";
            return Err(wrong(format!("input `{}`", input.name), message));
        }
    }
    Ok(())
}

/// Requires that the tensors of a graph and of those within its nodes have as many elements as their sizes say.
fn filled(graph: &GraphProto) -> Result<(), ReadError> {
    let fits = |weight: &message::TensorProto| match tensor::misfilled(weight) {
        Some(message) => Err(wrong(format!("tensor `{}`", weight.name), message)),
        None => Ok(()),
    };
    graph.initializer.iter().try_for_each(fits)?;
    for node in &graph.node {
        node.attribute.iter().filter_map(|own| own.t.as_deref()).try_for_each(fits)?;
        graphs_of(node).try_for_each(filled)?;
    }
    Ok(())
}

impl Model {
    /// The files beside the model that hold weights of its graph, each once.
    pub fn external_files(&self) -> Vec<&str> {
        let entries = self.graph.initializer.iter().flat_map(|weight| &weight.external_data);
        let mut files: Vec<&str> =
            entries.filter(|entry| entry.key == "location").map(|entry| entry.value.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Reads a file.
    ///
    /// # Errors
    /// When it is no model, is of a version that is not read, or its graph is not well formed.
    pub fn read(bytes: impl Into<Bytes>) -> Result<Model, ReadError> {
        Model::new(message(bytes)?)
    }

    fn new(model: ModelProto) -> Result<Model, ReadError> {
        if !IR_VERSIONS.contains(&model.ir_version) {
            let (least, most) = (IR_VERSIONS.start(), IR_VERSIONS.end());
            let message = format!("{} is not read; the versions {least} to {most} are", model.ir_version);
            return Err(wrong("ir_version", message));
        }
        let mut graph = model.graph.ok_or_else(|| wrong("graph", "the model has none"))?;
        let imports = imports(&model.opset_import);
        match imports.get("") {
            Some(version) if !OPSETS.contains(version) => {
                let (least, most) = (OPSETS.start(), OPSETS.end());
                let message = format!("version {version} of ai.onnx is not read; {least} to {most} are");
                return Err(wrong("opset_import", message));
            }
            None if imports.is_empty() => {
                return Err(wrong("opset_import", "the model imports no operators"));
            }
            _ => {}
        }
        // onnxruntime runs nothing of which no output is asked for.
        if graph.output.is_empty() {
            return Err(wrong("graph", "it has no outputs"));
        }
        if let Some(input) = graph.input.iter().find(|input| input.lacks_element_type()) {
            return Err(wrong(format!("input {}", input.name), "its element type is undefined"));
        }
        let links = order::graph(&mut graph, None)?;
        initialized(&graph)?;
        filled(&graph)?;
        let mut functions = Vec::with_capacity(model.functions.len());
        for mut message in model.functions {
            let name = format!("function {}", message.name);
            let inputs = message.input.iter().map(String::as_str);
            order::nodes(&mut message.node, &scope::NameScope::new(inputs, None), &[], &name, false)?;
            let own = self::imports(&message.opset_import);
            message.domain = domain(&message.domain).to_owned();
            functions.push(Function { message, imports: own });
        }
        let name = |function: &Function| (function.message.domain.clone(), function.message.name.clone());
        let places = functions.iter().enumerate().map(|(at, function)| (name(function), at)).collect();
        let stated = model.metadata_props.iter().filter(|entry| entry.key == CONDITIONS);
        let lines =
            stated.flat_map(|entry| entry.value.lines()).map(str::trim).filter(|line| !line.is_empty());
        let conditions = lines.map(str::to_owned).collect();
        let (ir_version, backend) = (model.ir_version, Backend::default());
        let producer = model.producer_name;
        let model = Model {
            graph,
            links,
            imports,
            functions,
            ir_version,
            producer,
            conditions,
            backend,
            places,
            numbers: OnceLock::new(),
            needed: OnceLock::new(),
            loading: Loading::default(),
            numbered: OnceLock::new(),
        };
        order::functions(&model)?;
        Ok(model)
    }

    /// The names `s<n>` and `u<n>` that the model gives sizes anywhere, functions and graphs within included. Names that
    /// are made for other sizes have to differ from them.
    pub fn numbered_names(&self) -> &[String] {
        self.numbered.get_or_init(|| names::numbered(self))
    }

    /// Which elements can decide a shape or a condition. The graph must not change after the first call.
    pub fn needed(&self) -> &Needed {
        self.needed.get_or_init(|| Needed::of(self))
    }

    /// The number of a value of the main graph.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.numbers.get_or_init(|| links::by_name(&self.graph, &self.links)).get(name).copied()
    }

    /// The values of the main graph with their numbers: inputs, initializers and outputs of nodes.
    pub fn all_values(&self) -> impl Iterator<Item = (&String, usize)> {
        let (graph, links) = (&self.graph, &self.links);
        let before = graph.input.iter().map(|input| &input.name);
        let before = before.chain(graph.initializer.iter().map(|tensor| &tensor.name)).zip(links.before());
        let outputs = graph.node.iter().enumerate().flat_map(move |(at, node)| {
            node.output.iter().enumerate().map(move |(of, name)| (name, links.outputs(at) + of))
        });
        before.chain(outputs.filter(|(name, _)| !name.is_empty()))
    }

    /// The function that a node calls, by its position.
    pub fn function(&self, domain: &str, name: &str) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        self.places.get(&(domain.to_owned(), name.to_owned())).copied()
    }
}

/// The domain of a node, with the default one being empty.
pub fn domain_of(node: &message::NodeProto) -> &str {
    domain(&node.domain)
}
