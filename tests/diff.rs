//! What a new export changes: pairs of programs that are variants of each other, with the verdict, and examples that are
//! replayed in both.
#![cfg(feature = "cli")]
mod calls;

use crate::command::with_input;
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, Shapes};
use sizewise::diff::{Difference, Verdict, Which, diff};
use sizewise::ir::pt2::{ReadOptions, read, write_json};
use sizewise::kernels::Operators;
use std::path::Path;

fn bytes(path: &str) -> Vec<u8> {
    std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("the program")
}

/// A program as JSON, each text replaced by another.
fn edited(path: &str, edits: &[(&str, &str)]) -> String {
    let program = read(&bytes(path), &ReadOptions::default()).expect("a program");
    let mut json = write_json(&program).expect("JSON").replace("\": ", "\":").replace(", ", ",");
    for (old, new) in edits {
        assert!(json.contains(old), "{old} is not in {json}");
        json = json.replace(old, new);
    }
    json
}

fn compared(path: &str, before: &[(&str, &str)], after: &[(&str, &str)]) -> Difference {
    let checker = |name, edits| Checker::read(name, edited(path, edits).as_bytes()).expect("a program");
    let (old, new) = (checker("old", before), checker("new", after));
    let found = diff(&old, &new, &Operators::new()).expect("a difference");
    replayed(&old, &new, &found);
    found
}

/// Each example is accepted by one program and refused by the other; each output differs.
fn replayed(old: &Checker, new: &Checker, found: &Difference) {
    let operators = Operators::new();
    let is_accepted = |checker: &Checker, shapes: &Shapes| {
        checker.evaluator(&operators).expect("an evaluator").evaluate(shapes).is_ok()
    };
    for example in &found.examples {
        let accepted = (is_accepted(old, &example.inputs), is_accepted(new, &example.inputs));
        assert_eq!(
            accepted,
            (example.accepted_by == Which::Old, example.accepted_by == Which::New),
            "{found:?}"
        );
    }
    for change in &found.outputs {
        assert_ne!(change.old, change.new, "{found:?}");
        assert!(is_accepted(old, &change.inputs) && is_accepted(new, &change.inputs), "{found:?}");
    }
}

const AREA: &str = "examples/area.pt2";
const BRANCH: &str = "examples/branch.pt2";
const LESS: (&str, &str) = ("L['x'].size()[0] < 1000", "L['x'].size()[0] < 500");
const MORE: (&str, &str) = ("L['x'].size()[0] < 1000", "L['x'].size()[0] < 2000");
const THREE_COLUMNS: &str = "{\"as_int\":3}]";
const FOUR_COLUMNS: (&str, &str) = (THREE_COLUMNS, "{\"as_int\":4}]");
const ONE_DIMENSION: (&str, &str) = (",{\"as_int\":3}],\"requires_grad\"", "],\"requires_grad\"");

/// Texts, each with the one that replaces it.
type Edits<'a> = &'a [(&'a str, &'a str)];

/// A program, edits of it, the verdict, and the guards added and removed.
type Pair<'a> = (&'a str, &'a [(&'a str, &'a str)], Verdict, &'a [&'a str], &'a [&'a str]);

#[test]
fn the_verdict_is_that_of_new_against_old_and_of_old_against_new() {
    let at_most_12 = ("\"s77\":{\"min_val\":2,\"max_val\":100}", "\"s77\":{\"min_val\":2,\"max_val\":12}");
    let pairs: &[Pair] = &[
        (AREA, &[], Verdict::Equal, &[], &[]),
        (AREA, &[at_most_12], Verdict::Narrower, &["x.shape[0] <= 12"], &[]),
        (AREA, &[LESS], Verdict::Narrower, &["x.shape[0]*y.shape[0] <= 499"], &[]),
        (AREA, &[MORE], Verdict::Wider, &[], &["x.shape[0]*y.shape[0] <= 999"]),
        (
            AREA,
            &[at_most_12, MORE],
            Verdict::Different,
            &["x.shape[0] <= 12"],
            &["x.shape[0]*y.shape[0] <= 999"],
        ),
        // The bound follows from the other one.
        (BRANCH, &[("[0] > 5", "[0] > 4")], Verdict::Equal, &[], &[]),
        (BRANCH, &[("[0] > 5", "[0] > 6")], Verdict::Narrower, &["x.shape[0] >= 7"], &[]),
        (BRANCH, &[FOUR_COLUMNS], Verdict::Different, &["x.shape[1] == 4"], &["x.shape[1] == 3"]),
    ];
    let opposite = |verdict| match verdict {
        Verdict::Narrower => Verdict::Wider,
        Verdict::Wider => Verdict::Narrower,
        same => same,
    };
    for (path, edits, verdict, added, removed) in pairs {
        let texts = |found: &[sizewise::diff::GuardChange]| -> Vec<String> {
            found.iter().map(|change| change.condition.clone()).collect()
        };
        let found = compared(path, &[], edits);
        assert_eq!(found.verdict, *verdict, "{path} {edits:?}: {found:?}");
        assert_eq!(
            (texts(&found.added), texts(&found.removed)),
            (texts_of(added), texts_of(removed)),
            "{edits:?}"
        );
        let found = compared(path, edits, &[]);
        assert_eq!(found.verdict, opposite(*verdict), "{path} {edits:?} back: {found:?}");
        assert_eq!(
            (texts(&found.added), texts(&found.removed)),
            (texts_of(removed), texts_of(added)),
            "{edits:?}"
        );
    }
}

fn texts_of(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn changes_of_the_interface_and_of_outputs_are_named() {
    let parts = |found: &Difference| {
        let outputs: Vec<String> = found
            .outputs
            .iter()
            .map(|change| format!("{} {} {}", change.output, change.old, change.new))
            .collect();
        (found.verdict, found.interface.clone(), outputs)
    };
    let dtype = |from: i64, to: i64| (format!("{{\"dtype\":{from},"), format!("{{\"dtype\":{to},"));
    let (floats, doubles) = dtype(7, 8);
    let none = Vec::<String>::new();
    let found = compared(AREA, &[], &[(&floats, &doubles)]);
    let changes = [
        "the input x was a float32 tensor of 1 dimension and is a float64 tensor of 1 dimension",
        "the input y was a float32 tensor of 1 dimension and is a float64 tensor of 1 dimension",
        "output 0 was a float32 tensor of rank 1 and is a float64 tensor of rank 1",
    ];
    assert_eq!(parts(&found), (Verdict::Equal, texts_of(&changes), none.clone()));
    // The output is the other input.
    let output = [
        (
            "\"outputs\":[{\"as_tensor\":{\"name\":\"add\"}}],\"nodes\"",
            "\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],\"nodes\"",
        ),
        (
            "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"add\"",
            "{\"user_output\":{\"arg\":{\"as_tensor\":{\"name\":\"y\"",
        ),
    ];
    let found = compared(AREA, &[], &output);
    assert_eq!(
        (found.verdict, found.interface.len(), found.outputs.len()),
        (Verdict::Equal, 0, 1),
        "{found:?}"
    );
    let renamed = [
        ("\"name\":\"y\"", "\"name\":\"z\""),
        ("\"y\":{\"dtype\"", "\"z\":{\"dtype\""),
        ("L['y']", "L['z']"),
        ("[\"x\",\"y\"]", "[\"x\",\"z\"]"),
    ];
    let found = compared(AREA, &[], &renamed);
    assert_eq!(parts(&found), (Verdict::Equal, texts_of(&["the input y is called z"]), none));
}

#[test]
fn numbers_and_constants_among_inputs_are_compared() {
    const CONSTANTS: &str = "tests/data/programs/const_inputs.pt2";
    const NUMBER: &str = "tests/data/programs/symint_input.pt2";
    for (path, edit, verdict, examples, changes) in [
        (NUMBER, ("3*L['n'] >= 2", "3*L['n'] >= 12"), Verdict::Narrower, 1, vec![]),
        (NUMBER, ("3*L['n'] >= 2", "3*L['n'] >= 1"), Verdict::Equal, 0, vec![]),
        (
            CONSTANTS,
            ("{\"as_float\":2.0}", "{\"as_float\":3.0}"),
            Verdict::Different,
            2,
            vec!["the input scale was the constant 2.0 and is the constant 3.0"],
        ),
        (
            CONSTANTS,
            ("{\"as_string\":\"nearest\"}", "{\"as_string\":\"area\"}"),
            Verdict::Different,
            0,
            vec!["the input mode was the constant 'nearest' and is the constant 'area'"],
        ),
    ] {
        let found = compared(path, &[], &[edit]);
        assert_eq!(found.verdict, verdict, "{edit:?}: {found:?}");
        assert_eq!((found.examples.len(), &found.interface), (examples, &texts_of(&changes)), "{found:?}");
    }
}

#[test]
fn a_guard_without_a_value_refuses() {
    // Where NEW has its one size the divisor is zero.
    let divides = ("[0] > 5", "[0] % (L['x'].size()[0] // 20) == 0");
    let size =
        "{\"as_expr\":{\"expr_str\":\"Symbol('s77',positive=True,integer=True)\",\"hint\":{\"as_int\":8}}}";
    let found = compared(BRANCH, &[divides], &[(size, "{\"as_int\":8}")]);
    assert_eq!((found.verdict, found.examples.len()), (Verdict::Different, 2), "{found:?}");
}

#[test]
fn an_input_of_another_rank_is_refused_by_each() {
    let found = compared(
        BRANCH,
        &[ONE_DIMENSION, ("\"strides\":[{\"as_int\":3},{\"as_int\":1}]", "\"strides\":[{\"as_int\":1}]")],
        &[],
    );
    assert_eq!(found.verdict, Verdict::Different, "{found:?}");
    assert_eq!(found.examples.len(), 2, "{found:?}");
}

#[test]
fn variants_of_real_programs_are_compared() {
    for (name, verdict, removed) in [
        ("pt_dict", Verdict::Wider, &["inp['a'].shape[0] <= 50"] as &[&str]),
        ("patch_merge", Verdict::Equal, &[]),
        ("spec_min_only", Verdict::Wider, &["x.shape[0] >= 4"]),
        ("conv_skip_add_even_named", Verdict::Wider, &["x.shape[2] <= 129", "x.shape[3] <= 129"]),
        ("op_type_promote", Verdict::Equal, &[]),
        ("sz_adaptive_avg_7", Verdict::Equal, &[]),
        ("map_rows", Verdict::Equal, &[]),
        ("cond_multi_out", Verdict::Equal, &[]),
    ] {
        let checker = |name: &str| {
            Checker::read(name, &bytes(&format!("tests/data/programs/{name}.pt2"))).expect("a program")
        };
        let (old, new) = (checker(name), checker(&format!("{name}__core")));
        let found = diff(&old, &new, &Operators::new()).expect("a difference");
        replayed(&old, &new, &found);
        assert_eq!(found.verdict, verdict, "{found:?}");
        let texts: Vec<&str> = found.removed.iter().map(|change| change.condition.as_str()).collect();
        assert_eq!((texts, found.added.len(), found.outputs.len()), (removed.to_vec(), 0, 0), "{found:?}");
        let back = diff(&new, &old, &Operators::new()).expect("a difference");
        replayed(&new, &old, &back);
        let is_narrower = verdict == Verdict::Wider;
        assert_eq!(back.verdict, if is_narrower { Verdict::Narrower } else { Verdict::Equal }, "{back:?}");
    }
}

#[test]
fn a_program_is_equal_to_itself() {
    let mut others = Vec::new();
    for folder in ["examples", "tests/data/programs"] {
        let entries =
            std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).expect("a folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        for path in paths.filter(|path| path.extension().is_some_and(|extension| extension == "pt2")) {
            let Ok(checker) = Checker::read("program", &std::fs::read(&path).expect("a file")) else {
                continue;
            };
            let found = diff(&checker, &checker, &Operators::new()).expect("a difference");
            assert!(found.examples.is_empty() && found.outputs.is_empty(), "{path:?}: {found:?}");
            assert!(found.added.is_empty() && found.removed.is_empty(), "{path:?}: {found:?}");
            if found.verdict != Verdict::Equal {
                others.push((path.file_name().map(|name| name.to_string_lossy().into_owned()), found.notes));
            }
        }
    }
    assert!(others.is_empty(), "{others:#?}");
}

/// Writes a variant of the example and compares the example with it.
fn run(edits: &[(&str, &str)], options: &[&str]) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let (old, new) = (folder.path().join("old.json"), folder.path().join("new.json"));
    std::fs::write(&old, edited(AREA, &[])).expect("a file");
    std::fs::write(&new, edited(AREA, edits)).expect("a file");
    let (old, new) = (old.to_string_lossy().into_owned(), new.to_string_lossy().into_owned());
    with_input(&[&["diff", &old, &new], options].concat(), "")
}

#[test]
fn the_exit_status_says_whether_callers_break() {
    let dtype = [("{\"dtype\":7,", "{\"dtype\":8,")];
    let cases: [(Edits, &[&str], i32); 7] = [
        (&[], &[], 0),
        (&[LESS], &[], 1),
        (&[MORE], &[], 0),
        (&[MORE], &["--fail-on", "different"], 1),
        (&dtype, &[], 0),
        (&dtype, &["--fail-on", "different"], 1),
        (&[], &["--fail-on", "different"], 0),
    ];
    for (edits, options, status) in cases {
        let (found, _, error) = run(edits, options);
        assert_eq!((found, error.as_str()), (status, ""), "{edits:?} {options:?}");
    }
}

#[test]
fn a_report_has_four_forms_of_the_same() {
    let (_, text, _) = run(&[LESS], &[]);
    assert!(text.starts_with("narrower: NEW refuses inputs that OLD accepts\n"), "{text}");
    let (_, json, _) = run(&[LESS], &["--format", "json"]);
    let json: Json = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["verdict"], "narrower");
    assert_eq!(json["examples"][0]["accepted_by"], "old");
    assert_eq!(
        json["guards"],
        json!({"added": [{"condition": "x.shape[0]*y.shape[0] <= 499", "line": null}], "removed": []})
    );
    for field in ["outputs", "interface"] {
        assert_eq!(json[field], json!([]), "{json}");
    }
    let (_, markdown, _) = run(&[LESS], &["--format", "markdown"]);
    assert!(markdown.contains("- `x.shape[0]*y.shape[0] <= 499`\n"), "{markdown}");
    let (_, page, _) = run(&[LESS], &["--format", "html"]);
    assert!(
        page.contains("<code>x.shape[0]*y.shape[0] &lt;= 499</code>") && !page.contains("<script"),
        "{page}"
    );
}

const AREA_SPEC: &str =
    r#"{"x": [{"dim": "p", "min": 2, "max": 64}], "y": [{"dim": "q", "min": 2, "max": 64}]}"#;

/// The verdict on two specs, the guards added and removed, and the exit status.
fn compared_specs(program: &str, old: &str, new: &str) -> (String, Vec<String>, Vec<String>, i32) {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let is_python = text.contains(" = ");
        let path = folder.path().join(format!("{name}.{}", if is_python { "py" } else { "json" }));
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let (old, new) = (write("old", old), write("new", new));
    let (status, out, error) =
        with_input(&["diff", &old, &new, "--program", program, "--format", "json"], "");
    let json: Json = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{old} {new}: {error}"));
    let texts = |which: &str| -> Vec<String> {
        let guards = json["guards"][which].as_array().expect("guards").iter();
        guards.map(|guard| guard["condition"].as_str().unwrap_or_default().to_owned()).collect()
    };
    (json["verdict"].as_str().unwrap_or_default().to_owned(), texts("added"), texts("removed"), status)
}

#[test]
fn specs_are_compared_by_the_inputs_that_they_allow() {
    let apart = AREA_SPEC;
    let twice = "n = Dim('n', min=2, max=32)\ndynamic_shapes = {'x': [n], 'y': [2*n]}\n";
    let renamed = AREA_SPEC.replace("\"p\"", "\"rows\"");
    let less = AREA_SPEC.replacen("64", "32", 1);
    let other = less.replacen("\"q\", \"min\": 2", "\"q\", \"min\": 1", 1);
    for (old, new, verdict, added, removed, status) in [
        (apart, apart, "equal", &[] as &[&str], &[] as &[&str], 0),
        (apart, &*renamed, "equal", &[], &[], 0),
        (apart, &*less, "narrower", &["x.shape[0] <= 32"], &[], 1),
        (&*less, apart, "wider", &[], &["x.shape[0] <= 32"], 0),
        (apart, &*other, "different", &["x.shape[0] <= 32"], &["y.shape[0] >= 2"], 1),
        (
            apart,
            r#"{"x": [6], "y": [{"dim": "q", "min": 2, "max": 64}]}"#,
            "narrower",
            &["x.shape[0] == 6"],
            &[],
            1,
        ),
        (apart, twice, "narrower", &["y.shape[0] == 2*x.shape[0]"], &[], 1),
    ] {
        let found = compared_specs(AREA, old, new);
        assert_eq!(found, (verdict.to_owned(), texts_of(added), texts_of(removed), status), "{old} {new}");
    }
}

/// An ONNX model as text.
fn model(inputs: &str, nodes: &str) -> String {
    format!("<ir_version: 8, opset_import: [\"\" : 18]> g ({inputs}) => (float[a, b] z) {{ {nodes} }}")
}

/// The verdict on two files of these texts, and the number of outputs that differ and of changes of the interface.
fn compared_models(old: &str, new: &str) -> (String, usize, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.to_string_lossy().into_owned()
    };
    let (old, new) = (write("old.onnx", old), write("new.onnx", new));
    let (_, out, error) = with_input(&["diff", &old, &new, "--format", "json"], "");
    let json: Json = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{error}"));
    let count = |part: &str| json[part].as_array().expect("a list").len();
    (json["verdict"].as_str().unwrap_or_default().to_owned(), count("outputs"), count("interface"))
}

#[test]
fn models_are_compared_by_what_they_declare_and_need() {
    let free = model("float[N, M] x, float[K, L] w", "z = MatMul(x, w)");
    let relu = model("float[N, M] x, float[M, L] w", "y = MatMul(x, w) z = Relu(y)");
    let plain = model("float[N, M] x, float[M, L] w", "z = MatMul(x, w)");
    let fixed = model("float[N, 4] x, float[4, L] w", "z = MatMul(x, w)");
    let turned = model("float[N, M] x, float[M, L] w", "y = MatMul(x, w) z = Transpose(y)");
    let typed = plain.replace("float[", "double[");
    let more = model("float[N, M] x, float[M, L] w, float[N] b", "z = MatMul(x, w)");
    for (old, new, verdict, outputs, interface) in [
        (&plain, &plain, "equal", 0, 0),
        (&plain, &relu, "equal", 0, 0),
        (&plain, &fixed, "narrower", 0, 0),
        (&fixed, &plain, "wider", 0, 0),
        (&plain, &turned, "equal", 1, 0),
        (&plain, &more, "different", 0, 1),
        (&plain, &typed, "equal", 0, 3),
    ] {
        let found = compared_models(old, new);
        assert_eq!(found, (verdict.to_owned(), outputs, interface), "{old}\n{new}");
    }
    // What a node needs and what is declared are the same.
    assert_eq!(compared_models(&free, &plain).0, "equal");
}

#[test]
fn a_program_is_compared_with_its_model() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("branch.onnx").to_string_lossy().into_owned();
    let (status, _, error) = with_input(&["show", BRANCH, "--as", "onnx", "-o", &path], "");
    assert_eq!(status, 0, "{error}");
    let (_, out, error) = with_input(&["diff", BRANCH, &path, "--format", "json"], "");
    let json: Json = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{error}"));
    assert_eq!(json["interface"], json!([]), "{json}");
    assert_eq!(json["outputs"], json!([]), "{json}");
    // A model does not keep the guard on its batch.
    assert!(
        ["equal", "wider", "undecided"].contains(&json["verdict"].as_str().unwrap_or_default()),
        "{json}"
    );
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let cases: [(&[&str], i32, &str); 8] = [
        (&["diff", AREA], 2, "<NEW>"),
        (&["diff", "-", "-"], 2, "only one of the programs can be standard input"),
        (&["diff", AREA, AREA, "--fail-on", "wider"], 2, "invalid value 'wider'"),
        (&["diff", AREA, "examples/area.json"], 2, "examples/area.json: a spec: name the program"),
        (
            &["diff", AREA, "examples/area.json", "--program", "examples/area.json"],
            2,
            "--program: a spec; expected a program or a model",
        ),
        (
            &["diff", "examples/area.json", "examples/area.json", "--program", BRANCH],
            2,
            "examples/area.json: ",
        ),
        (&["diff", AREA, "Cargo.toml"], 2, "Cargo.toml: "),
        (&["diff", "no.pt2", AREA], 3, "no.pt2: "),
    ];
    for (arguments, status, message) in cases {
        let (found, _, error) = with_input(arguments, "");
        assert_eq!(found, status, "{arguments:?}: {error}");
        assert!(error.contains(message), "{arguments:?}: {error}");
    }
}
