//! What reports say of specs: what is allowed, what the program needs, and what an answer rests on.
use crate::command::with_input;
use crate::text_programs;
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, outline};
use sizewise::ir::{Dtype, Program, pt2};
use sizewise::kernels::Operators;
use sizewise::pass::Tracer;
use sizewise::report::{
    Assumed, Cause, GuardVerdict, Outcome, Report, Style, recorded_because, to_html, to_text,
};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::path::PathBuf;

fn archive(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn check(program: &Program, spec: Option<&str>) -> Report {
    let bytes = pt2::write(program).expect("an archive");
    checked("program", &bytes, spec)
}

fn checked(name: &str, bytes: &[u8], spec: Option<&str>) -> Report {
    let spec = spec.map(|spec| Spec::parse(spec.as_bytes()).expect("a spec"));
    let checker = Checker::read(name, bytes).expect("a program");
    checker.check(spec.as_ref(), &Operators::new(), &Budget::default()).expect("a report")
}

/// A program of `x: [s0, s1]` with guards; `p` and `q` in them are its sizes.
fn guarded(guards: &[&str]) -> Program {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 0, None, 8).expect("a size");
    tracer.size("s1", 0, None, 9).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0", "s1"]).expect("an input");
    let mut program = tracer.finish(&[x]).program;
    let sizes = |guard: &str| guard.replace('p', "L['x'].size()[0]").replace('q', "L['x'].size()[1]");
    program.guards_code.extend(guards.iter().map(|guard| sizes(guard).into()));
    program
}

/// The rows of a report's table.
fn rows(report: &Report) -> Vec<[&str; 3]> {
    report.dimensions.iter().map(|row| [row.dim.as_str(), &row.allows, &row.needs]).collect()
}

/// The rows of programs of `tests/data/shapes`, under specs that say no more than which sizes vary.
#[test]
fn a_shapes_spec_has_a_row_for_each_variable_that_is_too_free() {
    let table: [(&str, &str, &[[&str; 3]]); 7] = [
        (
            "view_product_relation__plain",
            r#"{"vars":{"p":{},"q":{},"r":{}},"params":{"x":["p"],"y":["q","r"]}}"#,
            &[["p", "any size", "q*r"]],
        ),
        (
            "v_square__plain",
            r#"{"vars":{"m":{},"n":{}},"params":{"x":["m","n"]}}"#,
            &[["n", "any size", "equal to m"]],
        ),
        (
            "v_product_const__plain",
            r#"{"vars":{"a":{},"b":{}},"params":{"x":["a","b"]}}"#,
            &[["b", "any size", "a*b == 24"]],
        ),
        (
            "pad_neg__plain",
            r#"{"vars":{"a":{"max":9},"b":{"min":1}},"params":{"x":["a","b"]}}"#,
            &[["b", "1 or more", "3 or more"]],
        ),
        (
            "slice_scatter__plain",
            r#"{"vars":{"x":{},"v":{"min":2}},"params":{"x":["x",null],"v":["v",null]}}"#,
            &[["x", "any size", "x >= v + 2"]],
        ),
        // What works has no table, and neither has a spec under which nothing does.
        ("v_mod_range__plain", r#"{"vars":{"n":{"min":2,"max":100}},"params":{"x":["n"]}}"#, &[]),
        ("v_derived_order__plain", r#"{"vars":{"d":{}},"params":{"x":["d"],"y":["d + 1"]}}"#, &[]),
    ];
    for (name, spec, expected) in table {
        let bytes = std::fs::read(archive("shapes").join(format!("{name}.pt2"))).expect("a program");
        let report = checked(name, &bytes, Some(spec));
        assert_eq!(rows(&report), expected, "{name}");
        let text = to_text(&report, Style::default());
        for [dim, allows, needs] in expected {
            let row = text.lines().find(|line| line.trim_start().starts_with(&format!("{dim} (")));
            let row = row.unwrap_or_else(|| panic!("{name}: no row of {dim}\n{text}"));
            assert!(row.contains(allows) && row.contains(needs), "{row}");
        }
        for row in &report.dimensions {
            assert!(row.source.as_ref().is_some_and(|place| place.contains(".shape[")), "{name}: {row:?}");
        }
    }
}

#[test]
fn a_condition_that_contradicts_the_spec_is_said_to() {
    let bytes = std::fs::read(archive("shapes/v_derived_order__plain.pt2")).expect("a program");
    let never = "no shapes that your spec allows satisfy `d == max(0, d - 1) - 1`";
    let nothing = "the program works for no shapes that your spec allows";
    for (sizes, says) in [("d + 1", never), ("e", never), ("d", nothing)] {
        let spec = json!({"vars": {"d": {}, "e": {}}, "params": {"x": ["d"], "y": [sizes]}});
        let report = checked("program", &bytes, Some(&spec.to_string()));
        assert_eq!(report.verdict, Outcome::Violated, "{sizes}");
        assert!(report.guards.iter().any(|guard| guard.never), "{sizes}");
        let text = to_text(&report, Style::default());
        assert!(text.contains(says) && !text.contains("`False`"), "{text}");
    }
    // What holds in the example contradicts no spec that allows it.
    let program = guarded(&["p*p != 2*p + 3"]);
    let dim = |min: i64, max: i64| json!({"x": [{"dim": "b", "min": min, "max": max}, null]}).to_string();
    let report = check(&program, Some(&dim(2, 9)));
    assert!(report.guards.iter().all(|guard| !guard.never), "{:?}", report.verdict);
}

/// 2^63 - 2 is how torch writes that a size has no end. No stored tensor has so many elements.
#[test]
fn what_only_huge_sizes_break_is_a_remark() {
    let far = "p <= 9223372036854775806";
    let spec = json!({"x": [{"dim": "b", "min": 0}, null]}).to_string();
    let remark = "note: only sizes above 2^40 break `b <= 9223372036854775806`";
    for (guards, errors, is_remark) in
        [(&[far, "p >= 2"][..], 1, true), (&[far], 1, false), (&["p >= 2"], 1, false)]
    {
        let report = check(&guarded(guards), Some(&spec));
        assert_eq!(report.verdict, Outcome::Violated, "{guards:?}");
        let text = to_text(&report, Style::default());
        assert_eq!(text.contains(remark), is_remark, "{text}");
        assert_eq!(text.matches("\nerror[").count(), errors, "{text}");
        assert!(text.ends_with(&format!("violated: {errors} error; 1 fix, proved\n")), "{text}");
    }
    // The fix has the bound, and loses nothing; the table says it shortly.
    let report = check(&guarded(&[far, "p >= 2"]), Some(&spec));
    let fix = report.fixes.first().expect("a fix");
    let expected = ("b = Dim('b', min=2, max=9223372036854775806)", Some(false));
    assert_eq!((fix.text.as_str(), fix.loses), expected);
    assert_eq!(rows(&report), [["b", "any size", "2..2^63 - 2"]]);
}

#[test]
fn a_recorded_comparison_has_no_cause_but_what_the_archive_says() {
    let trace = "the trace compared these sizes, and the export keeps only what the example answers";
    let two = "torch.export takes dynamic sizes to be 2 or more; 0 and 1 are constants to it";
    for (cause, is_contract, says) in [
        (Cause::Specialisation, false, trace),
        (Cause::Branch, false, trace),
        // A range from 2 on is what torch records of each dynamic size.
        (Cause::Specialisation, true, two),
    ] {
        assert_eq!(recorded_because(cause, is_contract, "n // 2 != 1"), says);
        assert!(!says.contains(" or the code") && !says.contains("either"), "{says}");
    }
    let spec = json!({"x": [{"dim": "b", "min": 1, "max": 64}, null]}).to_string();
    let report = check(&guarded(&["p // 2 != 1"]), Some(&spec));
    let text = to_text(&report, Style::default());
    assert!(text.contains(&format!("  because       no operator needs it: {trace}\n")), "{text}");
}

/// A tensor has at most 2^63 - 1 elements: where the maxima of a spec allow more, the answer rests on that.
#[test]
fn an_answer_says_that_inputs_are_no_larger_than_tensors() {
    let spec = |first: Json, second: Json| {
        json!({"x": [{"dim": "a", "min": 1, "max": first}, {"dim": "b", "min": 1, "max": second}]})
            .to_string()
    };
    let (large, most) = (1_i64 << 32, 1_i64 << 31);
    for (first, second, is_assumed) in [
        (json!(large), json!(large), true),
        (json!(large), json!(most - 1), false),
        // Without a maximum a dimension is as large as a tensor is.
        (json!(large), Json::Null, false),
        (json!(64), json!(64), false),
    ] {
        let report = check(&guarded(&[]), Some(&spec(first.clone(), second.clone())));
        assert_eq!((report.verdict, report.assumed), (Outcome::Ok, Assumed::Spec), "{first} {second}");
        let assumed: &[&str] = if is_assumed { &["x has at most 2^63 - 1 elements"] } else { &[] };
        assert_eq!(report.assumed_too, assumed, "{first} {second}");
        let text = to_text(&report, Style::default());
        let line = "works; assumed: x has at most 2^63 - 1 elements\n";
        assert_eq!(text.contains(line), is_assumed, "{text}");
    }
}

/// The conditions of a contract, which are checked at sizes of 0 and more.
#[test]
fn a_contract_has_conditions_in_their_simplest_form() {
    for (guards, expected) in [
        (&["2*(p // 2) == p"][..], &["Eq(Mod(x.shape[0], 2), 0)"][..]),
        (&["p == Min(16, p)"], &["x.shape[0] <= 16"]),
        (&["(p + 3) // 4 == p // 4"], &["Eq(Mod(x.shape[0], 4), 0)"]),
        (&["q >= 2", "p*q == 2*(p // 2)*q"], &["x.shape[1] >= 2", "Eq(Mod(x.shape[0], 2), 0)"]),
        // What may have no value is refused there, and stays as it is.
        (&["(p*q) % (4*q) == 0"], &["Eq(Mod(x.shape[0]*x.shape[1], 4*x.shape[1]), 0)"]),
    ] {
        let bytes = pt2::write(&guarded(guards)).expect("an archive");
        let checker = Checker::read("program", &bytes).expect("a program");
        let operators = Operators::new();
        let set = checker.session(&operators).expect("a session").guard_set().expect("conditions");
        let shown: Vec<String> = set
            .conditions
            .iter()
            .map(|&e| sizewise::expr::print::expression(&set.pool, e))
            .map(|text| text.replace("s0", "x.shape[0]").replace("s1", "x.shape[1]"))
            .collect();
        assert!(expected.iter().all(|text| shown.iter().any(|found| found == text)), "{guards:?}: {shown:?}");
    }
}

/// Bounds over the inputs of a spec say that they are those of fewer, where the program refuses some.
#[test]
fn figures_hold_for_what_the_program_accepts() {
    let program = archive("users/pooled_thrice.pt2");
    let path = program.to_str().expect("a path");
    let spec = |min: u32| {
        format!("dynamic_shapes = {{'x': (Dim('b', min=2, max=8), None, Dim('t', min={min}, max=4000))}}")
    };
    let note = "the program refuses inputs that this spec allows (`sizewise check` names one); the figures hold for those \
                that it accepts";
    for command in [
        &["bounds-of"][..],
        &["plan"],
        &["profile"],
        &["fit", "--memory", "1GB", "--maximize", "t", "--given", "x.0=2"],
    ] {
        for (min, is_noted) in [(2, true), (75, false)] {
            let folder = tempfile::tempdir().expect("a folder");
            let given = folder.path().join("spec.py").to_str().expect("a path").to_owned();
            std::fs::write(&given, spec(min)).expect("a spec");
            let run = |more: &[&str]| {
                let arguments =
                    [&command[..1], &[path, "--spec", given.as_str()], &command[1..], more].concat();
                let (code, text, error) = with_input(&arguments, "");
                assert!(code == 0 && error.is_empty(), "{arguments:?}: {code} {text}{error}");
                text
            };
            let text = run(&[]);
            assert_eq!(text.ends_with(&format!("\nnote: {note}\n")), is_noted, "{command:?}: {text}");
            let json = run(&["--format", "json"]);
            let first = serde_json::Deserializer::from_str(&json).into_iter::<Json>().next();
            let json = first.expect("a document").expect("JSON");
            assert_eq!(json["note"].as_str(), is_noted.then_some(note), "{command:?}: {json}");
        }
    }
}

#[test]
fn an_explanation_ends_with_the_method_that_settles_the_question() {
    for (words, last) in [
        (&["s0 % 8 == 0", "s0 >= 1", "=> s0 >= 8"][..], "    range         a proof"),
        (&["s0*s0 >= 4", "s0 >= 0", "=> s0 >= 2"], "    linear        a proof"),
        (&["s0 >= 3", "=> s0 % 2 == 0"], "    search        a counterexample"),
        (&["s0 >= 3", "s0 <= 2", "=> s0 % 2 == 0"], "the assumptions contradict each other"),
    ] {
        let asked = [&["entail"][..], words].concat();
        let (plain, explained) =
            (with_input(&asked, "").1, with_input(&[&asked[..], &["--explain"]].concat(), "").1);
        let more = explained.strip_prefix(&plain).unwrap_or_else(|| panic!("{explained}"));
        assert!(
            more.starts_with("  explain\n") && more.trim_end().ends_with(last.trim_start()),
            "{explained}"
        );
    }
}

/// The text of a program of blocks of five calls, as a model of many equal layers has them.
fn layers(nodes: usize) -> String {
    let mut lines = Vec::new();
    let mut last = "x".to_owned();
    for at in 0..nodes / 5 {
        let meta = "\"f32[s0, 16]\"";
        let place =
            format!("# File: model.py:{} in forward, code: x = x + self.layers[{at}](x).relu()", 20 + at % 7);
        lines.push(place);
        for (name, call) in [
            ("mul", format!("mul.Tensor({last}, 2)")),
            ("tanh", format!("tanh.default(mul_{at})")),
            ("neg", format!("neg.default(tanh_{at})")),
            ("relu", format!("relu.default(neg_{at})")),
            ("add", format!("add.Tensor(relu_{at}, {last})")),
        ] {
            lines.push(format!("{name}_{at}: {meta} = torch.ops.aten.{call}"));
        }
        last = format!("add_{at}");
    }
    lines.push(format!("return ({last},)"));
    text_programs::module("x: \"f32[s0, 16]\"", &lines)
}

#[test]
fn a_page_of_9500_nodes_is_smaller_than_a_megabyte() {
    let program = text_programs::program(&layers(9_500));
    assert_eq!(program.graph.total_nodes(), 9_500);
    let bytes = pt2::write(&program).expect("an archive");
    for spec in [r#"{"x": [{"dim": "b", "min": 2}, null]}"#, r#"{"x": ["DYNAMIC", "DYNAMIC"]}"#] {
        let report = checked("layers.pt2", &bytes, Some(spec));
        let page = to_html(&report, &outline(&program));
        assert!(report.guards.iter().all(|guard| guard.verdict != GuardVerdict::Unknown), "{spec}");
        // Without a script, too, it lists each node.
        assert!(page.contains("add_1899: float32[s0, 16]") && page.len() < 1_000_000, "{}", page.len());
    }
}
