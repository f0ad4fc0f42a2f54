//! Operators of well-known libraries, which come declared: what the libraries' own kernels did with a call, as
//! `scripts/library_operators` recorded it in `tests/library_operators`, in the notation of the tables of kernels.
use crate::kernels::notation;

use sizewise::env::ShapeEnv;
use sizewise::kernels::{Cx, KernelError, Operators, bind, libraries};
use std::collections::HashSet;
use std::fs;

/// What a call gives, in the notation of the tables.
fn outcome(call: &str) -> Result<String, String> {
    let mut env = ShapeEnv::new();
    let call = notation::read_call(&mut env, call)?;
    let operators = Operators::new();
    let (schema, kernel) = operators.find(call.op).ok_or_else(|| format!("no operator `{}`", call.op))?;
    let args = match bind(&mut env.pool, schema, call.positional, call.keywords) {
        Ok(args) => args,
        Err(error) => return Ok(format!("invalid ({error})")),
    };
    let result = kernel.call(&mut Cx::new(&mut env), &args);
    Ok(match result {
        Ok(values) => notation::print_results(&mut env, &values),
        Err(KernelError::Invalid { message, .. }) => format!("invalid ({message})"),
        Err(other) => format!("{other:?}"),
    })
}

fn agrees(stated: &str, outcome: &str) -> bool {
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    match stated {
        "invalid" => outcome.starts_with("invalid"),
        _ => squeeze(stated) == squeeze(outcome),
    }
}

/// The recorded calls with what came of them, and where they stand.
fn recorded() -> Vec<(String, String, String)> {
    let mut files: Vec<_> = fs::read_dir("tests/library_operators")
        .expect("the tables")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    let mut lines = Vec::new();
    for path in files {
        let text = fs::read_to_string(&path).expect("a table");
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let (call, stated) = line.split_once(" -> ").expect("`call -> results`");
            lines.push((format!("{}:{}", path.display(), number + 1), call.to_owned(), stated.to_owned()));
        }
    }
    lines
}

#[test]
fn declarations_say_what_the_libraries_do() {
    let lines = recorded();
    let mut wrong = Vec::new();
    for (place, call, stated) in &lines {
        match outcome(call) {
            Ok(outcome) if agrees(stated, &outcome) => {}
            Ok(outcome) => wrong.push(format!("{place}: {call} -> {stated}\n    gives {outcome}")),
            Err(error) => wrong.push(format!("{place}: {call}\n    cannot be read: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} of {} lines are wrong:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
}

#[test]
fn each_declared_operator_was_recorded_with_valid_and_invalid_operands() {
    let (mut valid, mut invalid) = (HashSet::new(), HashSet::new());
    for (_, call, stated) in recorded() {
        let op = call.split('(').next().unwrap_or_default().to_owned();
        if stated == "invalid" {
            invalid.insert(op)
        } else {
            valid.insert(op)
        };
    }
    let declared: Vec<&str> = libraries().iter().flat_map(|library| library.overloads()).collect();
    let unseen: Vec<&&str> = declared.iter().filter(|op| !valid.contains(**op)).collect();
    assert!(unseen.is_empty(), "no valid call was recorded of {unseen:?}");
    let never = declared.iter().filter(|op| !invalid.contains(**op)).count();
    assert!(
        never * 4 <= declared.len(),
        "{never} of {} operators were never recorded refusing",
        declared.len()
    );
}

#[test]
fn a_declaration_of_the_users_goes_before_one_that_comes_along() {
    let mut operators = Operators::new();
    let text = "[[operator]]\nschema = \"torchvision::nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor\"\n\
                returns = [{ shape = [7], dtype = \"int32\" }]\n";
    operators.declare("mine.toml", text).expect("a declaration");
    let env = &mut ShapeEnv::new();
    let call = notation::read_call(env, "torchvision.nms.default(f32[2,3], f32[4], 0.5)").expect("a call");
    let (schema, kernel) = operators.find(call.op).expect("an operator");
    let args = bind(&mut env.pool, schema, call.positional, call.keywords).expect("arguments");
    let values = kernel.call(&mut Cx::new(env), &args).expect("results");
    assert_eq!(notation::print_results(env, &values), "i32[7]");
    assert!(
        outcome("torchvision.nms.default(f32[2,3], f32[4], 0.5)").expect("a call").starts_with("invalid")
    );
}
