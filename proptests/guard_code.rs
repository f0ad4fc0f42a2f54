//! The law of emitted checkers: in every language they accept exactly the sizes at which the conditions hold, as the
//! exact evaluator finds.
//!
//! A checker may refuse what it cannot compute: where a part of a condition has no value, and in languages without
//! big integers where a part is large. Otherwise it has to say what the evaluator says.
use crate::campaign;
// A part of the generators is used here.
#[allow(dead_code)]
use crate::expressions::tree;

use campaign::{cases, config, count};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use sizewise::expr::{Expr, Int, Pool, Symbol, Value, read};
use sizewise::report::guard_code::{GuardSet, GuardedInput, Language, Variable};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use tree::{Condition, SYMBOLS, Tree, assignment, condition, tree};

/// How each symbol is made of a size: `factor * symbol + offset`. The last is a number.
const LINEAR: [(i64, i64); 4] = [(1, 0), (2, 1), (3, -1), (1, 0)];

/// Checkers that are compiled together.
const BATCH: usize = 100;

/// Inputs of one call: the sizes of a tensor and a number.
pub(crate) type Inputs = ([i64; 4], i64);

/// One checker, and what it is called with.
pub(crate) struct Case {
    pub set: GuardSet,
    pub calls: Vec<Inputs>,
}

/// A comparison that goes through doubles, as text.
fn through_doubles() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        (0i64..40).prop_map(|v| v.to_string()),
        prop::sample::select(SYMBOLS.to_vec()).prop_map(str::to_owned),
        (prop::sample::select(SYMBOLS.to_vec()), 1i64..9).prop_map(|(s, k)| format!("{k}*{s} + {}", k - 3)),
    ];
    let double = (number.clone(), number.clone(), 0..8).prop_map(|(a, b, form)| match form {
        0 => format!("IntTrueDiv({a}, {b})"),
        1 => format!("ToFloat({a})"),
        2 => format!("FloatTrueDiv(ToFloat({a}), 1.5)"),
        3 => format!("OpaqueUnaryFn_sqrt(ToFloat({a}))"),
        4 => format!("ToFloat({a})*0.3 + ToFloat({b})"),
        5 => format!("ToFloat({a})*1e-300"),
        6 => format!("FloatTrueDiv(ToFloat({a}), 1e300)"),
        // An integer beside a double.
        _ => format!("({a})"),
    });
    let rounding = prop::sample::select(vec!["TruncToInt", "FloorToInt", "CeilToInt", "RoundToInt"]);
    let relation = prop::sample::select(vec!["<", "<=", "=="]);
    (double.clone(), double, rounding, relation, number, prop::bool::ANY).prop_map(
        |(a, b, rounding, relation, n, rounded)| {
            let (left, right) = if rounded { (format!("{rounding}({a})"), n) } else { (a, b) };
            match relation {
                "==" => format!("Eq({left}, {right})"),
                _ => format!("({left}) {relation} ({right})"),
            }
        },
    )
}

pub(crate) fn drawn(runner: &mut TestRunner) -> Case {
    let mut pool = Pool::new();
    let symbols: Vec<Symbol> = SYMBOLS
        .iter()
        .map(|name| {
            let e = pool.symbol(name);
            pool.as_symbol(e).expect("a symbol")
        })
        .collect();
    let mut draw = |pool: &mut Pool| {
        let strategy = (prop::collection::vec(condition(), 1..4), through_doubles(), 0u8..4, tree());
        let (written, doubles, with_doubles, last): (Vec<Condition>, String, u8, Tree) =
            strategy.new_tree(runner).expect("conditions").current();
        let points = prop::collection::vec(assignment(), 12).new_tree(runner).expect("points").current();
        let mut conditions: Vec<Expr> = written.iter().map(|c| c.build(pool)).collect();
        if with_doubles == 0 {
            let read = read::closed(pool, &doubles).unwrap_or_else(|error| panic!("{doubles}: {error}"));
            conditions.push(read.expr);
        }
        (conditions, last.build(pool), points)
    };
    let (conditions, last, points) = draw(&mut pool);
    let mut sizes = Vec::new();
    let mut variables = Vec::new();
    for (dim, (&symbol, (factor, offset))) in symbols.iter().zip(LINEAR).enumerate() {
        let e = pool.symbol(SYMBOLS[dim]);
        let (by, plus) = (pool.int(factor), pool.int(offset));
        let scaled = pool.mul(e, by);
        let size = pool.add(scaled, plus);
        let (input, dim) = if dim < 3 { (0, Some(dim)) } else { (1, None) };
        variables.push(Variable { symbol, input, dim, factor: Int::from(factor), offset: Int::from(offset) });
        sizes.push((input, dim, size));
    }
    let number = sizes.pop().expect("the number").2;
    sizes.push((0, Some(3), last));
    let calls = points.iter().enumerate().filter_map(|(i, at)| call(&pool, last, i, at)).collect();
    let set = GuardSet {
        program: "drawn".to_owned(),
        inputs: vec![
            GuardedInput::Tensor { name: "x".to_owned(), sizes: sizes.iter().map(|s| s.2).collect() },
            GuardedInput::Number { name: "n".to_owned(), value: number },
        ],
        variables,
        // The first size is plain.
        fixed: sizes.split_off(1),
        conditions,
        left_open: Vec::new(),
        not_followed: 0,
        pool,
    };
    Case { set, calls }
}

/// Inputs at which the symbols have given values; the last size is right, or sometimes wrong by one.
fn call(pool: &Pool, last: Expr, i: usize, at: &[BigInt; 4]) -> Option<Inputs> {
    let small: Vec<i64> = at.iter().map(|v| v.to_i64().unwrap_or(6)).collect();
    let value = |symbol: Symbol| {
        let i = SYMBOLS.iter().position(|name| *name == pool.symbol_name(symbol))?;
        Some(Value::Int(Int::from(small[i])))
    };
    let size = |i: usize| small[i].checked_mul(LINEAR[i].0)?.checked_add(LINEAR[i].1);
    let last = pool.eval(last, value).ok().and_then(|v| v.as_int()).and_then(|v| v.to_i64()).unwrap_or(0);
    let off = i64::from(i % 6 == 5);
    Some((
        [size(0)?, size(1)?.checked_add(i64::from(i % 7 == 6))?, size(2)?, last.checked_add(off)?],
        small[3],
    ))
}

/// What the evaluator says of a call, and what a checker may refuse nevertheless.
pub(crate) struct Verdict {
    pub holds: bool,
    /// A part has no value there.
    pub undefined: bool,
    /// A part is so large that 128 bits may not do for it.
    pub large: bool,
}

pub(crate) fn expected(set: &GuardSet, (sizes, number): &Inputs) -> Verdict {
    let given = |input: usize, dim: Option<usize>| match (input, dim) {
        (0, Some(dim)) => Int::from(sizes[dim]),
        _ => Int::from(*number),
    };
    let value = |symbol: Symbol| {
        let v = set.variables.iter().find(|v| v.symbol == symbol)?;
        (&given(v.input, v.dim) - &v.offset).floor_div(&v.factor).map(Value::Int)
    };
    let eval = |e: Expr| set.pool.eval(e, value);
    let fixed = set.fixed.iter().all(|&(input, dim, e)| eval(e) == Ok(Value::Int(given(input, dim))));
    let holds = fixed && set.conditions.iter().all(|&e| eval(e) == Ok(Value::Bool(true)));
    let roots: Vec<Expr> = set.fixed.iter().map(|f| f.2).chain(set.conditions.iter().copied()).collect();
    let parts: Vec<_> = set.pool.reachable(&roots).into_iter().map(eval).collect();
    let is_large = |v: &Value| match v {
        Value::Int(v) => v.bits() > 40,
        Value::Float(v) => v.abs() > 1e12,
        _ => false,
    };
    Verdict {
        holds,
        undefined: parts.iter().any(Result::is_err),
        large: parts.iter().flatten().any(is_large),
    }
}

pub(crate) fn output(command: &mut Command) -> Vec<bool> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {} {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).lines().map(|line| line == "1").collect()
}

pub(crate) fn compile(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The answers of checkers in one language to all calls of the sets that it can write; none for the others.
fn answers(language: Language, cases: &[Case], folder: &Path) -> Vec<Option<Vec<bool>>> {
    let codes: Vec<Option<String>> = cases.iter().map(|case| case.set.emit(language).ok()).collect();
    let able = || {
        cases.iter().zip(&codes).enumerate().filter_map(|(i, (case, code))| Some((i, case, code.as_ref()?)))
    };
    let run = match language {
        Language::Python => in_python(able(), folder),
        Language::Rust => in_rust(able(), folder),
        _ => in_c(able(), folder),
    };
    let mut lines = run.into_iter();
    let answered = |(case, code): (&Case, &Option<String>)| {
        code.as_ref().map(|_| lines.by_ref().take(case.calls.len()).collect())
    };
    let all = cases.iter().zip(&codes).map(answered).collect();
    assert_eq!(lines.next(), None, "{language:?} answered more calls than were made");
    all
}

fn in_python<'a>(able: impl Iterator<Item = (usize, &'a Case, &'a String)>, folder: &Path) -> Vec<bool> {
    let mut main = String::new();
    for (i, case, code) in able {
        std::fs::write(folder.join(format!("m{i}.py")), code).expect("a file");
        let _ = writeln!(main, "import m{i}");
        for (sizes, number) in &case.calls {
            let _ = writeln!(main, "print(int(m{i}.check({{'x': {sizes:?}, 'n': {number}}}) is None))");
        }
    }
    std::fs::write(folder.join("main.py"), main).expect("a file");
    output(Command::new("python3").arg(folder.join("main.py")))
}

fn in_rust<'a>(able: impl Iterator<Item = (usize, &'a Case, &'a String)>, folder: &Path) -> Vec<bool> {
    let (mut code, mut main) = (String::from("#![deny(warnings)]\n#![allow(dead_code)]\n"), String::new());
    for (i, case, module) in able {
        let _ = writeln!(code, "mod m{i} {{\n{module}\n}}");
        for (sizes, number) in &case.calls {
            let _ =
                writeln!(main, "println!(\"{{}}\", u8::from(m{i}::check(&{sizes:?}, {number}).is_ok()));");
        }
    }
    let _ = writeln!(code, "fn main() {{\n{main}}}");
    std::fs::write(folder.join("all.rs"), code).expect("a file");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let program = folder.join("rust");
    // Overflow would be a panic, and a failure of the law.
    compile(
        Command::new(rustc)
            .args(["--edition=2021", "-Cdebug-assertions"])
            .arg(folder.join("all.rs"))
            .arg("-o")
            .arg(&program),
    );
    output(&mut Command::new(program))
}

fn in_c<'a>(able: impl Iterator<Item = (usize, &'a Case, &'a String)>, folder: &Path) -> Vec<bool> {
    let mut main = String::from("#include <stdio.h>\n#include <stddef.h>\n#include <stdint.h>\n");
    let mut calls = String::new();
    let mut compiler = Command::new("cc");
    let program = folder.join("c");
    compiler
        .args([
            "-std=gnu99",
            "-w",
            "-fsanitize=signed-integer-overflow",
            "-fsanitize-undefined-trap-on-error",
            "-o",
        ])
        .arg(&program);
    for (i, case, code) in able {
        let renamed = code.replace("sizewise_check", &format!("check{i}"));
        let file = folder.join(format!("m{i}.c"));
        std::fs::write(&file, renamed).expect("a file");
        compiler.arg(file);
        let _ = writeln!(main, "const char *check{i}(const int64_t *, size_t, int64_t);");
        for (sizes, number) in &case.calls {
            let list: Vec<String> = sizes.iter().map(|v| c_literal(*v)).collect();
            let (list, number) = (list.join(", "), c_literal(*number));
            let _ =
                writeln!(calls, "    puts(check{i}((int64_t[]){{{list}}}, 4, {number}) ? \"0\" : \"1\");");
        }
    }
    let _ = writeln!(main, "int main(void) {{\n{calls}    return 0;\n}}");
    std::fs::write(folder.join("main.c"), main).expect("a file");
    compile(compiler.arg(folder.join("main.c")).arg("-lm"));
    output(&mut Command::new(program))
}

fn c_literal(value: i64) -> String {
    if value == i64::MIN { "INT64_MIN".to_owned() } else { format!("INT64_C({value})") }
}

fn checkers_say_what_the_evaluator_says(language: Language, big_integers: bool) {
    let mut runner = TestRunner::new(config(1));
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..cases(1) {
        let cases: Vec<Case> = (0..BATCH).map(|_| drawn(&mut runner)).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let mut able = 0;
        for (case, answers) in cases.iter().zip(answers(language, &cases, folder.path())) {
            let Some(answers) = answers else { continue };
            able += 1;
            assert_eq!(answers.len(), case.calls.len());
            for (inputs, accepts) in case.calls.iter().zip(answers) {
                let verdict = expected(&case.set, inputs);
                count(1);
                *(if verdict.holds { &mut accepted } else { &mut refused }) += 1;
                let may_refuse = verdict.undefined || (verdict.large && !big_integers);
                let agrees = accepts == verdict.holds || (!accepts && may_refuse);
                assert!(
                    agrees,
                    "{language:?} at {inputs:?} {} where the evaluator finds {}:\n{}",
                    if accepts { "accepts" } else { "refuses" },
                    verdict.holds,
                    case.set.emit(Language::Json).expect("JSON")
                );
            }
        }
        assert!(able > BATCH / 2, "{language:?} writes {able} of {BATCH} checkers");
    }
    assert!(accepted > 20 && refused > 20, "{accepted} accepted, {refused} refused");
}

#[test]
fn checkers_in_python_say_what_the_evaluator_says() {
    checkers_say_what_the_evaluator_says(Language::Python, true);
}

#[test]
fn checkers_in_rust_say_what_the_evaluator_says() {
    checkers_say_what_the_evaluator_says(Language::Rust, false);
}

#[test]
fn checkers_in_c_say_what_the_evaluator_says() {
    checkers_say_what_the_evaluator_says(Language::C, false);
}
