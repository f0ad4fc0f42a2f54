//! The sizes of an exported program.
use super::values::Sized;
use super::when::Branching;
use super::{Buffer, Memory, Parts, Sizing, SizingError};
use crate::{Life, Lived, followed};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_check::check::{CheckError, Evaluator, Shapes};
use sizewise_check::propagate::{Interpreter, Mode, Run, Stop, recorded};
use sizewise_check::spec::{Assumptions, Contract, Spec, bind};
use sizewise_env::ShapeEnv;
use sizewise_ir::{Node, Program, ValueId};
use sizewise_kernels::{Operators, Tensor, Value};
use std::sync::Arc;

/// A result of a node: the node's address and the value.
type Key = (*const Node, ValueId);

/// The sizes of a program under a spec, or under its own contract.
///
/// # Errors
/// When the spec does not fit, the program cannot be followed, or no input is allowed.
pub fn sizing<'p>(
    program: &'p Program,
    spec: Option<&Spec>,
    operators: &'p Operators,
) -> Result<Sizing<'p>, SizingError> {
    let contract = Contract::load(program)?;
    let mut assumed = match spec {
        None => contract.assumed(),
        Some(spec) => bind(&contract, spec)?,
    };
    for demand in std::mem::take(&mut assumed.demands) {
        assumed.env.assume(demand.condition);
    }
    let Followed { run, results, mut reasons } = follow(program, &assumed, operators)?;
    let (cost, lived) = followed(program, operators, assumed.clone())?;
    let mut branching = Branching::new(program, &run, &assumed.env);
    let mut env = allowed(&assumed, &run, &mut branching);
    if !env.left_out().is_empty() {
        reasons.push("the program has more conditions than are reasoned with".to_owned());
    }
    let (mut values, found) = sized(program, &branching, results);
    let unreached = branching.unreached();
    drop(branching);
    for value in &mut values {
        value.when.conditions.retain(|&condition| env.statically(condition) != Some(true));
    }
    let Assumptions { inputs, dims, .. } = assumed;
    let mut open = run.env;
    let own: FxHashSet<*const Node> = program.graph.nodes().iter().map(std::ptr::from_ref).collect();
    let buffers = lived.iter().map(|lived| {
        let is_own = own.contains(&std::ptr::from_ref(lived.node));
        let value = if is_own { program.graph.name(lived.value) } else { &lived.node.name };
        buffer(value, lived, &found, &mut open)
    });
    let buffers = buffers.collect();
    let pool = &mut open.pool;
    let memory = Memory {
        buffers,
        peak: cost.peak_bytes,
        flops: Some(cost.flops),
        made: Some(cost.activation_bytes),
        inputs: Some(cost.input_bytes),
        state: Some(pool.sum([cost.parameter_bytes, cost.buffer_bytes, cost.constant_bytes])),
        reasons: cost.reasons,
    };
    let evaluator = Evaluator::new(contract, operators);
    let replay = move |at: &super::At| {
        let shapes: Shapes = at.iter().cloned().collect();
        evaluator.evaluate(&shapes).is_ok()
    };
    let replay = Box::new(replay);
    let parts = Parts { env, open: Some(open), inputs, dims, values, memory, reasons, replay };
    Ok(Sizing { unreached, ..Sizing::new(parts)? })
}

/// A symbolic run with the results of every node.
struct Followed<'p> {
    run: Run<'p>,
    results: Vec<(usize, ValueId, Value)>,
    reasons: Vec<String>,
}

/// Follows a program: what its operators give, whatever it records. Where one of them fails, what is recorded is taken
/// for it.
fn follow<'p>(
    program: &'p Program,
    assumed: &Assumptions<'p>,
    operators: &'p Operators,
) -> Result<Followed<'p>, SizingError> {
    let mut reasons = Vec::new();
    for mode in [Mode::Evaluate, Mode::Verify] {
        let (mut env, mut records) = (assumed.env.clone(), assumed.records.clone());
        let inputs = recorded::assumed_inputs(program, &assumed.inputs, &mut records, &mut env);
        let inputs = inputs.map_err(CheckError::from)?;
        let mut interpreter = Interpreter::new(program, env, records, operators, mode);
        interpreter.derived = Some(Vec::new());
        match (interpreter.propagate(inputs), mode) {
            (Ok(_), _) => {}
            (Err(Stop::Failed(_)), Mode::Evaluate) => continue,
            (Err(stop), _) => return Err(CheckError::from(stop).into()),
        }
        let derived = interpreter.derived.take().unwrap_or_default();
        let run = interpreter.run;
        for (origin, reason) in &run.unsupported {
            let node = run.step(*origin).map(|step| step.node()).unwrap_or_default();
            reasons.push(format!("the sizes of `{node}` are as recorded: {reason}"));
        }
        for failure in &run.failures {
            let node = run.step(failure.origin).map(|step| step.node()).unwrap_or_default();
            reasons.push(format!("`{node}` refuses inputs that are allowed: {}", failure.message));
        }
        if !run.comparisons.is_empty() || !run.mismatches.is_empty() {
            reasons.push("sizes are recorded otherwise than operators give them".to_owned());
        }
        reasons.dedup();
        let results = derived.into_iter().map(|d| (d.origin.0 as usize, d.value, d.found)).collect();
        return Ok(Followed { run, results, reasons });
    }
    Err(CheckError::Records("the program cannot be followed".to_owned()).into())
}

/// What is known of inputs that are allowed and that the program takes.
fn allowed<'r, 'p>(assumed: &Assumptions, run: &'r Run<'p>, branching: &mut Branching<'r, 'p>) -> ShapeEnv {
    let mut env = assumed.env.clone();
    let asserted = run.env.runtime_asserts().iter().map(|assert| (assert.origin, assert.condition));
    let guarded = run.env.guards().iter().map(|guard| (guard.origin, guard.condition));
    let conditions = guarded.chain(asserted).map(|(origin, condition)| (run.step(origin), condition));
    for condition in branching.take(conditions) {
        if env.statically(condition) != Some(true) {
            env.assume(condition);
        }
    }
    env
}

/// The values that nodes make, with their names; and each node's results.
fn sized(
    program: &Program,
    branching: &Branching,
    results: Vec<(usize, ValueId, Value)>,
) -> (Vec<Sized>, FxHashMap<Key, Arc<Tensor>>) {
    let (mut values, mut found) = (Vec::new(), FxHashMap::default());
    for (origin, id, value) in results {
        let (Value::Tensor(tensor), Some(step)) = (value, branching.run.steps.get(origin)) else { continue };
        let node = step.reached();
        found.insert((std::ptr::from_ref(node), id), tensor.clone());
        let at = node.output_values().position(|other| other == id).unwrap_or(0);
        let name = match (step.is_nested(), at) {
            (false, _) => program.graph.name(id).to_string(),
            (true, 0) => step.node(),
            (true, at) => format!("{}[{at}]", step.node()),
        };
        let value = Sized::new(&name, tensor.dtype.name(), tensor.dtype.item_size().into(), &tensor.sizes);
        values.push(Sized { when: branching.when(step), ..value });
    }
    (values, found)
}

/// A buffer, of as many bytes as the operator's result has.
fn buffer(
    value: &Arc<str>,
    lived: &Lived,
    found: &FxHashMap<Key, Arc<Tensor>>,
    env: &mut ShapeEnv,
) -> Buffer {
    let bytes = match found.get(&(std::ptr::from_ref(lived.node), lived.value)) {
        Some(tensor) => {
            let item = env.pool.int(i64::from(tensor.dtype.item_size()));
            env.pool.product(tensor.sizes.iter().copied().chain([item]))
        }
        None => lived.life.bytes,
    };
    Buffer::new(value.clone(), Life { bytes, ..lived.life.clone() })
}
