//! Making a graph anew: nodes are kept, left out or added, and what refers to them follows.
use super::names::Names;
use sizewise_ir::{
    Argument, Graph, GraphBuilder, GraphInput, Input, Meta, Node, Operand, Output, Program, Subgraph, ValueId,
};
use std::sync::Arc;

/// What a value of the old graph is in the new one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum New {
    Value(ValueId),
    Int(i64),
    Float(f64),
    Bool(bool),
}

/// A graph that is being made of another.
pub(super) struct Rewriter<'g> {
    pub old: &'g Graph,
    builder: GraphBuilder,
    new: Vec<Option<New>>,
    names: Names,
}

impl<'g> Rewriter<'g> {
    /// Takes over the inputs, in their order: their numbers stay.
    pub fn new(old: &'g Graph) -> Rewriter<'g> {
        Rewriter::with_inputs(old, 0, Vec::new()).0
    }

    /// Takes over the inputs, with new ones before the input at `place`. Names that are taken already are made fresh.
    pub fn with_inputs(
        old: &'g Graph,
        place: usize,
        added: Vec<(Arc<str>, Meta)>,
    ) -> (Rewriter<'g>, Vec<ValueId>) {
        let mut rewriter = Rewriter::empty(old, old.value_count() + added.len());
        let (before, after) = old.inputs().split_at(place.min(old.inputs().len()));
        rewriter.take_inputs(before);
        let mut made = Vec::with_capacity(added.len());
        for (base, meta) in added {
            let name = rewriter.fresh(&base);
            // The name is fresh.
            made.extend(rewriter.builder.input(name, meta).ok());
        }
        rewriter.take_inputs(after);
        (rewriter, made)
    }

    /// Takes over the inputs but those that are `gone`, which nothing may use.
    pub fn without_inputs(old: &'g Graph, gone: &[ValueId]) -> Rewriter<'g> {
        let mut rewriter = Rewriter::empty(old, old.value_count());
        let is_kept = |input: &&GraphInput| !matches!(input, GraphInput::Value(id) if gone.contains(id));
        let kept: Vec<GraphInput> = old.inputs().iter().filter(is_kept).cloned().collect();
        rewriter.take_inputs(&kept);
        rewriter
    }

    fn empty(old: &'g Graph, values: usize) -> Rewriter<'g> {
        Rewriter {
            old,
            builder: GraphBuilder::with_capacity(values),
            new: vec![None; old.value_count()],
            names: Names::of(old),
        }
    }

    fn take_inputs(&mut self, inputs: &[GraphInput]) {
        for input in inputs {
            match input {
                GraphInput::Value(id) => {
                    // Names are unique in the old graph.
                    let made = self.builder.input(self.old.name(*id).clone(), self.old.meta(*id).clone());
                    self.new[id.index()] = made.ok().map(New::Value);
                }
                GraphInput::Constant(constant) => self.builder.constant_input(constant.clone()),
            }
        }
    }

    /// What an old value is now; `None` when nothing makes it any more.
    pub fn now(&self, old: ValueId) -> Option<New> {
        self.new.get(old.index()).copied().flatten()
    }

    /// Says what an old value is from now on.
    pub fn replace(&mut self, old: ValueId, new: New) {
        if let Some(slot) = self.new.get_mut(old.index()) {
            *slot = Some(new);
        }
    }

    /// A name that nothing has, like `base`.
    pub fn fresh(&mut self, base: &str) -> Arc<str> {
        self.names.fresh(base)
    }

    /// An argument in terms of the new graph.
    pub fn argument(&self, argument: &Argument) -> Argument {
        argument_with(argument, &|id| self.now(id))
    }

    /// Keeps a node, with its subgraphs replaced by `inner`.
    pub fn keep(&mut self, node: &Node, inner: &mut dyn FnMut(&Subgraph) -> Graph) {
        self.keep_as(node, inner, &mut |_, meta| meta.clone());
    }

    /// As [`Rewriter::keep`], with what is recorded of the results given by `meta`.
    pub fn keep_as(
        &mut self,
        node: &Node,
        inner: &mut dyn FnMut(&Subgraph) -> Graph,
        meta: &mut dyn FnMut(ValueId, &Meta) -> Meta,
    ) {
        let inputs = node
            .inputs
            .iter()
            .map(|input| {
                let arg = with_graphs(&self.argument(&input.arg), inner);
                Input { name: input.name.clone(), arg, passed_as: input.passed_as }
            })
            .collect();
        self.keep_given(node, inputs, meta);
    }

    /// Keeps a node that is given `inputs`, in terms of the new graph.
    pub fn keep_given(
        &mut self,
        node: &Node,
        inputs: Vec<Input>,
        meta: &mut dyn FnMut(ValueId, &Meta) -> Meta,
    ) {
        let mut value = |id: ValueId| {
            let meta = meta(id, self.old.meta(id));
            let made = self.builder.output_of_next_node(self.old.name(id).clone(), meta).ok();
            self.new[id.index()] = made.map(New::Value);
            made
        };
        let outputs = node
            .outputs
            .iter()
            .map(|output| match output {
                Output::Value(id) => value(*id).map_or(Output::None, Output::Value),
                Output::List(ids) => Output::List(ids.iter().map(|id| id.and_then(&mut value)).collect()),
                other => other.clone(),
            })
            .collect();
        // Names are unique in the old graph, and those added are fresh.
        let _ = self.builder.node(Node { inputs, outputs, ..node.clone() });
    }

    /// Adds a node that makes one value, by a fresh name.
    pub fn add(&mut self, base: &str, meta: Meta, node: impl FnOnce(Arc<str>) -> Node) -> Option<ValueId> {
        let name = self.fresh(base);
        let made = self.builder.output_of_next_node(name.clone(), meta).ok()?;
        let mut node = node(name);
        node.outputs = vec![Output::Value(made)];
        self.builder.node(node).ok()?;
        Some(made)
    }

    /// Adds a node that makes nothing.
    pub fn add_effect(&mut self, base: &str, node: impl FnOnce(Arc<str>) -> Node) {
        let name = self.fresh(base);
        let _ = self.builder.node(node(name));
    }

    /// The new graph.
    pub fn finish(self) -> Graph {
        let outputs = self.old.outputs().iter().map(|output| self.argument(output)).collect();
        let single = self.old.single_tensor_return();
        self.builder.finish(outputs, single)
    }
}

fn operand<T>(operand: &Operand<T>, new: impl Fn(ValueId) -> Operand<T>) -> Operand<T>
where
    T: Copy,
{
    match operand {
        Operand::Value(id) => new(*id),
        literal => *literal,
    }
}

fn literals<T: Copy>(list: &[Operand<T>]) -> Option<Vec<T>> {
    let literal = |operand: &Operand<T>| match operand {
        Operand::Literal(value) => Some(*value),
        Operand::Value(_) => None,
    };
    list.iter().map(literal).collect()
}

/// An argument with its values replaced; a value that is gone stays as it is, which only happens to what is left out
/// itself.
pub(super) fn argument_with(argument: &Argument, now: &dyn Fn(ValueId) -> Option<New>) -> Argument {
    let value = |id: ValueId| match now(id) {
        Some(New::Value(new)) => new,
        _ => id,
    };
    let int = |id: ValueId| match now(id) {
        Some(New::Int(literal)) => Operand::Literal(literal),
        Some(New::Bool(literal)) => Operand::Literal(literal.into()),
        _ => Operand::Value(value(id)),
    };
    let float = |id: ValueId| match now(id) {
        Some(New::Float(literal)) => Operand::Literal(literal),
        Some(New::Int(literal)) => Operand::Literal(literal as f64),
        _ => Operand::Value(value(id)),
    };
    let truth = |id: ValueId| match now(id) {
        Some(New::Bool(literal)) => Operand::Literal(literal),
        _ => Operand::Value(value(id)),
    };
    match argument {
        Argument::SymInt(item) => match operand(item, int) {
            Operand::Literal(literal) => Argument::Int(literal),
            other => Argument::SymInt(other),
        },
        Argument::SymInts(list) => {
            let list: Vec<_> = list.iter().map(|item| operand(item, int)).collect();
            literals(&list).map_or(Argument::SymInts(list), Argument::Ints)
        }
        Argument::SymFloat(item) => match operand(item, float) {
            Operand::Literal(literal) => Argument::Float(literal),
            other => Argument::SymFloat(other),
        },
        Argument::SymFloats(list) => {
            let list: Vec<_> = list.iter().map(|item| operand(item, float)).collect();
            literals(&list).map_or(Argument::SymFloats(list), Argument::Floats)
        }
        Argument::SymBool(item) => match operand(item, truth) {
            Operand::Literal(literal) => Argument::Bool(literal),
            other => Argument::SymBool(other),
        },
        Argument::SymBools(list) => {
            let list: Vec<_> = list.iter().map(|item| operand(item, truth)).collect();
            literals(&list).map_or(Argument::SymBools(list), Argument::Bools)
        }
        Argument::Tensor(id) => Argument::Tensor(value(*id)),
        Argument::CustomObj(id) => Argument::CustomObj(value(*id)),
        Argument::OptionalTensor(id) => Argument::OptionalTensor(id.map(value)),
        Argument::Tensors(ids) => Argument::Tensors(ids.iter().map(|&id| value(id)).collect()),
        Argument::OptionalTensors(ids) => {
            Argument::OptionalTensors(ids.iter().map(|id| id.map(value)).collect())
        }
        Argument::NestedTensors(lists) => Argument::NestedTensors(
            lists.iter().map(|ids| ids.iter().map(|&id| value(id)).collect()).collect(),
        ),
        Argument::List(items) => Argument::List(items.iter().map(|item| argument_with(item, now)).collect()),
        Argument::Map(map) => {
            let entries = map.iter().map(|(key, item)| (key.clone(), argument_with(item, now)));
            Argument::Map(Box::new(entries.collect()))
        }
        other => other.clone(),
    }
}

fn with_graphs(argument: &Argument, inner: &mut dyn FnMut(&Subgraph) -> Graph) -> Argument {
    match argument {
        Argument::Graph(subgraph) => {
            Argument::Graph(Arc::new(Subgraph { name: subgraph.name.clone(), graph: inner(subgraph) }))
        }
        Argument::List(items) => Argument::List(items.iter().map(|item| with_graphs(item, inner)).collect()),
        other => other.clone(),
    }
}

/// The program with another graph. Calls of modules whose values are gone are forgotten, but not the whole program's
/// own.
pub(super) fn with_graph(program: &Program, graph: Graph) -> Program {
    let mut program = program.clone();
    for call in program.module_calls.iter_mut().filter(|call| !call.fqn.is_empty()) {
        let gone = call.signature.as_ref().is_some_and(|signature| {
            let mut values = signature.inputs.iter().chain(&signature.outputs);
            values.any(|value| match value {
                sizewise_ir::CallValue::Named { name, .. } | sizewise_ir::CallValue::Object { name, .. } => {
                    graph.find(name).is_none()
                }
                _ => false,
            })
        });
        if gone {
            call.signature = None;
        }
    }
    program.graph = graph;
    program
}

/// The call of the whole program names its results: these have new names.
pub(super) fn rename_results(program: &mut Program, outputs: &[Argument]) {
    let graph = &program.graph;
    let whole = program.module_calls.iter_mut().find(|call| call.fqn.is_empty());
    let Some(signature) = whole.and_then(|call| call.signature.as_mut()) else { return };
    for (result, output) in signature.outputs.iter_mut().zip(outputs) {
        if let (
            sizewise_ir::CallValue::Named { name, .. } | sizewise_ir::CallValue::Object { name, .. },
            Some(value),
        ) = (result, output.value())
        {
            *name = graph.name(value).clone();
        }
    }
}
