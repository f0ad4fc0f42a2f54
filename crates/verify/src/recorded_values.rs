//! What a program records of its values, against what its operators give: the rule [`Rule::RecordedValue`].
//!
//! Only what is wrong wherever the program runs is reported: another dtype, rank or size. Whether sizes agree for every
//! input that a spec allows is what `check` decides. Values that nothing uses are left out: torch records some of them
//! wrongly.
use crate::{Rule, Violation};
use sizewise_check::propagate::{Interpreter, Mode, recorded};
use sizewise_check::spec::Contract;
use sizewise_ir::{Dialect, Program};
use sizewise_kernels::Operators;
use std::borrow::Cow;

/// The values of a program of which something else is recorded than its operators give. Values that cannot be computed
/// here are taken as they are recorded.
pub fn recorded_values(program: &Program, operators: &Operators) -> Vec<Violation> {
    let program = match program.dialect {
        Dialect::Edge => Cow::Owned(Program { graph: program.graph.without_wrappers(), ..program.clone() }),
        _ => Cow::Borrowed(program),
    };
    let Ok(contract) = Contract::load(&program) else { return Vec::new() };
    let assumptions = contract.assumed();
    let (mut env, mut records) = (assumptions.env.clone(), assumptions.records.clone());
    let Ok(inputs) = recorded::inputs(&program, &mut records, &mut env) else { return Vec::new() };
    let mut interpreter = Interpreter::new(&program, env, records, operators, Mode::Verify);
    // What the run found until it stopped is found.
    let _ = interpreter.propagate(inputs);
    let mut found = Vec::new();
    for mismatch in &interpreter.run.mismatches {
        let step = interpreter.run.step(mismatch.origin);
        let by =
            step.map_or_else(String::new, |step| format!(", `{}` gives {}", step.op(), mismatch.derived));
        let message = format!("`{}` is recorded as {}{by}", mismatch.value, mismatch.recorded);
        let mut violation = Violation::new(Rule::RecordedValue, message);
        if let Some(step) = step {
            let node = step.node();
            let (graph, name) = node.rsplit_once('.').unwrap_or(("", &node));
            violation = violation.at(graph, name);
            violation.location = step.location();
        }
        found.push(violation);
    }
    found
}
