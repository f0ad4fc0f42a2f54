//! What ranges and residues are derived from the facts of recorded queries, for every part of their goals.
//!
//! `tests/data/queries/ranges*.txt` have a line for each query: the domains of the parts, or `!` where the facts contradict each other.
//! A smaller domain is progress: `SIZEWISE_RECORD=1` writes the files anew, to be read before they are kept.
use serde_json::Value;
use sizewise::expr::{Pool, Sort, read};
use sizewise::range::{DomainTable, ValueRange};
use std::path::{Path, PathBuf};

/// Facts are assumed again this often, as long as they teach something.
const ROUNDS: usize = 3;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries").join(name)
}

fn queries(files: &[&str]) -> Vec<Value> {
    let mut queries = Vec::new();
    for name in files {
        let text = std::fs::read_to_string(file(&format!("{name}.jsonl"))).expect("queries");
        queries.extend(text.lines().map(|line| serde_json::from_str(line).expect("JSON")));
    }
    queries
}

/// The domains of the parts of the goal.
fn derived(query: &Value) -> String {
    let (mut pool, mut table) = (Pool::new(), DomainTable::new());
    let end = |v: &Value| (!v.is_null()).then(|| v.to_string().parse().expect("an integer"));
    for (name, range) in query["symbols"].as_object().expect("an object") {
        let symbol = pool.symbol(name);
        let range = ValueRange::between_options(end(&range["min"]), end(&range["max"])).expect("not empty");
        table.set(&pool, symbol, range.into()).expect("consistent");
    }
    let mut read =
        |text: &Value| read::closed(&mut pool, text.as_str().expect("text")).expect("it reads").expr;
    let given: Vec<_> = query["given"].as_array().expect("a list").iter().map(&mut read).collect();
    let goal = read(&query["goal"]);
    for _ in 0..ROUNDS {
        let mut changed = false;
        for &fact in &given {
            match table.assume(&pool, fact) {
                Ok(news) => changed |= news,
                Err(_) => return "!".to_string(),
            }
        }
        if !changed {
            break;
        }
    }
    let parts =
        pool.reachable(&[goal]).into_iter().filter(|&e| !pool.is_constant(e) && pool.sort(e) != Sort::Float);
    parts.map(|e| format!("{:?}", table.domain(&pool, e))).collect::<Vec<_>>().join("; ")
}

fn assert_as_recorded(name: &str, files: &[&str]) {
    let queries = queries(files);
    let id = |query: &Value| query["id"].as_str().expect("an id").to_string();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        let text: String = queries.iter().map(|q| format!("{}: {}\n", id(q), derived(q))).collect();
        std::fs::write(file(name), text).expect("it is written");
    }
    let recorded = std::fs::read_to_string(file(name)).expect("the file");
    assert_eq!(recorded.lines().count(), queries.len());
    for (query, line) in queries.iter().zip(recorded.lines()) {
        assert_eq!(format!("{}: {}", id(query), derived(query)), line, "{query}");
    }
}

#[test]
fn ranges_are_as_recorded() {
    assert_as_recorded("ranges.txt", &["classics", "hard", "torch", "jax", "tvm"]);
}

#[test]
fn ranges_of_generated_queries_are_as_recorded() {
    assert_as_recorded("ranges_generated.txt", &["generated"]);
}
