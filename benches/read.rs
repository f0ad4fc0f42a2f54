//! How long reading a program takes, beside parsing its JSON alone.
//!
//! `SIZEWISE_BENCH_PROGRAM` names another program.
use criterion::{Criterion, criterion_group, criterion_main};
use serde::de::IgnoredAny;
use sizewise::ir::pt2::{ReadOptions, read, write_json};
use std::hint::black_box;

/// The JSON of a program, without the archive around it.
fn json() -> String {
    let path = std::env::var("SIZEWISE_BENCH_PROGRAM")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/bert.pt2").to_owned());
    let bytes = std::fs::read(&path).expect("the program");
    write_json(&read(&bytes, &ReadOptions::default()).expect("a program")).expect("JSON")
}

fn reading(criterion: &mut Criterion) {
    let json = json();
    let mut group = criterion.benchmark_group("read");
    group.sample_size(20);
    group.bench_function("program", |b| {
        b.iter(|| read(black_box(json.as_bytes()), &ReadOptions::default()).expect("a program"))
    });
    group.bench_function("serde_json::Value", |b| {
        b.iter(|| serde_json::from_str::<serde_json::Value>(black_box(&json)).expect("JSON"))
    });
    group.bench_function("serde_json, nothing kept", |b| {
        b.iter(|| serde_json::from_str::<IgnoredAny>(black_box(&json)).expect("JSON"))
    });
    group.finish();
}

criterion_group!(benches, reading);
criterion_main!(benches);
