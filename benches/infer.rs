//! How long one shape inference takes: the calls of `tests/data/ops.jsonl.gz` with concrete sizes, and with a symbol
//! for every size of 2 or more.
//!
//! Timed are the search for the operator, the binding of the arguments with their defaults, and the kernel, in an
//! environment of its own for each call; reading JSON is not. First come the medians over the whole corpus, then
//! criterion's measurements of a tenth of it.
use criterion::{BatchSize, Criterion, Throughput};
use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};
use sizewise::env::{ShapeEnv, SymbolInfo};
use sizewise::expr::{Int, Value as Number};
use sizewise::kernels::{Cx, Operators, Value, bind, coverage};
use sizewise::query::argument::read_value;
use sizewise::range::ValueRange;
use std::collections::BTreeMap;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::time::Instant;

/// How often each call is timed; the median counts.
const REPEATS: usize = 9;
/// How many families the report names.
const SLOWEST: usize = 12;

/// A call, ready to be made.
#[derive(Clone)]
struct Call {
    op: String,
    env: ShapeEnv,
    positional: Vec<Value>,
    keywords: Vec<(String, Value)>,
}

/// Makes every size of 2 or more of a tensor a symbol that is hinted with it; strides are contiguous then.
fn symbolise(env: &mut ShapeEnv, tensor: &mut Json, count: &mut usize) {
    let Some(object) = tensor.as_object_mut() else { return };
    let Some(Json::Array(sizes)) = object.get_mut("shape") else { return };
    for size in sizes {
        let Some(hint) = size.as_i64().filter(|&size| size >= 2) else { continue };
        let name = format!("s{count}");
        *count += 1;
        let hint = Some(Number::Int(Int::from(hint)));
        env.declare(&name, ValueRange::at_least(Int::from(0)), SymbolInfo { hint, source: None });
        *size = json!(name);
    }
    object.remove("stride");
}

fn read(call: &Json, symbolic: bool) -> Option<Call> {
    let mut env = ShapeEnv::new();
    let mut count = 0;
    let mut value = |arg: &Json| {
        let mut arg = arg.clone();
        if symbolic {
            if let Some(tensor) = arg.get_mut("tensor") {
                symbolise(&mut env, tensor, &mut count);
            } else if let Some(Json::Array(tensors)) = arg.get_mut("tensors") {
                tensors.iter_mut().for_each(|tensor| symbolise(&mut env, tensor, &mut count));
            }
        }
        read_value(&mut env, &arg).ok()
    };
    let positional = call["args"].as_array()?.iter().map(&mut value).collect::<Option<Vec<_>>>()?;
    let mut keywords = Vec::new();
    for (name, arg) in call["kwargs"].as_object().into_iter().flatten() {
        keywords.push((name.clone(), value(arg)?));
    }
    Some(Call { op: call["op"].as_str()?.to_owned(), env, positional, keywords })
}

/// The calls that return something, as the corpus has them.
fn calls(symbolic: bool) -> Vec<Call> {
    let file = File::open("../tests/data/ops.jsonl.gz").expect("the recorded calls");
    let lines = BufReader::new(GzDecoder::new(file)).lines();
    let recorded = lines.map(|line| serde_json::from_str::<Json>(&line.expect("text")).expect("JSON"));
    recorded.filter(|call| call.get("returns").is_some()).filter_map(|call| read(&call, symbolic)).collect()
}

/// One inference.
fn infer(operators: &Operators, call: &mut Call) -> bool {
    let Some((schema, kernel)) = operators.find(&call.op) else { return false };
    let (positional, keywords) = (std::mem::take(&mut call.positional), std::mem::take(&mut call.keywords));
    let Ok(args) = bind(&mut call.env.pool, schema, positional, keywords) else { return false };
    black_box(kernel.call(&mut Cx::new(&mut call.env), &args)).is_ok()
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(0.0)
}

/// What reading the clock twice takes, and an environment, in nanoseconds.
fn overheads() -> (f64, f64) {
    let mut clock: Vec<f64> = (0..10_000).map(|_| Instant::now().elapsed().as_nanos() as f64).collect();
    let mut environment: Vec<f64> = (0..10_000)
        .map(|_| {
            let start = Instant::now();
            black_box(ShapeEnv::new());
            start.elapsed().as_nanos() as f64
        })
        .collect();
    let clock = median(&mut clock);
    (clock, median(&mut environment) - clock)
}

/// Prints the median over the corpus and the slowest families.
fn report(operators: &Operators, title: &str, calls: &[Call], budget: f64) {
    let (clock, environment) = overheads();
    let families: BTreeMap<String, &str> =
        coverage().into_iter().filter_map(|row| Some((row.name, row.family?))).collect();
    let mut all = Vec::with_capacity(calls.len());
    let mut by_family: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for call in calls {
        let mut times = Vec::with_capacity(REPEATS);
        for _ in 0..REPEATS {
            let mut call = call.clone();
            let start = Instant::now();
            let done = infer(operators, &mut call);
            let time = start.elapsed().as_nanos() as f64;
            if done {
                times.push((time - clock).max(0.0));
            }
        }
        if times.is_empty() {
            continue;
        }
        let time = median(&mut times) + environment;
        all.push(time);
        by_family.entry(families.get(&call.op).copied().unwrap_or("in-place")).or_default().push(time);
    }
    let count = all.len();
    let middle = median(&mut all);
    let high = all.get(count * 9 / 10).copied().unwrap_or(0.0);
    println!(
        "{title}: median {middle:.0} ns (budget {budget:.0}), 90 of 100 below {high:.0} ns, {count} calls"
    );
    println!("  of which the environment {environment:.0} ns");
    let mut slowest: Vec<(f64, &str, usize)> =
        by_family.iter_mut().map(|(family, times)| (median(times), *family, times.len())).collect();
    slowest.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (time, family, count) in slowest.into_iter().take(SLOWEST) {
        println!("  {family:20} median {time:7.0} ns, {count} calls");
    }
}

fn main() {
    let operators = Operators::new();
    let mut criterion = Criterion::default().configure_from_args().sample_size(20);
    for (title, symbolic, budget) in [("concrete", false, 1000.0), ("symbolic", true, 3000.0)] {
        let calls = calls(symbolic);
        // Schemas are parsed when they are first asked for.
        for call in &calls {
            infer(&operators, &mut call.clone());
        }
        report(&operators, title, &calls, budget);
        let some: Vec<Call> = calls.into_iter().step_by(10).collect();
        let mut group = criterion.benchmark_group("infer");
        group.throughput(Throughput::Elements(some.len() as u64));
        group.bench_function(title, |bencher| {
            bencher.iter_batched_ref(
                || some.clone(),
                |calls| calls.iter_mut().filter_map(|call| infer(&operators, call).then_some(())).count(),
                BatchSize::LargeInput,
            );
        });
        group.finish();
    }
    criterion.final_summary();
}
