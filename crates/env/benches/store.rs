//! What a fact and a question cost in an environment that lives long: facts are added one at a time, as a tracer adds
//! them, and then thousands of questions are asked. Prints nanoseconds a fact at growing sizes, and a question; what a
//! branch costs; and what compaction gives back.
#[path = "../../../benches/memory/mod.rs"]
mod memory;

use sizewise_env::{ShapeEnv, SymbolInfo};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Value};
use std::time::{Duration, Instant};

const FACTS: usize = 8_000;
const QUESTIONS: usize = 10_000;

/// How often facts are added; the least time counts.
const REPEATS: usize = 5;

/// Symbols `s0`, `s1`, …, each at least 2, with hints.
fn symbols(env: &mut ShapeEnv, count: usize) -> Vec<Expr> {
    let info =
        |i: usize| SymbolInfo { hint: Some(Value::Int((8 + 8 * (i as i64 % 5)).into())), source: None };
    (0..count).map(|i| env.declare(&format!("s{i}"), ValueRange::at_least(2.into()), info(i))).collect()
}

/// Fact number `i`: multiples, orders, equalities and inequalities of neighbours, as layers of a network share sizes.
fn fact(env: &mut ShapeEnv, s: &[Expr], i: usize) -> Expr {
    let n = s.len();
    let (a, b) = (s[i % n], s[(i % n / 10) * 10]);
    let pool = &mut env.pool;
    match i / n {
        0 => {
            let rest = pool.modulo(a, 8.into());
            pool.eq(rest, 0.into())
        }
        1 => pool.eq(a, b),
        2 => pool.le(a, 4096.into()),
        _ => {
            let sum = pool.add(a, b);
            pool.le(sum, 8192.into())
        }
    }
}

/// Question number `i`: a third each what is stored, what follows by equalities and multiples, and what is open.
fn question(env: &mut ShapeEnv, s: &[Expr], i: usize) -> Expr {
    let n = s.len();
    let (a, b) = (s[i * 7 % n], s[(i * 7 % n / 10) * 10 + i % 10]);
    let pool = &mut env.pool;
    match i % 6 {
        0 => pool.le(a, 4096.into()),
        1 => pool.eq(a, b),
        2 => {
            let twice = pool.mul(a, 2.into());
            let rest = pool.modulo(twice, 16.into());
            pool.eq(rest, 0.into())
        }
        3 => {
            let (x, y) = (pool.floor_div(a, 8.into()), pool.floor_div(b, 8.into()));
            pool.eq(x, y)
        }
        4 => pool.gt(a, 64.into()),
        _ => {
            let product = pool.mul(a, b);
            pool.ge(product, 4.into())
        }
    }
}

/// Branches: entering one, a question and a fact inside, leaving it.
fn branch(env: &mut ShapeEnv, s: &[Expr], count: usize) {
    let mut times = [Duration::ZERO; 3];
    for i in 0..count {
        let supposed = env.pool.gt(s[i * 13 % s.len()], (3_000 + i as i32).into());
        let inside = env.pool.gt(s[i * 13 % s.len()], 2_999.into());
        let mut last = Instant::now();
        let mut lap = |at: usize| {
            times[at] += last.elapsed();
            last = Instant::now();
        };
        let outside = env.enter(Some(supposed));
        lap(0);
        env.statically(inside);
        lap(1);
        env.leave(outside);
        lap(2);
    }
    let [enter, ask, leave] = times.map(|time| time.as_micros() as f64 / count as f64);
    println!("a branch: {enter:.0} us to enter, {ask:.0} us a question inside, {leave:.0} us to leave");
}

/// Rounds of new questions, with the environment compacted after each.
fn compact(env: &mut ShapeEnv, mut s: Vec<Expr>) -> Vec<Expr> {
    for round in 0..4 {
        for i in 0..10 * QUESTIONS {
            let (a, b) = (s[i * 7 % s.len()], s[i * 11 % s.len()]);
            let sum = env.pool.add(a, b);
            let open = env.pool.gt(sum, (100 * round + i as i32 % 100).into());
            env.statically(open);
        }
        let (held, stored) = (memory::restart(), env.pool.len());
        let start = Instant::now();
        s = env.compact(s);
        let time = start.elapsed().as_secs_f64() * 1e3;
        let (most, now, left) = (memory::peak(), memory::restart(), env.pool.len());
        println!(
            "{} questions, compacted in {time:.1} ms: {stored} expressions to {left}, {:.1} MB to {:.1} (at most {:.1})",
            10 * QUESTIONS,
            held as f64 / 1e6,
            now as f64 / 1e6,
            most as f64 / 1e6
        );
    }
    s
}

/// Facts between two looks at the classes.
const BATCH: usize = 100;

/// Adds facts to an environment and lets them enter the classes now and then; nanoseconds a fact for each of the two.
fn added(count: usize) -> ([f64; 2], ShapeEnv, Vec<Expr>) {
    let mut env = ShapeEnv::new();
    let s = symbols(&mut env, count / 4);
    let mut times = [Duration::ZERO; 2];
    for i in 0..count {
        let fact = fact(&mut env, &s, i);
        let start = Instant::now();
        env.assume(fact);
        times[0] += start.elapsed();
        if (i + 1) % BATCH == 0 {
            // Questions nobody has answered before: with the second, the facts so far enter the classes.
            let open = [0, 1].map(|more| env.pool.gt(s[i % s.len()], (5_000 + 2 * i as i32 + more).into()));
            let start = Instant::now();
            for open in open {
                env.statically(open);
            }
            times[1] += start.elapsed();
        }
    }
    (times.map(|time| time.as_nanos() as f64 / count as f64), env, s)
}

fn main() {
    for count in [500, FACTS] {
        let mut least = [f64::INFINITY; 2];
        for _ in 0..REPEATS {
            let (times, ..) = added(count);
            least = [least[0].min(times[0]), least[1].min(times[1])];
        }
        let [add, enter] = least;
        println!("{count} facts: {add:.0} ns each to add, {enter:.0} ns to enter the classes");
    }
    let (_, mut env, s) = added(FACTS);
    for round in ["first", "again"] {
        let (start, mut settled) = (Instant::now(), 0);
        for i in 0..QUESTIONS {
            let question = question(&mut env, &s, i);
            settled += usize::from(env.statically(question).is_some());
        }
        let each = start.elapsed().as_nanos() as f64 / QUESTIONS as f64;
        println!("{QUESTIONS} questions, {round}: {each:.0} ns each, {settled} settled");
    }
    branch(&mut env, &s, 100);
    let s = compact(&mut env, s);
    let start = Instant::now();
    for i in 0..QUESTIONS {
        let question = question(&mut env, &s, i);
        env.statically(question);
    }
    let each = start.elapsed().as_nanos() as f64 / QUESTIONS as f64;
    println!("{QUESTIONS} questions after that: {each:.0} ns each");
}
