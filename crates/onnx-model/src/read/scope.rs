//! Which values a graph sees, and what graphs within a node use of them.
use super::graphs_of;
use super::message::{GraphProto, NodeProto};
use rustc_hash::{FxHashMap, FxHashSet};

/// The values that a graph sees: its own, and those of the graphs around it.
#[derive(Default)]
pub(super) struct NameScope<'s> {
    /// The number of each name, and the numbers of all names that were given.
    names: FxHashMap<&'s str, u32>,
    numbers: Vec<u32>,
    outer: Option<&'s NameScope<'s>>,
}

impl<'s> NameScope<'s> {
    /// The values of these names, within the scope of another graph.
    pub(super) fn new(
        names: impl Iterator<Item = &'s str>,
        outer: Option<&'s NameScope<'s>>,
    ) -> NameScope<'s> {
        let mut scope = NameScope { outer, ..NameScope::default() };
        scope.add(names);
        scope
    }

    /// Adds the values of these names.
    pub(super) fn add(&mut self, names: impl Iterator<Item = &'s str>) {
        for name in names {
            let next = self.names.len() as u32;
            self.numbers.push(*self.names.entry(name).or_insert(next));
        }
    }

    fn contains(&self, name: &str) -> bool {
        self.names.contains_key(name) || self.is_outside(name)
    }

    /// The values of the graph itself and their numbers.
    pub(super) fn own(&self) -> &FxHashMap<&'s str, u32> {
        &self.names
    }

    /// Whether a graph around it has a value of this name.
    pub(super) fn is_outside(&self, name: &str) -> bool {
        self.outer.is_some_and(|outer| outer.contains(name))
    }

    /// How many values the graph itself has.
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// The numbers of the names that were given.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.numbers.clone()
    }
}

/// The names of a graph's inputs, initializers and sparse initializers with values, in this order.
pub fn names_before(graph: &GraphProto) -> impl Iterator<Item = &str> {
    let inputs = graph.input.iter().map(|input| input.name.as_str());
    let initializers = graph.initializer.iter().map(|tensor| tensor.name.as_str());
    let sparse = graph.sparse_initializer.iter();
    let sparse = sparse.filter_map(|tensor| Some(tensor.values.as_ref()?.name.as_str()));
    inputs.chain(initializers).chain(sparse)
}

/// The names that graphs within a node use and do not make themselves.
pub(super) fn captured(node: &NodeProto) -> Vec<&str> {
    let mut used = Vec::new();
    // Each graph with the names that those between it and the node make.
    let mut graphs: Vec<(&GraphProto, FxHashSet<&str>)> =
        graphs_of(node).map(|graph| (graph, FxHashSet::default())).collect();
    while let Some((graph, mut own)) = graphs.pop() {
        own.extend(names_before(graph));
        own.extend(graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str)));
        let outputs = graph.output.iter().map(|output| output.name.as_str());
        let inputs = graph.node.iter().flat_map(|node| node.input.iter().map(String::as_str));
        used.extend(outputs.chain(inputs).filter(|name| !own.contains(name)));
        graphs.extend(graph.node.iter().flat_map(graphs_of).map(|graph| (graph, own.clone())));
    }
    used
}

/// What a node is called in messages.
pub(super) fn place(node: &NodeProto) -> String {
    match (node.name.as_str(), node.output.first()) {
        ("", Some(output)) => format!("node of `{output}` ({})", node.op_type),
        (name, _) => format!("node `{name}` ({})", node.op_type),
    }
}
