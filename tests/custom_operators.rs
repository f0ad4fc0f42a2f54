//! Custom operators declared in files: programs that call them, what torch 2.15 did with them, and the `--ops` option.
#![cfg(feature = "cli")]
use assert_cmd::Command;
use serde_json::{Value as Json, json};
use std::fs;
use std::path::PathBuf;

const DECLARATIONS: &str = "operators/corpus.toml";
/// Programs that call operators of well-known libraries, which come declared.
const OF_LIBRARIES: [&str; 2] = ["tv_nms", "hf_qwen2_moe"];

/// Exit status, standard output and standard error.
fn sizewise(args: &[&str], input: &str) -> (i32, String, String) {
    let mut command = Command::cargo_bin("sizewise").expect("the program");
    let output = command.args(args).write_stdin(input).output().expect("a run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

fn programs() -> Vec<(String, Vec<Json>)> {
    let text = fs::read_to_string("tests/data/custom/runs.jsonl").expect("the recorded runs");
    let read = |line: &str| {
        let record: Json = serde_json::from_str(line).expect("JSON");
        let name = record["name"].as_str().expect("a name");
        (format!("tests/data/programs/{name}.pt2"), record["runs"].as_array().cloned().unwrap_or_default())
    };
    text.lines().map(read).collect()
}

#[test]
fn programs_with_custom_operators_check_without_an_unsupported_one() {
    for (program, _) in programs() {
        let args = ["check", &program, "--format", "json", "--ops", DECLARATIONS];
        let (status, report, error) = sizewise(&args, "");
        let report: Json = serde_json::from_str(&report).unwrap_or_else(|_| panic!("{program}: {error}"));
        assert_eq!(report["unsupported"], json!([]), "{program}");
        assert_eq!(report["mismatches"], json!([]), "{program}");
        assert_eq!((status, &report["verdict"]), (0, &json!("ok")), "{program}");

        let (_, without, _) = sizewise(&args[..4], "");
        let without: Json = serde_json::from_str(&without).expect("a report");
        let comes_along = OF_LIBRARIES.iter().any(|name| program.contains(name));
        assert_eq!(
            without["unsupported"] == json!([]),
            comes_along,
            "{program}: the declarations make the difference"
        );
    }
}

#[test]
fn recorded_runs_of_custom_operators_come_out_as_recorded() {
    let (mut count, mut wrong) = (0, Vec::new());
    for (program, runs) in programs() {
        let requests: String = runs
            .iter()
            .enumerate()
            .map(|(id, run)| json!({"id": id, "shapes": run["shapes"]}).to_string() + "\n")
            .collect();
        let (status, answers, error) = sizewise(&["eval", &program, "--ops", DECLARATIONS], &requests);
        assert_eq!(status, 0, "{program}: {error}");
        for (run, answer) in runs.iter().zip(answers.lines()) {
            let answer: Json = serde_json::from_str(answer).expect("JSON");
            count += 1;
            let place = format!("{program} at {}: {answer}", run["shapes"]);
            match (run["outcome"] == "ok", answer["ok"] == true) {
                (true, true) if !same_shapes(&run["outputs"], &answer["outputs"]) => wrong.push(place),
                (true, false) if run["accepted"] == true => wrong.push(place),
                (false, true) => wrong.push(place),
                _ => {}
            }
        }
    }
    assert!(count > 150, "{count} runs");
    assert!(wrong.is_empty(), "{} of {count} runs:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether shapes agree; a size that only the run decides agrees with any.
fn same_shapes(recorded: &Json, found: &Json) -> bool {
    match (recorded, found) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shapes(a, b))
        }
        (Json::Number(_), Json::String(_)) => true,
        (a, b) => a == b,
    }
}

#[test]
fn infer_knows_declared_operators() {
    let request = json!({
        "id": 1, "op": "corpus.pick10.default", "symbols": {"s0": {"min": 2, "max": 64, "hint": 6}},
        "args": [
            {"tensor": {"shape": ["s0", 4], "dtype": "float32"}}, {"tensor": {"shape": [1], "dtype": "float32"}},
        ],
    });
    let (_, answer, _) = sizewise(&["infer", "--ops", DECLARATIONS], &request.to_string());
    let answer: Json = serde_json::from_str(&answer).expect("an answer");
    assert_eq!(answer["returns"][0]["tensor"]["shape"], json!(["10*u0", 4]), "{answer}");
    assert_eq!(answer["symbols"]["u0"], json!({"min": 0, "max": 6}), "{answer}");

    let wrong = request.to_string().replace("\"shape\":[1]", "\"shape\":[2]");
    let (_, answer, _) = sizewise(&["infer", "--ops", DECLARATIONS], &wrong);
    let answer: Json = serde_json::from_str(&answer).expect("an answer");
    assert_eq!(
        (&answer["error"]["kind"], &answer["error"]["clause"]),
        (&json!("invalid"), &json!("custom.C2"))
    );
    assert!(
        answer["error"]["message"].as_str().is_some_and(|m| m.contains("operators/corpus.toml:13")),
        "{answer}"
    );

    let (_, answer, _) = sizewise(&["infer"], &request.to_string());
    assert!(answer.contains("unsupported"), "{answer}");
}

#[test]
fn several_files_go_together_and_a_wrong_one_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a writable folder");
        path
    };
    let more = file(
        "more.toml",
        "[[operator]]\nschema = \"my::id(Tensor x) -> Tensor\"\nreturns = [{ like = \"x\" }]\n",
    );
    let more = more.to_str().expect("a path");
    let request =
        json!({"id": 1, "op": "my.id.default", "args": [{"tensor": {"shape": [2], "dtype": "bool"}}]});
    let (status, answer, _) =
        sizewise(&["infer", "--ops", DECLARATIONS, "--ops", more], &request.to_string());
    assert_eq!(status, 0);
    assert!(answer.contains("\"dtype\":\"bool\""), "{answer}");

    let twice = sizewise(&["infer", "--ops", more, "--ops", more], "");
    assert_eq!(twice.0, 2);
    assert!(
        twice.2.contains("more.toml:2:11") && twice.2.contains("declared in another file"),
        "{}",
        twice.2
    );

    let wrong = file("wrong.toml", "[[operator]]\nschema = \"my::id(Tensor x) -> Tensor\"\nreturns = []\n");
    let wrong = wrong.to_str().expect("a path");
    for command in [
        vec!["check", "tests/data/programs/cop_list.pt2", "--ops", wrong],
        vec!["eval", "tests/data/programs/cop_list.pt2", "--ops", wrong],
        vec!["infer", "--ops", wrong],
    ] {
        let (status, _, error) = sizewise(&command, "");
        assert_eq!(status, 2, "{error}");
        assert!(error.contains("wrong.toml:3:11: 0 results; the schema says 1"), "{error}");
    }
    let binary = folder.path().join("binary.toml");
    fs::write(&binary, b"[[operator]]\n\xff\xfe").expect("a writable folder");
    let (status, _, error) = sizewise(&["infer", "--ops", binary.to_str().expect("a path")], "");
    assert_eq!(status, 2);
    assert!(error.contains("binary.toml:2: expected text in UTF-8"), "{error}");
    let (status, _, error) = sizewise(&["infer", "--ops", "no/such.toml"], "");
    assert_eq!(status, 2);
    assert!(error.contains("no/such.toml"), "{error}");
}
