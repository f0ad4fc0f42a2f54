//! Shape inference of one operator call.
use super::argument::{read_value, write_int, write_value};
use super::premises::SYMBOL_FIELDS;
use super::refusal::only;
use super::{Fields, Refusal};
use serde_json::{Map, Value as Json, json};
use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Value as Number, text};
use sizewise_ir::schema::SchemaTable;
use sizewise_kernels::{Cx, KernelError, Operators, Value, bind};

/// Answers one request.
///
/// # Errors
/// When the request cannot be understood, or the operator refuses its arguments.
pub fn answer(operators: &Operators, request: &Fields) -> Result<Fields, Refusal> {
    explained(operators, request, false)
}

/// As [`answer`]; with `explain`, a field of that name says what decided each condition of the operator.
///
/// # Errors
/// As for [`answer`].
pub fn explained(operators: &Operators, request: &Fields, explain: bool) -> Result<Fields, Refusal> {
    only(request, &["id", "op", "args", "kwargs", "symbols"])?;
    let op = match request.get("op") {
        Some(Json::String(op)) => op.as_str(),
        _ => return Err(Refusal::invalid("expected `op`, such as \"aten.cat.default\"")),
    };
    let unsupported = |message: String| Refusal::no_result("unsupported", message);
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
    let args = bind(&mut env.pool, schema, positional, keywords)
        .map_err(|e| Refusal::no_result("invalid", e.to_string()))?;
    let returns =
        kernel.call(&mut Cx::on(&mut env, operators.backend()), &args).map_err(|error| match error {
            KernelError::Invalid { clause, message, .. } => {
                Refusal { clause: Some(clause), ..Refusal::no_result("invalid", message) }
            }
            KernelError::Unsupported(message) => unsupported(message),
            KernelError::DataDependent { message, .. } => Refusal::no_result("data_dependent", message),
        })?;
    let mut fields = Map::new();
    let returns: Vec<Json> = returns.iter().map(|v| write_value(&env.pool, v)).collect();
    fields.insert("returns".into(), returns.into());
    let shown = |conditions: Vec<Expr>| -> Json {
        conditions.into_iter().map(|e| Json::from(text::print::expression(&env.pool, e))).collect()
    };
    fields.insert("guards".into(), shown(env.guards().iter().map(|g| g.condition).collect()));
    fields.insert("asserts".into(), shown(env.runtime_asserts().iter().map(|a| a.condition).collect()));
    fields.insert("symbols".into(), unbacked_symbols(&mut env));
    if explain {
        fields.insert("explain".into(), explanation(&mut env));
    }
    Ok(fields)
}

/// What decided each condition of the operator: the facts, the hints (which records a guard), or nothing
/// (which records a runtime assertion).
fn explanation(env: &mut ShapeEnv) -> Json {
    let mut steps: Vec<Json> = Vec::new();
    let mut recorded: Vec<Expr> = env.guards().iter().map(|g| g.condition).collect();
    for guard in recorded.clone() {
        recorded.push(env.pool.not(guard));
    }
    for (condition, value) in env.settled_conditions() {
        if !recorded.contains(&condition) {
            let held = if value { condition } else { env.pool.not(condition) };
            let says = format!("{} follows from the ranges", text::print::expression(&env.pool, held));
            steps.push(json!({"rung": "range", "outcome": says}));
        }
    }
    let shown = |e: Expr| text::print::expression(&env.pool, e);
    for guard in env.guards() {
        let says = format!("{} holds at the hints: a guard ({})", shown(guard.condition), guard.clause);
        steps.push(json!({"rung": "hint", "outcome": says}));
    }
    for (condition, _) in env.layout_choices() {
        let says = format!("{} is taken to hold: it decides strides only", shown(*condition));
        steps.push(json!({"rung": "hint", "outcome": says}));
    }
    for open in env.runtime_asserts() {
        let says = format!("{} is open: an assertion ({})", shown(open.condition), open.clause);
        steps.push(json!({"rung": "none", "outcome": says}));
    }
    steps.into()
}

/// Declares the symbols of a request with their ranges and hints.
///
/// # Errors
/// When they are not understood.
pub fn declare_symbols(env: &mut ShapeEnv, symbols: Option<&Json>) -> Result<(), Refusal> {
    let symbols = match symbols {
        None | Some(Json::Null) => return Ok(()),
        Some(Json::Object(symbols)) => symbols,
        Some(_) => return Err(Refusal::invalid("expected an object of `symbols`")),
    };
    for (name, info) in symbols {
        if !info.is_object() && !info.is_null() {
            return Err(Refusal::invalid(format!("expected an object for the symbol `{name}`, got {info}")));
        }
        if let Some(info) = info.as_object() {
            only(info, SYMBOL_FIELDS).map_err(|error| error.at(|| format!("symbols.{name}")))?;
        }
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
