//! What a report says of sizes.
use super::Sizing;
use super::at::{at_text, value_in};
use super::values::{MAX_REPLAYED, ValueBounds};
use serde_json::Value as Json;
use sizewise_check::report::{CostReport, Figure, ValueCost, int_json};
use sizewise_expr::{Evaluator, Expr, Int};

/// The values that are named.
const MAX_VALUES: usize = 5;
/// Longer expressions are left out.
const MAX_SHOWN: usize = 300;
/// The sums of a peak that are bounded.
const MAX_SUMS: usize = 8;

impl Sizing<'_> {
    /// What a run takes, for a report.
    pub fn report(&mut self) -> CostReport {
        let mut reasons = self.reasons.clone();
        reasons.extend(self.memory.reasons.iter().filter(|reason| !self.reasons.contains(reason)).cloned());
        let (flops, made) = (self.memory.flops, self.memory.made);
        CostReport {
            flops: self.figure(flops.as_slice()),
            activation_bytes: self.figure(made.as_slice()),
            peak_bytes: self.figure(&self.memory.peak.clone()),
            values: self.largest(),
            reasons,
        }
    }

    /// The greatest of some expressions.
    fn figure(&mut self, all: &[Expr]) -> Figure {
        let shown = match all {
            [one] => self.shown(*one),
            several => {
                let several: Vec<String> = several.iter().map(|&e| self.shown(e)).collect();
                format!("max({})", several.join(", "))
            }
        };
        let max: Option<Vec<Int>> = match all.len() {
            1..=MAX_SUMS => all.iter().map(|&e| self.ends(e).max.value.clone()).collect(),
            _ => None,
        };
        let max = max.and_then(|values| values.into_iter().max());
        let expr = Some(shown).filter(|shown| !all.is_empty() && shown.len() <= MAX_SHOWN);
        Figure { expr, max: max.as_ref().map(int_json) }
    }

    /// The values that get largest: those that are at the greatest sizes that are known to be allowed.
    fn largest(&mut self) -> Vec<ValueCost> {
        let Some(at) = self.starts().last().cloned() else { return Vec::new() };
        let mut known = Evaluator::new(&self.env.pool, |symbol| value_in(&at, symbol));
        let mut order: Vec<(Int, usize)> = Vec::new();
        for (place, value) in self.values.iter().enumerate() {
            let sizes: Option<Vec<Int>> = value.sizes.iter().map(|&size| known.int(size).ok()).collect();
            let Some(sizes) = sizes else { continue };
            order.push((sizes.iter().fold(Int::from(value.item), |bytes, size| &bytes * size), place));
        }
        order.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
        let largest: Vec<_> =
            order.into_iter().take(MAX_VALUES).map(|(_, place)| self.values[place].clone()).collect();
        largest
            .into_iter()
            .map(|value| {
                let bounds = self.bounds_of(value, MAX_REPLAYED);
                self.value_cost(bounds)
            })
            .collect()
    }

    fn value_cost(&mut self, bounds: ValueBounds) -> ValueCost {
        let ValueBounds { value, elements, .. } = bounds;
        let item = self.env.pool.int(value.item);
        let bytes = self.env.pool.product(value.sizes.iter().copied().chain([item]));
        let max: Option<Json> =
            elements.max.value.as_ref().map(|most| int_json(&(most * &Int::from(value.item))));
        let shown = Some(self.shown(bytes)).filter(|shown| shown.len() <= MAX_SHOWN);
        ValueCost {
            shape: value.sizes.iter().map(|&size| self.shown(size)).collect(),
            bytes: Figure { expr: shown, max },
            at: elements.max.at.and_then(|at| self.at(at)).map(|at| at_text(&at)),
            value: value.name,
            dtype: value.dtype,
        }
    }
}
