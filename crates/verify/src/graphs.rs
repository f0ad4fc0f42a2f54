//! What the checks of a well-formed program share: its graphs, what is called, what is known of it.
use super::Options;
use super::rule::{Profile, Rule};
use super::violation::{Violation, inner};
use sizewise_ir::Wrapper;
use sizewise_ir::schema::{OperatorName, Schema, SchemaTable, Tags};
use sizewise_ir::{Graph, Node, Program, TargetKind};
use std::sync::Arc;

/// What is known of operators beside the schemas that come with the crate.
pub trait KnownOperators {
    /// The schema of a custom operator that is declared, named as in `mylib.op.default`.
    fn declared(&self, op: &str) -> Option<&Schema>;
    /// Whether there is a fake kernel for an operator.
    fn has_kernel(&self, op: &str) -> bool;
}

/// What a node calls.
#[derive(Debug, Clone, Copy)]
pub(super) enum Callee<'p> {
    /// An operator, maybe wrapped by a dialect.
    Op {
        /// Its name.
        name: OperatorName<'p>,
        /// The dialect that wraps it.
        wrapper: Option<Wrapper>,
    },
    /// A higher-order operator.
    HigherOrder(&'p str),
    /// A Python function: module and name.
    Function(&'p str, &'p str),
    /// An operator of a serialization extension.
    Extension,
}

/// What a node calls.
pub(super) fn callee(node: &Node) -> Callee<'_> {
    if let Some(wrapped) = node.target.wrapped() {
        return Callee::Op { name: wrapped.name, wrapper: Some(wrapped.wrapper) };
    }
    match node.target.kind() {
        TargetKind::Op { namespace, op, overload } => {
            Callee::Op { name: OperatorName { namespace, name: op, overload }, wrapper: None }
        }
        TargetKind::HigherOrder(name) => Callee::HigherOrder(name),
        TargetKind::Python { module, function } => Callee::Function(module, function),
        TargetKind::Extension { .. } => Callee::Extension,
    }
}

/// The tags of an overload of the crate's table.
pub(super) fn tags(name: OperatorName<'_>) -> Option<Tags> {
    SchemaTable::global().find_name(name).map(|overload| overload.tags())
}

/// A graph of the program with its scope.
#[derive(Debug, Clone)]
pub(super) struct ScopedGraph<'p> {
    pub scope: Arc<str>,
    pub graph: &'p Graph,
}

/// A verification under way.
pub(super) struct Checks<'p> {
    pub program: &'p Program,
    pub profile: Profile,
    pub operators: &'p dyn KnownOperators,
    pub options: &'p Options,
    /// All graphs, outer ones first.
    pub graphs: Arc<[ScopedGraph<'p>]>,
    pub found: Vec<Violation>,
}

impl<'p> Checks<'p> {
    pub fn new(
        program: &'p Program,
        profile: Profile,
        operators: &'p dyn KnownOperators,
        options: &'p Options,
    ) -> Checks<'p> {
        let mut graphs = Vec::new();
        collect(&program.graph, "", &mut graphs);
        Checks { program, profile, operators, options, graphs: graphs.into(), found: Vec::new() }
    }

    /// Runs a check on every node of every graph.
    pub fn each_node(&mut self, mut check: impl FnMut(&mut Checks<'p>, &ScopedGraph<'p>, &'p Node)) {
        let graphs = Arc::clone(&self.graphs);
        for graph in graphs.iter() {
            for node in graph.graph.nodes() {
                check(self, graph, node);
            }
        }
    }

    /// Adds a violation at a node.
    pub fn report(&mut self, rule: Rule, graph: &ScopedGraph<'_>, node: &Node, message: impl Into<String>) {
        let mut violation = Violation::new(rule, message).at(&graph.scope, &node.name);
        violation.location = node.provenance.location().map(|location| location.to_string());
        self.found.push(violation);
    }

    /// Adds a violation at an input, a value or an output.
    pub fn report_at(&mut self, rule: Rule, scope: &str, name: &str, message: impl Into<String>) {
        self.found.push(Violation::new(rule, message).at(scope, name));
    }

    /// Whether the options allow an operator that is not of the core ATen set.
    pub fn is_core_exception(&self, name: OperatorName<'_>) -> bool {
        !self.options.core_exceptions.is_empty()
            && self.options.core_exceptions.iter().any(|exception| *exception == name.to_string())
    }

    /// Whether the options keep an operator that is not of the core ATen set; views are not kept.
    pub fn is_preserved(&self, name: OperatorName<'_>) -> bool {
        !self.options.preserved.is_empty()
            && self.options.preserved.iter().any(|kept| *kept == name.to_string())
            && self.schema(name).is_some_and(|schema| !schema.is_view())
    }

    /// The schema of an operator, declared ones first.
    pub fn schema(&self, name: OperatorName<'_>) -> Option<&'p Schema> {
        let declared = self.operators.declared(&name.to_string());
        declared.or_else(|| SchemaTable::global().find_name(name)?.schema().ok())
    }
}

fn collect<'p>(graph: &'p Graph, scope: &str, graphs: &mut Vec<ScopedGraph<'p>>) {
    graphs.push(ScopedGraph { scope: scope.into(), graph });
    for node in graph.nodes() {
        // Graphs nest no deeper than the document they were read from.
        for subgraph in node.subgraphs() {
            collect(&subgraph.graph, &inner(scope, &subgraph.name), graphs);
        }
    }
}
