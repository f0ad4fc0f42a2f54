//! What an operator is called with: the values, graphs and operators in an argument.
use super::graph::{Argument, Operand, Subgraph, ValueId};
use std::sync::Arc;

impl Argument {
    /// Whether it is a number, known or symbolic: an integer, a float, a truth value or a complex number.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            Argument::Int(_)
                | Argument::Float(_)
                | Argument::Bool(_)
                | Argument::Complex(..)
                | Argument::SymInt(_)
                | Argument::SymFloat(_)
                | Argument::SymBool(_)
        )
    }

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
