//! What a node passes and makes.
use super::graph::{Argument, Input, Node, Output, Subgraph, ValueId};
use super::provenance::Provenance;
use super::schema::Schema;
use super::target::Target;
use std::sync::Arc;

impl Node {
    /// A node without provenance.
    pub fn new(name: Arc<str>, target: Target, inputs: Vec<Input>, outputs: Vec<Output>) -> Node {
        Node { name, target, inputs, outputs, hop_single_tensor: None, provenance: Provenance::default() }
    }

    /// The argument for this parameter, if it is passed.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.inputs.iter().find(|input| &*input.name == name).map(|input| &input.arg)
    }

    /// The arguments, each with the parameter of the schema that it is for: by name, or by position where it has
    /// none. The parameter is `None` where the schema has none for it.
    pub fn matched<'n>(&'n self, schema: &Schema) -> impl Iterator<Item = (Option<usize>, &'n Input)> {
        let mut unnamed = 0;
        self.inputs.iter().map(move |input| {
            let parameter = schema.parameter(&input.name, unnamed);
            unnamed += usize::from(input.name.is_empty());
            (parameter, input)
        })
    }

    /// Whether an argument is this value or holds it.
    pub fn uses(&self, value: ValueId) -> bool {
        let mut used = false;
        self.inputs.iter().for_each(|input| input.arg.for_each_value(&mut |id| used |= id == value));
        used
    }

    /// The graphs among the arguments, in order, but not those within them.
    pub fn subgraphs(&self) -> Vec<&Arc<Subgraph>> {
        let mut graphs = Vec::new();
        for input in &self.inputs {
            input.arg.for_each_graph(&mut |graph| graphs.push(graph));
        }
        graphs
    }

    /// Every value the node makes, in order.
    pub fn output_values(&self) -> impl Iterator<Item = ValueId> {
        self.outputs.iter().flat_map(Output::values)
    }
}

impl Output {
    /// The values of this output, in order.
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        let (one, many) = match self {
            Output::Value(value) => (Some(*value), &[] as &[_]),
            Output::List(values) => (None, values.as_slice()),
            Output::None | Output::Constant(_) => (None, &[] as &[_]),
        };
        one.into_iter().chain(many.iter().copied().flatten())
    }
}
