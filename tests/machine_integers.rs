//! The ends of machine integers: questions about them are answered, none of them ends in an overflow.
use serde_json::{Value, json};
use sizewise::query::entail::Question;
use sizewise::solve::Budget;

/// The verdict without Z3, on integers of any size.
fn verdict(given: &[&str], goal: &str) -> String {
    of_request(&json!({"symbols": {"a": {}, "b": {}}, "given": given, "goal": goal}))
}

fn of_request(request: &Value) -> String {
    let mut question = Question::read(request.as_object().expect("an object")).expect("a question");
    let settled = question.decide(&Budget { rlimit: 0, ..Budget::small() });
    question.reply(&settled)["verdict"].as_str().expect("a verdict").to_string()
}

#[test]
fn the_least_machine_integer_is_divided_by_minus_one_without_overflow() {
    for (least, power) in [("9223372036854775808", 63), ("170141183460469231731687303715884105728", 127)] {
        for goal in [format!("-a - {least} <= 0"), format!("a >= -{least}"), format!("-a <= 2**{power}")] {
            assert_eq!(verdict(&[], &goal), "refuted", "{goal}");
        }
        assert_eq!(verdict(&[&format!("a >= -{least}")], &format!("a + {least} >= 0")), "implied");
    }
    // The constant of a sum balanced by a term alone: this ended in a panic.
    let request = r#"{"symbols": {"a": {"min": 170141183460469231731687303715884105728}, "b": {"min": 0}},
        "given": ["Eq(b, a - 170141183460469231731687303715884105728)"],
        "goal": "a//-7 >= -24305883351495604533098186245126300820"}"#;
    let verdict = of_request(&serde_json::from_str(request).expect("JSON"));
    assert!(matches!(verdict.as_str(), "refuted" | "unknown"), "{verdict}");
}

#[test]
fn an_assignment_is_repaired_near_the_ends_of_machine_integers_without_overflow() {
    for exponent in [62, 63, 64, 119, 120, 126, 127, 128] {
        for (given, goal) in [
            (format!("a >= 2**{exponent} - 1"), "Ne(Mod(a, 7), 3)".to_string()),
            (format!("a <= 1 - 2**{exponent}"), "Ne(Mod(a, 7), 3)".to_string()),
            (format!("Eq(b, a - 2**{exponent})"), format!("a + b >= 2**{exponent}")),
            (
                format!("Eq(Mod(a, 5), 3) & (a <= 2**{exponent} + 50)"),
                format!("a//-7 >= -(2**{exponent}//7) - 2"),
            ),
        ] {
            let verdict = verdict(&[&given], &goal);
            assert!(matches!(verdict.as_str(), "refuted" | "unknown"), "{given} and {goal}: {verdict}");
        }
    }
}
