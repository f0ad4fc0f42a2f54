//! `sizewise infer`: shape inference of one operator call a line.
use super::args::InferOptions;
use super::argument::{read_value, write_int, write_value};
use super::jsonl::{self, Refusal};
use super::operators;
use crate::expr::{Int, Value as Number, text};
use crate::fake::{Cx, KernelError, Operators, Value, bind};
use crate::ir::schema::SchemaTable;
use crate::range::ValueRange;
use crate::shape_env::{ShapeEnv, SymbolInfo};
use serde_json::{Map, Value as Json};
use std::process::ExitCode;

/// Runs the command.
pub fn run(options: &InferOptions) -> ExitCode {
    match operators::load(&options.operators) {
        Ok(operators) => jsonl::run(options.jsonl.jobs, &|request| answer(&operators, request)),
        Err(message) => {
            eprintln!("sizewise: {message}");
            ExitCode::from(2)
        }
    }
}

/// Answers one request.
pub(super) fn answer(
    operators: &Operators,
    request: &Map<String, Json>,
) -> Result<Map<String, Json>, Refusal> {
    let op = match request.get("op") {
        Some(Json::String(op)) => op.as_str(),
        _ => return Err(Refusal::invalid("expected `op`, such as \"aten.cat.default\"")),
    };
    let unsupported = |message: String| Refusal { kind: "unsupported", message, clause: None };
    let found = operators.find(op);
    if found.is_none() && SchemaTable::global().get(op).is_none() {
        return Err(unsupported(format!("no operator `{op}` is known")));
    }
    let mut env = ShapeEnv::new();
    declare_symbols(&mut env, request.get("symbols"))?;
    let mut positional: Vec<Value> = Vec::new();
    match request.get("args") {
        None | Some(Json::Null) => {}
        Some(Json::Array(items)) => {
            for item in items {
                positional.push(read_value(&mut env, item)?);
            }
        }
        Some(_) => return Err(Refusal::invalid("expected a list of `args`")),
    }
    let mut keywords: Vec<(&str, Value)> = Vec::new();
    match request.get("kwargs") {
        None | Some(Json::Null) => {}
        Some(Json::Object(items)) => {
            for (name, item) in items {
                keywords.push((name, read_value(&mut env, item)?));
            }
        }
        Some(_) => return Err(Refusal::invalid("expected an object of `kwargs`")),
    }
    let Some((schema, kernel)) = found else {
        return Err(unsupported(format!("there is no fake kernel for `{op}`")));
    };
    let args =
        bind(&mut env.pool, schema, positional, keywords).map_err(|e| Refusal::invalid(e.to_string()))?;
    let returns = kernel.call(&mut Cx::new(&mut env), &args).map_err(|error| match error {
        KernelError::Invalid { clause, message, .. } => {
            Refusal { kind: "invalid", message, clause: Some(clause) }
        }
        KernelError::Unsupported(message) => unsupported(message),
        KernelError::DataDependent { message, .. } => {
            Refusal { kind: "data_dependent", message, clause: None }
        }
    })?;
    let mut fields = Map::new();
    let returns: Vec<Json> = returns.iter().map(|v| write_value(&env.pool, v)).collect();
    fields.insert("returns".into(), returns.into());
    let shown = |conditions: Vec<crate::expr::Expr>| -> Json {
        conditions.into_iter().map(|e| Json::from(text::print::expression(&env.pool, e))).collect()
    };
    fields.insert("guards".into(), shown(env.guards().iter().map(|g| g.condition).collect()));
    fields.insert("asserts".into(), shown(env.runtime_asserts().iter().map(|a| a.condition).collect()));
    fields.insert("symbols".into(), unbacked_symbols(&mut env));
    Ok(fields)
}

/// Declares the symbols of a request with their ranges and hints.
fn declare_symbols(env: &mut ShapeEnv, symbols: Option<&Json>) -> Result<(), Refusal> {
    let symbols = match symbols {
        None | Some(Json::Null) => return Ok(()),
        Some(Json::Object(symbols)) => symbols,
        Some(_) => return Err(Refusal::invalid("expected an object of `symbols`")),
    };
    for (name, info) in symbols {
        let number = |field: &str| -> Result<Option<Int>, Refusal> {
            match info.get(field) {
                None | Some(Json::Null) => Ok(None),
                Some(Json::Number(n)) => n.to_string().parse().map(Some).map_err(|_| ()),
                Some(_) => Err(()),
            }
            .map_err(|()| {
                Refusal::invalid(format!("expected an integer or null as `{field}` of the symbol `{name}`"))
            })
        };
        let hint = number("hint")?.map(Number::Int);
        let range = ValueRange::between_options(number("min")?, number("max")?)
            .ok_or_else(|| Refusal::invalid(format!("the range of the symbol `{name}` is empty")))?;
        env.declare(name, range, SymbolInfo { hint, source: None });
    }
    Ok(())
}

/// The unbacked symbols that the operator made, with their ranges.
fn unbacked_symbols(env: &mut ShapeEnv) -> Json {
    let mut fields = Map::new();
    for symbol in env.unbacked().to_vec() {
        let e = env.pool.symbol_expr(symbol);
        let (lower, upper) = env.bounds(e);
        let name = env.pool.symbol_name(symbol).to_string();
        let mut bound = |v: Option<Int>| {
            v.map_or(Json::Null, |v| {
                let e = env.pool.int(v);
                write_int(&env.pool, e)
            })
        };
        let entry: Map<String, Json> =
            [("min".to_string(), bound(lower)), ("max".to_string(), bound(upper))].into_iter().collect();
        fields.insert(name, entry.into());
    }
    fields.into()
}
