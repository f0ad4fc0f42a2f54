//! A program's graph for Google's Model Explorer, with data of its nodes.
//!
//! Source: `src/ui/src/components/visualizer/common/input_graph.ts` and `types.ts` of Model Explorer 0.1.34
//! (`GraphCollection`, `NodeDataProviderData`).
use super::findings::findings;
use super::graph::{GraphView, InnerGraph, NodeView, ValueView};
use super::model::{GuardVerdict, Report};
use super::shown::Shown;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Map, Value as Json, json};

/// The program's own graph.
const MAIN: &str = "main";
/// Where what a graph is given stands.
const INPUTS: &str = "Inputs";
const STATE: &str = "Parameters";

/// The graph as a collection of graphs. Beside what Model Explorer reads, `nodeData` has data of nodes by name, each of
/// which is a file of its own there.
pub fn model_explorer(report: &Report, graph: &GraphView) -> Json {
    let mut writer = ExplorerWriter::new(report, graph);
    let mut graphs = vec![writer.graph(MAIN, &DrawnGraph::main(graph))];
    let mut ids = vec![String::new(); graph.inner.len()];
    for at in 0..graph.inner.len() {
        ids[at] = writer.inner_id(at, &ids);
        graphs.push(writer.graph(&ids[at].clone(), &DrawnGraph::inner(graph, at)));
    }
    let names = ["bytes", "shapes", "conditions", "findings"];
    let data: Map<String, Json> =
        names.iter().zip(writer.data).map(|(name, data)| ((*name).into(), data.into())).collect();
    json!({"label": report.program.path, "graphs": graphs, "nodeData": data})
}

/// The colour of a node whose condition has this verdict.
fn verdict_colour(verdict: GuardVerdict) -> &'static str {
    match verdict {
        GuardVerdict::Implied => "#d5f0dc",
        GuardVerdict::Violated => "#f7c6c5",
        GuardVerdict::Unknown => "#fbe6b3",
    }
}

fn level_colour(level: &str) -> &'static str {
    match level {
        "error" => "#f7c6c5",
        "warning" => "#fbe6b3",
        _ => "#dbe8f7",
    }
}

/// A graph: what it is given, its nodes and what it gives.
struct DrawnGraph<'g> {
    inputs: &'g [ValueView],
    state: &'g [ValueView],
    /// Its own nodes, by their places in the view.
    nodes: Vec<usize>,
    outputs: &'g [String],
}

impl<'g> DrawnGraph<'g> {
    fn main(graph: &'g GraphView) -> DrawnGraph<'g> {
        DrawnGraph {
            inputs: &graph.inputs,
            state: &graph.state,
            nodes: own(graph, None),
            outputs: &graph.outputs,
        }
    }

    fn inner(graph: &'g GraphView, at: usize) -> DrawnGraph<'g> {
        let inner = &graph.inner[at];
        DrawnGraph {
            inputs: &inner.inputs,
            state: &[],
            nodes: own(graph, Some(inner)),
            outputs: &inner.outputs,
        }
    }
}

/// The nodes of a graph without those of graphs within them.
fn own(graph: &GraphView, inner: Option<&InnerGraph>) -> Vec<usize> {
    let (nodes, depth) = match inner {
        Some(inner) => (inner.nodes.clone(), graph.nodes[inner.caller].depth + 1),
        None => (0..graph.nodes.len(), 0),
    };
    nodes.filter(|&at| graph.nodes[at].depth == depth).collect()
}

/// The nodes of a name, and the first of each line.
struct Places<'g> {
    names: FxHashMap<&'g str, usize>,
    lines: FxHashMap<(&'g str, u32), usize>,
}

impl<'g> Places<'g> {
    fn of(graph: &'g GraphView) -> Places<'g> {
        let mut places = Places { names: FxHashMap::default(), lines: FxHashMap::default() };
        for (at, node) in graph.nodes.iter().enumerate() {
            places.names.entry(&node.name).or_insert(at);
            if let Some(place) = &node.place {
                places.lines.entry((&place.file, place.line)).or_insert(at);
            }
        }
        places
    }

    /// The node that something speaks of, by its name or else by its line.
    fn find(&self, node: Option<&str>, line: Option<(&str, u32)>) -> Option<usize> {
        let named = node.and_then(|name| self.names.get(name));
        named.or_else(|| self.lines.get(&line?)).copied()
    }
}

struct ExplorerWriter<'g> {
    graph: &'g GraphView,
    shown: Shown,
    /// What is needed at a node: the texts, and the worst verdict.
    conditions: FxHashMap<usize, (Vec<String>, GuardVerdict)>,
    /// What was found at a node, worst first.
    findings: FxHashMap<usize, Vec<(&'static str, String)>>,
    /// Bytes, shapes, conditions and findings: by graph the data of its nodes.
    data: [Map<String, Json>; 4],
}

impl<'g> ExplorerWriter<'g> {
    fn new(report: &Report, graph: &'g GraphView) -> ExplorerWriter<'g> {
        let places = Places::of(graph);
        let mut conditions: FxHashMap<usize, (Vec<String>, GuardVerdict)> = FxHashMap::default();
        for guard in &report.guards {
            let line = guard.file.as_deref().zip(guard.line);
            let Some(at) = places.find(guard.node.as_deref(), line) else { continue };
            let (texts, worst) = conditions.entry(at).or_insert((Vec::new(), GuardVerdict::Implied));
            let verdict = match guard.verdict {
                GuardVerdict::Implied => "proved",
                GuardVerdict::Violated => "violated",
                GuardVerdict::Unknown => "undecided",
            };
            texts.push(format!("{} ({verdict})", guard.shown));
            if *worst != GuardVerdict::Violated && guard.verdict != GuardVerdict::Implied {
                *worst = guard.verdict;
            }
        }
        let mut found: FxHashMap<usize, Vec<(&'static str, String)>> = FxHashMap::default();
        for finding in findings(report) {
            let line = finding.line.map(|frame| (frame.file.as_str(), frame.line));
            let at = places.find(finding.node, line);
            if let (Some(at), Some(text)) = (at, finding.sentences.first()) {
                found.entry(at).or_default().push((finding.rule.level, text.clone()));
            }
        }
        let data = std::array::from_fn(|_| Map::new());
        ExplorerWriter { graph, shown: Shown::new(report, graph), conditions, findings: found, data }
    }

    /// The id of a graph within a node: the way to it.
    fn inner_id(&self, at: usize, ids: &[String]) -> String {
        let inner = &self.graph.inner[at];
        let around = (0..at).rev().find(|&other| self.graph.inner[other].nodes.contains(&inner.caller));
        let start = around.map_or(MAIN, |other| ids[other].as_str());
        format!("{start}/{}/{}", self.graph.nodes[inner.caller].name, inner.name)
    }

    fn graph(&mut self, id: &str, scope: &DrawnGraph<'g>) -> Json {
        let mut ids = Ids::default();
        let mut nodes: Vec<Json> = Vec::new();
        let mut data: [Map<String, Json>; 4] = std::array::from_fn(|_| Map::new());
        let used: FxHashSet<&str> = scope
            .nodes
            .iter()
            .flat_map(|&at| &self.graph.nodes[at].uses)
            .chain(scope.outputs)
            .map(String::as_str)
            .collect();
        let state =
            scope.state.iter().filter(|value| used.contains(value.name.as_str())).map(|value| (value, STATE));
        for (value, namespace) in scope.inputs.iter().map(|value| (value, INPUTS)).chain(state) {
            let given = ids.of(&value.name);
            nodes.push(json!({
                "id": given, "label": value.name, "namespace": namespace,
                "outputsMetadata": self.outputs(std::slice::from_ref(value)),
            }));
            ids.makers.insert(&value.name, (given, 0));
        }
        for &at in &scope.nodes {
            let node = &self.graph.nodes[at];
            let name = ids.of(&node.name);
            let edges = ids.edges(&node.uses);
            self.describe(at, &name, &mut data);
            nodes.push(self.node(at, &name, edges, id));
            for (place, value) in node.values.iter().enumerate() {
                ids.makers.insert(&value.name, (name.clone(), place));
            }
        }
        let edges = ids.edges(scope.outputs);
        nodes.push(
            json!({"id": ids.of("output"), "label": "output", "namespace": "", "incomingEdges": edges}),
        );
        let stops = [json!({"stop": 0, "bgColor": "#ffffff"}), json!({"stop": 1, "bgColor": "#e88f6d"})];
        for (at, (all, own)) in self.data.iter_mut().zip(data).enumerate() {
            let mut of_graph = json!({"results": own});
            if at == 0 {
                of_graph["gradient"] = stops.to_vec().into();
            }
            all.insert(id.to_owned(), of_graph);
        }
        json!({"id": id, "nodes": nodes})
    }

    /// Adds what is known of a node to the data.
    fn describe(&mut self, at: usize, name: &str, data: &mut [Map<String, Json>; 4]) {
        let node: &NodeView = &self.graph.nodes[at];
        let [bytes, shapes, conditions, found] = data;
        if let Some((_, Some(number))) = self.shown.bytes(&node.values) {
            bytes.insert(name.to_owned(), json!({"value": number}));
        }
        let values: Vec<String> = node.values.iter().map(|value| self.shown.value(value)).collect();
        if !values.is_empty() {
            shapes.insert(name.to_owned(), json!({"value": values.join(", ")}));
        }
        if let Some((texts, worst)) = self.conditions.get(&at) {
            let value = json!({"value": texts.join("\n"), "bgColor": verdict_colour(*worst)});
            conditions.insert(name.to_owned(), value);
        }
        if let Some(all) = self.findings.get(&at) {
            let texts: Vec<String> = all.iter().map(|(level, text)| format!("{level}: {text}")).collect();
            let worst = all.first().map_or("note", |(level, _)| *level);
            found.insert(name.to_owned(), json!({"value": texts.join("\n"), "bgColor": level_colour(worst)}));
        }
    }

    fn node(&mut self, at: usize, name: &str, edges: Vec<Json>, graph: &str) -> Json {
        let node = &self.graph.nodes[at];
        let mut attrs = vec![attr("op", &node.op)];
        attrs.extend(node.location.iter().map(|line| attr("line", line)));
        attrs.extend(node.code.iter().map(|code| attr("code", code)));
        attrs.extend(
            self.shown
                .bytes(&node.values)
                .filter(|(text, _)| text != "0")
                .map(|(text, _)| attr("bytes", &text)),
        );
        attrs.extend(self.conditions.get(&at).map(|(texts, _)| attr("conditions", &texts.join("\n"))));
        let found = self.findings.get(&at).into_iter().flatten();
        let found: Vec<String> = found.map(|(level, text)| format!("{level}: {text}")).collect();
        attrs.extend((!found.is_empty()).then(|| attr("findings", &found.join("\n"))));
        let mut json = json!({
            "id": name,
            "label": label(node),
            "namespace": node.module.as_deref().unwrap_or("").replace('.', "/"),
            "attrs": attrs,
            "incomingEdges": edges,
            "outputsMetadata": self.outputs(&node.values),
        });
        let inner = self.graph.inner.iter().filter(|inner| inner.caller == at);
        let inner: Vec<String> = inner.map(|inner| format!("{graph}/{}/{}", node.name, inner.name)).collect();
        if !inner.is_empty() {
            json["subgraphIds"] = inner.into();
        }
        json
    }

    fn outputs(&mut self, values: &[ValueView]) -> Json {
        let one = |(at, value): (usize, &ValueView)| {
            let mut attrs = vec![attr("name", &value.name), attr("tensor_shape", &self.shown.value(value))];
            let bytes = value.sizes.as_ref().and_then(|_| self.shown.bytes(std::slice::from_ref(value)));
            attrs.extend(bytes.map(|(text, _)| attr("bytes", &text)));
            json!({"id": at.to_string(), "attrs": attrs})
        };
        values.iter().enumerate().map(one).collect()
    }
}

fn attr(key: &str, value: &str) -> Json {
    json!({"key": key, "value": value})
}

/// An operator's name: `linear` of `aten.linear.default`.
fn label(node: &NodeView) -> &str {
    let parts: Vec<&str> = node.op.split('.').collect();
    if let [_, name, _] = parts[..] { name } else { &node.op }
}

/// The ids of the nodes of a graph, and which of them make its values.
#[derive(Default)]
struct Ids<'g> {
    taken: FxHashSet<String>,
    /// The node that makes a value, and which of its values that is.
    makers: FxHashMap<&'g str, (String, usize)>,
}

impl Ids<'_> {
    /// An id that no other node has.
    fn of(&mut self, name: &str) -> String {
        let mut id = name.to_owned();
        while !self.taken.insert(id.clone()) {
            id.push('\'');
        }
        id
    }

    fn edges(&self, uses: &[String]) -> Vec<Json> {
        let made =
            uses.iter().enumerate().filter_map(|(at, name)| Some((at, self.makers.get(name.as_str())?)));
        let edge = |(at, (node, output)): (usize, &(String, usize))| json!({"sourceNodeId": node, "sourceNodeOutputId": output.to_string(), "targetNodeInputId": at.to_string()});
        made.map(edge).collect()
    }
}
