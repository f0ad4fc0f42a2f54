//! Application of rules until nothing is learned or a counted limit is reached.
use super::form::Form;
use super::graph::Graph;
use super::matching::Matcher;
use super::pattern::Bindings;
use super::rule::{Rule, RuleSet};
use crate::expr::{Expr, Pool};
use rustc_hash::FxHashSet;

/// How far a saturation may go. Counted, so that the same input always stops at the same place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most expressions in the graph.
    pub nodes: usize,
    /// The most rounds.
    pub iterations: usize,
    /// The most rule applications.
    pub matches: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 400, iterations: 4, matches: 200 }
    }
}

/// The attempts at matching in one round, for each expression that the limits allow.
const STEPS_PER_NODE: usize = 400;

/// Why a saturation stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// No rule teaches anything new.
    Saturated,
    /// The condition asked for is settled.
    Settled,
    /// The facts contradict each other.
    Contradiction,
    /// [`Limits::nodes`] was reached.
    Nodes,
    /// [`Limits::iterations`] was reached.
    Iterations,
    /// [`Limits::matches`] was reached.
    Matches,
}

/// What a saturation came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Why it stopped.
    pub stop: Stop,
    /// The rounds begun.
    pub iterations: usize,
    /// The expressions in the graph.
    pub nodes: usize,
}

impl Graph {
    /// Applies rules until nothing new is learned, a limit is reached, or the condition `until` is settled.
    pub fn saturate(
        &mut self,
        pool: &mut Pool,
        rules: &RuleSet,
        limits: &Limits,
        until: Option<Expr>,
    ) -> Outcome {
        let all: Vec<usize> = (0..rules.rules().len()).collect();
        self.saturate_with(pool, rules, &all, limits, until)
    }

    /// [`Graph::saturate`] with some of the rules.
    pub(super) fn saturate_with(
        &mut self,
        pool: &mut Pool,
        rules: &RuleSet,
        enabled: &[usize],
        limits: &Limits,
        until: Option<Expr>,
    ) -> Outcome {
        if let Some(goal) = until {
            self.add(pool, goal);
        }
        let mut done: FxHashSet<(usize, Expr, Expr)> = FxHashSet::default();
        let mut matches = 0;
        let mut iterations = 0;
        let mut last = None;
        let stop = loop {
            self.settle(pool, limits.nodes);
            if self.contradiction().is_some() {
                break Stop::Contradiction;
            }
            if until.is_some_and(|goal| self.truth(pool, goal).is_some()) {
                break Stop::Settled;
            }
            if self.nodes() >= limits.nodes {
                break Stop::Nodes;
            }
            let state = (self.classes.unions(), self.solved.version(), self.nodes());
            if last == Some(state) {
                break Stop::Saturated;
            }
            last = Some(state);
            if iterations == limits.iterations {
                break Stop::Iterations;
            }
            iterations += 1;
            let mut found = Vec::new();
            let mut steps = (limits.nodes * STEPS_PER_NODE) as u32;
            for &index in enabled {
                self.find(pool, index, &rules.rules()[index], &mut steps, &mut found);
            }
            let mut stop = None;
            for (index, root, value) in found {
                if !done.insert((index, root, value)) || self.classes.same(root, value) {
                    continue;
                }
                if self.nodes() >= limits.nodes {
                    stop = Some(Stop::Nodes);
                    break;
                }
                if matches == limits.matches {
                    stop = Some(Stop::Matches);
                    break;
                }
                matches += 1;
                self.equate(pool, root, value);
                self.fired.insert(index);
                if self.contradiction().is_some() {
                    break;
                }
            }
            if let Some(stop) = stop {
                self.settle(pool, limits.nodes);
                break stop;
            }
        };
        Outcome { stop, iterations, nodes: self.nodes() }
    }

    /// Collects what a rule says about the expressions in the graph.
    fn find(
        &mut self,
        pool: &mut Pool,
        index: usize,
        rule: &Rule,
        steps: &mut u32,
        found: &mut Vec<(usize, Expr, Expr)>,
    ) {
        let Some(func) = rule.form.trigger() else { return };
        let open: Bindings = std::iter::repeat_n(None, rule.variables.len()).collect();
        let count = self.classes.calls(func).len();
        for i in 0..count {
            let root = self.classes.calls(func)[i];
            let mut matcher = Matcher { pool, classes: &self.classes, steps: *steps };
            if let Form::Linear(linear) = &rule.form {
                let Some((trigger, _)) = linear.calls().next() else { return };
                let ways = matcher.node(trigger, root, &open);
                *steps = matcher.steps;
                for bindings in ways {
                    // A law about a sum is used only where all that it speaks of is there.
                    let present = linear.calls().all(|(_, call)| {
                        call.instantiate(pool, &bindings).is_some_and(|e| self.classes.contains(e))
                    });
                    if present && let Some(left) = rule.left.instantiate(pool, &bindings) {
                        self.conclude(pool, index, rule, left, &bindings, found);
                    }
                }
                continue;
            }
            let ways = matcher.partly(&rule.form, root, &open);
            *steps = matcher.steps;
            for (bindings, rest) in ways {
                let from = found.len();
                self.conclude(pool, index, rule, root, &bindings, found);
                // What the match left over stays beside the result.
                if let (false, Some((_, _, value))) = (rest.is_empty(), found.get(from).copied()) {
                    let mut operands = rest.to_vec();
                    operands.push(value);
                    found[from].2 = pool.call(func, &operands);
                }
            }
        }
    }

    fn conclude(
        &mut self,
        pool: &mut Pool,
        index: usize,
        rule: &Rule,
        left: Expr,
        bindings: &Bindings,
        found: &mut Vec<(usize, Expr, Expr)>,
    ) {
        let holds = rule.conditions.iter().all(|c| c.is_known(pool, bindings, |pool, e| self.truth(pool, e)));
        if !holds {
            return;
        }
        if let Some(value) = rule.right.instantiate(pool, bindings)
            && value != left
            && !self.classes.same(left, value)
        {
            found.push((index, left, value));
        }
    }
}
