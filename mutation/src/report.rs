//! What came of the mutants, by module.
use crate::campaign::{Entry, Outcome};
use crate::mutants::Mutant;
use std::collections::BTreeMap;

#[derive(Default)]
struct Row {
    listed: usize,
    unviable: usize,
    caught: usize,
    timeout: usize,
    missed: usize,
    unreached: usize,
    not_all_tests: usize,
}

fn module(file: &str) -> String {
    match file.split('/').collect::<Vec<_>>()[..] {
        [_, "decide", "smt", ..] => "decide/smt".to_string(),
        [_, module, ..] => module.to_string(),
        _ => file.to_string(),
    }
}

/// A table of the modules and, if wanted, the mutants that were not caught.
pub fn print(mutants: &[Mutant], known: &BTreeMap<String, Entry>, missed: bool) {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for m in mutants {
        for name in [module(&m.file), "sum".to_string()] {
            let row = rows.entry(name).or_default();
            row.listed += 1;
            let Some(entry) = known.get(&m.key) else { continue };
            match entry.outcome {
                Outcome::Unviable => row.unviable += 1,
                Outcome::Caught => row.caught += 1,
                Outcome::Timeout => row.timeout += 1,
                Outcome::Missed => {
                    row.missed += 1;
                    row.not_all_tests += usize::from(entry.not_run > 0);
                }
                Outcome::Unreached => row.unreached += 1,
            }
        }
    }
    println!("| module | listed | unviable | run | caught | of these by time | missed | unreached | score |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (name, r) in &rows {
        let caught = r.caught + r.timeout;
        let run = caught + r.missed + r.unreached;
        let score = 100.0 * caught as f64 / run.max(1) as f64;
        println!(
            "| {name} | {} | {} | {run} | {caught} | {} | {} | {} | {score:.1}% |",
            r.listed, r.unviable, r.timeout, r.missed, r.unreached
        );
    }
    let partly: usize = rows.get("sum").map_or(0, |r| r.not_all_tests);
    if partly > 0 {
        println!("\n{partly} of the missed ones reach tests that were not run for their cost.");
    }
    if missed {
        println!();
        for m in mutants {
            match known.get(&m.key) {
                Some(e) if e.outcome == Outcome::Missed => println!("missed     {}", m.name),
                Some(e) if e.outcome == Outcome::Unreached => println!("unreached  {}", m.name),
                _ => {}
            }
        }
    }
}
