//! Rules of the e-graph are about integers and truth values. Minima, maxima, absolute values and choices are of
//! doubles, too, which round, and have two zeros: nothing that such a rule says of them may decide a question.
#![cfg(feature = "cli")]
use serde_json::{Value as Json, json};
use sizewise::cli::answer_line;

fn answer(command: &str, request: &Json) -> Json {
    let answer = answer_line(command, request.to_string().as_bytes()).expect("an answer");
    serde_json::from_str(&answer).expect("an answer in JSON")
}

#[test]
fn nothing_follows_that_a_double_contradicts() {
    let int = |min: i64, max: i64| json!({"min": min, "max": max});
    // Each goal is false somewhere: at `s2 = 0, zf0 = 3`, at `zf1 = 5`, and so on.
    let cases = [
        (json!({"s2": int(0, 9), "zf0": int(0, 5)}), vec![], "zf0 < Where(s2 == 12, 0.0, 2.0)"),
        (json!({"s0": int(3, 3), "zf1": int(0, 9)}), vec!["Max(ToFloat(s0), 1.0) <= zf1"], "Ne(zf1, 7.25)"),
        (json!({"s0": int(0, 0), "zf1": int(-5, 10)}), vec![], "-zf1 >= Abs(ToFloat(s0))"),
        (json!({"s2": int(3, 3), "zf1": int(1, 5)}), vec![], "zf1 < Max(ToFloat(s2), 1.0)"),
        (
            json!({"s0": int(3, 3), "u1": {"min": 0, "max": null}}),
            vec!["Max(ToFloat(s0), 1.0)*ToFloat(u1) >= 7.5"],
            "Ne(TruncToInt(ToFloat(u1)*1.7) % 100003, 77777)",
        ),
        (
            json!({"u0": {"min": null, "max": 10}, "u2": int(0, 9)}),
            vec!["Where(Eq(-u2, 3), 1.0, 0.0) + 1.0 > 0"],
            "0 != FloatTrueDiv(2.0, 2.0 * u0)",
        ),
    ];
    for (symbols, given, goal) in cases {
        let said = answer("entail", &json!({"symbols": symbols, "given": given, "goal": goal}));
        let verdict = said["verdict"].as_str().expect("a verdict");
        assert!(["refuted", "unknown"].contains(&verdict), "{goal}: {said}");
    }
}

#[test]
fn nothing_is_simplified_to_what_a_double_contradicts() {
    let guards = json!({"symbols": {"s1": {"min": -6, "max": 2}}, "guards": ["Where(s1 > 2, 2, zuf1)"]});
    assert_ne!(answer("minimize", &guards)["guards"], json!(["False"]));
    let equation = json!({
        "symbols": {"s1": {"min": 2, "max": null}, "u2": {"min": null, "max": 9_223_372_036_854_775_807_i64}},
        "expr": "Where(s1 == 1.0, 0, ToFloat(u2)) == -8.98846567431158e+307",
    });
    assert_ne!(answer("simplify", &equation)["expr"], json!("False"));
}

#[test]
fn a_double_is_no_integer_between_two_doubles() {
    // `2**53 + 1`, and `10**300`, which is no double either.
    for bound in ["9007199254740993", &format!("1{}", "0".repeat(300))] {
        let request =
            format!(r#"{{"symbols": {{"zf0": {{"min": {bound}, "max": {bound}}}}}, "goal": "zf0 < 4.0"}}"#);
        let said = answer_line("entail", request.as_bytes()).expect("an answer");
        let said: Json = serde_json::from_str(&said).expect("JSON");
        assert_eq!(said["verdict"], "inconsistent", "{said}");
    }
}

#[test]
fn a_shift_by_a_negative_count_has_no_value() {
    let negative = json!({"s1": {"min": -3, "max": -1}});
    let any = json!({"s1": {"min": -3, "max": 5}});
    for (symbols, given, goal) in [
        (&negative, vec![], "LShift(8, s1) == 3"),
        (&negative, vec![], "s1 << s1 == 3"),
        (&negative, vec![], "PythonMod(LShift(s1, s1), s1) == 100"),
        (&negative, vec![], "(4*s1) << -1 == 3"),
        (&any, vec!["(0 << s1) >= 0"], "s1 >= 0"),
        (&any, vec!["(1 >> s1) >= 0"], "s1 >= 0"),
    ] {
        let said = answer("entail", &json!({"symbols": symbols, "given": given, "goal": goal}));
        assert_ne!(said["verdict"], "refuted", "{goal}: {said}");
    }
}
