//! The node tests of the `onnx` package, as `scripts/onnx/record_node_tests.py` records them: the shapes of their outputs are
//! those that the specification has.
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::kernels::Backend;
use sizewise::onnx::query::answer;
use sizewise::onnx_model::read::Model;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Whether sizes are those that are expected; a text is a size that data decide.
fn agrees(said: &Json, expected: &Json) -> bool {
    match (said.as_array(), expected.as_array()) {
        (Some(said), Some(expected)) => {
            let same = |(said, expected): (&Json, &Json)| said.is_string() || said == expected;
            said.len() == expected.len() && said.iter().zip(expected).all(same)
        }
        _ => true,
    }
}

/// The bytes of which a text has two digits each.
fn bytes(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// What `eval` makes of a recorded test on any backend.
fn outcome(test: &Json) -> &'static str {
    let Ok(mut model) = Model::read(bytes(test["model"].as_str().expect("a model"))) else {
        return "not read";
    };
    model.backend = Backend::Any;
    if test["shapes"].is_null() {
        return "not asked";
    }
    let request = serde_json::json!({ "shapes": test["shapes"], "values": test["values"] });
    let fields = answer(&model, request.as_object().expect("an object")).expect("an answer");
    if fields["ok"] == Json::Bool(false) {
        return if fields.contains_key("error_kind") { "unsupported" } else { "refused" };
    }
    let said = fields["outputs"].as_array().expect("outputs");
    let expected = test["outputs"].as_array().expect("outputs");
    let is_right = said.iter().zip(expected).all(|(said, expected)| agrees(said, expected));
    if is_right { "right" } else { "wrong" }
}

#[test]
fn node_tests_have_no_wrong_shape() {
    let file = File::open("tests/data/onnx_nodes.jsonl.gz").expect("the recorded tests");
    let mut names: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let test: Json = serde_json::from_str(&line.expect("text")).expect("JSON");
        let name = test["name"].as_str().expect("a name").to_owned();
        names.entry(outcome(&test)).or_default().push(name);
    }
    let counts: BTreeMap<&str, usize> =
        names.iter().map(|(outcome, names)| (*outcome, names.len())).collect();
    assert_eq!(counts.values().sum::<usize>(), 1_884, "{counts:?}");
    assert!(!counts.contains_key("wrong"), "{:?}", names["wrong"]);
    assert!(counts["right"] >= 1_821, "{counts:?}");
    assert!(!counts.contains_key("refused"), "{:?}", names["refused"]);
}
