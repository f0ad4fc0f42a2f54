//! What running a program has found, apart from the program itself.
use super::step::{Comparison, Failure, Mismatch, RecordedSymbol, Step};
use crate::spec::Assumptions;
use sizewise_env::{Guard, GuardKind, Origin, RuntimeAssert, ShapeEnv};
use sizewise_expr::{Expr, Symbol};
use sizewise_kernels::{Tensor, Value};
use std::sync::Arc;

/// The conditions, differences and results of a run.
pub struct Run<'p> {
    /// The expressions, and the facts of the run, those on data-dependent sizes included.
    pub env: ShapeEnv,
    /// The steps, by [`Origin`].
    pub steps: Arc<Vec<Step<'p>>>,
    /// Sizes derived in another way than recorded.
    pub comparisons: Vec<Comparison>,
    /// Values recorded wrongly.
    pub mismatches: Vec<Mismatch>,
    /// Those that nothing uses.
    pub unused_mismatches: Vec<Mismatch>,
    /// Steps whose operator has no kernel, with the reason.
    pub unsupported: Vec<(Origin, String)>,
    /// Steps that gave no result; at most one when evaluating.
    pub failures: Vec<Failure>,
    /// Records that could not be read.
    pub unreadable: Vec<String>,
    /// The element counts of results, each once, that are symbolic or do not fit in 64 bits.
    pub element_counts: Vec<(Origin, Expr)>,
    /// Unbacked symbols that only the record names, with what was derived for each.
    pub named: Vec<RecordedSymbol>,
    /// Conditions on the inputs' sizes, when the run is finished.
    pub guards: Vec<Guard>,
    /// Conditions on data-dependent sizes, when the run is finished.
    pub asserts: Vec<RuntimeAssert>,
    /// Layout choices made by the example, as conditions that hold there, when the run is finished.
    pub layout_choices: Vec<(Origin, Expr)>,
    /// The steps that depend on strides of their operands, when the run is finished.
    pub strides_needed: Vec<Origin>,
    /// The values of the graph's outputs, when the run is finished.
    pub results: Vec<Value>,
}

impl<'p> Run<'p> {
    /// A run that has not begun; `steps` is about how many steps there will be.
    pub(super) fn new(env: ShapeEnv, steps: usize) -> Run<'p> {
        Run {
            env,
            steps: Arc::new(Vec::with_capacity(steps)),
            comparisons: Vec::new(),
            mismatches: Vec::new(),
            unused_mismatches: Vec::new(),
            unsupported: Vec::new(),
            failures: Vec::new(),
            unreadable: Vec::new(),
            element_counts: Vec::new(),
            named: Vec::new(),
            guards: Vec::new(),
            asserts: Vec::new(),
            layout_choices: Vec::new(),
            strides_needed: Vec::new(),
            results: Vec::new(),
        }
    }

    /// The run when it has come to its end. What sizes of inputs alone decide is a guard, whether or not an example
    /// of them is known: data has no part in it.
    pub(super) fn finished(self, results: Vec<Value>, is_of_inputs: impl Fn(Symbol) -> bool) -> Run<'p> {
        let env = &self.env;
        let (decided, asserts): (Vec<RuntimeAssert>, Vec<RuntimeAssert>) =
            env.runtime_asserts().iter().cloned().partition(|assert| {
                env.pool.free_symbols(&[assert.condition]).into_iter().all(&is_of_inputs)
            });
        let decided = decided.into_iter().map(|RuntimeAssert { condition, origin, clause, .. }| Guard {
            condition,
            kind: GuardKind::Precondition,
            origin,
            clause,
        });
        Run {
            guards: env.guards().iter().cloned().chain(decided).collect(),
            asserts,
            layout_choices: env.layout_choices().iter().map(|&(e, origin)| (origin, e)).collect(),
            strides_needed: env.strides_needed().to_vec(),
            results,
            ..self
        }
    }

    /// The step of an index.
    pub fn step(&self, origin: Origin) -> Option<&Step<'p>> {
        self.steps.get(origin.0 as usize)
    }

    pub(super) fn steps_mut(&mut self) -> &mut Vec<Step<'p>> {
        Arc::make_mut(&mut self.steps)
    }

    /// Whether the conditions are complete for other input sizes too: nothing failed, and no size is data-dependent
    /// or taken from the record.
    pub fn is_closed(&self) -> bool {
        self.env.unbacked().is_empty()
            && self.asserts.is_empty()
            && self.failures.is_empty()
            && self.unsupported.is_empty()
            && self.unreadable.is_empty()
    }

    /// This closed run under other assumptions, whose environment knows its expressions: the program's symbols are
    /// replaced as bound there.
    pub fn under(&self, assumptions: &Assumptions) -> Run<'p> {
        let mut env = assumptions.env.clone();
        let mut of = |e: Expr| assumptions.records.translate(&mut env, e);
        let guards = self.guards.iter().map(|g| Guard { condition: of(g.condition), ..g.clone() }).collect();
        let comparisons = self.comparisons.iter().map(|c| Comparison {
            condition: of(c.condition),
            derived: of(c.derived),
            recorded: of(c.recorded),
            ..c.clone()
        });
        let comparisons = comparisons.collect();
        let element_counts = self.element_counts.iter().map(|&(origin, e)| (origin, of(e))).collect();
        let layout_choices = self.layout_choices.iter().map(|&(origin, e)| (origin, of(e))).collect();
        let results = self.results.iter().map(|value| match value {
            Value::Tensor(t) => {
                let sizes = t.sizes.iter().map(|&e| of(e)).collect();
                Tensor { sizes, ..(**t).clone() }.into()
            }
            Value::Int(e) => Value::Int(of(*e)),
            other => other.clone(),
        });
        let results = results.collect();
        Run {
            steps: self.steps.clone(),
            guards,
            comparisons,
            mismatches: self.mismatches.clone(),
            unused_mismatches: self.unused_mismatches.clone(),
            element_counts,
            layout_choices,
            strides_needed: self.strides_needed.clone(),
            results,
            ..Run::new(env, 0)
        }
    }
}
