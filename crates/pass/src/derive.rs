//! Re-derives what is recorded of every value: the program is propagated from its inputs, and each record that says
//! something else is replaced. Where a step fails or has no kernel, its record stays.
use super::error::PassError;
use super::rewrite::{Rewriter, with_graph};
use rustc_hash::FxHashMap;
use sizewise_check::propagate::{Derived, Interpreter, Mode, recorded};
use sizewise_check::spec::Contract;
use sizewise_env::ShapeEnv;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Pool};
use sizewise_ir::{ExprTable, Graph, Hint, Meta, Program, Size, Sizes, Sym, TensorMeta, ValueId};
use sizewise_kernels::{Operators, Tensor, Value};

const NAME: &str = "derive";

pub(super) fn run(program: &Program, operators: &Operators) -> Result<Program, PassError> {
    let failed = |message: String| PassError::failed(NAME, message);
    let contract = Contract::load(program).map_err(|error| failed(error.to_string()))?;
    let assumptions = contract.assumed();
    let (mut env, mut records) = (assumptions.env.clone(), assumptions.records.clone());
    let inputs =
        recorded::inputs(program, &mut records, &mut env).map_err(|error| failed(error.to_string()))?;
    let mut interpreter = Interpreter::new(program, env, records, operators, Mode::Verify);
    interpreter.derived = Some(Vec::new());
    interpreter.propagate(inputs).map_err(|stop| failed(stop.to_string()))?;
    let mut found: FxHashMap<(String, ValueId), Derived> = FxHashMap::default();
    for derived in interpreter.derived.take().into_iter().flatten() {
        // A graph that is called twice has the records of its first call.
        found.entry((derived.scope.clone(), derived.value)).or_insert(derived);
    }
    let mut exprs = program.exprs.clone();
    let graph = rederived(&program.graph, "", &found, &mut interpreter.run.env, &mut exprs);
    let mut program = with_graph(program, graph);
    program.exprs = exprs;
    Ok(program)
}

fn rederived(
    graph: &Graph,
    scope: &str,
    found: &FxHashMap<(String, ValueId), Derived>,
    env: &mut ShapeEnv,
    exprs: &mut ExprTable,
) -> Graph {
    let mut rewriter = Rewriter::new(graph);
    for node in graph.nodes() {
        let mut graphs: Vec<Graph> = node
            .subgraphs()
            .into_iter()
            .map(|inner| {
                let dot = if scope.is_empty() { "" } else { "." };
                rederived(&inner.graph, &format!("{scope}{dot}{}", inner.name), found, env, exprs)
            })
            .collect();
        graphs.reverse();
        rewriter.keep_as(
            node,
            &mut |inner| graphs.pop().unwrap_or_else(|| inner.graph.clone()),
            &mut |id, meta| match found.get(&(scope.to_owned(), id)) {
                Some(derived) => record(env, exprs, meta, derived),
                None => meta.clone(),
            },
        );
    }
    rewriter.finish()
}

/// What is to be recorded; expressions that say the same as the record keep its text.
fn record(env: &mut ShapeEnv, exprs: &mut ExprTable, meta: &Meta, derived: &Derived) -> Meta {
    match (&derived.found, &derived.recorded, meta) {
        (Value::Tensor(new), Value::Tensor(old), Meta::Tensor(kept)) => {
            let mut sizes = |new: &[Expr], old: &[Expr], kept: &Sizes| -> Sizes {
                let pairs = new.iter().enumerate();
                pairs
                    .map(|(i, &e)| match (old.get(i), kept.get(i)) {
                        (Some(before), Some(kept)) if *before == e && new.len() == old.len() => *kept,
                        _ => size(env, exprs, e),
                    })
                    .collect()
            };
            let strides = if kept.strides.is_empty() {
                Sizes::new()
            } else {
                sizes(&new.strides, &old.strides, &kept.strides)
            };
            let sizes = sizes(&new.sizes, &old.sizes, &kept.sizes);
            let offset =
                if new.offset == old.offset { kept.storage_offset } else { size(env, exprs, new.offset) };
            Meta::Tensor(Box::new(TensorMeta {
                dtype: new.dtype,
                sizes,
                strides,
                storage_offset: offset,
                requires_grad: kept.requires_grad,
                device: new.device.clone(),
                layout: new.layout,
            }))
        }
        (Value::Int(new), Value::Int(old), _) if new != old => Meta::SymInt(size(env, exprs, *new)),
        (Value::Tensor(new), _, _) => tensor_meta(env, exprs, new),
        _ => meta.clone(),
    }
}

/// A size as it is recorded.
pub(super) fn size(env: &mut ShapeEnv, exprs: &mut ExprTable, e: Expr) -> Size {
    if let Some(value) = env.pool.as_int(e).and_then(|value| value.to_i64()) {
        return Sym::Literal(value);
    }
    let hint = env.hint_int(e).and_then(|value| value.to_i64()).map(Hint::Int);
    Sym::Expr(exprs.intern(&text(&env.pool, e), hint))
}

fn text(pool: &Pool, e: Expr) -> String {
    print::expression(pool, e)
}

/// A truth value as it is recorded.
pub(super) fn truth(env: &mut ShapeEnv, exprs: &mut ExprTable, e: Expr) -> Sym<bool> {
    match env.pool.as_bool(e) {
        Some(value) => Sym::Literal(value),
        None => Sym::Expr(exprs.intern(&text(&env.pool, e), None)),
    }
}

/// A double as it is recorded.
pub(super) fn float(env: &mut ShapeEnv, exprs: &mut ExprTable, e: Expr) -> Sym<f64> {
    match env.pool.constant_value(e) {
        Some(value) => Sym::Literal(value.as_f64()),
        None => Sym::Expr(exprs.intern(&text(&env.pool, e), None)),
    }
}

/// A tensor as it is recorded.
pub(super) fn tensor_meta(env: &mut ShapeEnv, exprs: &mut ExprTable, tensor: &Tensor) -> Meta {
    let sizes = tensor.sizes.iter().map(|&e| size(env, exprs, e)).collect();
    let strides = tensor.strides.iter().map(|&e| size(env, exprs, e)).collect();
    Meta::Tensor(Box::new(TensorMeta {
        dtype: tensor.dtype,
        sizes,
        strides,
        storage_offset: size(env, exprs, tensor.offset),
        requires_grad: false,
        device: tensor.device.clone(),
        layout: tensor.layout,
    }))
}
