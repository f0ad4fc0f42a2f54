//! Where the time of a check goes, in process: the bytes of an archive in, a report out, phase by phase.
//!
//! Arguments: `.pt2` files; without any, the examples. One JSON object a line on standard output; times are in seconds.
//! `scripts/bench_beside.py` puts them beside what others take.
use sizewise::check::Checker;
use sizewise::kernels::Operators;
use sizewise::report::to_json;
use sizewise::solve::Budget;
use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// That of the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How often a program is checked; the median counts.
const REPEATS: usize = 15;

/// Seconds by phase, of one check.
fn check(bytes: &[u8], operators: &Operators) -> BTreeMap<String, f64> {
    let start = Instant::now();
    let checker = Checker::read("program.pt2", black_box(bytes)).expect("a program");
    let read = start.elapsed().as_secs_f64();
    let report = checker.check(None, operators, &Budget::default()).expect("a report");
    let text = to_json(&report);
    let whole = start.elapsed().as_secs_f64();
    black_box(&text);
    let mut laps: BTreeMap<String, f64> = report.timings.into_iter().collect();
    drop(checker);
    laps.insert("read".into(), read);
    laps.insert("whole".into(), whole);
    laps.insert("with_drop".into(), start.elapsed().as_secs_f64());
    laps
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

fn main() {
    let mut paths: Vec<PathBuf> =
        std::env::args_os().skip(1).filter(|arg| arg != "--bench").map(PathBuf::from).collect();
    if paths.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        paths.extend(
            ["branch", "area", "thirds", "masked", "bert"].map(|name| folder.join(format!("{name}.pt2"))),
        );
    }
    let operators = Operators::new();
    for path in paths {
        let bytes = std::fs::read(&path).expect("a program");
        check(&bytes, &operators);
        let mut laps: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for _ in 0..REPEATS {
            for (phase, time) in check(&bytes, &operators) {
                laps.entry(phase).or_default().push(time);
            }
        }
        let nodes = Checker::read("", &bytes).expect("a program").program().graph.total_nodes();
        let least: BTreeMap<&str, f64> = laps
            .iter()
            .map(|(phase, times)| (phase.as_str(), times.iter().copied().fold(f64::INFINITY, f64::min)))
            .collect();
        let medians: BTreeMap<&str, f64> =
            laps.iter().map(|(phase, times)| (phase.as_str(), median(times.clone()))).collect();
        let line = serde_json::json!({"path": path, "nodes": nodes, "median_s": medians, "least_s": least});
        println!("{line}");
    }
}
