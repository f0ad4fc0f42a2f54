//! Positions that sizes decide, used as indices: the sizes that a program accepts are those that torch accepts.
use crate::text_programs;
use serde_json::Value as Json;
use sizewise::expr::{Expr, Symbol, Value};
use sizewise::propagate::Mode;

/// Cases whose conditions are weaker than torch's: it is not known that some position lies where it does.
const WEAKER: &[&str] = &["with itself", "joined", "remainder of negative numbers"];

/// A recorded case: the lines of a graph on `x: f32[n, m]`, and the sizes up to 5 that torch refuses.
struct Case {
    name: String,
    lines: Vec<String>,
    fails: Vec<(i64, i64)>,
}

fn cases() -> Vec<Case> {
    let text = |value: &Json| value.as_str().expect("a text").to_owned();
    let size = |pair: &Json, at: usize| pair[at].as_i64().expect("a size");
    include_str!("data/spans/cases.jsonl")
        .lines()
        .map(|line| {
            let case: Json = serde_json::from_str(line).expect("a case");
            let list = |key: &str| case[key].as_array().expect("a list").clone();
            let fails = list("fails").iter().map(|pair| (size(pair, 0), size(pair, 1))).collect();
            Case { name: text(&case["case"]), lines: list("lines").iter().map(text).collect(), fails }
        })
        .collect()
}

/// The program of a case on an input of these sizes.
fn source(case: &Case, [n, m]: [&str; 2]) -> String {
    let mut lines = vec![
        format!("n: \"Sym({n})\" = torch.ops.aten.sym_size.int(x, 0)"),
        format!("m: \"Sym({m})\" = torch.ops.aten.sym_size.int(x, 1)"),
    ];
    lines.extend(case.lines.iter().cloned());
    lines.push("return (r,)".into());
    text_programs::module(&format!("x: \"f32[{n}, {m}]\""), &lines)
}

#[test]
fn sizes_are_refused_where_torch_refuses_them() {
    let mut wrong = Vec::new();
    for case in cases() {
        let is_weaker = WEAKER.iter().any(|name| case.name.starts_with(name));
        for (n, m) in (0..6).flat_map(|n| (0..6).map(move |m| (n, m))) {
            let program = source(&case, [&n.to_string(), &m.to_string()]);
            let runs = text_programs::run(&program, Mode::Evaluate, |_, results| results.is_ok());
            let expected = !case.fails.contains(&(n, m));
            if runs != expected && !(is_weaker && runs) {
                wrong.push(format!("{} at ({n}, {m}): {runs}", case.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn conditions_on_symbols_are_those_on_numbers() {
    let mut wrong = Vec::new();
    for case in cases() {
        let is_weaker = WEAKER.iter().any(|name| case.name.starts_with(name));
        text_programs::run(&source(&case, ["s0", "s1"]), Mode::Verify, |run, _| {
            let failed = !run.failures.is_empty();
            let (guards, asserts) = (run.env.guards(), run.env.runtime_asserts());
            let conditions: Vec<Expr> =
                guards.iter().map(|g| g.condition).chain(asserts.iter().map(|a| a.condition)).collect();
            for (n, m) in (0..6_i64).flat_map(|n| (0..6_i64).map(move |m| (n, m))) {
                let pool = &run.env.pool;
                let size = |symbol: Symbol| {
                    Some(Value::Int(if pool.symbol_name(symbol) == "s0" { n } else { m }.into()))
                };
                let holds = |&condition: &Expr| matches!(pool.eval(condition, size), Ok(Value::Bool(true)));
                let accepted = !failed && conditions.iter().all(holds);
                let expected = !case.fails.contains(&(n, m));
                if accepted != expected && !(is_weaker && accepted) {
                    wrong.push(format!("{} at ({n}, {m}): {accepted}", case.name));
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
