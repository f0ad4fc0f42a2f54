//! Operands and results, lists taken apart.

use super::attribute;
use sizewise_ir::{Argument, Constant, Graph, GraphInput, Node, Operand, Output, ValueId};

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
    fn operands<T: Copy>(list: &[Operand<T>], literal: fn(T) -> Constant) -> Vec<Item> {
        let item = |operand: &Operand<T>| match operand {
            Operand::Value(id) => Item::Value(*id),
            Operand::Literal(value) => Item::Literal(literal(*value)),
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
