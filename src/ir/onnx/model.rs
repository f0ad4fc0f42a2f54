//! Models, functions and their bodies.

use indexmap::{IndexMap, IndexSet};
use prost::Message;
use rustc_hash::FxHashSet;

use super::OnnxError;
use super::attribute::{self, Arguments};
use super::proto::{
    FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    ValueInfoProto,
};
use super::types::{Types, scalar_info};
use crate::ir::node::Wrapper;
use crate::ir::{
    Argument, Constant, Functions, Graph, GraphInput, Node, Output, Program, Subgraph, TargetKind, ValueId,
};

/// The version of the file format: the first whose functions have `value_info` and may be overloaded.
const IR_VERSION: i64 = 10;
/// The version of ONNX's own operators; `If`, `Loop`, `Scan` and `Constant` have not changed since in what is used here.
const OPSET_VERSION: i64 = 21;
/// The domain of the program's own functions.
pub(super) const LOCAL: &str = "local";

/// The bytes of the ONNX model of a program.
///
/// # Errors
/// When a value has a dtype that ONNX does not know, or nothing is recorded of an input.
pub fn write(program: &Program) -> Result<Vec<u8>, OnnxError> {
    Ok(model(program)?.encode_to_vec())
}

/// The ONNX model of a program.
///
/// # Errors
/// As [`write()`].
pub fn model(program: &Program) -> Result<ModelProto, OnnxError> {
    let functions = Functions::new(program);
    let mut types = Types::new(&program.exprs);
    let mut domains: IndexSet<String> = IndexSet::new();
    let mut written = Vec::new();
    let mut main = GraphProto::default();
    for function in functions.iter() {
        let mut body = Body::new(function.graph, &functions, &mut types);
        body.write()?;
        let Body { nodes, outputs, infos, domains: used, types, .. } = body;
        domains.extend(used.iter().cloned());
        let inputs = value_inputs(function.graph);
        let outputs_named: Vec<String> = outputs.iter().filter_map(|(_, info)| info.name.clone()).collect();
        if function.scope.is_empty() {
            let named = |info: &ValueInfoProto| info.name.clone().unwrap_or_default();
            let input = inputs
                .iter()
                .map(|&id| types.info(function.graph.name(id), function.graph.meta(id)))
                .collect::<Result<Vec<_>, _>>()?;
            let ends: FxHashSet<String> =
                input.iter().map(named).chain(outputs_named.iter().cloned()).collect();
            let value_info = infos.into_iter().filter(|info| !ends.contains(&named(info))).collect();
            let output = outputs.into_iter().map(|(_, info)| info).collect();
            main = GraphProto { node: nodes, name: Some(function.name.clone()), input, output, value_info };
        } else {
            written.push(FunctionProto {
                name: Some(function.name.clone()),
                input: inputs.iter().map(|&id| function.graph.name(id).to_string()).collect(),
                output: outputs_named,
                node: nodes,
                doc_string: Some(function.scope.clone()),
                opset_import: imports(&used),
                domain: Some(LOCAL.to_owned()),
                value_info: infos,
            });
        }
    }
    if !written.is_empty() {
        domains.insert(LOCAL.to_owned());
    }
    let versions = [("torch_version", &program.torch_version)];
    let metadata_props = versions
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(key, value)| StringStringEntryProto {
            key: Some(key.to_owned()),
            value: Some(value.to_string()),
        })
        .collect();
    Ok(ModelProto {
        ir_version: Some(IR_VERSION),
        producer_name: Some(env!("CARGO_PKG_NAME").to_owned()),
        producer_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        graph: Some(main),
        opset_import: imports(&domains),
        metadata_props,
        functions: written,
    })
}

fn imports(domains: &IndexSet<String>) -> Vec<OperatorSetIdProto> {
    let own = OperatorSetIdProto { domain: Some(String::new()), version: Some(OPSET_VERSION) };
    let others = domains
        .iter()
        .filter(|domain| !domain.is_empty())
        .map(|domain| OperatorSetIdProto { domain: Some(domain.clone()), version: Some(1) });
    std::iter::once(own).chain(others).collect()
}

/// The inputs of a graph that are values.
pub(super) fn value_inputs(graph: &Graph) -> Vec<ValueId> {
    let value = |input: &GraphInput| match input {
        GraphInput::Value(id) => Some(*id),
        GraphInput::Constant(_) => None,
    };
    graph.inputs().iter().filter_map(value).collect()
}

/// What one place of a list of operands or results is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Item {
    Value(ValueId),
    Literal(Constant),
    /// `None`, a string: nothing that is a tensor.
    Nothing,
}

/// What an argument passes or returns, lists taken apart.
pub(super) fn items(argument: &Argument) -> Vec<Item> {
    if let Some(id) = argument.value() {
        return vec![Item::Value(id)];
    }
    if let Some(constant) = attribute::literal(argument) {
        return vec![Item::Literal(constant)];
    }
    fn operands<T: Copy>(list: &[crate::ir::Operand<T>], literal: fn(T) -> Constant) -> Vec<Item> {
        let item = |operand: &crate::ir::Operand<T>| match operand {
            crate::ir::Operand::Value(id) => Item::Value(*id),
            crate::ir::Operand::Literal(value) => Item::Literal(literal(*value)),
        };
        list.iter().map(item).collect()
    }
    match argument {
        Argument::Tensors(ids) => ids.iter().map(|&id| Item::Value(id)).collect(),
        Argument::OptionalTensors(ids) => {
            ids.iter().map(|id| id.map_or(Item::Nothing, Item::Value)).collect()
        }
        Argument::Ints(list) => list.iter().map(|&value| Item::Literal(Constant::Int(value))).collect(),
        Argument::Floats(list) => list.iter().map(|&value| Item::Literal(Constant::Float(value))).collect(),
        Argument::Bools(list) => list.iter().map(|&value| Item::Literal(Constant::Bool(value))).collect(),
        Argument::SymInts(list) => operands(list, Constant::Int),
        Argument::SymFloats(list) => operands(list, Constant::Float),
        Argument::SymBools(list) => operands(list, Constant::Bool),
        Argument::Map(map) => map.values().flat_map(items).collect(),
        Argument::List(list) => list.iter().flat_map(items).collect(),
        _ => vec![Item::Nothing],
    }
}

/// What a graph returns, lists taken apart.
pub(super) fn returned(graph: &Graph) -> Vec<Item> {
    graph.outputs().iter().flat_map(items).collect()
}

/// What a node makes, lists taken apart; `None` for what is no value.
pub(super) fn made(node: &Node) -> Vec<Option<ValueId>> {
    let values = |output: &Output| match output {
        Output::Value(id) => vec![Some(*id)],
        Output::List(ids) => ids.clone(),
        Output::None | Output::Constant(_) => vec![None],
    };
    node.outputs.iter().flat_map(values).collect()
}

/// The body of a graph or function under construction.
pub(super) struct Body<'b, 'p> {
    pub graph: &'p Graph,
    pub functions: &'b Functions<'p>,
    pub types: &'b mut Types<'p>,
    pub nodes: Vec<NodeProto>,
    /// The outputs: where they come from, and their names with types.
    outputs: Vec<(Item, ValueInfoProto)>,
    infos: Vec<ValueInfoProto>,
    pub domains: IndexSet<String>,
    taken: FxHashSet<String>,
    constants: IndexMap<String, String>,
}

impl<'b, 'p> Body<'b, 'p> {
    fn new(graph: &'p Graph, functions: &'b Functions<'p>, types: &'b mut Types<'p>) -> Body<'b, 'p> {
        Body {
            graph,
            functions,
            types,
            nodes: Vec::with_capacity(graph.nodes().len()),
            outputs: Vec::new(),
            infos: Vec::new(),
            domains: IndexSet::new(),
            taken: graph.values().map(|(_, name, _)| name.to_string()).collect(),
            constants: IndexMap::new(),
        }
    }

    /// A name that no value of the body has.
    pub fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut number = 1;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }

    /// A node of a domain.
    pub fn node(&mut self, domain: &str, op: &str, name: &str) -> NodeProto {
        self.domains.insert(domain.to_owned());
        NodeProto {
            name: Some(name.to_owned()),
            op_type: Some(op.to_owned()),
            domain: Some(domain.to_owned()),
            ..NodeProto::default()
        }
    }

    /// The name of a constant, which is made once.
    pub fn constant(&mut self, constant: &Constant) -> String {
        let key = format!("{constant:?}");
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let Some(value) = attribute::scalar(constant) else { return String::new() };
        let name = self.fresh("constant");
        let mut node = self.node("", "Constant", &name);
        node.attribute.push(attribute::tensor("value", value));
        node.output.push(name.clone());
        self.nodes.push(node);
        self.constants.insert(key, name.clone());
        name
    }

    /// The names of operands, constants being made; `None` for what is no tensor.
    pub fn operands(&mut self, arguments: &[&Argument]) -> Vec<Option<String>> {
        let all: Vec<Item> = arguments.iter().flat_map(|argument| items(argument)).collect();
        let name = |item| match item {
            Item::Value(id) => Some(self.graph.name(id).to_string()),
            Item::Literal(constant) => Some(self.constant(&constant)),
            Item::Nothing => None,
        };
        all.into_iter().map(name).collect()
    }

    /// A call of a graph's function: inputs that are constants in it and results that are no tensors are left out.
    pub fn call(
        &mut self,
        subgraph: &std::sync::Arc<Subgraph>,
        name: &str,
        operands: &[Option<String>],
        results: &[String],
    ) -> NodeProto {
        let function = self.functions.of(subgraph).map_or_else(String::new, |f| f.name.clone());
        let mut node = self.node(LOCAL, &function, name);
        let inputs = subgraph.graph.inputs().iter().zip(operands);
        node.input = inputs
            .filter(|(input, _)| matches!(input, GraphInput::Value(_)))
            .map(|(_, operand)| operand.clone().unwrap_or_default())
            .collect();
        let returned = returned(&subgraph.graph);
        let kept = returned.iter().zip(results).filter(|(item, _)| !matches!(item, Item::Nothing));
        node.output = kept.map(|(_, name)| name.clone()).collect();
        node
    }

    /// Names for what a node makes, a fresh one where nothing uses a result.
    pub fn results(&mut self, node: &Node, count: usize) -> Vec<String> {
        let made = made(node);
        let mut names = Vec::with_capacity(count);
        for index in 0..count {
            names.push(match made.get(index).copied().flatten() {
                Some(id) => self.graph.name(id).to_string(),
                None => self.fresh(&format!("{}_unused", node.name)),
            });
        }
        names
    }

    fn write(&mut self) -> Result<(), OnnxError> {
        for node in self.graph.nodes() {
            match self.control_flow(node)? {
                Some(node) => self.nodes.push(node),
                None => self.operator(node)?,
            }
        }
        self.end()?;
        for (id, name, value) in self.graph.values() {
            let _ = id;
            if let Some(ty) = self.types.of(name, &value.meta)? {
                self.infos.push(ValueInfoProto { name: Some(name.to_string()), r#type: Some(ty) });
            }
        }
        Ok(())
    }

    /// An operator that is no control flow, by its own name.
    fn operator(&mut self, node: &Node) -> Result<(), OnnxError> {
        let (domain, op) = match node.target.kind() {
            TargetKind::Op { namespace, op, overload } => (namespace.to_string(), format!("{op}.{overload}")),
            TargetKind::HigherOrder(name) => ("higher_order".to_owned(), name.to_string()),
            TargetKind::Extension { namespace, op } => (namespace.to_string(), op.to_string()),
            TargetKind::Python { .. } => match node.target.wrapped() {
                Some(wrapped) => {
                    let dialect = match wrapped.wrapper {
                        Wrapper::Edge => "edge",
                        Wrapper::Backend => "backend",
                    };
                    let name = wrapped.name;
                    (format!("{dialect}.{}", name.namespace), format!("{}.{}", name.name, name.overload))
                }
                None => ("python".to_owned(), node.target.to_string()),
            },
        };
        let mut written = self.node(&domain, &op, &node.name);
        let mut arguments = Arguments::new(self.graph, self.functions);
        for (index, input) in node.inputs.iter().enumerate() {
            let parameter =
                if input.name.is_empty() { format!("arg{index}") } else { input.name.to_string() };
            arguments.add(&parameter, &input.arg)?;
        }
        if !arguments.parameters.is_empty() {
            arguments.attributes.push(attribute::strings("input_names", &arguments.parameters));
        }
        (written.input, written.attribute) = (arguments.inputs, arguments.attributes);
        let names = made(node)
            .into_iter()
            .map(|id| id.map_or_else(String::new, |id| self.graph.name(id).to_string()));
        written.output = names.collect();
        self.nodes.push(written);
        Ok(())
    }

    /// The outputs, each by a name of its own.
    fn end(&mut self) -> Result<(), OnnxError> {
        let mut seen: FxHashSet<String> =
            value_inputs(self.graph).into_iter().map(|id| self.graph.name(id).to_string()).collect();
        for item in returned(self.graph) {
            let info = match &item {
                Item::Value(id) => {
                    let name = self.graph.name(*id).to_string();
                    let mut output = name.clone();
                    if !seen.insert(name.clone()) {
                        output = self.fresh(&format!("{name}_output"));
                        let mut copy = self.node("", "Identity", &output);
                        (copy.input, copy.output) = (vec![name], vec![output.clone()]);
                        self.nodes.push(copy);
                    }
                    let info = self.types.info(self.graph.name(*id), self.graph.meta(*id))?;
                    ValueInfoProto { name: Some(output), ..info }
                }
                Item::Literal(constant) => {
                    let Some(value) = attribute::scalar(constant) else { continue };
                    let number = value.data_type.unwrap_or_default();
                    let output = self.fresh("output");
                    let mut node = self.node("", "Constant", &output);
                    node.attribute.push(attribute::tensor("value", value));
                    node.output.push(output.clone());
                    self.nodes.push(node);
                    scalar_info(&output, number)
                }
                Item::Nothing => continue,
            };
            self.outputs.push((item, info));
        }
        Ok(())
    }
}
