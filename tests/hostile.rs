//! Lines that ask for much: each is answered, with an error or within bounds, and nothing panics.
#![cfg(feature = "cli")]
use serde_json::{Value as Json, json};
use sizewise::cli::answer_line;

/// The answer to a request.
fn answer(command: &str, line: &str) -> Json {
    let answer = answer_line(command, line.as_bytes()).expect("an answer");
    serde_json::from_str(&answer).expect("an answer in JSON")
}

fn message(answer: &Json) -> &str {
    answer["error"]["message"].as_str().unwrap_or_default()
}

#[test]
fn texts_that_nest_too_deep_or_grow_too_large_are_refused() {
    let deep = format!("{}s0{} > 0", "(".repeat(100_000), ")".repeat(100_000));
    let long = "s0 + ".repeat(100_000) + "1 > 0";
    let digits = format!("s0 < {}", "9".repeat(200_000));
    for goal in [deep.as_str(), &long, &digits] {
        for (command, key) in [("entail", "goal"), ("simplify", "expr"), ("bounds", "expr")] {
            let request =
                json!({"id": 1, "symbols": {"s0": {"min": 0}, "s1": {"min": 0}}, "given": [], key: goal});
            let shown: String = goal.chars().take(40).collect();
            let answer = answer(command, &request.to_string());
            let length = message(&answer).len();
            assert!((1..1_000).contains(&length), "{command}: {length} bytes on {shown}");
        }
    }
    let nested = format!("{{\"id\":1,\"goal\":{}", "[".repeat(100_000));
    assert!(message(&answer("entail", &nested)).starts_with("not JSON"));
}

#[test]
fn powers_with_symbolic_exponents_are_no_reason_to_compute_them() {
    for goal in [
        "2**(2**(2**100)) > s0",
        "s0 < 10**10**10",
        "(s0 + s1 + 1)**1000000 > 0",
        "2**s0 > s0",
        "s0**s0 >= 1",
        "2**(2**s0) > 1",
        "Mod(7**s0, 10) < 10",
    ] {
        let request = json!({"id": 1, "symbols": {"s0": {"min": 1, "max": 10_000_000_000_i64}, "s1": {"min": 0}}, "given": [], "goal": goal});
        let answer = answer("entail", &request.to_string());
        assert!(answer.get("verdict").is_some() || !message(&answer).is_empty(), "{answer}");
    }
}

#[test]
fn an_operator_that_would_give_a_list_without_end_is_not_carried_out() {
    let x = json!({"tensor": {"shape": [4_000_000_000_000_i64], "dtype": "float32"}});
    let calls = [
        ("aten.unbind.int", json!([x])),
        ("aten.split.Tensor", json!([x, {"int": 1}])),
        ("aten.chunk.default", json!([x, {"int": 4_000_000_000_000_i64}])),
        ("aten.tensor_split.sections", json!([x, {"int": 4_000_000_000_000_i64}])),
        ("aten.unsafe_split.Tensor", json!([x, {"int": 1}])),
        ("aten.unsafe_chunk.default", json!([x, {"int": 4_000_000_000_000_i64}])),
        ("aten.gradient.scalarint", json!([{"tensor": {"shape": vec![2; 128], "dtype": "float32"}}])),
    ];
    for (op, args) in calls {
        let answer = answer("infer", &json!({"id": 1, "op": op, "args": args}).to_string());
        assert!(answer.to_string().len() < 1 << 20, "{op} answers with {} bytes", answer.to_string().len());
    }
}

#[test]
fn tensors_of_many_dimensions_and_numbers_of_many_digits_are_answered() {
    let wide = json!({"tensor": {"shape": vec![2; 128], "dtype": "float32"}});
    let digits = Json::String("9".repeat(3000));
    let large = json!({"tensor": {"shape": [digits, 3], "dtype": "float32"}});
    for x in [wide, large] {
        for op in ["aten.relu.default", "aten.sum.default", "aten.flatten.using_ints", "aten.t.default"] {
            let line = json!({"id": 1, "op": op, "args": [x]}).to_string();
            assert_eq!(answer("infer", &line)["id"], json!(1), "{op}");
        }
    }
}

#[test]
fn a_tensor_of_thousands_of_dimensions_is_refused() {
    let x = json!({"tensor": {"shape": vec![2; 3000], "dtype": "float32"}});
    let answer = answer("infer", &json!({"id": 1, "op": "aten.gradient.scalarint", "args": [x]}).to_string());
    assert_eq!(message(&answer), "a tensor of more than 128 dimensions is not read");
}
