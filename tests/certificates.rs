//! An answer can be checked again from its certificate, and a certificate that was tampered with does not stand up.
use serde_json::{Value, json};
use sizewise::decide::Budget;
use sizewise::query::entail::Question;

fn question(given: &[&str], goal: &str) -> Question {
    let request = json!({"symbols": {"a": {"min": 0}, "b": {"min": 1}}, "given": given, "goal": goal});
    Question::read(request.as_object().expect("an object")).expect("a question")
}

fn certificate(given: &[&str], goal: &str) -> Value {
    let mut question = question(given, goal);
    let settled = question.decide(&Budget::small());
    question.certificate(&settled).expect("there is one")
}

/// Whether a certificate stands up.
fn stands(given: &[&str], goal: &str, certificate: &Value) -> bool {
    let mut question = question(given, goal);
    question.assume();
    question.recheck(certificate).is_some()
}

const QUESTIONS: [(&[&str], &str, &str); 7] = [
    (&["a <= 5", "b <= 7"], "a + b <= 12", "implied"),
    (&["a <= b", "Eq(Mod(b, 4), 0)"], "a <= 4*(b//4)", "implied"),
    (&["Eq(a, 3*b)"], "Eq(a//b, 3)", "implied"),
    (&["a <= 5"], "a + b <= 12", "refuted"),
    (&["a <= 5"], "a*b <= 12", "refuted"),
    (&["a <= 5", "a >= 7"], "b <= 12", "inconsistent"),
    (&["a + b <= 5", "a - b >= 4", "b >= 2"], "b <= 12", "inconsistent"),
];

#[test]
fn certificates_stand_up() {
    for (given, goal, verdict) in QUESTIONS {
        let certificate = certificate(given, goal);
        assert!(!certificate[verdict].is_null(), "{certificate}");
        assert!(stands(given, goal, &certificate), "{certificate}");
    }
}

#[test]
fn certificates_of_something_else_do_not() {
    for (given, goal, verdict) in QUESTIONS {
        let certificate = certificate(given, goal);
        if verdict != "refuted" {
            // Without the premises.
            let mut bare = certificate.clone();
            bare[verdict] = json!([]);
            assert!(!stands(given, goal, &bare), "{bare}");
        }
        if verdict == "implied" {
            // Without an assignment that satisfies the facts.
            let mut bare = certificate.clone();
            bare["model"] = json!({});
            assert!(!stands(given, goal, &bare), "{bare}");
            bare["model"] = json!({"a": -1, "b": 0});
            assert!(!stands(given, goal, &bare), "{bare}");
        }
        if verdict == "refuted" {
            let mut other = certificate.clone();
            other[verdict] = json!({"a": 0, "b": 1});
            assert!(!stands(given, goal, &other), "{other}");
        }
        // Another goal does not follow, and does from what contradicts itself.
        if verdict != "refuted" {
            assert_eq!(
                stands(given, "a + b >= 90", &certificate),
                verdict == "inconsistent",
                "{certificate}"
            );
        }
    }
}

#[test]
fn the_share_of_a_budget_is_in_hundredths() {
    let whole =
        Budget { points: 1_000, branches: 100, work: 50_000, terms: 7_000, iterations: 4, rlimit: 300 };
    let half = Budget { points: 500, branches: 50, work: 25_000, terms: 3_500, iterations: 4, rlimit: 150 };
    assert_eq!(whole.percent(50), half);
    // Rounds of rules multiply what there is to match: a budget twice as large has one more.
    assert_eq!(half.times(2), Budget { iterations: 5, ..whole.clone() });
    assert_eq!(whole.percent(100), whole);
    assert_eq!(whole.percent(170), whole);
    assert_eq!(whole.times(u32::MAX).points, u32::MAX);
}
