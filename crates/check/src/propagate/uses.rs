//! Which values are used, and which ones depend on the results of unsupported operators.
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_ir::{Graph, Node, ValueId};

/// The values that something uses, by graph.
#[derive(Default)]
pub(super) struct Uses {
    /// By the address of the graph, which lives as long as the program.
    used: FxHashMap<usize, Vec<bool>>,
}

impl Uses {
    /// Whether a node of the graph or the graph's outputs use a value.
    pub fn is_used(&mut self, graph: &Graph, value: ValueId) -> bool {
        let used = self.used.entry(std::ptr::from_ref(graph).addr()).or_insert_with(|| {
            let mut used = vec![false; graph.value_count()];
            let mut mark = |id: ValueId| used[id.index()] = true;
            graph.outputs().iter().for_each(|output| output.for_each_value(&mut mark));
            for node in graph.nodes() {
                node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut mark));
            }
            used
        });
        used.get(value.index()).copied().unwrap_or(true)
    }
}

/// The values of one graph that depend on results of unsupported operators.
#[derive(Default)]
pub(super) struct Untrusted {
    values: FxHashSet<ValueId>,
    /// The graph was called with such a value.
    all: bool,
}

impl Untrusted {
    /// Those of a graph that is called; `all` when it is called with such a value.
    pub fn within(all: bool) -> Untrusted {
        Untrusted { values: FxHashSet::default(), all }
    }

    /// Whether a node takes such a value.
    pub fn is_used_by(&self, node: &Node) -> bool {
        if self.all || self.values.is_empty() {
            return self.all;
        }
        let mut reached = false;
        for input in &node.inputs {
            input.arg.for_each_value(&mut |id| reached |= self.values.contains(&id));
        }
        reached
    }

    /// Adds what a node gives.
    pub fn add(&mut self, node: &Node) {
        self.values.extend(node.output_values());
    }
}
