//! Names of values and nodes, each of which is given once.
use rustc_hash::FxHashSet;
use sizewise_ir::Graph;
use std::sync::Arc;

/// The names that are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Names(FxHashSet<Arc<str>>);

impl Names {
    /// Those of a graph's values and nodes.
    pub fn of(graph: &Graph) -> Names {
        let values = graph.values().map(|(_, name, _)| name.clone());
        Names(values.chain(graph.nodes().iter().map(|node| node.name.clone())).collect())
    }

    /// Takes a name. Whether nothing had it.
    pub fn insert(&mut self, name: Arc<str>) -> bool {
        self.0.insert(name)
    }

    /// Takes a name that nothing has: `base`, or `base` with a number.
    pub fn fresh(&mut self, base: &str) -> Arc<str> {
        let mut name: Arc<str> = base.into();
        let mut number = 1;
        while !self.insert(name.clone()) {
            name = format!("{base}_{number}").into();
            number += 1;
        }
        name
    }

    /// How many names begin so.
    pub fn beginning_with(&self, start: &str) -> usize {
        self.0.iter().filter(|known| known.starts_with(start)).count()
    }
}
