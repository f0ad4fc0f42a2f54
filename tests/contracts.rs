//! What programs enforce, in the forms in which torch records it: `scripts/make_contract_programs.py` makes the programs.
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, Evaluation, Refused, Shapes};
use sizewise::expr::Int;
use sizewise::ir::pt2::{ReadOptions, read, write_json};
use sizewise::kernels::Operators;
use sizewise::query;
use sizewise::report::guard_code::Language;
use sizewise::report::{GuardVerdict, Level, Outcome, Report, Style, to_text};
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};
use std::path::Path;

/// A program, each text of its JSON replaced by another.
fn edited(name: &str, edits: &[(&str, &str)]) -> Checker {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/contracts/{name}.pt2"));
    let bytes = std::fs::read(path).expect("the program");
    if edits.is_empty() {
        return Checker::read(name, &bytes).expect("a program");
    }
    let program = read(&bytes, &ReadOptions::default()).expect("a program");
    let mut json = write_json(&program).expect("JSON");
    for (old, new) in edits {
        assert!(json.contains(old), "{old} is not in {json}");
        json = json.replace(old, new);
    }
    Checker::read(name, json.as_bytes()).expect("a program")
}

fn checked(checker: &Checker, spec: Option<Json>) -> Report {
    let spec = spec.map(|spec| Spec::parse(spec.to_string().as_bytes()).expect("a spec"));
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report")
}

fn shapes(json: &Json) -> Shapes {
    let size = |v: &Json| Int::from(v.as_i64().expect("a size"));
    let shape = |v: &Json| Shape::Tensor(v.as_array().expect("sizes").iter().map(size).collect());
    json.as_object().expect("shapes").iter().map(|(name, v)| (name.as_str().into(), shape(v))).collect()
}

fn evaluated(checker: &Checker, inputs: &Json) -> Result<Evaluation, Refused> {
    let operators = Operators::new();
    let evaluator = checker.evaluator(&operators).expect("a contract");
    evaluator.evaluate(&shapes(inputs))
}

/// A cache of `past` positions and `new` ones for it.
fn positions(past: i64, new: i64) -> Json {
    json!({"x": [3, new, 4], "past_key_cache_0": [3, past, 4], "past_value_cache_0": [3, past, 4]})
}

#[test]
fn guards_on_parts_of_registered_classes_are_read() {
    for name in ["cache_names", "cache_names_within", "cache_no_names", "cache_no_names_of_fields"] {
        let checker = edited(name, &[]);
        assert!(evaluated(&checker, &positions(30, 34)).is_ok(), "{name}");
        let refused = evaluated(&checker, &positions(30, 35)).err().expect("a refusal");
        assert_eq!(refused.message, "guard failed: past[0][0].shape[1] + x.shape[1] <= 64", "{name}");
        let report = checked(&checker, None);
        assert_eq!((report.verdict, report.diagnostics.len()), (Outcome::Ok, 0), "{name}");
        let operators = Operators::new();
        let code = checker.session(&operators).and_then(|session| session.guard_set()).expect("guards");
        let code = code.emit(Language::Python).expect("code");
        assert!(code.contains("past_key_cache_0.shape[1] + x.shape[1] <= 64 does not hold"), "{code}");
    }
}

#[test]
fn a_guard_that_cannot_be_read_leaves_open_what_the_program_takes() {
    // Neither the registration nor the placeholders tell which part is which.
    let checker =
        edited("cache_no_names", &[("past_key_cache_0", "first"), ("past_value_cache_0", "second")]);
    let inputs = |new: i64| json!({"x": [3, new, 4], "first": [3, 30, 4], "second": [3, 30, 4]});
    let operators = Operators::new();
    let evaluator = checker.evaluator(&operators).expect("a contract");
    assert_eq!(evaluator.unreadable().len(), 2);
    let answer = |new: i64| {
        let request = json!({"shapes": inputs(new)});
        query::eval::answer(&evaluator, request.as_object().expect("a request"))
    };
    for new in [3, 40] {
        let refusal = answer(new).expect_err("no answer");
        assert_eq!(refusal.kind, "unsupported");
        let start = "whether the program takes these inputs is not known, though nothing else refuses them: the guard";
        assert!(refusal.message.starts_with(start), "{}", refusal.message);
    }
    // What is read still refuses.
    let wrong = json!({"shapes": {"x": [3, 3, 5], "first": [3, 30, 4], "second": [3, 30, 4]}});
    let answered = query::eval::answer(&evaluator, wrong.as_object().expect("a request")).expect("an answer");
    assert_eq!(answered["ok"], false);
    let refused =
        checker.session(&operators).and_then(|session| session.guard_set()).err().expect("no guards");
    assert!(
        refused.to_string().starts_with("what the program takes is not known: the guard `L["),
        "{refused}"
    );
    let dimension = checker.dimension("x.shape[1]").expect("a dimension");
    let explained = checker.explain(&dimension, &operators, &Budget::default()).expect("an explanation");
    assert_eq!(explained.unreadable.len(), 2);
    let text = explained.to_text(Style::default());
    assert!(text.contains("what the program takes is not known: the guard `L["), "{text}");
    let dims =
        |name: &str| json!([{"dim": "b", "min": 1, "max": 8}, {"dim": name, "min": 1, "max": 20}, null]);
    let spec = json!({"x": dims("q"), "past": [[dims("p")], [dims("p")]]});
    for spec in [None, Some(spec)] {
        let report = checked(&checker, spec);
        assert_eq!(report.verdict, Outcome::Unknown);
        assert_eq!(report.diagnostics.iter().filter(|note| note.code == "unreadable").count(), 2);
    }
}

#[test]
fn a_guard_of_keywords_is_told_since_torch_cannot_run_it() {
    let report = checked(&edited("kwargs", &[]), None);
    assert_eq!(report.verdict, Outcome::Ok);
    let [note] = report.diagnostics.as_slice() else { panic!("{:?}", report.diagnostics) };
    assert_eq!((note.code.as_str(), note.level), ("guard-of-kwargs", Level::Note));
    assert!(note.message.contains("speaks of what `**kw` takes"), "{}", note.message);
    let plain = edited("kwargs", &[("L['kw']['z']", "L['z']")]);
    assert_eq!(checked(&plain, None).diagnostics.len(), 0);
}

#[test]
fn zero_has_no_negative_power() {
    let checker = edited("powers", &[]);
    for (rows, runs) in [(0, false), (1, true), (7, true)] {
        let answer = evaluated(&checker, &json!({"x": [rows]}));
        assert_eq!(answer.is_ok(), runs, "{rows}");
        if let Err(refused) = answer {
            assert_eq!(refused.message, "_operator.pow: 0.0 has no power -1.0");
        }
    }
    let from = |min: i64| json!({"x": [{"dim": "n", "min": min, "max": 64}]});
    assert_eq!(checked(&checker, Some(from(1))).verdict, Outcome::Ok);
    let report = checked(&checker, Some(from(0)));
    assert_eq!(report.verdict, Outcome::Violated);
    assert_eq!(report.fixes.first().map(|fix| fix.text.as_str()), Some("n = Dim('n', min=1, max=64)"));
}

#[test]
fn the_result_of_a_branch_has_one_of_the_branches_sizes() {
    let checker = edited("branches", &[]);
    // The module asserts `u0 >= 2` of the size that data choose.
    for (m, n, runs) in [(1, 1, false), (1, 2, true), (2, 1, true), (3, 3, true)] {
        assert_eq!(evaluated(&checker, &json!({"x": [5, m], "y": [5, n]})).is_ok(), runs, "{m} {n}");
    }
    let dims = |name: &str, min: i64| json!([null, {"dim": name, "min": min, "max": 9}]);
    let spec = |m: i64, n: i64| json!({"x": dims("m", m), "y": dims("n", n), "p": null});
    for (m, n) in [(2, 1), (1, 2)] {
        assert_eq!(checked(&checker, Some(spec(m, n))).verdict, Outcome::Ok, "{m} {n}");
    }
    let report = checked(&checker, Some(spec(1, 1)));
    let violated: Vec<&str> = report
        .guards
        .iter()
        .filter(|guard| guard.verdict == GuardVerdict::Violated)
        .map(|guard| guard.shown.as_str())
        .collect();
    assert_eq!(violated, ["m >= 2 or n >= 2"]);
}

#[test]
fn data_that_an_export_froze_are_warned_of() {
    let report = checked(&edited("frozen", &[]), None);
    let warnings: Vec<_> = report.diagnostics.iter().filter(|note| note.code == "frozen-data").collect();
    let [warning] = warnings.as_slice() else { panic!("{:?}", report.diagnostics) };
    assert_eq!((warning.level, report.verdict), (Level::Warning, Outcome::Unknown));
    assert!(
        warning
            .message
            .starts_with("this program only runs where max(lengths) == 8: data decide max(lengths) (u1)"),
        "{}",
        warning.message
    );
    assert_eq!(report.runtime_asserts.iter().map(|a| a.expr.as_str()).collect::<Vec<_>>(), ["u1 == 8"]);
    for other in ["branches", "fifth"] {
        let report = checked(&edited(other, &[]), None);
        assert!(report.diagnostics.iter().all(|note| note.code != "frozen-data"), "{other}");
    }
}

#[test]
fn assertions_that_exclude_each_other_are_not_called_dropped() {
    // `u0 >= 2` and `u0*n == 5`: only n == 1 leaves a u0, and the example has 6.
    let checker = edited("fifth", &[]);
    for (min, max) in [(2, 6), (1, 6)] {
        let report = checked(&checker, Some(json!({"a": [{"dim": "n", "min": min, "max": max}]})));
        assert_eq!(report.verdict, Outcome::Violated, "{min}");
        assert!(report.diagnostics.iter().all(|note| note.code != "assertion-dropped"), "{min}");
        let text = to_text(&report, Style::default());
        assert!(!text.contains("whatever the spec is"), "{text}");
    }
    assert!(evaluated(&checker, &json!({"a": [1]})).is_ok());
}

#[test]
fn attention_takes_key_and_value_of_one_length() {
    for name in ["attention", "attention_of_groups"] {
        let checker = edited(name, &[]);
        let with = |k: i64, v: i64| json!({"q": [2, 4, 5, 8], "k": [2, 4, k, 8], "v": [2, 4, v, 8]});
        for (k, v, runs) in [(6, 6, true), (6, 9, false), (9, 6, false)] {
            assert_eq!(evaluated(&checker, &with(k, v)).is_ok(), runs, "{name} {k} {v}");
        }
        let dims = |name: &str| json!([2, 4, {"dim": name, "min": 2, "max": 50}, 8]);
        let report = checked(&checker, Some(json!({"q": dims("l"), "k": dims("s"), "v": dims("t")})));
        assert_eq!(report.verdict, Outcome::Violated, "{name}");
    }
}
