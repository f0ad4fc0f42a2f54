//! Functions of Python and torch on numbers, as they occur as nodes: `_operator.add`, `math.trunc`, `torch.sym_max`.
use super::context::Cx;
use super::error::{KernelError, KernelResult};
use super::value::Value;
use crate::expr::{Expr, Func, Sort};
use smallvec::smallvec;

/// Calls a function on numbers, with Python's meaning for integers, floats and truth values.
///
/// # Errors
/// [`KernelError::Unsupported`] for a function that is not known, or operands that are no numbers.
pub fn python_function(cx: &mut Cx, function: &str, args: &[Value]) -> KernelResult {
    let mut numbers = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            Value::Int(e) | Value::Float(e) | Value::Bool(e) => numbers.push(*e),
            Value::Tensor(_) if args.len() == 1 => {
                return Err(KernelError::Unsupported(format!("`{function}` of a tensor")));
            }
            other => return Err(KernelError::Unsupported(format!("`{function}` of {}", other.kind()))),
        }
    }
    let (module, name) = function.rsplit_once('.').unwrap_or(("", function));
    let result = match (module, name, numbers.as_slice()) {
        ("_operator" | "operator", _, &[a, b]) => binary_operator(cx, name, a, b)?,
        ("_operator" | "operator", "neg", &[a]) => cx.pool().neg(a),
        ("_operator" | "operator", "pos", &[a]) => a,
        ("_operator" | "operator", "abs", &[a]) | ("builtins", "abs", &[a]) => cx.pool().abs(a),
        ("_operator" | "operator", "not_", &[a]) | ("torch", "sym_not", &[a]) => cx.not(a),
        ("math", "trunc", &[a]) | ("torch", "sym_int", &[a]) | ("builtins", "int", &[a]) => {
            cx.pool().float_to_int(Func::Trunc, a)
        }
        ("math", "floor", &[a]) => cx.pool().float_to_int(Func::Floor, a),
        ("math", "ceil", &[a]) => cx.pool().float_to_int(Func::Ceil, a),
        ("builtins" | "", "round", &[a]) => cx.pool().float_to_int(Func::Round, a),
        ("torch", "sym_float", &[a]) | ("builtins", "float", &[a]) => cx.pool().to_float(a),
        ("torch", "sym_max", &[a, b]) => cx.max(a, b),
        ("torch", "sym_min", &[a, b]) => cx.min(a, b),
        ("torch", "sym_ite", &[c, a, b]) => {
            let condition = cx.pool().truth(c);
            cx.pool().ite(condition, a, b)
        }
        ("torch", "sym_sqrt" | "_sym_sqrt", &[a]) | ("math", "sqrt", &[a]) => {
            cx.pool().real_function(Func::Sqrt, a)
        }
        ("torch", "sym_sum", items) => cx.sum(items.iter().copied()),
        _ => return Err(KernelError::Unsupported(format!("`{function}` is not known"))),
    };
    Ok(smallvec![match cx.pool().sort(result) {
        Sort::Bool => Value::Bool(result),
        Sort::Float => Value::Float(result),
        Sort::Int => Value::Int(result),
    }])
}

fn binary_operator(cx: &mut Cx, name: &str, a: Expr, b: Expr) -> Result<Expr, KernelError> {
    let nonzero = |cx: &mut Cx, clause: &'static str| {
        if cx.pool().sort(b) == Sort::Float {
            return Ok(());
        }
        let condition = cx.ne(b, 0);
        cx.require(condition, clause, |_| "division by zero".to_string())
    };
    Ok(match name {
        "add" => cx.add(a, b),
        "sub" => cx.sub(a, b),
        "mul" => cx.mul(a, b),
        "floordiv" => {
            nonzero(cx, "floordiv.C1")?;
            cx.floor_div(a, b)
        }
        "mod" => {
            nonzero(cx, "mod.C1")?;
            cx.modulo(a, b)
        }
        "truediv" => {
            nonzero(cx, "truediv.C1")?;
            cx.pool().true_div(a, b)
        }
        "pow" => cx.pool().pow(a, b),
        "eq" => cx.eq(a, b),
        "ne" => cx.ne(a, b),
        "le" => cx.le(a, b),
        "lt" => cx.lt(a, b),
        "ge" => cx.ge(a, b),
        "gt" => cx.gt(a, b),
        "and_" => cx.pool().bitwise(Func::BitAnd, a, b),
        "or_" => cx.pool().bitwise(Func::BitOr, a, b),
        "xor" => cx.pool().bitwise(Func::BitXor, a, b),
        "lshift" => {
            let factor = cx.pool().pow(2.into(), b);
            cx.mul(a, factor)
        }
        "rshift" => {
            let factor = cx.pool().pow(2.into(), b);
            cx.floor_div(a, factor)
        }
        _ => return Err(KernelError::Unsupported(format!("`_operator.{name}` is not known"))),
    })
}
