//! Laws of the e-graph on random expressions and facts, with the exact evaluator as the oracle: at every assignment
//! that satisfies the facts, what the graph holds equal is equal, what it holds true is true, and what it extracts
//! has the same value.
use crate::campaign;

use campaign::{config, count};
use proptest::prelude::*;
use sizewise::egraph::{Graph, Limits, Reading, RuleSet, Stop};
use sizewise::expr::{Evaluator, Expr, Func, Int, Pool, Symbol, Value, read};
use sizewise::range::{Domain, ValueRange};

const SYMBOLS: [&str; 3] = ["s0", "s1", "s2"];

/// One construction step: an operation, which of the expressions built so far it takes, and a constant.
type Step = (u8, usize, usize, i64);

struct Built {
    pool: Pool,
    integers: Vec<Expr>,
    conditions: Vec<Expr>,
}

fn build(steps: &[Step]) -> Built {
    let mut pool = Pool::new();
    let integers = SYMBOLS.iter().map(|name| pool.symbol(name)).collect();
    let mut built = Built { pool, integers, conditions: Vec::new() };
    for &(op, i, j, k) in steps {
        let pool = &mut built.pool;
        let (a, b) = (built.integers[i % built.integers.len()], built.integers[j % built.integers.len()]);
        let condition = |i: usize| built.conditions.get(i % built.conditions.len().max(1)).copied();
        let constant = pool.int(k);
        let divisor = pool.int(if k == 0 { 4 } else { k });
        let new = match op {
            0 => pool.add(a, b),
            1 => pool.sub(a, b),
            2 => pool.mul(a, b),
            3 => pool.mul(constant, a),
            4 => pool.add(a, constant),
            5 | 6 => pool.floor_div(a, divisor),
            7 => pool.floor_div(a, b),
            8 | 9 => pool.modulo(a, divisor),
            10 => pool.modulo(a, b),
            11 => pool.min(a, b),
            12 => pool.max(a, b),
            13 => pool.max(a, constant),
            14 => pool.abs(a),
            15 => match condition(j) {
                Some(c) => pool.ite(c, a, b),
                None => pool.ceil_div(a, divisor),
            },
            16 => pool.eq(a, b),
            17 => pool.le(a, b),
            18 => pool.lt(a, constant),
            19 => pool.eq(a, constant),
            _ => match (condition(i), condition(j)) {
                (Some(c), Some(d)) if k > 0 => pool.or(&[c, d]),
                (Some(c), Some(d)) if k < 0 => pool.and(&[c, d]),
                (Some(c), _) => pool.not(c),
                _ => pool.ge(a, b),
            },
        };
        match built.pool.sort(new) {
            sizewise::expr::Sort::Bool => built.conditions.push(new),
            _ => built.integers.push(new),
        }
    }
    built
}

/// The assignments in a box at which every root and every divisor below it is defined and not 0.
fn assignments(pool: &Pool, roots: &[Expr], low: &[i64], length: i64) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for &lo in low {
        points = points
            .into_iter()
            .flat_map(|p: Vec<i64>| (lo..=lo + length).map(move |v| [p.as_slice(), &[v]].concat()))
            .collect();
    }
    let parts = pool.reachable(roots);
    points.retain(|point| {
        let mut at = evaluator(pool, point);
        parts.iter().all(|&e| {
            let divides = match pool.as_call(e) {
                Some((Func::FloorDiv | Func::Mod, args)) => at.int(args[1]).is_ok_and(|d| !d.is_zero()),
                _ => true,
            };
            divides && at.value(e).is_ok()
        })
    });
    points
}

fn evaluator<'a>(
    pool: &'a Pool,
    point: &'a [i64],
) -> Evaluator<'a, impl Fn(Symbol) -> Option<Value> + use<'a>> {
    Evaluator::new(pool, |s: Symbol| point.get(s.0 as usize).map(|&v| Value::Int(Int::from(v))))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((0..24u8, 0..100usize, 0..100usize, -4..7i64), 2..14)
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn what_the_graph_holds_is_so(
        steps in steps(),
        low in prop::collection::vec(-3..3i64, 3),
        length in 1..5i64,
        facts in prop::collection::vec(0..100usize, 0..3),
        target in 0..100usize,
    ) {
        let Built { mut pool, integers, conditions } = build(&steps);
        let roots = [integers.as_slice(), &conditions].concat();
        let facts: Vec<Expr> = facts.iter().filter_map(|i| conditions.get(i % conditions.len().max(1)).copied()).collect();
        let mut points = assignments(&pool, &roots, &low, length);
        points.retain(|p| facts.iter().all(|&f| evaluator(&pool, p).truth(f) == Ok(true)));
        let mut graph = Graph::new();
        for (i, name) in SYMBOLS.iter().enumerate() {
            let symbol = pool.symbol(name);
            if let Some(range) = ValueRange::new(low[i], low[i] + length) {
                graph.declare(&mut pool, symbol, Domain::from(range));
            }
        }
        for &fact in &facts {
            graph.assume(&mut pool, fact);
        }
        for &root in &roots {
            graph.add(&mut pool, root);
        }
        let limits = Limits { nodes: 300, iterations: 4, matches: 150 };
        let outcome = graph.saturate(&mut pool, RuleSet::simplifying(), &limits, None);
        if points.is_empty() {
            return Ok(());
        }
        prop_assert_eq!(graph.contradiction(), None);
        prop_assert_ne!(outcome.stop, Stop::Contradiction);
        let target = integers[target % integers.len()];
        let mut reading = Reading::new();
        let smallest = graph.extract(&mut pool, target, &mut reading);
        let text = reading.text(&mut pool, smallest);
        let back = read::closed(&mut pool, &text).map(|r| r.expr);
        prop_assert_eq!(back, Ok(smallest), "{}", text);
        prop_assert!(reading.operators(&mut pool, smallest) <= reading.operators(&mut pool, target));
        let truths: Vec<(Expr, Option<bool>)> =
            conditions.iter().map(|&c| (c, graph.truth(&mut pool, c))).collect();
        let normals: Vec<(Expr, Expr)> = roots.iter().map(|&e| (e, graph.normal(&mut pool, e))).collect();
        for point in &points {
            let mut at = evaluator(&pool, point);
            for i in 0..graph.nodes() {
                let Some(e) = graph.expression(i) else { break };
                let value = at.value(e);
                count(1);
                prop_assert!(value.is_ok(), "{:?} is undefined at {:?}", e, point);
                if let Some(&first) = graph.members(e).first() {
                    prop_assert_eq!(at.value(first), value, "class of {:?} at {:?}", e, point);
                }
            }
            for &(condition, known) in &truths {
                if let Some(known) = known {
                    count(1);
                    prop_assert_eq!(at.truth(condition), Ok(known), "{:?} at {:?}", condition, point);
                }
            }
            for &(e, normal) in &normals {
                count(1);
                prop_assert_eq!(at.value(e), at.value(normal), "normal form of {:?} at {:?}", e, point);
            }
            prop_assert_eq!(at.value(smallest), at.value(target), "{} at {:?}", text, point);
        }
    }
}
