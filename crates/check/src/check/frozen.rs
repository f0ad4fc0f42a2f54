//! Numbers that data decide and of which the program takes one value only: read while the program was traced.
use super::examine::Examination;
use super::place;
use crate::propagate::Run;
use crate::report::{Diagnostic, Level};
use rustc_hash::FxHashSet;
use sizewise_expr::{Expr, Func, Int, Symbol};

impl Examination<'_, '_> {
    /// Warns of assertions that leave a number that data decide a single value.
    pub fn frozen_data(&mut self, run: &Run) {
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
                let name = run.env.pool.symbol_name(symbol);
                let message = format!(
                    "this program only runs where {name} == {value}: data decide {name}, and the trace kept the value \
                     that it had in the example, or the code asserts it; no spec can say so"
                );
                let mut warning = Diagnostic::new("frozen-data", Level::Warning, message);
                if let Some(step) = run.step(assert.origin) {
                    place::note(&mut warning, step);
                }
                self.report.diagnostics.push(warning);
            }
        }
    }
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
