//! What a proof used.
//!
//! A proof is explained by rules, facts and declared symbols that suffice for it: the saturation is replayed with less and
//! less, and what it can do without is left out. So an explanation is checked, whatever way the first proof took.
use super::graph::{Graph, Input};
use super::rule::RuleSet;
use super::saturate::Limits;
use crate::expr::{Expr, Pool};
use indexmap::IndexSet;

/// What suffices to settle a condition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The rules, by name.
    pub rules: Vec<String>,
    /// The labels of the assumed conditions.
    pub facts: Vec<u32>,
    /// The declared expressions (symbols) whose domain counts.
    pub declared: Vec<Expr>,
    /// Whether nothing can be left out; `false` when the number of replays was not enough to find out.
    pub minimal: bool,
}

/// The most replays of one explanation.
const MAX_REPLAYS: usize = 96;

/// What a replay begins with.
#[derive(Clone)]
struct Premises {
    inputs: Vec<Input>,
    rules: Vec<usize>,
}

impl Graph {
    /// What suffices for `condition` to have the value `value` (or, after a contradiction, to be contradictory), within
    /// limits that have been enough before; `None` when the graph does not settle it so.
    pub fn explain(
        &self,
        pool: &mut Pool,
        rules: &RuleSet,
        limits: &Limits,
        condition: Expr,
        value: bool,
    ) -> Option<Explanation> {
        let all = (0..rules.rules().len()).collect();
        let mut premises = Premises { inputs: self.inputs.clone(), rules: all };
        let mut left = MAX_REPLAYS;
        let mut enough = |pool: &mut Pool, premises: &Premises| -> Option<Option<Vec<usize>>> {
            left = left.checked_sub(1)?;
            Some(replay(pool, premises, rules, limits, condition, value))
        };
        premises.rules = enough(pool, &premises)??;
        let mut minimal = true;
        // Halves first, then ever smaller parts.
        for what in [Part::Inputs, Part::Rules] {
            let mut size = premises.len(what).div_ceil(2);
            while size > 0 {
                let mut start = 0;
                while start < premises.len(what) {
                    let less = premises.without(what, start, size);
                    match enough(pool, &less) {
                        Some(Some(_)) => premises = less,
                        Some(None) => start += size,
                        None => {
                            minimal = false;
                            start = usize::MAX;
                        }
                    }
                }
                size = if size == 1 { 0 } else { size.div_ceil(2) };
            }
        }
        let mut explanation = Explanation { minimal, ..Explanation::default() };
        let mut facts = IndexSet::new();
        for input in &premises.inputs {
            match input {
                Input::Declared(e, _) => explanation.declared.push(*e),
                Input::Assumed(_, label) => {
                    facts.insert(*label);
                }
            }
        }
        explanation.facts = facts.into_iter().collect();
        explanation.rules =
            premises.rules.iter().filter_map(|&i| rules.rules().get(i)).map(|r| r.name.clone()).collect();
        Some(explanation)
    }
}

#[derive(Clone, Copy)]
enum Part {
    Inputs,
    Rules,
}

impl Premises {
    fn len(&self, part: Part) -> usize {
        match part {
            Part::Inputs => self.inputs.len(),
            Part::Rules => self.rules.len(),
        }
    }

    fn without(&self, part: Part, start: usize, size: usize) -> Premises {
        let mut less = self.clone();
        let end = (start + size).min(self.len(part));
        match part {
            Part::Inputs => {
                less.inputs.drain(start..end);
            }
            Part::Rules => {
                less.rules.drain(start..end);
            }
        }
        less
    }
}

/// The rules that taught something on the way to the answer, if the premises lead to it.
fn replay(
    pool: &mut Pool,
    premises: &Premises,
    rules: &RuleSet,
    limits: &Limits,
    condition: Expr,
    value: bool,
) -> Option<Vec<usize>> {
    let mut graph = Graph::new();
    for input in &premises.inputs {
        match input {
            Input::Declared(e, domain) => graph.declare(pool, *e, domain.clone()),
            Input::Assumed(condition, label) => graph.assume(pool, *condition, *label),
        }
    }
    graph.saturate_with(pool, rules, &premises.rules, limits, Some(condition));
    let settled = graph.contradiction().is_some() || graph.truth(pool, condition) == Some(value);
    settled.then(|| graph.fired.iter().copied().collect())
}
