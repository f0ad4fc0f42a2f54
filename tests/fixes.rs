//! Violations and what mends them: fixes and their costs, sizes beyond 64 bits, guards that divide by zero, and the
//! commands that write specs.
#![cfg(feature = "cli")]
use assert_cmd::Command;
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::ir::{Dtype, pt2};
use sizewise::kernels::Operators;
use sizewise::pass::Tracer;
use sizewise::report::{Cause, ConditionKind, GuardVerdict, Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::path::PathBuf;

fn program(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/programs/{name}.pt2"))
}

fn check(name: &str, spec: Option<&Json>) -> Report {
    let bytes = std::fs::read(program(name)).expect("a program");
    let checker = Checker::read(name, &bytes).expect("a program");
    let spec = spec.map(|spec| Spec::parse(spec.to_string().as_bytes()).expect("a spec"));
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report")
}

fn dim(name: &str) -> Json {
    json!({"dim": name, "min": 0, "max": null})
}

#[test]
fn the_first_fix_is_the_weakest_and_a_check_proves_it() {
    let nothing = "loses no shapes that this export serves";
    let table = [
        // A stride, found under two dimensions that must not be empty.
        (
            "v_heads",
            json!({"x": [dim("b"), dim("t"), dim("d")]}),
            "b = Dim('b', min=1)\n_d = Dim('_d', min=2)\nd = 4*_d\nt = Dim('t', min=1)",
            nothing,
        ),
        ("v_unflatten", json!({"x": [dim("n"), null]}), "_n = Dim('_n', min=2)\nn = 5*_n", nothing),
        // Equations: a multiple, an offset.
        ("v_need_2x", json!({"x": [dim("a")], "y": [dim("b")]}), "a = Dim('a', min=2)\nb = 2*a", nothing),
        (
            "v_conv_minus2",
            json!({"x": [null, null, dim("t")], "y": [null, null, dim("u")]}),
            "u = Dim('u', min=2)\nt = u + 2",
            nothing,
        ),
        // A root of a derived dimension.
        (
            "v_two_mods",
            json!({"x": [{"derived": "4*k", "root": {"dim": "k", "min": 1, "max": 20}}]}),
            "_k = Dim('_k', min=1, max=6)\nk = 3*_k",
            nothing,
        ),
        // Sizes that the program made static, under a name and without one.
        ("v_static_vs_dim", json!({"x": ["STATIC"], "y": [dim("dy")]}), "dy = 4", nothing),
        (
            "v_dynamic_specialised",
            json!({"x": ["DYNAMIC", "DYNAMIC"]}),
            "dynamic_shapes = {'x': [Dim.DYNAMIC, 6]}",
            nothing,
        ),
        (
            "v_max_eq_min",
            json!({"x": [{"hint": "DYNAMIC", "min": 32, "max": null}]}),
            "dynamic_shapes = {'x': [32]}",
            nothing,
        ),
        // A number that the program made constant.
        ("v_symint_range", json!({"x": [dim("b")], "n": "DYNAMIC"}), "n = Dim.STATIC", nothing),
    ];
    for (name, spec, text, cost) in table {
        let report = check(name, Some(&spec));
        assert_eq!(report.verdict, Outcome::Violated, "{name}");
        let fix = report.fixes.first().unwrap_or_else(|| panic!("{name} has no fix"));
        assert_eq!((fix.text.as_str(), fix.cost.as_deref(), fix.proved), (text, Some(cost), true), "{name}");
        let again = check(name, fix.spec.as_ref());
        assert_eq!(again.verdict, Outcome::Ok, "{name}");
    }
}

#[test]
fn fixes_that_keep_most_shapes_come_first() {
    let up_to_64 = |name: &str| json!({"dim": name, "min": 0, "max": 64});
    let spec = json!({"x": [up_to_64("a"), null], "y": [up_to_64("b")]});
    let texts: Vec<String> =
        check("slice_by_other", Some(&spec)).fixes.into_iter().map(|fix| fix.text).collect();
    // 55 sizes of `a` with 11 of `b`, 61 with 5, and those that torch infers.
    let expected = [
        "b = Dim('b', max=10)\na = Dim('a', min=10, max=64)",
        "a = Dim('a', min=4, max=64)\nb = Dim('b', max=4)",
        "a = Dim.AUTO(max=64)\nb = Dim.AUTO(max=64)",
    ];
    assert_eq!(texts[..3], expected);
    // What no Dim can say, the other language can.
    assert!(texts[3].ends_with("    assumptions=[a >= b])"), "{}", texts[3]);
}

/// Of a size that is padded to a multiple, torch.export records parts that the archive does not hold: it refuses a named
/// dimension, whatever its range.
#[test]
fn a_padded_size_is_left_to_torch() {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, Some(32), 3).expect("a size");
    tracer.size("s1", 2, Some(99), 13).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "s1"]).expect("an input");
    let mut program = tracer.finish(&[x]).program;
    let (b, n) = ("L['x'].size()[0]", "L['x'].size()[1]");
    let padded = format!("({n} + ((-1)*{n}) % 8)");
    program.guards_code.push(format!("({b}*{padded}) == (8*{b}*({padded} // 8))").into());
    program.guards_code.push(format!("({padded} // 8) != 1").into());
    let archive = pt2::write(&program).expect("an archive");
    let checker = Checker::read("padded", &archive).expect("a program");
    let spec = json!({"x": [{"dim": "b", "min": 2, "max": 32}, {"dim": "n", "min": 2, "max": 99}]});
    let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
    let report = checker.check(Some(&spec), &operators, &Budget::default()).expect("a report");
    assert_eq!(report.fixes[0].text, "n = Dim.AUTO(min=9, max=99)");
}

/// torch.export infers `c == a + b` to be at least 4 where `a` and `b` may be 0, and the exported module checks that.
#[test]
fn sizes_left_to_torch_start_where_the_exported_module_takes_them() {
    let bounded = |name: &str, min: i64| json!({"dim": name, "min": min, "max": 50});
    let at_least_2 = json!({"dim": "a", "min": 2, "max": null});
    for (a, b, c, text) in [
        (dim("a"), dim("b"), dim("c"), "c = Dim.AUTO\na = Dim('a', min=2)\nb = Dim('b', min=2)"),
        (at_least_2, dim("b"), dim("c"), "c = Dim.AUTO\nb = Dim('b', min=2)"),
        // A sum of 50 and 50 is refused: all three are left to torch.
        (
            bounded("a", 3),
            bounded("b", 1),
            bounded("c", 0),
            "a = Dim.AUTO(min=3, max=50)\nb = Dim.AUTO(min=2, max=50)\nc = Dim.AUTO(min=2, max=50)",
        ),
    ] {
        let report = check("derived_cat__auto", Some(&json!({"x": [a], "y": [b], "z": [c]})));
        let fix = &report.fixes[0];
        assert_eq!(fix.text, text);
        let note = fix.note.as_deref().unwrap_or_default();
        assert!(note.starts_with("rejects sizes below 2 of "), "{note}");
        let spec = fix.spec.clone().expect("a spec");
        assert_eq!(check("derived_cat__auto", Some(&spec)).verdict, Outcome::Ok, "{text}");
    }
}

#[test]
fn what_a_spec_cannot_say_costs_inputs_that_work() {
    // z = x + y: no dimension is derived from two.
    let report = check("defer_asserts", Some(&json!({"x": ["AUTO"], "y": ["AUTO"], "z": ["AUTO"]})));
    let fix = report.fixes.first().expect("a fix");
    assert!(fix.text.ends_with("'z': [x_0 + 4]}"), "{}", fix.text);
    let cost = fix.cost.as_deref().expect("a cost");
    assert!(cost.starts_with("also rejects shapes that work, such as x: ["), "{cost}");
    // An assumption says it.
    let report = check("defer_asserts", Some(&json!({"x": [dim("a")], "y": [dim("b")], "z": [dim("c")]})));
    let exact = report.fixes.last().expect("a fix");
    assert_eq!(exact.assumptions, ["c >= 4", "c == a + b"]);
    assert_eq!(exact.cost.as_deref(), Some("loses no shapes that this export serves"));
}

#[test]
fn what_follows_from_another_error_is_no_error_of_its_own() {
    let report = check("v_heads", Some(&json!({"x": [dim("b"), dim("t"), dim("d")]})));
    let violated: Vec<_> = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated).collect();
    let (follow, own): (Vec<_>, Vec<_>) = violated.into_iter().partition(|g| g.follows);
    assert!(own.iter().any(|g| g.expr == "Eq(Mod(s27*s53*s77, 4*s27*s77), 0)"));
    assert!(follow.iter().any(|g| g.expr == "Eq(Mod(s53, 4), 0)"));
}

#[test]
fn a_count_beyond_64_bits_within_declared_maxima_is_a_violation() {
    let report = check("quadratic_pairs", Some(&json!({"x": [{"dim": "n", "min": 3, "max": 1u64 << 33}]})));
    let overflow = report.guards.iter().find(|g| g.kind == ConditionKind::Overflow).expect("an overflow");
    assert_eq!((overflow.verdict, overflow.cause), (GuardVerdict::Violated, Cause::Overflow));
    assert_eq!(report.fixes[0].text, "n = Dim('n', min=3, max=4294967296)");
    // The greatest n with n*(n - 1)/2 < 2^63 is 2^32.
    let fits = check("quadratic_pairs", Some(&json!({"x": [{"dim": "n", "min": 3, "max": 1u64 << 32}]})));
    assert_eq!(fits.verdict, Outcome::Ok);
}

#[test]
fn a_count_beyond_64_bits_of_an_unbounded_dimension_is_a_note() {
    let report = check("quadratic_pairs", Some(&json!({"x": [{"dim": "n", "min": 3, "max": null}]})));
    assert_eq!(report.verdict, Outcome::Ok);
    let note = report.diagnostics.iter().find(|d| d.code == "overflow").expect("a note");
    assert!(note.message.contains("from n = 4294967297 on"), "{}", note.message);
}

#[test]
fn a_guard_that_can_divide_by_zero_is_a_violation() {
    let report = check("nn_dlrm", None);
    assert_eq!(report.verdict, Outcome::Violated);
    let guard = report.guards.iter().find(|g| g.verdict == GuardVerdict::Violated).expect("a violation");
    assert_eq!((guard.shown.as_str(), guard.cause), ("cats[0].shape[1] != 0", Cause::Divisor));
    assert_eq!(guard.inputs.as_ref().expect("inputs")["cats_0"], json!([2, 0]));
}

#[test]
fn doubles_are_proved_up_to_the_sizes_of_tensors_but_not_beyond_a_declared_maximum() {
    let spec = |max: Json| json!({"x": [{"dim": "b", "min": 2, "max": 4}, null, {"dim": "l", "min": 2, "max": max}]});
    let rounding = |report: &Report| report.diagnostics.iter().any(|d| d.code == "rounding");
    let open = check("sz_upsample_linear1d", Some(&spec(Json::Null)));
    assert_eq!(open.verdict, Outcome::Ok);
    assert!(rounding(&open));
    let declared = check("sz_upsample_linear1d", Some(&spec(json!(1u64 << 58))));
    assert_ne!(declared.verdict, Outcome::Ok);
    let small = check("sz_upsample_linear1d", Some(&spec(json!(1000))));
    assert_eq!(small.verdict, Outcome::Ok);
    assert!(!rounding(&small));
}

#[test]
fn a_number_takes_no_named_dimension() {
    let report = check("v_symint_range", Some(&json!({"x": [dim("b")], "n": dim("n")})));
    assert_eq!(report.verdict, Outcome::Invalid);
    assert!(
        report.diagnostics[0].message.contains("no named dimension"),
        "{}",
        report.diagnostics[0].message
    );
}

fn sizewise(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output =
        Command::cargo_bin("sizewise").expect("the program").args(arguments).output().expect("a run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn written_specs_are_read_and_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("spec.json");
    let path = path.to_str().expect("a path");
    for (command, name) in
        [("init", "v_unflatten"), ("widen", "v_unflatten"), ("widen", "pt_dict"), ("widen", "nn_dlrm")]
    {
        let program = program(name);
        let program = program.to_str().expect("a path");
        let (status, _, error) = sizewise(&["spec", command, program, "-o", path]);
        assert_eq!(status, Some(0), "{command} {name}: {error}");
        let (status, report, _) = sizewise(&["check", program, "--spec", path]);
        assert!(status == Some(0) || command == "init", "{command} {name}: {report}");
        assert_ne!(status, Some(2), "{command} {name}: {report}");
    }
}

#[test]
fn a_fixed_spec_is_written_and_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_string();
    let (spec, fixed) = (file("spec.json"), file("fixed.json"));
    std::fs::write(&spec, json!({"x": [dim("n"), null]}).to_string()).expect("a file");
    let program = program("v_unflatten");
    let program = program.to_str().expect("a path");
    let (status, _, _) = sizewise(&["check", program, "--spec", &spec]);
    assert_eq!(status, Some(1));
    let (status, report, error) = sizewise(&["check", program, "--spec", &spec, "--fix", &fixed]);
    assert_eq!(status, Some(0), "{report}{error}");
    let written: Json = serde_json::from_slice(&std::fs::read(&fixed).expect("the spec")).expect("JSON");
    assert_eq!(written["x"][0]["derived"], "5*_n");
}

#[test]
fn what_cannot_be_written_says_why() {
    let table: [(&[&str], i32, &str); 4] = [
        (&["spec", "init", "tests/data/no.pt2"], 3, "no.pt2"),
        (&["spec", "widen", "Cargo.toml"], 3, "Cargo.toml: neither a zip archive nor JSON"),
        (&["spec", "widen", "tests/data/programs/v_custom_half.pt2"], 4, "v_custom_half.pt2: "),
        (&["check", "tests/data/programs/pt_dict.pt2", "--fix", "x.json"], 2, "--spec"),
    ];
    for (arguments, expected, part) in table {
        let (status, _, error) = sizewise(arguments);
        assert_eq!(status, Some(expected), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[test]
fn a_fix_of_a_program_with_a_skipped_node_is_not_called_proved() {
    let spec = json!({"x": [dim("a"), null], "y": [dim("b"), null]});
    let report = check("v_custom_half", Some(&spec));
    assert_eq!(report.verdict, Outcome::Violated);
    let fix = report.fixes.last().expect("a fix");
    assert!(!fix.proved);
    let again = check("v_custom_half", fix.spec.as_ref());
    assert_eq!((again.verdict, again.unsupported.len()), (Outcome::Unknown, 1));
    assert!(again.guards.iter().all(|guard| guard.verdict == GuardVerdict::Implied));
    let help = "declare corpus.half_rows.default with --ops (docs/operators.md) to have the fix proved";
    assert!(report.help.iter().any(|text| text == help), "{:?}", report.help);
}
