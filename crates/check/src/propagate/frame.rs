//! The values of a graph that is being run.
use super::uses::Untrusted;
use sizewise_ir::{Graph, ValueId};
use sizewise_kernels::Value;

/// The values of one graph.
pub(super) struct Frame<'p> {
    pub graph: &'p Graph,
    /// The index of the current node.
    pub at: usize,
    values: Vec<Value>,
    pub untrusted: Untrusted,
}

impl<'p> Frame<'p> {
    /// A frame without values; `untrusted` says whether the graph's inputs depend on an unsupported operator.
    pub fn new(graph: &'p Graph, untrusted: bool) -> Frame<'p> {
        Frame {
            graph,
            at: 0,
            values: vec![Value::Opaque; graph.value_count()],
            untrusted: Untrusted::within(untrusted),
        }
    }

    /// A value; `Opaque` where there is none yet.
    pub fn value(&self, id: ValueId) -> &Value {
        self.values.get(id.index()).unwrap_or(&Value::Opaque)
    }

    /// Sets a value.
    pub fn set(&mut self, id: ValueId, value: Value) {
        if let Some(slot) = self.values.get_mut(id.index()) {
            *slot = value;
        }
    }
}
