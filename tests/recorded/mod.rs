//! Recorded queries: what is answered, by which means each is settled, what ranges are derived, what goals are
//! simplified to, and what work all that takes, kind by kind.
//!
//! `tests/data/queries/recorded/` has a file for everything that is recorded, a line for each query; the work, which
//! is counted and the same on every machine, is added up for the queries of a test. Another way to the same verdict
//! may be a better one, and less work is better: `SIZEWISE_RECORD=1` writes the lines anew, to be read before they
//! are kept.
mod forms;
mod keyed;
mod ranges;
mod strength;
mod tally;
mod verdicts;

use serde_json::Value;
use std::path::{Path, PathBuf};
use tally::Tally;

/// Recorded questions of three libraries, classics of the field, and small random questions (`generated`, and
/// `varied`, whose verdicts were compared with an enumeration by another evaluator).
const FILES: [&str; 7] = ["classics", "torch", "jax", "tvm", "hard", "generated", "varied"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/queries")
}

fn id(query: &Value) -> &str {
    query["id"].as_str().expect("an id")
}

/// What a query asks: what is recorded of its answer aside.
fn asked(query: &Value) -> sizewise::query::Fields {
    let fields = ["id", "symbols", "given", "goal"];
    fields.iter().map(|field| (field.to_string(), query[*field].clone())).collect()
}

/// The queries of a kind, which their names begin with; of many, one part of so many. Those in `slow.txt` are left out.
fn queries(kind: &str, (part, parts): (usize, usize)) -> Vec<Value> {
    let read =
        |name: String| std::fs::read_to_string(folder().join(name)).expect("a file of the source tree");
    let slow = read("slow.txt".to_string());
    let slow: Vec<&str> = slow.lines().collect();
    let is_wanted = |q: &Value| !slow.contains(&id(q)) && id(q).split('-').next() == Some(kind);
    let texts: Vec<String> = FILES.iter().map(|name| read(format!("{name}.jsonl"))).collect();
    let all = texts.iter().flat_map(|t| t.lines()).map(|l| serde_json::from_str(l).expect("JSON"));
    let wanted = all.filter(is_wanted).enumerate().filter(|(i, _)| i % parts == part - 1);
    wanted.map(|(_, query)| query).collect()
}

/// What is said of a query now; the work that it takes is added to a tally.
type Now = fn(&Value, &mut Tally) -> String;

/// Compares what is recorded of the queries with what is said now, a line each, and the work that this takes.
fn compare(what: &str, kind: &str, part: (usize, usize), now: Now, same: fn(&str, &str) -> bool) {
    let queries = queries(kind, part);
    assert!(!queries.is_empty(), "{kind}");
    let mut tally = Tally::default();
    let said: Vec<(String, String)> =
        queries.iter().map(|query| (id(query).to_owned(), now(query, &mut tally))).collect();
    let of_part = format!("{what} {kind} {} ", part.0);
    let work: Vec<(String, String)> =
        tally.lines().map(|(of, sums)| (format!("{of_part}{of}"), sums)).collect();
    if std::env::var_os("SIZEWISE_RECORD").is_some() {
        keyed::write(what, &said);
        keyed::write("work", &work);
    }
    let recorded = keyed::read(what);
    for ((name, said), query) in said.iter().zip(&queries) {
        let line =
            recorded.get(name).unwrap_or_else(|| panic!("nothing is recorded of {name} in {what}.txt"));
        assert!(same(said, line), "{said}\nnow, and recorded is\n{line}\nof {query}");
    }
    let recorded = keyed::read("work").into_iter().filter(|(key, _)| key.starts_with(&of_part));
    assert_eq!(
        work,
        recorded.collect::<Vec<_>>(),
        "the work changed: where that is meant, `SIZEWISE_RECORD=1 cargo test --test tests recorded` records it anew"
    );
}

macro_rules! kinds {
    ($($name:ident: $kind:literal, $part:literal of $parts:literal;)*) => { $(
        mod $name {
            use super::{compare, forms, ranges, strength, verdicts};

            #[test]
            fn is_answered_as_recorded() {
                compare("verdicts", $kind, ($part, $parts), verdicts::answered, |now, before| now == before);
            }

            #[test]
            fn is_settled_by_each_rung_as_recorded() {
                compare("means", $kind, ($part, $parts), strength::means, strength::is_as_strong);
            }

            #[test]
            fn has_the_recorded_ranges() {
                compare("ranges", $kind, ($part, $parts), ranges::derived, |now, before| now == before);
            }

            #[test]
            fn has_goals_that_are_simplified_as_recorded() {
                compare("forms", $kind, ($part, $parts), forms::simplified, |now, before| now == before);
            }
        }
    )* };
}

kinds! {
    mixed_1: "mixed", 1 of 6;
    mixed_2: "mixed", 2 of 6;
    mixed_3: "mixed", 3 of 6;
    mixed_4: "mixed", 4 of 6;
    mixed_5: "mixed", 5 of 6;
    mixed_6: "mixed", 6 of 6;
    jax_1: "jax", 1 of 3;
    jax_2: "jax", 2 of 3;
    jax_3: "jax", 3 of 3;
    torch_1: "torch", 1 of 4;
    torch_2: "torch", 2 of 4;
    torch_3: "torch", 3 of 4;
    torch_4: "torch", 4 of 4;
    tvm_1: "tvm", 1 of 4;
    tvm_2: "tvm", 2 of 4;
    tvm_3: "tvm", 3 of 4;
    tvm_4: "tvm", 4 of 4;
    linear_1: "linear", 1 of 3;
    linear_2: "linear", 2 of 3;
    linear_3: "linear", 3 of 3;
    assignment_1: "assignment", 1 of 2;
    assignment_2: "assignment", 2 of 2;
    shape_1: "shape", 1 of 2;
    shape_2: "shape", 2 of 2;
    sizes_1: "sizes", 1 of 2;
    sizes_2: "sizes", 2 of 2;
    classic_1: "classic", 1 of 2;
    classic_2: "classic", 2 of 2;
    nonlinear_1: "nonlinear", 1 of 2;
    nonlinear_2: "nonlinear", 2 of 2;
    power: "power", 1 of 1;
    random: "random", 1 of 1;
    integer: "integer", 1 of 1;
    boolean: "boolean", 1 of 1;
    bigint: "bigint", 1 of 1;
    bilinear: "bilinear", 1 of 1;
    minmax: "minmax", 1 of 1;
    pell: "pell", 1 of 1;
    divisor: "divisor", 1 of 1;
    squares: "squares", 1 of 1;
    lattice: "lattice", 1 of 1;
    congruence: "congruence", 1 of 1;
    equation: "equation", 1 of 1;
    number_1: "number", 1 of 2;
    number_2: "number", 2 of 2;
    search: "search", 1 of 1;
    product: "product", 1 of 1;
    huge: "huge", 1 of 1;
    tower: "tower", 1 of 1;
    downward_1: "downward", 1 of 2;
    downward_2: "downward", 2 of 2;
    residue: "residue", 1 of 1;
    factors: "factors", 1 of 1;
    distinct: "distinct", 1 of 1;
    unknowns: "unknowns", 1 of 1;
    surface: "surface", 1 of 1;
}
