//! What an operator is called with.

use std::sync::Arc;

use indexmap::IndexMap;

use super::dtype::{Device, Dtype, Layout, MemoryFormat};
use super::graph::{Graph, ValueId};

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

impl Argument {
    /// Calls `f` with each value of the graph that this argument refers to, in order, repetitions
    /// included. Values inside subgraphs belong to those and are not visited.
    pub fn for_each_value(&self, f: &mut dyn FnMut(ValueId)) {
        fn operands<T>(operands: &[Operand<T>], f: &mut dyn FnMut(ValueId)) {
            for operand in operands {
                if let Operand::Value(value) = operand {
                    f(*value);
                }
            }
        }
        match self {
            Argument::Tensor(value) | Argument::CustomObj(value) | Argument::OptionalTensor(Some(value)) => {
                f(*value)
            }
            Argument::Tensors(values) => values.iter().copied().for_each(f),
            Argument::OptionalTensors(values) => values.iter().copied().flatten().for_each(f),
            Argument::NestedTensors(lists) => lists.iter().flatten().copied().for_each(f),
            Argument::SymInt(operand) => operands(std::slice::from_ref(operand), f),
            Argument::SymInts(list) => operands(list, f),
            Argument::SymFloat(operand) => operands(std::slice::from_ref(operand), f),
            Argument::SymFloats(list) => operands(list, f),
            Argument::SymBool(operand) => operands(std::slice::from_ref(operand), f),
            Argument::SymBools(list) => operands(list, f),
            Argument::List(items) => items.iter().for_each(|argument| argument.for_each_value(f)),
            Argument::Map(map) => {
                // Dictionaries nest no deeper than the document they were read from.
                for argument in map.values() {
                    argument.for_each_value(f);
                }
            }
            Argument::None
            | Argument::OptionalTensor(None)
            | Argument::Int(_)
            | Argument::Ints(_)
            | Argument::IntLists(_)
            | Argument::Float(_)
            | Argument::Floats(_)
            | Argument::FloatLists(_)
            | Argument::Str(_)
            | Argument::Strs(_)
            | Argument::Bool(_)
            | Argument::Bools(_)
            | Argument::Complex(..)
            | Argument::Dtype(_)
            | Argument::MemoryFormat(_)
            | Argument::Layout(_)
            | Argument::Device(_)
            | Argument::Graph(_)
            | Argument::Operator(_) => {}
        }
    }

    /// Calls `f` with each graph that this argument is or holds, in order, but not with the graphs within those.
    pub fn for_each_graph<'a>(&'a self, f: &mut dyn FnMut(&'a Arc<Subgraph>)) {
        match self {
            Argument::Graph(graph) => f(graph),
            Argument::List(items) => items.iter().for_each(|argument| argument.for_each_graph(f)),
            Argument::Map(map) => map.values().for_each(|argument| argument.for_each_graph(f)),
            _ => {}
        }
    }

    /// As [`Argument::for_each_graph`], to change them.
    pub fn for_each_graph_mut(&mut self, f: &mut dyn FnMut(&mut Arc<Subgraph>)) {
        match self {
            Argument::Graph(graph) => f(graph),
            Argument::List(items) => items.iter_mut().for_each(|argument| argument.for_each_graph_mut(f)),
            Argument::Map(map) => map.values_mut().for_each(|argument| argument.for_each_graph_mut(f)),
            _ => {}
        }
    }

    /// Calls `f` with every operator in this argument.
    pub(super) fn for_each_operator<'a>(&'a self, f: &mut dyn FnMut(&'a str)) {
        match self {
            Argument::Operator(target) => f(target),
            Argument::List(items) => items.iter().for_each(|argument| argument.for_each_operator(f)),
            Argument::Map(map) => map.values().for_each(|argument| argument.for_each_operator(f)),
            _ => {}
        }
    }

    /// As [`Argument::for_each_operator`], to change them.
    pub(super) fn for_each_operator_mut(&mut self, f: &mut dyn FnMut(&mut Arc<str>)) {
        match self {
            Argument::Operator(target) => f(target),
            Argument::List(items) => items.iter_mut().for_each(|argument| argument.for_each_operator_mut(f)),
            Argument::Map(map) => map.values_mut().for_each(|argument| argument.for_each_operator_mut(f)),
            _ => {}
        }
    }

    /// The one value that this argument is; `None` for lists, literals and the like.
    pub fn value(&self) -> Option<ValueId> {
        match self {
            Argument::Tensor(value)
            | Argument::CustomObj(value)
            | Argument::OptionalTensor(Some(value))
            | Argument::SymInt(Operand::Value(value))
            | Argument::SymFloat(Operand::Value(value))
            | Argument::SymBool(Operand::Value(value)) => Some(*value),
            _ => None,
        }
    }
}
