//! Questions as Z3 and other solvers get them: every kind of node means there what it means here.
use serde_json::json;
use sizewise::query::entail::Question;
use sizewise::solve;
use std::path::Path;

/// A question on integers `a`, `b`, `c` of any size.
fn question(given: &[&str], goal: &str) -> Question {
    let symbols = json!({"a": {}, "b": {}, "c": {}});
    let request = json!({"symbols": symbols, "given": given, "goal": goal});
    let mut question = Question::read(request.as_object().expect("an object")).expect("a question");
    question.assume();
    question
}

/// Goals that follow and goals that do not, which differ in one sign or number.
const QUESTIONS: [(&[&str], &str, bool); 40] = [
    (&[], "a + b >= a + b - 1", true),
    (&["a >= 3"], "2*a + 1 >= 7", true),
    (&["a >= 3"], "2*a + 1 >= 8", false),
    (&["a <= -3"], "-a >= 3", true),
    (&["a > 100000000000000000000"], "a > 99999999999999999999", true),
    (&["a > 100000000000000000000"], "a > 100000000000000000001", false),
    (&["a >= 1", "b >= 1"], "a*b >= 1", true),
    (&["a >= -1", "b >= 1"], "a*b >= 1", false),
    (&["Eq(a, 3)"], "a*a*a > 26", true),
    (&["Eq(a, 3)"], "a*a*a > 27", false),
    (&["Eq(a, 17)"], "Eq(a//5, 3)", true),
    (&["Eq(a, -17)"], "Eq(a//5, -4)", true),
    (&["Eq(a, -17)"], "Eq(a//5, -3)", false),
    (&["Eq(a, 17)"], "Eq(a % 5, 2)", true),
    (&["Eq(a, -17)"], "Eq(a % 5, 3)", true),
    (&["Eq(a, -17)"], "Eq(a % 5, 2)", false),
    (&["Eq(a, 17)", "Eq(b, -5)"], "Eq(a//b, -4)", true),
    (&["Eq(a, 17)", "Eq(b, -5)"], "Eq(a//b, -3)", false),
    (&["Eq(a, 17)", "Eq(b, -5)"], "Eq(Mod(a, b), -3)", true),
    (&["Eq(a, 17)", "Eq(b, -5)"], "Eq(Mod(a, b), 2)", false),
    (&["Eq(a, 17)", "Eq(b, 5)"], "Eq(a//b + Mod(a, b), 5)", true),
    (&["Eq(a, -17)", "Eq(b, 5)"], "Eq(a//b + Mod(a, b), -1)", true),
    (&["Eq(a, -17)", "Eq(b, 5)"], "Eq(a//b + Mod(a, b), -5)", false),
    (&["b >= 1"], "Mod(a, b) < b", true),
    (&["b >= 1"], "Mod(a, b) < b - 1", false),
    (&["a < b", "b < c"], "Eq(Min(a, b, c), a)", true),
    (&["a < b", "b < c"], "Eq(Max(a, b, c), c)", true),
    (&["a < b", "b < c"], "Eq(Max(a, b, c), b)", false),
    (&["a < b", "b < c"], "Eq(Min(a, b, c), b)", false),
    (&["a <= -4"], "Abs(a) >= 4", true),
    (&["a >= 4"], "Abs(a) >= 4", true),
    (&["a <= 4"], "Abs(a) <= 4", false),
    (&["a > b"], "Eq(Where(a > b, c, 7), c)", true),
    (&["a > b"], "Eq(Where(a > b, c, 7), 7)", false),
    (&["a < b"], "Eq(Where(a > b, c, 7), 7)", true),
    (&["(a < 3) | (b < 3)", "a >= 3"], "b < 3", true),
    (&["(a < 3) | (b < 3)"], "b < 3", false),
    (&["(a < 3) & (b < 3)"], "a + b <= 4", true),
    (&["Ne(a, 3)", "a >= 3"], "a >= 4", true),
    (&["Ne(a, 3)"], "a >= 4", false),
];

#[cfg(feature = "smt")]
#[test]
fn z3_alone_comes_to_the_same_verdict() {
    for (given, goal, follows) in QUESTIONS {
        for chosen in [false, true] {
            let mut question = question(given, goal);
            let (facts, goal_read) = (&question.premises.facts, question.goal);
            let answer = solve::by_z3_alone(&mut question.pool, facts, goal_read, 2_000_000, chosen);
            assert_eq!(answer, Some(follows), "{given:?} imply {goal}");
        }
    }
}

/// `SIZEWISE_RECORD=1` writes the files anew, to be read before they are kept.
#[test]
fn an_obligation_is_written_in_full() {
    let table: [(&str, &[&str], &str); 7] = [
        ("product", &[], "a*b <= 4"),
        ("quotient", &["a > 0"], "a//b <= 3"),
        ("remainder", &[], "Eq(Mod(a, b), 3)"),
        ("cancelled", &["c > 0"], "(a*b)//b <= c"),
        ("linear", &["a + b <= 4", "a >= -2"], "Max(a, 2*b) < 7"),
        ("nonlinear", &["Ne(c, 0)", "(a < 3) | (b < 3)"], "Eq(Mod(a, c) + (b//4), Abs(a)) & Ne(a*a*b, 5)"),
        ("choice", &["Eq(Mod(a, 8), 0)"], "Eq(Where(a > b, Min(a, b, c), 7), 1)"),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/answers");
    for (name, given, goal) in table {
        let mut question = question(given, goal);
        let text = solve::obligation(&mut question.pool, &question.premises.facts, question.goal, "unsat");
        let (text, path) = (text.expect("it has a counterpart"), folder.join(format!("{name}.smt2")));
        if std::env::var_os("SIZEWISE_RECORD").is_some() {
            std::fs::write(&path, &text).expect("it is written");
        }
        assert_eq!(text, std::fs::read_to_string(path).expect("a recorded obligation"), "{goal}");
    }
}

#[test]
fn what_has_no_counterpart_is_not_written() {
    for goal in ["(a & b) <= a", "sqrt(ToFloat(a)) < 3.0"] {
        let mut question = question(&[], goal);
        let text = solve::obligation(&mut question.pool, &question.premises.facts, question.goal, "unknown");
        assert_eq!(text, None, "{goal}");
    }
}

#[cfg(feature = "smt")]
#[test]
fn what_is_too_hard_is_not_put_to_z3() {
    let factors = (0..70).map(|i| format!("(a + {i})//(b + {i})")).collect::<Vec<_>>().join(" + ");
    let table = [
        ("a <= a + 1 + b*b*b*b*b*b", None),
        ("b*b*b*b*b >= 0 - 1", None),
        ("b*b*b*b >= 0", Some(true)),
        (factors.as_str(), None),
        ("a*b*1361129467683753853853498429727072845824 + c*c >= 7", None),
        ("a*1361129467683753853853498429727072845824 + c >= 7", Some(false)),
    ];
    for (goal, expected) in table {
        let mut question = question(&["b >= 1"], goal);
        let (facts, goal_read) = (&question.premises.facts, question.goal);
        let answer = solve::by_z3_alone(&mut question.pool, facts, goal_read, 200_000, true);
        assert_eq!(answer, expected, "{goal}");
    }
}
