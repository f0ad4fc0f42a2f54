//! Autocast regions as casts: what torch's dispatcher does with operands in a region is written out.

use rustc_hash::FxHashMap;

use super::body::Body;
use super::region::region;
use sizewise_ir::{Dtype, Functions, Graph, Node, TensorMeta, ValueId};
use sizewise_kernels::autocast::{Policy, Regions, policy_of};

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
                let inner = region(&around, node).unwrap_or_default();
                entered.push(std::mem::replace(&mut around, inner));
            }
            Some("_exit_autocast") => around = entered.pop().unwrap_or_default(),
            _ => {}
        }
        let inner = match node.target.higher_order() {
            Some("wrap_with_autocast") => region(&around, node).unwrap_or_else(|| around.clone()),
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

/// Whether autocast for a type of device touches a tensor.
fn is_eligible(tensor: &TensorMeta, device: &str) -> bool {
    &*tensor.device.kind == device && tensor.dtype.is_float() && tensor.dtype != Dtype::Float64
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
        for region in regions.enabled() {
            let (Some(lower), device) = (region.dtype, &*region.device) else { continue };
            let eligible: Vec<(ValueId, Dtype)> = tensors
                .iter()
                .filter(|(_, tensor)| is_eligible(tensor, device))
                .map(|(id, tensor)| (*id, tensor.dtype))
                .collect();
            let recorded = node.output_values().find_map(|id| Some(graph.meta(id).tensor()?.dtype));
            let (dtype, first_alone) = match policy_of(device, &op) {
                Some(Policy::Lower) => (lower, false),
                Some(Policy::Fp32) => (Dtype::Float32, false),
                Some(Policy::Fp32Append) => (Dtype::Float32, true),
                // A result's dtype is what the argument that is set says, and it is recorded.
                Some(Policy::Fp32Dtype | Policy::Banned) | None => continue,
                Some(Policy::Promote) => {
                    let wide = eligible.iter().any(|(_, dtype)| *dtype == Dtype::Float32);
                    (if wide { Dtype::Float32 } else { lower }, false)
                }
                Some(Policy::Recorded) => (recorded.unwrap_or(lower), false),
            };
            let count = if first_alone { 1 } else { eligible.len() };
            for (id, _) in eligible.into_iter().take(count) {
                if let Some(value) = self.value(id).filter(|value| value.dtype != dtype) {
                    let cast = self.cast(&value, dtype);
                    self.cast_operands.insert(id, cast);
                }
            }
        }
    }
}
