//! What a program asserts of the sizes of its inputs: a part of its contract, as guards are.
//!
//! Programs that torch exports with unbacked sizes have no guards: what the trace needs of the inputs stands as assertions
//! in the graph. One that the inputs' sizes decide refuses inputs as a guard does, wherever it stands.
use super::error::CheckError;
use crate::propagate::{Run, propagate};
use crate::spec::Contract;
use sizewise_env::{Origin, ShapeEnv};
use sizewise_expr::text::print;
use sizewise_ir::{Graph, Node, TargetKind};
use sizewise_kernels::Operators;
use sizewise_solve::{Budget, implies};

/// The contract with the assertions that sizes of inputs decide.
pub(super) fn with_assertions<'p>(
    mut contract: Contract<'p>,
    operators: &'p Operators,
) -> Result<Contract<'p>, CheckError> {
    // Where an example is known, what the trace needs was recorded as guards.
    if contract.has_example() || !has_assertions(&contract.program.graph) {
        return Ok(contract);
    }
    let assumptions = contract.assumed();
    let run = propagate(contract.program, &assumptions, operators)?;
    let mut known = assumptions.env.clone();
    for assert in run.env.stated() {
        let symbols = run.env.pool.free_symbols(&[assert.condition]);
        let of_inputs = symbols.iter().all(|&symbol| assumptions.env.symbol(symbol).is_some());
        let is_open = run.env.pool.as_bool(assert.condition) != Some(true);
        let is_stated = assert.certain && assert.clause.is_stated() && of_inputs;
        if is_stated && is_open && is_as_recorded(&run, &mut known, assert.origin) {
            // The pool of the run has symbols that the contract's is to be without.
            if let Ok(text) = print::try_expression(&run.env.pool, assert.condition) {
                contract.add_assertion(&text);
            }
            known.assume(assert.condition);
        }
    }
    Ok(contract)
}

/// Whether all sizes up to a step are what the program records, so that the assertion there is about sizes that exist.
fn is_as_recorded(run: &Run, known: &mut ShapeEnv, origin: Origin) -> bool {
    let mut before = run.comparisons.iter().filter(|comparison| comparison.origin <= origin);
    let (pool, facts) = known.facts();
    before.all(|comparison| implies(pool, facts, comparison.condition, &Budget::small()))
}

/// Whether some step asserts something of numbers.
fn has_assertions(graph: &Graph) -> bool {
    let asserts = |node: &Node| match node.target.kind() {
        TargetKind::Op { op, .. } => op.contains("assert_scalar") || op.contains("sym_constrain_range"),
        _ => false,
    };
    graph.nodes().iter().any(asserts) || graph.subgraphs().any(|(_, inner)| has_assertions(inner))
}
