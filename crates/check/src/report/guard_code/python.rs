//! Checkers in Python.
use super::formula::{
    self, Names, NotExpressible, Syntax, condition_message, constant_message, fixed_message,
};
use super::{GuardSet, GuardedInput};
use sizewise_expr::escape::{ascii_literal, docstring, quoted};
use sizewise_expr::{Func, Int, Sort};
use sizewise_ir::Constant;
use std::fmt::Write;

struct Python;

impl Syntax for Python {
    const NAME: &'static str = "Python";

    fn int(&self, value: &Int) -> Option<String> {
        Some(if value.is_negative() { format!("({value})") } else { value.to_string() })
    }

    fn float(&self, value: f64) -> String {
        if value.is_finite() { format!("({value:?})") } else { format!("float(\"{value}\")") }
    }

    fn call(&self, func: Func, _: Sort, args: &[String]) -> Option<String> {
        use Func::*;
        let infix = |operator: &str| Some(format!("({})", args.join(operator)));
        let named = |name: &str| Some(format!("{name}({})", args.join(", ")));
        let [a, ..] = args else { return None };
        match func {
            FloorDiv => infix(" // "),
            Mod => infix(" % "),
            Pow | FloatPow => infix(" ** "),
            IntTrueDiv | FloatTrueDiv => infix(" / "),
            FloatAdd => infix(" + "),
            FloatMul => infix(" * "),
            BitAnd => infix(" & "),
            BitOr => infix(" | "),
            BitXor => infix(" ^ "),
            FloatEq => infix(" == "),
            FloatLt => infix(" < "),
            FloatLe => infix(" <= "),
            And => infix(" and "),
            Or => infix(" or "),
            Not => Some(format!("(not {a})")),
            IsZero => Some(format!("({a} == 0)")),
            NotPositive => Some(format!("({a} <= 0)")),
            Ite => Some(format!("({} if {a} else {})", args.get(1)?, args.get(2)?)),
            Min => named("min"),
            Max => named("max"),
            Abs => named("abs"),
            Round | RoundDecimal => named("round"),
            ToFloat => named("float"),
            Trunc => named("math.trunc"),
            Floor => named("math.floor"),
            Ceil => named("math.ceil"),
            TruncToFloat => Some(format!("float(math.trunc({a}))")),
            Sqrt => named("math.sqrt"),
            Cos => named("math.cos"),
            Cosh => named("math.cosh"),
            Sin => named("math.sin"),
            Sinh => named("math.sinh"),
            Tan => named("math.tan"),
            Tanh => named("math.tanh"),
            Asin => named("math.asin"),
            Acos => named("math.acos"),
            Atan => named("math.atan"),
            Asinh => named("math.asinh"),
            Exp => named("math.exp"),
            Log => named("math.log"),
            Log2 => named("math.log2"),
            Ratio | DenseIndicator => None,
        }
    }

    fn compares_by_value(&self) -> bool {
        true
    }

    fn add(&self, a: &str, b: &str) -> String {
        format!("({a} + {b})")
    }

    fn mul(&self, a: &str, b: &str) -> String {
        format!("({a} * {b})")
    }

    fn truth(&self, value: bool) -> &'static str {
        if value { "True" } else { "False" }
    }
}

/// Whether an input has the value that was burned in.
fn burned_in(input: &str, value: &Constant) -> Option<String> {
    Some(match value {
        Constant::None => return None,
        Constant::Float(value) if value.is_nan() => format!("{input} != {input}"),
        Constant::Float(value) => format!("{input} == {}", Python.float(*value)),
        Constant::Str(text) => format!("{input} == {}", quoted(text, '"')),
        Constant::Int(_) | Constant::Bool(_) => format!("{input} == {value}"),
    })
}

pub(super) fn emit(set: &GuardSet) -> Result<String, NotExpressible> {
    let headline: Vec<String> = set.headline().iter().map(|line| docstring(line)).collect();
    let mut out = format!("\"\"\"{}\n\"\"\"\nimport math\n\n\n", headline.join("\n"));
    out.push_str(
        "def check(inputs):\n    \"\"\"None if the program serves inputs of these shapes, else why not.\n\n    \
         `inputs` maps an input's name to its shape, or to its value if it is no tensor.\n    \"\"\"\n",
    );
    let names = Names::of(set);
    for (i, input) in set.inputs.iter().enumerate() {
        let key = quoted(input.name(), '"');
        let missing = ascii_literal(&format!("{} is missing", input.name()));
        let _ = writeln!(out, "    if {key} not in inputs:\n        return {missing}");
        let _ = writeln!(out, "    i{i} = inputs[{key}]");
        if let GuardedInput::Tensor { name, sizes } = input {
            let message = ascii_literal(&format!("{name} has to have {} dimensions", sizes.len()));
            let _ = writeln!(out, "    if not len(i{i}) == {}:\n        return {message}", sizes.len());
        }
        if let GuardedInput::Constant { name, value } = input
            && let Some(condition) = burned_in(&format!("i{i}"), value)
        {
            let message = ascii_literal(&constant_message(name, value));
            let _ = writeln!(out, "    if not {condition}:\n        return {message}");
        }
    }
    let size = |input: usize, dim: Option<usize>| match dim {
        Some(dim) => format!("i{input}[{dim}]"),
        None => format!("i{input}"),
    };
    for v in &set.variables {
        let Some(name) = names.symbol(v.symbol) else { continue };
        let of = size(v.input, v.dim);
        let value = if v.factor.is_one() && v.offset.is_zero() {
            of
        } else {
            format!("({of} - ({})) // ({})", v.offset, v.factor)
        };
        let _ = writeln!(out, "    {name} = {value}");
    }
    let mut checks: Vec<(String, String)> = Vec::new();
    for &(input, dim, e) in &set.fixed {
        let condition = format!("{} == {}", size(input, dim), formula::formula(set, &names, &Python, e)?);
        checks.push((condition, fixed_message(set, input, dim, e)));
    }
    for &e in &set.conditions {
        checks.push((formula::formula(set, &names, &Python, e)?, condition_message(set, e)));
    }
    if !checks.is_empty() {
        out.push_str("    try:\n");
        for (condition, message) in &checks {
            let _ =
                writeln!(out, "        if not {condition}:\n            return {}", ascii_literal(message));
        }
        out.push_str(
            "    except (ArithmeticError, ValueError) as error:\n        \
             return f\"a condition has no value: {error}\"\n",
        );
    }
    out.push_str("    return None\n");
    Ok(out)
}
