//! What a program's shapes rest on when its records are not those that torch writes.
use sizewise::check::{CheckError, Checker};
use sizewise::ir::pt2::{ReadOptions, read, write_json};
use sizewise::kernels::Operators;
use sizewise::report::{Keeper, Report};
use sizewise::solve::Budget;
use std::path::Path;

/// A program of the repository whose JSON is edited: each text is replaced, and has to be there.
fn edited(path: &str, edits: &[(&str, &str)]) -> Checker {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let program =
        read(&std::fs::read(path).expect("the program"), &ReadOptions::default()).expect("a program");
    let mut json = write_json(&program).expect("JSON").replace(char::is_whitespace, "");
    for (old, new) in edits {
        assert!(json.contains(old), "{old} is not in {json}");
        json = json.replace(old, new);
    }
    Checker::read("edited", json.as_bytes()).expect("a program")
}

fn checked(path: &str, edits: &[(&str, &str)]) -> Report {
    edited(path, edits).check(None, &Operators::new(), &Budget::default()).expect("a report")
}

#[test]
fn a_recorded_range_that_nothing_states_or_implies_is_a_dropped_assertion() {
    let path = "tests/data/programs/dd_view_u0_5.pt2";
    let recorded = r#""u0":{"min_val":0,"max_val":null}"#;
    let cases: &[(&str, &[&str])] = &[
        // As torch writes it: the graph asserts it.
        (recorded, &[]),
        (r#""u0":{"min_val":3,"max_val":8}"#, &["u0 >= 3", "u0 <= 8"]),
        (r#""u0":{"min_val":0,"max_val":8}"#, &["u0 <= 8"]),
        // A symbol that does not occur in the graph is assumed nowhere.
        (r#""u0":{"min_val":0,"max_val":null},"u7":{"min_val":3,"max_val":8}"#, &[]),
    ];
    for (records, dropped) in cases {
        let report = checked(path, &[(recorded, records)]);
        let found: Vec<&str> = report
            .ledger
            .iter()
            .filter(|entry| entry.kept_by == Keeper::Nothing)
            .map(|entry| entry.assumption.as_str())
            .collect();
        assert_eq!(&found, dropped, "{records}");
        let notes: Vec<&str> = report
            .diagnostics
            .iter()
            .filter(|d| d.code == "assertion-dropped")
            .map(|d| d.message.as_str())
            .collect();
        if dropped.is_empty() {
            assert!(notes.is_empty(), "{records}: {notes:?}");
        } else {
            let said = format!(
                "the program records {}, which no assertion in the graph states and nothing else implies",
                dropped.join(", ")
            );
            assert_eq!(notes, [said], "{records}");
        }
    }
}

#[test]
fn a_recorded_bound_that_every_size_satisfies_is_none() {
    let path = "tests/data/programs/dd_view_u0_5.pt2";
    let recorded = r#""u0":{"min_val":0,"max_val":null}"#;
    for (min, max) in [
        ("0", "18446744073709551602"),
        ("0", "9223372036854775808"),
        ("-18446744073709551602", "null"),
        ("-9223372036854775809", "18446744073709551616"),
    ] {
        let bounds = format!(r#""u0":{{"min_val":{min},"max_val":{max}}}"#);
        let report = checked(path, &[(recorded, &bounds)]);
        assert!(report.ledger.iter().all(|entry| entry.kept_by != Keeper::Nothing), "{bounds}");
    }
    for (min, max, key) in
        [("18446744073709551602", "null", "min_val"), ("null", "-18446744073709551602", "max_val")]
    {
        let program =
            read(&std::fs::read(path).expect("the program"), &ReadOptions::default()).expect("a program");
        let json = write_json(&program).expect("JSON").replace(char::is_whitespace, "");
        let bounds = format!(r#""u0":{{"min_val":{min},"max_val":{max}}}"#);
        let Err(error) = Checker::read("edited", json.replace(recorded, &bounds).as_bytes()) else {
            panic!("{bounds} is read")
        };
        let said = format!(
            "range_constraints.u0.{key}: the bound is beyond all signed 64-bit integers: no size is in this range"
        );
        assert!(error.to_string().contains(&said), "{error}");
    }
}

#[test]
fn a_symbol_that_no_size_determines_is_named() {
    let single = r#""sizes":[{"as_expr":{"expr_str":"Symbol('s77',positive=True,integer=True)","hint":{"as_int":8}}},{"as_int":3}]"#;
    let product = single.replace("\"Symbol('s77',positive=True,integer=True)\"", "\"s77*s78\"");
    let (checker, operators) = (edited("examples/branch.pt2", &[(single, &product)]), Operators::new());
    let session = checker.session(&operators).expect("a session");
    let error = session.guard_set().map(|_| ()).expect_err("no guard set");
    assert!(matches!(error, CheckError::Undetermined(_)), "{error}");
    assert_eq!(error.to_string(), "no size of the inputs determines the symbol `s77`");
}
