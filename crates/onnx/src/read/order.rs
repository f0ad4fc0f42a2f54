//! The order of nodes: each value is made once, before it is used; functions do not call themselves.
use super::message::{GraphProto, NodeProto};
use super::{Model, ReadError, domain_of, wrong};
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
    let mut unmade: FxHashSet<&str> = graph.output.iter().map(|output| output.name.as_str()).collect();
    unmade.retain(|name| !scope.contains(name));
    for name in graph.node.iter().flat_map(|node| &node.output) {
        unmade.remove(name.as_str());
    }
    match graph.output.iter().find(|output| unmade.contains(output.name.as_str())) {
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
    let mut made: FxHashMap<&str, usize> = FxHashMap::with_capacity_and_hasher(list.len(), FxBuildHasher);
    for (at, node) in list.iter().enumerate() {
        for output in node.output.iter().filter(|output| !output.is_empty()) {
            if known.contains(output) || made.insert(output, at).is_some() {
                return Err(wrong(place(node), format!("`{output}` is made more than once")));
            }
        }
    }
    // Who makes what each node uses.
    let mut uses: Vec<(usize, usize)> = Vec::with_capacity(list.len());
    let mut used: Vec<&str> = Vec::new();
    for (at, node) in list.iter().enumerate() {
        used.clear();
        used.extend(node.input.iter().map(String::as_str));
        node.attribute.iter().for_each(|attribute| captured(attribute, &mut used));
        for name in used.iter().copied().filter(|name| !name.is_empty()) {
            match made.get(name) {
                Some(&maker) => uses.push((maker, at)),
                // What graphs within name may be their own.
                None if known.contains(name) || !node.input.iter().any(|input| input == name) => {}
                None => return Err(wrong(place(node), format!("its input `{name}` is made by nothing"))),
            }
        }
    }
    if uses.iter().any(|(maker, user)| maker >= user) {
        let order = order(list, &uses, graph_name)?;
        let mut taken: Vec<Option<NodeProto>> = std::mem::take(list).into_iter().map(Some).collect();
        // Each is taken once.
        list.extend(order.into_iter().map(|at| taken[at].take().unwrap_or_default()));
    }
    within(list, known)
}

/// An order of nodes in which each comes after those that make what it uses, given as pairs of maker and user.
fn order(list: &[NodeProto], uses: &[(usize, usize)], graph_name: &str) -> Result<Vec<usize>, ReadError> {
    // How many uses each node waits for, and where the users of each maker end.
    let (mut waits, mut ends) = (vec![0; list.len()], vec![0; list.len() + 1]);
    for &(maker, user) in uses {
        waits[user] += 1;
        ends[maker + 1] += 1;
    }
    for at in 0..list.len() {
        ends[at + 1] += ends[at];
    }
    // The users of each maker, next to each other: `ends` of a maker is where they begin until all are there.
    let mut users = vec![0; uses.len()];
    for &(maker, user) in uses {
        users[ends[maker]] = user;
        ends[maker] += 1;
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        (0..list.len()).filter(|&at| waits[at] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(list.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        let first = if at == 0 { 0 } else { ends[at - 1] };
        for &user in &users[first..ends[at]] {
            waits[user] -= 1;
            if waits[user] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if let Some(at) = (0..list.len()).find(|&at| waits[at] > 0) {
        return Err(wrong(place(&list[at]), format!("it is in a circle of nodes of the {graph_name}")));
    }
    Ok(order)
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
