//! What torch.export takes as a spec, of every fix and spec that is printed: texts are read back, names are assigned before they are
//! used, nothing is computed from `Dim.AUTO`, and dimensions have ranges that torch takes. `tests/specs_in_torch.py` runs them in torch.
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::ir::{Dtype, pt2};
use sizewise::kernels::Operators;
use sizewise::pass::Tracer;
use sizewise::report::{Fix, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Containers, Language, Spec};
use std::path::PathBuf;

fn parsed(json: &Json) -> Spec {
    Spec::parse(json.to_string().as_bytes()).expect("a spec")
}

/// The spec with a named dimension in each place that is dynamic.
fn widened(spec: &Json, min: i64, max: Option<i64>, count: &mut usize) -> Json {
    let mut named = || {
        *count += 1;
        json!({"dim": format!("d{count}"), "min": min, "max": max})
    };
    match spec {
        Json::Array(items) => items.iter().map(|item| widened(item, min, max, count)).collect(),
        Json::Object(fields) if ["dim", "derived", "hint"].iter().any(|key| fields.contains_key(*key)) => {
            named()
        }
        Json::Object(fields) => {
            let items = fields.iter().map(|(key, item)| (key.clone(), widened(item, min, max, count)));
            Json::Object(items.collect())
        }
        Json::String(word) if word == "AUTO" || word == "DYNAMIC" => named(),
        other => other.clone(),
    }
}

/// The named dimensions of a spec have more than one size, and reach 2.
fn ranges_are_taken(spec: &Json, text: &str) {
    match spec {
        Json::Array(items) => items.iter().for_each(|item| ranges_are_taken(item, text)),
        Json::Object(fields) => {
            if fields.contains_key("dim") {
                let (min, max) = (
                    fields.get("min").and_then(Json::as_i64).unwrap_or(0),
                    fields.get("max").and_then(Json::as_i64),
                );
                assert!(max.is_none_or(|max| max > min && max >= 2), "{text}");
            }
            fields.values().for_each(|item| ranges_are_taken(item, text));
        }
        _ => {}
    }
}

/// A spec as Python, with the text of a fix below its dimensions. A fix that is an entire spec stands for all of it.
fn pasted(given: &str, fix: &str) -> String {
    let (dims, shapes) = given.split_once("dynamic_shapes = ").expect("shapes");
    if fix.contains("dynamic_shapes = ") {
        return format!("{dims}\n{fix}\n");
    }
    format!("{dims}\n{fix}\n\ndynamic_shapes = {shapes}")
}

/// The reader refuses names before their assignment, and arithmetic on hints.
fn a_fix_is_taken(name: &str, given: &str, fix: &Fix) {
    let text = pasted(given, &fix.text);
    let read = Spec::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
    ranges_are_taken(&read.for_torch().to_json(), &text);
    let Some(code) = &fix.code else { panic!("{name}: no code") };
    let read = Spec::parse(code.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}\n{code}"));
    ranges_are_taken(&read.to_json(), code);
    ranges_are_taken(fix.spec.as_ref().expect("a spec"), code);
}

fn checker(path: &std::path::Path) -> Checker {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    Checker::read(&name, &std::fs::read(path).expect("a program")).expect("a program")
}

fn check(checker: &Checker, spec: &Spec) -> Report {
    checker.check(Some(spec), &Operators::new(), &Budget::default()).expect("a report")
}

#[test]
fn what_is_printed_for_recorded_programs_is_taken() {
    let mut fixes = 0;
    for folder in ["users", "programs"] {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder);
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "pt2"));
        paths.sort();
        for path in paths {
            let checker = checker(&path);
            let name = checker.name().to_owned();
            let own = checker.recorded_spec(Some(Language::Dims), &Operators::new());
            let Ok(own) = own else { continue };
            let containers = Containers::of(checker.program());
            let code = own.to_python_with(&containers);
            let read = Spec::parse(code.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}\n{code}"));
            ranges_are_taken(&read.to_json(), &code);
            for (min, max) in [(0, None), (1, Some(64))] {
                let spec = parsed(&widened(&own.to_json(), min, max, &mut 0));
                let given = spec.to_python_with(&containers);
                let found = check(&checker, &spec).fixes;
                for (at, fix) in found.iter().enumerate() {
                    a_fix_is_taken(&name, &given, fix);
                    assert!(
                        found[..at].iter().all(|other| other.text != fix.text),
                        "{name}: {} twice",
                        fix.text
                    );
                    fixes += 1;
                }
            }
        }
    }
    assert!(fixes > 100, "{fixes}");
}

/// A program of `x: [s0]` under guards that hold at the example.
fn guarded(guards: &[&str]) -> Checker {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 2, None, 8).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0"]).expect("an input");
    let mut program = tracer.finish(&[x]).program;
    program.guards_code.extend(guards.iter().map(|guard| (*guard).into()));
    Checker::read("guarded", &pt2::write(&program).expect("an archive")).expect("a program")
}

#[test]
fn a_dimension_keeps_its_name_where_torch_proves_the_guard() {
    let n = "L['x'].size()[0]";
    for (guard, is_named) in [
        // torch proves these within the range of the fix.
        (format!("{n} >= 3"), true),
        (format!("({n} // 2) >= 2"), true),
        (format!("({n} * {n}) >= 9"), true),
        (format!("(5*{n}) % (6*{n}) != 0"), true),
        // These it does not, though they hold for every size.
        (format!("({n} + ((-1)*{n}) % 4) != 2"), false),
        (format!("(({n} // 2) >= 1) and (({n} // 2) <= {n})"), false),
        (format!("({n} - 5*({n} // 5)) >= 0"), false),
    ] {
        let checker = guarded(&[&guard, &format!("{n} <= 60")]);
        let spec = json!({"x": [{"dim": "n", "min": 0, "max": 64}]});
        let report = check(&checker, &parsed(&spec));
        assert!(!report.fixes.is_empty(), "{guard}");
        for fix in &report.fixes {
            assert_eq!(fix.text.starts_with("n = Dim("), is_named, "{guard}: {}", fix.text);
            let note = fix.note.as_deref().unwrap_or_default();
            assert_eq!(note.contains("torch.export refuses a named dimension"), !is_named, "{guard}: {note}");
        }
    }
}

#[test]
fn ranges_that_torch_has_no_dim_for_are_written_otherwise() {
    let dim = |min: i64, max: i64| json!({"dim": "n", "min": min, "max": max});
    for (entry, written) in [
        (dim(3, 3), "3"),
        (dim(0, 1), "Dim.AUTO(min=0, max=1)"),
        (json!({"derived": "8*n + 3", "root": dim(1, 1)}), "11"),
        (json!({"derived": "8*n", "root": dim(0, 1)}), "Dim.AUTO(min=0, max=8)"),
        (json!({"derived": "n - 2", "root": dim(0, 9)}), "n - 2"),
    ] {
        let text = parsed(&json!({"x": [entry]})).to_python_with(&Containers::default());
        assert!(text.contains(&format!("'x': [{written}],")), "{text}");
        assert!(!text.contains("n - 2") || text.contains("n = Dim('n', min=2, max=9)"), "{text}");
    }
}
