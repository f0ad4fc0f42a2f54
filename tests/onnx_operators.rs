//! A sample of calls of ONNX operators with what onnxruntime 1.31 makes of them: `tests/data/onnx_operators.jsonl.gz`.
//!
//! A line is a question of `infer-onnx` with `expect`: the outputs, or the kind of the error. Where onnx's own inference
//! says something else than onnxruntime (`onnx`), either answer is right.
#![cfg(feature = "cli")]
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Errors of which either answer is right: no kernel for the types, a limit, a crash, an unknown operator.
const NEUTRAL: &[&str] = &["no_kernel", "limit", "crash", "no_op"];

/// What comes of a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Outcome {
    Right,
    Unsupported,
    WronglyRefused,
    WronglyAccepted,
    WrongShape,
    NotJudged,
}

/// Whether a value is what is expected of it. Expressions are sizes that data decide.
fn same(got: &Json, wanted: &Json) -> bool {
    if wanted.is_null() {
        return true;
    }
    if let Some(items) = wanted["seq"].as_array() {
        let given = got["seq"].as_array();
        return given.is_none_or(|given| {
            given.len() == items.len() && given.iter().zip(items).all(|(a, b)| same(a, b))
        });
    }
    let sizes = match (got["shape"].as_array(), wanted["shape"].as_array()) {
        (Some(got), Some(wanted)) => {
            got.len() == wanted.len() && got.iter().zip(wanted).all(|(a, b)| a.is_string() || a == b)
        }
        (got, wanted) => got.is_none() || wanted.is_none(),
    };
    sizes && (wanted["dtype"].is_null() || got["dtype"] == wanted["dtype"])
}

fn judge(answer: &Json, expected: &Json) -> Outcome {
    let error = &answer["error"];
    if error["kind"] == "unsupported" {
        return Outcome::Unsupported;
    }
    let Some(wanted) = expected["outputs"].as_array() else {
        let kind = expected["error"]["kind"].as_str().unwrap_or_default();
        return match error.is_null() {
            _ if NEUTRAL.contains(&kind) => Outcome::NotJudged,
            true => Outcome::WronglyAccepted,
            false => Outcome::Right,
        };
    };
    if !error.is_null() {
        let either = expected["onnx"] == "refuses" || !expected["static_load_error"].is_null();
        return if either { Outcome::NotJudged } else { Outcome::WronglyRefused };
    }
    let got = answer["outputs"].as_array().expect("outputs");
    let shapes: Json = got.iter().map(|value| value["shape"].clone()).collect();
    if got.len() == wanted.len() && got.iter().zip(wanted).all(|(a, b)| same(a, b))
        || shapes == expected["onnx"]
    {
        Outcome::Right
    } else {
        Outcome::WrongShape
    }
}

#[test]
fn operators_do_what_onnxruntime_does() {
    let file = File::open("tests/data/onnx_operators.jsonl.gz").expect("the recorded calls");
    let mut counts: BTreeMap<Outcome, usize> = BTreeMap::new();
    let mut differing: BTreeMap<String, usize> = BTreeMap::new();
    for line in BufReader::new(GzDecoder::new(file)).lines() {
        let mut call: Json = serde_json::from_str(&line.expect("text")).expect("JSON");
        let expected = call["expect"].take();
        call.as_object_mut().expect("an object").remove("expect");
        let answer =
            sizewise::cli::answer_line("infer-onnx", call.to_string().as_bytes()).expect("an answer");
        let outcome = judge(&serde_json::from_str(&answer).expect("JSON"), &expected);
        *counts.entry(outcome).or_default() += 1;
        if !matches!(outcome, Outcome::Right | Outcome::NotJudged) {
            *differing.entry(format!("{} {outcome:?}", call["op"])).or_default() += 1;
        }
    }
    let count = |outcome| counts.get(&outcome).copied().unwrap_or_default();
    let judged: usize = counts.values().sum::<usize>() - count(Outcome::NotJudged);
    let share = |outcome| 1000 * count(outcome) / judged;
    assert!(judged > 6_000, "{judged} calls");
    // In thousandths.
    assert!(share(Outcome::Right) >= 970, "{counts:?} {differing:#?}");
    assert!(share(Outcome::WrongShape) <= 8, "{counts:?} {differing:#?}");
    assert!(share(Outcome::WronglyAccepted) <= 13, "{counts:?} {differing:#?}");
    assert!(share(Outcome::WronglyRefused) <= 6, "{counts:?} {differing:#?}");
}
