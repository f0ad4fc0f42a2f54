//! Inputs that an export burned in, held against what torch 2.15 made of other values and of specs:
//! `tests/data/reading/constants.jsonl` (`scripts/record_constants.py`).
#![cfg(feature = "cli")]
use serde_json::{Value as Json, json};
use sizewise::check::Checker;
use sizewise::ir::Constant;
use sizewise::kernels::Operators;
use sizewise::query;
use sizewise::report::guard_code::{GuardSet, GuardedInput, Language};
use sizewise::report::{GuardVerdict, Outcome};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A recorded program.
struct Case {
    name: String,
    /// The input that other values were given for.
    input: String,
    checker: Checker,
    /// Values, and whether the module took them.
    runs: Vec<(Json, bool)>,
    /// Specs of that input, and what they are to the program.
    specs: Vec<(Json, String)>,
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/reading/constants.jsonl");
    let text = std::fs::read_to_string(path).expect("the records");
    let pairs = |list: &Json| -> Vec<(Json, Json)> {
        list.as_array().expect("a list").iter().map(|pair| (pair[0].clone(), pair[1].clone())).collect()
    };
    let case = |line: &str| {
        let record: Json = serde_json::from_str(line).expect("JSON");
        let name = record["name"].as_str().expect("a name").to_string();
        let runs = pairs(&record["runs"]).into_iter().map(|(value, ok)| (value, ok == true)).collect();
        let specs = pairs(&record["specs"]).into_iter();
        let specs = specs.map(|(spec, is)| (spec, is.as_str().unwrap_or_default().to_string())).collect();
        let checker = Checker::read(&name, record["program"].to_string().as_bytes()).expect("a program");
        Case { name, input: record["input"].as_str().expect("a name").to_string(), checker, runs, specs }
    };
    let cases: Vec<Case> = text.lines().map(case).collect();
    assert_eq!(cases.len(), 30);
    cases
}

fn evaluate(checker: &Checker, shapes: Json, scalars: Json) -> Json {
    let operators = Operators::new();
    let evaluator = checker.evaluator(&operators).expect("an evaluator");
    let Json::Object(request) = json!({"id": 0, "shapes": shapes, "scalars": scalars}) else {
        unreachable!()
    };
    query::eval::answer(&evaluator, &request).expect("an answer").into()
}

#[test]
fn eval_takes_the_values_that_the_module_takes() {
    for case in cases() {
        for (value, taken) in &case.runs {
            let answer = evaluate(&case.checker, json!({}), json!({(case.input.clone()): value}));
            assert_eq!(answer["ok"], *taken, "{}: {value}: {answer}", case.name);
            if !taken {
                let error = answer["error"].as_str().expect("a message");
                assert!(error.contains(" has to be ") && error.contains("specialized to"), "{error}");
                assert!(answer["expr"].as_str().is_some_and(|expr| expr.contains(" == ")), "{answer}");
            }
        }
    }
}

#[test]
fn specs_of_constants_are_what_torch_says_they_are() {
    let operators = Operators::new();
    let mut seen = [0; 3];
    for case in cases() {
        for (entry, expected) in &case.specs {
            let spec = match case.input.as_str() {
                "cfg_y" => json!({"cfg": {"y": entry}}),
                name => json!({name: entry}),
            };
            let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
            let report = case.checker.check(Some(&spec), &operators, &Budget::default()).expect("a report");
            let verdict = match report.verdict {
                Outcome::Ok => "ok",
                Outcome::Violated => "violated",
                Outcome::Invalid => "invalid",
                Outcome::Unknown => "unknown",
            };
            assert_eq!(verdict, expected, "{}: {entry}: {:?}", case.name, report.diagnostics);
            seen[["ok", "violated", "invalid"].iter().position(|v| *v == verdict).expect("decided")] += 1;
            for guard in report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Violated) {
                let inputs = guard.inputs.clone().expect("an input that breaks it");
                let (shapes, scalars): (Vec<_>, Vec<_>) = inputs.into_iter().partition(|(_, v)| v.is_array());
                let answer =
                    evaluate(&case.checker, shapes.into_iter().collect(), scalars.into_iter().collect());
                assert_eq!(answer["ok"], false, "{}: {entry}: {answer}", case.name);
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 10), "{seen:?}");
}

#[test]
fn constants_are_shown_and_explained() {
    let operators = Operators::new();
    for case in cases() {
        let report = case.checker.check(None, &operators, &Budget::default()).expect("a report");
        let shown = report.inputs.iter().find(|input| input.name == case.input).expect("the input");
        let value = shown.value.clone().expect("its value");
        assert!(
            case.name == "float_inf"
                || evaluate(&case.checker, json!({}), json!({(case.input.clone()): value}))["ok"] == true
        );
        let dimension = case.checker.dimension(&case.input).expect("it can be asked for");
        let explanation =
            case.checker.explain(&dimension, &operators, &Budget::default()).expect("it is explained");
        let said = explanation.specialized.expect("why");
        let name = if case.input == "cfg_y" { "cfg['y']" } else { "y" };
        let start = format!(
            "`{name}` was specialized to {} because torch.export specializes on ",
            explanation.recorded
        );
        assert!(said.starts_with(&start), "{said}");
        assert!(case.checker.dimensions().expect("dimensions").contains(&dimension));
    }
}

/// What a checker takes for an input of another type has no counterpart in languages with types.
fn literal(language: Language, constant: &Constant, value: &Json) -> Option<String> {
    let is_c = matches!(language, Language::C);
    match constant {
        Constant::Int(_) => {
            value.as_i64().map(|v| if is_c { format!("INT64_C({v})") } else { v.to_string() })
        }
        Constant::Float(_) => value.as_f64().filter(|_| value.is_f64()).map(|v| format!("{v:?}")),
        Constant::Bool(_) if is_c => {
            value.as_bool().map(i64::from).or(value.as_i64()).map(|v| format!("INT64_C({v})"))
        }
        Constant::Bool(_) => value.as_bool().map(|v| v.to_string()),
        Constant::Str(_) if is_c => {
            let bytes = value.as_str()?.bytes().map(|byte| format!("\\{byte:03o}"));
            Some(format!("\"{}\"", bytes.collect::<String>()))
        }
        Constant::Str(_) => value.as_str().map(|text| format!("{text:?}")),
        Constant::None => None,
    }
}

/// The calls of a program's checker in a language: their arguments, and whether the module took the value.
fn calls(case: &Case, set: &GuardSet, language: Language) -> Vec<(String, bool)> {
    let arguments = |given: &Json| -> Option<String> {
        let mut arguments = Vec::new();
        for input in &set.inputs {
            arguments.push(match input {
                GuardedInput::Tensor { .. } if matches!(language, Language::C) => {
                    "(int64_t[]){2, 4, 6}, 3".to_string()
                }
                GuardedInput::Tensor { .. } => "&[2, 4, 6]".to_string(),
                GuardedInput::Constant { value: Constant::None, .. } => continue,
                GuardedInput::Constant { name, value } => {
                    let own = value.json();
                    literal(language, value, if *name == case.input { given } else { &own })?
                }
                GuardedInput::Number { .. } => return None,
            });
        }
        Some(arguments.join(", "))
    };
    case.runs.iter().filter_map(|(value, taken)| Some((arguments(value)?, *taken))).collect()
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn emitted_checkers_take_the_values_that_the_module_takes() {
    let operators = Operators::new();
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (mut rust, mut rust_main, mut c_main, mut c_heads) =
        (String::new(), String::new(), String::new(), String::new());
    let (mut python, mut expected) = (String::new(), [Vec::new(), Vec::new(), Vec::new()]);
    let mut compiler = Command::new("cc");
    compiler.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-o"]).arg(at("c"));
    for (i, case) in cases().iter().enumerate() {
        let set =
            case.checker.session(&operators).and_then(|session| session.guard_set()).expect("conditions");
        let emit = |language| set.emit(language).expect("code");
        let document: Json = serde_json::from_str(&emit(Language::Json)).expect("JSON");
        let listed =
            document["inputs"].as_array().expect("inputs").iter().find(|input| input["name"] == *case.input);
        assert!(listed.is_some_and(|input| input.get("value").is_some()), "{document}");
        let _ = writeln!(rust, "mod m{i} {{\n{}\n}}", emit(Language::Rust));
        for (arguments, taken) in calls(case, &set, Language::Rust) {
            let _ =
                writeln!(rust_main, "    println!(\"{{}}\", u8::from(m{i}::check({arguments}).is_ok()));");
            expected[0].push((taken, format!("{} {arguments}", case.name)));
        }
        let code = emit(Language::C).replace("sizewise_check", &format!("check{i}"));
        let head = code.lines().find(|line| line.contains(&format!("check{i}("))).expect("the function");
        let _ = writeln!(c_heads, "{};", head.trim_end_matches(" {"));
        std::fs::write(at(&format!("m{i}.c")), &code).expect("a file");
        compiler.arg(at(&format!("m{i}.c")));
        for (arguments, taken) in calls(case, &set, Language::C) {
            let _ = writeln!(c_main, "    puts(check{i}({arguments}) ? \"0\" : \"1\");");
            expected[1].push((taken, format!("{} {arguments}", case.name)));
        }
        std::fs::write(at(&format!("m{i}.py")), emit(Language::Python)).expect("a file");
        let others = set.inputs.iter().map(|input| match input {
            GuardedInput::Constant { name, value } => (name.clone(), value.json()),
            other => (other.name().to_string(), json!([2, 4, 6])),
        });
        let others: Json = others.collect();
        for (value, taken) in &case.runs {
            let (others, value) = (others.to_string(), value.to_string());
            let _ = writeln!(
                python,
                "given = json.loads({others:?}); given[{:?}] = json.loads({value:?})",
                case.input
            );
            let _ = writeln!(python, "print(int(m{i}.check(given) is None))");
            expected[2].push((*taken, format!("{} {value}", case.name)));
        }
        let _ = writeln!(python, "del given[{:?}]; assert 'is missing' in m{i}.check(given)", case.input);
    }
    let code = format!("#![deny(warnings)]\n#![allow(dead_code)]\n{rust}\nfn main() {{\n{rust_main}}}\n");
    std::fs::write(at("all.rs"), code).expect("a file");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    run(Command::new(rustc).arg("--edition=2021").arg(at("all.rs")).arg("-o").arg(at("rust")));
    let code = format!(
        "#include <stdio.h>\n#include <stddef.h>\n#include <stdint.h>\n{c_heads}int main(void) {{\n{c_main}    return 0;\n}}\n"
    );
    std::fs::write(at("main.c"), code).expect("a file");
    run(compiler.arg(at("main.c")).arg("-lm"));
    let imports: String = (0..30).map(|i| format!("import m{i}\n")).collect();
    std::fs::write(at("main.py"), format!("import json\n{imports}{python}")).expect("a file");
    let answers = [
        run(&mut Command::new(at("rust"))),
        run(&mut Command::new(at("c"))),
        run(Command::new("python3").arg(at("main.py"))),
    ];
    for (answers, expected) in answers.iter().zip(expected) {
        assert!(expected.len() > 150, "{} calls", expected.len());
        assert_eq!(answers.lines().count(), expected.len());
        for (answer, (taken, call)) in answers.lines().zip(expected) {
            assert_eq!(answer == "1", taken, "{call}");
        }
    }
}
