//! A call that each condition of an operator refuses, for `explain`: `data/refusals.txt`, a code and a call in each line.
//!
//! The calls are those of the tables in `tests/kernels` and recorded ones that torch or onnxruntime refuses as well. The
//! shortest stands for the others.
#![cfg(feature = "cli")]
use crate::kernels::notation::print_call;
use crate::ops_corpus::{arguments, outcome, recorded_calls};
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sizewise::env::ShapeEnv;
use sizewise::kernels::Operators;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};

/// The longest call that is shown.
const MAX_CALL: usize = 160;

/// The calls by the code that refuses them.
#[derive(Default)]
struct Refusals(BTreeMap<String, String>);

impl Refusals {
    fn add(&mut self, code: &str, call: String) {
        if call.len() > MAX_CALL || call.contains('\n') || code.is_empty() {
            return;
        }
        let known = self.0.entry(code.to_owned()).or_insert_with(|| call.clone());
        if (call.len(), &call) < (known.len(), known) {
            *known = call;
        }
    }

    /// The lines of the tables that say the code.
    fn of_tables(&mut self) {
        for table in fs::read_dir("tests/kernels").expect("the tables") {
            let path = table.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "txt") {
                let text = fs::read_to_string(path).expect("a table");
                let lines = text.lines().filter(|line| !line.starts_with('#'));
                for (call, code) in lines.filter_map(|line| line.split_once(" -> invalid ")) {
                    self.add(code.trim(), call.trim().to_owned());
                }
            }
        }
    }

    /// Recorded calls of torch.
    fn of_torch(&mut self) {
        let operators = Operators::new();
        for call in recorded_calls().filter(|call| call["rejected"] == true) {
            if let Ok(Err(code)) = outcome(&operators, &call) {
                let mut env = ShapeEnv::new();
                let Ok((positional, keywords)) = arguments(&mut env, &call) else { continue };
                let op = call["op"].as_str().unwrap_or_default();
                self.add(code, print_call(&mut env, op, &positional, &keywords));
            }
        }
    }

    /// Recorded calls of ONNX operators.
    fn of_onnx(&mut self) {
        let file = File::open("tests/data/onnx_operators.jsonl.gz").expect("the recorded calls");
        for line in BufReader::new(GzDecoder::new(file)).lines() {
            let mut call: Json = serde_json::from_str(&line.expect("text")).expect("JSON");
            let expected = call.as_object_mut().expect("an object").remove("expect").unwrap_or_default();
            if expected["error"].is_null() {
                continue;
            }
            let answer =
                sizewise::cli::answer_line("infer-onnx", call.to_string().as_bytes()).expect("an answer");
            let answer: Json = serde_json::from_str(&answer).expect("JSON");
            if let Some(code) = answer["error"]["clause"].as_str() {
                self.add(code, onnx_call(&call));
            }
        }
    }
}

/// A call of an ONNX operator as people write it: `Gather-13(f32[3], i64[1] = [5], axis = 0)`.
fn onnx_call(call: &Json) -> String {
    let of_input = |input: &Json| {
        let value = match &input["value"] {
            Json::Null => String::new(),
            value => format!(" = {value}"),
        };
        match input["dtype"].as_str() {
            Some(dtype) => format!("{dtype}{}{value}", input["shape"]),
            None => input.to_string(),
        }
    };
    let inputs = call["inputs"].as_array().into_iter().flatten().map(of_input);
    let of_attribute = |(name, value): (&String, &Json)| {
        let value = value.as_object().and_then(|kinds| kinds.values().next()).unwrap_or(value);
        format!("{name} = {value}")
    };
    let attributes = call["attrs"].as_object().into_iter().flatten().map(of_attribute);
    let all: Vec<String> = inputs.chain(attributes).collect();
    format!("{}-{}({})", call["op"].as_str().unwrap_or_default(), call["opset"], all.join(", "))
}

#[test]
fn the_list_of_refusals_is_what_operators_refuse() {
    let mut refusals = Refusals::default();
    refusals.of_tables();
    refusals.of_torch();
    refusals.of_onnx();
    let found: String = refusals.0.iter().map(|(code, call)| format!("{code} {call}\n")).collect();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        fs::write("data/refusals.txt", &found).expect("the list is written");
    }
    let listed = fs::read_to_string("data/refusals.txt").expect("the list");
    let first = found.lines().find(|line| !listed.lines().any(|other| other == *line));
    assert!(
        found == listed,
        "data/refusals.txt is stale at {first:?}: SIZEWISE_RECORD=1 cargo test --test tests refusals"
    );
}
