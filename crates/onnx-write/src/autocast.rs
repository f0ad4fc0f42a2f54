//! Autocast regions as casts: what torch's dispatcher does with operands in a region is written out.

use rustc_hash::FxHashMap;

use super::body::Body;
use sizewise_ir::{Dtype, Functions, Graph, Node, TensorMeta, ValueId};
use sizewise_kernels::autocast::{Regions, Treatment};

/// The regions around each function, by its name.
pub(super) fn regions(graph: &Graph, functions: &Functions<'_>) -> FxHashMap<String, Regions> {
    let mut found = FxHashMap::default();
    within(graph, &Regions::default(), functions, &mut found);
    found
}

/// Graphs nest no deeper than the document they were read from.
fn within(
    graph: &Graph,
    around: &Regions,
    functions: &Functions<'_>,
    found: &mut FxHashMap<String, Regions>,
) {
    let mut around = around.clone();
    let mut entered = Vec::new();
    for node in graph.nodes() {
        match node.target.python().map(|(_, function)| function) {
            Some("_enter_autocast") => {
                let inner = around.entered(node).unwrap_or_default();
                entered.push(std::mem::replace(&mut around, inner));
            }
            Some("_exit_autocast") => around = entered.pop().unwrap_or_default(),
            _ => {}
        }
        let inner = match node.target.higher_order() {
            Some("wrap_with_autocast") => around.entered(node).unwrap_or_else(|| around.clone()),
            _ => around.clone(),
        };
        for subgraph in node.subgraphs() {
            if let Some(function) = functions.of(subgraph) {
                found.entry(function.name.clone()).or_insert_with(|| inner.clone());
            }
            within(&subgraph.graph, &inner, functions, found);
        }
    }
}

impl Body<'_, '_> {
    /// Casts the operands of a node as the regions around it say.
    pub(super) fn autocast(&mut self, node: &Node) {
        let Some((namespace, op, overload)) = node.target.op() else { return };
        let op = format!("{namespace}.{op}.{overload}");
        let graph = self.graph;
        let tensors: Vec<(ValueId, &TensorMeta)> = node
            .inputs
            .iter()
            .flat_map(|input| {
                let mut ids = Vec::new();
                input.arg.for_each_value(&mut |id| ids.push(id));
                ids
            })
            .filter_map(|id| Some((id, graph.meta(id).tensor()?)))
            .collect();
        let regions = self.regions.clone();
        let operands: Vec<(&str, Dtype)> =
            tensors.iter().map(|(_, tensor)| (&*tensor.device.kind, tensor.dtype)).collect();
        for region in regions.enabled() {
            let recorded = node.output_values().find_map(|id| Some(graph.meta(id).tensor()?.dtype));
            let (dtype, first_alone) = match region.treatment(&op, &operands) {
                Treatment::Cast(dtype) => (Some(dtype), false),
                Treatment::CastFirst(dtype) => (Some(dtype), true),
                Treatment::Parts => (recorded.or(region.dtype), false),
                // A result's dtype is what the argument that is set says, and it is recorded.
                Treatment::DtypeArgument | Treatment::Kept | Treatment::Refused(_) => continue,
            };
            let Some(dtype) = dtype else { continue };
            let touched = |tensor: &TensorMeta| region.touches(&tensor.device.kind, tensor.dtype);
            let touched = tensors.iter().filter(|(_, tensor)| touched(tensor));
            for (id, _) in touched.take(if first_alone { 1 } else { usize::MAX }) {
                if let Some(value) = self.value(*id).filter(|value| value.dtype != dtype) {
                    let cast = self.cast(&value, dtype);
                    self.cast_operands.insert(*id, cast);
                }
            }
        }
    }
}
