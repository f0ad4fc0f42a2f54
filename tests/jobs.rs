//! However many threads answer, the answers are the same, and come in the order of the questions.
use assert_cmd::Command;
use serde_json::{Value, json};
use std::path::Path;

/// What `sizewise COMMAND --jobs N` answers; how long it took is left out.
fn answers(command: &str, jobs: usize, input: &str) -> Vec<Value> {
    let output = Command::cargo_bin("sizewise")
        .expect("the program is built")
        .args([command, "--jobs", &jobs.to_string()])
        .write_stdin(input)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{command} --jobs {jobs}");
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
        ("entail", questions(Value::clone)),
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
