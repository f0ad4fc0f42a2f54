//! The body of a graph or function under construction.

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxHashMap, FxHashSet};

use super::attribute;
use super::items::{Item, items, made, returned};
use super::types::{Types, element_type};
use super::value::Val;
use sizewise_ir::{Argument, Constant, Dtype, Functions, Graph, GraphInput, Meta, Node, Subgraph, ValueId};
use sizewise_kernels::autocast::Regions;
use sizewise_onnx_model::read::message::{AttributeProto, NodeProto, TensorProto, ValueInfoProto};

/// The domain of the program's own functions.
pub(super) const LOCAL: &str = "local";

/// The body of a graph or function under construction.
pub(super) struct Body<'b, 'p> {
    pub graph: &'p Graph,
    pub functions: &'b Functions<'p>,
    pub types: &'b mut Types<'p>,
    pub nodes: Vec<NodeProto>,
    /// Constants, which stand in front of the nodes.
    pub fixed: Vec<NodeProto>,
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
    /// The autocast regions that were left for those within.
    pub entered: Vec<Regions>,
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
            name: name.to_owned(),
            op_type: op.to_owned(),
            domain: domain.to_owned(),
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

    /// The value in another dtype.
    pub fn cast(&mut self, value: &Val, to: Dtype) -> Val {
        if value.dtype == to {
            return value.clone();
        }
        let number = element_type(to).unwrap_or_default();
        let name = self.emit("Cast", &[&value.name], vec![attribute::int("to", number.into())], 1).remove(0);
        Val { name, dtype: to, rank: value.rank }
    }
}
