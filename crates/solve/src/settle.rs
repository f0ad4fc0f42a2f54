//! Verdicts alone, as an exporter needs them: whether a condition is always true, always false, or open.
use super::facts::Facts;
use super::ladder::{known, quickly_knowing, rules_out};
use super::verdict::Budget;
use sizewise_expr::{Expr, Pool, Sort};

/// With more expressions than this, an answer is looked up or follows from ranges: further reasoning leaves
/// expressions behind.
const MAX_EXPRESSIONS: usize = 300_000;

/// What settled a question.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Means {
    /// The store: the condition is constant in normal form, was settled before, or its class holds a truth value.
    Store,
    /// Value ranges and congruences, after supposing the opposite.
    Ranges,
    /// Linear reasoning, number theory, cases.
    Reasoning,
    /// Nothing.
    Open,
}

impl Means {
    /// The name used in reports: `store`, `ranges`, `reasoning` or `open`.
    pub fn name(self) -> &'static str {
        match self {
            Means::Store => "store",
            Means::Ranges => "ranges",
            Means::Reasoning => "reasoning",
            Means::Open => "open",
        }
    }
}

/// Whether a condition is always true or always false under the facts, and by what that was found. No reason is
/// sought, and no better counterexample. What is false at the hints ([`Facts::hint`]) does not follow.
///
/// It is not asked whether facts about other symbols contradict each other: of what cannot happen, everything is true.
pub fn settle(pool: &mut Pool, facts: &mut Facts, goal: Expr, budget: &Budget) -> (Option<bool>, Means) {
    // The value of a number is not asked for here.
    if pool.sort(goal) != Sort::Bool {
        return (None, Means::Open);
    }
    facts.go_by(budget);
    if let Some(value) = known(pool, facts, goal) {
        return (Some(value), Means::Store);
    }
    if facts.store.is_open(goal, budget) {
        return (None, Means::Open);
    }
    let at_hints = facts.at_hints(pool, goal);
    if let Some(value) = quickly_knowing(pool, facts, goal, |_| at_hints) {
        return (Some(value), Means::Ranges);
    }
    if pool.len() > MAX_EXPRESSIONS {
        return (None, Means::Open);
    }
    for value in [true, false].into_iter().filter(|&value| at_hints != Some(!value)) {
        let wanted = if value { goal } else { pool.not(goal) };
        if rules_out(pool, facts, wanted, budget, at_hints.is_some()) {
            facts.store.remember(pool, goal, value);
            return (Some(value), Means::Reasoning);
        }
    }
    facts.store.remember_open(goal, budget);
    (None, Means::Open)
}
