//! When a run makes a value: always, or in a branch or a loop that it comes to under conditions.
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_check::propagate::{Entry, Run, Step};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;
use sizewise_ir::{GraphInput, InputSpec, Program, ValueId};

/// What decides whether a run makes a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// The conditions on the sizes of inputs, all of which hold then.
    pub conditions: Vec<Expr>,
    /// Whether data have a part in it.
    pub by_data: bool,
}

/// The branches of a run.
pub(super) struct Branching<'r, 'p> {
    program: &'p Program,
    pub run: &'r Run<'p>,
    inputs: &'r ShapeEnv,
    /// How often the program's own graph uses each value.
    uses: FxHashMap<ValueId, usize>,
    /// What steps in graphs that data choose need of sizes.
    needed: Vec<(&'r [Entry], Expr)>,
}

impl<'r, 'p> Branching<'r, 'p> {
    /// Those of a run, whose inputs have the symbols of this environment.
    pub fn new(program: &'p Program, run: &'r Run<'p>, inputs: &'r ShapeEnv) -> Branching<'r, 'p> {
        let mut uses = FxHashMap::default();
        for node in program.graph.nodes() {
            for input in &node.inputs {
                input.arg.for_each_value(&mut |id| *uses.entry(id).or_insert(0) += 1);
            }
        }
        Branching { program, run, inputs, uses, needed: Vec::new() }
    }

    /// Takes the conditions on sizes that the run records: those that all inputs have to satisfy. What a graph needs that
    /// data choose is kept for the values in it.
    pub fn take(&mut self, conditions: impl Iterator<Item = (Option<&'r Step<'p>>, Expr)>) -> Vec<Expr> {
        let mut always = Vec::new();
        for (step, condition) in conditions {
            if !self.is_of_inputs(condition) {
                continue;
            }
            let entries = step.map(Step::entries).unwrap_or_default();
            if entries.iter().all(|entry| self.of_sizes(entry).is_some()) {
                always.push(condition);
            } else {
                self.needed.push((entries, condition));
            }
        }
        always
    }

    /// When a run comes to a step.
    pub fn when(&self, step: &Step) -> When {
        let mut when = When::default();
        if step.entries().is_empty() {
            return when;
        }
        for entry in step.entries() {
            match self.of_sizes(entry) {
                Some(condition) => when.conditions.push(condition),
                None => when.by_data |= !self.is_free(entry),
            }
        }
        let around = self.needed.iter().filter(|(entries, _)| step.entries().starts_with(entries));
        when.conditions.extend(around.map(|&(_, condition)| condition));
        when.conditions.dedup();
        when
    }

    /// The graphs that the run leaves out: no allowed input comes to them.
    pub fn unreached(&self) -> Vec<String> {
        let (mut called, mut reached) = (IndexSet::new(), FxHashSet::default());
        for step in &*self.run.steps {
            let name = step.node();
            let around = name.rsplit_once('.').map(|(around, _)| around);
            reached.extend(around.map(str::to_owned));
            for graph in step.reached().subgraphs().iter().filter(|graph| !graph.graph.nodes().is_empty()) {
                called.insert(match around {
                    None => graph.name.to_string(),
                    Some(around) => format!("{around}.{}", graph.name),
                });
            }
        }
        called.into_iter().filter(|name| !reached.contains(name)).collect()
    }

    fn is_of_inputs(&self, e: Expr) -> bool {
        self.inputs.pool.free_symbols(&[e]).iter().all(|&symbol| self.inputs.symbol(symbol).is_some())
    }

    /// The condition of an entry, if sizes of inputs decide it.
    fn of_sizes(&self, entry: &Entry) -> Option<Expr> {
        entry.condition.filter(|&condition| self.is_of_inputs(condition))
    }

    /// Whether data decide an entry that nothing else depends on: it is an input that the program uses for this only.
    fn is_free(&self, entry: &Entry) -> bool {
        let Some(step) = self.run.step(entry.by) else { return false };
        let chosen = step.reached().inputs.first().and_then(|input| input.arg.value());
        let (Some(id), None, false) = (chosen, entry.condition, step.is_nested()) else { return false };
        let graph = &self.program.graph;
        let at =
            graph.inputs().iter().position(|input| matches!(input, GraphInput::Value(value) if *value == id));
        let spec = at.and_then(|at| self.program.signature.inputs.get(at));
        matches!(spec, Some(InputSpec::User { .. })) && self.uses.get(&id) == Some(&1)
    }
}
