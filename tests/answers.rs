//! The whole of the answers to a choice of questions: verdicts, rungs, premises, witnesses, reasons, steps of proofs,
//! what was tried.
//!
//! `tests/data/answers/` holds the questions and their answers, a line each. Another answer may be a better one:
//! `SIZEWISE_RECORD=1` writes the answers anew, to be read before they are kept.
use serde_json::{Value, json};
use sizewise::query::entail::Question;
use sizewise::query::{Fields, Refusal, attempts, bounds, minimize, simplify};
use sizewise::solve::{Budget, Trace};
use std::path::{Path, PathBuf};

/// Without Z3, whose versions answer differently.
fn budget() -> Budget {
    Budget {
        points: 5_000,
        branches: 100,
        work: 200_000,
        terms: 300_000,
        iterations: 4,
        rlimit: 0,
        classes: true,
    }
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/answers").join(name)
}

fn entail(request: &Fields) -> Value {
    let mut question = match Question::read(request) {
        Ok(question) => question,
        Err(refusal) => return json!({"error": refusal.message}),
    };
    let settled = question.decide(&budget());
    let mut reply = question.reply(&settled);
    for clock in ["time_ns", "setup_ns"] {
        reply.remove(clock);
    }
    reply.insert("proof".into(), question.proof(&settled));
    reply.insert("explain".into(), Question::explanation(&settled));
    reply.into()
}

/// Of the questions, one part of so many.
fn assert_as_recorded(
    ask: &str,
    (part, parts): (usize, usize),
    answer: impl Fn(&Fields, &mut Trace) -> Value,
) {
    let text = std::fs::read_to_string(file(&format!("{ask}.jsonl"))).expect("the questions");
    let chosen = text.lines().enumerate().filter(|(i, _)| i % parts == part - 1);
    let requests: Vec<Fields> = chosen.map(|(_, l)| serde_json::from_str(l).expect("JSON")).collect();
    let answer = |request: &Fields| {
        let mut trace = Trace::on();
        let mut answer = answer(request, &mut trace);
        if let Some(tried) = trace.attempts().filter(|tried| !tried.is_empty()) {
            answer["explain"] = attempts(tried);
        }
        answer.to_string()
    };
    let answers = file(&format!("{ask}_answers_{part}.jsonl"));
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        let text: String = requests.iter().map(|r| answer(r) + "\n").collect();
        std::fs::write(&answers, text).expect("the answers are written");
    }
    let recorded = std::fs::read_to_string(answers).expect("the answers");
    assert_eq!(recorded.lines().count(), requests.len());
    for (request, recorded) in requests.iter().zip(recorded.lines()) {
        assert_eq!(answer(request), recorded, "{request:?}");
    }
}

fn replied(answer: Result<Fields, Refusal>) -> Value {
    answer.map_or_else(|refusal| json!({"error": refusal.message}), Value::from)
}

macro_rules! parts {
    ($($name:ident: $part:literal of $parts:literal;)*) => { $(
        mod $name {
            use super::*;

            #[test]
            fn verdicts_and_proofs_are_as_recorded() {
                assert_as_recorded("entail", ($part, $parts), |request, _| entail(request));
            }

            #[test]
            fn bounds_are_as_recorded() {
                assert_as_recorded("bounds", ($part, $parts), |r, trace| replied(bounds::answer(r, &budget(), trace)));
            }

            #[test]
            fn minimal_sets_are_as_recorded() {
                assert_as_recorded("minimize", ($part, $parts), |r, trace| replied(minimize::answer(r, &budget(), trace)));
            }

            #[test]
            fn simplified_forms_are_as_recorded() {
                assert_as_recorded("simplify", ($part, $parts), |r, trace| replied(simplify::answer(r, &budget(), trace)));
            }
        }
    )* };
}

parts! {
    part_1: 1 of 6;
    part_2: 2 of 6;
    part_3: 3 of 6;
    part_4: 4 of 6;
    part_5: 5 of 6;
    part_6: 6 of 6;
}
