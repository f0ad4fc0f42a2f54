//! Why dimensions are static or restricted, what codes mean, and violations in torch's words.
#![cfg(feature = "cli")]
use assert_cmd::Command;
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::kernels::{Operators, conditions};
use sizewise::report::{Explanation, Keeper, Report, to_torch};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use sizewise::{onnx_model, propagate};
use std::collections::BTreeSet;
use std::path::PathBuf;

fn program(name: &str) -> PathBuf {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let path = data.join(format!("programs/{name}.pt2"));
    if path.exists() { path } else { data.join(format!("users/{name}.pt2")) }
}

fn checker(name: &str) -> Checker {
    Checker::read(name, &std::fs::read(program(name)).expect("a program")).expect("a program")
}

fn explain(name: &str, dim: &str) -> Explanation {
    let checker = checker(name);
    let dimension = checker.dimension(dim).expect("a dimension");
    checker.explain(&dimension, &Operators::new(), &Budget::default()).expect("an explanation")
}

fn check(name: &str, spec: &Json) -> Report {
    let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
    checker(name).check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report")
}

/// The conditions of one reason, each with the node that needs it.
type Reason = [(&'static str, Option<&'static str>)];

#[test]
fn what_forces_a_dimension_is_named_with_nothing_that_is_not_needed() {
    // Program, dimension, whether it is static, and the conditions of each reason with the nodes that need them.
    let table: &[(&str, &str, bool, &[&Reason])] = &[
        ("v_flatten_linear", "x.shape[1]", true, &[&[("x.shape[1] == 3", Some("linear"))]]),
        ("v_flatten_linear", "x.shape[2]", true, &[&[("x.shape[2] == 4", Some("linear"))]]),
        ("v_static_vs_dim", "y.shape[0]", true, &[&[("y.shape[0] == 4", None)]]),
        ("v_add_unequal_range", "x.0", false, &[&[("x.shape[0] == y.shape[0]", None)]]),
        // Nothing in the graph needs it.
        ("v_static_vs_dim", "x.shape[0]", true, &[]),
        ("v_flatten_linear", "x.shape[0]", false, &[]),
    ];
    for (name, dim, is_static, reasons) in table {
        let explanation = explain(name, dim);
        let found: Vec<Vec<(&str, Option<&str>)>> = explanation
            .reasons
            .iter()
            .map(|reason| reason.iter().map(|c| (c.shown.as_str(), c.node.as_deref())).collect())
            .collect();
        assert_eq!(explanation.is_static, *is_static, "{name} {dim}");
        assert_eq!(found, *reasons, "{name} {dim}");
    }
    assert!(explain("v_static_vs_dim", "x.shape[0]").also_taken.is_some(), "another size is taken");
}

#[test]
fn conditions_say_which_sizes_they_cost() {
    let explanation = explain("v_unflatten", "x.shape[0]");
    let costs: Vec<&str> = explanation.restrictions.iter().filter_map(|c| c.excludes.as_deref()).collect();
    assert!(costs.iter().any(|cost| cost.starts_with("1, 2, 3, 4, ...")), "{costs:?}");
}

#[test]
fn the_command_answers_and_says_what_it_does_not_know() {
    let run = |args: &[&str]| {
        let output = Command::cargo_bin("sizewise").expect("the program").args(args).output().expect("a run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let path = program("v_flatten_linear");
    let path = path.to_str().expect("a path");
    let (status, out, _) = run(&["explain", path, "--dim", "x.1"]);
    assert_eq!(status, Some(0));
    assert!(out.contains("x.shape[1] is static: 3") && out.contains("linear = aten.linear.default"), "{out}");
    let (status, out, _) = run(&["explain", path, "--format", "json"]);
    let all: Json = serde_json::from_str(&out).expect("JSON");
    assert_eq!((status, all.as_array().map(Vec::len)), (Some(0), Some(3)));
    let (status, out, _) = run(&["explain", "guard-not-implied"]);
    assert!(status == Some(0) && out.contains("Your spec allows shapes"), "{out}");
    let (status, out, _) = run(&["explain", "search.C10"]);
    for part in ["can be viewed in 1 dimension", "aten.isin.Scalar_Tensor, aten.isin.Tensor_Tensor\n"] {
        assert!(status == Some(0) && out.contains(part), "{out}");
    }
    let says = "Gather.C2\n  A condition on the operands of an operator:\n  \
                `indices` are within the dimension `axis` of `data`.\n  \
                For example, it refuses Gather-7(f32[3,4,5], i64[2] = [0,3], axis = 0)\n  \
                A report that names it says which node needs it.\n";
    let (status, out, _) = run(&["explain", "Gather.C2"]);
    assert_eq!((status, out.as_str()), (Some(0), says));
    let (status, out, _) = run(&["explain", "sdpa.nothing"]);
    assert!(status == Some(0) && out.contains("one way or another by the sizes of its operands"), "{out}");
    let wrong: &[(&[&str], i32, &str)] = &[
        (&["explain", "search.C99"], 3, "no operator is known to refuse a call by this condition"),
        (&["spec", "show", "no-such-file.pt2"], 3, "no-such-file.pt2"),
        (&["spec", "show", "no-such-file.py"], 2, "no-such-file.py"),
        (&["explain", path, "--dim", "x.7"], 2, "no input has the dimension `x.7`; there are x.shape[0]"),
        (&["explain", path, "--dim", "nothing"], 2, "no input has the dimension `nothing`"),
        (&["explain", "no-such-code"], 3, "guard-not-implied"),
        (&["guards", "no-such-file.pt2"], 3, "no-such-file.pt2"),
    ];
    for (args, status, message) in wrong {
        let (found, _, said) = run(args);
        assert_eq!(found, Some(*status), "{args:?}: {said}");
        assert!(said.contains(message), "{args:?}: {said}");
    }
}

/// Conditions have codes of their own, and each says what it is in a sentence.
#[test]
fn conditions_are_sentences_with_codes_of_their_own() {
    let all = conditions().chain(onnx_model::conditions()).chain(propagate::conditions());
    let mut codes = BTreeSet::new();
    for clause in all {
        assert!(codes.insert(clause.code), "{} is the code of two conditions", clause.code);
        let starts =
            clause.says.starts_with(|c: char| !c.is_lowercase()) || clause.says.starts_with("onnxruntime");
        assert!(
            starts && clause.says.ends_with('.') && clause.says.len() > 5,
            "{}: {}",
            clause.code,
            clause.says
        );
    }
    assert!(codes.len() > 1_500, "{}", codes.len());
}

#[test]
fn violations_in_torchs_words() {
    let dim = |name: &str, max: Option<u32>| json!({"dim": name, "min": 0, "max": max});
    let marked = "If you're using mark_dynamic, either remove it or use maybe_mark_dynamic. If you're using Dim.DYNAMIC, \
                  replace it with either Dim.STATIC or Dim.AUTO.";
    let table = [
        (
            "v_static_vs_dim",
            json!({"x": ["STATIC"], "y": [dim("dy", None)]}),
            format!(
                "Constraints violated (dy)! For more information, run with TORCH_LOGS=\"+dynamic\".\n  - You marked dy as dynamic but \
                 your code specialized it to be a constant (4). {marked}\nSuggested fixes:\n  dy = 4\n"
            ),
        ),
        (
            "v_unflatten",
            json!({"x": [dim("n", None), null]}),
            "Suggested fixes:\n  _n = Dim('_n', min=2)\n  n = 5*_n\n".to_string(),
        ),
        (
            "v_add_unequal_range",
            json!({"x": [dim("a", Some(8))], "y": [dim("b", None)]}),
            "  - The values of b = L['y'].size()[0] and a = L['x'].size()[0] must always be equal.\n"
                .to_string(),
        ),
    ];
    for (name, spec, text) in table {
        let report = check(name, &spec);
        let said = to_torch(&report);
        assert!(said.contains(&text), "{name}:\n{said}\nexpected\n{text}");
    }
}

#[test]
fn the_ledger_says_what_keeps_each_assumption() {
    let report =
        checker("item_with_checks").check(None, &Operators::new(), &Budget::default()).expect("a report");
    let kept = |keeper: Keeper| report.ledger.iter().filter(|entry| entry.kept_by == keeper).count();
    assert!(kept(Keeper::Assertion) >= 2, "{:?}", report.ledger);
    assert_eq!(kept(Keeper::Nothing), 0, "{:?}", report.ledger);
    let of_guards = check("v_unflatten", &json!({"x": [{"dim": "n", "min": 0, "max": null}, null]}));
    assert!(of_guards.ledger.iter().any(|entry| entry.kept_by == Keeper::Guard), "{:?}", of_guards.ledger);
}

fn stored(options: &[&str]) -> (bool, String, String) {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/programs/beam_flatten.pt2");
    let output = assert_cmd::Command::cargo_bin("sizewise")
        .expect("the program")
        .args(["explain", program, "--store"])
        .args(options)
        .output()
        .expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_store_is_shown_as_the_manual_shows_it() {
    let manual = include_str!("../docs/store.md");
    let (done, shown, _) = stored(&[]);
    assert!(done && shown.contains("Classes of equal sizes\n"), "{shown}");
    let indented =
        shown.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("    {line}\n") });
    assert!(manual.contains(&indented.collect::<String>()), "{shown}");
}

#[test]
fn the_store_says_of_each_equality_and_condition_why_it_holds() {
    let (done, text, _) = stored(&["--format", "json"]);
    let store: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert!(done && store["contradictory"] == false, "{text}");
    let classes = store["classes"].as_array().expect("classes");
    let of = |member: &str| classes.iter().find(|c| c["members"][0] == member).expect(member);
    assert_eq!(of("x.shape[1]")["values"], "at least 4");
    let product = of("x.shape[0]*x.shape[1]");
    assert_eq!(product["members"][1], "k.shape[0]*x.shape[0]*(x.shape[1] // k.shape[0])");
    assert_eq!(product["joined"][0]["because"], "the equations make one of the other");
    let holds = store["holds"].as_array().expect("conditions");
    let nonzero = holds.iter().find(|h| h["shown"] == "k.shape[0] != 0").expect("a divisor");
    assert_eq!(
        nonzero["because"],
        "k.shape[0]*x.shape[0]*(x.shape[1] // k.shape[0]) == x.shape[0]*x.shape[1]"
    );
}

#[test]
fn the_store_is_of_the_whole_program() {
    let (done, _, error) = stored(&["--dim", "x.0"]);
    assert!(!done && error.contains("'--store' cannot be used with '--dim <DIM>'"), "{error}");
}
