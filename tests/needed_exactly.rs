//! What a report says below its table, `needed is exactly ...`: it holds at the sizes at which the program runs, and at no
//! others.
use serde_json::{Value as Json, json};
use sizewise::check::{Checker, Shapes};
use sizewise::expr::{Int, Pool, Value, read};
use sizewise::kernels::Operators;
use sizewise::report::{Style, to_text};
use sizewise::solve::Budget;
use sizewise::spec::{Shape, Spec};
use std::path::PathBuf;

/// The greatest size that is tried.
const MAX_SIZE: i64 = 40;

/// A checker of a program of the tests.
fn checker(path: &str) -> Checker {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path);
    Checker::read("program", &std::fs::read(path).expect("a program")).expect("a program")
}

/// What a text says is needed exactly.
fn needed(text: &str) -> Option<&str> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("needed is exactly "))?;
    Some(line.rsplit_once(" (fix ").map_or(line, |(needed, _)| needed))
}

/// Whether a condition on named sizes holds.
fn holds(condition: &str, sizes: &[(&str, i64)]) -> bool {
    let mut text = condition.to_owned();
    for (name, size) in sizes.iter().filter(|(name, _)| name.contains('.')) {
        text = text.replace(name, &size.to_string());
    }
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, &text).expect("a condition").expr;
    let value = |symbol| {
        let name = pool.symbol_name(symbol);
        sizes.iter().find(|(known, _)| *known == name).map(|(_, size)| Value::Int(Int::from(*size)))
    };
    pool.eval(e, value).expect("a value") == Value::Bool(true)
}

/// Shapes of inputs of one dimension.
fn shapes(sizes: &[(&str, i64)]) -> Shapes {
    let one = |(input, size): &(&str, i64)| ((*input).into(), Shape::Tensor(vec![Int::from(*size)]));
    sizes.iter().map(one).collect()
}

/// Inputs with the names of their dimensions.
type Inputs = &'static [(&'static str, &'static str)];

/// Programs of `tests/data/users` with inputs of one dimension each: the program, the inputs with the names of their
/// dimensions, and what is needed.
const PROGRAMS: [(&str, Inputs, &str); 4] = [
    ("not_one_fifth", &[("x", "n")], "n // 5 != 1"),
    ("odd_thirds", &[("x", "n")], "n % 6 >= 3"),
    ("sizes_differ", &[("x", "a"), ("y", "b")], "a != b"),
    ("less_than", &[("x", "a"), ("y", "b")], "b >= 3 and a < b"),
];

#[test]
fn what_is_needed_exactly_is_so() {
    for (name, inputs, expected) in PROGRAMS {
        let checker = checker(&format!("tests/data/users/{name}.pt2"));
        let spec: Json = inputs
            .iter()
            .map(|(input, dim)| ((*input).to_owned(), json!([{"dim": dim}])))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
        let operators = Operators::new();
        let report = checker.check(Some(&spec), &operators, &Budget::default()).expect("a report");
        let text = to_text(&report, Style::default());
        assert_eq!(needed(&text), Some(expected), "{name}: {text}");
        let evaluator = checker.evaluator(&operators).expect("an evaluator");
        for first in 0..MAX_SIZE {
            for second in 0..if inputs.len() > 1 { MAX_SIZE } else { 1 } {
                let sizes = [first, second];
                let given: Vec<(&str, i64)> = inputs.iter().map(|(input, _)| *input).zip(sizes).collect();
                let named: Vec<(&str, i64)> = inputs.iter().map(|(_, dim)| *dim).zip(sizes).collect();
                let runs = evaluator.evaluate(&shapes(&given)).is_ok();
                assert_eq!(holds(expected, &named), runs, "{name} at {given:?}");
            }
        }
    }
}

/// Where a fix of named dimensions says what is needed, nothing is said below the table; nor where no fix is exact.
#[test]
fn what_the_table_says_is_not_said_again() {
    for (name, spec) in [
        ("parity", json!({"x": [{"dim": "n"}]})),
        ("three_causes", json!({"x": [{"dim": "n"}]})),
        ("batch_of_one", json!({"x": [{"dim": "b", "min": 1, "max": 32}, null]})),
    ] {
        let checker = checker(&format!("tests/data/users/{name}.pt2"));
        let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
        let report = checker.check(Some(&spec), &Operators::new(), &Budget::default()).expect("a report");
        let text = to_text(&report, Style::default());
        assert_eq!(needed(&text), None, "{name}: {text}");
    }
}

/// Sizes that the spec leaves to torch go by the names that the report has.
#[test]
fn sizes_without_a_name_go_by_their_place() {
    let checker = checker("tests/data/programs/defer_asserts.pt2");
    let spec = json!({"x": ["AUTO"], "y": ["AUTO"], "z": ["AUTO"]});
    let spec = Spec::parse(spec.to_string().as_bytes()).expect("a spec");
    let operators = Operators::new();
    let report = checker.check(Some(&spec), &operators, &Budget::default()).expect("a report");
    let text = to_text(&report, Style::default());
    let expected = "z.shape[0] == x.shape[0] + y.shape[0]";
    assert_eq!(needed(&text), Some(expected), "{text}");
    let evaluator = checker.evaluator(&operators).expect("an evaluator");
    for (x, y, z) in [(2, 3, 5), (7, 2, 9), (2, 3, 4), (2, 3, 6), (9, 9, 9)] {
        let runs = evaluator.evaluate(&shapes(&[("x", x), ("y", y), ("z", z)])).is_ok();
        let sizes = [("x.shape[0]", x), ("y.shape[0]", y), ("z.shape[0]", z)];
        assert_eq!(holds(expected, &sizes), runs, "{sizes:?}");
    }
}
