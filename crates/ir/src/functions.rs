//! The graphs of a program as functions: each with a name of its own, inner ones before those that call them.
//!
//! Formats such as ONNX have functions at one level only. A graph within another is named by its scope
//! (`true_graph_0.false_graph_0` gives `true_graph_0__false_graph_0`, names there being identifiers). Where two
//! different graphs would have one name, later ones get a number; graphs of one scope that are the same are one
//! function.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::graph::{Argument, Graph, Node, Subgraph};
use super::program::Program;

/// A graph as a function.
#[derive(Debug, Clone)]
pub struct Function<'p> {
    /// The name, an identifier that no other function has.
    pub name: String,
    /// The names of the graphs on the way, with dots between them; empty for the whole program's graph.
    pub scope: String,
    /// The graph. The functions that it calls stand before it.
    pub graph: &'p Graph,
}

/// All functions of a program, and which of them each subgraph is.
#[derive(Debug, Clone, Default)]
pub struct Functions<'p> {
    list: Vec<Function<'p>>,
    /// Places in the list, by the subgraph's address: they live as long as the program.
    places: FxHashMap<usize, usize>,
    /// Functions by scope, of which there may be several.
    scopes: FxHashMap<String, Vec<usize>>,
    names: FxHashSet<String>,
}

fn address(subgraph: &Arc<Subgraph>) -> usize {
    Arc::as_ptr(subgraph).addr()
}

/// An identifier that resembles a scope.
fn identifier(scope: &str) -> String {
    let plain = |c: char| if c == '_' || c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = scope.replace('.', "__").chars().map(plain).collect();
    if name.starts_with(|c: char| c.is_ascii_digit()) || name.is_empty() { format!("_{name}") } else { name }
}

impl<'p> Functions<'p> {
    /// The functions of a program, its own graph, called `main`, last.
    pub fn new(program: &'p Program) -> Functions<'p> {
        let mut functions = Functions::default();
        functions.names.insert("main".to_owned());
        functions.inner(&program.graph, "");
        let main = Function { name: "main".to_owned(), scope: String::new(), graph: &program.graph };
        functions.list.push(main);
        functions
    }

    /// The functions, each behind those that it calls.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Function<'p>> {
        self.list.iter()
    }

    /// The function that a subgraph of the program is; `None` for one of another program.
    pub fn of(&self, subgraph: &Arc<Subgraph>) -> Option<&Function<'p>> {
        self.list.get(*self.places.get(&address(subgraph))?)
    }

    /// Adds the graphs within a graph.
    fn inner(&mut self, graph: &'p Graph, scope: &str) {
        for node in graph.nodes() {
            for subgraph in node.subgraphs() {
                let dot = if scope.is_empty() { "" } else { "." };
                self.add(subgraph, format!("{scope}{dot}{}", subgraph.name));
            }
        }
    }

    /// Adds a graph behind those within it. Graphs nest no deeper than the document they were read from.
    fn add(&mut self, subgraph: &'p Arc<Subgraph>, scope: String) {
        let twins = self.scopes.get(&scope).into_iter().flatten().copied();
        let twin = twins.into_iter().find(|twin| same(self.list[*twin].graph, &subgraph.graph));
        if let Some(twin) = twin {
            self.places.insert(address(subgraph), twin);
            self.share(self.list[twin].graph, &subgraph.graph);
            return;
        }
        self.inner(&subgraph.graph, &scope);
        let place = self.list.len();
        let name = self.fresh(&identifier(&scope));
        self.places.insert(address(subgraph), place);
        self.scopes.entry(scope.clone()).or_default().push(place);
        self.list.push(Function { name, scope, graph: &subgraph.graph });
    }

    /// Has the graphs within a graph be the functions of those within its twin.
    fn share(&mut self, twin: &Graph, graph: &Graph) {
        let subgraphs = |graph: &Graph| -> Vec<Arc<Subgraph>> {
            graph.nodes().iter().flat_map(Node::subgraphs).cloned().collect()
        };
        for (known, other) in subgraphs(twin).iter().zip(subgraphs(graph)) {
            if let Some(place) = self.places.get(&address(known)).copied() {
                self.places.insert(address(&other), place);
                self.share(&known.graph, &other.graph);
            }
        }
    }

    fn fresh(&mut self, base: &str) -> String {
        let mut name = base.to_owned();
        let mut number = 1;
        while !self.names.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }
}

/// Whether two graphs of a program compute the same: they have the same inputs, nodes and outputs, wherever they come
/// from.
fn same(a: &Graph, b: &Graph) -> bool {
    let alike = a.inputs() == b.inputs()
        && a.nodes().len() == b.nodes().len()
        && a.single_tensor_return() == b.single_tensor_return()
        && a.values().zip(b.values()).all(|(a, b)| a.1 == b.1 && a.2.meta == b.2.meta)
        && a.value_count() == b.value_count()
        && a.outputs().len() == b.outputs().len()
        && a.outputs().iter().zip(b.outputs()).all(|(a, b)| same_argument(a, b));
    alike
        && a.nodes().iter().zip(b.nodes()).all(|(a, b)| {
            (&a.name, &a.target, &a.outputs) == (&b.name, &b.target, &b.outputs)
                && a.inputs.len() == b.inputs.len()
                && a.inputs.iter().zip(&b.inputs).all(|(a, b)| {
                    a.name == b.name && a.passed_as == b.passed_as && same_argument(&a.arg, &b.arg)
                })
        })
}

fn same_argument(a: &Argument, b: &Argument) -> bool {
    match (a, b) {
        (Argument::Graph(a), Argument::Graph(b)) => a.name == b.name && same(&a.graph, &b.graph),
        (Argument::Graph(_), _) | (_, Argument::Graph(_)) => false,
        // Without graphs in them, arguments say all there is to them in their debug form.
        (a, b) => format!("{a:?}") == format!("{b:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;

    /// A class that calls the graphs `calls`, with the classes `inner` in it.
    fn class(level: usize, name: &str, op: &str, calls: &[&str], inner: &[String]) -> String {
        let pad = "    ".repeat(level);
        let mut text =
            format!("{pad}class {name}(torch.nn.Module):\n{pad}    def forward(self, x: \"f32[3]\"):\n");
        text.push_str(&format!("{pad}        y: \"f32[3]\" = torch.ops.aten.{op}.default(x)\n"));
        for (index, graph) in calls.iter().enumerate() {
            text.push_str(&format!("{pad}        {graph} = self.{graph}\n"));
            let call = format!("torch.ops.higher_order.wrap({graph}, x)");
            text.push_str(&format!("{pad}        w{index}: \"f32[3]\" = {call}\n"));
        }
        text.push_str(&format!("{pad}        return (y,)\n"));
        text + &inner.concat()
    }

    fn names(program: &Program) -> Vec<(String, String)> {
        let functions = Functions::new(program);
        functions.iter().map(|function| (function.scope.clone(), function.name.clone())).collect()
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(scope, name)| ((*scope).to_owned(), (*name).to_owned())).collect()
    }

    #[test]
    fn inner_functions_come_first_and_names_are_told_apart() {
        let inner = class(1, "a", "abs", &["b"], &[class(2, "b", "neg", &[], &[])]);
        let others = [class(1, "a__b", "sin", &[], &[]), class(1, "main", "cos", &[], &[])];
        let text = class(0, "M", "abs", &["a", "a__b", "main"], &[inner, others.concat()]);
        let program = text::read(&text).expect("a program");
        assert_eq!(
            names(&program),
            pairs(&[("a.b", "a__b"), ("a", "a"), ("a__b", "a__b_1"), ("main", "main_1"), ("", "main")])
        );
    }

    #[test]
    fn a_graph_that_is_called_twice_is_one_function_unless_it_differs() {
        let twice = |second: &str| {
            let json = |op: &str| {
                format!(
                    r#"{{"name": "", "kind": 1, "arg": {{"as_graph": {{"name": "g", "graph": {{
                    "inputs": [{{"as_sym_int": {{"as_name": "n"}}}}], "outputs": [{{"as_sym_int": {{"as_name": "m"}}}}],
                    "nodes": [{{"target": "_operator.{op}", "name": "m", "metadata": {{}},
                        "inputs": [{{"name": "a", "arg": {{"as_sym_int": {{"as_name": "n"}}}}, "kind": 1}}],
                        "outputs": [{{"as_sym_int": {{"as_name": "m"}}}}]}}],
                    "tensor_values": {{}}, "sym_bool_values": {{}},
                    "sym_int_values": {{"n": {{"as_int": 1}}, "m": {{"as_int": 2}}}}}}}}}}}}"#
                )
            };
            let node = |name: &str, op: &str| {
                format!(
                    r#"{{"target": "torch.ops.higher_order.wrap", "name": "{name}", "metadata": {{}}, "outputs": [],
                    "inputs": [{}]}}"#,
                    json(op)
                )
            };
            let text = format!(
                r#"{{"graph_module": {{"graph": {{"inputs": [], "outputs": [], "nodes": [{}, {}],
                    "tensor_values": {{}}, "sym_int_values": {{}}, "sym_bool_values": {{}}}},
                    "signature": {{"input_specs": [], "output_specs": []}}, "module_call_graph": []}},
                    "opset_version": {{}}, "range_constraints": {{}}, "schema_version": {{"major": 8, "minor": 1}}}}"#,
                node("first", "neg"),
                node("second", second)
            );
            crate::pt2::read(text.as_bytes(), &crate::pt2::ReadOptions::default()).expect("a program")
        };
        assert_eq!(names(&twice("neg")), pairs(&[("g", "g"), ("", "main")]));
        let program = twice("pos");
        assert_eq!(names(&program), pairs(&[("g", "g"), ("g", "g_1"), ("", "main")]));
        let functions = Functions::new(&program);
        let called: Vec<&str> = program
            .graph
            .nodes()
            .iter()
            .flat_map(|node| &node.inputs)
            .filter_map(|input| match &input.arg {
                Argument::Graph(subgraph) => functions.of(subgraph).map(|function| function.name.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(called, ["g", "g_1"]);
    }
}
