//! What a program asserts of the sizes of its inputs: a part of its contract, as guards are.
//!
//! Programs that torch exports with unbacked sizes have no guards: what the trace needs of the inputs stands as assertions
//! in the graph. One that the inputs' sizes decide refuses inputs as a guard does, wherever it stands.
use super::error::CheckError;
use crate::propagate::{Run, propagate};
use crate::spec::Contract;
use sizewise_env::{Origin, ShapeEnv};
use sizewise_ir::{Graph, Node, TargetKind};
use sizewise_kernels::Operators;
use sizewise_solve::{Budget, implies};

/// The contract with the assertions that sizes of inputs decide.
pub(super) fn with_assertions<'p>(
    mut contract: Contract<'p>,
    operators: &'p Operators,
) -> Result<Contract<'p>, CheckError> {
    if !has_assertions(&contract.program.graph) {
        return Ok(contract);
    }
    let assumptions = contract.assumed();
    let run = propagate(contract.program, &assumptions, operators)?;
    let mut known = assumptions.env.clone();
    contract.env.pool = run.env.pool.clone();
    for assert in run.env.stated() {
        let symbols = run.env.pool.free_symbols(&[assert.condition]);
        let of_inputs = symbols.iter().all(|&symbol| assumptions.env.symbol(symbol).is_some());
        let is_new = run.env.pool.as_bool(assert.condition) != Some(true)
            && contract.guards.iter().all(|guard| guard.condition != assert.condition);
        let is_stated = assert.certain && assert.clause.is_stated();
        if is_stated && of_inputs && is_new && is_as_recorded(&run, &mut known, assert.origin) {
            contract.add_assertion(assert.condition);
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
