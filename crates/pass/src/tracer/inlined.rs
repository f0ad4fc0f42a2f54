//! Autocast regions of a program that is traced anew: their calls are put in the place of the region.
use super::over::{Editor, Over};
use super::{Proxy, TraceError, Tracer};
use sizewise_check::propagate::recorded;
use sizewise_check::records::Records;
use sizewise_ir::{Argument, GraphInput, Node, Program, Subgraph, ValueId};
use sizewise_kernels::autocast::Regions;

/// The regions around the call at hand, and those around the regions that were entered and not left.
#[derive(Default)]
pub(super) struct Around {
    now: Regions,
    entered: Vec<Regions>,
}

impl<'o> Tracer<'o> {
    /// The autocast regions around the call at hand.
    pub(crate) fn regions(&self) -> Regions {
        self.around.now.clone()
    }

    /// Follows a node that begins or ends a region; whether it is one. Nothing of it is kept.
    pub(super) fn at_region(
        &mut self,
        node: &Node,
        records: &mut Records<'_>,
        edit: &mut Editor<'_, 'o>,
    ) -> Result<bool, TraceError> {
        match node.target.python().map(|(_, function)| function) {
            Some("_enter_autocast") => {
                let inner = self.entered(node)?;
                let outer = std::mem::replace(&mut self.around.now, inner);
                self.around.entered.push(outer);
                return Ok(true);
            }
            Some("_exit_autocast") => {
                self.around.now = self.around.entered.pop().unwrap_or_default();
                return Ok(true);
            }
            _ => {}
        }
        let graphs = node.subgraphs();
        if let (Some("wrap_with_autocast"), [only]) = (node.target.higher_order(), graphs.as_slice()) {
            let inner = self.entered(node)?;
            let outer = std::mem::replace(&mut self.around.now, inner);
            let entered = std::mem::take(&mut self.around.entered);
            let made = self.inlined(node, only, records, edit);
            (self.around.now, self.around.entered) = (outer, entered);
            made?;
            return Ok(true);
        }
        Ok(false)
    }

    fn entered(&self, node: &Node) -> Result<Regions, TraceError> {
        let inner = self.around.now.entered(node);
        inner.ok_or_else(|| TraceError::Malformed(format!("`{}` is no autocast region", node.name)))
    }

    /// Traces the calls of a graph in the place of the node that runs it.
    fn inlined(
        &mut self,
        node: &Node,
        inner: &Subgraph,
        records: &mut Records<'_>,
        edit: &mut Editor<'_, 'o>,
    ) -> Result<(), TraceError> {
        let malformed = |message: &str| TraceError::Malformed(format!("`{}` {message}", node.name));
        let behind = node.inputs.iter().position(|input| matches!(input.arg, Argument::Graph(_)));
        let mut given: Vec<ValueId> = Vec::new();
        for input in node.inputs.iter().skip(behind.map_or(0, |at| at + 1)) {
            input.arg.for_each_value(&mut |id| given.push(id));
        }
        let graph = &inner.graph;
        if given.len() != graph.inputs().len() {
            return Err(malformed("has not as many operands as its graph has inputs"));
        }
        let mut old = Vec::with_capacity(graph.value_count());
        for (_, _, value) in graph.values() {
            let value = recorded::value(records, &mut self.env, &value.meta);
            old.push(value.map_err(|error| malformed(&error.to_string()))?);
        }
        let mut now: Vec<Option<Proxy>> = vec![None; graph.value_count()];
        for (operand, input) in given.iter().zip(graph.inputs()) {
            if let GraphInput::Value(id) = input {
                now[id.index()] = self.now(*operand);
            }
        }
        let Some(mut outer) = self.over.take() else { return Err(malformed("is of no program")) };
        let program = Program { graph: graph.clone(), ..outer.program.clone() };
        let sizes_read = std::mem::take(&mut outer.sizes_read);
        let guards = outer.guards;
        self.over = Some(Over { program, old, now, guards, keeps_records: true, inlined: true, sizes_read });
        let made = self.edit_nodes(graph, records, edit);
        let mut results: Vec<Option<Proxy>> = Vec::new();
        for output in graph.outputs() {
            output.for_each_value(&mut |id| results.push(self.now(id)));
        }
        outer.sizes_read = self.over.take().map(|over| over.sizes_read).unwrap_or_default();
        self.over = Some(outer);
        made?;
        let results: Option<Vec<Proxy>> = results.into_iter().collect();
        let results = results.ok_or_else(|| malformed("has a graph that returns what it has not made"))?;
        self.stand_for(node, &results)
    }
}
