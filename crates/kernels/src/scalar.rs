//! Functions of Python and torch on numbers, with Python's rules: `bool` counts as an integer, integers meet floats
//! as floats.
use super::context::Cx;
use super::error::{KernelError, KernelResult};
use super::value::Value;
use sizewise_env::{Clauses, clauses};
use sizewise_expr::{Expr, Func, Sort};
use smallvec::smallvec;

/// The conditions of these operators.
pub(crate) const CLAUSES: Clauses = &[getitem::ALL, scalar::ALL];

/// Calls a function of Python or torch on numbers: `_operator.add`, `math.trunc`, `torch.sym_max`.
///
/// # Errors
/// [`KernelError::Invalid`] for a violated condition, [`KernelError::Unsupported`] for functions that are not known.
pub fn python_function(cx: &mut Cx, function: &str, args: &[Value]) -> KernelResult {
    let (_, name) = function.rsplit_once('.').unwrap_or(("", function));
    let name = name.trim_start_matches("_sym_").trim_start_matches("sym_").trim_end_matches('_');
    if name == "getitem" {
        return item(cx, args);
    }
    if let ("sum", [Value::Ints(items)]) = (name, args) {
        return Ok(smallvec![Value::Int(cx.sum(items.iter().copied()))]);
    }
    let mut numbers = Vec::with_capacity(args.len());
    for arg in args {
        match arg {
            Value::Int(e) | Value::Float(e) | Value::Bool(e) => numbers.push(*e),
            Value::Ints(items) if matches!(name, "max" | "min") => numbers.extend(items),
            other => {
                return Err(KernelError::Unsupported(format!("`{function}` of {}", other.kind())));
            }
        }
    }
    let result = match *numbers.as_slice() {
        ref items if name == "sum" => Some(cx.sum(items.iter().copied())),
        [a] => unary(cx, name, a)?,
        [a, b] => binary(cx, name, a, b)?,
        [c, p, q] if name == "ite" => {
            let c = cx.pool().truth(c);
            Some(cx.pool().ite(c, p, q))
        }
        [a, ref rest @ ..] if matches!(name, "max" | "min") => {
            Some(rest.iter().fold(a, |a, &b| if name == "max" { cx.max(a, b) } else { cx.min(a, b) }))
        }
        _ => None,
    };
    match result {
        Some(e) => Ok(smallvec![as_value(cx, e)]),
        None => Err(KernelError::Unsupported(format!("`{function}` of {} arguments", args.len()))),
    }
}

fn as_value(cx: &mut Cx, e: Expr) -> Value {
    match cx.pool().sort(e) {
        Sort::Int => Value::Int(e),
        Sort::Float => Value::Float(e),
        Sort::Bool => Value::Bool(e),
    }
}

clauses! { getitem {
    C1 "The index is within the list."
} }

/// `_operator.getitem(list, index)`.
fn item(cx: &mut Cx, args: &[Value]) -> KernelResult {
    let [list, Value::Int(index)] = args else {
        return Err(KernelError::Unsupported("`_operator.getitem` of something else than a list".into()));
    };
    let index = cx.literal(*index, getitem::C1)?;
    let pick = |length: usize| {
        let at = if index < 0 { index.checked_add(length as i64) } else { Some(index) };
        at.and_then(|at| usize::try_from(at).ok()).filter(|&at| at < length).ok_or_else(|| {
            KernelError::invalid(getitem::C1, format!("index {index} of a list of {length} elements"))
        })
    };
    Ok(smallvec![match list {
        Value::Tensors(items) => items[pick(items.len())?].clone().map_or(Value::None, Value::Tensor),
        Value::Ints(items) => Value::Int(items[pick(items.len())?]),
        Value::Floats(items) => Value::Float(items[pick(items.len())?]),
        Value::Bools(items) => Value::Bool(items[pick(items.len())?]),
        Value::Scalars(items) => items[pick(items.len())?].clone(),
        other => return Err(KernelError::Unsupported(format!("`_operator.getitem` of {}", other.kind()))),
    }])
}

fn is_float(cx: &mut Cx, e: Expr) -> bool {
    cx.pool().sort(e) == Sort::Float
}

/// Functions of one number; `None` where there is none of the name.
fn unary(cx: &mut Cx, name: &str, a: Expr) -> Result<Option<Expr>, KernelError> {
    let float = is_float(cx, a);
    let pool = cx.pool();
    let number = pool.as_integer(a);
    Ok(Some(match name {
        "neg" => pool.neg(number),
        "pos" | "index" => number,
        "abs" if !float => pool.abs(number),
        "abs" => {
            let negated = pool.neg(a);
            pool.max(a, negated)
        }
        "not" => {
            let truth = pool.truth(a);
            pool.not(truth)
        }
        "truth" | "bool" => pool.truth(a),
        "inv" | "invert" if !float => {
            let negated = pool.neg(number);
            pool.sub(negated, Expr::ONE)
        }
        "float" => pool.to_float(a),
        "int" | "trunc" => rounded(cx, Func::Trunc, number)?,
        "floor" => rounded(cx, Func::Floor, number)?,
        "ceil" => rounded(cx, Func::Ceil, number)?,
        "round" => rounded(cx, Func::Round, number)?,
        "sqrt" | "log" | "log2" => {
            let func = if name == "sqrt" {
                Func::Sqrt
            } else if name == "log" {
                Func::Log
            } else {
                Func::Log2
            };
            let x = cx.pool().to_float(a);
            let zero = cx.pool().float(0.0);
            let defined = if name == "sqrt" { cx.ge(x, zero) } else { cx.gt(x, zero) };
            cx.require(defined, scalar::C3, |cx| format!("`{name}` of {}", cx.show(a)))?;
            cx.pool().real_function(func, x)
        }
        "cos" => pool.real_function(Func::Cos, a),
        "cosh" => pool.real_function(Func::Cosh, a),
        "sin" => pool.real_function(Func::Sin, a),
        "sinh" => pool.real_function(Func::Sinh, a),
        "tan" => pool.real_function(Func::Tan, a),
        "tanh" => pool.real_function(Func::Tanh, a),
        "atan" => pool.real_function(Func::Atan, a),
        "asinh" => pool.real_function(Func::Asinh, a),
        "exp" => pool.real_function(Func::Exp, a),
        "max" | "min" => a,
        _ => return Ok(None),
    }))
}

/// A number rounded to an integer; infinities and NaN known by value have none.
fn rounded(cx: &mut Cx, func: Func, a: Expr) -> Result<Expr, KernelError> {
    let finite = cx.pool().as_float(a).is_none_or(f64::is_finite);
    cx.check(finite, scalar::C3, |cx| format!("{} has no integer next to it", cx.show(a)))?;
    Ok(cx.pool().float_to_int(func, a))
}

fn require_divisor(cx: &mut Cx, b: Expr) -> Result<(), KernelError> {
    let zero = if is_float(cx, b) { cx.pool().float(0.0) } else { Expr::ZERO };
    let nonzero = cx.ne(b, zero);
    cx.require(nonzero, scalar::C1, |cx| format!("division by {}", cx.show(b)))
}

fn require_count(cx: &mut Cx, n: Expr) -> Result<(), KernelError> {
    let natural = cx.ge(n, 0);
    cx.require(natural, scalar::C2, |cx| format!("a shift by {}", cx.show(n)))
}

clauses! { scalar {
    C1 "The divisor is not 0, nor is a float that is raised to a negative power."
    C2 "The number of bits of a shift is not negative. The exponent of an integer is not negative, or the \
        power is a float."
    C3 "The function is defined for the operands."
} }

/// Functions of two numbers; `None` where there is none of the name, or not on floats.
fn binary(cx: &mut Cx, name: &str, a: Expr, b: Expr) -> Result<Option<Expr>, KernelError> {
    let float = is_float(cx, a) || is_float(cx, b);
    if let "and" | "or" | "xor" = name
        && !float
    {
        let func = match name {
            "and" => Func::BitAnd,
            "or" => Func::BitOr,
            _ => Func::BitXor,
        };
        return Ok(Some(cx.pool().bitwise(func, a, b)));
    }
    let convert = |cx: &mut Cx, e: Expr| if float { cx.pool().to_float(e) } else { cx.pool().as_integer(e) };
    match name {
        "eq" => return Ok(Some(cx.eq(a, b))),
        "ne" => return Ok(Some(cx.ne(a, b))),
        "lt" => return Ok(Some(cx.lt(a, b))),
        "le" => return Ok(Some(cx.le(a, b))),
        "gt" => return Ok(Some(cx.gt(a, b))),
        "ge" => return Ok(Some(cx.ge(a, b))),
        _ => {}
    }
    let (a, b) = (convert(cx, a), convert(cx, b));
    Ok(Some(match name {
        "add" | "iadd" => cx.add(a, b),
        "sub" | "isub" => cx.sub(a, b),
        "mul" | "imul" => cx.mul(a, b),
        "max" => cx.max(a, b),
        "min" => cx.min(a, b),
        "truediv" => {
            require_divisor(cx, b)?;
            cx.pool().true_div(a, b)
        }
        "floordiv" => {
            require_divisor(cx, b)?;
            if float {
                return float_quotient(cx, a, b, |quotient, _| quotient);
            }
            cx.floor_div(a, b)
        }
        "mod" => {
            require_divisor(cx, b)?;
            if float {
                return float_quotient(cx, a, b, |_, remainder| remainder);
            }
            cx.modulo(a, b)
        }
        "pow" if float => {
            let zero = cx.pool().float(0.0);
            let (some, natural) = (cx.ne(a, zero), cx.ge(b, zero));
            let defined = cx.any(&[some, natural]);
            cx.require(defined, scalar::C1, |cx| format!("0.0 has no power {}", cx.show(b)))?;
            cx.pool().float_pow(a, b)
        }
        "pow" => {
            let natural = cx.ge(b, 0);
            if cx.branch(natural, scalar::C2)? {
                cx.pool().pow(a, b)
            } else {
                require_divisor(cx, a)?;
                cx.pool().float_pow(a, b)
            }
        }
        "lshift" | "rshift" if !float => {
            require_count(cx, b)?;
            let factor = cx.pool().pow(Expr::from(2), b);
            if name == "lshift" { cx.mul(a, factor) } else { cx.floor_div(a, factor) }
        }
        _ => return Ok(None),
    }))
}

/// Python's quotient and remainder of two known doubles: the remainder has the divisor's sign and the quotient is a
/// whole number, one less where truncation would have crossed zero.
fn float_quotient(
    cx: &mut Cx,
    a: Expr,
    b: Expr,
    pick: impl Fn(f64, f64) -> f64,
) -> Result<Option<Expr>, KernelError> {
    let (Some(x), Some(y)) = (cx.pool().as_float(a), cx.pool().as_float(b)) else { return Ok(None) };
    let mut remainder = x % y;
    let mut quotient = (x - remainder) / y;
    if remainder != 0.0 && (remainder < 0.0) != (y < 0.0) {
        remainder += y;
        quotient -= 1.0;
    }
    if remainder == 0.0 {
        remainder = 0f64.copysign(y);
    }
    let floor = quotient.floor();
    let quotient = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
    Ok(Some(cx.pool().float(pick(quotient, remainder))))
}
