//! Proofs by rewrite rules: equality saturation on conditions with a negated goal.
use super::facts::symbolic_divisors;
use super::proof_log::Log;
use crate::egraph::{Contradiction, Explanation, Graph, Limits, RuleSet};
use sizewise_expr::{Expr, Pool, print};

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
pub(super) fn contradicts(pool: &mut Pool, conditions: &[Expr], goal: Option<Expr>) -> bool {
    let (mut graph, _) = graph(pool, conditions, goal);
    graph.saturate(pool, RuleSet::builtin(), &limits(ROUNDS), None);
    graph.contradiction().is_some()
}

/// Records the uses of rules by which [`contradicts`] holds, if it does.
pub(super) fn refutation(pool: &mut Pool, conditions: &[Expr], goal: Option<Expr>, log: &mut Log) -> bool {
    let (rules, limits) = (RuleSet::builtin(), limits(ROUNDS));
    let (mut graph, assumed) = graph(pool, conditions, goal);
    graph.saturate(pool, rules, &limits, None);
    let Some(found) = graph.explain_contradiction(pool, rules, &limits) else { return false };
    chain(pool, rules, &found, &assumed, goal.map(|_| conditions.len()), log);
    let end = match found.contradiction {
        Some(Contradiction::Empty(e)) => format!("{} has no value left", print::expression(pool, e)),
        Some(Contradiction::Distinct(a, b)) => {
            format!("{} would be {}", print::expression(pool, a), print::expression(pool, b))
        }
        Some(Contradiction::Truth(e)) => format!("{} would be true and false", print::expression(pool, e)),
        Some(Contradiction::Zero(e)) => format!("{} would be 0", print::expression(pool, e)),
        None => return false,
    };
    log.note("egraph", || format!("but then {end}"));
    true
}

/// Records the uses of rules that make a goal equal to true under conditions, if they do. If no rule is
/// needed, nothing is recorded.
pub(super) fn derivation(pool: &mut Pool, conditions: &[Expr], goal: Expr, log: &mut Log) -> bool {
    let (rules, limits) = (RuleSet::simplifying(), limits(ROUNDS));
    let (mut graph, assumed) = graph(pool, conditions, None);
    graph.add(pool, goal);
    graph.saturate(pool, rules, &limits, Some(goal));
    if graph.contradiction().is_some() || graph.truth(pool, goal) != Some(true) {
        return false;
    }
    match graph.explain(pool, rules, &limits, goal, true) {
        Some(found) if !found.uses.is_empty() && found.contradiction.is_none() => {
            chain(pool, rules, &found, &assumed, None, log);
            log.note("egraph", || format!("so {}", print::expression(pool, goal)));
            true
        }
        _ => false,
    }
}

/// A graph of conditions and the negation of a goal, and its assumptions in the order of their labels.
/// Divisors of the conditions and of the goal are not 0, because the graph takes every expression in it to be
/// defined.
fn graph(pool: &mut Pool, conditions: &[Expr], goal: Option<Expr>) -> (Graph, Vec<Expr>) {
    let mut assumed = conditions.to_vec();
    assumed.extend(goal.map(|g| pool.not(g)));
    for d in symbolic_divisors(pool, &assumed) {
        assumed.push(pool.ne(d, Expr::ZERO));
    }
    let mut graph = Graph::new();
    for (i, &c) in assumed.iter().enumerate() {
        graph.assume(pool, c, i as u32);
    }
    (graph, assumed)
}

/// Records the parts of an explanation: conditions, then uses of rules.
fn chain(
    pool: &Pool,
    rules: &RuleSet,
    found: &Explanation,
    assumed: &[Expr],
    negated: Option<usize>,
    log: &mut Log,
) {
    for &label in &found.facts {
        let Some(&e) = assumed.get(label as usize) else { continue };
        let what = if negated == Some(label as usize) { "negated-goal" } else { "premise" };
        log.note(what, || print::expression(pool, e));
    }
    for step in &found.uses {
        let Some(rule) = rules.rules().get(step.rule) else { continue };
        log.note(&rule.name, || {
            let mut says =
                format!("{} is {}", print::expression(pool, step.from), print::expression(pool, step.to));
            for (i, &c) in step.conditions.iter().enumerate() {
                let joint = if i == 0 { ", as" } else { " and" };
                says.push_str(&format!("{joint} {}", print::expression(pool, c)));
            }
            says
        });
    }
}
