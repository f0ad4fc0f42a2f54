//! The premises that an answer names suffice for it.
use serde_json::{Value as Json, json};
use sizewise::cli::answer_line;

/// Queries that Z3 decides: linear, with coefficients that make the search for a proof long.
const BY_Z3: [&str; 2] = [
    r#"{"symbols": {"s0": {"min": 0, "max": null}, "s1": {"min": 2, "max": null}, "s2": {"min": 0, "max": null}, "s3": {"min": 0, "max": null}}, "given": ["1333983567*s0 + 1117073910*s1 - 2077165445*s3 + 605376270 >= 0", "1326353004*s1 - 1850785865*s3 - 978420602 >= 0"], "goal": "443961805*s0 + 3979059012*s1 + 330738139*s2 - 5552357595*s3 - 3409485921 >= 0"}"#,
    r#"{"symbols": {"s0": {"min": 0, "max": null}, "s1": {"min": 0, "max": null}, "s2": {"min": null, "max": null}, "s3": {"min": 0, "max": null}}, "given": ["-2262163633224752644333245*s1 + 3756495467172635338636135*s2 - 9404809034779939073321078*s3 + 5262766718565607773298398 >= 0", "-6457703603104179972717774*s0 - 4108553106685309949829611*s1 - 8676406591824184939190025*s2 + 382530942464539133784915*s3 + 1894593933744869103630740 >= 0"], "goal": "-24170684465648296639092808*s0 - 24045753027373890173416559*s1 - 32640197571880796368859683*s2 + 7115087238711424120663111*s3 + 14008138206496648871835240 >= 0"}"#,
];

fn ask(query: &Json) -> Json {
    let answer = answer_line("entail", query.to_string().as_bytes()).expect("an answer");
    serde_json::from_str(&answer).expect("an answer is JSON")
}

#[test]
fn what_z3_proves_from_premises_follows_from_those_that_it_names() {
    for line in BY_Z3 {
        let mut query: Json = serde_json::from_str(line).expect("a query");
        let answer = ask(&query);
        assert_eq!((&answer["verdict"], &answer["decided_by"]), (&json!("implied"), &json!("smt")), "{line}");
        let because = answer["because"].as_array().expect("premises");
        assert!(!because.is_empty(), "{line} follows from nothing");
        query["given"] = because.clone().into();
        for bounds in query["symbols"].as_object_mut().expect("symbols").values_mut() {
            *bounds = json!({"min": null, "max": null});
        }
        assert_eq!(ask(&query)["verdict"], "implied", "{because:?} do not suffice for {line}");
    }
}
