//! What a propagation has gathered, apart from the program that it went through.
use super::pipeline::CheckError;
use crate::propagate::{Comparison, Failure, Interpreter, Mismatch, Mode, Named, Step, Stop, recorded};
use crate::spec::Assumptions;
use sizewise_env::{Guard, Origin, RuntimeAssert, ShapeEnv};
use sizewise_expr::Expr;
use sizewise_ir::Program;
use sizewise_kernels::{Operators, Tensor, Value};
use std::sync::Arc;

/// The conditions, differences and results of a run.
pub(super) struct Run<'p> {
    /// The expressions, and the facts that the run went by: those on sizes that only data decides among them.
    pub env: ShapeEnv,
    /// The steps, by [`Origin`].
    pub steps: Arc<[Step<'p>]>,
    /// Conditions on the inputs' sizes.
    pub guards: Vec<Guard>,
    /// Conditions on sizes that only data decides.
    pub asserts: Vec<RuntimeAssert>,
    /// Sizes derived in another way than recorded.
    pub comparisons: Vec<Comparison>,
    /// Values recorded wrongly.
    pub mismatches: Vec<Mismatch>,
    /// Those that nothing uses.
    pub unused_mismatches: Vec<Mismatch>,
    /// Steps whose operator has no kernel, with the reason.
    pub unsupported: Vec<(Origin, String)>,
    /// Steps that gave no result.
    pub failures: Vec<Failure>,
    /// Records that could not be read.
    pub unreadable: Vec<String>,
    /// Counts of elements that sizes leave open, or that are too large.
    pub element_counts: Vec<(Origin, Expr)>,
    /// Choices of strides that the example decided, as conditions that hold there.
    pub layout_choices: Vec<(Origin, Expr)>,
    /// The steps that depend on strides of their operands.
    pub strides_needed: Vec<Origin>,
    /// The program's symbols of sizes that data decides, with what was derived for each.
    pub named: Vec<Named>,
    /// The values of the graph's outputs.
    pub results: Vec<Value>,
}

/// Runs a program on its symbolic inputs.
///
/// # Errors
/// When its records cannot be read.
pub(super) fn propagate<'p>(
    program: &'p Program,
    assumptions: &Assumptions<'p>,
    operators: &'p Operators,
) -> Result<Run<'p>, CheckError> {
    let (mut env, mut records) = (assumptions.env.clone(), assumptions.records.clone());
    let inputs = recorded::inputs(program, &mut records, &mut env)
        .map_err(|error| CheckError::Records(error.to_string()))?;
    let mut interpreter = Interpreter::new(program, env, records, operators, Mode::Verify);
    match interpreter.run(inputs) {
        Ok(results) => Ok(Run::new(interpreter, results)),
        Err(Stop::Unreadable(error)) => Err(CheckError::Records(error.to_string())),
        Err(Stop::Failed(failure)) => Err(CheckError::Records(failure.message)),
    }
}

impl<'p> Run<'p> {
    /// What an interpreter has gathered.
    pub fn new(interpreter: Interpreter<'p>, results: Vec<Value>) -> Run<'p> {
        Run {
            steps: interpreter.steps.into(),
            guards: interpreter.env.guards().to_vec(),
            asserts: interpreter.env.runtime_asserts().to_vec(),
            comparisons: interpreter.comparisons,
            mismatches: interpreter.mismatches,
            unused_mismatches: interpreter.unused_mismatches,
            unsupported: interpreter.unsupported,
            failures: interpreter.failures,
            unreadable: interpreter.unreadable,
            element_counts: interpreter.element_counts,
            named: interpreter.named,
            strides_needed: interpreter.env.strides_needed().to_vec(),
            layout_choices: interpreter.env.layout_choices().iter().map(|&(e, origin)| (origin, e)).collect(),
            results,
            env: interpreter.env,
        }
    }

    /// Whether the conditions say everything about other input sizes too: nothing failed, and no size is decided by data or trusted.
    pub fn is_closed(&self) -> bool {
        self.env.unbacked().is_empty()
            && self.asserts.is_empty()
            && self.failures.is_empty()
            && self.unsupported.is_empty()
            && self.unreadable.is_empty()
    }

    /// This run as it is under other assumptions, whose environment knows its expressions: the program's symbols
    /// stand for what they are bound to there.
    pub fn under(&self, assumptions: &Assumptions) -> Run<'p> {
        let mut env = assumptions.env.clone();
        let records = &assumptions.records;
        let mut of = |e: Expr| records.translate(&mut env, e);
        let guards = self.guards.iter().map(|g| Guard { condition: of(g.condition), ..g.clone() }).collect();
        let comparisons = self
            .comparisons
            .iter()
            .map(|c| Comparison {
                condition: of(c.condition),
                derived: of(c.derived),
                recorded: of(c.recorded),
                ..c.clone()
            })
            .collect();
        let element_counts = self.element_counts.iter().map(|&(origin, e)| (origin, of(e))).collect();
        let layout_choices = self.layout_choices.iter().map(|&(origin, e)| (origin, of(e))).collect();
        let results = self
            .results
            .iter()
            .map(|value| match value {
                Value::Tensor(t) => {
                    let sizes = t.sizes.iter().map(|&e| of(e)).collect();
                    Tensor { sizes, ..(**t).clone() }.into()
                }
                Value::Int(e) => Value::Int(of(*e)),
                other => other.clone(),
            })
            .collect();
        Run {
            env,
            steps: self.steps.clone(),
            guards,
            asserts: Vec::new(),
            comparisons,
            mismatches: self.mismatches.clone(),
            unused_mismatches: self.unused_mismatches.clone(),
            unsupported: self.unsupported.clone(),
            failures: Vec::new(),
            unreadable: Vec::new(),
            element_counts,
            layout_choices,
            strides_needed: self.strides_needed.clone(),
            named: Vec::new(),
            results,
        }
    }
}
