//! What is not known before the model runs: results of nodes, and conditions that the values of inputs decide.
use super::{AssertReport, Check, DATA_DECIDE, GuardReport, Outcome, UnsupportedReport};
use crate::check::run_time::sentences;
use crate::check::sources::{CHANCE_DECIDES, Decides, SIZES_DECIDE, Sources};
use rustc_hash::{FxHashMap, FxHashSet};
use sizewise_expr::Symbol;
use sizewise_expr::text::print;
use sizewise_onnx_model::walk::NOT_FOLLOWED;

/// Of more conditions, it is not found out what decides them.
const MAX_TRACED: usize = 200;

impl Check<'_> {
    /// Notes the conditions that the values of inputs decide.
    pub(super) fn run_time(&mut self) {
        let pool = &self.walk.env.pool;
        let shown = |e| self.symbolic.shown(pool, e);
        let sources = Sources::new(self.model);
        let (mut found, mut undecided, mut traced) = (Vec::new(), Vec::new(), 0);
        for (step, left, sentence) in sentences(&self.walk, shown) {
            let guard = self.guard(step, sentence, left.clause.code);
            let left = self.walk.steps.get(step).map(|at| (*at, left));
            traced += 1;
            let left = left.filter(|_| traced <= MAX_TRACED);
            match left.map_or(Decides::Unknown, |(step, left)| sources.of_condition(step, left)) {
                Decides::Inputs(inputs) => found.push((guard, inputs)),
                Decides::Unknown => found.push((guard, Vec::new())),
                Decides::Sizes => undecided.push((guard, SIZES_DECIDE)),
                Decides::Chance => undecided.push((guard, CHANCE_DECIDES)),
            }
        }
        let report = |(guard, inputs): (GuardReport, Vec<String>)| {
            let (op, clause) = (guard.op.unwrap_or_default(), guard.clause.unwrap_or_default());
            AssertReport {
                after_node: guard.node.unwrap_or_default(),
                message: format!("{op} needs it ({clause})"),
                op: Some(op),
                expr: guard.shown,
                check: String::new(),
                inputs,
            }
        };
        self.run_time = found.into_iter().map(report).collect();
        for (guard, reason) in undecided {
            self.leave_open(guard, reason);
        }
    }

    /// What is not known keeps a model from being right for sure.
    pub(super) fn open(&mut self) {
        let unknown = std::mem::take(&mut self.walk.unknown);
        let of_sizes: FxHashSet<usize> = unknown
            .iter()
            .filter(|(_, reason)| reason.ends_with(NOT_FOLLOWED))
            .map(|(step, _)| *step)
            .collect();
        for (step, reason) in unknown {
            let step = self.walk.steps.get(step);
            let (node, op) = step.map_or_else(Default::default, |step| (step.node().to_owned(), step.op()));
            let reason = crate::check::evaluate::without_operator(&reason, &op).to_owned();
            self.unsupported.push(UnsupportedReport { node, op, reason, stack: Vec::new() });
            self.lower(Outcome::Unknown);
        }
        if self.walk.env.runtime_asserts().is_empty() {
            return;
        }
        let places = self.places_of_data();
        for assert in self.walk.env.runtime_asserts().to_vec() {
            let guard = self.guard_on(assert.origin.0 as usize, assert.condition, assert.clause.name());
            let pool = &self.walk.env.pool;
            let name = |symbol| match places.get(&symbol) {
                Some(place) => place.clone(),
                None => self.symbolic.shown_name(pool, symbol),
            };
            let guard = GuardReport { shown: print::python(pool, assert.condition, &name), ..guard };
            let is_of_sizes = of_sizes.contains(&(assert.origin.0 as usize));
            self.leave_open(guard, if is_of_sizes { SIZES_DECIDE } else { DATA_DECIDE });
        }
    }

    /// Where the sizes stand first that data decide: `nonzero.shape[1]`.
    fn places_of_data(&self) -> FxHashMap<Symbol, String> {
        let mut places = FxHashMap::default();
        for (name, number) in self.model.all_values() {
            let value = self.walk.values.get(number).and_then(Option::as_ref);
            let tensor = value.and_then(|value| value.tensor());
            let sizes = tensor.and_then(|tensor| tensor.shape.as_ref());
            for (dim, &size) in sizes.into_iter().flatten().enumerate() {
                if let Some(symbol) = self.walk.env.pool.as_symbol(size)
                    && self.symbolic.position(symbol).is_none()
                {
                    places.entry(symbol).or_insert_with(|| format!("{name}.shape[{dim}]"));
                }
            }
        }
        places
    }
}
