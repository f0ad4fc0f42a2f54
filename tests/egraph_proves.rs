//! What the e-graph is to prove: laws of soundness alone are kept by a graph that knows nothing.
use sizewise::egraph::{Graph, Limits, RuleSet};
use sizewise::expr::{Int, Pool, read};
use sizewise::range::{Domain, ValueRange};
use sizewise::solve::{Budget, Facts, Rung, decide};

/// The truth of a goal under facts about sizes, as the graph sees it.
fn truth(given: &[&str], goal: &str) -> Option<bool> {
    let mut pool = Pool::new();
    let mut graph = Graph::new();
    for name in ["s0", "s1", "s2"] {
        let symbol = pool.symbol(name);
        graph.declare(&mut pool, symbol, Domain::at_least(Int::from(1)));
    }
    for text in given {
        let fact = read::closed(&mut pool, text).expect("a fact").expr;
        graph.assume(&mut pool, fact);
    }
    let goal = read::closed(&mut pool, goal).expect("a goal").expr;
    graph.add(&mut pool, goal);
    graph.saturate(&mut pool, RuleSet::builtin(), &Limits::default(), Some(goal));
    graph.truth(&mut pool, goal)
}

#[test]
fn equal_terms_are_equal_in_every_place() {
    let table: [(&[&str], &str); 6] = [
        (&["Eq(s0, s1)", "Eq(s1, s2)"], "Eq(s0, s2)"),
        (&["Eq(s0, s1)"], "Eq(Max(s0, 7), Max(s1, 7))"),
        (&["Eq(s0, s1)"], "Eq(s0//3, s1//3)"),
        (&["Eq(s0, s1)"], "Eq(Mod(s0*s2, 5), Mod(s1*s2, 5))"),
        (&["Eq(Mod(s0, 8), 0)"], "Eq(8*(s0//8), s0)"),
        (&["Eq(s0, 2*s1)"], "Eq(s0//2, s1)"),
    ];
    for (given, goal) in table {
        assert_eq!(truth(given, goal), Some(true), "{given:?} imply {goal}");
    }
}

#[test]
fn what_does_not_follow_is_not_held() {
    for (given, goal) in
        [(&["Eq(s0, s1)"][..], "Eq(s0, s2)"), (&[], "Eq(8*(s0//8), s0)"), (&["s0 <= s1"], "s1 <= s0")]
    {
        assert_eq!(truth(given, goal), None, "{given:?} and {goal}");
    }
}

/// Only normal forms, ranges and the e-graph.
const REWRITING: Budget =
    Budget { points: 0, branches: 0, work: 0, terms: 0, iterations: 4, rlimit: 0, classes: true };

#[test]
fn the_rung_settles_nested_quotients_by_itself() {
    for goal in [
        "Eq((a//b)//c, a//(b*c))",
        "Eq((a//b + 5)//c, (a + 5*b)//(b*c))",
        "Eq(ModularIndexing(a, b, c)*b + a % b, a % (b*c))",
        "Eq((a % (b*c))//b, (a//b) % c)",
        "Eq((a - a % b)//b, a//b)",
        "Eq(Max(a//c, d//c), Max(a, d)//c)",
        "Eq(Min(a//b, d//b)//c, Min(a, d)//(b*c))",
        "Eq((b + c)//Max(b, c), 1 + Min(b//c, c//b))",
        "Eq((b + c)//Min(b, c), 1 + Max(b//c, c//b))",
    ] {
        let (mut pool, mut facts) = (Pool::new(), Facts::new());
        for name in ["b", "c"] {
            let e = pool.symbol(name);
            let symbol = pool.as_symbol(e).expect("a symbol");
            facts.declare(&mut pool, symbol, ValueRange::at_least(Int::ONE));
        }
        let goal_expr = read::closed(&mut pool, goal).expect("a goal").expr;
        let answer = decide(&mut pool, &mut facts, goal_expr, &REWRITING);
        assert!(answer.verdict.is_implied(), "{goal}: {answer:?}");
        assert_eq!(answer.decided_by, Rung::EGraph, "{goal}");
    }
}
