//! The sizes of a model's values over all inputs that are allowed.
use super::declaration::full_name;
use super::evaluate::evaluate;
use super::examples::{Walked, walked};
use super::limits::Limits;
use super::symbolic::Symbolic;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_check::spec::{InputSizes, Shape, Spec};
use sizewise_cost::sizing::{Buffer, Memory, Parts, Sized, Sizing, SizingError, peak};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::read::{Model, domain_of, graphs_of, message::GraphProto, message::NodeProto};
use sizewise_onnx_model::shape::{Tensor, Value};
use sizewise_onnx_model::walk::{Input, Walk};

/// The greatest nesting of graphs.
const MAX_DEPTH: usize = 64;

/// The sizes of a model under a spec, or under what it declares.
///
/// # Errors
/// When the spec does not fit, or no input is allowed.
pub fn sizing<'m>(model: &'m Model, spec: Option<&Spec>) -> Result<Sizing<'m>, SizingError> {
    let limits = spec.map(|spec| Limits::new(model, spec)).transpose()?;
    let Walked { symbolic, mut walk, .. } = walked(model, limits.as_ref());
    let reasons = reasons(&walk);
    let env = allowed(&symbolic, &walk);
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
    let memory = memory(model, &by_name, &symbolic, &mut walk.env);
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
    Sizing::new(Parts { env, open: Some(walk.env), inputs, dims, values, memory, reasons, replay })
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

/// What is known of inputs that are allowed and that the model takes.
fn allowed(symbolic: &Symbolic, walk: &Walk) -> ShapeEnv {
    let mut env = symbolic.env.clone();
    let asserted = walk.env.runtime_asserts().iter().map(|assert| assert.condition);
    let conditions: Vec<Expr> = symbolic
        .demands
        .iter()
        .map(|demand| demand.condition)
        .chain(walk.env.guards().iter().map(|guard| guard.condition))
        .chain(asserted)
        .collect();
    for condition in conditions {
        let known = |symbol: &Symbol| symbolic.symbols.iter().any(|(known, _)| known == symbol);
        if env.pool.free_symbols(&[condition]).iter().all(known) && env.statically(condition) != Some(true) {
            env.assume(condition);
        }
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

/// The memory that a run takes: each result of a node is a buffer from the node that makes it to the last one that uses it.
fn memory(
    model: &Model,
    by_name: &FxHashMap<&str, Tensor>,
    symbolic: &Symbolic,
    env: &mut ShapeEnv,
) -> Memory {
    let graph = &model.graph;
    let last = graph.node.len().saturating_sub(1);
    let mut ends: FxHashMap<&str, usize> = FxHashMap::default();
    let mut reasons = Vec::new();
    for (at, node) in graph.node.iter().enumerate() {
        used(node, MAX_DEPTH, &mut |name| {
            ends.insert(name, at);
        });
        if graphs_of(node).next().is_some() {
            reasons.push(format!("what the graphs of `{}` make is left out", node.op_type));
        }
    }
    ends.extend(graph.output.iter().map(|output| (output.name.as_str(), last)));
    let bytes = |name: &str, env: &mut ShapeEnv| {
        let tensor = by_name.get(name)?;
        let item = env.pool.int(tensor.dtype.bytes());
        Some(env.pool.product(tensor.shape.clone()?.into_iter().chain([item])))
    };
    let (mut buffers, mut constants) = (Vec::new(), Vec::new());
    for (from, node) in graph.node.iter().enumerate() {
        let is_constant = node.op_type == "Constant" && domain_of(node).is_empty();
        for name in node.output.iter().filter(|name| !name.is_empty()) {
            let Some(bytes) = bytes(name, env) else {
                reasons.push(format!("the bytes of `{name}` are not known"));
                continue;
            };
            if is_constant {
                constants.push(bytes);
                continue;
            }
            let to = ends.get(name.as_str()).copied().unwrap_or(from).max(from);
            buffers.push(Buffer { value: name.as_str().into(), bytes, from, to });
        }
    }
    let initializers: FxHashSet<&str> = graph.initializer.iter().map(|tensor| tensor.name.as_str()).collect();
    constants.extend(initializers.iter().filter_map(|name| bytes(name, env)));
    let given = symbolic.sizes.iter().map(|(input, _)| input.name.as_str());
    let given: Vec<Expr> =
        given.filter(|name| !initializers.contains(name)).filter_map(|name| bytes(name, env)).collect();
    reasons.dedup();
    let (inputs, state) = (env.pool.sum(given), env.pool.sum(constants));
    Memory { peak: peak(env, &buffers), buffers, inputs: Some(inputs), state: Some(state), reasons }
}

/// The values that a node uses, also those that graphs within it do.
fn used<'n>(node: &'n NodeProto, depth: usize, each: &mut dyn FnMut(&'n str)) {
    node.input.iter().for_each(|name| each(name));
    if depth == 0 {
        return;
    }
    let within = |graph: &'n GraphProto, each: &mut dyn FnMut(&'n str)| {
        graph.node.iter().for_each(|node| used(node, depth - 1, each));
        graph.output.iter().for_each(|output| each(&output.name));
    };
    graphs_of(node).for_each(|graph| within(graph, each));
}
