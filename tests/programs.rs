//! Exported programs and what torch 2.15 did with inputs of many shapes: `tests/data/runs.jsonl.gz`.
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::check::{Checker, Shapes};
use sizewise::expr::{Int, Value as Number};
use sizewise::kernels::Operators;
use sizewise::report::{GuardVerdict, Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// One program with its recorded runs.
struct Case {
    name: String,
    checker: Checker,
    spec: Option<Spec>,
    runs: Vec<Json>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn cases() -> Vec<Case> {
    let file = File::open(root().join("tests/data/runs.jsonl.gz")).expect("the recorded runs");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    lines
        .map(|line| {
            let record: Json = serde_json::from_str(&line.expect("text")).expect("JSON");
            let name = record["name"].as_str().expect("a name").to_string();
            let path = root().join(format!("tests/data/programs/{name}.pt2"));
            let bytes = std::fs::read(&path).expect("the program");
            let checker = Checker::read(&name, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            let spec = &record["spec"];
            let spec = (!spec.is_null()).then(|| Spec::parse(spec.to_string().as_bytes()).expect("a spec"));
            let runs = record["runs"].as_array().cloned().unwrap_or_default();
            Case { name, checker, spec, runs }
        })
        .collect()
}

fn shape(json: &Json) -> Shape {
    match json {
        Json::Array(sizes) => {
            Shape::Tensor(sizes.iter().map(|s| Int::from(s.as_i64().expect("a size"))).collect())
        }
        Json::Bool(b) => Shape::Scalar(Number::Bool(*b)),
        Json::Number(n) if n.is_i64() => Shape::Scalar(Number::Int(n.as_i64().unwrap_or_default().into())),
        other => Shape::Scalar(Number::Float(other.as_f64().expect("a number"))),
    }
}

fn shapes(json: &Json) -> Shapes {
    let fields = json.as_object().into_iter().flatten();
    fields.map(|(name, value)| (name.as_str().into(), shape(value))).collect()
}

fn inputs(run: &Json) -> Shapes {
    let mut given = shapes(&run["shapes"]);
    given.extend(shapes(&run["scalars"]));
    given
}

fn is_wrong(run: &Json, field: &str) -> bool {
    run["outcome"] == "fails" && run[field] == true && run["accepted"] == true
}

fn check(case: &Case, spec: Option<&Spec>) -> Report {
    case.checker.check(spec, &Operators::new(), &Budget::default()).expect("a report")
}

#[test]
fn what_runs_is_accepted_with_its_shapes_and_what_fails_is_refused() {
    let operators = Operators::new();
    let (mut runs, mut wrong) = (0, Vec::new());
    for case in cases() {
        let evaluator = case.checker.evaluator(&operators).expect("a contract");
        for run in &case.runs {
            runs += 1;
            let found = evaluator.evaluate(&inputs(run));
            let place = format!("{} at {} {}", case.name, run["shapes"], run["scalars"]);
            match (run["outcome"].as_str(), found) {
                (Some("ok"), Ok(evaluation)) => {
                    let pool = &evaluation.env.pool;
                    let got: Vec<_> = evaluation.outputs.iter().flatten().collect();
                    let want = run["outputs"].as_array().cloned().unwrap_or_default();
                    let same = got.len() == want.len()
                        && got.iter().zip(&want).all(|(got, want)| {
                            let want = want.as_array().cloned().unwrap_or_default();
                            got.len() == want.len()
                                && got.iter().zip(&want).all(|(&g, w)| match pool.as_int(g) {
                                    Some(size) => size.to_i64() == w.as_i64(),
                                    None => true,
                                })
                        });
                    if !same {
                        wrong.push(format!("{place}: other shapes than {}", run["outputs"]));
                    }
                }
                (Some("ok"), Err(refused)) if run["accepted"] == true => {
                    wrong.push(format!("{place}: refused: {}", refused.message));
                }
                (Some("fails"), Ok(evaluation)) if evaluation.unsupported == 0 => {
                    wrong.push(format!("{place}: accepted"));
                }
                _ => {}
            }
        }
    }
    assert!(runs > 1_500, "{runs} runs");
    assert!(wrong.is_empty(), "{} of {runs} runs:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_allowed_run_fails_unseen_and_every_counterexample_is_refused() {
    let operators = Operators::new();
    let mut wrong = Vec::new();
    for case in cases() {
        let evaluator = case.checker.evaluator(&operators).expect("a contract");
        for spec in [None, case.spec.as_ref()] {
            let report = check(&case, spec);
            let field = if spec.is_some() { "in_spec" } else { "accepted" };
            if report.verdict == Outcome::Ok
                && let Some(run) = case.runs.iter().find(|run| is_wrong(run, field))
            {
                wrong.push(format!("{}: ok, but {} fails", case.name, run["shapes"]));
            }
            for guard in report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated) {
                let Some(inputs) = &guard.inputs else {
                    wrong.push(format!("{}: `{}` has no counterexample", case.name, guard.expr));
                    continue;
                };
                let given: Shapes =
                    inputs.iter().map(|(name, value)| (name.as_str().into(), shape(value))).collect();
                if evaluator.evaluate(&given).is_ok() {
                    wrong.push(format!("{}: the counterexample to `{}` is accepted", case.name, guard.expr));
                }
            }
            for mismatch in &report.mismatches {
                wrong.push(format!("{}: {} differs from the record", case.name, mismatch.value));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_report_is_the_same_every_time() {
    for case in cases().into_iter().take(25) {
        let report = |case: &Case| {
            let mut report = check(case, case.spec.as_ref());
            report.timings.clear();
            sizewise::report::to_json(&report)
        };
        let once = report(&case);
        let again = report(&case);
        assert_eq!(once, again, "{}", case.name);
    }
}

#[test]
fn the_examples_come_out_as_the_readme_says() {
    let table = [
        ("branch", Outcome::Violated),
        ("area", Outcome::Violated),
        ("flatten", Outcome::Violated),
        ("thirds", Outcome::Ok),
        ("masked", Outcome::Ok),
        ("bert", Outcome::Ok),
    ];
    for (name, verdict) in table {
        let read =
            |ending: &str| std::fs::read(root().join(format!("examples/{name}.{ending}"))).expect("a file");
        let checker = Checker::read(name, &read("pt2")).expect("a program");
        let spec = Spec::parse(&read("json")).expect("a spec");
        let report = checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report");
        assert_eq!(report.verdict, verdict, "{name}");
        assert!(report.fixes.iter().all(|fix| fix.proved), "{name}");
    }
}
