//! Graphs: values in the order they are made, and the nodes that make them.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::argument::{Argument, Subgraph};
use super::error::{ReadError, ReadErrorKind, ReadResult};
use super::meta::{ExprRef, Meta};
use super::node::{Constant, Input, Node, Output, Target};
use super::provenance::Provenance;

/// A value of one graph. Values are numbered from 0 in the order they are made, inputs first, so that
/// tables of values can be vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(u32);

impl ValueId {
    /// The number.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What makes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The graph's input at this place.
    Input(usize),
    /// The graph's node at this place.
    Node(usize),
}

/// A value of a graph.
#[derive(Debug, Clone)]
pub struct Value {
    /// What is recorded of it.
    pub meta: Meta,
    /// What makes it.
    pub origin: Origin,
}

/// An input of a graph.
#[derive(Debug, Clone, PartialEq)]
pub enum GraphInput {
    /// A value.
    Value(ValueId),
    /// A constant that was passed where the program takes an input.
    Constant(Constant),
}

/// A graph in which every value is made once, before it is used.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    inputs: Vec<GraphInput>,
    outputs: Vec<Argument>,
    nodes: Vec<Node>,
    values: IndexMap<Arc<str>, Value, FxBuildHasher>,
    single_tensor_return: bool,
}

impl Graph {
    /// The inputs, in order.
    pub fn inputs(&self) -> &[GraphInput] {
        &self.inputs
    }

    /// What the graph returns, in order.
    pub fn outputs(&self) -> &[Argument] {
        &self.outputs
    }

    /// The nodes, in order of execution.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Whether the graph returns one tensor rather than a tuple of one.
    pub fn single_tensor_return(&self) -> bool {
        self.single_tensor_return
    }

    /// How many values there are; they are numbered below this.
    pub fn value_count(&self) -> usize {
        self.values.len()
    }

    /// The value of this name.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.values.get_index_of(name).and_then(|index| u32::try_from(index).ok()).map(ValueId)
    }

    /// A value's name.
    ///
    /// # Panics
    /// When the value is of another, larger graph.
    pub fn name(&self, value: ValueId) -> &Arc<str> {
        self.values.get_index(value.index()).expect("a value of this graph").0
    }

    /// What is known of a value.
    ///
    /// # Panics
    /// When the value is of another, larger graph.
    pub fn value(&self, value: ValueId) -> &Value {
        &self.values[value.index()]
    }

    /// What is recorded of a value.
    ///
    /// # Panics
    /// When the value is of another, larger graph.
    pub fn meta(&self, value: ValueId) -> &Meta {
        &self.value(value).meta
    }

    /// The node that makes a value; `None` when it is an input.
    ///
    /// # Panics
    /// When the value is of another, larger graph.
    pub fn producer(&self, value: ValueId) -> Option<&Node> {
        match self.value(value).origin {
            Origin::Node(index) => self.nodes.get(index),
            Origin::Input(_) => None,
        }
    }

    /// The nodes that use a value, in order, each once. What the graph returns is no use by a node.
    ///
    /// ```
    /// let text = "class M(torch.nn.Module):
    ///     def forward(self, x: \"f32[3]\"):
    ///         y: \"f32[3]\" = torch.ops.aten.neg.default(x)
    ///         z: \"f32[3]\" = torch.ops.aten.add.Tensor(x, y)
    ///         return (z,)
    /// ";
    /// let graph = sizewise_ir::text::read(text)?.graph;
    /// let names: Vec<&str> = graph.value_users(graph.find("x").unwrap()).map(|node| &*node.name).collect();
    /// assert_eq!(names, ["y", "z"]);
    /// assert_eq!(graph.users(&graph.nodes()[0]).count(), 1);
    /// # Ok::<(), sizewise_ir::ReadError>(())
    /// ```
    pub fn value_users(&self, value: ValueId) -> impl Iterator<Item = &Node> {
        self.nodes.iter().filter(move |node| node.uses(value))
    }

    /// The nodes that use anything that a node makes, in order, each once.
    pub fn users<'g>(&'g self, node: &Node) -> impl Iterator<Item = &'g Node> + use<'g> {
        let made: Vec<ValueId> = node.output_values().collect();
        self.nodes.iter().filter(move |user| made.iter().any(|value| user.uses(*value)))
    }

    /// All values with their names, in the order they are made.
    pub fn values(&self) -> impl ExactSizeIterator<Item = (ValueId, &Arc<str>, &Value)> {
        self.values.iter().enumerate().map(|(index, (name, value))| (ValueId(index as u32), name, value))
    }

    /// The nodes of this graph and of all subgraphs, counted.
    pub fn total_nodes(&self) -> usize {
        let subgraphs = self.subgraphs().map(|(_, graph)| graph.total_nodes());
        self.nodes.len() + subgraphs.sum::<usize>()
    }

    /// Calls `f` with every expression that is recorded of a value, in the order in which the values are made: those
    /// of graphs that a node calls come before those of what the node makes.
    pub(super) fn for_each_expr_mut(&mut self, f: &mut dyn FnMut(&mut ExprRef)) {
        let mut values = self.values.values_mut().peekable();
        while let Some(value) = values.next_if(|value| matches!(value.origin, Origin::Input(_))) {
            value.meta.for_each_expr_mut(f);
        }
        for (index, node) in self.nodes.iter_mut().enumerate() {
            for input in &mut node.inputs {
                input.arg.for_each_graph_mut(&mut |graph| {
                    // A graph is shared by nobody yet while its program is read.
                    if let Some(inner) = Arc::get_mut(graph) {
                        inner.graph.for_each_expr_mut(f);
                    }
                });
            }
            while let Some(value) = values.next_if(|value| value.origin == Origin::Node(index)) {
                value.meta.for_each_expr_mut(f);
            }
        }
    }

    /// The graph with its names and targets, and those of the graphs within, replaced.
    pub(super) fn renamed(&self, names: &mut dyn Renaming) -> Graph {
        let mut graph = self.clone();
        let values = std::mem::take(&mut graph.values);
        graph.values = values.into_iter().map(|(name, value)| (names.name(&name), value)).collect();
        for node in &mut graph.nodes {
            node.name = names.name(&node.name);
            node.target = names.target(&node.target);
            for input in &mut node.inputs {
                input.arg.for_each_operator_mut(&mut |text| {
                    let target = Target::parse(text);
                    let renamed = names.target(&target);
                    if renamed != target {
                        *text = renamed.qualified_name().into();
                    }
                });
                input.arg.for_each_graph_mut(&mut |inner| {
                    let graph = inner.graph.renamed(names);
                    *inner = Arc::new(Subgraph { name: names.name(&inner.name), graph });
                });
            }
        }
        graph
    }

    /// The graph with operators that ExecuTorch wraps under their own names, in the graphs that nodes call too.
    pub fn without_wrappers(&self) -> Graph {
        struct Unwrap;
        impl Renaming for Unwrap {
            fn name(&mut self, name: &Arc<str>) -> Arc<str> {
                Arc::clone(name)
            }

            fn target(&mut self, target: &Target) -> Target {
                match target.wrapped() {
                    Some(wrapped) => Target::parse(&format!("torch.ops.{}", wrapped.name)),
                    None => target.clone(),
                }
            }
        }
        self.renamed(&mut Unwrap)
    }

    /// The graphs that nodes of this graph call, each with its node.
    pub fn subgraphs(&self) -> impl Iterator<Item = (&Node, &Graph)> {
        self.nodes.iter().flat_map(|node| node.subgraphs().into_iter().map(move |inner| (node, &inner.graph)))
    }
}

/// What names and targets become. Names that differ have to stay different.
pub(super) trait Renaming {
    /// What a value, a node or a graph is called.
    fn name(&mut self, name: &Arc<str>) -> Arc<str>;
    /// What a node calls.
    fn target(&mut self, target: &Target) -> Target;
}

/// Builds a graph front to back and refuses what is not well formed.
#[derive(Debug, Default)]
pub struct GraphBuilder {
    graph: Graph,
    node_names: rustc_hash::FxHashSet<Arc<str>>,
}

impl GraphBuilder {
    /// An empty graph, with room for so many values.
    pub fn with_capacity(values: usize) -> GraphBuilder {
        let values = IndexMap::with_capacity_and_hasher(values, FxBuildHasher);
        GraphBuilder { graph: Graph { values, ..Graph::default() }, ..GraphBuilder::default() }
    }

    /// The value of this name, if it is made already.
    pub fn find(&self, name: &str) -> Option<ValueId> {
        self.graph.find(name)
    }

    /// What is recorded of a value that is made already.
    pub fn meta(&self, value: ValueId) -> Option<&Meta> {
        self.graph.values.get_index(value.index()).map(|(_, value)| &value.meta)
    }

    /// Records what a value is that was made as unknown.
    pub(super) fn record(&mut self, value: ValueId, meta: Meta) {
        if let Some((_, value)) = self.graph.values.get_index_mut(value.index()) {
            value.meta = meta;
        }
    }

    /// The values made so far, with their names.
    pub(super) fn values(&self) -> impl Iterator<Item = (ValueId, &Arc<str>, &Value)> {
        self.graph.values()
    }

    /// Adds an input.
    ///
    /// # Errors
    /// When an input of this name exists.
    pub fn input(&mut self, name: Arc<str>, meta: Meta) -> ReadResult<ValueId> {
        let origin = Origin::Input(self.graph.inputs.len());
        let value = self.define(name, meta, origin)?;
        self.graph.inputs.push(GraphInput::Value(value));
        Ok(value)
    }

    /// Adds an input that is a constant.
    pub fn constant_input(&mut self, constant: Constant) {
        self.graph.inputs.push(GraphInput::Constant(constant));
    }

    /// Makes a value of the next node, which [`GraphBuilder::node`] then adds.
    ///
    /// # Errors
    /// When a value of this name exists.
    pub fn output_of_next_node(&mut self, name: Arc<str>, meta: Meta) -> ReadResult<ValueId> {
        self.define(name, meta, Origin::Node(self.graph.nodes.len()))
    }

    /// Adds a node. Its outputs are those made since the last node.
    ///
    /// # Errors
    /// When a node of this name exists.
    pub fn node(&mut self, node: Node) -> ReadResult<()> {
        if !self.node_names.insert(Arc::clone(&node.name)) {
            let message = format!("a second node is called `{}`; names are unique in a graph", node.name);
            return Err(ReadError::new(ReadErrorKind::Graph, message));
        }
        self.graph.nodes.push(node);
        Ok(())
    }

    /// Ends the graph with what it returns.
    pub fn finish(mut self, outputs: Vec<Argument>, single_tensor_return: bool) -> Graph {
        self.graph.outputs = outputs;
        self.graph.single_tensor_return = single_tensor_return;
        self.graph
    }

    fn define(&mut self, name: Arc<str>, meta: Meta, origin: Origin) -> ReadResult<ValueId> {
        let index = self.graph.values.len();
        match self.graph.values.entry(name) {
            indexmap::map::Entry::Occupied(entry) => {
                let message =
                    format!("a second value is called `{}`; names are unique in a graph", entry.key());
                Err(ReadError::new(ReadErrorKind::Graph, message))
            }
            indexmap::map::Entry::Vacant(entry) => {
                entry.insert(Value { meta, origin });
                let id = u32::try_from(index).map_err(|_| {
                    ReadError::new(ReadErrorKind::LimitExceeded, "more than 2^32 values in one graph")
                })?;
                Ok(ValueId(id))
            }
        }
    }
}

/// The parts of a node that do not depend on the graph, for a shorter call of [`GraphBuilder::node`].
impl Node {
    /// A node without provenance.
    pub fn new(name: Arc<str>, target: Target, inputs: Vec<Input>, outputs: Vec<Output>) -> Node {
        Node { name, target, inputs, outputs, hop_single_tensor: None, provenance: Provenance::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argument::Operand;
    use crate::meta::Sym;

    fn sym() -> Meta {
        Meta::SymInt(Sym::Literal(1))
    }

    #[test]
    fn values_are_numbered_in_the_order_they_are_made() {
        let mut builder = GraphBuilder::default();
        let n = builder.input("n".into(), sym()).unwrap();
        builder.constant_input(Constant::None);
        let m = builder.output_of_next_node("m".into(), sym()).unwrap();
        let double = Input {
            name: "a".into(),
            arg: Argument::SymInt(Operand::Value(n)),
            passed_as: crate::node::PassedAs::Positional,
        };
        let target = Target::parse("_operator.neg");
        builder.node(Node::new("m".into(), target, vec![double], vec![Output::Value(m)])).unwrap();
        let graph = builder.finish(vec![Argument::SymInt(Operand::Value(m))], false);
        assert_eq!((n.index(), m.index(), graph.value_count()), (0, 1, 2));
        assert_eq!(graph.find("m"), Some(m));
        assert_eq!(graph.value(m).origin, Origin::Node(0));
        assert_eq!(graph.producer(m).map(|node| &*node.name), Some("m"));
        assert!(graph.producer(n).is_none());
        assert_eq!(graph.inputs().len(), 2);
    }

    #[test]
    fn a_name_given_twice_is_refused() {
        let mut builder = GraphBuilder::default();
        builder.input("x".into(), sym()).unwrap();
        let error = builder.output_of_next_node("x".into(), sym()).unwrap_err();
        assert_eq!(error.kind, ReadErrorKind::Graph);
        assert_eq!(error.message, "a second value is called `x`; names are unique in a graph");
        let node = || Node::new("add".into(), Target::parse("_operator.add"), Vec::new(), Vec::new());
        builder.node(node()).unwrap();
        assert_eq!(builder.node(node()).unwrap_err().kind, ReadErrorKind::Graph);
    }
}
