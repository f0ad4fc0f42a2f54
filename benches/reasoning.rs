//! How long questions on expressions take, text in and text out: simplification of sizes such as convolutions, views
//! and concatenations give, and minimisation of sets of 10 to 1,000 guards.
//!
//! With the argument `lines` the expressions are simplified one by one and the times printed, for
//! `scripts/bench_beside.py`.
use criterion::{BenchmarkId, Criterion};
use serde_json::{Map, Value, json};
use sizewise::query::{minimize, simplify};
use sizewise::solve::{Budget, Trace};
use std::hint::black_box;
use std::time::Instant;

const EXPRESSIONS: &str = include_str!("expressions.txt");
/// How often an expression is simplified; the median counts.
const REPEATS: usize = 31;

fn request(request: Value) -> Map<String, Value> {
    match request {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// A request to simplify an expression over `s0` to `s7`, all of at least 2.
fn to_simplify(text: &str) -> Map<String, Value> {
    let symbols: Map<String, Value> = (0..8)
        .map(|i| format!("s{i}"))
        .filter(|name| text.contains(name.as_str()))
        .map(|name| (name, json!({"min": 2, "max": null})))
        .collect();
    request(json!({"symbols": symbols, "given": [], "expr": text}))
}

fn simplified(fields: &Map<String, Value>) -> String {
    let answer = simplify::answer(fields, &Budget::default(), &mut Trace::off()).expect("an answer");
    answer["expr"].as_str().unwrap_or_default().to_owned()
}

/// A request to minimise that many guards on 20 symbols; about half of them are redundant.
fn to_minimize(guards: usize) -> Map<String, Value> {
    let symbols: Map<String, Value> =
        (0..20).map(|i| (format!("s{i}"), json!({"min": 2, "max": 4096}))).collect();
    let guard = |i: usize| {
        let (a, b, n) = (i % 20, (i * 7 + 1) % 20, i / 20);
        match i % 4 {
            0 => format!("s{a} >= {}", 2 + n % 50),
            1 => format!("s{a} + s{b} <= {}", 8192 - n),
            2 => format!("Ne(s{a}, {})", 100 + n),
            _ => format!("Eq(Mod(s{a}, {}), 0)", 1 << (n % 4)),
        }
    };
    request(json!({"symbols": symbols, "guards": (0..guards).map(guard).collect::<Vec<_>>()}))
}

fn lines() {
    for text in EXPRESSIONS.lines() {
        let fields = to_simplify(text);
        let mut times: Vec<f64> = (0..REPEATS)
            .map(|_| {
                let start = Instant::now();
                black_box(simplified(black_box(&fields)));
                start.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{}", json!({"expr": text, "simple": simplified(&fields), "median_s": times[REPEATS / 2]}));
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "lines") {
        return lines();
    }
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    let requests: Vec<_> = EXPRESSIONS.lines().map(to_simplify).collect();
    criterion.bench_function("simplify/sizes", |b| {
        b.iter(|| requests.iter().map(|fields| simplified(black_box(fields)).len()).sum::<usize>());
    });
    let mut group = criterion.benchmark_group("minimize");
    for guards in [10, 100, 1_000] {
        let fields = to_minimize(guards);
        group.bench_with_input(BenchmarkId::from_parameter(guards), &fields, |b, fields| {
            b.iter(|| {
                minimize::answer(black_box(fields), &Budget::default(), &mut Trace::off()).expect("an answer")
            });
        });
    }
    group.finish();
    criterion.final_summary();
}
