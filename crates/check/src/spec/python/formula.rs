//! Expressions over the variables of a ShapesSpec: sizes computed from them, and conditions.
//!
//! Their operators are Python's, as torch defines them on symbols. What would make Python take a symbol for a truth value
//! (`and`, `not`, a chained comparison, `max`) is refused as torch refuses it.
use super::dims::{Binding, Formula, Kind, MAX_BITS, PyValue};
use super::token::{TextPlace, Wrong};
use sizewise_expr::Int;
use std::rc::Rc;

type Result<T> = std::result::Result<T, Wrong>;

/// A formula has at most this many bytes, the names of variables aside.
const MAX_TEXT: usize = 20_000;
/// What torch says where a symbol is taken for a truth value.
const NO_TRUTH: &str = "_SpecShapeEnv: 'evaluate_sym_node' is not allowed at spec-definition time. Use IntVar / ShapeVar \
                        only inside TensorSpec / ShapesSpec";

/// A formula as a value.
fn formula(text: String, kind: Kind, binding: Binding, place: TextPlace) -> Result<PyValue> {
    if text.len() > MAX_TEXT {
        return Err(place.error("the expression is too long"));
    }
    Ok(PyValue::Formula(Rc::new(Formula { text, kind, binding, variable: None })))
}

/// A number or a formula, where an operator stands beside it.
pub(super) struct Operand {
    text: String,
    kind: Kind,
    binding: Binding,
}

impl Operand {
    /// Its text, in brackets unless it binds at least as tightly as `least`.
    fn at_least(&self, least: Binding) -> String {
        if self.binding >= least { self.text.clone() } else { format!("({})", self.text) }
    }

    /// Its text on the left of a product, where no sign stands without brackets.
    fn factor(&self) -> String {
        self.at_least(if self.binding == Binding::Sign { Binding::Power } else { Binding::Product })
    }
}

/// A value as an operand; `None` for what is no number and no formula.
pub(super) fn operand(value: &PyValue) -> Option<Operand> {
    let (text, kind, binding) = match value {
        PyValue::Int(value) if value.is_negative() => (value.to_string(), Kind::Int, Binding::Sign),
        PyValue::Int(value) => (value.to_string(), Kind::Int, Binding::Atom),
        PyValue::Bool(value) => (if *value { "True" } else { "False" }.to_owned(), Kind::Bool, Binding::Atom),
        PyValue::Formula(formula) => (formula.text.clone(), formula.kind, formula.binding),
        _ => return None,
    };
    Some(Operand { text, kind, binding })
}

pub(super) fn is_formula(value: &PyValue) -> bool {
    matches!(value, PyValue::Formula(_))
}

/// `and`, `or`, `max` and the like on symbols.
pub(super) fn no_truth(place: TextPlace, instead: &str) -> Wrong {
    let instead = if instead.is_empty() { String::new() } else { format!("; {instead}") };
    place.error(format!("{NO_TRUTH}{instead}"))
}

/// Whether a value is, or has, a formula.
fn has_formula(value: &PyValue) -> bool {
    match value {
        PyValue::Formula(_) => true,
        PyValue::List(items) | PyValue::Tuple(items) => items.iter().any(has_formula),
        _ => false,
    }
}

/// What torch says of operands that do not go together.
fn unsupported(op: &str, left: &PyValue, right: &PyValue, place: TextPlace) -> Wrong {
    let (left, right) = (left.class(), right.class());
    place.error(format!("unsupported operand type(s) for {op}: '{left}' and '{right}'"))
}

/// The value of `left op right`, where one of them is a formula, or both are numbers.
pub(super) fn combined(
    op: &'static str,
    left: &PyValue,
    right: &PyValue,
    place: TextPlace,
) -> Result<PyValue> {
    if let (PyValue::Int(a), PyValue::Int(b)) = (left, right) {
        let value = match op {
            "//" => a.floor_div(b),
            "%" => a.modulo(b),
            _ => None,
        };
        return match value {
            Some(value) => Ok(PyValue::Int(value)),
            None if b.is_zero() && op == "%" => Err(place.error("Modulo by zero")),
            None if b.is_zero() && op == "//" => Err(place.error("division by zero")),
            None => Err(place.error(format!("`{op}` between integers is not read here"))),
        };
    }
    let (Some(a), Some(b)) = (operand(left), operand(right)) else {
        return Err(unsupported(op, left, right, place));
    };
    let numbers = a.kind != Kind::Bool && b.kind != Kind::Bool;
    let kind = if a.kind == Kind::Float || b.kind == Kind::Float { Kind::Float } else { Kind::Int };
    let zero = matches!(right, PyValue::Int(value) if value.is_zero());
    match op {
        "&" | "|" if a.kind == Kind::Bool && b.kind == Kind::Bool => bits(op, &a, &b, Kind::Bool, place),
        "&" | "|" | "^" if numbers && kind == Kind::Int => bits(op, &a, &b, Kind::Int, place),
        "%" if zero => Err(place.error("Modulo by zero")),
        "//" | "/" if zero => Err(place.error("division by zero")),
        "+" | "-" if numbers => {
            let text = format!("{} {op} {}", a.at_least(Binding::Sum), b.at_least(Binding::Product));
            formula(text, kind, Binding::Sum, place)
        }
        "*" if numbers => {
            formula(format!("{}*{}", a.factor(), b.at_least(Binding::Power)), kind, Binding::Product, place)
        }
        "//" | "%" if numbers && kind == Kind::Int => {
            let text = format!("{} {op} {}", a.factor(), b.at_least(Binding::Power));
            formula(text, Kind::Int, Binding::Product, place)
        }
        "/" if numbers && kind == Kind::Int => {
            formula(format!("IntTrueDiv({}, {})", a.text, b.text), Kind::Float, Binding::Atom, place)
        }
        "**" if numbers && matches!(right, PyValue::Int(value) if !value.is_negative()) => {
            formula(format!("{}**{}", a.at_least(Binding::Atom), b.text), kind, Binding::Power, place)
        }
        "<<" | ">>" if numbers && matches!(right, PyValue::Int(_)) => shifted(op, &a, right, place),
        "**" if matches!(right, PyValue::Formula(_)) => Err(no_truth(place, "")),
        "@" => Err(unsupported(op, left, right, place)),
        _ if numbers => Err(place.error(format!("`{op}` between sizes is not read here"))),
        _ => Err(unsupported(op, left, right, place)),
    }
}

/// `a & b` and the like, of conditions or of numbers; what binds more loosely than a sum is in brackets.
fn bits(op: &str, a: &Operand, b: &Operand, kind: Kind, place: TextPlace) -> Result<PyValue> {
    let binding = match op {
        "&" => Binding::And,
        "^" => Binding::Xor,
        _ => Binding::Or,
    };
    let left = if a.binding == binding { binding } else { Binding::Sum };
    formula(format!("{} {op} {}", a.at_least(left), b.at_least(Binding::Sum)), kind, binding, place)
}

/// `a << n` and `a >> n`.
fn shifted(op: &str, a: &Operand, by: &PyValue, place: TextPlace) -> Result<PyValue> {
    let PyValue::Int(by) = by else { return Err(place.error("expected an integer")) };
    let power = by.to_i64().and_then(|by| u32::try_from(by).ok());
    let power = power.and_then(|by| Int::from(2).pow(by, MAX_BITS));
    let power = power.ok_or_else(|| place.error("the number is too large for a size"))?;
    let op = if op == "<<" { "*" } else { " // " };
    formula(format!("{}{op}{power}", a.factor()), Kind::Int, Binding::Product, place)
}

pub(super) fn compared(
    op: &'static str,
    left: &PyValue,
    right: &PyValue,
    place: TextPlace,
) -> Result<PyValue> {
    if let (PyValue::Int(a), PyValue::Int(b)) = (left, right) {
        return Ok(PyValue::Bool(match op {
            "<=" => a <= b,
            ">=" => a >= b,
            "<" => a < b,
            ">" => a > b,
            "==" => a == b,
            _ => a != b,
        }));
    }
    let (Some(a), Some(b)) = (operand(left), operand(right)) else {
        return match op {
            // As Python has it for values of different kinds.
            "==" | "!=" => Ok(PyValue::Bool(op == "!=")),
            _ => {
                let (left, right) = (left.class(), right.class());
                let message = format!("'{op}' not supported between instances of '{left}' and '{right}'");
                Err(place.error(message))
            }
        };
    };
    if (a.kind == Kind::Bool) != (b.kind == Kind::Bool) {
        return Err(unsupported(op, left, right, place));
    }
    let (p, q) = (&a.text, &b.text);
    let (text, binding) = match (op, a.kind) {
        ("==", Kind::Bool) => (format!("(({p}) & ({q})) | (~({p}) & ~({q}))"), Binding::Or),
        ("!=", Kind::Bool) => (format!("(({p}) & ~({q})) | (~({p}) & ({q}))"), Binding::Or),
        _ => {
            let text = format!("{} {op} {}", a.at_least(Binding::Sum), b.at_least(Binding::Sum));
            (text, Binding::Comparison)
        }
    };
    formula(text, Kind::Bool, binding, place)
}

/// `-value` of a formula.
pub(super) fn negated(of: &Formula, place: TextPlace) -> Result<PyValue> {
    let operand = Operand { text: of.text.clone(), kind: of.kind, binding: of.binding };
    match of.kind {
        Kind::Bool => Err(place.error("bad operand type for unary -: 'SymBool'")),
        kind => formula(format!("-{}", operand.at_least(Binding::Power)), kind, Binding::Sign, place),
    }
}

/// A function of torch, or of Python, on formulas.
pub(super) fn called(name: &str, arguments: &[PyValue], place: TextPlace) -> Result<PyValue> {
    if ["max", "min", "int", "float", "bool", "range"].contains(&name) && arguments.iter().any(has_formula) {
        let is_extreme = ["max", "min"].contains(&name);
        let instead = if is_extreme { format!("write torch.sym_{name}(...)") } else { String::new() };
        return Err(no_truth(place, &instead));
    }
    let Some(operands) = arguments.iter().map(operand).collect::<Option<Vec<_>>>() else {
        return Err(place.error(format!("{name}(...) takes sizes and numbers")));
    };
    let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
    let numbers = operands.iter().all(|operand| operand.kind == Kind::Int);
    let call = |text: String| formula(text, Kind::Int, Binding::Atom, place);
    match (name, texts.as_slice()) {
        ("sym_max", [a, b]) if numbers => call(format!("Max({a}, {b})")),
        ("sym_min", [a, b]) if numbers => call(format!("Min({a}, {b})")),
        ("sym_not", [a]) if operands[0].kind == Kind::Bool => {
            formula(format!("~({a})"), Kind::Bool, Binding::Sign, place)
        }
        ("abs", [a]) if numbers => call(format!("Abs({a})")),
        ("sym_ite", _) => Err(place.error(
            "_SpecShapeEnv: 'simplify' is not allowed at spec-definition time. Use IntVar / ShapeVar only inside \
             TensorSpec / ShapesSpec",
        )),
        ("abs", [_]) if operands[0].kind == Kind::Bool => {
            Err(place.error("bad operand type for abs(): 'SymBool'"))
        }
        ("sym_not", [_]) if is_formula(&arguments[0]) => Err(no_truth(place, "")),
        _ => Err(place.error(format!("{name}(...) is not called with these arguments"))),
    }
}
