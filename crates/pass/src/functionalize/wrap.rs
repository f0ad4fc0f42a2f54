//! Higher-order operators: graphs within are made functional too. What only changes the mode of autograd is put in the
//! place of its call; a graph that one operator runs once may write its operands, which it then returns.
use super::aliases::TensorId;
use super::calls::number;
use super::frame::{Done, Frame, Functionalizer, Slot, left};
use super::{Place, Rewritten, rewrite};
use crate::error::PassError;
use sizewise_ir::{Argument, GraphInput, Meta, Node, Subgraph, ValueId};
use std::sync::Arc;

/// Operators that run their graph as it stands, in another mode of autograd.
const TRANSPARENT: &[&str] = &["wrap_with_set_grad_enabled"];

impl Functionalizer<'_, '_> {
    /// Takes over a call of a higher-order operator.
    pub fn higher_order(&mut self, frame: &mut Frame<'_>, node: &Node) -> Done {
        let name = node.target.higher_order().unwrap_or_default();
        let graphs = node.subgraphs();
        if let ([only], true) = (graphs.as_slice(), TRANSPARENT.contains(&name)) {
            let only = Arc::clone(only);
            return self.inlined(frame, node, &only);
        }
        let mut made = Vec::with_capacity(graphs.len());
        for inner in &graphs {
            made.push(rewrite(self.emitter.shapes, &inner.graph, Place::Behind)?);
        }
        let writes = made.iter().any(|made| !made.written.is_empty());
        match graphs.as_slice() {
            _ if !writes => self.with_graphs(frame, node, made, &[]).map(|_| ()),
            [_] if node.target.is_wrapper() => self.writing_wrapper(frame, node, made),
            _ => Err(left(node, "a graph of it writes what it is given")),
        }
    }

    /// The operands of a graph: what stands behind it, lists taken apart.
    fn operands(node: &Node) -> Vec<Argument> {
        let graph = node.inputs.iter().position(|input| matches!(input.arg, Argument::Graph(_)));
        let mut list = Vec::new();
        for input in node.inputs.iter().skip(graph.map_or(0, |at| at + 1)) {
            match &input.arg {
                Argument::Tensors(ids) => list.extend(ids.iter().map(|&id| Argument::Tensor(id))),
                other => list.push(other.clone()),
            }
        }
        list
    }

    /// Puts a graph in the place of its call.
    fn inlined(&mut self, frame: &mut Frame<'_>, node: &Node, inner: &Subgraph) -> Done {
        let operands = Self::operands(node);
        if operands.len() != inner.graph.inputs().len() {
            return Err(left(node, "it has not as many operands as its graph has inputs"));
        }
        let mut within = Frame::new(&inner.graph, false);
        for (operand, input) in operands.iter().zip(inner.graph.inputs()) {
            let GraphInput::Value(value) = input else { continue };
            let slot = match operand.value() {
                Some(id) => frame.slots.get(id.index()).copied().flatten(),
                None => number(operand).map(Slot::Other),
            };
            let Some(slot) = slot else {
                return Err(left(node, "an operand is neither a tensor nor a number"));
            };
            within.set(*value, slot);
        }
        for inner_node in inner.graph.nodes() {
            self.node(&mut within, inner_node)?;
        }
        for (output, result) in node.outputs.iter().zip(inner.graph.outputs()) {
            let values: Vec<ValueId> = output.values().collect();
            let mut from = Vec::new();
            result.for_each_value(&mut |id| from.push(within.slots.get(id.index()).copied().flatten()));
            if from.is_empty()
                && let ([_], Some(number)) = (values.as_slice(), number(result))
            {
                from.push(Some(Slot::Other(number)));
            }
            if from.len() != values.len() {
                return Err(left(node, "its results are not those of its graph"));
            }
            for (value, slot) in values.into_iter().zip(from) {
                let Some(slot) = slot else {
                    return Err(left(node, "its graph returns what it has not made"));
                };
                frame.set(value, slot);
            }
        }
        Ok(())
    }

    /// Keeps the call with functional graphs, in their order, which give some more values.
    fn with_graphs(
        &mut self,
        frame: &mut Frame<'_>,
        node: &Node,
        made: Vec<Rewritten>,
        more: &[Meta],
    ) -> Result<Vec<ValueId>, PassError> {
        let mut graphs = made.into_iter().map(|made| made.graph);
        let mut kept = node.clone();
        for input in &mut kept.inputs {
            input.arg.for_each_graph_mut(&mut |inner| {
                if let Some(graph) = graphs.next() {
                    *inner = Arc::new(Subgraph { name: inner.name.clone(), graph });
                }
            });
        }
        let inputs = self.arguments(frame, &kept)?;
        if !more.is_empty() {
            kept.hop_single_tensor = kept.hop_single_tensor.map(|_| false);
        }
        let (pairs, more) = self.emitter.keep_with(frame.graph, &kept, inputs, frame.own_names, more)?;
        self.define(frame, pairs);
        Ok(more)
    }

    /// A graph that runs once and writes its operands: it returns them as well, behind its results.
    fn writing_wrapper(&mut self, frame: &mut Frame<'_>, node: &Node, made: Vec<Rewritten>) -> Done {
        let written: Vec<_> = made.iter().flat_map(|made| made.written.clone()).collect();
        let tensors: Vec<Option<TensorId>> = Self::operands(node)
            .iter()
            .map(|operand| operand.value().and_then(|id| frame.tensor(id)))
            .collect();
        let mut targets = Vec::with_capacity(written.len());
        for (at, _) in &written {
            let Some(tensor) = tensors.get(*at).copied().flatten() else {
                return Err(left(node, "its graph writes what is no tensor"));
            };
            let memory = self.aliases.memory(tensor);
            let others =
                tensors.iter().enumerate().filter(|(other, _)| other != at).filter_map(|(_, other)| *other);
            if others.into_iter().any(|other| self.aliases.memory(other) == memory) {
                return Err(left(node, "its graph writes an operand that shares memory with another"));
            }
            targets.push(tensor);
        }
        let metas: Vec<_> = written.into_iter().map(|(_, meta)| meta).collect();
        let more = self.with_graphs(frame, node, made, &metas)?;
        for (tensor, new) in targets.into_iter().zip(more) {
            self.write(tensor, new, node)?;
        }
        Ok(())
    }
}
