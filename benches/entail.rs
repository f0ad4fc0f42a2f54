//! How long questions take: recorded queries beside Z3 alone, and a session with many facts.
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::Value;
use sizewise::expr::{Expr, Int, Pool, read};
use sizewise::range::ValueRange;
use sizewise::solve::{self, Budget, Facts};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

const FILES: [&str; 4] = ["classics", "torch", "jax", "tvm"];
/// Z3's resource limit on one query.
const RLIMIT: u32 = 5_000_000;

/// A query, read.
#[derive(Clone)]
struct Query {
    pool: Pool,
    facts: Facts,
    goal: Expr,
}

fn queries(name: &str) -> Vec<Query> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../tests/data/queries/{name}.jsonl"));
    let text = std::fs::read_to_string(&path).expect("the queries are part of the source tree");
    text.lines().map(|line| query(&serde_json::from_str(line).expect("a query is JSON"))).collect()
}

fn query(line: &Value) -> Query {
    let (mut pool, mut facts) = (Pool::new(), Facts::new());
    for (name, range) in line["symbols"].as_object().expect("symbols are an object") {
        let e = pool.symbol(name);
        let bound =
            |key: &str| range[key].as_number().map(|n| n.to_string().parse::<Int>().expect("an integer"));
        if let (Some(symbol), Some(range)) =
            (pool.as_symbol(e), ValueRange::between_options(bound("min"), bound("max")))
        {
            facts.declare(&mut pool, symbol, range);
        }
    }
    let mut read = |pool: &mut Pool, text: &Value| {
        let read = read::closed(pool, text.as_str().expect("an expression is text")).expect("an expression");
        read.divisors.into_iter().for_each(|d| facts.exclude_zero(pool, d));
        read.expr
    };
    let given: Vec<Expr> =
        line["given"].as_array().expect("a list").iter().map(|text| read(&mut pool, text)).collect();
    let goal = read(&mut pool, &line["goal"]);
    given.into_iter().for_each(|c| {
        facts.assume(&mut pool, c);
    });
    Query { pool, facts, goal }
}

/// Recorded queries, facts prepared, each decided once.
fn recorded(c: &mut Criterion) {
    for name in FILES {
        let mut queries = queries(name);
        let budget = Budget::default();
        queries.iter_mut().for_each(|q| solve::prepare(&mut q.pool, &mut q.facts, &budget));
        c.bench_function(&format!("entail/{name}"), |b| {
            b.iter_batched(
                || queries.clone(),
                |mut queries| {
                    for q in &mut queries {
                        black_box(solve::decide(&mut q.pool, &mut q.facts, q.goal, &budget));
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
}

/// The same queries, each put to sizewise with nothing prepared; then each to a fresh Z3 solver, by the procedure
/// that Z3 chooses itself and by the one that sizewise has it run: medians, totals and ratios.
fn beside_z3(_: &mut Criterion) {
    let budget = Budget::default();
    let (mut all_own, mut all_z3, mut all_chosen) = (Vec::new(), Vec::new(), Vec::new());
    for name in FILES {
        let (mut own, mut z3, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
        for mut q in queries(name) {
            let start = Instant::now();
            black_box(solve::decide(&mut q.pool, &mut q.facts, q.goal, &budget));
            own.push(start.elapsed());
        }
        for (times, procedure) in [(&mut z3, false), (&mut chosen, true)] {
            for mut q in queries(name) {
                let start = Instant::now();
                black_box(solve::by_z3_alone(&mut q.pool, &q.facts, q.goal, RLIMIT, procedure));
                times.push(start.elapsed());
            }
        }
        compare("Z3", name, &own, &z3);
        all_own.extend(own);
        all_z3.extend(z3);
        all_chosen.extend(chosen);
    }
    compare("Z3", "all", &all_own, &all_z3);
    compare("Z3 by the ladder's procedure", "all", &all_own, &all_chosen);
}

fn compare(whom: &str, name: &str, own: &[Duration], z3: &[Duration]) {
    let median = |times: &[Duration]| {
        let mut times = times.to_vec();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let ratio = |a: Duration, b: Duration| b.as_secs_f64() / a.as_secs_f64().max(1e-9);
    let (own_total, z3_total): (Duration, Duration) = (own.iter().sum(), z3.iter().sum());
    println!(
        "beside {whom}, {name} ({} queries): median {:?} against {:?} ({:.0}x), total {own_total:?} against {z3_total:?} ({:.1}x)",
        own.len(),
        median(own),
        median(z3),
        ratio(median(own), median(z3)),
        ratio(own_total, z3_total),
    );
}

/// What a session took.
struct Session {
    /// Adding the facts, with a check that they are consistent.
    added: Duration,
    /// The questions, and all of them once more: then each group has been asked about before.
    asked: [Duration; 2],
    implied: usize,
}

/// Facts and questions about `facts` / 4 groups of four symbols.
fn session(facts: usize, questions: usize) -> Session {
    let (mut pool, mut known) = (Pool::new(), Facts::new());
    let budget = Budget::default();
    let symbols: Vec<Expr> = (0..facts).map(|i| pool.symbol(&format!("s{i}"))).collect();
    for &s in &symbols {
        if let Some(symbol) = pool.as_symbol(s) {
            known.declare(&mut pool, symbol, ValueRange::at_least(Int::from(2)));
        }
    }
    let start = Instant::now();
    for (i, &s) in symbols.iter().enumerate() {
        let first = symbols[i - i % 4];
        let eight = pool.int(8);
        let remainder = pool.modulo(s, eight);
        let fact = match i % 4 {
            0 => pool.eq(remainder, Expr::ZERO),
            1 => pool.le(s, first),
            2 => {
                let twice = pool.mul(Expr::from(2), first);
                pool.eq(s, twice)
            }
            _ => pool.lt(first, s),
        };
        known.assume(&mut pool, fact);
    }
    solve::prepare(&mut pool, &mut known, &budget);
    let added = start.elapsed();
    let (mut asked, mut implied) = ([Duration::ZERO; 2], 0);
    for round in &mut asked {
        let start = Instant::now();
        implied = 0;
        for i in 0..questions {
            let group = i * 4 % (facts - 3);
            let group = group - group % 4;
            let (a, c, d) = (symbols[group], symbols[group + 2], symbols[group + 3]);
            let sixteen = pool.int(16);
            let remainder = pool.modulo(c, sixteen);
            let goal = match i % 3 {
                0 => pool.eq(remainder, Expr::ZERO),
                1 => pool.lt(a, d),
                _ => pool.lt(d, c),
            };
            let answer = solve::decide(&mut pool, &mut known, goal, &budget);
            implied += usize::from(answer.verdict.is_implied());
        }
        *round = start.elapsed();
    }
    Session { added, asked, implied }
}

/// A session of many facts: the cost of a fact and of a question, for ever more facts.
fn many_facts(c: &mut Criterion) {
    for facts in [20, 200, 2_000, 8_000] {
        let Session { added, asked, implied } = session(facts, 10_000);
        let [first, again] = asked.map(|d| d.as_secs_f64() * 1e6 / 10_000.0);
        println!(
            "session, {facts} facts: {:.2} us a fact (with a check that they are consistent), {first:.2} us a question, {again:.2} us asked again, {implied} of 10000 implied",
            added.as_secs_f64() * 1e6 / facts as f64,
        );
    }
    let mut group = c.benchmark_group("session");
    group.sample_size(10);
    group.bench_function("2000 facts, 10000 questions", |b| b.iter(|| black_box(session(2_000, 10_000))));
    group.finish();
}

criterion_group!(benches, recorded, beside_z3, many_facts);
criterion_main!(benches);
