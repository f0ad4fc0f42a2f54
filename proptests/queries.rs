//! Laws of queries: what a verdict must not depend on, and how verdicts go together.
use crate::campaign;

use campaign::{Tally, config};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use sizewise::expr::{Evaluator, Expr, Int, Pool, Symbol, Value, read};
use sizewise::range::ValueRange;
use sizewise::solve::{self, Answer, Budget, Facts, Verdict};

/// An expression of the symbols `a`, `b`, `c`, as text.
fn integer() -> BoxedStrategy<String> {
    let leaf = prop_oneof![
        4 => prop::sample::select(vec!["a", "b", "c"]).prop_map(str::to_string),
        2 => (-6..13i64).prop_map(|v| v.to_string()),
    ];
    leaf.prop_recursive(3, 10, 2, |inner| {
        prop_oneof![
            4 => (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} + {y})")),
            2 => (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x} - {y})")),
            3 => (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("({x})*({y})")),
            3 => (inner.clone(), prop::sample::select(vec![2, 3, 4, 8, -2, -3])).prop_map(|(x, d)| format!("(({x})//({d}))")),
            3 => (inner.clone(), prop::sample::select(vec![2, 3, 4, 8, -2])).prop_map(|(x, d)| format!("Mod({x}, {d})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(x, y)| format!("Max({x}, {y})")),
            1 => (inner.clone(), inner).prop_map(|(x, y)| format!("Min({x}, {y})")),
        ]
    })
    .boxed()
}

fn condition() -> impl Strategy<Value = String> {
    let plain = (integer(), prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]), integer())
        .prop_map(|(x, op, y)| format!("({x}) {op} ({y})"));
    plain.prop_recursive(1, 3, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(p, q)| format!("({p}) & ({q})")),
            (inner.clone(), inner).prop_map(|(p, q)| format!("({p}) | ({q})")),
        ]
    })
}

/// A query: ranges of the symbols, facts, and a goal.
#[derive(Clone, Debug)]
struct Query {
    ranges: Vec<(i64, Option<i64>)>,
    given: Vec<String>,
    goal: String,
}

fn query() -> impl Strategy<Value = Query> {
    let range = (-3..4i64, prop::option::weighted(0.6, 0..12i64))
        .prop_map(|(low, length)| (low, length.map(|l| low + l)));
    (prop::collection::vec(range, 3), prop::collection::vec(condition(), 0..4), condition())
        .prop_map(|(ranges, given, goal)| Query { ranges, given, goal })
}

fn budget() -> Budget {
    let small = Budget { rlimit: 0, points: 5_000, branches: 60, ..Budget::default() };
    Budget { work: 100_000, terms: 1_000_000, iterations: 2, ..small }
}

/// Reads a query with these names for its symbols, made in this order, and facts in this order.
struct Read {
    pool: Pool,
    facts: Facts,
    symbols: Vec<Symbol>,
    given: Vec<Expr>,
    goal: Expr,
}

fn load(query: &Query, names: [&str; 3], made: [usize; 3], order: &[usize]) -> Read {
    let (mut pool, mut facts) = (Pool::new(), Facts::new());
    made.iter().for_each(|&i| {
        pool.symbol(names[i]);
    });
    let symbols: Vec<Symbol> = names.iter().filter_map(|n| pool.find_symbol(n)).collect();
    for &i in &made {
        let (low, high) = query.ranges[i];
        let range =
            ValueRange::between_options(Some(Int::from(low)), high.map(Int::from)).expect("not empty");
        facts.declare(&mut pool, symbols[i], range);
    }
    let read = |pool: &mut Pool, text: &str| {
        // The letters of `Max`, `Min` and `Mod` are no symbols: those stand alone.
        let mut out = String::new();
        let chars: Vec<char> = text.chars().collect();
        for (i, &c) in chars.iter().enumerate() {
            let alone = |j: Option<&char>| j.is_none_or(|d| !d.is_alphanumeric());
            let before = i.checked_sub(1).and_then(|j| chars.get(j));
            match c {
                'a' | 'b' | 'c' if alone(before) && alone(chars.get(i + 1)) => {
                    out.push_str(names[c as usize - 'a' as usize]);
                }
                other => out.push(other),
            }
        }
        let e = read::closed(pool, &out).expect("a condition").expr;
        pool.truth(e)
    };
    let given: Vec<Expr> = order.iter().map(|&i| read(&mut pool, &query.given[i])).collect();
    for &c in &given {
        facts.assume(&mut pool, c);
    }
    let goal = read(&mut pool, &query.goal);
    Read { pool, facts, symbols, given, goal }
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn plain(query: &Query) -> Read {
    let order: Vec<usize> = (0..query.given.len()).collect();
    load(query, NAMES, [0, 1, 2], &order)
}

fn answer(read: &mut Read) -> Answer {
    solve::decide(&mut read.pool, &mut read.facts, read.goal, &budget())
}

/// The verdict without what it rests on. Both of `implied` and `inconsistent` claim that no counterexample exists.
fn word(answer: &Answer) -> &'static str {
    match answer.verdict {
        Verdict::Implied { .. } => "implied",
        Verdict::Refuted { .. } => "refuted",
        Verdict::Inconsistent { .. } => "inconsistent",
        Verdict::Unknown { .. } => "unknown",
    }
}

/// Whether two answers to one question go together: limits that count work may be met in one order and not in the
/// other, but settled verdicts agree.
fn compatible(a: &Answer, b: &Answer) -> bool {
    a.verdict.is_unknown() || b.verdict.is_unknown() || word(a) == word(b)
}

fn holds(read: &Read, e: Expr, witness: &[(Symbol, Int)]) -> Option<bool> {
    let value = |s: Symbol| witness.iter().find(|(t, _)| *t == s).map(|(_, v)| Value::Int(v.clone()));
    Evaluator::new(&read.pool, value).truth(e).ok()
}

fn run(name: &'static str, quick: u32, law: impl Fn(&Query) -> Result<u64, TestCaseError>) {
    let tally = Tally::new(name);
    TestRunner::new(config(quick))
        .run(&query(), |query| {
            tally.add(law(&query)?);
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_verdict_does_not_depend_on_the_names_of_symbols() {
    run("names of symbols", 60, |query| {
        let order: Vec<usize> = (0..query.given.len()).collect();
        let (a, b) =
            (answer(&mut plain(query)), answer(&mut load(query, ["zz", "u7", "m"], [0, 1, 2], &order)));
        prop_assert_eq!(word(&a), word(&b));
        Ok(2)
    });
}

#[test]
fn a_settled_verdict_does_not_depend_on_the_order_of_facts_and_symbols() {
    run("order of facts and symbols", 60, |query| {
        let order: Vec<usize> = (0..query.given.len()).rev().collect();
        let a = answer(&mut plain(query));
        for made in [[2, 1, 0], [1, 2, 0]] {
            let b = answer(&mut load(query, NAMES, made, &order));
            prop_assert!(compatible(&a, &b), "{} and {}", word(&a), word(&b));
        }
        Ok(3)
    });
}

#[test]
fn a_settled_verdict_does_not_depend_on_what_was_asked_before() {
    run("order of queries", 40, |query| {
        let a = answer(&mut plain(query));
        let mut read = plain(query);
        let others: Vec<Expr> = read.given.clone();
        for other in others {
            let negated = read.pool.not(other);
            for goal in [other, negated] {
                solve::decide(&mut read.pool, &mut read.facts, goal, &budget());
            }
        }
        let b = answer(&mut read);
        prop_assert!(compatible(&a, &b), "{} and {}", word(&a), word(&b));
        Ok(2)
    });
}

#[test]
fn a_verdict_does_not_depend_on_other_threads() {
    run("threads", 30, |query| {
        let alone = word(&answer(&mut plain(query)));
        let together: Vec<&str> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| word(&answer(&mut plain(query))))).collect();
            workers.into_iter().map(|w| w.join().expect("no panic")).collect()
        });
        prop_assert!(together.iter().all(|w| *w == alone), "{} alone, {:?}", alone, together);
        Ok(5)
    });
}

#[test]
fn a_goal_and_its_negation_are_not_both_implied_and_a_witness_replays() {
    run("goal and negation", 60, |query| {
        let mut read = plain(query);
        let a = answer(&mut read);
        let goal = read.goal;
        let negated = read.pool.not(goal);
        let b = solve::decide(&mut read.pool, &mut read.facts, negated, &budget());
        prop_assert!(!(a.verdict.is_implied() && b.verdict.is_implied()), "both are implied");
        for (answer, goal) in [(&a, goal), (&b, negated)] {
            if let Verdict::Refuted { witness } = &answer.verdict {
                prop_assert_eq!(holds(&read, goal, witness), Some(false));
                for &fact in &read.given {
                    prop_assert_eq!(holds(&read, fact, witness), Some(true));
                }
                for (i, s) in read.symbols.iter().enumerate() {
                    let (low, high) = query.ranges[i];
                    let value = witness.iter().find(|(t, _)| t == s).map(|(_, v)| v.clone());
                    let within =
                        value.is_none_or(|v| v >= Int::from(low) && high.is_none_or(|h| v <= Int::from(h)));
                    prop_assert!(within, "out of range");
                }
                let other = if goal == negated { &a } else { &b };
                prop_assert!(word(other) != "inconsistent");
            }
        }
        Ok(2)
    });
}

#[test]
fn what_a_box_has_no_counterexample_to_is_not_refuted_and_what_is_implied_has_none() {
    run("enumeration of a window", 60, |query| {
        let mut read = plain(query);
        let a = answer(&mut read);
        let ends: Vec<(i64, i64)> =
            query.ranges.iter().map(|&(low, high)| (low, high.unwrap_or(low + 14).min(low + 14))).collect();
        let bounded = query.ranges.iter().all(|r| r.1.is_some());
        let (mut points, mut allowed, mut failing) = (0, false, None);
        for x in ends[0].0..=ends[0].1 {
            for y in ends[1].0..=ends[1].1 {
                for z in ends[2].0..=ends[2].1 {
                    let point: Vec<(Symbol, Int)> =
                        read.symbols.iter().copied().zip([x, y, z].map(Int::from)).collect();
                    points += 1;
                    if read.given.iter().all(|&f| holds(&read, f, &point) == Some(true)) {
                        allowed = true;
                        if holds(&read, read.goal, &point) == Some(false) {
                            failing = Some(point);
                        }
                    }
                }
            }
        }
        match a.verdict {
            Verdict::Implied { .. } => prop_assert!(failing.is_none(), "{:?} by {}", failing, a.decided_by),
            Verdict::Inconsistent { .. } => prop_assert!(!allowed, "by {}", a.decided_by),
            Verdict::Refuted { .. } => prop_assert!(!bounded || failing.is_some(), "by {}", a.decided_by),
            Verdict::Unknown { .. } => {}
        }
        Ok(points)
    });
}

#[test]
fn more_facts_do_not_turn_implied_into_refuted() {
    run("more facts", 60, |query| {
        if query.given.is_empty() {
            return Ok(0);
        }
        let fewer = Query { given: query.given[1..].to_vec(), ..query.clone() };
        let (less, more) = (answer(&mut plain(&fewer)), answer(&mut plain(query)));
        if less.verdict.is_implied() {
            prop_assert!(word(&more) != "refuted");
            // What the normal form and ranges alone settle stays settled.
            let cheap = ["normal-form", "range"].contains(&less.decided_by.name());
            prop_assert!(
                !(cheap && more.verdict.is_unknown()),
                "implied by {}, then unknown",
                less.decided_by
            );
        }
        if matches!(less.verdict, Verdict::Inconsistent { .. }) {
            prop_assert!(!["implied", "refuted"].contains(&word(&more)));
        }
        Ok(2)
    });
}

#[test]
fn bounds_of_a_small_box_are_exact() {
    let table = [
        ("2*a + 1", (5, 11)),
        ("a - b", (1, 5)),
        ("a*b", (0, 5)),
        ("Mod(a, 3)", (0, 2)),
        ("Max(a, b)", (2, 5)),
    ];
    let query = Query {
        ranges: vec![(2, Some(5)), (0, Some(1)), (0, None)],
        given: Vec::new(),
        goal: "a >= 0".into(),
    };
    for (text, (low, high)) in table {
        let mut read = plain(&query);
        let e = read::closed(&mut read.pool, text).expect("an expression").expr;
        let found = solve::bounds(&mut read.pool, &mut read.facts, e, &budget());
        assert_eq!((found.min, found.max), (Some(Int::from(low)), Some(Int::from(high))), "{text}");
    }
}
