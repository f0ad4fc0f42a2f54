//! The parts of the e-graph by themselves: nodes, quotients, equations solved for a monomial, and limits of a
//! saturation.
use super::language::{ENode, Operations};
use super::solve::{SolveStep, Solved};
use super::{Graph, Limits, RuleSet, Stop, quotient};
use egg::{Id, Language};
use sizewise_expr::{Expr, Pool, print, read};

fn of(pool: &mut Pool, text: &str) -> Expr {
    read::closed(pool, text).unwrap_or_else(|error| panic!("{text}: {error}")).expr
}

#[test]
fn nodes_match_where_operation_and_number_of_children_agree() {
    let (mut pool, mut operations) = (Pool::new(), Operations::default());
    let mut term = |text: &str| -> ENode {
        let e = of(&mut pool, text);
        operations.term(&pool, e, |child| Id::from(child.id() as usize))
    };
    let table = [
        ("x//y", "y//x", true),
        ("x//y", "Mod(x, y)", false),
        ("2*x + 3*y", "2*z + 3*w", true),
        ("2*x + 3*y", "2*x + 4*y", false),
        ("2*x + 3*y", "2*x + 3*y + 1", false),
        ("x*y", "z*w", true),
        ("x*y", "x**2*y", false),
        ("Min(x, y)", "Min(z, w)", true),
        ("Min(x, y)", "Min(x, y, z)", false),
        ("x", "y", false),
        ("5", "5", true),
    ];
    for (a, b, same) in table {
        let (s, t) = (term(a), term(b));
        assert_eq!(s.matches(&t), same, "{a} and {b}");
        let equal = s.discriminant() == t.discriminant() && s.children().len() == t.children().len();
        assert_eq!(equal, same, "{a} and {b}");
    }
    assert_eq!(term("x//y").children().len(), 2);
}

#[test]
fn quotients_of_polynomials_take_what_can_be_divided() {
    let table = [
        ("6*x*y + 4*x + 3", "2*x", "3*y + 2", "3"),
        ("6*x*y + 4*x + 3*y", "2*x", "3*y + 2", "3*y"),
        ("6*x*y + 3*x", "2*x", "3*y", "3*x"),
        ("x*y + x", "x + 1", "0", "x*y + x"),
        ("x*y + y", "x + 1", "y", "0"),
        ("6*x + 4*y + 8", "4", "y + 2", "6*x"),
        ("6*x + 4*y + 7", "2", "3*x + 2*y", "7"),
        ("6*x", "0", "0", "6*x"),
        ("x*x - 4", "x - 2", "x + 2", "0"),
        ("x*x*y + x*y*y", "x*y", "x + y", "0"),
        ("x + 5", "2*y", "0", "x + 5"),
    ];
    let mut pool = Pool::new();
    for (a, b, expected, left) in table {
        let (a, b) = (of(&mut pool, a), of(&mut pool, b));
        let (x, y) = (pool.poly(a), pool.poly(b));
        let (quotient, rest) = quotient::split(&mut pool, &x, &y);
        let rest = pool.from_poly(&rest);
        let shown = (print::expression(&pool, quotient), print::expression(&pool, rest));
        let (expected, left) = (of(&mut pool, expected), of(&mut pool, left));
        assert_eq!((quotient, rest), (expected, left), "{shown:?}");
    }
}

#[test]
fn equations_are_solved_for_the_monomial_that_says_most() {
    // What the equation is, what it comes to, an expression, and its normal form after that.
    let table = [
        ("x - y - 1", SolveStep::Solved, "y + x", "2*x - 1"),
        ("x//3 - y", SolveStep::Solved, "2*(x//3) + y", "3*y"),
        ("2*x - 4*y", SolveStep::Solved, "x", "2*y"),
        ("2*x - 3*y", SolveStep::Nothing, "x", "x"),
        ("2*x - 4*y - 1", SolveStep::Impossible, "x", "x"),
        ("5", SolveStep::Impossible, "x", "x"),
        ("0", SolveStep::Nothing, "x", "x"),
        ("x*y - 6", SolveStep::Solved, "x*y*z", "6*z"),
        ("x*y - 6", SolveStep::Solved, "x**2*y**2", "36"),
        ("x*y - z", SolveStep::Solved, "z", "x*y"),
        ("x - y*(x//y)", SolveStep::Solved, "x + 1", "y*(x//y) + 1"),
        ("x*y + x - 1", SolveStep::Solved, "x*y", "1 - x"),
        ("Min(x, y) - x", SolveStep::Solved, "Min(x, y) + 1", "x + 1"),
    ];
    for (equation, step, text, expected) in table {
        let (mut pool, mut solved) = (Pool::new(), Solved::default());
        let (equation_, e, expected) =
            (of(&mut pool, equation), of(&mut pool, text), of(&mut pool, expected));
        assert_eq!(solved.equation(&mut pool, equation_), step, "{equation}");
        let normal = solved.normal(&mut pool, e);
        assert_eq!(normal, expected, "{equation}: {text} is {}", print::expression(&pool, normal));
        assert_eq!(solved.normal(&mut pool, normal), normal, "{equation}: {text}");
    }
}

#[test]
fn values_of_up_to_sixteen_terms_and_of_degree_twelve_are_substituted() {
    let solve = |equation: &str| {
        let (mut pool, mut solved) = (Pool::new(), Solved::default());
        let e = of(&mut pool, equation);
        solved.equation(&mut pool, e)
    };
    let sum = |terms: usize| (1..terms).map(|i| format!(" + {}*s{i}", i + 1)).collect::<String>();
    assert_eq!(solve(&format!("x{}", sum(16))), SolveStep::Solved);
    assert_eq!(solve(&format!("x{}", sum(17))), SolveStep::Nothing);
    assert_eq!(solve("x + y**12"), SolveStep::Solved);
    assert_eq!(solve("x + y**13"), SolveStep::Nothing);
    assert_eq!(solve("x + 2*y**6*z**6"), SolveStep::Solved);
    assert_eq!(solve("x + 2*y**6*z**7"), SolveStep::Nothing);
}

/// What a saturation comes to under limits.
fn saturated(nodes: usize, iterations: usize, matches: usize) -> (Stop, usize, usize) {
    let (mut pool, mut graph) = (Pool::new(), Graph::new());
    let fact = of(&mut pool, "y > 0");
    graph.assume(&mut pool, fact);
    let rules = RuleSet::parse(
        "# .\na: (abs ?a) => ?a if nonneg ?a\n\n# .\nb: (max ?a ?b) => ?b if le ?a ?b\n",
        "two rules",
    )
    .expect("rules");
    let goal = of(&mut pool, "Max(Abs(Max(y, 1)), Abs(Mod(x, y) + 2), 0)");
    graph.add(&mut pool, goal);
    let outcome = graph.saturate(&mut pool, &rules, &Limits { nodes, iterations, matches }, None);
    (outcome.stop, outcome.iterations, outcome.uses)
}

#[test]
fn a_saturation_stops_at_the_first_limit() {
    let (stop, rounds, uses) = saturated(10_000, 100, 10_000);
    assert_eq!(stop, Stop::Saturated);
    assert!(rounds >= 2 && uses >= 2, "{rounds} rounds, {uses} uses");
    assert_eq!(saturated(10_000, rounds, 10_000), (Stop::Saturated, rounds, uses));
    assert_eq!(saturated(10_000, rounds - 1, 10_000).0, Stop::Iterations);
    assert_eq!(saturated(10_000, 0, 10_000), (Stop::Iterations, 0, 0));
    assert_eq!(saturated(10_000, 100, uses), (Stop::Saturated, rounds, uses));
    let (stop, _, less) = saturated(10_000, 100, uses - 1);
    assert_eq!((stop, less), (Stop::Matches, uses - 1));
    assert_eq!(saturated(0, 100, 10_000).0, Stop::Nodes);
}

#[test]
fn the_consequences_of_a_fact_are_followed_up_to_the_512th() {
    let (mut pool, mut graph) = (Pool::new(), Graph::new());
    let equations: Vec<Expr> = (0..400).map(|i| of(&mut pool, &format!("Eq(x{i}, 2*y{i})"))).collect();
    let all = pool.and(&equations);
    graph.assume(&mut pool, all);
    let known = equations.iter().filter(|e| graph.solved.truth(&pool, **e) == Some(true)).count();
    // Each is one consequence, and that its difference is 0 another.
    assert!((150..=256).contains(&known), "{known}");
}
