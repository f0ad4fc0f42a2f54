//! Checkers in Rust.
use super::formula::{Check, Names, NotExpressible, Syntax, checks, input_check, int};
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
    const HAS_VALUES: &'static str = " && m.holds()";

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
            Min if sort == Sort::Int => extremum("min"),
            Max if sort == Sort::Int => extremum("max"),
            Abs if sort == Sort::Int => method("abs"),
            Abs => Some(format!("({a}).abs()")),
            Ite => Some(format!("(if {a} {{ {} }} else {{ {} }})", b?, args.get(2)?)),
            And => infix(" && "),
            Or => infix(" || "),
            Not => Some(format!("(!{a})")),
            ToFloat => method("float"),
            IntTrueDiv => method("true_div"),
            FloatTrueDiv => method("float_div"),
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

    fn size(&self, input: &str, dim: Option<usize>) -> String {
        match dim {
            Some(dim) => format!("i128::from({input}_shape[{dim}])"),
            None => format!("i128::from({input}_value)"),
        }
    }

    fn has_rank(&self, input: &str, rank: usize) -> String {
        format!("{input}_shape.len() == {rank}")
    }

    fn is_constant(&self, input: &str, value: &Constant) -> Result<Option<String>, &'static str> {
        let input = format!("{input}_value");
        Ok(Some(match value {
            Constant::None => return Ok(None),
            Constant::Float(value) if value.is_nan() => format!("{input}.is_nan()"),
            Constant::Float(value) => format!("{input} == {}", Rust.float(*value)),
            Constant::Str(text) => format!("{input} == \"{}\"", text.escape_default()),
            Constant::Int(value) => format!("{input} == {value}"),
            Constant::Bool(value) => format!("{input} == {value}"),
        }))
    }
}

pub(super) fn emit(set: &GuardSet) -> Result<String, NotExpressible> {
    let mut out = String::new();
    for line in set.headline() {
        let _ = writeln!(out, "// {}", comment(&line));
    }
    let _ = writeln!(out, "\n/// Whether {}; an error says why not.", set.claim());
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
    let line = |out: &mut String, Check { condition, message, .. }: &Check| {
        let message = ascii_literal(message);
        let _ = writeln!(out, "    if !({condition}) {{\n        return Err({message});\n    }}");
    };
    for (input, name) in set.inputs.iter().zip(&names.inputs) {
        if let Some(check) = input_check(set, &Rust, input, name)? {
            line(&mut out, &check);
        }
    }
    let _ = writeln!(out, "    let m = Arithmetic::default();");
    for v in &set.variables {
        let Some(name) = names.symbol(v.symbol) else { continue };
        let size = Rust.size(&names.inputs[v.input], v.dim);
        let (offset, factor) = (int(set, &Rust, &v.offset)?, int(set, &Rust, &v.factor)?);
        let _ = writeln!(out, "    let {name} = m.floor_div({size} - {offset}, {factor});");
    }
    for check in checks(set, &names, &Rust, &names.inputs)? {
        line(&mut out, &check);
    }
    let _ = writeln!(out, "    Ok(())\n}}\n\n{ARITHMETIC}");
    Ok(out)
}
