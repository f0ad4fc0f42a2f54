//! The order of nodes: each value is made once, before it is used; functions do not call themselves.
use super::links::Links;
use super::message::{GraphProto, NodeProto, ValueInfoProto};
use super::scope::{NameScope, names_before, place};
use super::tensor::misplaced;
use super::{Model, ReadError, domain_of, graphs_of, wrong};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Orders the nodes of a graph.
pub(super) fn graph(graph: &mut GraphProto, outer: Option<&NameScope>) -> Result<Links, ReadError> {
    if outer.is_some()
        && let Some((sparse, why)) =
            graph.sparse_initializer.iter().find_map(|own| Some((own, misplaced(own)?)))
    {
        let name = sparse.values.as_ref().map_or("", |values| values.name.as_str());
        return Err(wrong(format!("sparse initializer `{name}`"), why));
    }
    let mut nodes = std::mem::take(&mut graph.node);
    let scope = NameScope::new(names_before(graph), outer);
    let mut seen = FxHashSet::default();
    if let Some(twice) = graph.input.iter().find(|input| !seen.insert(input.name.as_str())) {
        return Err(wrong(format!("input `{}`", twice.name), "two inputs have this name"));
    }
    let name = format!("graph `{}`", graph.name);
    let links = self::nodes(&mut nodes, &scope, &graph.output, &name, outer.is_none())?;
    graph.node = nodes;
    Ok(links)
}

/// Orders nodes, and the graphs within them. `results` are the outputs of their graph. Those of the main graph may be in
/// any order, as onnxruntime takes them; subgraphs and functions have to be
/// sorted topologically, as the specification says.
pub(super) fn nodes(
    list: &mut [NodeProto],
    known: &NameScope,
    results: &[ValueInfoProto],
    graph_name: &str,
    is_main: bool,
) -> Result<Links, ReadError> {
    let (mut links, uses) = Links::of(list, known, results)?;
    if let Some(uses) = uses {
        let order = order(list, &uses, graph_name)?;
        if let Some((maker, user)) = uses.iter().find(|(maker, user)| maker > user && !is_main) {
            let message = format!("it uses what {} makes, which comes later", place(&list[*maker]));
            return Err(wrong(place(&list[*user]), message));
        }
        links.reorder(&order);
        put_in_order(list, &order);
    }
    within(list, links.with_graphs(), known)?;
    Ok(links)
}

/// Puts at each place the node whose position `order` says, by as many exchanges as there are nodes at most.
fn put_in_order(list: &mut [NodeProto], order: &[usize]) {
    let mut places = vec![0; order.len()];
    for (place, &at) in order.iter().enumerate() {
        places[at] = place;
    }
    for at in 0..list.len() {
        while places[at] != at {
            let place = places[at];
            list.swap(at, place);
            places.swap(at, place);
        }
    }
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

/// Orders the graphs within the nodes that have some.
fn within(
    list: &mut [NodeProto],
    with_graphs: impl Iterator<Item = usize>,
    known: &NameScope,
) -> Result<(), ReadError> {
    let mut taken: Vec<_> = with_graphs.map(|at| (at, std::mem::take(&mut list[at].attribute))).collect();
    if taken.is_empty() {
        return Ok(());
    }
    let mut scope = NameScope::new(std::iter::empty(), Some(known));
    let mut before = 0;
    for (at, attributes) in &mut taken {
        // What comes later may have the name of a value within.
        scope.add(list[before..*at].iter().flat_map(|node| node.output.iter().map(String::as_str)));
        before = *at;
        for attribute in attributes {
            for inner in attribute.g.as_deref_mut().into_iter().chain(&mut attribute.graphs) {
                graph(inner, Some(&scope))?;
            }
        }
    }
    for (at, attributes) in taken {
        list[at].attribute = attributes;
    }
    Ok(())
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
            lists.extend(graphs_of(node).map(|graph| graph.node.as_slice()));
        }
    }
    found
}
