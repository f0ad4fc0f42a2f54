//! Graphs: values in the order they are made, and the nodes that make them. An argument of a node may be a graph, so
//! what graphs, nodes and arguments are is declared together.

use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::constant::Constant;
use super::dtype::{Device, Dtype, Layout, MemoryFormat};
use super::meta::{ExprRef, Meta};
use super::provenance::Provenance;
use super::target::Target;

/// A value of one graph. Values are numbered from 0 in the order they are made, inputs first, so that
/// tables of values can be vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub(super) u32);

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

/// A number that is either a value of the graph or written out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operand<T> {
    /// Computed by a node, or an input.
    Value(ValueId),
    /// Written out.
    Literal(T),
}

/// A graph that a higher-order operator calls, with the name it was given.
#[derive(Debug, Clone)]
pub struct Subgraph {
    /// The name of the submodule, such as `true_graph_0`.
    pub name: Arc<str>,
    /// The graph. Its values are its own; it sees none of the caller's.
    pub graph: Graph,
}

/// An argument of a call, an input that is a constant, or an output of a graph.
#[derive(Debug, Clone)]
pub enum Argument {
    /// Python's `None`.
    None,
    /// A tensor.
    Tensor(ValueId),
    /// A list of tensors.
    Tensors(Vec<ValueId>),
    /// A tensor, or nothing.
    OptionalTensor(Option<ValueId>),
    /// A list whose elements are tensors or nothing.
    OptionalTensors(Vec<Option<ValueId>>),
    /// Lists of lists of tensors.
    NestedTensors(Vec<Vec<ValueId>>),
    /// An integer.
    Int(i64),
    /// A list of integers.
    Ints(Vec<i64>),
    /// Lists of lists of integers.
    IntLists(Vec<Vec<i64>>),
    /// A float.
    Float(f64),
    /// A list of floats.
    Floats(Vec<f64>),
    /// Lists of lists of floats.
    FloatLists(Vec<Vec<f64>>),
    /// A string.
    Str(Arc<str>),
    /// A list of strings.
    Strs(Vec<Arc<str>>),
    /// A truth value.
    Bool(bool),
    /// A list of truth values.
    Bools(Vec<bool>),
    /// A complex number: real and imaginary part.
    Complex(f64, f64),
    /// A symbolic integer.
    SymInt(Operand<i64>),
    /// A list of integers, at least one of which is symbolic.
    SymInts(Vec<Operand<i64>>),
    /// A symbolic float.
    SymFloat(Operand<f64>),
    /// A list of floats, at least one of which is symbolic.
    SymFloats(Vec<Operand<f64>>),
    /// A symbolic truth value.
    SymBool(Operand<bool>),
    /// A list of truth values, at least one of which is symbolic.
    SymBools(Vec<Operand<bool>>),
    /// An element type.
    Dtype(Dtype),
    /// A memory format.
    MemoryFormat(MemoryFormat),
    /// A layout.
    Layout(Layout),
    /// A device.
    Device(Device),
    /// A subgraph of a higher-order operator.
    Graph(Arc<Subgraph>),
    /// An object of a custom class.
    CustomObj(ValueId),
    /// An operator, by its target.
    Operator(Arc<str>),
    /// A list of different things, graphs among them. Text forms have it, `.pt2` archives do not.
    List(Vec<Argument>),
    /// A dictionary.
    Map(Box<IndexMap<Arc<str>, Argument>>),
}

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PassedAs {
    /// Not recorded.
    Unknown,
    /// By position.
    Positional,
    /// By name.
    Keyword,
}

/// An argument of a node.
#[derive(Debug, Clone)]
pub struct Input {
    /// The parameter; empty for higher-order operators.
    pub name: Arc<str>,
    /// What is passed.
    pub arg: Argument,
    /// How it is passed.
    pub passed_as: PassedAs,
}

/// What a node gives. A node that returns nothing has no outputs, one that returns a tuple several.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// One value.
    Value(ValueId),
    /// A list of values in one return; `None` where an element is absent.
    List(Vec<Option<ValueId>>),
    /// No value: Python's `None`.
    None,
    /// A constant, from a higher-order operator.
    Constant(Constant),
}

/// A call of an operator.
#[derive(Debug, Clone)]
pub struct Node {
    /// The node's name, unique in its graph.
    pub name: Arc<str>,
    /// What is called.
    pub target: Target,
    /// The arguments, in the order of the call.
    pub inputs: Vec<Input>,
    /// What comes out.
    pub outputs: Vec<Output>,
    /// Of a higher-order operator: whether it returns one tensor rather than a tuple of one.
    pub hop_single_tensor: Option<bool>,
    /// Where the node comes from.
    pub provenance: Provenance,
}

/// A graph in which every value is made once, before it is used.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub(super) inputs: Vec<GraphInput>,
    pub(super) outputs: Vec<Argument>,
    pub(super) nodes: Vec<Node>,
    pub(super) values: IndexMap<Arc<str>, Value, FxBuildHasher>,
    pub(super) single_tensor_return: bool,
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
