//! What a person sees at a glance: one size that is left, a fix where one is plain, how wide the widest spec is.
use crate::text_checked::checked;
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::kernels::Operators;
use sizewise::report::{Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::path::PathBuf;

/// A real export of torch 2.15 (`scripts/make_user_programs.py`).
fn checker(name: &str) -> Checker {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/users/{name}.pt2"));
    Checker::read(name, &std::fs::read(path).expect("a program")).expect("a program")
}

fn check(checker: &Checker, spec: Option<&Json>) -> Report {
    let spec = spec.map(|spec| Spec::parse(spec.to_string().as_bytes()).expect("a spec"));
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report")
}

fn widest(checker: &Checker) -> Json {
    let widest = checker.widest_spec(None, &Operators::new(), &Budget::default());
    let widest = widest.expect("a spec").expect("a spec");
    assert!(widest.is_proved);
    widest.spec.to_json()
}

fn dim(name: &str, min: i64, max: i64) -> Json {
    json!({"dim": name, "min": min, "max": max})
}

#[test]
fn a_size_that_guards_leave_alone_is_static() {
    let checker = checker("one_shape");
    let report = check(&checker, None);
    assert_eq!(
        (report.verdict, report.outputs[0].shape.clone()),
        (Outcome::Ok, Some(vec![5.into(), 5.into()]))
    );
    for dimension in checker.dimensions().expect("dimensions") {
        let explanation =
            checker.explain(&dimension, &Operators::new(), &Budget::default()).expect("an explanation");
        assert!(explanation.is_static && explanation.recorded == "5", "{explanation:?}");
        assert!(!explanation.reasons.is_empty() && explanation.restrictions.is_empty(), "{explanation:?}");
    }
    assert_eq!(widest(&checker), json!({"x": [5, 5]}));
    let report = check(&checker, Some(&json!({"x": [dim("a", 2, 64), dim("b", 2, 64)]})));
    assert_eq!(report.fixes[0].text, "b = 5\na = 5");
}

#[test]
fn sizes_that_guards_leave_more_of_are_dynamic() {
    for (name, dims) in [("windows_of_2", 2), ("mapped", 3), ("less_than", 2), ("parity", 1)] {
        let checker = checker(name);
        let dimensions = checker.dimensions().expect("dimensions");
        let explained = dimensions
            .iter()
            .map(|d| checker.explain(d, &Operators::new(), &Budget::default()).expect("an explanation"));
        assert_eq!(explained.filter(|explanation| !explanation.is_static).count(), dims, "{name}");
    }
}

#[test]
fn the_widest_spec_leaves_sizes_to_torch_where_that_serves_most() {
    let checker = checker("windows_of_2");
    assert_eq!(widest(&checker), json!({"x": ["AUTO", "AUTO"]}));
    // A fix of a narrower spec keeps its ranges.
    let report = check(&checker, Some(&json!({"x": [dim("h", 4, 32), dim("w", 4, 32)]})));
    let texts: Vec<&str> = report.fixes.iter().map(|fix| fix.text.as_str()).collect();
    assert!(texts.contains(&"h = Dim.AUTO(min=4, max=32)\nw = Dim.AUTO(min=4, max=32)"), "{texts:?}");
}

#[test]
fn the_example_of_an_export_satisfies_what_the_export_assumes() {
    // Guards on doubles beside guards on other inputs.
    let report = check(&checker("scaled_by_07"), None);
    assert_eq!(report.verdict, Outcome::Ok, "{:?} {:?}", report.guards, report.diagnostics);
}

#[test]
fn what_runs_for_nothing_is_right_for_nothing() {
    for (name, spec) in [
        ("mapped", json!({"x": [dim("q", 0, 9), dim("c", 0, 9)], "y": [dim("n", 0, 9)]})),
        ("pixels_as_rows", json!({"x": [dim("b", 0, 9), null, dim("h", 0, 64), dim("w", 0, 64)]})),
    ] {
        let report = check(&checker(name), Some(&spec));
        assert_eq!(report.verdict, Outcome::Ok, "{name}: {:?}", report.guards);
    }
}

#[test]
fn programs_without_an_example_have_the_fixes_of_others() {
    let slice = "a: \"f32[s1 - 3]\" = torch.ops.aten.slice.Tensor(z, 0, 3, 9223372036854775807)";
    let two = ["y: \"f32[s0//2, 2]\" = torch.ops.aten.view.default(x, [-1, 2])", "return (y,)"];
    let size = |name| json!({"derived": format!("4*{name}"), "root": dim(name, 0, 16)});
    for (inputs, body, spec, fix) in [
        (
            "x: \"f32[s0]\", z: \"f32[s1]\"",
            vec![slice, two[0], two[1]],
            json!({"x": [dim("a", 0, 64)], "z": [dim("b", 0, 64)]}),
            "_a = Dim('_a', max=32)\na = 2*_a",
        ),
        (
            "x: \"f32[1, 2, u0, u1]\"",
            vec![
                "p: \"f32[1, 32, u0//4, u1//4]\" = torch.ops.aten.pixel_unshuffle.default(x, 4)",
                "return (p,)",
            ],
            json!({"x": [1, 2, size("h"), size("w")]}),
            "h = Dim('h', min=1, max=16)\nw = Dim('w', min=1, max=16)",
        ),
        (
            "x: \"f32[s0]\", z: \"f32[s1]\"",
            vec!["y: \"f32[s0]\" = torch.ops.aten.add.Tensor(x, z)", "return (y,)"],
            json!({"x": [dim("a", 2, 64)], "z": [dim("b", 2, 64)]}),
            "b = a",
        ),
        (
            "x: \"f32[s0]\"",
            vec![
                "y: \"f32[s0 - 9]\" = torch.ops.aten.slice.Tensor(x, 0, 9, 9223372036854775807)",
                "m: \"f32[s0 - 14]\" = torch.ops.aten.unfold.default(y, 0, 6, 1)",
                "return (y,)",
            ],
            json!({"x": [dim("a", 0, 64)]}),
            "a = Dim('a', min=15, max=64)",
        ),
        // What stays open of other sizes holds in a narrower range.
        (
            "x: \"f32[s2]\", m: \"b8[s2]\", y: \"f32[s0, 3]\", v: \"f32[s3]\"",
            vec![
                "k: \"f32[u0]\" = torch.ops.aten.masked_select.default(x, m)",
                "c: \"f32[u0, 1]\" = torch.ops.aten.reshape.default(k, [-1, 1])",
                "r: \"f32[1, 3]\" = torch.ops.aten.slice.Tensor(y, 0, 0, 1)",
                "t: \"f32[u0, 3]\" = torch.ops.aten.mul.Tensor(c, r)",
                "w: \"f32[s3//2, 2]\" = torch.ops.aten.view.default(v, [-1, 2])",
                "return (t, w)",
            ],
            json!({"y": [dim("n", 0, 9), null], "v": [dim("b", 0, 64)]}),
            "_b = Dim('_b', max=32)\nb = 2*_b\nn = Dim('n', min=1, max=9)",
        ),
    ] {
        let report = checked(inputs, &body, &spec.to_string());
        assert_eq!(report.verdict, Outcome::Violated, "{body:?}");
        let first = report.fixes.first().unwrap_or_else(|| panic!("no fix: {body:?}"));
        assert!(first.proved && first.text == fix, "{body:?}: {}", first.text);
    }
}
