//! Whether a model accepts every input that it declares, and makes the outputs that it declares.
mod bounds;
mod branches;
pub(super) mod broadcast;
mod contract;
mod counterexamples;
mod data;
mod decided;
mod declare;
mod fixes;
mod integers;
mod named;
mod outputs;
mod precise;
mod redeclared;
mod rejected;
mod report;
mod run_time;
mod samples;
mod value_info;

use super::ways::is_branch;
use bounds::is_bound;
pub use data::Data;
pub use fixes::{declared_spec, widen};
pub use report::report;

use super::Sizes;
use super::declaration::Declared;
use super::evaluate::evaluate;
use super::examples::{Walked, walked};
use super::integers::assume_existing;
use super::limits::Limits;
use super::plain::simple_in_turn;
use super::symbolic::{Demand, Symbolic};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_check::check::{consequences, excluded, readable};
use sizewise_check::report::{
    AssertReport, Cause, ConditionKind, Diagnostic, GuardReport, GuardVerdict, MismatchReport, Needed,
    Outcome, UnsupportedReport, within,
};
use sizewise_env::ShapeEnv;
use sizewise_expr::text::print;
use sizewise_expr::{Expr, Func, Int, Symbol};
use sizewise_kernels::KernelError;
use sizewise_onnx_model::condition_text;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::walk::Walk;
use sizewise_solve::{Budget, Rung, Verdict as Decided, Witness, decide};

/// The most conditions for which a counterexample is looked for; further ones are listed among the conditions.
const MAX_VIOLATIONS: usize = 100;
/// The most nodes that are visited to look for counterexamples, and the least and the most inputs that are tried.
const MAX_VISITED: usize = 1_000_000;
const MIN_TRIES: usize = 8;
const MAX_TRIES: usize = 1_000;
/// Of more conditions, it is not asked which follow from others, and for sizes that break one alone.
const MAX_FOLDED: usize = 50;

/// The reason why a condition is left to run time.
const DATA_DECIDE: &str = "data decide it";
/// The same where those break it with which sizes are tried.
const EVAL_DATA_BREAK: &str =
    "it is left to run time, and the values that `eval` takes break it at some sizes";
/// Why it stays open whether an input breaks a condition.
const NO_EXAMPLE: &str = "no input was found that shows it";

/// Sizes of inputs.
type Given = FxHashMap<String, Vec<i64>>;

/// A condition that the declaration does not imply, with sizes that the model declares and refuses.
struct Violation {
    /// What is reported of it.
    guard: GuardReport,
    /// The condition on sizes; `None` where there is none to show, but the one of the operator.
    condition: Option<Expr>,
    /// The values of symbols that break it.
    witness: Witness,
    /// The elements with which the model refuses the sizes, where it accepts them with others.
    data: Option<Data>,
}

/// An output that is not as declared.
struct WrongOutput {
    output: String,
    /// What its declaration should say.
    right: Declared,
    /// What is reported of it.
    report: MismatchReport,
}

struct Check<'m> {
    model: &'m Model,
    symbolic: Symbolic,
    walk: Walk<'m>,
    verdict: Outcome,
    violations: Vec<Violation>,
    proved: Vec<GuardReport>,
    undecided: Vec<GuardReport>,
    wrong_outputs: Vec<WrongOutput>,
    /// Nodes whose results are not known, with the reason.
    unsupported: Vec<UnsupportedReport>,
    /// The conditions under which the model runs, in the order of its nodes, and those of them that are on sizes.
    needed: Vec<Needed>,
    required: Vec<Expr>,
    /// Conditions that the values of inputs decide when the model runs.
    run_time: Vec<AssertReport>,
    /// Conditions that are assumed, as texts show them: up to sizes that no one has, floats count exactly.
    precise: Vec<String>,
    /// The node that refuses sizes at which all of these conditions hold, if one was found.
    refuses: Option<String>,
    /// Nodes of which the operands broadcast in more ways than the conditions say: the example decides which.
    by_example: Vec<String>,
    /// The sizes of the example, where the model accepts them.
    works: Option<Given>,
    /// The conditions on sizes that do not hold at the example.
    failed: Vec<Expr>,
    /// Conditions that are not proved, and of which no input shows that they are needed.
    doubtful: Vec<Expr>,
    /// What is not known of outputs, which is said where nothing else says why the verdict is open.
    pending: Vec<GuardReport>,
    /// For conditions that were simplified, how the walk has written them.
    written: FxHashMap<Expr, Expr>,
    /// For conditions of broadcasts, with sizes of 1 that the example does not have.
    wide: FxHashMap<Expr, Expr>,
    /// Sizes near which counterexamples are looked for.
    near: FxHashMap<Symbol, Int>,
    /// That no sizes are allowed, or that none are known.
    diagnostics: Vec<Diagnostic>,
    /// What is declared, with what was found out while deciding conditions under it.
    asked: ShapeEnv,
    /// The work that a condition may take.
    budget: Budget,
    /// How many more inputs are tried.
    tries: usize,
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
        verdict: Outcome::Ok,
        violations: Vec::new(),
        proved: Vec::new(),
        undecided: Vec::new(),
        wrong_outputs: Vec::new(),
        unsupported: Vec::new(),
        needed: Vec::new(),
        required: Vec::new(),
        run_time: Vec::new(),
        precise: Vec::new(),
        refuses: None,
        by_example: Vec::new(),
        works: None,
        failed: Vec::new(),
        doubtful: Vec::new(),
        pending: Vec::new(),
        written: FxHashMap::default(),
        wide: FxHashMap::default(),
        near: FxHashMap::default(),
        diagnostics: Vec::new(),
        budget: budget.clone(),
        tries,
    };
    check.near = check.sizes_to_show();
    if !check.is_satisfiable() {
        return check;
    }
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
    check
}

impl Check<'_> {
    fn lower(&mut self, verdict: Outcome) {
        self.verdict = self.verdict.max(verdict);
    }

    /// A condition of a step, of which only the clause is known.
    fn guard(&self, step: usize, expr: String, clause: &str) -> GuardReport {
        let step = self.walk.steps.get(step);
        self.guard_at((step.map(|step| step.node().to_owned()), step.map(|step| step.op())), expr, clause)
    }

    fn guard_at(
        &self,
        (node, op): (Option<String>, Option<String>),
        expr: String,
        clause: &str,
    ) -> GuardReport {
        GuardReport {
            node,
            op,
            clause: Some(clause.to_owned()),
            says: condition_text(clause),
            ..GuardReport::new(expr, ConditionKind::Precondition, GuardVerdict::Unknown)
        }
    }

    /// The condition `e` of a step.
    fn guard_on(&self, step: usize, e: Expr, clause: &str) -> GuardReport {
        self.on_sizes(self.guard(step, String::new(), clause), e)
    }

    /// A condition on sizes that the model or the file itself states.
    fn declared_guard(&self, shown: String, because: String) -> GuardReport {
        GuardReport {
            because: vec![because],
            cause: Cause::Declared,
            ..GuardReport::new(shown, ConditionKind::Precondition, GuardVerdict::Unknown)
        }
    }

    /// What is said of a condition, if it is `e`.
    fn on_sizes(&self, guard: GuardReport, e: Expr) -> GuardReport {
        let pool = &self.walk.env.pool;
        let simple = readable(pool, self.symbolic.env.known_facts(), e);
        GuardReport {
            shown: self.symbolic.shown(pool, simple),
            expr: print::expression(pool, e),
            excludes: excluded(pool, e),
            undeclarable: !self.symbolic.has_spec && is_bound(pool, simple),
            ..guard
        }
    }

    /// Notes a condition under which the model runs.
    fn need(&mut self, guard: &GuardReport, on_sizes: Option<Expr>) {
        self.required.extend(on_sizes);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        self.needed.push(Needed {
            expr: guard.expr.clone(),
            node: text(&guard.node),
            op: text(&guard.op),
            because: guard.clause.clone().unwrap_or_else(|| guard.because.join(", ")),
        });
    }

    /// Notes that a condition is open.
    fn leave_open(&mut self, guard: GuardReport, reason: &str) {
        self.undecided.push(GuardReport { reason: Some(reason.to_owned()), ..guard });
        self.lower(Outcome::Unknown);
    }

    /// The sizes of the inputs, in the model's order.
    fn ordered(&self, mut sizes: Given) -> Sizes {
        let names = self.symbolic.sizes.iter().map(|(input, _)| input.name.clone());
        names.filter_map(|name| Some((name.clone(), sizes.remove(&name)?))).collect()
    }

    /// Nodes that refuse even the example.
    fn failures(&mut self) {
        for failure in std::mem::take(&mut self.walk.failures) {
            let KernelError::Invalid { clause, message, condition } = &failure.error else { continue };
            let condition = condition.filter(|e| e.as_literal_bool().is_none());
            let guard = match condition {
                Some(e) => {
                    self.failed.push(e);
                    let full = self.with_ones(e, &mut self.symbolic.env.clone()).unwrap_or(e);
                    self.guard_on(failure.step, full, clause.name())
                }
                // There is no condition on sizes to show, but the one of the operator.
                None => {
                    let guard = self.guard(failure.step, "False".to_owned(), clause.name());
                    self.refuses = self.refuses.take().or_else(|| guard.node.clone());
                    GuardReport { shown: sentence(clause.name()), ..guard }
                }
            };
            self.need(&guard, condition);
            // As of a program, it has the value false at the example.
            let guard = GuardReport { decided_by: Some(Rung::NormalForm.name().to_owned()), ..guard };
            let found = self.example().and_then(|sizes| Some((self.refusal(&sizes)?.1, sizes)));
            match found {
                Some((data, sizes)) => {
                    self.violation(guard, (condition, Witness::new()), sizes, (message.clone(), data));
                }
                None => self.leave_open(guard, NO_EXAMPLE),
            }
        }
    }

    /// Decides whether sizes that vary are the numbers which the model declares: onnxruntime takes no others.
    fn demands(&mut self) {
        for Demand { condition: e, place: (input, dim) } in self.symbolic.demands.clone() {
            let because = format!("the model declares {input}.shape[{dim}] as a number");
            self.decide(self.on_sizes(self.declared_guard(String::new(), because), e), e);
        }
    }

    /// Decides each condition under what is allowed.
    fn guards(&mut self) {
        let mut seen = FxHashSet::default();
        let guards = self.walk.env.guards().to_vec();
        let conditions: Vec<Expr> = guards.iter().map(|guard| guard.condition).collect();
        let simple = simple_in_turn(&self.symbolic.env, &conditions);
        let pool = self.symbolic.env.pool.clone();
        let mut before = self.symbolic.env.clone();
        for (guard, simple) in guards.into_iter().zip(simple) {
            if !seen.insert(guard.condition) {
                continue;
            }
            let (step, clause) = (guard.origin.0 as usize, guard.clause.name());
            if simple.as_literal_bool() == Some(true) {
                let implied = self.guard_on(step, guard.condition, clause);
                self.implied(implied, guard.condition);
                continue;
            }
            // Either size of a broadcast is as the walk has written it.
            let wide = self.with_ones(guard.condition, &mut before).filter(|&wide| wide != simple);
            self.assume_before(&guard, &mut before);
            // What has to hold together is asked for one by one.
            let parts = match pool.as_func(simple, Func::And) {
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
                let report = self.guard_on(step, simple, clause);
                if is_branch(&guard) {
                    self.decide_branch(report, simple);
                } else if !self.is_assumed_precise(&report, simple) {
                    self.decide(report, simple);
                }
            }
        }
    }

    /// Notes a violation that sizes show.
    fn violation(
        &mut self,
        guard: GuardReport,
        (condition, witness): (Option<Expr>, Witness),
        sizes: Given,
        (message, data): (String, Option<Data>),
    ) {
        let inputs = self.ordered(sizes);
        let shown = data.map(|data| data.elements(self.model));
        let guard = GuardReport {
            verdict: GuardVerdict::Violated,
            witness: Some(self.named_sizes(&inputs)),
            inputs: Some(report::shapes_json(&inputs)),
            consequence: Some(format!(
                "the model refuses it{}: {message}",
                report::with_elements(shown.as_ref())
            )),
            values: shown,
            ..guard
        };
        self.violations.push(Violation { guard, condition, witness, data });
        self.lower(Outcome::Violated);
    }

    /// Marks the violations that follow from others: `n >= 3` where `n >= 5` is violated too.
    fn fold(&mut self) {
        let broken = self.violations.iter().enumerate();
        let broken = broken.filter_map(|(at, violation)| Some((at, self.of_spec(violation)?)));
        let broken: Vec<(usize, Expr)> = broken.collect();
        if broken.len() > MAX_FOLDED {
            return;
        }
        let conditions: Vec<Expr> = broken.iter().map(|(_, condition)| *condition).collect();
        let mut env = self.symbolic.env.clone();
        let (pool, facts) = env.facts();
        for ((at, _), follows) in broken.into_iter().zip(consequences(pool, facts, &conditions, &[])) {
            self.violations[at].guard.follows = follows;
        }
    }

    /// The conditions on sizes that are violated and follow from no others.
    fn roots(&self) -> Vec<Expr> {
        let own = self.violations.iter().filter(|violation| !violation.guard.follows);
        own.filter_map(|violation| self.of_spec(violation)).collect()
    }

    /// The condition of a violation, if a narrower spec may see to it: one that fails at the example is none to begin with.
    fn of_spec(&self, violation: &Violation) -> Option<Expr> {
        violation.condition.filter(|condition| !self.failed.contains(condition))
    }

    /// Whether the model accepts sizes, with the elements of `eval`.
    fn accepts(&self, sizes: &Given) -> bool {
        evaluate(self.model, sizes, &FxHashMap::default()).is_ok()
    }
}

/// The sentence of an operator's condition, to stand within another; its code where it has none.
fn sentence(clause: &str) -> String {
    condition_text(clause).map_or_else(|| clause.to_owned(), |sentence| within(sentence).replace('`', ""))
}
