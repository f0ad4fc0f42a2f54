//! Checkers in Python.
use super::formula::{Names, NotExpressible, Syntax, checks, input_check};
use super::{GuardSet, GuardedInput};
use sizewise_expr::escape::{ascii_literal, docstring, quoted};
use sizewise_expr::{Func, Int, Sort};
use sizewise_ir::Constant;
use std::fmt::Write;

/// The most sizes that a message gives.
const MAX_SIZES: usize = 8;

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
            And => infix(" and "),
            Or => infix(" or "),
            Not => Some(format!("(not {a})")),
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
            _ => None,
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

    fn size(&self, input: &str, dim: Option<usize>) -> String {
        match dim {
            Some(dim) => format!("{input}[{dim}]"),
            None => input.to_string(),
        }
    }

    fn has_rank(&self, input: &str, rank: usize) -> String {
        // Truth values are integers in Python, and no sizes.
        let is_size = "hasattr(n, \"__index__\") and not isinstance(n, bool)";
        format!(
            "(isinstance({input}, (tuple, list)) and len({input}) == {rank} and all({is_size} for n in {input}))"
        )
    }

    fn of_sizes(&self) -> &'static str {
        ", of integers"
    }

    fn is_constant(&self, input: &str, value: &Constant) -> Result<Option<String>, &'static str> {
        Ok(Some(match value {
            Constant::None => return Ok(None),
            Constant::Float(value) if value.is_nan() => format!("{input} != {input}"),
            Constant::Float(value) => format!("{input} == {}", Python.float(*value)),
            Constant::Str(text) => format!("{input} == {}", quoted(text, '"')),
            Constant::Int(_) | Constant::Bool(_) => format!("{input} == {value}"),
        }))
    }
}

/// A message with the sizes at hand: `"x.shape[0] >= 5 does not hold: x.shape[0] = " + str(i0[0])`.
fn with_sizes(message: &str, sizes: &[(String, String)]) -> String {
    let mut text = message.to_owned();
    let mut code = String::new();
    for (i, (place, size)) in sizes.iter().take(MAX_SIZES).enumerate() {
        text.push_str(if i == 0 { ": " } else { ", " });
        let _ = write!(text, "{place} = ");
        let _ = write!(code, "{} + str({size}) + ", ascii_literal(&text));
        text.clear();
    }
    match code.strip_suffix(" + ") {
        Some(code) => code.to_owned(),
        None => ascii_literal(&text),
    }
}

pub(super) fn emit(set: &GuardSet) -> Result<String, NotExpressible> {
    let headline: Vec<String> = set.headline().iter().map(|line| docstring(line)).collect();
    let mut out = format!("\"\"\"{}\n\"\"\"\nimport math\n\n\n", headline.join("\n"));
    let _ = write!(
        out,
        "def check(inputs):\n    \"\"\"None if {}, else why not.\n\n    \
         `inputs` maps an input's name to a tensor or its shape, or to its value if it is no tensor.\n    \"\"\"\n",
        set.claim(),
    );
    let names = Names::of(set);
    let inputs: Vec<String> = (0..set.inputs.len()).map(|i| format!("i{i}")).collect();
    for (input, variable) in set.inputs.iter().zip(&inputs) {
        let key = quoted(input.name(), '"');
        let missing = ascii_literal(&format!("{} is missing", input.name()));
        let _ = writeln!(out, "    if {key} not in inputs:\n        return {missing}");
        let _ = writeln!(out, "    {variable} = inputs[{key}]");
        if matches!(input, GuardedInput::Tensor { .. }) {
            let _ = writeln!(out, "    {variable} = getattr({variable}, \"shape\", {variable})");
        }
        if let Some(check) = input_check(set, &Python, input, variable)? {
            let message = ascii_literal(&check.message);
            let _ = writeln!(out, "    if not {}:\n        return {message}", check.condition);
        }
    }
    let checks = checks(set, &names, &Python, &inputs)?;
    if !checks.is_empty() {
        out.push_str("    try:\n");
        for v in &set.variables {
            let Some(name) = names.symbol(v.symbol) else { continue };
            let size = Python.size(&inputs[v.input], v.dim);
            let value = if v.factor.is_one() && v.offset.is_zero() {
                size
            } else {
                format!("({size} - ({})) // ({})", v.offset, v.factor)
            };
            let _ = writeln!(out, "        {name} = {value}");
        }
        for check in &checks {
            let message = with_sizes(&check.message, &check.sizes);
            let _ = writeln!(out, "        if not {}:\n            return {message}", check.condition);
        }
        out.push_str(
            "    except (ArithmeticError, TypeError, ValueError) as error:\n        \
             return f\"a condition has no value: {error}\"\n",
        );
    }
    out.push_str("    return None\n");
    Ok(out)
}
