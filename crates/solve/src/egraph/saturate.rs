//! Application of rules until nothing is learned or a counted limit is reached.
use super::classes::Context;
use super::form::{Form, Linear};
use super::graph::Graph;
use super::matching::{Matcher, Rest};
use super::pattern::Bindings;
use super::rule::Rule;
use super::rule_set::RuleSet;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::{Expr, Func, Pool, is_cancelled};
use smallvec::SmallVec;

/// How far a saturation may go. Counted, so that the same input always stops at the same place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most expressions added to those that the facts and queries bring.
    pub nodes: usize,
    /// The most rounds.
    pub iterations: usize,
    /// The most rule applications.
    pub matches: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { nodes: 200, iterations: 4, matches: 100 }
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

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Stop::Saturated => "nothing more to learn",
            Stop::Settled => "settled",
            Stop::Contradiction => "a contradiction",
            Stop::Nodes => "the limit of expressions was reached",
            Stop::Iterations => "the limit of rounds was reached",
            Stop::Matches => "the limit of rule applications was reached",
        })
    }
}

/// The result of a saturation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saturation {
    /// Why it stopped.
    pub stop: Stop,
    /// The rounds begun.
    pub iterations: usize,
    /// The expressions in the graph.
    pub nodes: usize,
    /// The attempts at matching a rule.
    pub attempts: u64,
    /// The uses of rules.
    pub uses: usize,
}

impl Graph {
    /// Applies rules until nothing new is learned, a limit is reached, or the condition `until` is settled.
    pub fn saturate(
        &mut self,
        pool: &mut Pool,
        rules: &RuleSet,
        limits: &Limits,
        until: Option<Expr>,
    ) -> Saturation {
        if let Some(goal) = until {
            self.add(pool, goal);
        }
        let limits = &Limits { nodes: self.nodes().saturating_add(limits.nodes), ..*limits };
        let mut progress = Progress::default();
        let (mut iterations, mut attempts) = (0, 0);
        let mut last = None;
        let stop = loop {
            self.settle(pool, limits.nodes);
            if self.contradiction().is_some() {
                break Stop::Contradiction;
            }
            if until.is_some_and(|goal| self.truth(pool, goal).is_some()) {
                break Stop::Settled;
            }
            if self.nodes() >= limits.nodes || is_cancelled() {
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
            let steps = (limits.nodes * STEPS_PER_NODE) as u32;
            progress.steps = steps;
            self.reconsider(pool, &mut progress);
            self.search(pool, rules, &mut progress);
            attempts += u64::from(steps - progress.steps);
            if let Some(stop) = self.apply(pool, &mut progress, limits) {
                self.settle(pool, limits.nodes);
                break stop;
            }
        };
        Saturation { stop, iterations, nodes: self.nodes(), attempts, uses: progress.matches }
    }

    /// Applies the matches. Returns the limit that was reached, if any.
    fn apply(&mut self, pool: &mut Pool, progress: &mut Progress, limits: &Limits) -> Option<Stop> {
        for found in std::mem::take(&mut progress.found) {
            let Match { rule, from, to, .. } = found;
            if !progress.done.insert((rule, from, to)) || self.classes.same(from, to) {
                continue;
            }
            if self.nodes() >= limits.nodes || is_cancelled() {
                return Some(Stop::Nodes);
            }
            if progress.matches == limits.matches {
                return Some(Stop::Matches);
            }
            progress.matches += 1;
            self.equate(pool, from, to);
            self.fired.insert(rule);
            if self.contradiction().is_some() {
                break;
            }
        }
        None
    }

    /// Looks again at matches whose conditions were not known to hold.
    fn reconsider(&mut self, pool: &mut Pool, progress: &mut Progress) {
        for matched in std::mem::take(&mut progress.waiting) {
            self.conclude(pool, matched, progress);
        }
    }

    /// Matches the rules against every expression around which something changed.
    fn search(&mut self, pool: &mut Pool, rules: &RuleSet, progress: &mut Progress) {
        let mut changed: FxHashMap<Func, Vec<(Expr, u64)>> = FxHashMap::default();
        for e in (0..self.classes.len()).filter_map(|i| self.classes.expression(i)) {
            if let Some((func, _)) = pool.as_call(e) {
                let now = self.classes.context(pool, e);
                if progress.context.insert(e, now) != Some(now) {
                    changed.entry(func).or_default().push((e, now.funcs));
                }
            }
        }
        for (index, rule) in rules.rules().iter().enumerate() {
            let Some(func) = rule.form.trigger() else { continue };
            let open: Bindings = std::iter::repeat_n(None, rule.variables.len()).collect();
            if let Form::Linear(law) = &rule.form {
                for i in 0..self.classes.calls(func).len() {
                    let root = self.classes.calls(func)[i];
                    self.search_law(pool, index, rule, law, root, &open, progress);
                }
                continue;
            }
            for &(root, funcs) in changed.get(&func).map_or(&[][..], Vec::as_slice) {
                if rule.needs & !funcs != 0 {
                    continue;
                }
                let mut matcher = Matcher { pool, classes: &self.classes, steps: progress.steps };
                let ways = matcher.partly(&rule.form, root, &open);
                progress.steps = matcher.steps;
                for (bindings, rest) in ways {
                    self.check(pool, index, rule, root, &bindings, rest, progress);
                }
            }
        }
    }

    /// A law about a sum or product is used where all its calls occur.
    #[allow(clippy::too_many_arguments)]
    fn search_law(
        &mut self,
        pool: &mut Pool,
        index: usize,
        rule: &Rule,
        law: &Linear,
        root: Expr,
        open: &Bindings,
        progress: &mut Progress,
    ) {
        let Some((trigger, _)) = law.calls().next() else { return };
        let mut matcher = Matcher { pool, classes: &self.classes, steps: progress.steps };
        let ways = matcher.node(trigger, root, open);
        progress.steps = matcher.steps;
        for bindings in ways {
            let present = law
                .calls()
                .all(|(_, call)| call.instantiate(pool, &bindings).is_some_and(|e| self.classes.contains(e)));
            if present && let Some(left) = rule.left.instantiate(pool, &bindings) {
                self.check(pool, index, rule, left, &bindings, Rest::new(), progress);
            }
        }
    }

    /// Builds the right side and the conditions of a match.
    #[allow(clippy::too_many_arguments)]
    fn check(
        &mut self,
        pool: &mut Pool,
        index: usize,
        rule: &Rule,
        root: Expr,
        bindings: &Bindings,
        rest: Rest,
        progress: &mut Progress,
    ) {
        // Minima, maxima and conditionals may be of doubles, and hardly any rule holds for those: they round,
        // and have two zeros.
        let sorted =
            bindings.iter().zip(&rule.sorts).all(|(e, &sort)| e.is_none_or(|e| pool.sort(e) == sort));
        if !sorted {
            return;
        }
        let mut conditions = SmallVec::new();
        if !rule.conditions.iter().all(|c| c.require(pool, bindings, &mut conditions)) {
            return;
        }
        let Some(mut value) = rule.right.instantiate(pool, bindings) else { return };
        // The rest of the match is kept with the result.
        if let (false, Some((func, _))) = (rest.is_empty(), pool.as_call(root)) {
            let mut operands = rest;
            operands.push(value);
            value = pool.call(func, &operands);
        }
        if value != root {
            self.conclude(pool, Match { rule: index, from: root, to: value, conditions }, progress);
        }
    }

    fn conclude(&mut self, pool: &mut Pool, matched: Match, progress: &mut Progress) {
        let Match { rule, from, to, .. } = matched;
        if self.classes.same(from, to) || progress.done.contains(&(rule, from, to)) {
            return;
        }
        for &condition in &matched.conditions {
            match self.truth(pool, condition) {
                Some(true) => {}
                Some(false) => return,
                None => {
                    if progress.waiting.len() < MAX_WAITING {
                        progress.waiting.push(matched);
                    }
                    return;
                }
            }
        }
        progress.found.push(matched);
    }
}

/// The most matches kept because a condition may become known.
const MAX_WAITING: usize = 256;

/// An equality by a rule, under conditions.
struct Match {
    /// The position of the rule in its set.
    rule: usize,
    /// The instance of its left side.
    from: Expr,
    /// The expression that it is equal to.
    to: Expr,
    /// The instances of the side conditions.
    conditions: SmallVec<[Expr; 4]>,
}

/// The state of a saturation.
#[derive(Default)]
struct Progress {
    /// The matches that are applied at the end of the round.
    found: Vec<Match>,
    waiting: Vec<Match>,
    done: FxHashSet<(usize, Expr, Expr)>,
    /// For every call, its context when rules were last matched.
    context: FxHashMap<Expr, Context>,
    matches: usize,
    steps: u32,
}
