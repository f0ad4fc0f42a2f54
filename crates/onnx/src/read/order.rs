//! The order of nodes: each value is made once, before it is used; functions do not call themselves.
use super::message::{GraphProto, NodeProto};
use super::{Model, ReadError, domain_of, wrong};
use rustc_hash::{FxHashMap, FxHashSet};

/// The values that a graph sees: its own, and those of the graphs around it.
#[derive(Default)]
pub(super) struct Scope<'s> {
    names: FxHashSet<String>,
    outer: Option<&'s Scope<'s>>,
}

impl<'s> Scope<'s> {
    pub(super) fn new(names: FxHashSet<String>, outer: Option<&'s Scope<'s>>) -> Scope<'s> {
        Scope { names, outer }
    }

    fn contains(&self, name: &str) -> bool {
        self.names.contains(name) || self.outer.is_some_and(|outer| outer.contains(name))
    }
}

/// Orders the nodes of a graph.
pub(super) fn graph(graph: &mut GraphProto, outer: Option<&Scope>) -> Result<(), ReadError> {
    let mut names = FxHashSet::default();
    for input in &graph.input {
        if !names.insert(input.name.clone()) {
            return Err(wrong(format!("input `{}`", input.name), "two inputs have this name"));
        }
    }
    let initializers = graph.initializer.iter().map(|tensor| tensor.name.clone());
    let sparse =
        graph.sparse_initializer.iter().filter_map(|tensor| Some(tensor.values.as_ref()?.name.clone()));
    names.extend(initializers.chain(sparse));
    let name = format!("graph `{}`", graph.name);
    let scope = Scope::new(names, outer);
    nodes(&mut graph.node, &scope, &name)?;
    let made: FxHashSet<&String> = graph.node.iter().flat_map(|node| &node.output).collect();
    match graph.output.iter().find(|output| !made.contains(&output.name) && !scope.contains(&output.name)) {
        Some(output) => Err(wrong(format!("output `{}`", output.name), "nothing makes it")),
        None => Ok(()),
    }
}

/// What a node is called in messages.
fn place(node: &NodeProto) -> String {
    match (node.name.as_str(), node.output.first()) {
        ("", Some(output)) => format!("node of `{output}` ({})", node.op_type),
        (name, _) => format!("node `{name}` ({})", node.op_type),
    }
}

/// Orders nodes, and the graphs within them.
pub(super) fn nodes(list: &mut Vec<NodeProto>, known: &Scope, graph_name: &str) -> Result<(), ReadError> {
    let mut made: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, node) in list.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if known.contains(output) || made.insert(output, at).is_some() {
                return Err(wrong(place(node), format!("`{output}` is made more than once")));
            }
        }
    }
    // The nodes that each node waits for.
    let mut waits: Vec<usize> = vec![0; list.len()];
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); list.len()];
    for (at, node) in list.iter().enumerate() {
        let mut used: Vec<&str> = node.input.iter().map(String::as_str).collect();
        node.attribute.iter().for_each(|attribute| captured(attribute, &mut used));
        let mut seen = FxHashSet::default();
        for name in used.into_iter().filter(|name| !name.is_empty()) {
            match made.get(name) {
                Some(&maker) if seen.insert(maker) => {
                    waits[at] += 1;
                    users[maker].push(at);
                }
                Some(_) => {}
                // What graphs within name may be their own.
                None if known.contains(name) || !node.input.iter().any(|input| input == name) => {}
                None => return Err(wrong(place(node), format!("its input `{name}` is made by nothing"))),
            }
        }
    }
    let mut ready: std::collections::BTreeSet<usize> = (0..list.len()).filter(|&at| waits[at] == 0).collect();
    let mut order = Vec::with_capacity(list.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for &user in &users[at] {
            waits[user] -= 1;
            if waits[user] == 0 {
                ready.insert(user);
            }
        }
    }
    if let Some(at) = (0..list.len()).find(|&at| waits[at] > 0) {
        return Err(wrong(place(&list[at]), format!("it is in a circle of nodes of the {graph_name}")));
    }
    if order.iter().copied().ne(0..list.len()) {
        let mut taken: Vec<Option<NodeProto>> = std::mem::take(list).into_iter().map(Some).collect();
        list.extend(order.into_iter().filter_map(|at| taken[at].take()));
    }
    within(list, known)
}

/// Orders the graphs within nodes.
fn within(list: &mut [NodeProto], known: &Scope) -> Result<(), ReadError> {
    let has_graphs = |node: &NodeProto| node.attribute.iter().any(|a| a.g.is_some() || !a.graphs.is_empty());
    if !list.iter().any(has_graphs) {
        return Ok(());
    }
    let scope = Scope::new(list.iter().flat_map(|node| node.output.iter().cloned()).collect(), Some(known));
    for node in list {
        for attribute in &mut node.attribute {
            for inner in attribute.g.iter_mut().chain(&mut attribute.graphs) {
                graph(inner, Some(&scope))?;
            }
        }
    }
    Ok(())
}

/// The names that graphs within an attribute use and do not make themselves.
fn captured<'n>(attribute: &'n super::message::AttributeProto, used: &mut Vec<&'n str>) {
    // Each graph with the names that those between it and the attribute make.
    let mut graphs: Vec<(&GraphProto, FxHashSet<&str>)> =
        attribute.g.iter().chain(&attribute.graphs).map(|graph| (graph, FxHashSet::default())).collect();
    while let Some((graph, mut own)) = graphs.pop() {
        own.extend(graph.input.iter().map(|input| input.name.as_str()));
        own.extend(graph.initializer.iter().map(|tensor| tensor.name.as_str()));
        own.extend(graph.node.iter().flat_map(|node| node.output.iter().map(String::as_str)));
        let outputs = graph.output.iter().map(|output| output.name.as_str());
        let inputs = graph.node.iter().flat_map(|node| node.input.iter().map(String::as_str));
        used.extend(outputs.chain(inputs).filter(|name| !own.contains(name)));
        for node in &graph.node {
            let inner =
                node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
            graphs.extend(inner.map(|graph| (graph, own.clone())));
        }
    }
}

/// Refuses functions that call themselves, by whatever way.
pub(super) fn functions(model: &Model) -> Result<(), ReadError> {
    // For each function who calls it, and how many that it calls are left.
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); model.functions.len()];
    let mut left = vec![0usize; model.functions.len()];
    for (at, function) in model.functions.iter().enumerate() {
        for callee in called(model, &function.message.node) {
            callers[callee].push(at);
            left[at] += 1;
        }
    }
    let mut ready: Vec<usize> = (0..left.len()).filter(|&at| left[at] == 0).collect();
    while let Some(at) = ready.pop() {
        for &caller in &callers[at] {
            left[caller] -= 1;
            if left[caller] == 0 {
                ready.push(caller);
            }
        }
    }
    match left.iter().position(|&left| left > 0) {
        None => Ok(()),
        Some(at) => {
            let name = &model.functions[at].message.name;
            Err(wrong(format!("function `{name}`"), "it calls itself, or a function that does"))
        }
    }
}

fn called(model: &Model, nodes: &[NodeProto]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut lists: Vec<&[NodeProto]> = vec![nodes];
    while let Some(list) = lists.pop() {
        for node in list {
            found.extend(model.function(domain_of(node), &node.op_type));
            let graphs =
                node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs));
            lists.extend(graphs.map(|graph| graph.node.as_slice()));
        }
    }
    found
}
