//! Checkers in Rust.
use super::formula::{
    self, Names, NotExpressible, Syntax, condition_message, constant_message, fixed_message,
};
use super::{GuardSet, GuardedInput};
use sizewise_expr::escape::{ascii_literal, comment};
use sizewise_expr::{Func, Int, Sort};
use sizewise_ir::Constant;
use std::fmt::Write;

/// Arithmetic that remembers an overflow or a zero divisor, and floor semantics.
const ARITHMETIC: &str = include_str!("arithmetic.rs.txt");

struct Rust;

impl Syntax for Rust {
    const NAME: &'static str = "Rust";

    fn int(&self, value: &Int) -> Option<String> {
        Some(format!("{}_i128", value.to_i64()?))
    }

    fn float(&self, value: f64) -> String {
        match value {
            v if v.is_nan() => "f64::NAN".to_string(),
            v if v == f64::INFINITY => "f64::INFINITY".to_string(),
            v if v == f64::NEG_INFINITY => "f64::NEG_INFINITY".to_string(),
            v => format!("({v:?}_f64)"),
        }
    }

    fn call(&self, func: Func, sort: Sort, args: &[String]) -> Option<String> {
        use Func::*;
        let infix = |operator: &str| Some(format!("({})", args.join(operator)));
        let [a, ..] = args else { return None };
        let b = args.get(1);
        let method = |name: &str| Some(format!("m.{name}({})", args.join(", ")));
        let extremum = |name: &str| {
            let mut rest = args.iter();
            let first = rest.next()?.clone();
            Some(rest.fold(first, |text, arg| format!("({text}).{name}({arg})")))
        };
        match func {
            FloorDiv => method("floor_div"),
            Mod => method("modulo"),
            Pow => method("pow"),
            BitAnd => infix(" & "),
            BitOr => infix(" | "),
            BitXor => infix(" ^ "),
            Min if sort == Sort::Int => extremum("min"),
            Max if sort == Sort::Int => extremum("max"),
            Abs if sort == Sort::Int => method("abs"),
            Abs => Some(format!("({a}).abs()")),
            Ite => Some(format!("(if {a} {{ {} }} else {{ {} }})", b?, args.get(2)?)),
            And => infix(" && "),
            Or => infix(" || "),
            Not => Some(format!("(!{a})")),
            IsZero => Some(format!("({a} == 0)")),
            NotPositive => Some(format!("({a} <= 0)")),
            FloatEq => infix(" == "),
            FloatLt => infix(" < "),
            FloatLe => infix(" <= "),
            ToFloat => method("float"),
            IntTrueDiv => method("true_div"),
            FloatTrueDiv => method("float_div"),
            FloatAdd => infix(" + "),
            FloatMul => infix(" * "),
            Trunc => Some(format!("m.int(({a}).trunc())")),
            Floor => Some(format!("m.int(({a}).floor())")),
            Ceil => Some(format!("m.int(({a}).ceil())")),
            Round => Some(format!("m.int(({a}).round_ties_even())")),
            TruncToFloat => Some(format!("({a}).trunc()")),
            Sqrt => method("sqrt"),
            // Powers and transcendental functions differ in the last bit from library to library.
            _ => None,
        }
    }

    fn add(&self, a: &str, b: &str) -> String {
        format!("m.add({a}, {b})")
    }

    fn mul(&self, a: &str, b: &str) -> String {
        format!("m.mul({a}, {b})")
    }

    fn truth(&self, value: bool) -> &'static str {
        if value { "true" } else { "false" }
    }
}

/// Whether an input has the value that was burned in.
fn burned_in(input: &str, value: &Constant) -> Option<String> {
    Some(match value {
        Constant::None => return None,
        Constant::Float(value) if value.is_nan() => format!("{input}.is_nan()"),
        Constant::Float(value) => format!("{input} == {}", Rust.float(*value)),
        Constant::Str(text) => format!("{input} == \"{}\"", text.escape_default()),
        Constant::Int(value) => format!("{input} == {value}"),
        Constant::Bool(value) => format!("{input} == {value}"),
    })
}

pub(super) fn emit(set: &GuardSet) -> Result<String, NotExpressible> {
    let mut out = String::new();
    for line in set.headline() {
        let _ = writeln!(out, "// {}", comment(&line));
    }
    let _ = writeln!(out, "\n/// Whether the program serves inputs of these shapes; an error says why not.");
    let names = Names::of(set);
    let parameters: Vec<String> = set
        .inputs
        .iter()
        .zip(&names.inputs)
        .filter_map(|(input, name)| {
            let kind = match input {
                GuardedInput::Tensor { .. } => return Some(format!("{name}_shape: &[i64]")),
                GuardedInput::Number { .. } | GuardedInput::Constant { value: Constant::Int(_), .. } => "i64",
                GuardedInput::Constant { value: Constant::Float(_), .. } => "f64",
                GuardedInput::Constant { value: Constant::Bool(_), .. } => "bool",
                GuardedInput::Constant { value: Constant::Str(_), .. } => "&str",
                GuardedInput::Constant { value: Constant::None, .. } => return None,
            };
            Some(format!("{name}_value: {kind}"))
        })
        .collect();
    let _ = writeln!(out, "#[allow(unused_parens, unused_variables, non_snake_case, clippy::all)]");
    let _ = writeln!(out, "pub fn check({}) -> Result<(), &'static str> {{", parameters.join(", "));
    let line = |out: &mut String, condition: &str, message: &str| {
        let _ = writeln!(
            out,
            "    if !({condition}) {{\n        return Err({});\n    }}",
            ascii_literal(message)
        );
    };
    let size = |input: usize, dim: Option<usize>| {
        let name = &names.inputs[input];
        match dim {
            Some(dim) => format!("i128::from({name}_shape[{dim}])"),
            None => format!("i128::from({name}_value)"),
        }
    };
    for (input, identifier) in set.inputs.iter().zip(&names.inputs) {
        if let GuardedInput::Tensor { name, sizes } = input {
            let condition = format!("{identifier}_shape.len() == {}", sizes.len());
            line(&mut out, &condition, &format!("{name} has to have {} dimensions", sizes.len()));
        }
        if let GuardedInput::Constant { name, value } = input
            && let Some(condition) = burned_in(&format!("{identifier}_value"), value)
        {
            line(&mut out, &condition, &constant_message(name, value));
        }
    }
    let _ = writeln!(out, "    let m = Arithmetic::default();");
    for v in &set.variables {
        let Some(name) = names.symbol(v.symbol) else { continue };
        let (of, offset, factor) = (size(v.input, v.dim), int(set, &v.offset)?, int(set, &v.factor)?);
        let _ = writeln!(out, "    let {name} = m.floor_div({of} - {offset}, {factor});");
    }
    for &(input, dim, e) in &set.fixed {
        let condition =
            format!("{} == {} && m.holds()", size(input, dim), formula::formula(set, &names, &Rust, e)?);
        line(&mut out, &condition, &fixed_message(set, input, dim, e));
    }
    for &e in &set.conditions {
        let condition = format!("{} && m.holds()", formula::formula(set, &names, &Rust, e)?);
        line(&mut out, &condition, &condition_message(set, e));
    }
    let _ = writeln!(out, "    Ok(())\n}}\n\n{ARITHMETIC}");
    Ok(out)
}

fn int(set: &GuardSet, value: &Int) -> Result<String, NotExpressible> {
    Rust.int(value).ok_or_else(|| NotExpressible {
        condition: value.to_string(),
        language: Rust::NAME,
        reason: format!("a size of {} does not fit its integers", set.program),
    })
}
