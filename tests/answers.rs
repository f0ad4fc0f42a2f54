//! The whole of the answers to a choice of questions: verdicts, rungs, premises, witnesses, reasons, steps of proofs, what was tried.
//!
//! `tests/data/answers/` holds the questions and their answers, a line each. Another answer may be a better one: `SIZEWISE_RECORD=1`
//! writes the answers anew, to be read before they are kept.
use serde_json::{Value, json};
use sizewise::decide::{Budget, Trace};
use sizewise::query::entail::Question;
use sizewise::query::{Fields, attempts, bounds, minimize, simplify};
use std::path::{Path, PathBuf};

/// Without Z3, whose versions answer differently.
fn budget() -> Budget {
    Budget { points: 5_000, branches: 100, work: 200_000, terms: 300_000, iterations: 4, rlimit: 0 }
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

fn answer(request: &Fields) -> Value {
    let mut trace = Trace::on();
    let answered = match request["ask"].as_str() {
        Some("bounds") => bounds::answer(request, &budget(), &mut trace),
        Some("minimize") => minimize::answer(request, &budget(), &mut trace),
        Some("simplify") => simplify::answer(request, &budget(), &mut trace),
        _ => return entail(request),
    };
    match answered {
        Ok(mut fields) => {
            fields.insert("explain".into(), attempts(trace.attempts().unwrap_or_default()));
            fields.into()
        }
        Err(refusal) => json!({"error": refusal.message}),
    }
}

#[test]
fn answers_are_as_recorded() {
    let questions = std::fs::read_to_string(file("questions.jsonl")).expect("the questions");
    let requests: Vec<Fields> = questions.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        let answers: Vec<String> = requests.iter().map(|r| answer(r).to_string()).collect();
        std::fs::write(file("answers.jsonl"), answers.join("\n") + "\n").expect("the answers are written");
    }
    let recorded = std::fs::read_to_string(file("answers.jsonl")).expect("the answers");
    assert_eq!(recorded.lines().count(), requests.len());
    for (request, recorded) in requests.iter().zip(recorded.lines()) {
        assert_eq!(answer(request).to_string(), recorded, "{request:?}");
    }
}
