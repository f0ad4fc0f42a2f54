//! Laws of whole programs, on the programs of the test suite under random specs and at random sizes.
mod autocast;
mod costs;
use crate::campaign;
mod contradictions;
mod kept;
mod lowering;
mod mapped;
mod records;

use campaign::{Tally, config};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, Evaluator, Shapes};
use sizewise::expr::{Expr, Int, Pool, Value, print, read};
use sizewise::ir::pt2::{self, ReadOptions};
use sizewise::kernels::Operators;
use sizewise::report::{ConditionKind, GuardVerdict, Outcome, Report};
use sizewise::solve::Budget;
use sizewise::spec::{Contract, Shape, Spec};
use std::path::{Path, PathBuf};

fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<PathBuf> = ["tests/data/programs", "tests/data/users", "examples"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"))
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "pt2"))
        .collect();
    paths.sort();
    paths
}

fn load(path: &Path) -> (String, Vec<u8>) {
    (
        path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
        std::fs::read(path).expect("a program"),
    )
}

fn budget() -> Budget {
    Budget { rlimit: 0, ..Budget::default() }
}

/// A reported size at values of the symbols; none where it depends on what only data decides.
fn size_at(size: &Json, values: &[(String, i64)]) -> Option<Int> {
    if let Some(number) = size.as_i64() {
        return Some(Int::from(number));
    }
    let mut pool = Pool::new();
    // Sizes without a name are reported as their source, such as `x.shape[0]`.
    let mut text = size.as_str()?.to_string();
    for (source, value) in values.iter().filter(|(n, _)| n.contains('.')) {
        text = text.replace(source.as_str(), &format!("({value})"));
    }
    let e = read::closed(&mut pool, &text).ok()?.expr;
    let value = |s| {
        let name = pool.symbol_name(s);
        values.iter().find(|(n, _)| n == name).map(|(_, v)| Value::Int(Int::from(*v)))
    };
    pool.eval(e, value).ok()?.as_int()
}

/// The placeholders of a program's inputs in the order of a report's inputs.
fn placeholders(checker: &Checker) -> Vec<String> {
    let contract = Contract::load(checker.program()).expect("a contract");
    contract.inputs.iter().map(|i| i.input.placeholder.to_string()).collect()
}

/// Values of symbols by name.
type Values = [(String, i64)];

/// Values for the symbols within their reported ranges, and the inputs' shapes there; none where an input is no
/// tensor or a size is negative.
fn allowed(report: &Report, names: &[String], numbers: &[u8]) -> Option<(Vec<(String, i64)>, Shapes)> {
    let mut values = Vec::new();
    for (i, (name, symbol)) in report.symbols.iter().enumerate() {
        let bound = |b: &Option<Json>| b.as_ref().and_then(Json::as_i64);
        let low = bound(&symbol.min).unwrap_or(0);
        let high = bound(&symbol.max).unwrap_or(i64::MAX).min(low.saturating_add(40));
        let number = i64::from(numbers[i % numbers.len()]);
        let hint = bound(&symbol.hint).filter(|h| number % 5 == 0 && (low..=high).contains(h));
        let value = hint.unwrap_or(low + number % (high - low + 1).max(1));
        values.push((name.clone(), value));
        // Shapes are reported in the names of dimensions.
        values.extend(symbol.dim.iter().chain(&symbol.source).map(|n| (n.clone(), value)));
    }
    let mut shapes = Shapes::new();
    for (input, name) in report.inputs.iter().zip(names) {
        let sizes =
            input.shape.as_ref()?.iter().map(|s| size_at(s, &values)).collect::<Option<Vec<Int>>>()?;
        if sizes.iter().any(Int::is_negative) {
            return None;
        }
        shapes.insert(name.as_str().into(), Shape::Tensor(sizes));
    }
    Some((values, shapes))
}

fn shown(shapes: &Shapes) -> String {
    let one = |(name, shape): (&std::sync::Arc<str>, &Shape)| format!("{name}: {shape:?}");
    shapes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// Whether two lists of sizes agree; what only data decides agrees with everything.
fn agree(pool: &Pool, a: &[Expr], b: &[Option<Int>]) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|(&a, b)| match (pool.as_int(a), b) {
            (Some(a), Some(b)) => a == *b,
            _ => true,
        })
}

/// A report that is `ok` speaks for every input that it allows: it is evaluated to the outputs that the report gives.
fn speaks_true(
    name: &str,
    report: &Report,
    evaluator: &Evaluator,
    names: &[String],
    numbers: &[u8],
    assumed: &dyn Fn(&Values) -> bool,
) -> Result<u64, TestCaseError> {
    if report.verdict != Outcome::Ok {
        return Ok(0);
    }
    let Some((values, shapes)) = allowed(report, names, numbers) else { return Ok(0) };
    if !assumed(&values) {
        return Ok(0);
    }
    match evaluator.evaluate(&shapes) {
        Err(refused) if report.runtime_asserts.is_empty() => Err(TestCaseError::fail(format!(
            "{name} is ok, yet {} is refused: {} ({:?})",
            shown(&shapes),
            refused.message,
            refused.expr
        ))),
        Err(_) => Ok(1),
        Ok(evaluation) => {
            for (output, derived) in report.outputs.iter().zip(&evaluation.outputs) {
                let (Some(shape), Some(derived)) = (&output.shape, derived) else { continue };
                let expected: Vec<Option<Int>> = shape.iter().map(|s| size_at(s, &values)).collect();
                let text: Vec<String> =
                    derived.iter().map(|&e| print::expression(&evaluation.env.pool, e)).collect();
                prop_assert!(
                    agree(&evaluation.env.pool, derived, &expected),
                    "{name}, {} is {shape:?}, at {} it is {text:?}",
                    output.name,
                    shown(&shapes)
                );
            }
            Ok(1)
        }
    }
}

/// A random spec: the sizes that the program has symbols for are named dimensions or static.
fn random_spec(report: &Report, numbers: &[u8]) -> Json {
    let mut at = 0;
    let mut next = || {
        at += 1;
        i64::from(numbers[at % numbers.len()])
    };
    let mut inputs = Vec::new();
    for (i, input) in report.inputs.iter().enumerate() {
        let Some(shape) = &input.shape else {
            inputs.push(Json::Null);
            continue;
        };
        let entry = |(j, size): (usize, &Json)| match next() % 5 {
            _ if size.is_i64() => Json::Null,
            // Static. On `AUTO` the program's own conditions are assumed: that is the law of its own contract.
            0 => Json::Null,
            1 => {
                let low = next() % 4;
                json!({"dim": format!("d{i}_{j}"), "min": low, "max": low + next() % 60 + 1})
            }
            2 => json!({"dim": format!("d{i}_{j}"), "min": 0, "max": null}),
            _ => {
                json!({"dim": format!("d_{}", size.as_str().unwrap_or("n").replace(|c: char| !c.is_alphanumeric(), "_")), "min": next() % 3})
            }
        };
        inputs.push(shape.iter().enumerate().map(entry).collect());
    }
    Json::Array(inputs)
}

fn truth(pool: &Pool, e: Expr, values: &Values) -> bool {
    let value = |s| {
        let name = pool.symbol_name(s);
        values.iter().find(|(n, _)| n == name).map(|(_, v)| Value::Int(Int::from(*v)))
    };
    pool.eval(e, value) == Ok(Value::Bool(true))
}

fn numbers() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 24)
}

/// Checks a law on each program, on some random lists of numbers.
fn on_each(
    law_name: &'static str,
    quick: u32,
    law: impl Fn(&str, &Checker, &Operators, &[u8]) -> Result<u64, TestCaseError>,
) {
    let (operators, tally, mut failures) = (Operators::new(), Tally::new(law_name), Vec::new());
    for path in programs() {
        let (name, bytes) = load(&path);
        let checker = Checker::read(&name, &bytes).expect("a program");
        let outcome = TestRunner::new(config(quick)).run(&numbers(), |numbers| {
            tally.add(law(&name, &checker, &operators, &numbers)?);
            Ok(())
        });
        if let Err(error) = outcome {
            failures.push(format!("{name}: {error}"));
        }
    }
    assert!(failures.is_empty(), "{} programs:\n{}", failures.len(), failures.join("\n"));
    assert!(tally.count() > 50, "the law is tried only {} times", tally.count());
}

#[test]
fn evaluation_is_the_substitution_of_symbolic_outputs_under_the_programs_own_contract() {
    let (operators, tally, mut failures) =
        (Operators::new(), Tally::new("eval = substitution of outputs"), Vec::new());
    for path in programs() {
        let (name, bytes) = load(&path);
        let checker = Checker::read(&name, &bytes).expect("a program");
        let report = checker.check(None, &operators, &budget()).expect("a report");
        let (evaluator, names) = (checker.evaluator(&operators).expect("inputs"), placeholders(&checker));
        // What the program demands of its inputs beyond ranges is assumed.
        let contract = checker.contract(&operators).expect("a contract");
        let assumed =
            |values: &Values| contract.guards.iter().all(|g| truth(&contract.env.pool, g.condition, values));
        let outcome = TestRunner::new(config(8)).run(&numbers(), |numbers| {
            tally.add(speaks_true(&name, &report, &evaluator, &names, &numbers, &assumed)?);
            Ok(())
        });
        if let Err(error) = outcome {
            failures.push(error.to_string());
        }
    }
    assert!(failures.is_empty(), "{} programs:\n{}", failures.len(), failures.join("\n"));
    assert!(tally.count() > 500, "only {} evaluations", tally.count());
}

#[test]
fn an_ok_spec_allows_no_input_that_is_refused_and_the_inputs_of_a_violation_are() {
    on_each("ok allows no refused input, violations are refused", 1, |name, checker, operators, numbers| {
        let own = checker.check(None, operators, &Budget::small()).expect("a report");
        let json = random_spec(&own, numbers);
        let Ok(spec) = Spec::parse(json.to_string().as_bytes()) else { return Ok(0) };
        let session = checker.session(operators).expect("a session");
        let report = session.recheck(Some(&spec), &budget()).expect("a report");
        let evaluator = checker.evaluator(operators).expect("inputs");
        let (names, mut count) = (placeholders(checker), 1);
        for shift in 0..12 {
            let mut moved = numbers.to_vec();
            moved.rotate_left(shift);
            count +=
                speaks_true(&format!("{name} under {json}"), &report, &evaluator, &names, &moved, &|_| true)?;
        }
        for guard in report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated) {
            if guard.kind == ConditionKind::Overflow {
                continue;
            }
            let Some(inputs) = guard.inputs.as_ref().and_then(shapes) else { continue };
            count += 1;
            if let Ok(evaluation) = evaluator.evaluate(&inputs) {
                let differ = evaluation.outputs != evaluation.recorded;
                prop_assert!(
                    differ,
                    "{name} under {json}: {} is violated by {}, which is served",
                    guard.expr,
                    shown(&inputs)
                );
            }
        }
        Ok(count)
    });
}

/// The shapes of a violation, unless a scalar is among them.
fn shapes(inputs: &indexmap::IndexMap<String, Json>) -> Option<Shapes> {
    inputs
        .iter()
        .map(|(name, sizes)| {
            let sizes =
                sizes.as_array()?.iter().map(|v| v.to_string().parse::<Int>().ok()).collect::<Option<_>>()?;
            Some((name.as_str().into(), Shape::Tensor(sizes)))
        })
        .collect()
}

#[test]
fn a_fix_that_is_called_proved_is_ok_when_its_spec_is_checked_from_the_beginning() {
    let operators = Operators::new();
    let tally = Tally::new("fixes re-check");
    for path in programs().iter().step_by(if campaign::cases(1) > 1 { 1 } else { 9 }) {
        let (name, bytes) = load(path);
        let checker = Checker::read(&name, &bytes).expect("a program");
        let contract = checker.contract(&operators).expect("a contract");
        let spec = Spec::initial(&contract, sizewise::spec::Width::Any);
        let Ok(report) = checker.check(Some(&spec), &operators, &Budget::small()) else { continue };
        for fix in report.fixes.iter().filter(|f| f.proved) {
            let Some(json) = &fix.spec else { continue };
            let fixed = Spec::parse(json.to_string().as_bytes()).expect("a spec");
            let again = checker.check(Some(&fixed), &operators, &Budget::default()).expect("a report");
            assert_eq!(again.verdict, Outcome::Ok, "{name}: {}", fix.text);
            tally.add(1);
        }
    }
    assert!(tally.count() > 0);
}

#[test]
fn reading_writing_and_reading_an_archive_is_the_identity() {
    let tally = Tally::new("read, write, read");
    for path in programs() {
        let (name, bytes) = load(&path);
        let program = pt2::read(&bytes, &ReadOptions::default()).expect("a program");
        let written = pt2::write(&program).expect("an archive");
        let again = pt2::read(&written, &ReadOptions::default()).expect("what was written");
        assert_eq!(pt2::write_json(&program).ok(), pt2::write_json(&again).ok(), "{name}");
        assert_eq!(pt2::write(&again).expect("an archive"), written, "{name}");
        tally.add(1);
    }
}

#[test]
fn a_program_cut_off_or_with_a_wrong_byte_is_read_or_refused_without_a_panic() {
    let tally = Tally::new("damaged archives");
    let paths = programs();
    let strategy = (0..paths.len(), any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    TestRunner::new(config(400))
        .run(&strategy, |(which, at, byte, cut)| {
            let mut bytes = load(&paths[which]).1;
            let at = at.index(bytes.len());
            if cut {
                bytes.truncate(at);
            } else {
                bytes[at] = byte;
            }
            let _ = pt2::read(&bytes, &ReadOptions::default());
            let _ = pt2::outline(&bytes, &ReadOptions::default());
            tally.add(1);
            Ok(())
        })
        .unwrap();
}

#[test]
fn a_structure_of_values_is_written_and_read_back() {
    use sizewise::ir::{TreeKey, TreeKind, TreeSpec};
    let leaf = Just(TreeSpec::LEAF);
    let tree = leaf.prop_recursive(5, 40, 4, |inner| {
        let children = prop::collection::vec(inner, 0..4);
        let keys = prop::collection::vec(
            prop_oneof![
                "[ -~é\"\\\\]{0,6}".prop_map(|k| TreeKey::Str(k.as_str().into())),
                any::<i64>().prop_map(TreeKey::Int)
            ],
            4,
        );
        (children, 0..4u8, keys).prop_map(|(children, kind, keys)| {
            let kind = match kind {
                0 => TreeKind::Tuple,
                1 => TreeKind::List,
                2 => TreeKind::Deque,
                _ => TreeKind::Dict(keys.into_iter().take(children.len()).collect()),
            };
            TreeSpec { kind, children, written: None }
        })
    });
    let tally = Tally::new("pytrees are read as written");
    TestRunner::new(config(500))
        .run(&tree, |tree| {
            let text = tree.to_json();
            let again = TreeSpec::parse(&text, &Default::default())
                .map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
            prop_assert_eq!(&again.to_json(), &text);
            prop_assert_eq!(again.leaf_count(), tree.leaf_count());
            prop_assert_eq!(again.children, tree.children, "{}", text);
            tally.add(1);
            Ok(())
        })
        .unwrap();
}

/// Specs of every form, with names and numbers at random.
#[test]
fn a_spec_is_read_or_refused_with_a_place() {
    let word = prop::sample::select(vec![
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "null",
        "3",
        "-1",
        "\"AUTO\"",
        "\"x\"",
        "\"dim\"",
        "\"min\"",
        "\"derived\"",
        "\"2*b + 1\"",
        "\"root\"",
        "1e400",
        "\"dims\"",
        "\"dynamic_shapes\"",
        "9999999999999999999999",
    ]);
    let tally = Tally::new("any spec text");
    TestRunner::new(config(500))
        .run(&prop::collection::vec(word, 0..16), |words| {
            tally.add(1);
            if let Err(error) = Spec::parse(words.concat().as_bytes()) {
                prop_assert!(!error.to_string().is_empty());
            }
            Ok(())
        })
        .unwrap();
}
