//! Specs: the forms that are read, and what is said of those that do not fit.
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::kernels::Operators;
use sizewise::report::{Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Contract, Spec};
use std::path::PathBuf;

fn checker(name: &str) -> Checker {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/users/{name}.pt2"));
    Checker::read(name, &std::fs::read(path).expect("a program")).expect("a program")
}

fn check(name: &str, spec: &Spec) -> Report {
    checker(name).check(Some(spec), &Operators::new(), &Budget::default()).expect("a report")
}

/// What is wrong with a spec, read alone or laid over a program.
fn complaint(name: &str, text: &str) -> String {
    let spec = match Spec::parse(text.as_bytes()) {
        Ok(spec) => spec,
        Err(error) => return error.to_string(),
    };
    let report = check(name, &spec);
    assert_eq!(report.verdict, Outcome::Invalid, "{text}");
    report.diagnostics[0].message.clone()
}

#[test]
#[rustfmt::skip]
fn a_wrong_spec_is_told_where_and_what_was_expected() {
    for (program, spec, message) in [
        ("nested_inputs", r#"{"tree":"#, r#"the spec: not JSON: EOF while parsing a value at line 1 column 8"#),
        ("nested_inputs", r#"3"#, r#"the spec: expected an object by parameter name or a list of entries"#),
        ("nested_inputs", r#""AUTO""#, r#"the spec: expected an object by parameter name or a list of entries"#),
        ("nested_inputs", r#"{"tre": {}}"#, r#"tre: the program has no such input; the nearest is `tree`; it has tree, scale"#),
        ("nested_inputs", r#"{"tree": {"id": ["AUTO", "AUTO"]}}"#, r#"tree: the input has no part "id"; it has tree['ids'], tree['masks']"#),
        ("nested_inputs", r#"{"tree": {"ids": ["AUTO"]}}"#, r#"tree['ids']: the tensor has 2 dimensions, the spec 1 entry"#),
        ("nested_inputs", r#"{"tree": {"ids": {"2": "AUTO"}}}"#, r#"tree['ids']: the tensor has 2 dimensions: there is no dimension "2""#),
        ("nested_inputs", r#"{"tree": {"ids": "AUTO"}}"#, r#"tree['ids']: expected null or a list with one entry a dimension, not "AUTO""#),
        ("nested_inputs", r#"{"tree": {"ids": [{"AUTO": 1}, null]}}"#, r#"tree['ids'].shape[0]: there is no field `AUTO` here; the nearest is `dim` (known: `dim`, `derived`, `hint`)"#),
        ("nested_inputs", r#"{"tree": {"masks": [["AUTO", null]]}}"#, r#"tree['masks'][1]: `tree['masks']` has a part `[1]`, the spec has a list of 1 entry there: it must mirror the inputs"#),
        ("nested_inputs", r#"{"tree": {"masks": {"a": ["AUTO", null]}}}"#, r#"tree['masks']: the input has no part "a"; it has tree['masks'][0], tree['masks'][1]"#),
        ("nested_inputs", r#"{"tree": ["AUTO", "AUTO"]}"#, r#"tree['ids']: expected null or a list with one entry a dimension, not "AUTO""#),
        ("nested_inputs", r#"{"tree": {"ids": ["AUTO", "auto"]}}"#, r#"tree['ids'].shape[1]: "auto" is none of "AUTO", "DYNAMIC" and "STATIC"; a named dimension is written {"dim": "auto"}"#),
        ("nested_inputs", r#"{"tree": {"ids": ["AUTO", "b"]}}"#, r#"tree['ids'].shape[1]: "b" is none of "AUTO", "DYNAMIC" and "STATIC"; a named dimension is written {"dim": "b"}"#),
        ("nested_inputs", r#"{"tree": {"ids": [true, null]}}"#, r#"tree['ids'].shape[0]: expected null, an integer, "AUTO", "DYNAMIC", "STATIC" or an object, not true"#),
        ("nested_inputs", r#"{"tree": {"ids": [[], null]}}"#, r#"tree['ids'].shape[0]: expected null, an integer, "AUTO", "DYNAMIC", "STATIC" or an object, not []"#),
        ("nested_inputs", r#"{"tree": {"ids": [3.5, null]}}"#, r#"tree['ids'].shape[0]: expected an integer size, not 3.5"#),
        ("nested_inputs", r#"{"tree": {"ids": [-1, null]}}"#, r#"tree['ids'].shape[0]: a size is at least 0, not -1"#),
        ("nested_inputs", r#"{"tree": {"ids": [4, null]}}"#, r#"tree['ids'].shape[0]: the spec says 4, the program was traced with 3"#),
        ("nested_inputs", r#"{"scale": {"dim": "n", "min": 0, "max": null}}"#, r#"scale: the input is a number: torch.export takes "AUTO", "DYNAMIC" or null for it, no named dimension"#),
        ("nested_inputs", r#"{"scale": ["AUTO"]}"#, r#"scale: expected null, an integer, "AUTO", "DYNAMIC", "STATIC" or an object, not ["AUTO"]"#),
        ("nested_inputs", r#"[{}, null, null]"#, r#"the spec: 3 entries for 2 arguments"#),
        ("product_over_100", r#"{"x": [{"dim": "2a"}], "y": [null]}"#, r#"x.shape[0]: "2a" is not an identifier"#),
        ("product_over_100", r#"{"x": [{"dim": 3}], "y": [null]}"#, r#"x.shape[0]: `dim` must be a name"#),
        ("product_over_100", r#"{"x": [{"dim": "a", "min": 5, "max": 3}], "y": [null]}"#, r#"x.shape[0]: the range of a is empty: from 5 to 3"#),
        ("product_over_100", r#"{"x": [{"dim": "a", "min": -2, "max": 3}], "y": [null]}"#, r#"x.shape[0].min: a size is at least 0, not -2"#),
        ("product_over_100", r#"{"x": [{"dim": "a", "min": "2"}], "y": [null]}"#, r#"x.shape[0].min: expected an integer or null, not "2""#),
        ("product_over_100", r#"{"x": [{"dim": "a", "maximum": 2}], "y": [null]}"#, r#"x.shape[0]: there is no field `maximum` here; the nearest is `max` (known: `dim`, `min`, `max`)"#),
        ("product_over_100", r#"{"x": [{"dim": "a", "min": 2, "max": 50}], "y": [{"dim": "a", "min": 2, "max": 60}]}"#, r#"y.shape[0]: a has the range 2..60 here and 2..50 before"#),
        ("product_over_100", r#"{"x": [{"dim": "a", "min": 2, "max": 50}], "y": [{"dim": "a", "min": 2, "max": 50}]}"#, r#"y.shape[0]: a is 10 in the traced example here and 12 before"#),
        ("product_over_100", r#"{"x": [{"dim": "a", "min": 20, "max": 50}], "y": [null]}"#, r#"x.shape[0]: the traced example has a = 12, outside the range of a"#),
        ("product_over_100", r#"{"x": [{"hint": "AUTOMATIC"}], "y": [null]}"#, r#"x.shape[0]: `hint` must be "AUTO", "DYNAMIC" or "STATIC""#),
        ("product_over_100", r#"{"x": [{"hint": "DYNAMIC", "min": 5, "max": 3}], "y": [null]}"#, r#"x.shape[0]: the range is empty: from 5 to 3"#),
        ("product_over_100", r#"{"x": [{"hint": "DYNAMIC", "min": 20}], "y": [null]}"#, r#"x.shape[0]: the traced example has 12, outside the range of the hint"#),
        ("product_over_100", r#"{"x": [{"derived": "2*a"}], "y": [null]}"#, r#"x.shape[0].root: expected the object of a named dimension"#),
        ("product_over_100", r#"{"x": [{"derived": "a + b", "roots": [{"dim": "a"}, {"dim": "b"}]}], "y": [null]}"#, r#"x.shape[0]: `a + b` is of several dimensions: torch derives `a*dim + b` of one dimension"#),
        ("product_over_100", r#"{"x": [{"derived": "2*a", "roots": [{"dim": "a"}]}], "y": [null]}"#, r#"x.shape[0].roots: expected a list of several named dimensions, and no `root`"#),
        ("product_over_100", r#"{"x": [{"derived": "2*a", "root": {"min": 3}}], "y": [null]}"#, r#"x.shape[0].root: expected `dim`, the root's name"#),
        ("product_over_100", r#"{"x": [{"derived": "2*a", "root": {"dim": "b", "min": 0, "max": null}}], "y": [null]}"#, r#"x.shape[0]: `2*a` may only use its root b, not a"#),
        ("product_over_100", r#"{"x": [{"derived": "2*(a", "root": {"dim": "a", "min": 0, "max": null}}], "y": [null]}"#, r#"x.shape[0]: in `2*(a`: line 1, column 5: expected `)`, found the end"#),
        ("product_over_100", r#"{"x": [{"derived": "a*a", "root": {"dim": "a", "min": 0, "max": null}}], "y": [null]}"#, r#"x.shape[0]: `a*a` is not of the form k*a + c with integers k and c, k at least 1"#),
        ("product_over_100", r#"{"x": [{"derived": "12 - a", "root": {"dim": "a", "min": 0, "max": null}}], "y": [null]}"#, r#"x.shape[0]: `12 - a` is not of the form k*a + c with integers k and c, k at least 1"#),
        ("product_over_100", r#"{"x": [{"derived": "a//2", "root": {"dim": "a", "min": 0, "max": null}}], "y": [null]}"#, r#"x.shape[0]: `a//2` is not of the form k*a + c with integers k and c, k at least 1"#),
        ("product_over_100", r#"{"x": [{"derived": "5*a", "root": {"dim": "a", "min": 0, "max": null}}], "y": [null]}"#, r#"x.shape[0]: no a makes 5*a the traced size 12"#),
        ("product_over_100", r#"{"x": [{"derived": 3, "root": {"dim": "a", "min": 0, "max": null}}], "y": [null]}"#, r#"x.shape[0]: `derived` must be the text of an expression"#),
        ("product_over_100", r#"{"x": [{"derived": "2*a", "root": {"dim": "a", "min": 0, "max": null}}], "y": [{"dim": "a", "min": 0, "max": null}]}"#, r#"x.shape[0]: a is 6 in the traced example here and 10 before"#),
        ("product_over_100", r#"{"dynamic_shapes": {"x": ["a"], "y": [null]}, "dims": {"b": {"min": 2}}}"#, r#"x.shape[0]: "a" is not a dimension declared in `dims`"#),
        ("product_over_100", r#"{"dynamic_shapes": {"x": ["2*a"], "y": [null]}, "dims": {"a": 3}}"#, r#"dims.a: expected an object with `min` and `max`"#),
        ("product_over_100", r#"{"dynamic_shapes": {"x": ["a"], "y": [null]}, "dims": [1]}"#, r#"dims: expected an object of named dimensions"#),
        ("product_over_100", r#"{"dynamic_shapes": {"x": ["2*a + 2", "_DimHint.AUTO"], "y": [null]}, "dims": {"a": {"min": 0, "max": null}}}"#, r#"x: the tensor has 1 dimension, the spec 2 entries"#),
        ("product_over_100", r#"{"additional_inputs": {"x": [3]}}"#, r#"additional_inputs: expected a list of examples, each with a list of sizes for a tensor: [{"x": [3, 8]}]"#),
        ("product_over_100", r#"{"additional_inputs": [3]}"#, r#"additional_inputs: expected a list of examples, each with a list of sizes for a tensor: [{"x": [3, 8]}]"#),
        ("product_over_100", r#"{"additional_inputs": [{"x": [3]}, {"z": [3]}]}"#, r#"additional_inputs[1].z: the program has no such input; the nearest is `x`; it has x, y"#),
        ("product_over_100", r#"{"additional_inputs": [{"x": [3, 4]}]}"#, r#"additional_inputs[0].x: the tensor has 1 dimension, the example 2"#),
        ("product_over_100", r#"{"additional_inputs": [{"x": ["a"]}]}"#, r#"additional_inputs[0].x.shape[0]: expected a size, not "a""#),
        ("product_over_100", r#"{"additional_inputs": [{"x": 3}]}"#, r#"additional_inputs[0].x: the input is a tensor: expected a list of its sizes, not 3"#),
        ("nested_inputs", r#"{"additional_inputs": [{"scale": [3]}]}"#, r#"additional_inputs[0].scale: the input is a number: expected one, not [3]"#),
    ] {
        assert_eq!(complaint(program, spec), message, "{spec}");
    }
}

#[test]
fn every_form_of_a_dimension_is_read() {
    let one = |entry: Json| json!({"x": [entry]});
    for (form, spec) in [
        ("static", one(Json::Null)),
        ("an integer", one(json!(6))),
        ("STATIC", one(json!("STATIC"))),
        ("AUTO", one(json!("AUTO"))),
        ("DYNAMIC", one(json!("DYNAMIC"))),
        ("a hint with a range", one(json!({"hint": "DYNAMIC", "min": 2, "max": 64}))),
        ("derived", one(json!({"derived": "2*k", "root": {"dim": "k", "min": 0, "max": 30}}))),
        ("derived with an offset", one(json!({"derived": "2*k + 2", "root": {"dim": "k"}}))),
        ("nested derived", one(json!({"derived": "2*(2*k + 1)", "root": {"dim": "k"}}))),
        ("positional", json!([["AUTO"]])),
        ("by dimension", json!({"x": {"0": "AUTO"}})),
        (
            "torch's form",
            json!({"dynamic_shapes": {"x": ["2*k"]}, "dims": {"k": {"min": 0, "max": null, "derived": ["2*k"]}}}),
        ),
        (
            "torch's form, nested",
            json!({"dynamic_shapes": [["4*k + 2"]], "dims": {"k": {"min": 0, "max": 9, "derived": ["4*k + 2"]}}}),
        ),
        ("torch's hint", json!({"dynamic_shapes": {"x": ["_DimHint.AUTO"]}, "dims": {}})),
        ("additional inputs", json!({"additional_inputs": [{"x": [8]}, {"x": [6]}]})),
    ] {
        let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
        assert_eq!(check("parity", &spec).verdict, Outcome::Ok, "{form}");
    }
}

#[test]
fn containers_nest_as_in_the_inputs() {
    for spec in [
        json!({"tree": {"ids": ["AUTO", "AUTO"], "masks": [["AUTO", null], ["AUTO", null]]}, "scale": "AUTO"}),
        json!([{"ids": ["AUTO", "AUTO"], "masks": [["AUTO", null], ["AUTO", null]]}, "AUTO"]),
        // A dictionary as a list, in the order of its keys; what is left out is static.
        json!({"tree": [["AUTO", "AUTO"], [null, ["AUTO", null]]]}),
        json!({"tree": null}),
    ] {
        let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
        assert_eq!(check("nested_inputs", &spec).verdict, Outcome::Ok, "{:?}", spec.to_json());
    }
}

#[test]
fn what_differs_between_examples_is_dynamic() {
    let checker = checker("nested_inputs");
    let contract = Contract::load(checker.program()).expect("a contract");
    let (none, some) = (Json::Null, "DYNAMIC");
    for (examples, expected) in [
        // The traced example: ids [3, 5], masks [3, 2] and [5, 2], scale 4.
        (vec![json!({"tree": {"ids": [3, 5]}})], json!([[none, none], [[none, none], [none, none]], none])),
        (
            vec![json!({"tree": {"ids": [4, 5], "masks": [[4, 2], [5, 2]]}, "scale": 4})],
            json!([[some, none], [[some, none], [none, none]], none]),
        ),
        (
            vec![json!({"tree": {"ids": [4, 5]}}), json!([{"ids": [3, 9], "masks": [null, [9, 2]]}, 7])],
            json!([[some, some], [[none, none], [some, none]], some]),
        ),
    ] {
        let spec = Spec::of_examples(&contract, &examples).expect("a spec").to_json();
        let tree = json!([spec["tree"]["ids"], spec["tree"]["masks"], spec["scale"]]);
        assert_eq!(tree, expected, "{examples:?}");
    }
}

#[test]
fn a_spec_that_allows_a_zero_that_a_guard_divides_by_is_violated() {
    // The guard is `1.0 / sym_float(size) ** 0.5 >= 0.0`, which holds wherever it has a value.
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/programs/guard_divides_by_a_double.pt2");
    let checker = Checker::read("divides", &std::fs::read(path).expect("a program")).expect("a program");
    for (least, verdict) in [(0, Outcome::Violated), (1, Outcome::Ok)] {
        let dim = |name: &str, min: i64| json!({"dim": name, "min": min});
        let spec = json!({"args": [
            [dim("a", 2), dim("b", 2), dim("c", least)], [dim("d", 2), dim("e", 2)], [dim("f", 2), dim("g", 2)]
        ]});
        let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
        let report = checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report");
        assert_eq!(report.verdict, verdict, "from {least}: {:?}", report.guards);
        if verdict == Outcome::Violated {
            assert_eq!(report.guards[0].inputs.as_ref().expect("inputs")["args_0"], json!([5, 12, 0]));
            assert!(
                report.fixes.iter().any(|fix| fix.proved && fix.text.contains("min=1")),
                "{:?}",
                report.fixes
            );
        }
    }
}
