//! Facts in a pool that has taken the place of another.
use super::facts::{Consistency, Facts};
use super::verdict::Premise;
use sizewise_expr::{Expr, Moved, Pool};

impl Facts {
    /// Calls `visit` with the expressions that are part of what was assumed: what a pool must keep for
    /// [`Facts::moved`].
    pub fn each_assumed(&self, visit: &mut dyn FnMut(Expr)) {
        let required = self.required();
        let assumed = self.conditions().iter().chain(&required.nonzero).chain(&required.defined);
        assumed.for_each(|&e| visit(e));
        if let Consistency::Inconsistent(because) = &self.consistency {
            because.iter().filter_map(divisor).for_each(visit);
        }
    }

    /// The same facts about the expressions of another pool, in which nothing is derived so far. Of the answers to
    /// earlier questions, those about expressions that were moved are known there.
    pub fn moved(&self, pool: &mut Pool, moved: &Moved) -> Facts {
        let mut facts = self.without_facts();
        for (symbol, ..) in self.ranges() {
            if let Some(range) = self.range(symbol) {
                facts.declare(pool, symbol, range.clone());
            }
        }
        for (symbol, hint) in &self.hints {
            facts.hint(*symbol, hint.clone());
        }
        for (symbol, hint) in self.example.floats() {
            facts.hint_float(symbol, hint);
        }
        for divisor in self.required().nonzero.iter().filter_map(|e| moved.get(*e)) {
            facts.exclude_zero(pool, divisor);
        }
        for operation in self.required().defined.iter().filter_map(|e| moved.get(*e)) {
            facts.require_value(pool, operation);
        }
        for condition in self.conditions().iter().filter_map(|e| moved.get(*e)) {
            facts.assume(pool, condition);
        }
        facts.store.take_answers(pool, &self.store, moved);
        if let Some(model) = self.model().filter(|_| !self.is_divided()) {
            facts.remember(model);
        }
        if let Consistency::Inconsistent(because) = &self.consistency {
            let because = because.iter().map(|premise| match divisor(premise).and_then(|e| moved.get(e)) {
                Some(divisor) => Premise::Nonzero(divisor),
                None => *premise,
            });
            facts.consistency = Consistency::Inconsistent(because.collect());
        }
        facts
    }
}

fn divisor(premise: &Premise) -> Option<Expr> {
    match premise {
        Premise::Nonzero(divisor) => Some(*divisor),
        _ => None,
    }
}
