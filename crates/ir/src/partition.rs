//! Nodes grouped by the module or function of the user's code that they come from, as backends look for a `Linear` to
//! take whole.
//!
//! Source: `torch/fx/passes/utils/source_matcher_utils.py` (`get_source_partitions`).

use indexmap::{IndexMap, IndexSet};

use super::graph::{Graph, Node, Origin, ValueId};

/// The nodes of one call of a module or function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePartition {
    /// The call: the module's qualified name (`encoder.layers.0`, `encoder.layers.0@1` when it is called again) or the
    /// function's number (`linear_1`).
    pub call: String,
    /// The places of the nodes in the graph, in order.
    pub nodes: Vec<usize>,
    /// The values from outside that the nodes use, in order of first use; the graph's inputs among them.
    pub inputs: Vec<ValueId>,
    /// The values of the nodes that others use or the graph returns, in order.
    pub outputs: Vec<ValueId>,
}

/// The calls of a module or function, in order of their first nodes. `source` is a module's class, with its module or
/// without (`torch.nn.modules.linear.Linear`, `Linear`), or the name of a function (`linear`). Nodes of one call
/// count as one partition, even where they do not follow each other.
///
/// ```
/// use sizewise_ir::{partition::source_partitions, text};
///
/// let program = text::read(
///     "class M(torch.nn.Module):
///     def forward(self, x: \"f32[s0, 3]\"):
///         y: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)
///         return (y,)
/// ",
/// )?;
/// // Text has no modules.
/// assert!(source_partitions(&program.graph, "ReLU").is_empty());
/// # Ok::<(), sizewise_ir::ReadError>(())
/// ```
pub fn source_partitions(graph: &Graph, source: &str) -> Vec<SourcePartition> {
    let mut calls: IndexMap<String, Vec<usize>> = IndexMap::new();
    let mut place_of = vec![None; graph.nodes().len()];
    for (at, node) in graph.nodes().iter().enumerate() {
        if let Some(call) = call_of(node, source) {
            let entry = calls.entry(call);
            place_of[at] = Some(entry.index());
            entry.or_default().push(at);
        }
    }
    let mut inputs = vec![IndexSet::new(); calls.len()];
    let mut outputs = vec![IndexSet::new(); calls.len()];
    let partition_of = |value: ValueId| match graph.value(value).origin {
        Origin::Node(at) => place_of.get(at).copied().flatten(),
        Origin::Input(_) => None,
    };
    let mut see = |user: Option<usize>, value: ValueId| {
        let producer = partition_of(value);
        if producer != user {
            add(&mut inputs, user, value);
            add(&mut outputs, producer, value);
        }
    };
    for (node, &user) in graph.nodes().iter().zip(&place_of) {
        node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut |value| see(user, value)));
    }
    graph.outputs().iter().for_each(|output| output.for_each_value(&mut |value| see(None, value)));
    let mut found = Vec::with_capacity(calls.len());
    for (((call, nodes), inputs), outputs) in calls.into_iter().zip(inputs).zip(outputs) {
        let mut outputs: Vec<ValueId> = outputs.into_iter().collect();
        outputs.sort_unstable();
        found.push(SourcePartition { call, nodes, inputs: inputs.into_iter().collect(), outputs });
    }
    found
}

/// Adds a value to the set of a partition; a node of none has no set.
fn add(sets: &mut [IndexSet<ValueId>], partition: Option<usize>, value: ValueId) {
    if let Some(set) = partition.and_then(|at| sets.get_mut(at)) {
        set.insert(value);
    }
}

/// The call of `source` that a node is part of: of the innermost module of that class, else of that function.
fn call_of(node: &Node, source: &str) -> Option<String> {
    let is = |class: &str| class == source || class.rsplit('.').next() == Some(source);
    let modules = node.provenance.modules().filter(|module| is(module.class));
    if let Some(module) = modules.last() {
        // The keys of later calls of one module end with the number of the call: `L__self__l@1`.
        let call = module.key.rsplit_once('@').map(|(_, number)| format!("{}@{number}", module.path));
        return Some(call.unwrap_or_else(|| module.path.to_owned()));
    }
    let (call, function) = node.provenance.torch_fn.as_deref()?.split_once(';')?;
    is(function).then(|| call.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::Provenance;
    use crate::pt2::{ReadOptions, read};
    use crate::target::Target;
    use std::path::Path;

    fn shown(source: &str) -> Vec<String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/programs/nn_dlrm.pt2");
        let bytes = std::fs::read(path).expect("the program");
        let graph = read(&bytes, &ReadOptions::default()).expect("a program").graph;
        let names = |values: &[ValueId]| {
            values.iter().map(|&id| graph.name(id).to_string()).collect::<Vec<_>>().join(", ")
        };
        let show = |found: SourcePartition| {
            let nodes: Vec<&str> = found.nodes.iter().map(|&at| &*graph.nodes()[at].name).collect();
            let (inputs, outputs) = (names(&found.inputs), names(&found.outputs));
            format!("{}: {} of {inputs} gives {outputs}", found.call, nodes.join(", "))
        };
        source_partitions(&graph, source).into_iter().map(show).collect()
    }

    #[test]
    fn nodes_of_one_call_are_a_partition_with_what_goes_in_and_out() {
        let linear = [
            "b: linear of dense, p_b_weight, p_b_bias gives linear",
            "t: linear_1 of cat, p_t_weight, p_t_bias gives linear_1",
        ];
        assert_eq!(shown("Linear"), linear);
        assert_eq!(shown("torch.nn.modules.linear.Linear"), linear);
        assert!(shown("linear")[1].starts_with("linear_2: linear_1 of cat,"), "{:?}", shown("linear"));
        let bags = shown("EmbeddingBag");
        assert_eq!(bags.len(), 3);
        let first = "emb.0: sym_numel_default, arange, reshape, embedding_bag of ";
        assert!(bags[0].starts_with(first) && bags[0].ends_with(" gives getitem"), "{}", bags[0]);
        assert!(shown("Conv2d").is_empty());
    }

    #[test]
    fn calls_of_one_module_are_told_apart() {
        // As torch 2.15 records them; strict export has the module's address for `L__self__`.
        for (key, call) in [("L__self__l", "l"), ("L__self__l@1", "l@1"), ("139798930339984@2", "l@2")] {
            let stack = format!("L__self__,,__main__.M;{key},l,torch.nn.modules.linear.Linear");
            let provenance = Provenance { nn_module_stack: Some(stack.into()), ..Provenance::default() };
            let target = Target::parse("torch.ops.aten.linear.default");
            let (inputs, outputs) = (Vec::new(), Vec::new());
            let node =
                Node { name: "linear".into(), target, inputs, outputs, hop_single_tensor: None, provenance };
            assert_eq!(call_of(&node, "Linear").as_deref(), Some(call), "{key}");
        }
    }
}
