//! The law: what symbolic inference says, read at a point, is what concrete inference says there, or one of its
//! guards is false there.
use serde_json::{Map, Value as Json};
use sizewise::env::{ShapeEnv, SymbolInfo};
use sizewise::expr::{Expr, Int, Symbol, Value as Number, text};
use sizewise::ir::dtype::Layout;
use sizewise::kernels::{Cx, KernelError, Operators, Tensor, Value, Values, bind};
use sizewise::query::argument::{read_value, write_value};
use sizewise::range::ValueRange;
use std::sync::Arc;

/// The names of the symbols that calls are made of.
pub const NAMES: [&str; 6] = ["s0", "s1", "s2", "s3", "s4", "s5"];

/// A call as `sizewise infer` takes it, sizes being expressions of symbols.
#[derive(Clone, Debug)]
pub struct Call {
    pub op: String,
    pub args: Vec<Json>,
    pub kwargs: Map<String, Json>,
    /// The symbols' hints.
    pub hints: Vec<i64>,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let args: Vec<String> = self.args.iter().map(Json::to_string).collect();
        write!(
            f,
            "{}({}, {}) at {:?}",
            self.op,
            args.join(", "),
            Json::Object(self.kwargs.clone()),
            self.hints
        )
    }
}

/// What a comparison came to.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counts {
    /// Inferences that were made.
    pub inferences: u64,
    /// Calls that are accepted at their hints.
    pub accepted: u64,
    /// Other points at which all guards hold, so that the results were compared.
    pub compared: u64,
}

/// Why a call was not made: its arguments are none of the operator's.
pub struct NoCall;

struct Inferred {
    env: ShapeEnv,
    result: Result<Values, KernelError>,
}

/// Infers a call, with symbols at the hints or with numbers at the point.
fn infer(operators: &Operators, call: &Call, point: Option<&[i64]>) -> Result<Inferred, NoCall> {
    let mut env = ShapeEnv::new();
    for (name, &hint) in NAMES.iter().zip(&call.hints) {
        match point {
            None => {
                let info = SymbolInfo { hint: Some(Number::Int(Int::from(hint))), source: None };
                env.declare(name, ValueRange::at_least(Int::ZERO), info);
            }
            Some(_) => {
                env.pool.symbol(name);
            }
        }
    }
    let (schema, kernel) = operators.find(&call.op).ok_or(NoCall)?;
    let mut read = |json: &Json| -> Result<Value, NoCall> {
        let value = read_value(&mut env, json).map_err(|_| NoCall)?;
        match point {
            None => Ok(value),
            Some(point) => Ok(at_point(&mut env, &value, point)),
        }
    };
    let args = call.args.iter().map(&mut read).collect::<Result<Vec<_>, _>>()?;
    let kwargs = call
        .kwargs
        .iter()
        .map(|(name, json)| Ok((name.as_str(), read(json)?)))
        .collect::<Result<Vec<_>, NoCall>>()?;
    let bound = bind(&mut env.pool, schema, args, kwargs).map_err(|_| NoCall)?;
    let result = kernel.call(&mut Cx::new(&mut env), &bound);
    Ok(Inferred { env, result })
}

fn at(env: &mut ShapeEnv, e: Expr, point: &[i64]) -> Expr {
    let numbers: Vec<(Option<Symbol>, Expr)> =
        NAMES.iter().zip(point).map(|(name, &v)| (env.pool.find_symbol(name), env.pool.int(v))).collect();
    env.pool.substitute_symbols(e, |s| numbers.iter().find(|(n, _)| *n == Some(s)).map(|(_, v)| *v))
}

fn tensor_at(env: &mut ShapeEnv, t: &Tensor, point: &[i64]) -> Tensor {
    let sizes = t.sizes.iter().map(|&e| at(env, e, point)).collect();
    let strides = t.strides.iter().map(|&e| at(env, e, point)).collect();
    Tensor { sizes, strides, offset: at(env, t.offset, point), ..t.clone() }
}

/// A value with numbers for the symbols.
fn at_point(env: &mut ShapeEnv, value: &Value, point: &[i64]) -> Value {
    let mut all = |items: &[Expr]| -> Vec<Expr> { items.iter().map(|&e| at(env, e, point)).collect() };
    match value {
        Value::Ints(items) => Value::Ints(all(items)),
        Value::Floats(items) => Value::Floats(all(items)),
        Value::Bools(items) => Value::Bools(all(items)),
        Value::Int(e) => Value::Int(at(env, *e, point)),
        Value::Float(e) => Value::Float(at(env, *e, point)),
        Value::Bool(e) => Value::Bool(at(env, *e, point)),
        Value::Tensor(t) => tensor_at(env, t, point).into(),
        Value::Tensors(items) => {
            let each = |t: &Option<Arc<Tensor>>| t.as_ref().map(|t| Arc::new(tensor_at(env, t, point)));
            Value::Tensors(items.iter().map(each).collect())
        }
        Value::Scalars(items) => Value::Scalars(items.iter().map(|v| at_point(env, v, point)).collect()),
        other => other.clone(),
    }
}

/// Whether a size is left to data, so that nothing is compared.
fn is_open(env: &ShapeEnv, e: Expr) -> bool {
    env.pool.free_symbols(&[e]).iter().any(|s| env.pool.symbol_name(*s).starts_with('u'))
}

fn same_sizes(symbolic: &Inferred, a: &[Expr], concrete: &Inferred, b: &[Expr]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(&a, &b)| {
            is_open(&symbolic.env, a)
                || text::print::expression(&symbolic.env.pool, a)
                    == text::print::expression(&concrete.env.pool, b)
        })
}

fn same_tensors(symbolic: &Inferred, a: &Tensor, concrete: &Inferred, b: &Tensor, strides: bool) -> bool {
    let same = a.dtype == b.dtype && a.device == b.device && a.layout == b.layout;
    // Strides of dimensions of size 0 and 1 mean nothing.
    let several = |e: &Expr| e.as_inline().is_some_and(|v| v > 1);
    let strides = strides && a.layout == Layout::Strided && a.sizes.iter().all(several);
    same && same_sizes(symbolic, &a.sizes, concrete, &b.sizes)
        && (!strides || same_sizes(symbolic, &a.strides, concrete, &b.strides))
}

fn same(symbolic: &Inferred, a: &Value, concrete: &Inferred, b: &Value, strides: bool) -> bool {
    let one = |a: Expr, b: Expr| same_sizes(symbolic, &[a], concrete, &[b]);
    match (a, b) {
        (Value::Tensor(a), Value::Tensor(b)) => same_tensors(symbolic, a, concrete, b, strides),
        (Value::Tensors(a), Value::Tensors(b)) => {
            a.len() == b.len()
                && a.iter().zip(b).all(|pair| match pair {
                    (Some(a), Some(b)) => same_tensors(symbolic, a, concrete, b, strides),
                    (a, b) => a.is_none() && b.is_none(),
                })
        }
        (Value::Int(a), Value::Int(b))
        | (Value::Float(a), Value::Float(b))
        | (Value::Bool(a), Value::Bool(b)) => one(*a, *b),
        (Value::Ints(a), Value::Ints(b)) => same_sizes(symbolic, a, concrete, b),
        _ => write_value(&symbolic.env.pool, a) == write_value(&concrete.env.pool, b),
    }
}

fn show(env: &ShapeEnv, values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().map(|v| write_value(&env.pool, v).to_string()).collect();
    shown.join(", ")
}

fn holds(env: &ShapeEnv, condition: Expr, point: &[i64]) -> bool {
    let value = |s: Symbol| {
        let at = NAMES.iter().position(|n| *n == env.pool.symbol_name(s))?;
        Some(Number::Int(Int::from(*point.get(at)?)))
    };
    env.pool.eval(condition, value) == Ok(Number::Bool(true))
}

/// Checks one call at its hints and at other points.
///
/// # Errors
/// What is wrong, as a sentence.
pub fn check(operators: &Operators, call: &Call, points: &[Vec<i64>]) -> Result<Counts, String> {
    let mut counts = Counts::default();
    let Ok(mut symbolic) = infer(operators, call, None) else { return Ok(counts) };
    let Ok(concrete) = infer(operators, call, Some(&call.hints)) else { return Ok(counts) };
    counts.inferences += 2;
    let returned = match &symbolic.result {
        Ok(returned) => returned.clone(),
        Err(KernelError::Invalid { message, .. }) => {
            return match &concrete.result {
                Ok(values) => Err(format!(
                    "{call}: symbolically refused ({message}), concretely {}",
                    show(&concrete.env, values)
                )),
                Err(_) => Ok(counts),
            };
        }
        Err(_) => return Ok(counts),
    };
    counts.accepted += 1;
    let guards: Vec<Expr> = symbolic.env.guards().iter().map(|g| g.condition).collect();
    let layout: Vec<Expr> = symbolic.env.layout_choices().iter().map(|(c, _)| *c).collect();
    let asserted = !symbolic.env.runtime_asserts().is_empty();
    for (i, point) in std::iter::once(&call.hints).chain(points).enumerate() {
        let held = guards.iter().all(|&g| holds(&symbolic.env, g, point));
        if !held {
            if i == 0 {
                return Err(format!("{call}: a guard is false at the hints"));
            }
            continue;
        }
        let Ok(concrete) = infer(operators, call, Some(point)) else { continue };
        counts.inferences += 1;
        let values = match &concrete.result {
            Ok(values) => values,
            // A runtime assertion may be settled by the sizes.
            Err(KernelError::Invalid { .. }) if asserted => continue,
            Err(error) => {
                let shown: Vec<String> =
                    guards.iter().map(|&g| text::print::expression(&symbolic.env.pool, g)).collect();
                return Err(format!("{call}: refused at {point:?} where {shown:?} hold: {error:?}"));
            }
        };
        counts.compared += u64::from(i > 0);
        let strides = layout.iter().all(|&c| holds(&symbolic.env, c, point));
        let expected: Vec<Value> = returned.iter().map(|v| at_point(&mut symbolic.env, v, point)).collect();
        let agree = expected.len() == values.len()
            && expected.iter().zip(values).all(|(a, b)| same(&symbolic, a, &concrete, b, strides));
        if !agree {
            let shown: Vec<String> =
                guards.iter().map(|&g| text::print::expression(&symbolic.env.pool, g)).collect();
            return Err(format!(
                "{call}: at {point:?}, where {shown:?} hold, symbolically {} and concretely {}",
                show(&symbolic.env, &expected),
                show(&concrete.env, values)
            ));
        }
    }
    Ok(counts)
}

/// Other points to look at: one symbol changed, all scaled, two made equal, all small.
pub fn points(hints: &[i64], choices: &mut super::choices::Choices) -> Vec<Vec<i64>> {
    let mut points = Vec::new();
    if hints.is_empty() {
        return points;
    }
    for _ in 0..4 {
        let mut point = hints.to_vec();
        let (i, j) = (choices.below(hints.len()), choices.below(hints.len()));
        match choices.below(5) {
            0 => point[i] = choices.one(&[0, 1, 2, 3, 4, 5, 7, 8, 12, 100]),
            1 => point[i] = point[j],
            2 => point[i] *= choices.one(&[2, 3, 4, 8]),
            3 => {
                let factor = choices.one(&[2, 3, 5]);
                point.iter_mut().for_each(|v| *v *= factor);
            }
            _ => point.iter_mut().for_each(|v| *v = choices.one(&[0, 1, 2, 3, 4, 5, 6, 8])),
        }
        points.push(point);
    }
    points
}
