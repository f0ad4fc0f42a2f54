//! Conditions that only data decides: for every allowed input shape some data has to pass, and nothing is known
//! before it is asserted. And contracts that allow nothing.
use sizewise::check::{Checker, Shapes};
use sizewise::ir::pt2::{ReadOptions, read, write_json};
use sizewise::kernels::Operators;
use sizewise::report::{ConditionKind, GuardVerdict, Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};
use std::path::Path;

/// A program of the tests, each text of its JSON replaced by another.
fn program(name: &str, edits: &[(&str, &str)]) -> Checker {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/programs/{name}.pt2"));
    let program =
        read(&std::fs::read(path).expect("the program"), &ReadOptions::default()).expect("a program");
    let mut json = write_json(&program).expect("JSON").replace(char::is_whitespace, "");
    for (old, new) in edits {
        assert!(json.contains(old), "{old} is not in {json}");
        json = json.replace(old, new);
    }
    Checker::read(name, json.as_bytes()).expect("a program")
}

fn checked(checker: &Checker, spec: Option<&str>) -> Report {
    let spec = spec.map(|spec| Spec::parse(spec.as_bytes()).expect("a spec"));
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report")
}

/// What is violated at run time, with the input shapes.
fn without_data(report: &Report) -> Vec<(String, String)> {
    let violated = |g: &&sizewise::report::GuardReport| {
        g.kind == ConditionKind::Runtime && g.verdict == GuardVerdict::Violated
    };
    let shown = report.guards.iter().filter(violated);
    shown.map(|g| (g.shown.clone(), serde_json::to_string(&g.inputs).expect("JSON"))).collect()
}

#[test]
fn a_shape_for_which_no_data_passes_is_a_counterexample() {
    // The program asserts `pos >= 0`, `pos + S <= L` for `pos = x.item()`.
    let cases = [
        ("repro_narrow", None, "cache.shape[2] >= update.shape[2]"),
        (
            "repro_narrow",
            Some(
                r#"{"cache": [1, 4, {"dim": "L", "min": 4, "max": 128}, 8], "update": [1, 4, {"dim": "S", "min": 2, "max": 8}, 8], "pos": [1]}"#,
            ),
            "L >= S",
        ),
        ("iss146298_cache_narrow_dyn", None, "cache.shape[2] >= update.shape[2]"),
        // `u0*u1 == n` of two numbers above 1: no prime is such a product.
        ("ub_image_tokens", None, "x.shape[1] != 11"),
    ];
    for (name, spec, needed) in cases {
        let checker = program(name, &[]);
        let report = checked(&checker, spec);
        assert_eq!(report.verdict, Outcome::Violated, "{name}");
        let found = without_data(&report);
        assert_eq!(found.iter().map(|(shown, _)| shown.as_str()).collect::<Vec<_>>(), [needed], "{name}");
    }
}

#[test]
fn a_spec_under_which_some_data_always_passes_is_ok() {
    let spec = r#"{"cache": [1, 4, {"dim": "L", "min": 8, "max": 128}, 8], "update": [1, 4, {"dim": "S", "min": 2, "max": 8}, 8], "pos": [1]}"#;
    let checker = program("repro_narrow", &[]);
    let report = checked(&checker, Some(spec));
    assert_eq!(report.verdict, Outcome::Ok, "{:?}", without_data(&report));
    // The fix of a spec that is too wide re-checks.
    let wide = spec.replace("\"min\": 8", "\"min\": 4");
    let fixes = checked(&checker, Some(&wide)).fixes;
    assert!(!fixes.is_empty() && fixes.iter().all(|fix| fix.proved), "{fixes:?}");
}

#[test]
fn evaluation_refuses_shapes_for_which_no_data_passes() {
    let operators = Operators::new();
    let checker = program("repro_narrow", &[]);
    let evaluator = checker.evaluator(&operators).expect("an evaluator");
    for (cache, update, accepted) in [(32, 5, true), (8, 8, true), (4, 5, false), (7, 8, false)] {
        let shape = |size: i64| Shape::Tensor([1, 4, size, 8].map(Into::into).to_vec());
        let shapes: Shapes = [("cache".into(), shape(cache)), ("update".into(), shape(update))].into();
        assert_eq!(evaluator.evaluate(&shapes).is_ok(), accepted, "{cache} and {update}");
    }
}

#[test]
fn asserted_ranges_are_listed_and_are_no_facts_before() {
    let listed = |report: &Report| report.runtime_asserts.iter().map(|a| a.expr.clone()).collect::<Vec<_>>();
    // `torch._check(p >= 3)` and `torch._check(p <= x.shape[0])` for `p = i.item()`.
    let report = checked(&program("repro_ge3_auto", &[]), None);
    assert_eq!(listed(&report), ["u0 >= 3", "u0 <= x.shape[0]"]);
    let report = checked(&program("repro_narrow", &[]), None);
    assert_eq!(
        listed(&report),
        ["u0 >= 0", "u0 <= 126", "cache.shape[2] >= u0 + update.shape[2]", "cache.shape[2] >= u0"]
    );
}

#[test]
fn a_contract_that_allows_no_input_is_never_ok() {
    let guards = r#""guards_code":[]"#;
    let cases: &[(&str, &[(&str, &str)])] = &[
        (
            "repro_narrow",
            &[(guards, r#""guards_code":["L['cache'].size()[2] >= 9", "L['cache'].size()[2] <= 5"]"#)],
        ),
        ("repro_narrow", &[(r#""min_val":4,"max_val":128"#, r#""min_val":40,"max_val":28"#)]),
        (
            "repro_narrow",
            &[(
                guards,
                r#""guards_code":["L['cache'].size()[2] % 2 == 0", "L['cache'].size()[2] % 4 == 3"]"#,
            )],
        ),
        ("repro_narrow", &[(guards, r#""guards_code":["1 == 2"]"#)]),
    ];
    for (name, edits) in cases {
        let report = checked(&program(name, edits), None);
        assert_eq!(report.verdict, Outcome::Invalid, "{edits:?}");
        let codes: Vec<&str> = report.diagnostics.iter().map(|d| d.code.as_str()).collect();
        assert!(codes.contains(&"contradictory-contract"), "{edits:?}: {codes:?}");
        assert!(report.guards.is_empty(), "nothing is implied: {edits:?}");
    }
}

#[test]
fn a_spec_that_contradicts_the_program_allows_nothing() {
    // The spec leaves a dimension to the program, whose guards on it contradict each other.
    let edits = [(
        r#""guards_code":[]"#,
        r#""guards_code":["L['cache'].size()[2] >= 9", "L['cache'].size()[2] <= 5"]"#,
    )];
    let spec = r#"{"cache": [1, 4, "AUTO", 8], "update": [1, 4, "AUTO", 8], "pos": [1]}"#;
    let report = checked(&program("repro_narrow", &edits), Some(spec));
    assert_eq!(report.verdict, Outcome::Invalid);
    assert!(report.diagnostics.iter().any(|d| d.code == "contradictory"), "{:?}", report.diagnostics);
}

/// Specs are written from the program's inputs, each named dimension from 0 on.
#[test]
fn a_size_that_data_decides_is_at_most_what_there_is_to_choose_from() {
    let cases = [
        // `torch.nonzero(x > 0).shape[0] >= 2` and `== 12`, which the records have put everywhere in place of the size.
        ("nonzero_at_least_2", r#"{"x": [{"dim": "b", "min": 0}]}"#, "b >= 2"),
        ("nonzero_equals_12", r#"{"x": [{"dim": "b", "min": 0}]}"#, "b >= 12"),
        ("nonzero_first", r#"{"y": [{"dim": "n", "min": 0, "max": 8}]}"#, "n >= 1"),
        ("mask_at_least_3", r#"{"y": [{"dim": "n", "min": 0, "max": 8}]}"#, "n >= 3"),
        ("masked_select_equals_4", r#"{"y": [{"dim": "n", "min": 0, "max": 8}]}"#, "n >= 4"),
        ("unique_at_least_2", r#"{"y": [{"dim": "n", "min": 0, "max": 8}]}"#, "n >= 2"),
    ];
    for (name, spec, needed) in cases {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/run_time/{name}.pt2"));
        let checker = Checker::read(name, &std::fs::read(path).expect("the program")).expect("a program");
        let report = checked(&checker, Some(spec));
        assert_eq!(report.verdict, Outcome::Violated, "{name}");
        let found = without_data(&report);
        assert_eq!(found.iter().map(|(shown, _)| shown.as_str()).collect::<Vec<_>>(), [needed], "{name}");
        let least = needed.rsplit(' ').next().expect("a number");
        let narrow = spec.replace("\"min\": 0", &format!("\"min\": {least}"));
        assert_eq!(checked(&checker, Some(&narrow)).verdict, Outcome::Ok, "{name} {narrow}");
    }
}

#[test]
fn an_assertion_that_pins_a_size_is_listed_although_the_records_have_put_the_number_in_its_place() {
    for (name, listed) in
        [("nonzero_equals_12", "12"), ("masked_select_equals_4", "4"), ("two_nonzero", "u0 == 2*u1")]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/run_time/{name}.pt2"));
        let checker = Checker::read(name, &std::fs::read(path).expect("the program")).expect("a program");
        let report = checked(&checker, None);
        let texts: Vec<&str> = report.runtime_asserts.iter().map(|a| a.expr.as_str()).collect();
        assert!(texts.iter().any(|text| text.contains(listed)), "{name}: {texts:?}");
    }
}

/// `torch._check_tensor_all(x > 0)` and `torch._check(torch.sym_not((x < 0).any().item()))`, exported by torch 2.15.
#[test]
fn a_truth_value_that_data_decides_is_a_condition_at_run_time() {
    for (name, listed) in [("check_tensor_all", "u1 == 1"), ("check_not_any", "((1 if u0 == 1 else 0)) != 1")]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/run_time/{name}.pt2"));
        let checker = Checker::read(name, &std::fs::read(path).expect("the program")).expect("a program");
        let spec = r#"{"x": [{"dim": "n", "min": 0}, 3]}"#;
        for spec in [None, Some(spec)] {
            let report = checked(&checker, spec);
            let texts: Vec<&str> = report.runtime_asserts.iter().map(|a| a.expr.as_str()).collect();
            assert_eq!((report.verdict, texts.as_slice()), (Outcome::Ok, &[listed][..]), "{name} {spec:?}");
        }
    }
}

#[test]
fn the_range_of_a_size_without_an_example_is_part_of_the_contract() {
    // A program read from text knows no example.
    for (range, spec, verdict) in [
        ((40, 28), None, Outcome::Invalid),
        ((2, 10), None, Outcome::Ok),
        ((2, 10), Some(r#"{"x": [{"dim": "n", "min": 2, "max": 10}, 3]}"#), Outcome::Ok),
        ((2, 10), Some(r#"{"x": [{"dim": "n", "min": 2, "max": 11}, 3]}"#), Outcome::Violated),
    ] {
        let source = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[s0, 3]\"):\n        \
                      a: \"f32[s0, 3]\" = torch.ops.aten.relu.default(x)\n        return (a,)\n";
        let mut program = sizewise::ir::text::read(source).expect("a program");
        let bounds = sizewise::ir::Bounds { min: Some(range.0), max: Some(range.1) };
        program.range_constraints.insert("s0".into(), bounds);
        let json = write_json(&program).expect("JSON");
        let checker = Checker::read("text", json.as_bytes()).expect("a program");
        assert_eq!(checked(&checker, spec).verdict, verdict, "{range:?} under {spec:?}");
    }
}
