//! What a report blames: the operator that a guard or an assertion hides, a comparison of torch itself, a relation of the spec;
//! and that conditions of one kind are one error.
use crate::text_programs;
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::ir::{Argument, Dtype, Program, pt2};
use sizewise::kernels::Operators;
use sizewise::pass::Tracer;
use sizewise::report::{GuardReport, GuardVerdict, Outcome, Report, Style, to_text};
use sizewise::solve::Budget;
use sizewise::spec::Spec;

fn check(program: &Program, spec: &Json) -> Report {
    let archive = pt2::write(program).expect("an archive");
    let checker = Checker::read("program", &archive).expect("a program");
    let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
    checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report")
}

/// A program of one tensor with sizes `s0`, `s1` and so on, that calls an operator and checks guards.
fn guarded(sizes: &[i64], calls: &[(&str, &[(&str, Argument)])], guards: &[&str]) -> Program {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    let names: Vec<String> = (0..sizes.len()).map(|at| format!("s{at}")).collect();
    for (name, size) in names.iter().zip(sizes) {
        tracer.size(name, 1, None, *size).expect("a size");
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let x = tracer.tensor("x", Dtype::Float32, &names).expect("an input");
    let results: Vec<_> = calls
        .iter()
        .map(|(op, arguments)| {
            let given = arguments.iter().map(|(name, argument)| (*name, argument.clone()));
            tracer.call(op, [("self", x.into())].into_iter().chain(given)).expect("a result")[0]
        })
        .collect();
    let mut program = tracer.finish(&results).program;
    program.guards_code = guards.iter().map(|guard| (*guard).into()).collect();
    program
}

/// A spec of one tensor whose dimensions have names.
fn named(names: &[&str]) -> Json {
    json!({"x": names.iter().map(|name| json!({"dim": name, "min": 1, "max": 64})).collect::<Vec<_>>()})
}

/// The errors that are none of others.
fn own(report: &Report) -> Vec<&GuardReport> {
    let own = |guard: &&GuardReport| guard.verdict == GuardVerdict::Violated && !guard.follows;
    report.guards.iter().filter(own).collect()
}

const BOTH_ENDS: [(&str, &[(&str, Argument)]); 2] = [
    (
        "aten.slice.Tensor",
        &[("dim", Argument::Int(0)), ("start", Argument::Int(0)), ("end", Argument::Int(10))],
    ),
    ("aten.select.int", &[("dim", Argument::Int(0)), ("index", Argument::Int(9))]),
];

#[test]
fn the_end_of_a_slice_and_what_an_operator_needs_there_are_one_error() {
    let program = guarded(&[12], &BOTH_ENDS, &["L['x'].size()[0] != 10"]);
    let report = check(&program, &named(&["n"]));
    let errors = own(&report);
    let shown: Vec<&str> = errors.iter().map(|error| error.shown.as_str()).collect();
    assert_eq!(shown, ["n >= 11"]);
    assert_eq!(errors[0].op.as_deref(), Some("aten.slice.Tensor"));
    let beside = errors[0].beside.as_deref().expect("what the operator needs");
    assert!(beside.starts_with("`n >= 10` is needed by select = aten.select.int"), "{beside}");
    let text = to_text(&report, Style::default());
    assert!(
        text.contains("because       torch compares the end of a slice with the size that it cuts"),
        "{text}"
    );
    assert!(text.contains("  besides       `n >= 10`"), "{text}");
    // A guard that no slice of the program asks for is not said to come from one.
    let program = guarded(&[12], &BOTH_ENDS[..1], &["L['x'].size()[0] != 7"]);
    let report = check(&program, &named(&["n"]));
    assert!(own(&report).iter().all(|error| error.op.is_none()), "{:?}", own(&report));
}

#[test]
fn an_operator_that_refuses_the_example_is_named_where_only_a_guard_is_recorded() {
    let unshuffled = |guards: &[&str]| {
        let calls: [(&str, &[(&str, Argument)]); 1] =
            [("aten.pixel_unshuffle.default", &[("downscale_factor", Argument::Int(2))])];
        guarded(&[3, 6, 8], &calls, guards)
    };
    let [h, w] = ["L['x'].size()[1]", "L['x'].size()[2]"];
    let counted = format!("4*({h} // 2)*({w} // 2) == {h}*{w}");
    let report = check(&unshuffled(&[&counted]), &named(&["c", "h", "w"]));
    for error in own(&report) {
        assert_eq!(error.op.as_deref(), Some("aten.pixel_unshuffle.default"), "{}", error.shown);
        let then = error.consequence.as_deref().expect("what happens");
        assert!(then.starts_with("pixel_unshuffle fails: "), "{then}");
    }
    // Where all operators take the example, nothing is said to need the condition but the export.
    let report = check(&unshuffled(&[&format!("{h} != 4")]), &named(&["c", "h", "w"]));
    let kept: Vec<_> = own(&report).into_iter().filter(|error| error.unneeded).collect();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].origin.as_deref().is_some_and(|says| says.contains("no operator needs it")), "{kept:?}");
}

#[test]
fn an_assertion_that_an_operator_needs_names_the_operator() {
    let lines = |divisor: i64| {
        [
            "n: \"Sym(s0)\" = torch.ops.aten.sym_size.int(x, 0)".to_owned(),
            format!("rest: \"Sym(Mod(s0, {divisor}))\" = n % {divisor}"),
            "even: \"Sym(Eq(Mod(s0, 2), 0))\" = rest == 0".replace("2)", &format!("{divisor})")),
            "check = torch.ops.aten._assert_scalar.default(even, \"not even\")".to_owned(),
            "y: \"f32[s0//2, 2]\" = torch.ops.aten.view.default(x, [-1, 2])".to_owned(),
            "return (y,)".to_owned(),
        ]
    };
    let program = |divisor| text_programs::program(&text_programs::module("x: \"f32[s0]\"", &lines(divisor)));
    let spec = json!({"x": [{"dim": "n", "min": 1, "max": 64}]});
    let even = check(&program(2), &spec);
    let errors = own(&even);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].op.as_deref(), Some("aten.view.default"), "{errors:?}");
    // View takes a size of 6, which is no multiple of 4: that only the program asserts.
    let fours = check(&program(4), &spec);
    let errors = own(&fours);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].node.as_deref(), Some("check"), "{errors:?}");
}

#[test]
fn a_relation_that_the_spec_gets_wrong_is_put_right_first() {
    let operators = Operators::new();
    let mut tracer = Tracer::new(&operators);
    tracer.size("s0", 1, None, 4).expect("a size");
    let x = tracer.tensor("x", Dtype::Float32, &["s0"]).expect("an input");
    let y = tracer.tensor("y", Dtype::Float32, &["2*s0"]).expect("an input");
    let program = tracer.finish(&[x, y]).program;
    let root = json!({"dim": "d", "min": 2, "max": 20});
    for (y, says) in [
        (json!({"derived": "d + 4", "root": root}), "d + 4"),
        (json!({"derived": "3*d - 4", "root": root}), "3*d - 4"),
    ] {
        let report = check(&program, &json!({"x": [root], "y": [y]}));
        let relation = own(&report)[0].relation.as_ref().expect("a relation");
        let said = [&*relation.size, &*relation.says, &*relation.needs];
        assert_eq!(said, ["y.shape[0]", says, "2*d"]);
        let title = format!(
            "error[guard-not-implied]: your spec makes y.shape[0] `{says}`, and the program needs `2*d`: "
        );
        let text = to_text(&report, Style::default());
        assert!(text.contains(&title), "{text}");
        let (first, second) = (&report.fixes[0], &report.fixes[1]);
        assert!(
            first.proved && first.text.ends_with("dynamic_shapes = {'x': [d], 'y': [2*d]}"),
            "{}",
            first.text
        );
        assert_eq!(check(&program, first.spec.as_ref().expect("a spec")).verdict, Outcome::Ok);
        assert!(
            second.text == "d = 4"
                && second.cost.as_deref().is_some_and(|cost| cost.contains("fix 1 serves more"))
        );
        let rows: Vec<_> =
            report.dimensions.iter().map(|row| (row.dim.as_str(), row.needs.as_str())).collect();
        assert_eq!(rows, [("y.shape[0]", "2*d")]);
    }
    // A size that has no part in what is wrong keeps its relation.
    let right = json!({"x": [root], "y": [{"derived": "2*d", "root": root}]});
    assert_eq!(check(&program, &right).verdict, Outcome::Ok);
}

#[test]
fn conditions_that_differ_in_the_size_alone_are_gathered() {
    let guards = ["L['x'].size()[0] >= 3", "L['x'].size()[1] >= 3", "L['x'].size()[2] >= 4"];
    let report = check(&guarded(&[5, 6, 7], &[], &guards), &named(&["a", "b", "c"]));
    let text = to_text(&report, Style::default());
    assert!(text.contains("break `a >= 3`, and `b >= 3`\n"), "{text}");
    assert!(text.contains("break `c >= 4`\n"), "{text}");
}
