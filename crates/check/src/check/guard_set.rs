//! What a checker of input shapes has to check.
use super::error::CheckError;
use super::minimal;
use super::runtime;
use super::session::Session;
use super::strides;
use super::strides::cases::Cases;
use super::summary;
use crate::propagate::{Run, propagate};
use crate::report::guard_code::{GuardSet, GuardedInput};
use crate::spec::{Assumptions, Contract, InputKind, UNCHECKED_MINIMUM, bound_conditions};
use sizewise_expr::range::ValueRange;
use sizewise_expr::{Expr, Int, Symbol};
use sizewise_ir::Bounds;
use sizewise_solve::Budget;

impl Session<'_> {
    /// The conditions on inputs under which the program runs: sizes, ranges and guards that the exported module
    /// checks, and what its operators need.
    ///
    /// # Errors
    /// When the program cannot be propagated, sizes do not determine its symbols, or something that it enforces cannot
    /// be read.
    pub fn guard_set(&self) -> Result<GuardSet, CheckError> {
        if let Some(reason) = self.contract().unreadable.first() {
            return Err(CheckError::UnreadableContract(reason.clone()));
        }
        match self.trace() {
            Some(trace) => {
                let assumptions = self.contract().unconstrained();
                let run = trace.under(&assumptions);
                build(self, assumptions, run, UNCHECKED_MINIMUM)
            }
            None => {
                let (program, operators) = (self.checker().program(), self.evaluator().operators());
                let assumptions = self.contract().unconstrained();
                let run = propagate(program, &assumptions, operators)?;
                if run.failures.is_empty() && run.unreadable.is_empty() {
                    return build(self, assumptions, run, UNCHECKED_MINIMUM);
                }
                // A step needs the recorded ranges.
                let assumptions = self.contract().assumed();
                let run = propagate(program, &assumptions, operators)?;
                build(self, assumptions, run, i64::MIN)
            }
        }
    }
}

fn build<'c>(
    session: &Session<'c>,
    assumptions: Assumptions<'c>,
    mut run: Run,
    unchecked: i64,
) -> Result<GuardSet, CheckError> {
    let contract = session.contract();
    let mut set = GuardSet {
        program: session.checker().name().to_string(),
        pool: Default::default(),
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
    set.pool = run.env.pool.clone();
    set.determine(&sizes).map_err(CheckError::Undetermined)?;
    let symbols: Vec<Symbol> = set.variables.iter().map(|v| v.symbol).collect();
    let mut conditions = conditions(contract, &mut run, &symbols, unchecked);
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
    set.conditions = minimal::minimal(&mut run.env.pool, &ranges, &conditions);
    for assert in &run.asserts {
        let text = summary::shown(&assumptions, &run.env, assert.condition);
        if !set.left_open.contains(&text) {
            set.left_open.push(text);
        }
    }
    set.pool = run.env.pool;
    Ok(set)
}

/// Everything that is demanded of the symbols.
fn conditions(contract: &Contract, run: &mut Run, symbols: &[Symbol], unchecked: i64) -> Vec<Expr> {
    let mut all: Vec<Expr> = Vec::new();
    for (e, bounds) in &contract.ranges {
        let checked = Bounds { min: bounds.min.filter(|&min| min > unchecked), ..*bounds };
        all.extend(bound_conditions(&mut run.env.pool, *e, checked));
    }
    for guard in &contract.guards {
        all.extend(&guard.requirements);
        all.push(guard.condition);
    }
    all.extend(run.guards.iter().map(|guard| guard.condition));
    all.extend(run.comparisons.iter().map(|comparison| comparison.condition));
    let mut kept: Vec<Expr> = Vec::new();
    for condition in all {
        let known = run.env.pool.free_symbols(&[condition]).iter().all(|s| symbols.contains(s));
        if known && run.env.pool.as_bool(condition) != Some(true) && !kept.contains(&condition) {
            kept.push(condition);
        }
    }
    kept
}

/// The layout choices on which later views may depend: with other strides than in the example it is not known
/// whether a view is possible. Sizes of 0 and 1 for which the views are proved separately are allowed.
fn layout_choices<'c>(
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
