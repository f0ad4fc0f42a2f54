//! The parts of a report that only describe: program, inputs, outputs, symbols.
use super::factored::factored;
use super::readable::readable;
use crate::propagate::Run;
use crate::report::{ProgramInfo, SymbolReport, TensorInfo, Tool, int_json};
use crate::spec::Assumptions;
use indexmap::IndexMap;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Int, Pool, Symbol, Value as Number, text};
use sizewise_ir::{Constant, GraphInput, Meta, Program};
use sizewise_kernels::Value;
use sizewise_solve::{self as decide, Budget, Facts};
use std::fmt::Write;

/// The name and version of this program.
pub fn tool() -> Tool {
    Tool { name: "sizewise".to_string(), version: env!("CARGO_PKG_VERSION").to_string() }
}

/// The hash of a file's bytes in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(super) fn program(path: &str, sha256: &str, program: &Program) -> ProgramInfo {
    ProgramInfo {
        path: path.to_string(),
        sha256: sha256.to_string(),
        nodes: program.graph.total_nodes(),
        dialect: program.dialect.name().to_string(),
        torch_version: program.torch_version.to_string(),
        onnx: None,
    }
}

/// A size as JSON: an integer, or the expression in the user's names.
fn size_json(assumptions: &Assumptions, env: &ShapeEnv, e: Expr) -> Json {
    match env.pool.as_int(e) {
        Some(v) => int_json(&v),
        None => shown(assumptions, env, e).into(),
    }
}

/// A number as JSON: itself, or the expression in the user's names.
fn number_json(assumptions: &Assumptions, run: &Run, e: Expr) -> Json {
    match run.env.pool.constant_value(e) {
        Some(Number::Int(v)) => int_json(&v),
        Some(Number::Bool(v)) => v.into(),
        Some(Number::Float(v)) if v.is_finite() => v.into(),
        _ => shown(assumptions, &run.env, e).into(),
    }
}

/// An expression of `env` in the user's own names.
pub(super) fn shown(assumptions: &Assumptions, env: &ShapeEnv, e: Expr) -> String {
    shown_in(assumptions, &env.pool, e)
}

/// A condition of `env` as people write it, in the user's own names.
pub(super) fn condition(assumptions: &Assumptions, env: &ShapeEnv, condition: Expr) -> String {
    condition_in(assumptions, &env.pool, env.known_facts(), condition)
}

/// A condition of `pool` as people write it, in the user's own names.
pub(super) fn condition_in(assumptions: &Assumptions, pool: &Pool, facts: &Facts, condition: Expr) -> String {
    let readable = readable(pool, facts, condition);
    let own = |symbol| name(assumptions, pool, symbol).to_owned();
    factored(pool, readable, &own).unwrap_or_else(|| shown_in(assumptions, pool, readable))
}

/// An expression of `pool` in the user's own names.
pub(super) fn shown_in(assumptions: &Assumptions, pool: &Pool, e: Expr) -> String {
    text::print::python(pool, e, &|s| name(assumptions, pool, s))
}

/// The user's own name of a size.
pub(super) fn name<'a>(assumptions: &'a Assumptions, pool: &'a Pool, symbol: Symbol) -> &'a str {
    assumptions.names.get(&symbol).map_or_else(|| pool.symbol_name(symbol), String::as_str)
}

pub(super) fn inputs(program: &Program, assumptions: &Assumptions) -> Vec<TensorInfo> {
    assumptions
        .inputs
        .iter()
        .map(|input| {
            let constant = program.burned_in(input.index);
            let dtype = match program.graph.inputs().get(input.index) {
                Some(GraphInput::Value(id)) => match program.graph.meta(*id) {
                    Meta::Tensor(t) => t.dtype.name().to_string(),
                    other => other.kind_name().to_string(),
                },
                _ => "constant".to_string(),
            };
            let shape = input
                .allowed
                .as_ref()
                .map(|sizes| sizes.iter().map(|&e| size_json(assumptions, &assumptions.env, e)).collect());
            let value = constant.map(Constant::json);
            TensorInfo { name: input.placeholder.to_string(), shape, dtype, value, upper_bound: None }
        })
        .collect()
}

pub(super) fn outputs(program: &Program, assumptions: &Assumptions, run: &mut Run) -> Vec<TensorInfo> {
    let mut infos = Vec::new();
    for ((spec, argument), value) in
        program.signature.outputs.iter().zip(program.graph.outputs()).zip(&run.results)
    {
        if !spec.is_user_output() {
            continue;
        }
        let name = match argument.value() {
            Some(id) => program.graph.name(id).to_string(),
            None => format!("output_{}", infos.len()),
        };
        let info = match value {
            Value::Tensor(t) => {
                // A bound that only says that a size is an int64 is not shown.
                let bounded = |v: &Int| *v < Int::from(i64::MAX - 1);
                let mut upper = |e| greatest(&mut run.env, e).filter(bounded).map(|v| int_json(&v));
                let upper = t.sizes.iter().map(|&e| upper(e)).collect();
                let sizes: Vec<Expr> = t.sizes.iter().map(|&e| settled(&mut run.env, e)).collect();
                let shape = sizes.iter().map(|&e| size_json(assumptions, &run.env, e)).collect();
                TensorInfo {
                    name,
                    shape: Some(shape),
                    dtype: t.dtype.name().to_string(),
                    value: None,
                    upper_bound: Some(upper),
                }
            }
            other => {
                let kind = match other {
                    Value::Int(_) => "int",
                    Value::Float(_) => "float",
                    Value::Bool(_) => "bool",
                    Value::None => "none",
                    _ => "object",
                };
                let value = match other {
                    Value::Int(e) | Value::Float(e) | Value::Bool(e) => {
                        Some(number_json(assumptions, run, *e))
                    }
                    _ => None,
                };
                TensorInfo { name, shape: None, dtype: kind.to_string(), value, upper_bound: None }
            }
        };
        infos.push(info);
    }
    infos
}

/// A size, or the only number that its range leaves.
fn settled(env: &mut ShapeEnv, e: Expr) -> Expr {
    match env.bounds(e) {
        (Some(least), Some(most)) if least == most => env.pool.int(least),
        _ => e,
    }
}

/// The greatest value of a size; if it is not linear, intervals may overestimate it.
fn greatest(env: &mut ShapeEnv, e: Expr) -> Option<Int> {
    let upper = env.upper_bound(e)?;
    let poly = env.pool.poly(e);
    if poly.terms.len() <= 1 && poly.terms.iter().all(|(atom, _)| env.pool.as_symbol(*atom).is_some()) {
        return Some(upper);
    }
    let (pool, facts) = env.facts();
    let exact = decide::greatest(pool, facts, e, &Budget::small());
    Some(exact.map_or(upper.clone(), |max| max.min(upper)))
}

pub(super) fn symbols(assumptions: &mut Assumptions) -> IndexMap<String, SymbolReport> {
    let env = &mut assumptions.env;
    let mut reports = IndexMap::new();
    let mut seen = rustc_hash::FxHashSet::default();
    for input in &assumptions.inputs {
        let sizes: Vec<Expr> = input.allowed.iter().flatten().copied().chain(input.scalar).collect();
        for size in sizes {
            for symbol in env.pool.free_symbols(&[size]) {
                if !seen.insert(symbol) {
                    continue;
                }
                let e = env.pool.symbol_expr(symbol);
                let (lower, upper) = env.bounds(e);
                let hint = env.symbol(symbol).and_then(|info| info.hint.clone()).map(|hint| match hint {
                    Number::Int(v) => int_json(&v),
                    other => other.as_f64().into(),
                });
                let dim = assumptions.dims.get(&symbol).cloned();
                let source = env
                    .symbol(symbol)
                    .and_then(|info| info.source.as_ref().map(ToString::to_string))
                    .or_else(|| assumptions.names.get(&symbol).filter(|_| dim.is_none()).cloned());
                let report = SymbolReport {
                    min: lower.map(|v| int_json(&v)),
                    max: upper.map(|v| int_json(&v)),
                    hint,
                    source,
                    dim,
                };
                reports.insert(env.pool.symbol_name(symbol).to_string(), report);
            }
        }
    }
    reports
}
