//! The body of a graph or function under construction.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use super::OnnxError;
use super::attribute::{self, Arguments};
use super::call::{self, Val};
use super::items::{Item, items, made, returned, value_inputs};
use super::metadata;
use super::ops;
use super::proto::{AttributeProto, NodeProto, TensorProto, ValueInfoProto};
use super::types::{Types, element_type, scalar_info};
use sizewise_ir::Wrapper;
use sizewise_ir::text::node_lines;
use sizewise_ir::{
    Argument, Constant, Dtype, Functions, Graph, GraphInput, Meta, Node, Subgraph, TargetKind, ValueId,
};
use sizewise_kernels::autocast::Regions;

/// The domain of the program's own functions.
pub(super) const LOCAL: &str = "local";

/// The body of a graph or function under construction.
pub(super) struct Body<'b, 'p> {
    pub graph: &'p Graph,
    pub functions: &'b Functions<'p>,
    pub types: &'b mut Types<'p>,
    pub nodes: Vec<NodeProto>,
    /// Constants, which stand in front of the nodes.
    fixed: Vec<NodeProto>,
    /// The outputs: where they come from, and their names with types.
    pub outputs: Vec<(Item, ValueInfoProto)>,
    pub infos: Vec<ValueInfoProto>,
    pub domains: IndexSet<String>,
    /// The operators that have no counterpart, in order of appearance.
    pub left: IndexSet<String>,
    /// The autocast regions around the node at hand.
    pub regions: Regions,
    /// What autocast has the operands of the node at hand be.
    pub cast_operands: FxHashMap<ValueId, Val>,
    entered: Vec<Regions>,
    taken: FxHashSet<String>,
    constants: IndexMap<String, String>,
}

impl<'b, 'p> Body<'b, 'p> {
    pub fn new(
        graph: &'p Graph,
        functions: &'b Functions<'p>,
        types: &'b mut Types<'p>,
        regions: Regions,
    ) -> Body<'b, 'p> {
        Body {
            graph,
            functions,
            types,
            nodes: Vec::with_capacity(graph.nodes().len()),
            fixed: Vec::new(),
            outputs: Vec::new(),
            infos: Vec::new(),
            domains: IndexSet::new(),
            left: IndexSet::new(),
            regions,
            cast_operands: FxHashMap::default(),
            entered: Vec::new(),
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

    /// Adds a node of a standard operator; the names of its results come back.
    pub fn emit(
        &mut self,
        op: &str,
        inputs: &[&str],
        attributes: Vec<AttributeProto>,
        results: usize,
    ) -> Vec<String> {
        let base = op.to_lowercase();
        let outputs: Vec<String> = (0..results).map(|_| self.fresh(&base)).collect();
        let name = outputs.first().cloned().unwrap_or(base);
        let mut node = self.node("", op, &name);
        node.input = inputs.iter().map(|&name| name.to_owned()).collect();
        node.output.clone_from(&outputs);
        node.attribute = attributes;
        self.nodes.push(node);
        outputs
    }

    /// Takes back the nodes from a place on.
    pub fn roll_back(&mut self, begin: usize) {
        for name in self.nodes.drain(begin..).flat_map(|node| node.output) {
            self.taken.remove(&name);
        }
    }

    /// The name of a constant tensor, which is made once.
    pub fn fixed(&mut self, tensor: TensorProto) -> String {
        let key = format!("{:?} {:?} {:?}", tensor.data_type, tensor.dims, tensor.raw_data);
        if let Some(name) = self.constants.get(&key) {
            return name.clone();
        }
        let name = self.fresh("constant");
        let mut node = self.node("", "Constant", &name);
        node.attribute.push(attribute::tensor("value", tensor));
        node.output.push(name.clone());
        self.fixed.push(node);
        self.constants.insert(key, name.clone());
        name
    }

    /// The name of a constant, which is made once; empty for `None` and strings.
    pub fn constant(&mut self, constant: &Constant) -> String {
        attribute::scalar(constant).map_or_else(String::new, |value| self.fixed(value))
    }

    /// What a value of the graph is in the model; `None` where nothing is recorded of it.
    pub fn value(&self, id: ValueId) -> Option<Val> {
        if let Some(cast) = self.cast_operands.get(&id) {
            return Some(cast.clone());
        }
        let name = self.graph.name(id).to_string();
        let (dtype, rank) = match self.graph.meta(id) {
            Meta::Tensor(tensor) => (tensor.dtype, tensor.sizes.len()),
            Meta::SymInt(_) => (Dtype::Int64, 0),
            Meta::SymFloat(_) => (Dtype::Float64, 0),
            Meta::SymBool(_) => (Dtype::Bool, 0),
            Meta::CustomObj(_) | Meta::Token | Meta::Unknown => return None,
        };
        Some(Val { name, dtype, rank })
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

    /// Writes the nodes and the outputs.
    pub fn write(&mut self) -> Result<(), OnnxError> {
        let live = ops::live(self.graph);
        let lines = node_lines(self.graph);
        for ((node, live), line) in self.graph.nodes().iter().zip(live).zip(lines) {
            if !live || self.is_region_mark(node) {
                continue;
            }
            let begin = self.nodes.len();
            match self.control_flow(node)? {
                Some(node) => self.nodes.push(node),
                None => self.operator(node)?,
            }
            let entries = metadata::of(node, line);
            for written in &mut self.nodes[begin..] {
                written.metadata_props.clone_from(&entries);
            }
        }
        self.end()?;
        for (_, name, value) in self.graph.values() {
            if let Some(ty) = self.types.of(name, &value.meta)? {
                self.infos.push(ValueInfoProto {
                    name: Some(name.to_string()),
                    r#type: Some(ty),
                    ..ValueInfoProto::default()
                });
            }
        }
        let made: FxHashSet<&str> =
            self.nodes.iter().flat_map(|node| &node.output).map(String::as_str).collect();
        let inputs: FxHashSet<&str> =
            value_inputs(self.graph).into_iter().map(|id| &**self.graph.name(id)).collect();
        // What is left out has no type.
        self.infos.retain(|info| made.contains(info.name()) || inputs.contains(info.name()));
        let mut used = FxHashSet::default();
        names_used(&self.nodes, &mut used);
        let kept = |node: &NodeProto| node.output.iter().any(|name| used.contains(name));
        let fixed: Vec<NodeProto> = std::mem::take(&mut self.fixed).into_iter().filter(kept).collect();
        self.nodes.splice(0..0, fixed);
        Ok(())
    }

    /// Whether a node begins or ends an autocast region, and is no call.
    fn is_region_mark(&mut self, node: &Node) -> bool {
        match node.target.python().map(|(_, function)| function) {
            Some("_enter_autocast") => {
                let inner = call::region(&self.regions, node).unwrap_or_default();
                self.entered.push(std::mem::replace(&mut self.regions, inner));
                true
            }
            Some("_exit_autocast") => {
                self.regions = self.entered.pop().unwrap_or_default();
                true
            }
            _ => false,
        }
    }

    /// An operator that is no control flow: by standard operators, else by its own name.
    fn operator(&mut self, node: &Node) -> Result<(), OnnxError> {
        self.autocast(node);
        let begin = self.nodes.len();
        let made: Vec<Option<ValueId>> = made(node);
        match ops::standard(self, node) {
            Some(values) if values.len() >= made.len() => {
                for (id, value) in made.into_iter().zip(values) {
                    if let (Some(id), Some(value)) = (id, value) {
                        self.bind(id, value, begin);
                    }
                }
            }
            _ => {
                self.roll_back(begin);
                self.named(node)?;
            }
        }
        self.cast_operands.clear();
        Ok(())
    }

    /// Gives a result the name and the dtype that the graph's value has.
    fn bind(&mut self, id: ValueId, value: Val, begin: usize) {
        let wanted = self.value(id).map_or(value.dtype, |known| known.dtype);
        let value = self.cast(&value, wanted);
        let name = self.graph.name(id).to_string();
        let new = &mut self.nodes[begin..];
        if !new.iter().any(|node| node.output.contains(&value.name)) {
            let mut copy = self.node("", "Identity", &name);
            (copy.input, copy.output) = (vec![value.name], vec![name]);
            self.nodes.push(copy);
            return;
        }
        for node in new {
            let names = node.output.iter_mut().chain(&mut node.input);
            for known in names.filter(|known| **known == value.name) {
                known.clone_from(&name);
            }
            if node.name.as_deref() == Some(&value.name) {
                node.name = Some(name.clone());
            }
        }
    }

    /// The value in another dtype.
    pub fn cast(&mut self, value: &Val, to: Dtype) -> Val {
        if value.dtype == to {
            return value.clone();
        }
        let number = element_type(to).unwrap_or_default();
        let name = self.emit("Cast", &[&value.name], vec![attribute::int("to", number.into())], 1).remove(0);
        Val { name, dtype: to, rank: value.rank }
    }

    /// An operator by its own name, in the domain of its namespace.
    fn named(&mut self, node: &Node) -> Result<(), OnnxError> {
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
        self.left.insert(node.target.to_string());
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
        for (id, cast) in &self.cast_operands {
            let plain = self.graph.name(*id);
            for input in written.input.iter_mut().filter(|input| ***input == **plain) {
                input.clone_from(&cast.name);
            }
        }
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
                    let fixed = self.fixed(value);
                    let output = self.fresh("output");
                    let mut node = self.node("", "Identity", &output);
                    (node.input, node.output) = (vec![fixed], vec![output.clone()]);
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

/// The names that nodes take, those of the graphs within too. Graphs nest no deeper than the document they were read
/// from.
fn names_used(nodes: &[NodeProto], used: &mut FxHashSet<String>) {
    for node in nodes {
        used.extend(node.input.iter().cloned());
        for graph in node.attribute.iter().filter_map(|attribute| attribute.g.as_ref()) {
            names_used(&graph.node, used);
            used.extend(graph.output.iter().filter_map(|info| info.name.clone()));
        }
    }
}
