//! Builds graphs.
use super::constant::Constant;
use super::error::{ReadError, ReadErrorKind, ReadResult};
use super::graph::{Argument, Graph, GraphInput, Node, Origin, Value, ValueId};
use super::meta::Meta;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use std::sync::Arc;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Input, Operand, Output, PassedAs};
    use crate::meta::Sym;
    use crate::target::Target;

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
            passed_as: PassedAs::Positional,
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
