//! Proofs by rewrite rules: equality saturation on conditions with a negated goal.
use super::facts::symbolic_divisors;
use crate::egraph::{Graph, Limits, RuleSet};
use sizewise_expr::{Expr, Pool};

/// The growth of the e-graph for each round that the budget allows: expressions, and uses of rules.
const NODES_PER_ROUND: usize = 100;
const MATCHES_PER_ROUND: usize = 75;
/// The rounds where a proof is found again.
const ROUNDS: usize = 4;

/// The limits for this many rounds.
pub(super) fn limits(rounds: usize) -> Limits {
    Limits {
        nodes: NODES_PER_ROUND.saturating_mul(rounds),
        iterations: rounds,
        matches: MATCHES_PER_ROUND.saturating_mul(rounds),
    }
}

/// Whether rewriting shows that conditions exclude that a goal is false or, without a goal, contradict each other.
/// Divisors of the conditions and of the goal are not 0, because the graph takes every expression in it to be defined.
pub(super) fn contradicts(pool: &mut Pool, conditions: &[Expr], goal: Option<Expr>) -> bool {
    let mut assumed = conditions.to_vec();
    assumed.extend(goal.map(|g| pool.not(g)));
    for d in symbolic_divisors(pool, &assumed) {
        assumed.push(pool.ne(d, Expr::ZERO));
    }
    let mut graph = Graph::new();
    assumed.iter().for_each(|&c| graph.assume(pool, c));
    graph.saturate(pool, RuleSet::builtin(), &limits(ROUNDS), None);
    graph.contradiction().is_some()
}
