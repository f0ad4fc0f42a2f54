//! How long tract-data's `TDim` takes to simplify sizes, text in and text out: JSON lines on standard output, times
//! in seconds.
//!
//! Argument: a file with an expression a line, as Python writes them. What `TDim` cannot read is printed with null
//! for its time.
use std::hint::black_box;
use std::time::Instant;
use tract_data::prelude::SymbolScope;

/// How often an expression is simplified; the median counts.
const REPEATS: usize = 31;

/// The simplified text; all symbols are at least 2.
fn simplified(text: &str) -> Option<String> {
    let scope = SymbolScope::default();
    for i in 0..8 {
        let name = format!("s{i}");
        if text.contains(&name) {
            scope.add_assertion(format!("{name} >= 2")).ok()?;
        }
    }
    Some(scope.parse_tdim(text).ok()?.simplify().to_string())
}

fn main() {
    let path = std::env::args().nth(1).expect("a file of expressions");
    for line in std::fs::read_to_string(path).expect("a file of expressions").lines() {
        let text = line.replace("//", "/").replace("Min", "min").replace("Max", "max");
        let simple = simplified(&text);
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let start = Instant::now();
                black_box(simplified(black_box(&text)));
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let time = simple.as_ref().map(|_| times[REPEATS / 2]);
        println!("{}", serde_json::json!({"expr": line, "simple": simple, "median_s": time}));
    }
}
