//! Smaller sizes that show the same: nobody runs a model on 224 items of 257 to see that it fails.
use super::{Check, Given, MAX_FOLDED, Refused};
use crate::check::evaluate::{evaluate, evaluate_for_any_data};
use rustc_hash::FxHashMap;
use sizewise_expr::{Evaluator, Expr, Symbol, Value};

/// Sizes above this one are made smaller, to the first of these that shows the same.
const LARGE: i64 = 16;
const SMALL: &[i64] = &[3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 2, 1];
/// How often the model is evaluated for one size.
const MAX_TRIES: usize = 3;

impl Check<'_> {
    /// The values of symbols at sizes of inputs. `None` where these do not say all of them.
    pub(super) fn assigned(&self, sizes: &Given) -> Option<FxHashMap<Symbol, i64>> {
        let symbols = self.symbolic.symbols.iter();
        let of = |(symbol, named): &(Symbol, crate::check::Named)| {
            let (input, dim) = named.source.as_ref()?;
            Some((*symbol, *sizes.get(input)?.get(*dim)?))
        };
        let values: FxHashMap<Symbol, i64> = symbols.map(of).collect::<Option<_>>()?;
        let again = self.symbolic.at(|symbol| values.get(&symbol).copied())?;
        (again == *sizes).then_some(values)
    }

    /// Sizes with large ones made smaller one after the other, where conditions hold that held before, and `shows` says
    /// that these show the same.
    fn made_smaller<T>(
        &self,
        (sizes, tries): (&Given, &mut usize),
        broken: Option<Expr>,
        shows: impl Fn(&Self, &Given) -> Option<T>,
    ) -> Option<(Given, T)> {
        let mut values = self.assigned(sizes)?;
        let guards: Vec<Expr> = self.walk.env.guards().iter().map(|guard| guard.condition).collect();
        if guards.len() > MAX_FOLDED || values.values().all(|&value| value <= LARGE) {
            return None;
        }
        let holds = |check: &Self, condition: Expr, values: &FxHashMap<Symbol, i64>| {
            let number = |symbol| values.get(&symbol).map(|value| Value::Int((*value).into()));
            Evaluator::new(&check.symbolic.env.pool, number).truth(condition) == Ok(true)
        };
        let kept: Vec<Expr> = guards.into_iter().filter(|&guard| holds(self, guard, &values)).collect();
        let mut found = None;
        let symbols: Vec<Symbol> = self.symbolic.symbols.iter().map(|(symbol, _)| *symbol).collect();
        for symbol in symbols
            .into_iter()
            .filter(|symbol| values.get(symbol).is_some_and(|&v| v > LARGE))
            .collect::<Vec<_>>()
        {
            let mut tried = 0;
            for &size in SMALL {
                let mut next = values.clone();
                next.insert(symbol, size);
                let is_same = broken.is_none_or(|broken| !holds(self, broken, &next));
                if !is_same || !kept.iter().all(|&guard| holds(self, guard, &next)) {
                    continue;
                }
                let Some(sizes) = self.symbolic.at(|symbol| next.get(&symbol).copied()) else { continue };
                if tried == MAX_TRIES || *tries == 0 {
                    break;
                }
                tried += 1;
                *tries -= 1;
                if let Some(shown) = shows(self, &sizes) {
                    found = Some((sizes, shown));
                    values = next;
                    break;
                }
            }
        }
        found
    }

    /// Smaller sizes that the same node refuses with all data.
    pub(super) fn smaller_refused(
        &mut self,
        broken: Expr,
        sizes: &Given,
        node: Option<&String>,
    ) -> Option<(Given, Refused)> {
        let mut tries = self.tries;
        let found = self.made_smaller((sizes, &mut tries), Some(broken), |check, sizes| {
            let (refused, data) = check.refusal(sizes)?;
            (data.is_none() && refused.node.as_ref() == node).then_some(refused)
        });
        self.tries = tries;
        found
    }

    /// Smaller sizes that the model accepts, and that break a condition if there is one.
    pub(super) fn smaller_accepted(&self, sizes: &Given, broken: Option<Expr>) -> Option<Given> {
        let mut tries = self.tries;
        let found = self.made_smaller((sizes, &mut tries), broken, |check, sizes| {
            evaluate(check.model, sizes, &FxHashMap::default()).ok().map(drop)
        });
        found.map(|(sizes, ())| sizes)
    }

    /// Smaller sizes at which an output has another size than is expected.
    pub(super) fn smaller_wrong(
        &self,
        (at, dim): (usize, usize),
        expected: Expr,
        sizes: &Given,
    ) -> Option<Given> {
        let mut tries = self.tries;
        let found = self.made_smaller((sizes, &mut tries), None, |check, sizes| {
            let values = check.assigned(sizes)?;
            let made = evaluate_for_any_data(check.model, sizes).ok()?;
            let made = made.outputs.get(at)?.as_ref()?.get(dim)?.number()?;
            let stated = check.symbolic.value(expected, &|symbol| values.get(&symbol).copied())?;
            (made != stated).then_some(())
        });
        found.map(|(sizes, ())| sizes)
    }
}
