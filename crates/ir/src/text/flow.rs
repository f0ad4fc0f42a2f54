//! A graph as statements: calls whose several results are taken apart by `getitem`, with the last use of each value.

use rustc_hash::{FxHashMap, FxHashSet};

use super::Detail;
use crate::{Graph, Node, Output, ValueId};

/// A statement.
#[derive(Debug)]
pub(super) enum Statement<'g> {
    /// A graph is fetched: its name.
    Fetch(&'g str),
    /// A node is called; `name` is what its result is called, and `value` the result when there is just one.
    Call { node: &'g Node, name: String, value: Option<ValueId> },
    /// `name = from[index]`.
    Item { name: String, from: String, index: usize, value: Option<ValueId> },
}

impl Statement<'_> {
    /// The name that the statement gives.
    pub fn name(&self) -> &str {
        match self {
            Statement::Fetch(name) => name,
            Statement::Call { name, .. } | Statement::Item { name, .. } => name,
        }
    }

    /// The names that the statement uses.
    pub fn uses(&self, graph: &Graph) -> Vec<String> {
        match self {
            Statement::Fetch(_) => Vec::new(),
            Statement::Item { from, .. } => vec![from.clone()],
            Statement::Call { node, .. } => {
                let mut names = Vec::new();
                for input in &node.inputs {
                    input.arg.for_each_graph(&mut |subgraph| names.push(subgraph.name.to_string()));
                    input.arg.for_each_value(&mut |value| names.push(graph.name(value).to_string()));
                }
                names
            }
        }
    }
}

/// The statements of a graph.
pub(super) fn statements(graph: &Graph, detail: Detail) -> Vec<Statement<'_>> {
    let mut taken: FxHashSet<String> = graph.values().map(|(_, name, _)| name.to_string()).collect();
    let used = used_values(graph);
    let mut fetched = FxHashSet::default();
    let mut list = Vec::new();
    for node in graph.nodes() {
        for subgraph in node.subgraphs() {
            if fetched.insert(&*subgraph.name) {
                list.push(Statement::Fetch(&subgraph.name));
            }
        }
        call(graph, node, detail, &used, &mut taken, &mut list);
    }
    list
}

fn used_values(graph: &Graph) -> FxHashSet<ValueId> {
    let mut used = FxHashSet::default();
    let arguments = graph.nodes().iter().flat_map(|node| &node.inputs).map(|input| &input.arg);
    arguments.chain(graph.outputs()).for_each(|argument| {
        argument.for_each_value(&mut |value| {
            used.insert(value);
        });
    });
    used
}

/// A name that is not taken.
fn fresh(base: &str, taken: &mut FxHashSet<String>) -> String {
    let mut name = base.to_owned();
    let mut number = 1;
    while !taken.insert(name.clone()) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

fn call<'g>(
    graph: &'g Graph,
    node: &'g Node,
    detail: Detail,
    used: &FxHashSet<ValueId>,
    taken: &mut FxHashSet<String>,
    list: &mut Vec<Statement<'g>>,
) {
    if let [Output::Value(value)] = node.outputs.as_slice()
        && (graph.name(*value) == &node.name || node.target.higher_order().is_none())
    {
        let name = graph.name(*value).to_string();
        list.push(Statement::Call { node, name, value: Some(*value) });
        return;
    }
    let name = fresh(&node.name, taken);
    list.push(Statement::Call { node, name: name.clone(), value: None });
    // The values are numbered in the order of these statements when they are read back.
    let wanted = |value: ValueId| detail == Detail::Full || used.contains(&value);
    let single_list = matches!(node.outputs.as_slice(), [Output::List(_)]) && node.target.op().is_some();
    for (index, output) in node.outputs.iter().enumerate() {
        match output {
            Output::Value(value) if wanted(*value) => {
                let item = graph.name(*value).to_string();
                list.push(Statement::Item { name: item, from: name.clone(), index, value: Some(*value) });
            }
            Output::List(values) => {
                let from = if single_list {
                    name.clone()
                } else {
                    let inner = fresh(&format!("{name}_{index}"), taken);
                    let from = name.clone();
                    list.push(Statement::Item { name: inner.clone(), from, index, value: None });
                    inner
                };
                for (at, value) in values.iter().enumerate() {
                    let Some(value) = value.filter(|value| wanted(*value)) else { continue };
                    let item = graph.name(value).to_string();
                    let from = from.clone();
                    list.push(Statement::Item { name: item, from, index: at, value: Some(value) });
                }
            }
            _ => {}
        }
    }
}

/// How often each name is used, and by which statement last; the statement behind the last one is the return.
pub(super) struct Uses {
    pub count: FxHashMap<String, usize>,
    pub last: FxHashMap<String, usize>,
}

/// Counts the users of every name.
pub(super) fn uses(graph: &Graph, statements: &[Statement<'_>]) -> Uses {
    let mut uses = Uses { count: FxHashMap::default(), last: FxHashMap::default() };
    let mut add = |mut names: Vec<String>, at: usize| {
        names.sort_unstable();
        names.dedup();
        for name in names {
            *uses.count.entry(name.clone()).or_default() += 1;
            uses.last.insert(name, at);
        }
    };
    for (at, statement) in statements.iter().enumerate() {
        add(statement.uses(graph), at);
    }
    let mut returned = Vec::new();
    for output in graph.outputs() {
        output.for_each_value(&mut |value| returned.push(graph.name(value).to_string()));
    }
    add(returned, statements.len());
    uses
}
