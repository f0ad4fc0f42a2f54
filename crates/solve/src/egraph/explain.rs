//! The premises and rules that a proof used.
//!
//! Facts, declared symbols and uses of rules that suffice for a proof explain it. The saturation is replayed
//! with fewer and fewer of them, and those that it does not need are left out. So an explanation is checked,
//! however the first proof was found.
use super::graph::{Contradiction, Graph, Input, Use};
use super::rule_set::RuleSet;
use super::saturate::{Allowed, Limits};
use indexmap::IndexSet;
use sizewise_expr::{Expr, Pool};

/// The premises that suffice to decide a condition, or for a contradiction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Explanation {
    /// The rules, by name.
    pub rules: Vec<String>,
    /// The uses of these rules, in order; [`Use::rule`] is a position in the rule set.
    pub uses: Vec<Use>,
    /// The labels of the assumed conditions.
    pub facts: Vec<u32>,
    /// The declared expressions (symbols) whose domain counts.
    pub declared: Vec<Expr>,
    /// The contradiction that all this leads to, if it does.
    pub contradiction: Option<Contradiction>,
    /// Whether nothing can be left out; `false` when the number of replays was not enough to find out.
    pub minimal: bool,
}

/// The most replays of one explanation.
const MAX_REPLAYS: usize = 240;

/// The premises at the start of a replay.
#[derive(Clone)]
struct Premises {
    inputs: Vec<Input>,
    rules: Vec<usize>,
    uses: Option<Vec<Use>>,
}

impl Graph {
    /// Premises that suffice for `condition` to have the value `value` (or for a contradiction), within
    /// limits that have been enough before; `None` when the graph does not settle it so.
    pub fn explain(
        &self,
        pool: &mut Pool,
        rules: &RuleSet,
        limits: &Limits,
        condition: Expr,
        value: bool,
    ) -> Option<Explanation> {
        self.explain_aim(pool, rules, limits, Some((condition, value)))
    }

    /// Like [`Graph::explain`], for a contradiction.
    pub fn explain_contradiction(
        &self,
        pool: &mut Pool,
        rules: &RuleSet,
        limits: &Limits,
    ) -> Option<Explanation> {
        self.explain_aim(pool, rules, limits, None)
    }

    fn explain_aim(
        &self,
        pool: &mut Pool,
        rules: &RuleSet,
        limits: &Limits,
        aim: Option<(Expr, bool)>,
    ) -> Option<Explanation> {
        let all = (0..rules.rules().len()).collect();
        let mut premises = Premises { inputs: self.inputs.clone(), rules: all, uses: None };
        let mut left = MAX_REPLAYS;
        let mut enough = |pool: &mut Pool, premises: &Premises| -> Option<Option<Graph>> {
            left = left.checked_sub(1)?;
            Some(replay(pool, premises, rules, limits, aim))
        };
        let mut least = enough(pool, &premises)??;
        premises.rules = least.rules_used();
        let mut minimal = true;
        // Halves first, then ever smaller parts.
        for what in [Part::Inputs, Part::Rules, Part::Uses] {
            if what == Part::Uses {
                premises.uses = Some(least.uses.clone());
            }
            let mut size = premises.len(what).div_ceil(2);
            while size > 0 {
                let mut start = 0;
                while start < premises.len(what) {
                    let less = premises.without(what, start, size);
                    match enough(pool, &less) {
                        Some(Some(graph)) => (premises, least) = (less, graph),
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
        let mut explanation = Explanation {
            contradiction: least.contradiction(),
            rules: least.fired_rules(rules).into_iter().map(str::to_string).collect(),
            minimal,
            ..Explanation::default()
        };
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
        explanation.uses = least.uses;
        Some(explanation)
    }

    /// The positions of the rules that taught something.
    fn rules_used(&self) -> Vec<usize> {
        let used: IndexSet<usize> = self.uses.iter().map(|u| u.rule).collect();
        used.into_iter().collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Inputs,
    Rules,
    Uses,
}

impl Premises {
    fn len(&self, part: Part) -> usize {
        match part {
            Part::Inputs => self.inputs.len(),
            Part::Rules => self.rules.len(),
            Part::Uses => self.uses.as_ref().map_or(0, Vec::len),
        }
    }

    fn without(&self, part: Part, start: usize, size: usize) -> Premises {
        let mut less = self.clone();
        let end = (start + size).min(self.len(part));
        match part {
            Part::Inputs => drop(less.inputs.drain(start..end)),
            Part::Rules => drop(less.rules.drain(start..end)),
            Part::Uses => less.uses.iter_mut().for_each(|uses| drop(uses.drain(start..end))),
        }
        less
    }
}

/// The graph of the premises, if it proves the aim: the value of a condition, or else a contradiction.
fn replay(
    pool: &mut Pool,
    premises: &Premises,
    rules: &RuleSet,
    limits: &Limits,
    aim: Option<(Expr, bool)>,
) -> Option<Graph> {
    let mut graph = Graph::new();
    for input in &premises.inputs {
        match input {
            Input::Declared(e, domain) => graph.declare(pool, *e, domain.clone()),
            Input::Assumed(condition, label) => graph.assume(pool, *condition, *label),
        }
    }
    let allowed = Allowed { rules: &premises.rules, uses: premises.uses.as_deref() };
    graph.saturate_with(pool, rules, allowed, limits, aim.map(|(condition, _)| condition));
    let settled = graph.contradiction().is_some()
        || aim.is_some_and(|(condition, value)| graph.truth(pool, condition) == Some(value));
    settled.then_some(graph)
}
