//! Numbers that data decide and of which the program takes one value only: read while the program was traced.
use super::examine::Examination;
use super::place;
use crate::propagate::{Run, Step};
use crate::report::{Diagnostic, Level, Outcome};
use rustc_hash::FxHashSet;
use sizewise_expr::{Expr, Func, Int, Symbol};
use sizewise_ir::{Dtype, Graph, Meta, ValueId};

/// Computations are written up to this depth; what is further down goes by its name.
const MAX_DEPTH: usize = 4;

impl Examination<'_, '_> {
    /// Warns of assertions that leave a number that data decide a single value. Where the program reads that number, it
    /// does not run on every input that the spec allows, and no spec can say on which it does: the verdict is unknown at best.
    pub fn frozen_data(&mut self, run: &Run) {
        let graph = &self.evaluator.contract().program.graph;
        let mut seen: FxHashSet<Symbol> = FxHashSet::default();
        for assert in &run.asserts {
            for symbol in run.env.pool.free_symbols(&[assert.condition]) {
                let is_data = self.assumptions.env.symbol(symbol).is_none();
                let Some(value) = only_value(run, symbol, assert.condition).filter(|_| is_data) else {
                    continue;
                };
                if !seen.insert(symbol) {
                    continue;
                }
                let symbol = run.env.pool.symbol_name(symbol);
                let read = run.step(assert.origin).and_then(|step| read_by(graph, run, step));
                let is_number =
                    read.is_some() && !run.step(assert.origin).is_some_and(|step| is_truth(graph, step));
                let (name, known) = match read {
                    Some(computed) => (computed, format!(" ({symbol})")),
                    None => (symbol.to_string(), String::new()),
                };
                let message = format!(
                    "this program only runs where {name} == {value}: data decide {name}{known}, and the trace kept the \
                     value that it had in the example, or the code asserts it; no spec can say so"
                );
                // A number that is read, and no size or truth value, is one that the code needs to trace on.
                if is_number {
                    self.report.verdict = self.report.verdict.max(Outcome::Unknown);
                }
                let mut warning = Diagnostic::new("frozen-data", Level::Warning, message);
                if let Some(step) = run.step(assert.origin) {
                    place::note(&mut warning, step);
                }
                self.report.diagnostics.push(warning);
            }
        }
    }
}

/// What a step reads as a number, if it does: `max(lengths)` for `lengths.max().item()`.
fn read_by(graph: &Graph, run: &Run, step: &Step) -> Option<String> {
    let reads = matches!(step.op().as_str(), "aten.item.default" | "aten._local_scalar_dense.default");
    let read = (reads && !step.is_nested()).then(|| inputs(step))?;
    Some(computed(graph, run, *read.first()?, MAX_DEPTH))
}

/// Whether a step reads a truth value: what a condition on data is.
fn is_truth(graph: &Graph, step: &Step) -> bool {
    let of = inputs(step);
    let read = of.first().map(|&value| graph.meta(value));
    matches!(read, Some(Meta::Tensor(tensor)) if tensor.dtype == Dtype::Bool)
}

/// A value as calls of operators on inputs.
fn computed(graph: &Graph, run: &Run, value: ValueId, depth: usize) -> String {
    let makes = |step: &&Step| !step.is_nested() && step.reached().output_values().any(|made| made == value);
    let maker = run.steps.iter().find(makes).filter(|_| depth > 0);
    let Some(step) = maker else { return graph.name(value).to_string() };
    let of: Vec<String> =
        inputs(step).into_iter().map(|input| computed(graph, run, input, depth - 1)).collect();
    let op = step.op();
    format!("{}({})", op.split('.').nth(1).unwrap_or(&op), of.join(", "))
}

fn inputs(step: &Step) -> Vec<ValueId> {
    let mut found = Vec::new();
    for input in &step.reached().inputs {
        input.arg.for_each_value(&mut |value| found.push(value));
    }
    found
}

/// The one value that an assertion, or all of them together, leave a symbol.
fn only_value(run: &Run, symbol: Symbol, condition: Expr) -> Option<Int> {
    let pool = &run.env.pool;
    if let Some((Func::IsZero, &[difference])) = pool.as_call(condition) {
        let poly = pool.poly(difference);
        if let [(monomial, factor)] = poly.terms.as_slice()
            && pool.as_symbol(*monomial) == Some(symbol)
            && poly.constant.is_multiple_of(factor)
        {
            return (-&poly.constant).floor_div(factor);
        }
    }
    let range = run.env.known_facts().range(symbol)?;
    let low = range.lower()?;
    (range.upper()? == low).then_some(low)
}
