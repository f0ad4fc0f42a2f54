//! Reports as people read them, word for word: `tests/data/reports/NAME.txt` has each. `SIZEWISE_RECORD=1` writes them
//! anew, to be read aloud before they are kept.
//!
//! `swin` and `kv_decode` are exports of transformers' models with random weights, `bert` is that of `examples/`; the
//! other programs come from `scripts/make_report_programs.py`.
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, Evaluator, Shapes};
use sizewise::expr::Int;
use sizewise::kernels::Operators;
use sizewise::report::{GuardVerdict, Outcome, Report, Style, to_text};
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};
use std::path::PathBuf;

fn dim(name: &str) -> Json {
    json!({"dim": name})
}

fn between(name: &str, min: i64, max: i64) -> Json {
    json!({"dim": name, "min": min, "max": max})
}

fn at_least(name: &str, min: i64) -> Json {
    json!({"dim": name, "min": min})
}

fn bert() -> Json {
    let ids = json!([between("batch", 1, 8), between("seq", 2, 128)]);
    json!({
        "input_ids": ids,
        "attention_mask": ids,
        "token_type_ids": [between("batch", 1, 8), between("types", 2, 128)],
    })
}

fn kv_decode() -> Json {
    let cache = |length: &str| json!([dim("b"), null, dim(length), null]);
    json!({
        "input_ids": [dim("b"), null],
        "attention_mask": [dim("b"), {"derived": "past + 1", "root": dim("past")}],
        "keys": [cache("past"), cache("past")],
        "values": [cache("pv"), cache("pv")],
    })
}

/// The name of the report, the program and the spec.
fn reports() -> Vec<(&'static str, &'static str, Json)> {
    let frames = json!([between("frames", 2, 100), null]);
    let tables = json!([[dim("batch"), dim("first"), null], [dim("rows"), dim("second"), null]]);
    vec![
        ("bert", "examples/bert.pt2", bert()),
        (
            "detection",
            "tests/data/reports/detection.pt2",
            json!({
                "images": [at_least("batch", 1), null, between("height", 32, 512), between("width", 32, 512)],
                "anchors": [dim("anchors"), null],
            }),
        ),
        ("kv_decode", "tests/data/reports/kv_decode.pt2", kv_decode()),
        (
            "demucs",
            "tests/data/reports/demucs.pt2",
            json!({"mix": [between("batch", 1, 16), null, at_least("samples", 1)]}),
        ),
        (
            "swin",
            "tests/data/reports/swin.pt2",
            json!({"pixel_values": [dim("b"), null, dim("h"), dim("w")]}),
        ),
        (
            "unbacked",
            "tests/data/reports/unbacked.pt2",
            json!({"tokens": [at_least("tokens", 2)], "position": []}),
        ),
        (
            "derived",
            "tests/data/reports/derived.pt2",
            json!({"frames": frames, "labels": [between("pairs", 1, 50), null]}),
        ),
        (
            "nested",
            "tests/data/reports/nested.pt2",
            json!({"batch": {"dense": [dim("batch"), null], "tables": tables}}),
        ),
        (
            "deep",
            "tests/data/reports/deep.pt2",
            json!({"x": [at_least("batch", 1), between("seq", 1, 512), null]}),
        ),
        (
            "clean",
            "tests/data/reports/deep.pt2",
            json!({"x": [between("batch", 1, 64), between("seq", 1, 64), null]}),
        ),
    ]
}

fn check(program: &str, spec: &Json) -> Report {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(program);
    let bytes = std::fs::read(path).expect("a program");
    let name = program.rsplit('/').next().unwrap_or(program);
    let checker = Checker::read(name, &bytes).expect("a program");
    let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
    let mut report = checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report");
    report.timings.clear();
    report
}

/// The report names sizes as the user does, not by the program's symbols.
#[track_caller]
fn speaks_of_no_symbols(report: &Report, text: &str) {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    for word in text.split(|c| !is_word(c)) {
        let symbol = report.symbols.get(word);
        assert!(symbol.is_none_or(|symbol| symbol.dim.as_deref() == Some(word)), "{word} in {text}");
    }
}

#[test]
fn reports_read_as_recorded() {
    for (name, program, spec) in reports() {
        let report = check(program, &spec);
        let text = to_text(&report, Style::default());
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/reports/{name}.txt"));
        if std::env::var_os("SIZEWISE_RECORD").is_some() {
            std::fs::write(&path, &text).expect("a file");
        }
        let recorded = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, recorded, "{name}");
        assert!(text.lines().count() <= 40, "{name} is too long");
        let errors = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && !g.follows);
        for error in errors.clone() {
            assert!(error.location.is_some() && error.code.is_some(), "{name}: {} has no line", error.shown);
            assert!(error.inputs.is_some() && error.consequence.is_some(), "{name}: {}", error.shown);
        }
        for open in report.guards.iter().filter(|g| g.verdict != GuardVerdict::Implied) {
            assert!(open.origin.is_some(), "{name}: {} has no origin", open.shown);
        }
        for open in report.guards.iter().filter(|g| g.verdict == GuardVerdict::Unknown) {
            let settled = open.settled_by.as_deref().unwrap_or_default();
            let expected = "a larger budget (--budget 10), or a maximum for ";
            assert!(settled.starts_with(expected), "{name}: {}: {settled}", open.shown);
        }
        speaks_of_no_symbols(&report, &text);
        if report.verdict == Outcome::Violated {
            let fix = text.lines().position(|line| line.starts_with("fix 1")).expect("a fix");
            assert!(errors.count() < 3 || fix < 15, "{name}: the fix is far down");
            assert!(report.fixes.iter().all(|fix| fix.proved), "{name}");
        }
    }
}

/// The program returns `x[:1]`, whose recorded shape is wrong for an empty `x`; torch runs it.
#[test]
fn a_fix_says_that_it_excludes_shapes_that_run() {
    let report = check("tests/data/reports/first_row.pt2", &json!({"x": [dim("b"), null]}));
    let cost = report.fixes[0].cost.as_deref();
    let expected = "also rejects shapes that run, with other output shapes than recorded, such as x: [0, 3]";
    assert_eq!((report.fixes[0].text.as_str(), cost), ("b = Dim('b', min=1)", Some(expected)));
}

/// A dimension and an input that is a number have one name: the dimension goes by its place.
#[test]
fn a_dimension_and_a_number_of_one_name_are_told_apart() {
    let spec = json!({"x": [between("h", 0, 99)], "h": "AUTO", "w": "AUTO"});
    let report = check("tests/data/programs/symint_two.pt2", &spec);
    let shown: Vec<&str> = report.guards.iter().map(|guard| guard.shown.as_str()).collect();
    assert!(shown.contains(&"x.shape[0] == h*w"), "{shown:?}");
}

/// Without a spec nothing is said of one; numbers that the program returns are shown.
#[test]
fn a_report_speaks_of_what_there_is() {
    let checker =
        Checker::read("numbers", &std::fs::read("tests/data/programs/nn_dlrm.pt2").expect("a file"));
    let report =
        checker.expect("a program").check(None, &Operators::new(), &Budget::default()).expect("a report");
    let text = to_text(&report, Style::default());
    assert!(text.contains("the ranges and guards recorded at export allow shapes that break"), "{text}");
    assert!(!text.contains("your spec"), "{text}");
    let report =
        check("tests/data/programs/pt_namedtuple.pt2", &json!({"n": [[dim("a"), null], [dim("b")]]}));
    let outputs = "outputs: mul f32[a, 3]; n_q f32[b]; sym_size_int_1 int = a\n";
    assert!(to_text(&report, Style::default()).contains(outputs), "{}", to_text(&report, Style::default()));
    assert_eq!(report.outputs[2].value, Some(json!("a")));
}

#[test]
fn where_there_is_no_fix_the_report_says_why_and_what_helps() {
    let program = "tests/data/users/batch_of_one.pt2";
    let table = [
        // A spec that names what the example made static.
        (
            program,
            json!({"x": [between("b", 1, 32), null]}),
            "export again with an example in which it is 2 or more",
        ),
    ];
    for (program, spec, help) in table {
        let report = check(program, &spec);
        assert!(report.help.iter().any(|text| text.contains(help)), "{program}: {:?}", report.help);
    }
}

/// Whether a program refuses inputs of these shapes.
fn refuses(evaluator: &Evaluator, shapes: &Json) -> bool {
    let mut given = Shapes::new();
    for (input, sizes) in shapes.as_object().expect("shapes") {
        let sizes = sizes.as_array().expect("sizes").iter().map(|s| Int::from(s.as_i64().expect("a size")));
        given.insert(input.as_str().into(), Shape::Tensor(sizes.collect()));
    }
    evaluator.evaluate(&given).is_err()
}

/// An input, and which of its dimensions.
type Place = (String, usize);

/// What differs between two sets of shapes: the places, and the two sizes if these are the same at all places.
fn difference(a: &Json, b: &Json) -> Option<(Vec<Place>, i64, i64)> {
    let mut places = Vec::new();
    let mut sizes = None;
    for (input, shape) in a.as_object()? {
        for (at, (x, y)) in shape.as_array()?.iter().zip(b[input].as_array()?).enumerate() {
            let (x, y) = (x.as_i64()?, y.as_i64()?);
            if x != y {
                places.push((input.clone(), at));
                if *sizes.get_or_insert((x, y)) != (x, y) {
                    return None;
                }
            }
        }
    }
    sizes.map(|(x, y)| (places, x, y))
}

/// Where one size differs between the shapes that break a condition and those that work, no size between them works.
#[test]
fn what_works_is_the_nearest_that_works() {
    let mut tried = 0;
    for (name, program, spec) in reports() {
        let report = check(program, &spec);
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(program);
        let checker = Checker::read(program, &std::fs::read(path).expect("a program")).expect("a program");
        let operators = Operators::new();
        let evaluator = checker.evaluator(&operators).expect("an evaluator");
        for guard in
            report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated && !guard.follows)
        {
            let (Some(inputs), Some(works)) = (&guard.inputs, &guard.works) else { continue };
            let (inputs, works) = (json!(inputs), json!(works));
            let Some((places, broken, good)) = difference(&inputs, &works) else { continue };
            let step = if good > broken { 1 } else { -1 };
            assert!(!refuses(&evaluator, &works) && refuses(&evaluator, &inputs), "{name}: {}", guard.shown);
            for size in
                (1..(good - broken).abs()).map(|n| broken + n * step).filter(|&size| size != 0).take(8)
            {
                let mut between = inputs.clone();
                places.iter().for_each(|(input, at)| between[input][*at] = size.into());
                assert!(refuses(&evaluator, &between), "{name}: {}: {between} works", guard.shown);
                tried += 1;
            }
        }
    }
    assert!(tried >= 10, "only {tried} sizes were tried");
}

/// An entry that a spec has forgotten is not blamed on the code: the first fix adds it.
#[test]
fn a_size_that_the_spec_leaves_static_is_given_the_dimension() {
    let ids = json!([between("batch", 2, 8), between("seq", 2, 64)]);
    let table = [
        (json!({"input_ids": ids, "attention_mask": ids}), "token_type_ids", 2),
        (
            json!({"input_ids": ids, "attention_mask": ids, "token_type_ids": [between("batch", 2, 8), null]}),
            "token_type_ids",
            1,
        ),
        (
            json!({"input_ids": ["DYNAMIC", "DYNAMIC"], "attention_mask": {"0": "DYNAMIC"}}),
            "attention_mask",
            3,
        ),
    ];
    for (spec, forgotten, count) in table {
        let report = check("examples/bert.pt2", &spec);
        assert_eq!(report.verdict, Outcome::Violated, "{spec}");
        let blamed = report.guards.iter().filter(|guard| guard.left_static.is_some()).count();
        assert!(blamed > 0, "{spec}");
        let fix = report.fixes.first().expect("a fix");
        let added =
            fix.changes.iter().filter(|change| change.source.as_deref() == Some(change.dim.as_str())).count();
        assert_eq!((added, fix.loses), (count, Some(false)), "{spec}: {}", fix.text);
        assert!(fix.text.contains(&format!("# {forgotten}.shape[1] is ")), "{spec}: {}", fix.text);
        let fixed = check("examples/bert.pt2", fix.spec.as_ref().expect("a spec"));
        assert_eq!(fixed.verdict, Outcome::Ok, "{spec}: {:?}", fix.spec);
        assert!(!report.help.iter().any(|help| help.contains("as a number")), "{spec}: {:?}", report.help);
        let text = to_text(&report, Style::default());
        assert!(text.contains("it has to be equal to"), "{text}");
    }
}

#[test]
fn an_example_breaks_the_condition_that_is_shown() {
    // `x.split(4, 0)[0]` at a size of 3: the guard `(n + 3) // 4 == 1` has a lower and an upper end.
    let report =
        check("tests/data/reports/split_once.pt2", &json!({"x": [{"dim": "n", "min": 0, "max": 9}]}));
    let shown: Vec<&str> =
        report.guards.iter().filter(|guard| guard.inputs.is_some()).map(|guard| &*guard.shown).collect();
    assert!(shown.contains(&"(n + 3) // 4 == 1"), "{shown:?}");
}
