//! The sizes of a model's values over all inputs that are allowed.
use super::cost::followed;
use super::declaration::full_name;
use super::evaluate::evaluate;
use super::examples::{Walked, walked};
use super::limits::Limits;
use super::symbolic::Symbolic;
use super::ways::is_branch;
use rustc_hash::FxHashMap;
use sizewise_check::check::simplest;
use sizewise_check::spec::{InputSizes, Shape, Spec};
use sizewise_cost::sizing::{Memory, Parts, Sized, Sizing, SizingError};
use sizewise_env::ShapeEnv;
use sizewise_expr::escape::abridged;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::shape::{Tensor, Value};
use sizewise_onnx_model::walk::{Input, Walk};
use sizewise_solve::{Budget, decide};

/// The most ways of which it is asked whether other inputs go another.
const MAX_WAYS: usize = 64;

/// The sizes of a model under a spec, or under what it declares.
///
/// # Errors
/// When the spec does not fit, or no input is allowed.
pub fn sizing<'m>(model: &'m Model, spec: Option<&Spec>) -> Result<Sizing<'m>, SizingError> {
    let limits = spec.map(|spec| Limits::new(model, spec)).transpose()?;
    let Walked { symbolic, walk, .. } = walked(model, limits.as_ref());
    let mut reasons = reasons(&walk);
    let env = allowed(&symbolic, &walk, &mut reasons);
    let mut by_name: FxHashMap<&str, Tensor> = FxHashMap::default();
    for (name, number) in model.all_values() {
        if let Some(Some(Value::Tensor(tensor))) = walk.values.get(number) {
            by_name.insert(name, tensor.clone());
        }
    }
    let mut values = Vec::new();
    for name in model.graph.node.iter().flat_map(|node| &node.output) {
        let Some(tensor) = by_name.get(name.as_str()) else { continue };
        if let Some(sizes) = &tensor.shape {
            values.push(Sized::new(name, full_name(tensor.dtype), tensor.dtype.bytes(), sizes));
        }
    }
    let (mut cost, buffers) = followed(model, &symbolic, walk);
    let state = cost.env.pool.add(cost.parameter_bytes, cost.constant_bytes);
    let memory = Memory {
        buffers,
        peak: cost.peak_bytes,
        flops: Some(cost.flops),
        made: Some(cost.activation_bytes),
        inputs: Some(cost.input_bytes),
        state: Some(state),
        reasons: cost.reasons,
    };
    let inputs = inputs(&symbolic);
    let dims = symbolic
        .symbols
        .iter()
        .filter_map(|(symbol, named)| Some((*symbol, named.declared.clone()?)))
        .collect();
    let replay = Box::new(|at: &sizewise_cost::sizing::At| {
        let mut given = FxHashMap::default();
        for (name, shape) in at {
            let Shape::Tensor(sizes) = shape else { return false };
            let Some(sizes) = sizes.iter().map(Int::to_i64).collect() else { return false };
            given.insert(name.to_string(), sizes);
        }
        evaluate(model, &given, &FxHashMap::default()).is_ok()
    });
    Sizing::new(Parts { env, open: Some(cost.env), inputs, dims, values, memory, reasons, replay })
}

/// Why sizes may be other than the walk found them.
fn reasons(walk: &Walk) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for (step, reason) in walk.unknown.iter().chain(&walk.unsupported) {
        let node = walk.steps.get(*step).map_or("?", |step| step.node());
        reasons.push(format!("the results of `{node}` are not known: {reason}"));
    }
    for failure in &walk.failures {
        let node = walk.steps.get(failure.step).map_or("?", |step| step.node());
        let message = match &failure.error {
            KernelError::Unsupported(message)
            | KernelError::Invalid { message, .. }
            | KernelError::DataDependent { message, .. } => message,
        };
        reasons.push(format!("`{node}` refuses inputs that are allowed: {message}"));
    }
    reasons.dedup();
    reasons
}

/// What is known of inputs that are allowed, that the model takes, and with which it goes the way that was walked. Where
/// other inputs go another way, with sizes that were not walked, that is a reason.
fn allowed(symbolic: &Symbolic, walk: &Walk, reasons: &mut Vec<String>) -> ShapeEnv {
    let mut env = symbolic.env.clone();
    let is_of_inputs = |env: &ShapeEnv, condition: Expr| {
        let known = |symbol: &Symbol| symbolic.symbols.iter().any(|(known, _)| known == symbol);
        env.pool.free_symbols(&[condition]).iter().all(known)
    };
    let mut ways = Vec::new();
    let mut required: Vec<Expr> = symbolic.demands.iter().map(|demand| demand.condition).collect();
    for guard in walk.env.guards() {
        let full = walk.env.in_full(guard.condition).filter(|full| *full != guard.condition);
        match full {
            _ if is_branch(guard) => ways.push(guard.condition),
            Some(full) => {
                ways.push(guard.condition);
                required.push(full);
            }
            None => required.push(guard.condition),
        }
    }
    required.extend(walk.env.runtime_asserts().iter().map(|assert| assert.condition));
    for condition in required {
        if is_of_inputs(&env, condition) && env.statically(condition) != Some(true) {
            env.assume(condition);
        }
    }
    for (at, way) in ways.into_iter().enumerate() {
        if !is_of_inputs(&env, way) || env.statically(way) == Some(true) {
            continue;
        }
        let (pool, facts) = env.facts();
        if at < MAX_WAYS && decide(pool, facts, way, &Budget::small()).verdict.is_implied() {
            continue;
        }
        let shown = simplest(pool, facts, way);
        let shown = symbolic.shown(pool, shown);
        let shown = abridged(&shown);
        reasons.push(format!("where `{shown}` is false, the model may run with other sizes"));
        env.assume(way);
    }
    env
}

/// The inputs with the sizes that may be given.
fn inputs(symbolic: &Symbolic) -> Vec<InputSizes> {
    let of = |(at, (input, sizes)): (usize, &(Input, Vec<Expr>))| {
        let sizes = sizes.iter().enumerate().map(|(dim, &size)| symbolic.varied(at, dim).unwrap_or(size));
        InputSizes {
            placeholder: input.name.as_str().into(),
            index: at,
            path: input.name.clone(),
            allowed: input.shape.as_ref().map(|_| sizes.collect()),
            scalar: None,
            contiguous: true,
        }
    };
    symbolic.sizes.iter().enumerate().map(of).collect()
}
