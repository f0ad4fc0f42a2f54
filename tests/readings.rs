//! How expressions are read: the text that is shown, and the operators that a reader counts in it.
//!
//! `tests/data/queries/readings.txt` has a line for each part of the goals of recorded queries; `SIZEWISE_RECORD=1`
//! writes it anew, to be read before it is kept.
use serde_json::Value;
use sizewise::egraph::Reading;
use sizewise::expr::{Pool, print, read};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries").join(name)
}

/// What the parts of a goal are printed as, so that each is taken once.
fn parts() -> BTreeSet<String> {
    let mut parts = BTreeSet::new();
    for name in ["classics", "hard", "torch", "jax", "tvm"] {
        let text = std::fs::read_to_string(file(&format!("{name}.jsonl"))).expect("queries");
        for line in text.lines() {
            let query: Value = serde_json::from_str(line).expect("JSON");
            let mut pool = Pool::new();
            let goal = read::closed(&mut pool, query["goal"].as_str().expect("text")).expect("it reads").expr;
            let texts = pool.reachable(&[goal]).into_iter().map(|e| print::expression(&pool, e));
            parts.extend(texts.filter(|text| text.len() < 90));
        }
    }
    parts
}

fn line(text: &str) -> String {
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, text).expect("it reads").expr;
    let mut reading = Reading::new();
    let shown = reading.text(&mut pool, e);
    // What is shown means what was meant.
    assert_eq!(read::closed(&mut pool, &shown).expect("it reads").expr, e, "{text}: {shown}");
    format!("{text} | {} | {shown}", reading.operators(&mut pool, e))
}

#[test]
fn expressions_are_shown_as_recorded() {
    let parts = parts();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        let text: String = parts.iter().map(|p| line(p) + "\n").collect();
        std::fs::write(file("readings.txt"), text).expect("it is written");
    }
    let recorded = std::fs::read_to_string(file("readings.txt")).expect("the file");
    assert_eq!(recorded.lines().count(), parts.len());
    for (part, recorded) in parts.iter().zip(recorded.lines()) {
        assert_eq!(line(part), recorded);
    }
}
