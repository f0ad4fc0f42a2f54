//! Control flow: `cond` as `If`, `while_loop` as `Loop`, `scan` and `map` as `Scan`; operators that run one graph as
//! its call.
//!
//! Source: the operators `If`, `Loop` and `Scan` of ONNX. Bodies see the names around them, so that only what changes
//! from turn to turn is passed.

use std::sync::Arc;

use super::attribute;
use super::body::Body;
use super::items::{Item, made, returned, value_inputs};
use super::types::{BOOL, INT64, scalar_info};
use crate::OnnxError;
use sizewise_ir::{Argument, Graph, GraphInput, Node, Subgraph};
use sizewise_onnx_model::read::message::{GraphProto, NodeProto, ValueInfoProto};

/// Whether all inputs of a graph are values and all its results are tensors or numbers.
fn is_plain(graph: &Graph) -> bool {
    graph.inputs().iter().all(|input| matches!(input, GraphInput::Value(_)))
        && returned(graph).iter().all(|item| !matches!(item, Item::Nothing))
}

impl Body<'_, '_> {
    /// The node of an operator that is control flow here; `None` for every other.
    pub(super) fn control_flow(&mut self, node: &Node) -> Result<Option<NodeProto>, OnnxError> {
        let Some(name) = node.target.higher_order() else { return Ok(None) };
        let graphs: Vec<Arc<Subgraph>> = node.subgraphs().into_iter().cloned().collect();
        let behind: Vec<&Argument> = node
            .inputs
            .iter()
            .skip_while(|input| !matches!(input.arg, Argument::Graph(_)))
            .filter(|input| !matches!(input.arg, Argument::Graph(_) | Argument::Str(_)))
            .filter(|input| input.name.is_empty())
            .map(|input| &input.arg)
            .collect();
        let results = made(node).len();
        match (name, graphs.as_slice(), behind.as_slice()) {
            ("cond", [then, otherwise], _) if results > 0 => {
                self.branches(node, then, otherwise, &behind).map(Some)
            }
            ("while_loop", [condition, body], [carried, rest @ ..])
                if is_plain(&condition.graph) && is_plain(&body.graph) =>
            {
                self.turns(node, condition, body, carried, rest).map(Some)
            }
            ("scan", [graph], [init, xs, rest @ ..]) if is_plain(&graph.graph) => {
                self.slices(node, graph, Some(init), xs, rest).map(Some)
            }
            ("map" | "map_impl", [graph], [xs, rest @ ..]) if is_plain(&graph.graph) => {
                self.slices(node, graph, None, xs, rest).map(Some)
            }
            (_, [graph], _) if node.target.is_wrapper() => {
                let operands = self.operands(&behind);
                let names = self.results(node, returned(&graph.graph).len());
                Ok(Some(self.call(graph, &node.name, &operands, &names)))
            }
            _ => Ok(None),
        }
    }

    /// Names for the results of a graph within, with the types that the graph gives them.
    fn inner_results(&mut self, graph: &Graph, base: &str) -> Result<Vec<ValueInfoProto>, OnnxError> {
        let mut infos = Vec::new();
        for item in returned(graph) {
            let name = self.fresh(base);
            infos.push(match item {
                Item::Value(id) => self.types.info(&name, graph.meta(id))?,
                Item::Literal(constant) => {
                    let number = attribute::scalar(&constant).map(|tensor| tensor.data_type);
                    scalar_info(&name, number.unwrap_or_default())
                }
                Item::Nothing => ValueInfoProto { name, r#type: None, ..ValueInfoProto::default() },
            });
        }
        Ok(infos)
    }

    /// Names for the inputs of a graph within, with their types.
    fn inner_inputs(&mut self, graph: &Graph, base: &str) -> Result<Vec<ValueInfoProto>, OnnxError> {
        let mut infos = Vec::new();
        for id in value_inputs(graph) {
            let name = self.fresh(base);
            infos.push(self.types.info(&name, graph.meta(id))?);
        }
        Ok(infos)
    }

    fn branches(
        &mut self,
        node: &Node,
        then: &Arc<Subgraph>,
        otherwise: &Arc<Subgraph>,
        behind: &[&Argument],
    ) -> Result<NodeProto, OnnxError> {
        let predicate: Vec<&Argument> = node.inputs.first().map(|input| &input.arg).into_iter().collect();
        let predicate = self.operands(&predicate).into_iter().flatten().next().unwrap_or_default();
        let operands = self.operands(behind);
        let mut written = self.node("", "If", &node.name);
        written.input = vec![predicate];
        let kinds = returned(&then.graph);
        let names = self.results(node, kinds.len());
        let kept = kinds.iter().zip(names).filter(|(item, _)| !matches!(item, Item::Nothing));
        written.output = kept.map(|(_, name)| name).collect();
        for (attribute_name, graph) in [("then_branch", then), ("else_branch", otherwise)] {
            let infos = self.inner_results(&graph.graph, &format!("{}_{attribute_name}", node.name))?;
            let call_name = format!("{}_{}", node.name, graph.name);
            let call = self.call(graph, &call_name, &operands, &names_of(&infos));
            let output = infos.into_iter().filter(|info| info.r#type.is_some()).collect();
            let body = GraphProto {
                node: vec![call],
                name: graph.name.to_string(),
                output,
                ..GraphProto::default()
            };
            written.attribute.push(attribute::graph(attribute_name, body));
        }
        Ok(written)
    }

    fn turns(
        &mut self,
        node: &Node,
        condition: &Arc<Subgraph>,
        body: &Arc<Subgraph>,
        carried: &Argument,
        rest: &[&Argument],
    ) -> Result<NodeProto, OnnxError> {
        let before = self.operands(&[carried]);
        let others = self.operands(rest);
        let first = self.fresh(&format!("{}_first", node.name));
        let all: Vec<Option<String>> = before.iter().chain(&others).cloned().collect();
        let asks = self.call(condition, &first, &all, std::slice::from_ref(&first));
        self.nodes.push(asks);
        let turn = self.fresh(&format!("{}_turn", node.name));
        let goes_on = self.fresh(&format!("{}_goes_on", node.name));
        let mut entering = self.inner_inputs(&body.graph, &format!("{}_carried", node.name))?;
        entering.truncate(before.len());
        let leaving = self.inner_results(&body.graph, &format!("{}_next", node.name))?;
        let some = |infos: &[ValueInfoProto]| names_of(infos).into_iter().map(Some).collect::<Vec<_>>();
        let inner: Vec<Option<String>> = some(&entering).into_iter().chain(others.iter().cloned()).collect();
        let next: Vec<Option<String>> = some(&leaving).into_iter().chain(others).collect();
        let again = self.fresh(&format!("{}_again", node.name));
        let steps = vec![
            self.call(body, &format!("{}_{}", node.name, body.name), &inner, &names_of(&leaving)),
            self.call(condition, &again, &next, std::slice::from_ref(&again)),
        ];
        let graph = GraphProto {
            node: steps,
            name: body.name.to_string(),
            input: [scalar_info(&turn, INT64), scalar_info(&goes_on, BOOL)]
                .into_iter()
                .chain(entering)
                .collect(),
            output: std::iter::once(scalar_info(&again, BOOL)).chain(leaving).collect(),
            ..GraphProto::default()
        };
        let mut written = self.node("", "Loop", &node.name);
        written.input = [String::new(), first].into_iter().chain(before.into_iter().flatten()).collect();
        written.output = self.results(node, returned(&body.graph).len());
        written.attribute.push(attribute::graph("body", graph));
        Ok(written)
    }

    /// `Scan`, without a state for `map`.
    fn slices(
        &mut self,
        node: &Node,
        graph: &Arc<Subgraph>,
        init: Option<&Argument>,
        xs: &Argument,
        rest: &[&Argument],
    ) -> Result<NodeProto, OnnxError> {
        let state = init.map_or_else(Vec::new, |init| self.operands(&[init]));
        let scanned = self.operands(&[xs]);
        let others = self.operands(rest);
        let mut entering = self.inner_inputs(&graph.graph, &format!("{}_slice", node.name))?;
        entering.truncate(state.len() + scanned.len());
        let leaving = self.inner_results(&graph.graph, &format!("{}_next", node.name))?;
        let inner: Vec<Option<String>> = names_of(&entering).into_iter().map(Some).chain(others).collect();
        let call = self.call(graph, &format!("{}_{}", node.name, graph.name), &inner, &names_of(&leaving));
        let body = GraphProto {
            node: vec![call],
            name: graph.name.to_string(),
            input: entering,
            output: leaving,
            ..GraphProto::default()
        };
        let mut written = self.node("", "Scan", &node.name);
        let count = i64::try_from(scanned.len()).unwrap_or(i64::MAX);
        written.input = state.into_iter().chain(scanned).flatten().collect();
        written.output = self.results(node, returned(&graph.graph).len());
        written.attribute = vec![attribute::graph("body", body), attribute::int("num_scan_inputs", count)];
        Ok(written)
    }
}

fn names_of(infos: &[ValueInfoProto]) -> Vec<String> {
    infos.iter().map(|info| info.name.clone()).collect()
}
