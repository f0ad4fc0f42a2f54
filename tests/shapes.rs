//! Programs that torch 2.15 exported under ShapesSpecs, and what it did with inputs of many shapes:
//! `tests/data/shapes`.
use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, Shapes};
use sizewise::expr::{Int, Pool, Value as Number, read};
use sizewise::kernels::Operators;
use sizewise::report::{GuardReport, GuardVerdict, Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Language, Shape, Spec};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A program with its spec and the recorded runs.
struct Case {
    name: String,
    checker: Checker,
    spec: Spec,
    torch_json: Json,
    runs: Vec<Json>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/shapes")
}

pub fn program(name: &str) -> Checker {
    let bytes = std::fs::read(folder().join(format!("{name}.pt2"))).expect("a program");
    Checker::read(name, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn python(text: &str) -> Result<Spec, String> {
    let text = format!("from torch.fx.experimental.dynamic_spec import *\n{text}");
    Spec::parse(text.as_bytes()).map_err(|error| error.to_string())
}

fn cases() -> Vec<Case> {
    let lines =
        BufReader::new(GzDecoder::new(File::open(folder().join("runs.jsonl.gz")).expect("the runs"))).lines();
    lines
        .map(|line| {
            let record: Json = serde_json::from_str(&line.expect("text")).expect("JSON");
            let name = record["name"].as_str().expect("a name").to_string();
            let spec = python(record["spec"].as_str().expect("a spec"))
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            let runs = record["runs"].as_array().cloned().unwrap_or_default();
            Case { checker: program(&name), name, spec, torch_json: record["spec_json"].clone(), runs }
        })
        .collect()
}

pub fn check(checker: &Checker, spec: Option<&Spec>) -> Report {
    checker.check(spec, &Operators::new(), &Budget::default()).expect("a report")
}

fn int(json: &Json) -> Int {
    Int::from(json.as_i64().expect("an integer"))
}

fn inputs(run: &Json) -> Shapes {
    let tensor = |(name, sizes): (&String, &Json)| {
        let sizes = sizes.as_array().expect("sizes").iter().map(int).collect();
        (name.as_str().into(), Shape::Tensor(sizes))
    };
    let number =
        |(name, value): (&String, &Json)| (name.as_str().into(), Shape::Scalar(Number::Int(int(value))));
    let tensors = run["shapes"].as_object().into_iter().flatten().map(tensor);
    tensors.chain(run["scalars"].as_object().into_iter().flatten().map(number)).collect()
}

/// Whether conditions on the variables of a spec hold at the values of a run.
fn hold(conditions: &[String], run: &Json) -> bool {
    conditions.iter().all(|text| {
        let mut pool = Pool::new();
        let e = read::closed(&mut pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr;
        let value = |s| run["at"].get(pool.symbol_name(s)).map(|value| Number::Int(int(value)));
        pool.eval(e, value).is_ok_and(|value| value.as_bool())
    })
}

#[test]
fn what_runs_is_accepted_with_its_shapes_and_what_fails_is_refused() {
    let operators = Operators::new();
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases() {
        let evaluator = case.checker.evaluator(&operators).expect("a contract");
        for run in &case.runs {
            let result = evaluator.evaluate(&inputs(run));
            compared += 1;
            if result.is_ok() != run["ran"].as_bool().expect("whether it ran") {
                wrong.push(format!("{} at {}: {:?}", case.name, run["at"], result.err().map(|r| r.message)));
            }
        }
    }
    assert!(compared > 1000, "{compared}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_verdict_contradicts_no_run() {
    let mut ok = 0;
    for case in cases() {
        let report = check(&case.checker, None);
        let crashes = case.runs.iter().any(|run| run["ran"] == false && run["asserted"] == false);
        assert!(!(crashes && report.verdict == Outcome::Ok), "{}: its contract", case.name);
        // What the inputs' sizes decide is no matter of data.
        let shown: Vec<&str> = report.runtime_asserts.iter().map(|assert| assert.expr.as_str()).collect();
        assert!(shown.iter().all(|text| has_data(text)), "{}: {shown:?}", case.name);

        let report = check(&case.checker, Some(&case.spec));
        let fails = case.runs.iter().any(|run| run["in_spec"] == true && run["ran"] == false);
        assert!(!(fails && report.verdict == Outcome::Ok), "{}: its spec", case.name);
        // Some assumptions contradict a range.
        let runs = case.runs.iter().any(|run| run["in_spec"] == true);
        assert!(!runs || report.verdict != Outcome::Invalid, "{}: {:?}", case.name, report.diagnostics);
        ok += usize::from(report.verdict == Outcome::Ok);
        let same = Spec::parse(case.torch_json.to_string().as_bytes()).expect("what torch writes");
        assert_eq!(
            check(&case.checker, Some(&same)).verdict,
            report.verdict,
            "{}: as torch writes it",
            case.name
        );
    }
    assert!(ok > 20, "{ok}");
}

/// Whether a condition has a symbol that is no size of an input: `u3`.
fn has_data(text: &str) -> bool {
    let word = |c: char| c == '_' || c == '.' || c.is_alphanumeric();
    text.split(|c| !word(c))
        .any(|word| word.strip_prefix('u').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit())))
}

#[test]
fn a_violated_spec_has_an_exact_fix() {
    let mut exact = 0;
    for case in cases() {
        let report = check(&case.checker, Some(&case.spec));
        let inside = || case.runs.iter().filter(|run| run["in_spec"] == true);
        if report.verdict != Outcome::Violated || !inside().any(|run| run["ran"] == true) {
            continue;
        }
        let fix = report.fixes.first().unwrap_or_else(|| panic!("{}: no fix", case.name));
        assert!(!report.dimensions.is_empty(), "{}: no table", case.name);
        assert!(!fix.assumptions.is_empty() && fix.proved, "{}: {fix:?}", case.name);
        for run in inside() {
            let kept = hold(&fix.assumptions, run);
            assert!(
                !kept || run["ran"] == true,
                "{}: {:?} lets {} pass",
                case.name,
                fix.assumptions,
                run["at"]
            );
            exact += usize::from(kept == (run["ran"] == true));
        }
        // The fixed spec, as JSON and as Python.
        let fixed = Spec::parse(fix.spec.as_ref().expect("a spec").to_string().as_bytes()).expect("a spec");
        assert_eq!(check(&case.checker, Some(&fixed)).verdict, Outcome::Ok, "{}", case.name);
        let again = Spec::parse(fixed.to_python().as_bytes())
            .unwrap_or_else(|error| panic!("{}: {error}", case.name));
        assert_eq!(
            check(&case.checker, Some(&again)).verdict,
            Outcome::Ok,
            "{}: {}",
            case.name,
            fixed.to_python()
        );
    }
    assert!(exact > 300, "{exact}");
}

#[test]
fn containers_keep_their_classes() {
    let checker = program("pt_dataclass__plain");
    let any =
        r#"{"vars": {"b": {}, "c": {}}, "params": {"p": {"a": ["b", null, null], "b": ["c", null, null]}}}"#;
    let any = Spec::parse(any.as_bytes()).expect("a spec");
    let widest = checker.widest_spec(Some(Language::Shapes), &Operators::new(), &Budget::default());
    let widest = widest.expect("a report").expect("a spec");
    assert!(
        widest.is_proved && widest.spec.to_python().contains("ObjectSpec({"),
        "{}",
        widest.spec.to_python()
    );
    let report = check(&checker, Some(&any));
    let code = report.fixes[0].code.as_deref().expect("Python");
    assert!(code.contains("ObjectSpec({") && !code.contains("DictSpec"), "{code}");
}

#[test]
fn a_counterexample_is_small_where_a_small_one_will_do() {
    let mut shown = 0;
    for case in cases() {
        let report = check(&case.checker, Some(&case.spec));
        let violated = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && !g.follows);
        for guard in violated {
            let Some(witness) = &guard.witness else { continue };
            let numbers =
                guard.expr.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse::<i64>().ok());
            let most = 300.max(2 * numbers.max().unwrap_or(0).min(1 << 60));
            let small = witness.values().all(|v| v.as_i64().is_some_and(|v| v <= most));
            assert!(small, "{}: {} at {witness:?}", case.name, guard.shown);
            shown += 1;
        }
    }
    assert!(shown > 20, "{shown}");
}

#[test]
fn a_spec_under_which_nothing_works_has_no_fix_and_says_so() {
    // `x[1:] + y` where `y` is one longer than `x`.
    let checker = program("v_derived_order__plain");
    let spec = python(
        "d = ShapeVar('d')\ndynamic_shapes = ShapesSpec({'x': TensorSpec([d]), 'y': TensorSpec([d + 1])})",
    );
    let report = check(&checker, Some(&spec.expect("a spec")));
    assert_eq!(report.verdict, Outcome::Violated);
    assert!(report.fixes.is_empty(), "{:?}", report.fixes);
    assert!(report.diagnostics.iter().any(|d| d.code == "nothing-works"), "{:?}", report.diagnostics);
    assert!(report.help[0].starts_with("no fix: at no size that the spec allows"), "{:?}", report.help);
}

#[test]
fn a_spec_is_read_back_as_it_was_written() {
    for case in cases() {
        let own = case.spec.to_json();
        let read = Spec::parse(own.to_string().as_bytes()).unwrap_or_else(|error| panic!("{own}: {error}"));
        assert_eq!(read.to_json(), own);
        let python = case.spec.to_python();
        let read = Spec::parse(python.as_bytes()).unwrap_or_else(|error| panic!("{python}: {error}"));
        assert_eq!(read.to_python(), python);
    }
    for assumption in [
        "n >= b + 1",
        "b*n <= 40",
        "(n + b) % 4 == 0",
        "3*n == 2*b",
        "torch.sym_max(n, torch.sym_min(b, 3)) - 2*b >= 4",
        "(n == 2) | (b % 3 == 1)",
        "3 <= n - b",
        "torch.sym_not(n + b == 7)",
        "-n + b <= 3",
        "5 - (n - b) >= b",
        "n // 2*2 == n",
        "(-n) % 4 == 0",
        "(n & 1) == 0",
        "n**2 > b",
    ] {
        let text = format!(
            "n = ShapeVar('n')\nb = ShapeVar('b')\ndynamic_shapes = ShapesSpec({{'x': TensorSpec([n, b])}}, assumptions=[{assumption}])"
        );
        let spec = python(&text).expect("a spec");
        let shown = spec.to_python();
        assert!(
            shown.contains(&format!("assumptions=[{assumption}],")),
            "{assumption} is written as {shown}"
        );
        let own = Spec::parse(spec.to_json().to_string().as_bytes()).expect("its JSON");
        assert!(own.to_python().contains(&format!("assumptions=[{assumption}],")), "{assumption} in JSON");
    }
}

#[test]
fn what_args_and_kwargs_take_is_written_as_torch_binds_it() {
    let operators = Operators::new();
    for (name, params, given) in [
        (
            "takes_args_kwargs",
            "'x': TensorSpec([x_0]),\n        '*args': [TensorSpec([args_0_0]), None],\n        'k': None,\n        'u': TensorSpec([u_0]),",
            "{'x': TensorSpec([a]), '*args': [TensorSpec([b])], '**kwargs': {'u': TensorSpec([c])}}",
        ),
        (
            "takes_xs",
            "'*args': [TensorSpec([xs_0_0]), TensorSpec([xs_1_0])],",
            "{'*args': [TensorSpec([a]), TensorSpec([b])]}",
        ),
    ] {
        let checker = program(name);
        let spec = checker.recorded_spec(None, &operators).expect("a spec");
        assert!(spec.to_python().contains(params), "{}", spec.to_python());
        assert_eq!(check(&checker, Some(&spec)).verdict, Outcome::Ok, "{name}");
        let text = format!(
            "a, b, c = ShapeVar('a', min=2), ShapeVar('b', min=2), ShapeVar('c', min=2)\ndynamic_shapes = ShapesSpec({given})"
        );
        let report = check(&checker, Some(&python(&text).expect("a spec")));
        assert_eq!(report.verdict, Outcome::Ok, "{name}: {:?}", report.diagnostics);
    }
}

#[test]
fn a_contract_is_what_its_assertions_refuse() {
    // No row gives no indices, whatever the data are, and the program asserts three.
    assert_eq!(check(&program("ub_nonzero_check__plain"), None).verdict, Outcome::Ok);
    // Without an example, layouts go by sizes that are large and differ, and small ones are cases.
    assert_eq!(check(&program("op_mha_core__plain"), None).verdict, Outcome::Ok);
}

#[test]
fn what_a_fix_gives_up_is_said() {
    // The program runs where the size is 1, with a dimension less than it records.
    let case =
        cases().into_iter().find(|case| case.name == "squeeze_dim_dynamic__plain").expect("the program");
    let report = check(&case.checker, Some(&case.spec));
    let violated = |guard: &&GuardReport| guard.verdict == GuardVerdict::Violated;
    let guard = report.guards.iter().find(violated).expect("a condition");
    let said = guard.consequence.as_deref().expect("what happens");
    assert_eq!(said, "an output has the shape [4, 8], recorded as [4, 1, 8]");
    let cost = report.fixes[0].cost.as_deref().expect("a cost");
    assert!(cost.starts_with("also rejects shapes that run, with other output shapes"), "{cost}");
    assert_eq!(report.fixes[0].loses, Some(true));
}

#[test]
fn scripts_are_read_with_the_names_that_they_give() {
    let expected = python("b = ShapeVar('b', min=2)\ndynamic_shapes = ShapesSpec({'x': TensorSpec([b, 2*b])}, assumptions=[b % 4 == 0])")
        .expect("a spec")
        .to_python();
    for text in [
        "import torch.fx.experimental.dynamic_spec as ds\nVAR = ds.ShapeVar\nb = VAR('b', min=2)\n\
         dynamic_shapes = ds.ShapesSpec(params=ds.ParamsSpec({'x': ds.TensorSpec([b, 2 * b])}), assumptions=[b % 4 == 0])\n",
        "from torch.fx.experimental.dynamic_spec import ShapeVar as VAR, TensorSpec as T, ShapesSpec\nb: VAR = VAR('b', min=2)\n\
         ep = torch.export.export(M(), (torch.randn(8, 3),), dynamic_shapes=ShapesSpec({'x': T((b, (2*b)))}, assumptions=((b % 4) == 0,)))\n",
        "from torch.fx.experimental.dynamic_spec import *\nb = ShapeVar('b', min=2)\nclass M(torch.nn.Module):\n    \
         @dynamic_spec(ShapesSpec(ParamsSpec({'x': TensorSpec([b, 2*b])}), assumptions=[b % 4 == 0]))\n    def forward(self, x):\n        return x\n",
    ] {
        let spec = Spec::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(spec.to_python(), expected, "{text}");
    }
}

#[test]
fn what_torch_writes_may_not_say_which_variable_it_means() {
    let dim =
        |max: Json| json!({"type": "ShapeVar", "name": "b", "min": 0, "max": max, "optimization_hint": null});
    let spec = |dims: Json, assumption: &str| {
        let params = json!({"type": "ParamsSpec", "params": {"x": {"type": "TensorSpec", "dims": dims}}});
        json!({"type": "ShapesSpec", "params": params, "assumptions": [assumption]})
    };
    let read = |json: Json| match Spec::parse(json.to_string().as_bytes()) {
        Ok(spec) => spec.to_json().to_string(),
        Err(error) => error.to_string(),
    };
    let one = spec(json!([dim(Json::Null), dim(Json::Null)]), "Eq(Mod(b#3, 2), 0)");
    assert_eq!(
        read(one),
        r#"{"assumptions":["Eq(Mod(b, 2), 0)"],"params":{"x":["b","b"]},"vars":{"b":{"max":null,"min":0}}}"#
    );
    let two = spec(json!([dim(json!(4)), dim(json!(8))]), "b#3 > 2");
    assert!(read(two).starts_with("assumptions[0]: `b#3` is one of several variables called b"));
    let anonymous =
        json!({"type": "ShapeVar", "name": "anon", "min": 0, "max": null, "optimization_hint": null});
    let read = read(spec(json!([anonymous, anonymous]), "True"));
    assert!(read.contains(r#""x":["anon","anon_1"]"#), "{read}");
}

/// The commands of a manual page with what they print.
#[cfg(feature = "cli")]
#[test]
fn the_manual_shows_what_the_commands_print() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/dim_or_shapes.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut written = String::new();
    let mut rest = page.as_str();
    let mut commands = 0;
    while let Some(at) = rest.find("```console\n$ sizewise ") {
        let start = at + "```console\n$ sizewise ".len();
        let line = rest[start..].lines().next().expect("a command");
        let end = start + rest[start..].find("```").expect("the end of a block");
        let mut command = assert_cmd::Command::cargo_bin("sizewise").expect("the program is built");
        let output =
            command.current_dir(env!("CARGO_MANIFEST_DIR")).args(line.split(' ')).output().expect("it runs");
        let shown = String::from_utf8(output.stdout).expect("text");
        written.push_str(&format!("{}{line}\n{}\n", &rest[..start], shown.trim_end()));
        rest = &rest[end..];
        commands += 1;
    }
    written.push_str(rest);
    if std::env::var_os("SIZEWISE_WRITE_DOCS").is_some() {
        std::fs::write(&path, &written).expect("the page is written");
    }
    assert_eq!(commands, 4);
    assert!(
        page == written || std::env::var_os("SIZEWISE_WRITE_DOCS").is_some(),
        "docs/dim_or_shapes.md is stale: SIZEWISE_WRITE_DOCS=1 cargo test --test tests shapes"
    );
}

#[test]
fn a_number_in_a_spec_is_the_one_size_that_it_allows() {
    // The program records symbols for both sizes, and no example; `x.view(-1, 4)`-like needs `x % 4 == 0` and `y == x // 4`.
    let checker =
        Checker::read("rows", &std::fs::read("examples/rows.pt2").expect("a program")).expect("a program");
    for (x, y, expected) in [
        (json!(8), json!(2), Outcome::Ok),
        (json!(6), json!(1), Outcome::Violated),
        (json!(8), json!(3), Outcome::Violated),
        (json!(1), json!(0), Outcome::Violated),
        (json!(8), json!("n"), Outcome::Violated),
        (json!("n"), json!(2), Outcome::Violated),
    ] {
        let spec = json!({"vars": {"n": {"min": 0, "max": 99}}, "params": {"x": [x, null], "y": [y, null]}});
        let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
        let report = checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report");
        assert_eq!(report.verdict, expected, "x {x}, y {y}: {:?}", report.diagnostics);
        for guard in report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated) {
            let Some(inputs) = &guard.inputs else { continue };
            for (name, size) in [("x", &x), ("y", &y)] {
                assert!(!size.is_number() || inputs[name][0] == *size, "{name} is {size}: {inputs:?}");
            }
        }
    }
}
