//! What the e-graph is to prove: laws of soundness alone are kept by a graph that knows nothing.
use sizewise::egraph::{Graph, Limits, RuleSet};
use sizewise::expr::{Int, Pool, read};
use sizewise::range::Domain;

/// The truth of a goal under facts about sizes, as the graph sees it.
fn truth(given: &[&str], goal: &str) -> Option<bool> {
    let mut pool = Pool::new();
    let mut graph = Graph::new();
    for name in ["s0", "s1", "s2"] {
        let symbol = pool.symbol(name);
        graph.declare(&mut pool, symbol, Domain::at_least(Int::from(1)));
    }
    for (i, text) in given.iter().enumerate() {
        let fact = read::closed(&mut pool, text).expect("a fact").expr;
        graph.assume(&mut pool, fact, i as u32);
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
