//! Checkers in C, with the 128-bit integers of gcc and clang.
use super::formula::{Check, Names, NotExpressible, Syntax, checks, input_check, int};
use super::{GuardSet, GuardedInput};
use sizewise_expr::escape::{c_literal, comment};
use sizewise_expr::{Func, Int, Sort};
use sizewise_ir::Constant;
use std::fmt::Write;

/// Arithmetic that remembers an overflow or a zero divisor, and floor semantics.
const ARITHMETIC: &str = include_str!("arithmetic.c.txt");

struct C;

impl Syntax for C {
    const NAME: &'static str = "C";
    const HAS_VALUES: &'static str = " && !failed";

    fn int(&self, value: &Int) -> Option<String> {
        let value = value.to_i64().filter(|&v| v != i64::MIN)?;
        Some(format!("(wide)INT64_C({value})"))
    }

    fn float(&self, value: f64) -> String {
        match value {
            v if v.is_nan() => "NAN".to_string(),
            v if v.is_infinite() => format!("({}INFINITY)", if v > 0.0 { "" } else { "-" }),
            v => format!("({v:?})"),
        }
    }

    fn call(&self, func: Func, sort: Sort, args: &[String]) -> Option<String> {
        use Func::*;
        let infix = |operator: &str| Some(format!("({})", args.join(operator)));
        let with_state = |name: &str| Some(format!("{name}(&failed, {})", args.join(", ")));
        let extremum = |name: &str| {
            let mut rest = args.iter();
            let first = rest.next()?.clone();
            Some(rest.fold(first, |text, arg| format!("{name}({text}, {arg})")))
        };
        let [a, ..] = args else { return None };
        match func {
            FloorDiv => with_state("floor_div"),
            Mod => with_state("modulo"),
            Pow => with_state("power"),
            Min if sort == Sort::Int => extremum("least"),
            Max if sort == Sort::Int => extremum("greatest"),
            Abs if sort == Sort::Int => with_state("magnitude"),
            Abs => Some(format!("fabs({a})")),
            Ite => Some(format!("({a} ? {} : {})", args.get(1)?, args.get(2)?)),
            And => infix(" && "),
            Or => infix(" || "),
            Not => Some(format!("(!{a})")),
            ToFloat => with_state("to_double"),
            IntTrueDiv => with_state("true_div"),
            FloatTrueDiv => with_state("double_div"),
            Trunc => Some(format!("to_wide(&failed, trunc({a}))")),
            Floor => Some(format!("to_wide(&failed, floor({a}))")),
            Ceil => Some(format!("to_wide(&failed, ceil({a}))")),
            Round => Some(format!("to_wide(&failed, nearbyint({a}))")),
            TruncToFloat => Some(format!("trunc({a})")),
            Sqrt => with_state("root"),
            // Powers and transcendental functions differ in the last bit from library to library.
            _ => None,
        }
    }

    fn add(&self, a: &str, b: &str) -> String {
        format!("add(&failed, {a}, {b})")
    }

    fn mul(&self, a: &str, b: &str) -> String {
        format!("mul(&failed, {a}, {b})")
    }

    fn truth(&self, value: bool) -> &'static str {
        if value { "1" } else { "0" }
    }

    fn size(&self, input: &str, dim: Option<usize>) -> String {
        match dim {
            Some(dim) => format!("(wide){input}_shape[{dim}]"),
            None => format!("(wide){input}_value"),
        }
    }

    fn has_rank(&self, input: &str, rank: usize) -> String {
        format!("{input}_rank == {rank}")
    }

    /// Truth values are 0 and 1.
    fn is_constant(&self, input: &str, value: &Constant) -> Result<Option<String>, &'static str> {
        let input = format!("{input}_value");
        Ok(Some(match value {
            Constant::None => return Ok(None),
            Constant::Float(value) if value.is_nan() => format!("isnan({input})"),
            Constant::Float(value) => format!("{input} == {}", C.float(*value)),
            Constant::Str(text) if text.contains('\0') => return Err("has a null character"),
            Constant::Str(text) => {
                // Three octal digits end an escape whatever follows, and no letter forms a trigraph.
                let bytes: String = text.bytes().map(|byte| format!("\\{byte:03o}")).collect();
                format!("{input} != NULL && strcmp({input}, \"{bytes}\") == 0")
            }
            Constant::Int(i64::MIN) => format!("{input} == INT64_MIN"),
            Constant::Int(value) => format!("{input} == INT64_C({value})"),
            Constant::Bool(value) => format!("{input} == {}", i64::from(*value)),
        }))
    }
}

pub(super) fn emit(set: &GuardSet) -> Result<String, NotExpressible> {
    let mut out = String::new();
    for line in set.headline() {
        let _ = writeln!(out, "// {}", comment(&line));
    }
    let _ = writeln!(out, "{ARITHMETIC}");
    let _ = writeln!(out, "// NULL if {}, else why not.", set.claim());
    let names = Names::of(set);
    let mut parameters: Vec<String> = set
        .inputs
        .iter()
        .zip(&names.inputs)
        .filter_map(|(input, name)| {
            Some(match input {
                GuardedInput::Tensor { .. } => format!("const int64_t *{name}_shape, size_t {name}_rank"),
                GuardedInput::Number { .. }
                | GuardedInput::Constant { value: Constant::Int(_) | Constant::Bool(_), .. } => {
                    format!("int64_t {name}_value")
                }
                GuardedInput::Constant { value: Constant::Float(_), .. } => format!("double {name}_value"),
                GuardedInput::Constant { value: Constant::Str(_), .. } => format!("const char *{name}_value"),
                GuardedInput::Constant { value: Constant::None, .. } => return None,
            })
        })
        .collect();
    if parameters.is_empty() {
        parameters.push("void".to_string());
    }
    let _ = writeln!(out, "const char *sizewise_check({}) {{", parameters.join(", "));
    let line = |out: &mut String, Check { condition, message, .. }: &Check| {
        let _ = writeln!(out, "    if (!({condition})) return {};", c_literal(message));
    };
    for (input, name) in set.inputs.iter().zip(&names.inputs) {
        if let Some(check) = input_check(set, &C, input, name)? {
            line(&mut out, &check);
        }
        if matches!(input, GuardedInput::Tensor { sizes, .. } if sizes.is_empty()) {
            let _ = writeln!(out, "    (void){name}_shape;");
        }
    }
    let _ = writeln!(out, "    int failed = 0;\n    (void)failed;");
    for v in &set.variables {
        let Some(name) = names.symbol(v.symbol) else { continue };
        let size = C.size(&names.inputs[v.input], v.dim);
        let (offset, factor) = (int(set, &C, &v.offset)?, int(set, &C, &v.factor)?);
        let _ = writeln!(out, "    wide {name} = floor_div(&failed, {size} - {offset}, {factor});");
        let _ = writeln!(out, "    (void){name};");
    }
    for check in checks(set, &names, &C, &names.inputs)? {
        line(&mut out, &check);
    }
    let _ = writeln!(out, "    return NULL;\n}}");
    Ok(out)
}
