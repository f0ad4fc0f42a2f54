//! How the cost of a check grows with the program: time and memory by node, by symbol and by guard, for programs made
//! to measure.
//!
//! One JSON object a line on standard output; times are the least of several, in seconds. With the argument `write
//! FOLDER` the programs and their specs are written there instead.
use sizewise::check::Checker;
use sizewise::kernels::Operators;
use sizewise::report::{Outcome, to_json};
use sizewise::solve::Budget;
use sizewise::spec::Spec;
use sizewise_benches::generate::{self, Sizes};
use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

mod memory;

/// What is made.
const PROGRAMS: [Sizes; 16] = {
    const fn of(nodes: usize, symbols: usize, guards: usize) -> Sizes {
        Sizes { nodes, symbols, guards }
    }
    [
        of(10, 1, 0),
        of(100, 4, 0),
        of(1_000, 4, 0),
        of(10_000, 4, 0),
        of(30_000, 4, 0),
        of(100_000, 4, 0),
        of(1_000, 1, 0),
        of(1_000, 10, 0),
        of(1_000, 50, 0),
        of(1_000, 100, 0),
        of(1_000, 250, 0),
        of(1_000, 500, 0),
        of(1_000, 50, 10),
        of(1_000, 50, 100),
        of(1_000, 50, 1_000),
        of(1_000, 50, 10_000),
    ]
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let operators = Operators::new();
    for sizes in PROGRAMS {
        let (json, spec) = (generate::program(sizes), generate::spec(sizes.symbols));
        match arguments.as_slice() {
            [word, folder] if word == "write" => write(Path::new(folder), sizes, &json, &spec),
            _ => measure(sizes, json.as_bytes(), spec.as_bytes(), &operators),
        }
    }
}

fn write(folder: &Path, sizes: Sizes, json: &str, spec: &str) {
    let name = format!("{}_nodes_{}_symbols_{}_guards", sizes.nodes, sizes.symbols, sizes.guards);
    std::fs::write(folder.join(format!("{name}.json")), json).expect("a place for programs");
    std::fs::write(folder.join(format!("{name}.spec.json")), spec).expect("a place for specs");
}

fn measure(sizes: Sizes, json: &[u8], spec: &[u8], operators: &Operators) {
    let spec = Spec::parse(spec).expect("a spec");
    let repeats = (20_000 / sizes.nodes).clamp(3, 15);
    let mut least = [f64::INFINITY; 5];
    let mut peak = 0;
    for _ in 0..repeats {
        let before = memory::restart();
        let start = Instant::now();
        let checker = Checker::read("program.json", black_box(json)).expect("a program");
        let read = start.elapsed().as_secs_f64();
        let report = checker.check(Some(&spec), operators, &Budget::default()).expect("a report");
        let text = to_json(&report);
        let whole = start.elapsed().as_secs_f64();
        peak = memory::peak() - before;
        assert_eq!(report.verdict, Outcome::Ok, "{sizes:?}: {text}");
        let lap = |name: &str| report.timings.get(name).copied().unwrap_or(0.0);
        let times = [read, lap("bind"), lap("propagate"), lap("decide"), whole];
        for (least, time) in least.iter_mut().zip(times) {
            *least = least.min(time);
        }
    }
    let [read, bind, propagate, decide, whole] = least;
    let line = serde_json::json!({
        "nodes": sizes.nodes, "symbols": sizes.symbols, "guards": sizes.guards, "json_bytes": json.len(), "peak_bytes": peak,
        "read_s": read, "bind_s": bind, "propagate_s": propagate, "decide_s": decide, "whole_s": whole,
    });
    println!("{line}");
}
