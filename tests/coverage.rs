//! The list of operators with kernels: as `sizewise ops` prints it, and as `docs/coverage.md` has it.
#![cfg(feature = "cli")]
use assert_cmd::Command;
use serde_json::Value as Json;

fn ops(args: &[&str]) -> String {
    let mut command = Command::cargo_bin("sizewise").expect("the program");
    let output = command.arg("ops").args(args).output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn the_document_is_what_the_program_prints() {
    let args = ["--format", "markdown", "--tables", "tests/kernels"];
    let document = std::fs::read_to_string("docs/coverage.md").expect("the document");
    let first_difference =
        ops(&args).lines().zip(document.lines()).find(|(new, old)| new != old).map(|(new, _)| new.to_owned());
    assert!(
        ops(&args) == document,
        "docs/coverage.md is stale at {first_difference:?}: write it anew with `sizewise ops {} > docs/coverage.md`",
        args.join(" ")
    );
}

#[test]
fn every_core_operator_has_a_kernel() {
    let list: Json = serde_json::from_str(&ops(&["--format", "json"])).expect("JSON");
    let core = &list["summary"]["core, functional"];
    assert_eq!(core["served"], core["all"]);
    let operators = list["operators"].as_array().expect("a list");
    let find = |name: &str| operators.iter().find(|row| row["op"] == name).cloned().unwrap_or_default();
    assert_eq!(find("aten.mm.default")["family"], "matmul");
    assert_eq!(
        (&find("aten.add.Tensor")["kernel"], &find("aten.add_.Tensor")["kernel"]),
        (&"yes".into(), &"in-place".into())
    );
    assert_eq!(find("aten._version.default")["kernel"], "no");
}

#[test]
fn what_is_missing_is_listed_by_itself() {
    let missing = ops(&["--missing"]);
    assert!(missing.lines().any(|line| line.starts_with("aten._version.default ")), "{missing}");
    assert!(!missing.contains("aten.mm.default "), "{missing}");
}

#[test]
fn what_is_left_out_on_purpose_is_missing() {
    let list: Json = serde_json::from_str(&ops(&["--format", "json"])).expect("JSON");
    let operators = list["operators"].as_array().expect("a list");
    let kernel = |name: &str| operators.iter().find(|row| row["op"] == name).map(|row| row["kernel"].clone());
    let document = ops(&["--format", "markdown"]);
    let (_, rest) = document.split_once("left without a kernel").expect("the section");
    let (section, _) = rest.split_once("\n## ").expect("the next section");
    let named: Vec<&str> = section.split('`').filter(|word| word.starts_with("aten.")).collect();
    assert!(named.len() > 5, "{section}");
    for name in named {
        assert_eq!(kernel(name), Some("no".into()), "{name} has a kernel by now");
    }
}

#[test]
fn clauses_are_listed_with_the_overload() {
    let list: Json = serde_json::from_str(&ops(&["--format", "json"])).expect("JSON");
    let operators = list["operators"].as_array().expect("a list");
    let mm = operators.iter().find(|row| row["op"] == "aten.mm.default").expect("mm");
    let clauses: Vec<&str> =
        mm["clauses"].as_array().expect("a list").iter().filter_map(Json::as_str).collect();
    assert!(clauses.contains(&"mm.C2"), "{clauses:?}");
}
