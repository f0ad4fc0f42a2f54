//! Whether a model accepts every input that it declares, and makes the outputs that it declares.
mod bounds;
mod branches;
pub(super) mod broadcast;
mod contract;
mod data;
mod declare;
mod factors;
mod fixes;
mod integers;
mod multiples;
mod named;
mod narrow;
mod nearby;
mod nowhere;
mod opened;
mod outputs;
mod precise;
mod quotients;
mod rejected;
mod remedies;
mod run_time;
mod samples;
mod simple;
mod smaller;
mod value_info;

use super::ways::is_branch;
use bounds::is_bound;
pub use narrow::{declared_spec, widen};

use super::Sizes;
use super::evaluate::{Refused, evaluate};
use super::examples::{Walked, walked};
use super::findings::{Condition, DATA_DECIDE, Data, Findings, Verdict, Violation};
use super::integers::assume_existing;
use super::limits::Limits;
use super::shapes::shapes_of;
use super::sources::SIZES_DECIDE;
use super::symbolic::{Demand, Symbolic};
use crate::read::Model;
use crate::walk::{NOT_FOLLOWED, Walk};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_check::check::readable;
use sizewise_env::ShapeEnv;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Func, Int, Symbol};
use sizewise_kernels::KernelError;
use sizewise_solve::{Budget, Verdict as Decided, decide};

/// The most conditions for which a counterexample is looked for; further ones are listed among the conditions.
const MAX_VIOLATIONS: usize = 100;
/// The most nodes that are visited to look for counterexamples, and the least and the most inputs that are tried.
const MAX_VISITED: usize = 1_000_000;
const MIN_TRIES: usize = 8;
const MAX_TRIES: usize = 1_000;
/// Of more conditions, it is not asked which follow from others, and for sizes that break one alone.
const MAX_FOLDED: usize = 50;

/// Sizes of inputs.
type Given = FxHashMap<String, Vec<i64>>;

struct Check<'m> {
    model: &'m Model,
    symbolic: Symbolic,
    walk: Walk<'m>,
    report: Findings,
    /// Violated conditions, with their places in `report.violations`.
    broken: Vec<(usize, Expr)>,
    /// The conditions on sizes that do not hold at the example.
    failed: Vec<Expr>,
    /// Conditions that are not proved, and of which no input shows that they are needed.
    doubtful: Vec<Expr>,
    /// What is not known of outputs, which is said where nothing else says why the verdict is open.
    pending: Vec<(Condition, String)>,
    /// For conditions that were simplified, how the walk has written them.
    written: FxHashMap<Expr, Expr>,
    /// For conditions of broadcasts, with sizes of 1 that the example does not have.
    wide: FxHashMap<Expr, Expr>,
    /// What is declared, with what was found out while deciding conditions under it.
    asked: ShapeEnv,
    /// The work that a condition may take.
    budget: Budget,
    /// How many more inputs are tried.
    tries: usize,
}

/// Why a condition is open that no rung of the solver decides, and what may close it.
const BUDGET: &str = "it was not decided within the budget; a larger one (--budget 10) may settle it";

/// Checks a model under what it declares: sizes of at least 1, equal names being equal sizes.
pub fn check(model: &Model) -> Findings {
    check_within(model, None, &Budget::default())
}

/// Checks a model under a spec, or under what it declares where there is none, with a budget for each condition.
pub fn check_within(model: &Model, limits: Option<&Limits>, budget: &Budget) -> Findings {
    let mut check = checked(model, limits, budget);
    if check.report.verdict == Verdict::Violated {
        check.fixes(limits.is_some());
    }
    check.value_info();
    check.contract();
    check.report.shapes = shapes_of(model, &check.symbolic, &mut check.walk);
    check.report
}

/// A check without what is said beside its verdict.
fn checked<'m>(model: &'m Model, limits: Option<&Limits>, budget: &Budget) -> Check<'m> {
    let Walked { symbolic, walk, results } = walked(model, limits);
    let visits = walk.visits.max(model.graph.node.len()).max(1);
    let tries = (MAX_VISITED / visits).clamp(MIN_TRIES, MAX_TRIES);
    let mut check = Check {
        model,
        asked: symbolic.env.clone(),
        symbolic,
        walk,
        report: Findings::default(),
        broken: Vec::new(),
        failed: Vec::new(),
        doubtful: Vec::new(),
        pending: Vec::new(),
        written: FxHashMap::default(),
        wide: FxHashMap::default(),
        budget: budget.clone(),
        tries,
    };
    check.demands();
    check.failures();
    check.guards();
    check.integers();
    if let Some(results) = results {
        check.outputs(&results);
    }
    check.open();
    check.run_time();
    check.samples();
    check.said();
    check.fold();
    check.works();
    check.runs_nowhere();
    check
}

impl Check<'_> {
    fn lower(&mut self, verdict: Verdict) {
        self.report.verdict = self.report.verdict.max(verdict);
    }

    fn condition(&self, step: usize, expr: String, because: String) -> Condition {
        let step = self.walk.steps.get(step);
        let (node, op) = step.map_or_else(Default::default, |step| (step.node().to_owned(), step.op()));
        Condition { shown: expr.clone(), expr, node, op, because, ..Condition::default() }
    }

    /// The condition `e` of a step.
    fn condition_on(&self, step: usize, e: Expr, because: String) -> Condition {
        let pool = &self.walk.env.pool;
        let simple = readable(pool, self.symbolic.env.known_facts(), e);
        let shown = print::python(pool, simple, &|symbol| self.symbolic.shown_name(pool, symbol));
        let is_bound = is_bound(pool, simple);
        Condition {
            shown,
            on_sizes: true,
            is_bound,
            ..self.condition(step, print::expression(pool, e), because)
        }
    }

    /// Looks for sizes that the model accepts: those of the example.
    fn works(&mut self) {
        if let Some(example) = self.example()
            && !self.report.violations.is_empty()
            && evaluate(self.model, &example, &FxHashMap::default()).is_ok()
        {
            let example = self.smaller_accepted(&example, None).unwrap_or(example);
            self.report.works = Some(self.ordered(example));
        }
        for at in 0..self.report.violations.len() {
            let Some(data) = self.report.violations[at].data else { continue };
            let known = self.report.violations[..at].iter().find(|other| other.data == Some(data));
            self.report.violations[at].works = match known {
                Some(known) => known.works.clone(),
                None => self.works_with(data),
            };
        }
    }

    /// The sizes of the inputs, in the model's order.
    fn ordered(&self, mut sizes: FxHashMap<String, Vec<i64>>) -> Sizes {
        let names = self.symbolic.sizes.iter().map(|(input, _)| input.name.clone());
        names.filter_map(|name| Some((name.clone(), sizes.remove(&name)?))).collect()
    }

    /// Nodes that refuse even the example.
    fn failures(&mut self) {
        for failure in std::mem::take(&mut self.walk.failures) {
            let KernelError::Invalid { clause, message, condition } = &failure.error else { continue };
            let because = clause.name().to_owned();
            let condition = match condition.filter(|e| e.as_literal_bool().is_none()) {
                Some(e) => {
                    self.failed.push(e);
                    self.condition_on(failure.step, e, because)
                }
                // There is no condition on sizes to show, but the one of the operator.
                None => {
                    let condition = self.condition(failure.step, "False".to_owned(), because.clone());
                    self.report.refuses.get_or_insert_with(|| condition.node.clone());
                    Condition { shown: because, ..condition }
                }
            };
            self.report.conditions.push(condition.clone());
            let example = self.symbolic.at(|symbol| self.symbolic.hint(symbol));
            match example.and_then(|sizes| Some((self.refusal(&sizes)?, sizes))) {
                Some(((_, data), sizes)) => {
                    let inputs = self.ordered(sizes);
                    self.report.violations.push(Violation {
                        condition,
                        inputs,
                        data,
                        message: message.clone(),
                        follows: false,
                        works: None,
                    });
                    self.lower(Verdict::Violated);
                }
                None => {
                    self.report.undecided.push((condition, "no input was found that shows it".to_owned()));
                    self.lower(Verdict::Unknown);
                }
            }
        }
    }

    /// Decides whether sizes that vary are the numbers which the model declares: onnxruntime takes no others.
    fn demands(&mut self) {
        for Demand { condition: e, place: (input, dim) } in self.symbolic.demands.clone() {
            let pool = &self.symbolic.env.pool;
            let shown = print::python(pool, e, &|symbol| self.symbolic.shown_name(pool, symbol));
            let because = format!("the model declares {input}.shape[{dim}] as a number");
            let condition = Condition {
                shown,
                expr: print::expression(pool, e),
                because,
                on_sizes: true,
                ..Condition::default()
            };
            self.decide(condition, e);
        }
    }

    /// Decides each condition under what is allowed.
    fn guards(&mut self) {
        let mut seen = FxHashSet::default();
        let guards = self.walk.env.guards().to_vec();
        // A condition is put simply where those before it hold.
        let mut before = self.symbolic.env.clone();
        for guard in guards {
            if !seen.insert(guard.condition) {
                continue;
            }
            let simple = self.symbolic.simplified(&mut before, guard.condition);
            let wide = self.with_ones(guard.clause.name(), simple);
            let simple = self.symbolic.with_multiples(&mut before, simple);
            before.assume(guard.condition);
            // What has to hold together is asked for one by one.
            let parts = match before.pool.as_func(simple, Func::And) {
                Some(parts) if simple != guard.condition && wide.is_none() => parts.to_vec(),
                _ => vec![simple],
            };
            for simple in parts {
                if simple != guard.condition {
                    self.written.insert(simple, guard.condition);
                    if !seen.insert(simple) {
                        continue;
                    }
                }
                if let Some(wide) = wide {
                    self.wide.insert(simple, wide);
                    self.written.entry(wide).or_insert(guard.condition);
                }
                let because = guard.clause.name().to_owned();
                let condition = self.condition_on(guard.origin.0 as usize, simple, because);
                if is_branch(&guard) {
                    self.decide_branch(condition, simple);
                } else if !self.is_assumed_precise(&condition, simple) {
                    self.decide(condition, simple);
                }
            }
        }
    }

    /// Decides a condition of which the expression is `e`.
    fn decide(&mut self, condition: Condition, e: Expr) {
        let mut env = std::mem::take(&mut self.asked);
        self.decide_in(condition, e, &mut env);
        self.asked = env;
    }

    /// As [`Check::decide`] under the facts of an environment.
    fn decide_in(&mut self, condition: Condition, e: Expr, env: &mut ShapeEnv) {
        match self.decided(e, env) {
            Decided::Implied { .. } | Decided::Inconsistent { .. } => self.report.proved.push(condition),
            Decided::Refuted { witness } => {
                self.report.conditions.push(condition.clone());
                if self.report.violations.len() >= MAX_VIOLATIONS {
                    return;
                }
                let witness: FxHashMap<Symbol, Int> = witness.into_iter().collect();
                let value = |symbol: Symbol| {
                    let found = witness.get(&symbol).and_then(Int::to_i64);
                    found.or_else(|| self.symbolic.hint(symbol))
                };
                let near = self.candidates(e, &value);
                self.violated(condition, e, near);
            }
            Decided::Unknown { .. } => {
                self.report.conditions.push(condition.clone());
                self.report.undecided.push((condition, BUDGET.to_owned()));
                self.doubtful.push(e);
                self.lower(Verdict::Unknown);
            }
        }
    }

    /// The verdict on a condition, where the sizes that break it can exist.
    fn decided(&self, e: Expr, env: &mut ShapeEnv) -> Decided {
        let (pool, facts) = env.facts();
        let verdict = decide(pool, facts, e, &self.budget).verdict;
        let Decided::Refuted { witness } = &verdict else { return verdict };
        let value = |symbol: Symbol| {
            let found = witness.iter().find(|(known, _)| *known == symbol);
            found.map_or_else(|| self.symbolic.hint(symbol), |(_, value)| value.to_i64())
        };
        if self.symbolic.at(value).is_some() {
            return verdict;
        }
        let mut env = env.clone();
        assume_existing(&self.symbolic, &mut env);
        let (pool, facts) = env.facts();
        decide(pool, facts, e, &self.budget).verdict
    }

    fn violated(&mut self, condition: Condition, broken: Expr, tried: Vec<Given>) {
        let is_own = |(_, refused, _): &(Given, Refused, Option<Data>)| {
            condition.node.is_empty() || refused.node.as_ref() == Some(&condition.node)
        };
        let mut shown = self.first_refused((&condition, broken), tried);
        // Sizes that broadcast another way than the example are refused elsewhere, if at all.
        if !shown.as_ref().is_some_and(is_own) {
            let wide = self.breaking_wide(broken);
            let other = self.first_refused((&condition, broken), wide);
            if shown.is_none() || other.as_ref().is_some_and(is_own) {
                shown = other;
            }
        }
        if let Some((mut sizes, mut refused, data)) = shown {
            self.lower(Verdict::Violated);
            if data.is_none()
                && let Some(smaller) = self.smaller_refused(broken, &sizes, refused.node.as_ref())
            {
                (sizes, refused) = smaller;
            }
            if let Some(node) = self.wide.get(&broken).map(|_| condition.node.clone()) {
                self.report.by_example.push(node);
            }
            let other = refused.node.filter(|node| !condition.node.is_empty() && *node != condition.node);
            let message = match other {
                Some(node) => format!("at {node}: {}", refused.message),
                None => refused.message,
            };
            let condition = self.widened(condition, broken, &sizes);
            let inputs = self.ordered(sizes);
            self.broken.push((self.report.violations.len(), broken));
            self.report.violations.push(Violation {
                condition,
                inputs,
                data,
                message,
                follows: false,
                works: None,
            });
            return;
        }
        if self.tries == 0 {
            let reason = "too many inputs were tried before it".to_owned();
            self.report.undecided.push((condition, reason));
            return self.lower(Verdict::Unknown);
        }
        // The walk took a way at the example that other sizes need not take: without a refusal it shows nothing.
        let reason = match condition.because.as_str() {
            super::integers::CLAUSE => {
                "the integer wraps around at larger sizes, and the model may still run"
            }
            _ => "the model accepts the sizes that break it",
        };
        self.report.undecided.push((condition, reason.to_owned()));
        self.doubtful.push(broken);
        self.lower(Verdict::Unknown);
    }

    /// The first of some sizes that the node of a condition refuses, else the first that another one does.
    fn first_refused(
        &mut self,
        (condition, broken): (&Condition, Expr),
        tried: Vec<Given>,
    ) -> Option<(Given, Refused, Option<Data>)> {
        let mut shown = None;
        for sizes in tried {
            if self.tries == 0 {
                break;
            }
            self.tries -= 1;
            let Some((refused, data)) = self.refusal(&sizes) else { continue };
            // Sizes that another node refuses show less, and nothing where they break a condition of that.
            let is_own = condition.node.is_empty() || refused.node.as_ref() == Some(&condition.node);
            if is_own || shown.is_none() && self.keeps_others(broken, &sizes) {
                shown = Some((sizes, refused, data));
            }
            if is_own {
                break;
            }
        }
        shown
    }

    /// Marks the violations that follow from others: `n >= 3` where `n >= 5` is violated too.
    fn fold(&mut self) {
        let mut kept: Vec<(usize, Expr)> = self.broken.clone();
        if kept.len() > MAX_FOLDED {
            return;
        }
        for at in (0..kept.len()).rev() {
            let (violation, condition) = kept[at];
            let mut env = self.symbolic.env.clone();
            kept.iter().filter(|(other, _)| *other != violation).for_each(|(_, other)| env.assume(*other));
            let (pool, facts) = env.facts();
            if matches!(decide(pool, facts, condition, &self.budget).verdict, Decided::Implied { .. }) {
                self.report.violations[violation].follows = true;
                kept.remove(at);
            }
        }
    }

    /// The sizes of the example.
    fn example(&self) -> Option<FxHashMap<String, Vec<i64>>> {
        self.symbolic.at(|symbol| self.symbolic.hint(symbol))
    }

    /// What is not known keeps a model from being right for sure.
    fn open(&mut self) {
        let unknown = std::mem::take(&mut self.walk.unknown);
        let of_sizes: FxHashSet<usize> = unknown
            .iter()
            .filter(|(_, reason)| reason.ends_with(NOT_FOLLOWED))
            .map(|(step, _)| *step)
            .collect();
        for (step, reason) in unknown {
            let condition = self.condition(step, String::new(), String::new());
            self.report.unknown.push((condition.node, condition.op, reason));
            self.lower(Verdict::Unknown);
        }
        if !self.walk.env.runtime_asserts().is_empty() {
            let places = self.places_of_data();
            for assert in self.walk.env.runtime_asserts().to_vec() {
                let because = assert.clause.name().to_owned();
                let condition = self.condition_on(assert.origin.0 as usize, assert.condition, because);
                let pool = &self.walk.env.pool;
                let name = |symbol| match places.get(&symbol) {
                    Some(place) => place.clone(),
                    None => self.symbolic.shown_name(pool, symbol),
                };
                let condition =
                    Condition { shown: print::python(pool, assert.condition, &name), ..condition };
                let is_of_sizes = of_sizes.contains(&(assert.origin.0 as usize));
                let reason = if is_of_sizes { SIZES_DECIDE } else { DATA_DECIDE };
                self.report.undecided.push((condition, reason.to_owned()));
            }
            self.lower(Verdict::Unknown);
        }
    }

    /// Where the sizes stand first that data decide: `nonzero.shape[1]`.
    fn places_of_data(&self) -> FxHashMap<Symbol, String> {
        let mut places = FxHashMap::default();
        for (name, number) in self.model.all_values() {
            let value = self.walk.values.get(number).and_then(Option::as_ref);
            let tensor = value.and_then(|value| value.tensor());
            let sizes = tensor.and_then(|tensor| tensor.shape.as_ref());
            for (dim, &size) in sizes.into_iter().flatten().enumerate() {
                if let Some(symbol) = self.walk.env.pool.as_symbol(size)
                    && self.symbolic.symbols.iter().all(|(known, _)| *known != symbol)
                {
                    places.entry(symbol).or_insert_with(|| format!("{name}.shape[{dim}]"));
                }
            }
        }
        places
    }
}
