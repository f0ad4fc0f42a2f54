//! What a checker of input shapes has to check.
use super::error::CheckError;
use super::minimal;
use super::put_simply::is_bound;
use super::readable::readable;
use super::runtime;
use super::session::Session;
use super::simpler::{simplest, with_simple_sizes};
use super::strides;
use super::strides::cases::Cases;
use super::summary;
use crate::propagate::{FailureKind, Run, Step, propagate};
use crate::report::guard_code::{GuardSet, GuardedInput};
use crate::spec::{Assumptions, Contract, InputKind, UNCHECKED_MINIMUM, bound_conditions};
use sizewise_env::{GuardKind, Origin};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Func, Int, Pool, Symbol, print};
use sizewise_ir::Bounds;
use sizewise_solve::{Budget, Facts, decide, requirements};

/// Of larger sets the conditions stay as they are.
const MAX_SIMPLIFIED: usize = 24;

/// A program followed for all sizes that its contract does not exclude by itself.
pub(super) struct Followed<'c> {
    pub assumptions: Assumptions<'c>,
    pub run: Run<'c>,
    /// Lower bounds up to this one are not demanded.
    pub unchecked: i64,
}

impl<'c> Session<'c> {
    /// The conditions on inputs under which the program runs: sizes, ranges and guards that the exported module
    /// checks, and what its operators need.
    ///
    /// # Errors
    /// When the program cannot be propagated, sizes do not determine its symbols, something that it enforces cannot be
    /// read, or it refuses the sizes of its trace.
    pub fn guard_set(&self) -> Result<GuardSet, CheckError> {
        build(self, self.followed(None)?)
    }

    /// The program followed for the conditions that it needs; with a value in place of a symbol, for that case only.
    ///
    /// # Errors
    /// As [`Session::guard_set`].
    pub(super) fn followed(&self, case: Option<(Symbol, Int)>) -> Result<Followed<'c>, CheckError> {
        if let Some(reason) = self.contract().unreadable.first() {
            return Err(CheckError::UnreadableContract(reason.clone()));
        }
        let assumptions = self.contract().unconstrained();
        let (program, operators) = (self.checker().program(), self.evaluator().operators());
        let unchecked = UNCHECKED_MINIMUM;
        if let Some((symbol, value)) = case {
            let assumptions = assumptions.with(symbol, value);
            let run = propagate(program, &assumptions, operators)?;
            return Ok(Followed { assumptions, run, unchecked });
        }
        if let Some(trace) = self.trace() {
            let run = trace.under(&assumptions);
            return Ok(Followed { assumptions, run, unchecked });
        }
        let run = propagate(program, &assumptions, operators)?;
        if run.failures.is_empty() && run.unreadable.is_empty() {
            return Ok(Followed { assumptions, run, unchecked });
        }
        // A step needs the recorded ranges.
        let assumptions = self.contract().assumed();
        let run = propagate(program, &assumptions, operators)?;
        Ok(Followed { assumptions, run, unchecked: i64::MIN })
    }
}

/// A set without conditions: the inputs, and the sizes that determine the program's symbols.
pub(super) fn of_inputs(session: &Session, pool: &Pool) -> Result<GuardSet, CheckError> {
    let contract = session.contract();
    let mut set = GuardSet {
        program: session.checker().name().to_string(),
        pool: pool.clone(),
        inputs: Vec::new(),
        variables: Vec::new(),
        fixed: Vec::new(),
        conditions: Vec::new(),
        left_open: Vec::new(),
        not_followed: 0,
    };
    let mut sizes: Vec<(usize, Option<usize>, Expr)> = Vec::new();
    for input in &contract.inputs {
        let (at, name) = (set.inputs.len(), input.input.placeholder.to_string());
        match &input.kind {
            InputKind::Tensor { sizes: recorded, .. } => {
                sizes.extend(recorded.iter().enumerate().map(|(dim, &e)| (at, Some(dim), e)));
                set.inputs.push(GuardedInput::Tensor { name, sizes: recorded.clone() });
            }
            InputKind::Scalar(value) => {
                sizes.push((at, None, *value));
                set.inputs.push(GuardedInput::Number { name, value: *value });
            }
            InputKind::Constant(value) => {
                set.inputs.push(GuardedInput::Constant { name, value: value.clone() });
            }
            InputKind::Other => {}
        }
    }
    set.determine(&sizes).map_err(CheckError::Undetermined)?;
    Ok(set)
}

fn build(session: &Session, followed: Followed) -> Result<GuardSet, CheckError> {
    let Followed { assumptions, mut run, unchecked } = followed;
    if let Some(failure) = run.failures.iter().find(|failure| failure.kind == FailureKind::Invalid) {
        let node = run.step(failure.origin).map_or_else(String::new, |step| step.node().to_owned());
        return Err(CheckError::Refuses { node, message: failure.message.clone() });
    }
    let mut set = of_inputs(session, &run.env.pool)?;
    set.not_followed = run.unsupported.len() + run.failures.len();
    let symbols: Vec<Symbol> = set.variables.iter().map(|v| v.symbol).collect();
    let demanded = conditions(session.contract(), &mut run, &symbols, unchecked);
    let mut conditions: Vec<Expr> = demanded.iter().map(|demanded| demanded.condition).collect();
    conditions.extend(runtime::needed(&assumptions, &mut run, &conditions));
    conditions.extend(layout_choices(session, &assumptions, &mut run, &conditions, &symbols));
    let ranges: Vec<(Symbol, ValueRange)> = set
        .variables
        .iter()
        .map(|v| {
            let plain_size = v.dim.is_some() && v.factor.is_one() && v.offset.is_zero();
            (v.symbol, if plain_size { ValueRange::at_least(Int::ZERO) } else { ValueRange::all() })
        })
        .collect();
    let kept = minimal::minimal(&mut run.env.pool, &ranges, &conditions);
    set.conditions = in_simplest_form(&mut run.env.pool, &ranges, kept);
    set.left_open = left_open(&assumptions, &run);
    set.pool = run.env.pool;
    Ok(set)
}

/// The conditions in their simplest form, each where the bounds among them hold. A set of many stays as it is, and so does a
/// condition that may have no value there: what has none is refused.
fn in_simplest_form(pool: &mut Pool, ranges: &[(Symbol, ValueRange)], conditions: Vec<Expr>) -> Vec<Expr> {
    if conditions.len() > MAX_SIMPLIFIED {
        return conditions;
    }
    let mut facts = Facts::new();
    for (symbol, range) in ranges {
        facts.declare(pool, *symbol, range.clone());
    }
    let bounds: Vec<Expr> = conditions.iter().copied().filter(|&e| is_bound(pool, e)).collect();
    bounds.iter().for_each(|&bound| _ = facts.assume(pool, bound));
    let mut simplified: Vec<Expr> = Vec::with_capacity(conditions.len());
    for condition in conditions {
        let mut simple = condition;
        let needed = requirements(pool, &[condition]);
        if !bounds.contains(&condition)
            && needed.into_iter().all(|e| decide(pool, &mut facts, e, &Budget::small()).verdict.is_implied())
        {
            let found = simplest(pool, &mut facts, condition);
            let found = with_simple_sizes(pool, &mut facts, found);
            let found = readable(pool, &facts, found);
            if pool.as_bool(found).is_none() && letters(pool, found) <= letters(pool, condition) {
                simple = found;
            }
        }
        if !simplified.contains(&simple) {
            simplified.push(simple);
        }
    }
    simplified
}

/// How long a condition is as people read it.
fn letters(pool: &Pool, e: Expr) -> usize {
    print::python(pool, e, &|symbol| pool.symbol_name(symbol)).chars().count()
}

/// The conditions that data decide, as texts.
pub(super) fn left_open(assumptions: &Assumptions, run: &Run) -> Vec<String> {
    let mut texts = Vec::new();
    for assert in &run.asserts {
        let text = summary::shown(assumptions, &run.env, assert.condition);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
}

/// A condition that is demanded of the symbols.
pub(super) struct Demanded {
    pub condition: Expr,
    /// Whether every call that does not satisfy it is refused, if it satisfies all that the program was followed under.
    pub is_enforced: bool,
    /// Whether the exported module checks it before anything is run.
    pub is_at_entry: bool,
    /// The step that needs it.
    pub origin: Option<Origin>,
}

/// Everything that is demanded of the symbols.
pub(super) fn conditions(
    contract: &Contract,
    run: &mut Run,
    symbols: &[Symbol],
    unchecked: i64,
) -> Vec<Demanded> {
    let mut all: Vec<Demanded> = Vec::new();
    let entry =
        |condition, is_enforced| Demanded { condition, is_enforced, is_at_entry: is_enforced, origin: None };
    for (e, bounds) in &contract.ranges {
        let min = bounds.min.filter(|&min| min > unchecked);
        let is_enforced = min.is_none_or(|min| min > UNCHECKED_MINIMUM);
        let (lower, upper) = (Bounds { min, max: None }, Bounds { min: None, ..*bounds });
        let pool = &mut run.env.pool;
        all.extend(bound_conditions(pool, *e, lower).into_iter().map(|c| entry(c, is_enforced)));
        all.extend(bound_conditions(pool, *e, upper).into_iter().map(|c| entry(c, true)));
    }
    for guard in &contract.guards {
        let is_at_entry = !guard.is_asserted;
        // One operand may settle a connective before another one is evaluated.
        let settled = matches!(run.env.pool.as_call(guard.condition), Some((Func::Or | Func::Ite, _)));
        let required = guard.requirements.iter();
        all.extend(required.map(|&e| Demanded { is_at_entry, ..entry(e, !settled) }));
        all.push(Demanded { is_at_entry, ..entry(guard.condition, true) });
    }
    all.extend(run.guards.iter().map(|guard| {
        let is_nested = run.step(guard.origin).is_none_or(Step::is_nested);
        let is_enforced = guard.kind == GuardKind::Precondition && !is_nested;
        let (condition, origin) = (guard.condition, Some(guard.origin));
        Demanded { condition, is_enforced, is_at_entry: false, origin }
    }));
    all.extend(run.comparisons.iter().map(|comparison| {
        let (condition, origin) = (comparison.condition, Some(comparison.origin));
        Demanded { condition, is_enforced: false, is_at_entry: false, origin }
    }));
    let mut kept: Vec<Demanded> = Vec::new();
    for demanded in all {
        let condition = demanded.condition;
        let known = run.env.pool.free_symbols(&[condition]).iter().all(|s| symbols.contains(s));
        let same = kept.iter().any(|kept| kept.condition == condition);
        if known && run.env.pool.as_bool(condition) != Some(true) && !same {
            kept.push(demanded);
        }
    }
    kept
}

/// The layout choices on which later views may depend: with other strides than in the example it is not known
/// whether a view is possible. Sizes of 0 and 1 for which the views are proved separately are allowed.
pub(super) fn layout_choices<'c>(
    session: &Session<'c>,
    assumptions: &Assumptions<'c>,
    run: &mut Run,
    conditions: &[Expr],
    symbols: &[Symbol],
) -> Vec<Expr> {
    let is_needed = |origin| strides::needs_strides_of(run, origin).is_some();
    let choices = run.layout_choices.iter().filter(|(origin, _)| is_needed(*origin));
    let is_known = |e: &Expr| run.env.pool.free_symbols(&[*e]).iter().all(|s| symbols.contains(s));
    let choices: Vec<Expr> = choices.map(|&(_, condition)| condition).filter(is_known).collect();
    let concerned = run.env.pool.free_symbols(&choices);
    if choices.is_empty() {
        return Vec::new();
    }
    let mut root = assumptions.clone();
    conditions.iter().for_each(|&condition| root.env.assume(condition));
    let mut cases = Cases::new(session.evaluator(), Budget::default());
    let mut proved = Vec::new();
    for symbol in concerned {
        for value in [Int::ZERO, Int::ONE] {
            if cases.proves(&root, symbol, &value) {
                let (e, value) = (root.env.pool.symbol_expr(symbol), root.env.pool.int(value));
                proved.push(root.env.pool.eq(e, value));
            }
        }
    }
    let mut relaxed = Vec::with_capacity(choices.len());
    for choice in choices {
        let alternatives: Vec<Expr> = std::iter::once(choice).chain(proved.iter().copied()).collect();
        relaxed.push(root.env.pool.or(&alternatives));
    }
    relaxed
}
