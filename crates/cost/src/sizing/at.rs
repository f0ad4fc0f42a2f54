//! The sizes of inputs at which something is so.
use serde_json::{Map, Value as Json};
use sizewise_check::report::int_json;
use sizewise_check::spec::{InputSizes, Shape};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Evaluator, Int, Symbol, Value};
use sizewise_solve::Witness;
use std::sync::Arc;

/// The shapes of tensors and the values of numbers, by placeholder.
pub type At = Vec<(Arc<str>, Shape)>;

/// The value that a symbol has in an assignment.
pub fn value_in(witness: &Witness, symbol: Symbol) -> Option<Value> {
    witness.iter().find(|(known, _)| *known == symbol).map(|(_, value)| Value::Int(value.clone()))
}

/// The shapes of inputs at an assignment; symbols that it leaves out have their examples.
pub fn at(env: &ShapeEnv, inputs: &[InputSizes], witness: &Witness) -> Option<At> {
    let value = |symbol: Symbol| {
        value_in(witness, symbol).or_else(|| env.symbol(symbol).and_then(|info| info.hint.clone()))
    };
    let mut evaluator = Evaluator::new(&env.pool, value);
    let mut at = At::new();
    for input in inputs {
        if let Some(sizes) = &input.allowed {
            let sizes = sizes.iter().map(|&e| evaluator.int(e)).collect::<Result<Vec<Int>, _>>().ok()?;
            if sizes.iter().any(Int::is_negative) {
                return None;
            }
            at.push((input.placeholder.clone(), Shape::Tensor(sizes)));
        } else if let Some(e) = input.scalar {
            at.push((input.placeholder.clone(), Shape::Scalar(evaluator.value(e).ok()?)));
        }
    }
    Some(at)
}

/// As JSON: `{"x": [2, 8], "n": 3}`.
pub fn at_json(at: &At) -> Json {
    let of = |(name, shape): &(Arc<str>, Shape)| {
        let json = match shape {
            Shape::Tensor(sizes) => Json::Array(sizes.iter().map(int_json).collect()),
            Shape::Scalar(Value::Float(value)) => Json::from(*value),
            Shape::Scalar(Value::Bool(value)) => Json::from(*value),
            Shape::Scalar(Value::Int(value)) => int_json(value),
            _ => Json::Null,
        };
        (name.to_string(), json)
    };
    Json::Object(at.iter().map(of).collect::<Map<_, _>>())
}

/// As `sizewise eval` takes them: `x=2,8 n=3`, and `x=[]` for a tensor without dimensions.
pub fn at_text(at: &At) -> String {
    let of = |(name, shape): &(Arc<str>, Shape)| match shape {
        Shape::Tensor(sizes) if sizes.is_empty() => format!("{name}=[]"),
        Shape::Tensor(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(Int::to_string).collect();
            format!("{name}={}", sizes.join(","))
        }
        Shape::Scalar(Value::Float(value)) => format!("{name}={value}"),
        Shape::Scalar(Value::Bool(value)) => format!("{name}={value}"),
        Shape::Scalar(Value::Int(value)) => format!("{name}={value}"),
        _ => format!("{name}=?"),
    };
    at.iter().map(of).collect::<Vec<_>>().join(" ")
}
