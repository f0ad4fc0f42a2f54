//! However many threads answer, the answers are the same, and come in the order of the questions.
use assert_cmd::Command;
use serde_json::{Value, json};
use sizewise::check::Checker;
use sizewise::ir::{Argument, Dtype, pt2};
use sizewise::kernels::Operators;
use sizewise::pass::Tracer;
use sizewise::report::to_json;
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::path::Path;

/// What `sizewise COMMAND --jobs N` answers; how long it took is left out.
fn answers(command: &str, jobs: usize, input: &str) -> Vec<Value> {
    let output = Command::cargo_bin("sizewise")
        .expect("the program is built")
        .args([command, "--jobs", &jobs.to_string()])
        .write_stdin(input)
        .output()
        .expect("the program runs");
    // Some lines are no questions.
    assert_eq!(output.status.code(), Some(3), "{command} --jobs {jobs}");
    let text = String::from_utf8(output.stdout).expect("answers are text");
    let answer = |line: &str| {
        let mut answer: Value = serde_json::from_str(line).expect("an answer is JSON");
        if let Some(fields) = answer.as_object_mut() {
            fields.retain(|name, _| !name.ends_with("_ns"));
        }
        answer
    };
    text.lines().map(answer).collect()
}

/// Recorded questions, with lines between them that are blank or no questions.
fn questions(of: impl Fn(&Value) -> Value) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries/tvm.jsonl");
    let text = std::fs::read_to_string(path).expect("the queries are part of the source tree");
    let mut input = String::new();
    for (number, line) in text.lines().take(60).enumerate() {
        input.push_str(&of(&serde_json::from_str(line).expect("a query is JSON")).to_string());
        input.push('\n');
        match number % 7 {
            2 => input.push('\n'),
            5 => input.push_str("{\"id\": 5, nonsense\n"),
            _ => {}
        }
    }
    input
}

#[test]
fn every_number_of_threads_gives_the_same_answers_in_the_same_order() {
    let with = |query: &Value, fields: &[(&str, &Value)]| {
        let mut request = json!({"id": query["id"], "symbols": query["symbols"]});
        for (name, value) in fields {
            request[*name] = (*value).clone();
        }
        request
    };
    let cases = [
        ("entail", questions(|q| with(q, &[("given", &q["given"]), ("goal", &q["goal"])]))),
        ("simplify", questions(|q| with(q, &[("given", &json!([])), ("expr", &q["goal"])]))),
        ("minimize", questions(|q| with(q, &[("guards", &q["given"])]))),
    ];
    for (command, input) in cases {
        let one = answers(command, 1, &input);
        assert_eq!(one.len(), input.lines().filter(|line| !line.is_empty()).count(), "{command}");
        for jobs in [2, 7, 100] {
            assert_eq!(answers(command, jobs, &input), one, "{command} --jobs {jobs}");
        }
    }
}

/// How many pairs of vectors the program of many conditions adds.
const PAIRS: usize = 70;

/// Pairs of vectors that are added, each sum cut to a length that only some specs allow.
fn program_of_many_conditions() -> Vec<u8> {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    let mut sums = Vec::new();
    for i in 0..PAIRS {
        let (s, t) = (format!("s{}", 2 * i), format!("s{}", 2 * i + 1));
        tracer.size(&s, 2, Some(100), 6).expect("a size");
        tracer.size(&t, 2, Some(100), 6).expect("a size");
        let a = tracer.tensor(&format!("a{i}"), Dtype::Float32, &[s.as_str()]).expect("an input");
        let b = tracer.tensor(&format!("b{i}"), Dtype::Float32, &[t.as_str()]).expect("an input");
        let sum =
            tracer.call("aten.add.Tensor", [("self", a.into()), ("other", b.into())]).expect("a sum")[0];
        let start = Argument::Int(i as i64 % 5);
        let cut =
            [("self", sum.into()), ("dim", Argument::Int(0)), ("start", start), ("length", Argument::Int(1))];
        sums.push(tracer.call("aten.narrow.default", cut).expect("a part")[0]);
    }
    pt2::write(&tracer.finish(&sums).program).expect("an archive")
}

#[test]
fn every_number_of_threads_gives_the_same_report() {
    let archive = program_of_many_conditions();
    let operators = Operators::new();
    let mut spec = serde_json::Map::new();
    for i in 0..PAIRS {
        let dim = |name: &str| json!([{"dim": format!("{name}{i}"), "min": 2 + i % 4, "max": 100 - i % 3}]);
        spec.insert(format!("a{i}"), dim("p"));
        spec.insert(format!("b{i}"), dim(if i % 2 == 0 { "p" } else { "q" }));
    }
    let spec = Spec::parse(Value::from(spec).to_string().as_bytes()).expect("a spec");
    for spec in [None, Some(&spec)] {
        let report = |jobs: usize| {
            let checker = Checker::read("many", &archive).expect("a program").with_jobs(jobs);
            let mut report = checker.check(spec, &operators, &Budget::default()).expect("a report");
            report.timings.clear();
            assert!(report.guards.len() >= PAIRS, "{} conditions", report.guards.len());
            to_json(&report)
        };
        let one = report(1);
        for jobs in [2, 3, 64] {
            assert!(report(jobs) == one, "{jobs} threads, spec: {}", spec.is_some());
        }
    }
}
