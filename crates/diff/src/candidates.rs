//! Calls to try: the traced example, and sizes near it, at the ends of ranges, and small ones.
use super::form::Form;
use super::side::Side;
use indexmap::IndexSet;
use sizewise_check::check::Shapes;
use sizewise_expr::{Expr, Int, Symbol, Value as Number};
use sizewise_ir::Bounds;

/// The most calls whose conditions are evaluated.
const MAX_CANDIDATES: usize = 600;

/// Assignments of the symbols of one program.
pub(super) struct Candidates<'s, 'c> {
    from: &'s Side<'c>,
    assignments: Vec<Vec<(Symbol, Int)>>,
}

impl<'s, 'c> Candidates<'s, 'c> {
    /// The calls of the first of two programs.
    pub fn of(first: &'s Side<'c>, second: &Side) -> Candidates<'s, 'c> {
        let mut values: IndexSet<Int> = [2, 3, 1, 0, 4, 5, 7, 8, 16, 6, 9].map(Int::from).into();
        let ends = |bounds: &Bounds| [bounds.min, bounds.max].into_iter().flatten();
        for end in first.ranges.iter().chain(&second.ranges).flat_map(ends) {
            values.extend(
                [end.checked_sub(1), Some(end), end.checked_add(1)].into_iter().flatten().map(Int::from),
            );
        }
        let mut assignments: Vec<Vec<(Symbol, Int)>> = vec![Vec::new()];
        let symbols = first.input_symbols();
        for &symbol in &symbols {
            let Some(hint) = first.hints.get(&symbol).and_then(Number::as_int) else { continue };
            let near = [&hint + &Int::ONE, &hint - &Int::ONE, &hint + &hint];
            assignments.extend(near.into_iter().chain(values.iter().cloned()).map(|v| vec![(symbol, v)]));
        }
        for value in &values {
            assignments.push(symbols.iter().map(|&symbol| (symbol, value.clone())).collect());
        }
        assignments.truncate(MAX_CANDIDATES);
        Candidates { from: first, assignments }
    }

    /// The first of them.
    pub fn first(&self, most: usize) -> Vec<Shapes> {
        self.assignments.iter().filter_map(|at| self.from.shapes_with(at)).take(most).collect()
    }

    /// The first that satisfy the facts of the first program and break a condition of the other.
    pub fn breaking(&self, from: &Form, conditions: &[Expr], most: usize) -> Vec<Shapes> {
        let hints = &from.acceptance.hints;
        let is_breaking = |at: &&Vec<(Symbol, Int)>| {
            let value = |symbol: Symbol| match at.iter().find(|(s, _)| *s == symbol) {
                Some((_, value)) => Some(Number::Int(value.clone())),
                None => hints.get(&symbol).cloned(),
            };
            let holds = |&e: &Expr| from.pool.eval(e, value).is_ok_and(|v| v.as_bool());
            from.facts.conditions().iter().all(holds) && !conditions.iter().all(holds)
        };
        let breaking = self.assignments.iter().filter(is_breaking);
        breaking.filter_map(|at| self.from.shapes_with(at)).take(most).collect()
    }
}
