//! What each rung of the ladder settles alone: a verdict that another rung would have found hides a rung that has become weak.
//!
//! `tests/data/queries/strength_*.txt` list, for the recorded queries, by what means each is settled. What is listed there must stay
//! settled; what is settled besides may be added to the list (`SIZEWISE_RECORD=1` writes it anew).
use serde_json::Value;
use sizewise::decide::{self, Budget, Verdict};
use sizewise::query::entail::Question;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Nothing but canonical form, ranges and an assignment at hand.
const NOTHING: Budget = Budget { points: 0, branches: 0, work: 0, terms: 0, iterations: 0, rlimit: 0 };

/// Rungs that are asked alone, each with the budget that leaves the others out.
const MEANS: [(&str, Budget); 5] = [
    ("range", NOTHING),
    ("linear", Budget { branches: 60, work: 100_000, terms: 200_000, ..NOTHING }),
    ("cases", Budget { points: 400, branches: 60, work: 100_000, terms: 200_000, ..NOTHING }),
    ("egraph", Budget { iterations: 4, ..NOTHING }),
    ("search", Budget { points: 2_000, ..NOTHING }),
];

/// What finds an assignment that satisfies the facts, before the rung is asked.
const BEFORE: Budget = Budget { points: 2_000, branches: 30, work: 60_000, terms: 100_000, ..NOTHING };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries")
}

fn queries(names: &[&str]) -> Vec<Value> {
    let read =
        |name: &&str| std::fs::read_to_string(folder().join(format!("{name}.jsonl"))).expect("queries");
    let texts: Vec<String> = names.iter().map(read).collect();
    let slow = std::fs::read_to_string(folder().join("slow.txt")).expect("a list");
    let is_quick = |q: &Value| q["id"].as_str().is_some_and(|id| !slow.lines().any(|slow| slow == id));
    let queries = texts.iter().flat_map(|t| t.lines()).map(|line| serde_json::from_str(line).expect("JSON"));
    queries.filter(is_quick).collect()
}

/// The verdict with one budget; none where it stays open.
fn verdict(query: &Value, budget: &Budget) -> Option<&'static str> {
    let mut question = Question::read(query.as_object().expect("an object")).ok()?;
    question.assume();
    let (pool, facts) = (&mut question.pool, &mut question.premises.facts);
    decide::prepare(pool, facts, &BEFORE);
    match decide::decide(pool, facts, question.goal, budget).verdict {
        Verdict::Implied { .. } => Some("implied"),
        Verdict::Refuted { .. } => Some("refuted"),
        Verdict::Inconsistent { .. } => Some("inconsistent"),
        Verdict::Unknown { .. } => None,
    }
}

/// The means by which a query is settled.
fn settled(query: &Value, means: &[&(&'static str, Budget)]) -> Vec<&'static str> {
    let mut settled = Vec::new();
    for (name, budget) in means {
        let Some(verdict) = verdict(query, budget) else { continue };
        let recorded = &query["verdict"];
        assert!(recorded.is_null() || *recorded == verdict, "{} by {name}: {verdict}", query["id"]);
        settled.push(*name);
    }
    settled
}

fn assert_as_strong_as_listed(file: &str, names: &[&str]) {
    let path = folder().join(file);
    let queries = queries(names);
    let id = |query: &Value| query["id"].as_str().expect("an id").to_string();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        let all: Vec<_> = MEANS.iter().collect();
        let line = |q: &Value| format!("{} {}\n", id(q), settled(q, &all).join(" "));
        std::fs::write(&path, queries.iter().map(line).collect::<String>()).expect("the list is written");
    }
    let text = std::fs::read_to_string(path).expect("the list is part of the source tree");
    let listed: HashMap<&str, &str> = text.lines().filter_map(|line| line.split_once(' ')).collect();
    assert_eq!(text.lines().count(), queries.len());
    for query in &queries {
        let id = id(query);
        let wanted: Vec<&str> = listed[id.as_str()].split(' ').filter(|w| !w.is_empty()).collect();
        let means: Vec<_> = MEANS.iter().filter(|(name, _)| wanted.contains(name)).collect();
        assert_eq!(settled(query, &means), wanted, "{id}");
    }
}

#[test]
fn each_rung_settles_alone_what_it_did_of_classics() {
    assert_as_strong_as_listed("strength_classics.txt", &["classics"]);
}

#[test]
fn each_rung_settles_alone_what_it_did_of_compilers() {
    assert_as_strong_as_listed("strength_compilers.txt", &["jax", "tvm"]);
}

#[test]
fn each_rung_settles_alone_what_it_did_of_exports() {
    assert_as_strong_as_listed("strength_exports.txt", &["torch", "hard"]);
}

#[test]
fn each_rung_settles_alone_what_it_did_of_generated_queries() {
    assert_as_strong_as_listed("strength_generated.txt", &["generated"]);
}
