//! What a run records.
use sizewise_env::{Clause, Origin};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Symbol};
use sizewise_ir::{Node, Provenance, ValueId};
use sizewise_kernels::Value;
use std::sync::Arc;

/// A graph around a step that not every run comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The step that calls the graph.
    pub by: Origin,
    /// The graph's name.
    pub graph: Arc<str>,
    /// The condition on sizes under which the graph is run; `None` if data decide.
    pub condition: Option<Expr>,
}

/// A step of the run: a node as it was reached. Texts for reports are made when they are needed.
#[derive(Clone, Debug)]
pub struct Step<'p> {
    reached: &'p Node,
    scope: Scope,
    called: Option<Arc<str>>,
}

impl<'p> Step<'p> {
    pub(super) fn new(reached: &'p Node, scope: Scope) -> Step<'p> {
        Step { reached, scope, called: None }
    }

    /// Sets the operator that the node calls through the one that it names.
    pub(super) fn calls_through(&mut self, op: &str) {
        self.called = Some(op.into());
    }

    /// The node, in its graph.
    pub fn reached(&self) -> &'p Node {
        self.reached
    }

    /// Whether the node is in a graph that another node calls.
    pub fn is_nested(&self) -> bool {
        self.scope.depth > 0
    }

    /// What decides whether a run comes to this step, from the outermost graph on: nothing if every run does.
    pub fn entries(&self) -> &[Entry] {
        &self.scope.entries
    }

    /// The node's name, with the names of the graphs around it: `true_graph_0.add`.
    pub fn node(&self) -> String {
        match &self.scope.names {
            None => self.reached.name.to_string(),
            Some(around) => format!("{around}.{}", self.reached.name),
        }
    }

    /// The operator: `aten.add.Tensor`.
    pub fn op(&self) -> String {
        match &self.called {
            None => self.reached.target.to_string(),
            Some(op) => op.to_string(),
        }
    }

    /// Where the node comes from: of the graphs around it, the call of the innermost one if the node has no line.
    pub fn provenance(&self) -> &Provenance {
        let own = &self.reached.provenance;
        match &self.scope.caller {
            Some(caller) if own.location().is_none() => caller,
            _ => own,
        }
    }

    /// The line of the user's code, `model.py:8`, if recorded; that of the call of the graph around where the
    /// node has none.
    pub fn location(&self) -> Option<String> {
        self.provenance().location().map(|location| location.to_string())
    }

    /// That line's text, if recorded.
    pub fn code(&self) -> Option<String> {
        let location = self.provenance().location()?;
        (!location.code.is_empty()).then(|| location.code.to_string())
    }
}

/// The graphs around a step, by the names under which they were called.
#[derive(Clone, Default, Debug)]
pub(super) struct Scope {
    names: Option<Arc<str>>,
    /// How many they are.
    pub depth: usize,
    /// Where the call of the innermost one comes from.
    caller: Option<Arc<Provenance>>,
    entries: Arc<[Entry]>,
}

impl Scope {
    /// The same for a graph that is run under a condition.
    pub fn entered(&self, entry: Entry) -> Scope {
        let entries = self.entries.iter().cloned().chain([entry]).collect();
        Scope { entries, ..self.clone() }
    }

    /// That of a graph called from here by a step.
    pub fn inner(&self, name: &str, caller: Option<&Step<'_>>) -> Scope {
        let names = match &self.names {
            None => name.into(),
            Some(around) => format!("{around}.{name}").into(),
        };
        let caller = caller.map(|step| Arc::new(step.provenance().clone()));
        Scope { names: Some(names), depth: self.depth + 1, caller, entries: self.entries.clone() }
    }

    /// The names joined by points; empty for the program's own graph.
    pub fn name(&self) -> &str {
        self.names.as_deref().unwrap_or("")
    }
}

/// A size whose derived and recorded expressions differ; they must be equal.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The step that makes the value.
    pub origin: Origin,
    /// The value's name.
    pub value: Arc<str>,
    /// The condition that both agree.
    pub condition: Expr,
    /// What is derived.
    pub derived: Expr,
    /// What is recorded.
    pub recorded: Expr,
}

/// A symbol of the program that only the record names.
#[derive(Clone, Debug)]
pub struct RecordedSymbol {
    /// The symbol.
    pub symbol: Symbol,
    /// What was derived for it: itself, where the step's own symbol took its name.
    pub derived: Expr,
    /// The range of the step's own symbol.
    pub range: Option<ValueRange>,
}

/// What is derived of a value.
#[derive(Clone, Debug)]
pub struct Derived {
    /// The graph, by the names of the graphs on the way: `true_graph_0.false_graph_0`; empty for the program's own.
    pub scope: String,
    /// The step that made the value.
    pub origin: Origin,
    /// The value.
    pub value: ValueId,
    /// What is derived, unbacked symbols being named as recorded.
    pub found: Value,
    /// What is recorded.
    pub recorded: Value,
}

/// A value whose recorded form is wrong for every input: another rank, dtype or size.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The step that makes the value.
    pub origin: Origin,
    /// The value's name.
    pub value: Arc<str>,
    /// The recorded form: `f32[s0, 3]`.
    pub recorded: String,
    /// The derived form.
    pub derived: String,
}

/// A step that gives no result.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The step.
    pub origin: Origin,
    /// Why.
    pub kind: FailureKind,
    /// What is wrong, with the values at hand.
    pub message: String,
    /// The clause of the operator that is violated, if any.
    pub clause: Option<Clause>,
    /// The condition that does not hold, if it is one on sizes.
    pub condition: Option<Expr>,
}

/// Why a step gives no result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailureKind {
    /// The operator rejects its operands.
    Invalid,
    /// A condition on unbacked symbols is open.
    DataDependent,
    /// The arguments do not fit the operator's schema.
    Malformed,
}

#[cfg(test)]
mod tests {
    use super::{Scope, Step};
    use sizewise_ir::{Node, Target};

    fn node(name: &str, line: Option<u32>) -> Node {
        let mut node =
            Node::new(name.into(), Target::parse("torch.ops.aten.neg.default"), Vec::new(), Vec::new());
        let trace = |line| format!("File \"model.py\", line {line}, in forward\n    y = map(f, x)");
        node.provenance.stack_trace = line.map(|line| trace(line).into());
        node
    }

    #[test]
    fn a_step_without_a_line_has_that_of_the_call_of_the_graph_around_it() {
        let (call, silent, own) = (node("map", Some(8)), node("a", None), node("b", Some(3)));
        let caller = Step::new(&call, Scope::default());
        let inside = Scope::default().inner("body", Some(&caller));
        let twice = inside.inner("true_graph_0", Some(&Step::new(&silent, inside.clone())));
        for (node, scope, line) in [
            (&silent, Scope::default(), None),
            (&silent, inside.clone(), Some("model.py:8")),
            (&own, inside, Some("model.py:3")),
            (&silent, twice, Some("model.py:8")),
        ] {
            let step = Step::new(node, scope);
            assert_eq!(step.location().as_deref(), line, "{}", step.node());
            assert_eq!(step.code().is_some(), line.is_some(), "{}", step.node());
        }
    }
}
