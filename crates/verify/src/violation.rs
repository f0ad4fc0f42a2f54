//! What breaks a rule, and where.
use super::rule::Rule;
use std::fmt;

/// A finding: a rule, the place, and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The graph, by the names of the subgraphs on the way: `true_graph_0.false_graph_0`; empty for the whole
    /// program's.
    pub graph: String,
    /// The node, input or output, by name.
    pub node: Option<String>,
    /// The line of the model's source: `model.py:14`.
    pub location: Option<String>,
    /// What is wrong there, for people. No full stop at the end.
    pub message: String,
}

impl Violation {
    /// A violation whose place is the whole program.
    pub fn new(rule: Rule, message: impl Into<String>) -> Violation {
        Violation { rule, graph: String::new(), node: None, location: None, message: message.into() }
    }

    /// The same, at a node of a graph.
    #[must_use]
    pub fn at(mut self, graph: &str, node: &str) -> Violation {
        self.graph = graph.to_owned();
        self.node = Some(node.to_owned());
        self
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = &self.node {
            let dot = if self.graph.is_empty() { "" } else { "." };
            write!(f, "{}{dot}{node}: ", self.graph)?;
        }
        write!(f, "{}: {}", self.rule, self.message)
    }
}

/// The name of a subgraph within a graph: `true_graph_0.false_graph_0`.
pub(super) fn inner(graph: &str, name: &str) -> String {
    if graph.is_empty() { name.to_owned() } else { format!("{graph}.{name}") }
}
