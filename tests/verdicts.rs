//! How each recorded query is answered: the verdict, the rung that reached it, what it rests on, and by which arguments.
//!
//! `tests/data/queries/verdicts.txt` and `verdicts_slow.txt` have a line for each query. Another way to the same verdict may be a better one:
//! `SIZEWISE_RECORD=1` writes the files anew, to be read before they are kept.
use serde_json::Value;
use sizewise::decide::Budget;
use sizewise::query::entail::Question;
use std::path::{Path, PathBuf};

/// Without Z3, whose versions answer differently.
const BUDGET: Budget =
    Budget { points: 2_000, branches: 60, work: 100_000, terms: 200_000, iterations: 4, rlimit: 0 };

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries").join(name)
}

/// The answer in a line.
fn answered(query: &Value) -> String {
    let mut question = Question::read(query.as_object().expect("an object")).expect("a question");
    let settled = question.decide(&BUDGET);
    let reply = question.reply(&settled);
    let text = |key: &str| reply[key].as_str().unwrap_or_default().to_string();
    let rests_on = match text("verdict").as_str() {
        "refuted" => reply["witness"].to_string(),
        "unknown" => text("reason"),
        _ => reply["because"].to_string(),
    };
    let proof = question.proof(&settled);
    let rules: Vec<&str> =
        proof.as_array().into_iter().flatten().filter_map(|s| s["rule"].as_str()).collect();
    let verdict = text("verdict");
    let recorded = &query["verdict"];
    assert!(verdict == "unknown" || recorded.is_null() || *recorded == *verdict, "{query}: {verdict}");
    format!(
        "{} {verdict} by {}: {rests_on} {}",
        query["id"].as_str().expect("an id"),
        text("decided_by"),
        rules.join(" ")
    )
}

const FILES: [&str; 5] = ["classics", "torch", "jax", "tvm", "hard"];

/// Asserts the answers to those queries that are among the slow ones (`slow.txt`), or are not.
fn assert_as_recorded(name: &str, files: &[&str], slow: bool) {
    let read = |name: &str| std::fs::read_to_string(file(name)).expect("a file of the source tree");
    let listed = read("slow.txt");
    let listed: Vec<&str> = listed.lines().collect();
    let is_chosen = |q: &Value| q["id"].as_str().is_some_and(|id| listed.contains(&id)) == slow;
    let texts: Vec<String> = files.iter().map(|name| read(&format!("{name}.jsonl"))).collect();
    let queries = texts.iter().flat_map(|t| t.lines()).map(|l| serde_json::from_str(l).expect("JSON"));
    let queries: Vec<Value> = queries.filter(is_chosen).collect();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        let text: String = queries.iter().map(|q| answered(q) + "\n").collect();
        std::fs::write(file(name), text).expect("it is written");
    }
    let recorded = read(name);
    assert_eq!(recorded.lines().count(), queries.len());
    for (query, line) in queries.iter().zip(recorded.lines()) {
        assert_eq!(answered(query), line, "{query}");
    }
}

#[test]
fn recorded_queries_are_answered_as_they_were() {
    assert_as_recorded("verdicts.txt", &FILES, false);
}

#[test]
fn slow_queries_are_answered_as_they_were() {
    assert_as_recorded("verdicts_slow.txt", &FILES, true);
}

/// Small random questions, some of each kind that a rung is for.
#[test]
fn generated_queries_are_answered_as_they_were() {
    assert_as_recorded("verdicts_generated.txt", &["generated"], false);
}
