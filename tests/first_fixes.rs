//! Which fix comes first, how wide the widest spec is, and what reports say of assertions and of indices.
#![cfg(feature = "cli")]
use crate::text_programs;
use assert_cmd::Command;
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::ir::{Dtype, Program, pt2};
use sizewise::kernels::Operators;
use sizewise::pass::Tracer;
use sizewise::report::{Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::Spec;

/// A program of two tensors, `x: [s0, 4]` and `w: [s1, 4]` with equal sizes in the example, and its guards.
fn guarded(guards: &[&str]) -> Program {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, None, 3).expect("a size");
    tracer.size("s1", 2, None, 3).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "4"]).expect("an input");
    let w = tracer.tensor("w", Dtype::Float32, &["s1", "4"]).expect("an input");
    let mut program = tracer.finish(&[x, w]).program;
    program.guards_code.extend(guards.iter().map(|guard| (*guard).into()));
    program
}

fn archive(program: &Program) -> Vec<u8> {
    pt2::write(program).expect("an archive")
}

fn check(program: &Program, spec: Option<&Json>) -> Report {
    let checker = Checker::read("program", &archive(program)).expect("a program");
    let spec = spec.map(|spec| Spec::parse(spec.to_string().as_bytes()).expect("a spec"));
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report")
}

fn run(program: &Program, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("p.pt2");
    std::fs::write(&path, archive(program)).expect("a file");
    let mut command = Command::cargo_bin("sizewise").expect("the program is built");
    let output = command.current_dir(folder.path()).args(arguments).output().expect("it runs");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn where_equal_sizes_will_do_no_range_ends_at_the_example() {
    let program = guarded(&["L['x'].size()[0] <= L['w'].size()[0]"]);
    let dim = |name: &str| json!([{"dim": name, "min": 2}, null]);
    let report = check(&program, Some(&json!({"x": dim("a"), "w": dim("b")})));
    let texts: Vec<&str> = report.fixes.iter().map(|fix| fix.text.as_str()).collect();
    assert!(["a = b", "b = a"].contains(&texts[0]), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("max=3")), "{texts:?}");
}

#[test]
fn the_widest_spec_is_as_wide_as_the_one_of_the_export() {
    let program = guarded(&["(L['x'].size()[0] + L['w'].size()[0]) <= 64"]);
    let widest: Json = serde_json::from_str(&run(&program, &["spec", "widen", "p.pt2"])).expect("a spec");
    let own: Json = serde_json::from_str(&run(&program, &["spec", "init", "p.pt2"])).expect("a spec");
    assert_eq!(check(&program, Some(&own)).verdict, Outcome::Ok, "{own}");
    assert_eq!(check(&program, Some(&widest)).verdict, Outcome::Ok, "{widest}");
    for input in ["x", "w"] {
        let is_auto = |spec: &Json| spec[input][0].to_string().contains("AUTO");
        assert!(!is_auto(&own) || is_auto(&widest), "{widest} is narrower than {own}");
    }
}

#[test]
fn dimensions_are_left_to_torch_where_a_number_has_no_name() {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, None, 7).expect("a size");
    tracer.size("s1", 0, None, 6).expect("a number");
    let x = tracer.tensor("x", Dtype::Float32, &["s0"]).expect("an input");
    tracer.int("k", "s1").expect("an input");
    let mut program = tracer.finish(&[x]).program;
    program.guards_code.push("L['k'] <= L['x'].size()[0]".into());
    program.guards_code.push("L['k'] != L['x'].size()[0]".into());
    let report = check(&program, Some(&json!({"x": [{"dim": "t", "min": 1, "max": 40}], "k": "AUTO"})));
    assert_eq!(report.verdict, Outcome::Violated);
    let first = report.fixes.first().expect("a fix");
    assert!(first.proved && first.text.starts_with("t = Dim.AUTO"), "{}", first.text);
}

#[test]
fn the_assertion_that_no_data_passes_is_named_with_its_message() {
    let lines = [
        "nonzero: \"i64[u0, 1]\" = torch.ops.aten.nonzero.default(x)",
        "n: \"Sym(u0)\" = torch.ops.aten.sym_size.int(nonzero, 0)",
        "ge: \"Sym(u0 >= 1)\" = n >= 1",
        "first = torch.ops.aten._assert_scalar.default(ge, \"too few\")",
        "le: \"Sym(u0 <= 12)\" = n <= 12",
        "second = torch.ops.aten._assert_scalar.default(le, \"too many\")",
        "return (nonzero,)",
    ];
    let program = text_programs::program(&text_programs::module("x: \"f32[s0]\"", &lines));
    let report = check(&program, Some(&json!({"x": [{"dim": "b", "min": 0, "max": 14}]})));
    let broken = report.guards.iter().find(|guard| guard.consequence.is_some()).expect("a counterexample");
    assert_eq!(broken.node.as_deref(), Some("first"));
    let then = broken.consequence.as_deref().expect("what happens");
    assert!(then.contains("first") && then.contains("too few") && !then.contains("False is false"), "{then}");
}

#[test]
fn each_of_several_equal_lookups_is_counted() {
    let call = |name: &str| format!("{name}: \"f32[s0, 4]\" = torch.ops.aten.embedding.default(w, i)");
    let mut lines: Vec<String> = ["a", "b", "c", "d"].map(call).into();
    lines.push("return (a, b, c, d)".to_owned());
    let source = text_programs::module("w: \"f32[9, 4]\", i: \"i64[s0]\"", &lines);
    let report = check(&text_programs::program(&source), None);
    let note = report.diagnostics.iter().find(|note| note.code == "index-values").expect("a note");
    assert!(note.message.contains("in 4 nodes: a, b, c, d"), "{}", note.message);
}
