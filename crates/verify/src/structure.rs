//! Structure: names are made once, before they are used, in the right order, and recorded.
use super::rule::Rule;
use super::violation::{Violation, inner};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_ir::outline::{GraphOutline, Outline, OutlineStep, StepKind, ValueKind};

/// The first minor version of the schema that is known to record names of nodes.
const NODES_NAMED_SINCE: (i64, i64) = (8, 16);

/// Checks all graphs.
pub(super) fn check(outline: &Outline, found: &mut Vec<Violation>) {
    let signature = outline.signature.iter();
    let tokens: FxHashSet<&str> = signature
        .flat_map(|signature| &signature.inputs)
        .filter(|input| input.kind == sizewise_ir::outline::InputKind::Token)
        .filter_map(|input| input.name.as_deref())
        .collect();
    let names_required = outline.schema_version.is_some_and(|version| version >= NODES_NAMED_SINCE);
    let records_required = outline.schema_version.is_some();
    let mut graphs = vec![(String::new(), &outline.graph)];
    while let Some((scope, graph)) = graphs.pop() {
        let check =
            GraphCheck { scope: &scope, graph, tokens: &tokens, names_required, records_required, found };
        check.run();
        let subgraphs = graph.steps.iter().flat_map(|step| &step.subgraphs);
        let mut next: Vec<_> = subgraphs.map(|(name, graph)| (inner(&scope, name), graph)).collect();
        next.reverse();
        graphs.extend(next);
    }
}

struct GraphCheck<'c> {
    scope: &'c str,
    graph: &'c GraphOutline,
    tokens: &'c FxHashSet<&'c str>,
    names_required: bool,
    records_required: bool,
    found: &'c mut Vec<Violation>,
}

impl GraphCheck<'_> {
    fn report(&mut self, rule: Rule, step: &OutlineStep, message: String) {
        self.found.push(Violation::new(rule, message).at(self.scope, &step.name));
    }

    fn run(mut self) {
        self.order();
        let all_made: FxHashSet<&str> =
            self.graph.steps.iter().flat_map(|step| &step.makes).map(|(name, _)| name.as_str()).collect();
        let mut recorded: FxHashMap<&str, ValueKind> = FxHashMap::default();
        for (name, kind) in &self.graph.recorded {
            if recorded.insert(name, *kind).is_some() {
                let message = format!("metadata of `{name}` is recorded twice");
                let violation = Violation::new(Rule::UniqueNames, message).at(self.scope, name);
                self.found.push(violation);
            }
        }
        let mut nodes: FxHashSet<&str> = FxHashSet::default();
        let mut made: FxHashSet<&str> = FxHashSet::default();
        for step in &self.graph.steps {
            if step.kind == StepKind::Call {
                if !nodes.insert(&step.name) {
                    self.report(Rule::UniqueNames, step, format!("a second node is called `{}`", step.name));
                }
                if self.names_required && !step.named {
                    let message = "the node has no name, which its schema version records".to_owned();
                    self.report(Rule::MetadataVersion, step, message);
                }
            }
            let mut told = FxHashSet::default();
            for name in &step.uses {
                if made.contains(name.as_str()) || !told.insert(name) {
                    continue;
                }
                let message = if all_made.contains(name.as_str()) {
                    format!("`{name}` is used before it is made")
                } else {
                    format!("`{name}` is used but nothing makes it")
                };
                self.report(Rule::DefinedBeforeUse, step, message);
            }
            for (name, kind) in &step.makes {
                if !made.insert(name) {
                    let message = format!("a second value is called `{name}`");
                    self.report(Rule::UniqueNames, step, message);
                }
                self.record(step, name, *kind, recorded.get(name.as_str()).copied());
            }
        }
    }

    fn record(&mut self, step: &OutlineStep, name: &str, kind: ValueKind, recorded: Option<ValueKind>) {
        let token = step.kind == StepKind::Input && self.tokens.contains(name);
        match recorded {
            None if token || !self.records_required => {}
            None => {
                self.report(Rule::MetadataRecorded, step, format!("of `{name}` no metadata is recorded"));
            }
            Some(recorded) if recorded != kind => {
                let message =
                    format!("`{name}` is made as a {} but recorded as a {}", kind.name(), recorded.name());
                self.report(Rule::MetadataKind, step, message);
            }
            Some(_) => {}
        }
    }

    /// Inputs first, one output last.
    fn order(&mut self) {
        let mut others = false;
        let mut outputs = 0;
        for step in &self.graph.steps {
            match step.kind {
                StepKind::Input if others => {
                    let message = format!("the input `{}` stands behind other nodes", step.name);
                    self.report(Rule::PlaceholdersFirst, step, message);
                }
                StepKind::Input => {}
                StepKind::Call => others = true,
                StepKind::MethodCall | StepKind::ModuleCall | StepKind::Attribute => {
                    others = true;
                    let does = match step.kind {
                        StepKind::MethodCall => "calls a method",
                        StepKind::ModuleCall => "calls a module",
                        _ => "fetches an attribute that is no graph",
                    };
                    self.report(Rule::NodeKind, step, format!("the node {does}"));
                }
                StepKind::Output => {
                    others = true;
                    outputs += 1;
                    if outputs == 2 {
                        self.report(Rule::OutputLast, step, "a second output node".to_owned());
                    }
                }
            }
        }
        match self.graph.steps.last() {
            _ if outputs > 1 => {}
            Some(last) if outputs == 1 && last.kind != StepKind::Output => {
                let message = format!("`{}` stands behind the output node", last.name);
                self.report(Rule::OutputLast, last, message);
            }
            _ if outputs == 0 => {
                let violation = Violation::new(Rule::OutputLast, "the graph has no output node");
                self.found.push(violation.at(self.scope, "output"));
            }
            _ => {}
        }
    }
}
