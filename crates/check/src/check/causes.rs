//! Where violated conditions come from: the operators that force what was recorded at export, and the user's lines.
//!
//! An archive records guards and static sizes without a source line. The program is propagated once more, with the
//! sizes that the spec allows; guards are recorded but not assumed, so that every step that needs a condition is found.
//! A condition is forced by the steps whose conditions imply it. Where none does, Python branched on a size while the
//! program was traced: then the line is given at which the sizes that the condition speaks of first exist.
use super::compared::Values;
use super::examine::Examination;
use super::place::{place, place_asked};
use super::prove::by_rewriting;
use crate::propagate::{Interpreter, Mode, Run, Step, recorded};
use crate::report::{GuardVerdict, Traced};
use crate::spec::Assumptions;
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_env::{Clause, Guard, GuardKind, ShapeEnv};
use sizewise_expr::{Expr, Pool, Sort, Value as Number};
use sizewise_ir::{GraphInput, ValueId};
use sizewise_kernels::{Cx, Tensor, Value};
use sizewise_solve::{Budget, Facts, Premise, Verdict, decide};
use std::sync::Arc;

/// The most violated conditions that are traced to the operators that imply them.
const MAX_TRACED: usize = 12;
/// The most conditions of operators among which those that imply a violated one are sought.
const MAX_CANDIDATES: usize = 24;
/// The most conditions of operators that are tried as the cause of one that a later operator needs.
const MAX_EARLIER: usize = 6;

/// What the steps need of the sizes that the spec allows.
struct StepNeeds<'p> {
    guards: Vec<Guard>,
    steps: Arc<Vec<Step<'p>>>,
    /// The steps at which expressions first occur in a size.
    first: FxHashMap<Expr, usize>,
    values: Values,
}

impl<'p> StepNeeds<'p> {
    fn step(&self, guard: &Guard) -> Option<&Step<'p>> {
        self.steps.get(guard.origin.0 as usize)
    }
}

impl<'p> Examination<'_, 'p> {
    /// Traces the violated conditions that have no line of their own to operators and lines.
    pub fn trace_causes(&mut self, run: &mut Run<'p>) {
        let violated: Vec<usize> = (0..self.report.guards.len())
            .filter(|&i| self.report.guards[i].verdict == GuardVerdict::Violated)
            .collect();
        // Failures of steps come after the conditions, and have their step.
        let open: Vec<(usize, Expr)> = violated
            .into_iter()
            .zip(self.violated.iter().map(|o| o.condition))
            .filter(|(i, _)| !self.report.guards[*i].follows && self.report.guards[*i].code.is_none())
            .collect();
        if open.is_empty() {
            return;
        }
        let open: Vec<(usize, Expr)> =
            open.into_iter().filter(|&(i, condition)| !self.place_asked(run, i, condition)).collect();
        if open.is_empty() {
            return;
        }
        let Some(needs) = self.needs() else { return };
        for (n, (i, condition)) in open.into_iter().enumerate() {
            let (traced, forcing) = match n < MAX_TRACED {
                true => self.forcing(run, &needs, i, condition),
                false => (Traced::Needed, same(&needs, condition)),
            };
            let guard = &mut self.report.guards[i];
            let located = forcing.iter().find(|g| needs.step(g).is_some_and(|s| s.code().is_some()));
            let found = located.or(forcing.first()).and_then(|g| Some((g, needs.step(g)?)));
            if let Some((forced, step)) = found
                && (guard.node.is_none() || step.code().is_some())
            {
                (guard.node, guard.op) = (Some(step.node()), Some(step.op()));
                guard.clause = Some(forced.clause.name().to_string());
                guard.more_nodes = forcing.len() - 1;
                place(guard, step, traced);
            }
            if guard.node.is_none()
                && let Some(step) = needs.values.slice(&mut run.env.pool, &needs.steps, condition)
            {
                (guard.node, guard.op) = (Some(step.node()), Some(step.op()));
                place(guard, step, Traced::Compared);
            }
            if guard.code.is_none()
                && let Some(step) = first_use(&run.env.pool, &needs, condition)
            {
                place(guard, step, if guard.node.is_some() { guard.traced } else { Traced::First });
            }
        }
    }

    /// Gives a violated condition the line of one that torch asked for and that implies it, if there is one.
    fn place_asked(&mut self, run: &mut Run<'p>, at: usize, condition: Expr) -> bool {
        let assumed = self.assumptions.env.known_facts();
        let pool = &mut run.env.pool;
        let about = pool.free_symbols(&[condition]);
        let speaks = |pool: &Pool, e: Expr| pool.free_symbols(&[e]).iter().any(|s| about.contains(s));
        let candidates: Vec<_> =
            self.asked.iter().filter(|(e, _)| speaks(pool, *e)).take(MAX_CANDIDATES).collect();
        let implies = candidates.into_iter().find(|(e, _)| {
            let mut facts = assumed.clone();
            facts.assume(pool, *e);
            decide(pool, &mut facts, condition, &budget()).verdict.is_implied()
        });
        implies.is_some_and(|(_, asked)| place_asked(&mut self.report.guards[at], asked))
    }

    /// Propagates once more with the allowed sizes, every step saying what it needs.
    fn needs(&self) -> Option<StepNeeds<'p>> {
        let mut env = self.assumptions.env.clone();
        env.keep_asking();
        let mut records = self.assumptions.records.clone();
        let program = self.evaluator.contract().program;
        let inputs = recorded::assumed_inputs(program, &self.assumptions.inputs, &mut records, &mut env);
        let Ok(inputs) = inputs else {
            return None;
        };
        let inputs = allowed(self.assumptions, &mut env, inputs);
        let given: FxHashMap<ValueId, Value> = program
            .graph
            .inputs()
            .iter()
            .zip(&inputs)
            .filter_map(|(input, value)| match input {
                GraphInput::Value(id) => Some((*id, value.clone())),
                GraphInput::Constant(_) => None,
            })
            .collect();
        let mut interpreter =
            Interpreter::new(program, env, records, self.evaluator.operators(), Mode::Evaluate);
        interpreter.derived = Some(Vec::new());
        // What was found until a failure still counts.
        let _ = interpreter.propagate(inputs);
        let run_again = interpreter.run;
        let made = interpreter.derived.take().unwrap_or_default();
        let mut first = First::default();
        // torch.export inserts reads of sizes itself, with the line of whatever came next.
        let has_line = |at: usize| {
            let step = run_again.steps.get(at);
            step.is_some_and(|step| step.code().is_some() && !step.op().starts_with("aten.sym_size"))
        };
        for (at, step) in run_again.steps.iter().enumerate().filter(|(at, s)| !s.is_nested() && has_line(*at))
        {
            for input in &step.reached().inputs {
                input.arg.for_each_value(&mut |id| {
                    if let Some(value) = given.get(&id) {
                        first.add(&run_again.env.pool, value, at);
                    }
                });
            }
        }
        for derived in &made {
            let at = derived.origin.0 as usize;
            if has_line(at) {
                first.add(&run_again.env.pool, &derived.found, at);
                first.add(&run_again.env.pool, &derived.recorded, at);
            }
        }
        let mut guards = run_again.env.guards().to_vec();
        for (condition, origin) in run_again.env.stated().iter().map(|a| (a.condition, a.origin)) {
            let clause = Clause::ScalarAssertion;
            guards.push(Guard { condition, kind: GuardKind::Precondition, origin, clause });
        }
        let steps = run_again.steps.clone();
        Some(StepNeeds { guards, steps, first: first.0, values: Values::new(&given, &made) })
    }

    /// The operators' conditions that force a violated one, or are broken with it.
    fn forcing(
        &self,
        run: &mut Run<'p>,
        needs: &StepNeeds<'p>,
        at: usize,
        condition: Expr,
    ) -> (Traced, Vec<Guard>) {
        let equal = same(needs, condition);
        let broken = self.report.guards[at].witness.clone().unwrap_or_default();
        let env = &mut run.env;
        let value = |pool: &Pool, s| {
            let given = broken.get(pool.symbol_name(s)).and_then(serde_json::Value::as_i64);
            given.map(|v| Number::Int(v.into())).or_else(|| self.assumptions.env.symbol(s)?.hint.clone())
        };
        // What holds at the counterexample does not imply the condition alone.
        let mut seen: FxHashSet<Expr> = FxHashSet::default();
        let fails = |pool: &Pool, e: Expr| pool.eval(e, |s| value(pool, s)).is_ok_and(|v| !v.as_bool());
        let candidates: Vec<&Guard> = needs
            .guards
            .iter()
            .filter(|g| fails(&env.pool, g.condition) && seen.insert(g.condition))
            .take(MAX_CANDIDATES)
            .collect();
        let assumed = self.assumptions.env.known_facts();
        let forces = |pool: &mut Pool, guard: &Guard| {
            let mut facts = assumed.clone();
            facts.assume(pool, guard.condition);
            decide(pool, &mut facts, condition, &budget()).verdict.is_implied()
        };
        if let Some(first) = equal.first() {
            // What forces it earlier is the cause: a fixed batch is written in a `reshape`, and a `cat` fails of it.
            let mut before = candidates.into_iter().take_while(|g| g.origin < first.origin).take(MAX_EARLIER);
            return match before.find(|guard| forces(&mut env.pool, guard)) {
                Some(guard) => (Traced::Forced, same(needs, guard.condition)),
                None => (Traced::Needed, equal),
            };
        }
        if candidates.is_empty() {
            // Conditions on data-dependent sizes may leave no data for some sizes of inputs.
            let on_data = |g: &&Guard| {
                env.pool
                    .free_symbols(&[g.condition])
                    .iter()
                    .any(|&s| self.assumptions.env.symbol(s).is_none())
            };
            let asserts: Vec<&Guard> = needs.guards.iter().filter(on_data).take(MAX_CANDIDATES).collect();
            let mut forcing = together(&mut env.pool, assumed, &asserts, condition).unwrap_or_default();
            let about = env.pool.free_symbols(&[condition]);
            let speaks = |g: &Guard| env.pool.free_symbols(&[g.condition]).iter().any(|s| about.contains(s));
            forcing.sort_by_key(|g| !speaks(g));
            return (Traced::Forced, forcing);
        }
        for guard in &candidates {
            if forces(&mut env.pool, guard) {
                return (Traced::Forced, same(needs, guard.condition));
            }
        }
        match together(&mut env.pool, assumed, &candidates, condition) {
            Some(forcing) => (Traced::Forced, forcing),
            None => {
                let about = env.pool.free_symbols(&[condition]);
                let symbols = |g: &Guard| env.pool.free_symbols(&[g.condition]);
                // A condition may also speak of sizes at which nothing is computed, and so nothing is needed.
                let speaks = |g: &&&Guard| about.iter().all(|s| symbols(g).contains(s));
                let failing = candidates.iter().find(|g| symbols(g) == about);
                let failing = failing.or_else(|| candidates.iter().find(speaks));
                (Traced::Fails, failing.map(|g| same(needs, g.condition)).unwrap_or_default())
            }
        }
    }
}

/// The work that may be spent on each question of what forces a condition.
fn budget() -> Budget {
    Budget { points: 200, branches: 1, work: 5_000, terms: 10_000, ..by_rewriting(&Budget::default()) }
}

/// Those of the conditions that imply another one together, under the facts; `None` if they are not seen to.
fn together(pool: &mut Pool, assumed: &Facts, conditions: &[&Guard], implied: Expr) -> Option<Vec<Guard>> {
    let mut facts = assumed.clone();
    let ids: Vec<_> = conditions.iter().map(|g| facts.assume(pool, g.condition)).collect();
    let Verdict::Implied { because } = decide(pool, &mut facts, implied, &budget()).verdict else {
        return None;
    };
    let used = |id| because.iter().any(|p| matches!(p, Premise::Fact(used) if *used == id));
    Some(conditions.iter().zip(ids).filter(|(_, id)| used(*id)).map(|(g, _)| (*g).clone()).collect())
}

/// The steps that need this very condition.
fn same(needs: &StepNeeds, condition: Expr) -> Vec<Guard> {
    needs.guards.iter().filter(|guard| guard.condition == condition).cloned().collect()
}

/// The inputs with the sizes that the spec allows.
fn allowed(assumptions: &Assumptions, env: &mut ShapeEnv, mut inputs: Vec<Value>) -> Vec<Value> {
    for input in &assumptions.inputs {
        let Some(value) = inputs.get_mut(input.index) else { continue };
        match (&input.allowed, input.scalar, &*value) {
            (Some(sizes), _, Value::Tensor(tensor)) if tensor.sizes.as_slice() != sizes.as_slice() => {
                let strides = Cx::new(env).contiguous_strides(sizes);
                *value = Tensor { sizes: sizes.as_slice().into(), strides, ..(**tensor).clone() }.into();
            }
            (None, Some(scalar), Value::Int(recorded)) if *recorded != scalar => *value = Value::Int(scalar),
            _ => {}
        }
    }
    inputs
}

/// Where expressions first occur in sizes.
#[derive(Default)]
struct First(FxHashMap<Expr, usize>);

impl First {
    fn add(&mut self, pool: &Pool, value: &Value, at: usize) {
        let sizes: Vec<Expr> = match value {
            Value::Tensor(tensor) => tensor.sizes.to_vec(),
            Value::Int(e) | Value::Bool(e) | Value::Float(e) => vec![*e],
            _ => return,
        };
        let unknown = |e: &Expr| self.0.get(e).is_none_or(|&known| known > at);
        let sizes: Vec<Expr> = sizes.into_iter().filter(unknown).collect();
        if sizes.is_empty() {
            return;
        }
        for part in pool.reachable(&sizes) {
            let first = self.0.entry(part).or_insert(at);
            *first = at.min(*first);
        }
    }
}

/// The step at which the sizes that a condition speaks of first exist, of those with a line.
fn first_use<'n, 'p>(pool: &Pool, needs: &'n StepNeeds<'p>, condition: Expr) -> Option<&'n Step<'p>> {
    let parts = pool.reachable(&[condition]);
    let parts = parts.into_iter().filter(|&e| pool.sort(e) == Sort::Int && !pool.is_constant(e));
    let at = parts.filter_map(|e| needs.first.get(&e).copied()).max()?;
    needs.steps.get(at)
}
