//! The conditions that the values of inputs decide when the model runs.
use super::Check;
use crate::check::Verdict;
use crate::check::findings::LeftToRunTime;
use crate::check::run_time::sentences;
use crate::check::sources::{CHANCE_DECIDES, Decides, SIZES_DECIDE, Sources};
use sizewise_expr::Expr;

/// Of more conditions, it is not found out what decides them.
const MAX_TRACED: usize = 200;

impl Check<'_> {
    /// Notes the conditions that the values of inputs decide.
    pub(super) fn run_time(&mut self) {
        let pool = &self.walk.env.pool;
        let shown = |e: Expr| {
            sizewise_expr::text::print::python(pool, e, &|symbol| self.symbolic.shown_name(pool, symbol))
        };
        let sources = Sources::new(self.model);
        let (mut found, mut undecided, mut traced) = (Vec::new(), Vec::new(), 0);
        for (step, left, sentence) in sentences(&self.walk, shown) {
            let condition = self.condition(step, sentence, left.clause.to_owned());
            let left = self.walk.steps.get(step).map(|at| (*at, left));
            traced += 1;
            let left = left.filter(|_| traced <= MAX_TRACED);
            match left.map_or(Decides::Unknown, |(step, left)| sources.of_condition(step, left)) {
                Decides::Inputs(inputs) => found.push(LeftToRunTime { condition, inputs }),
                Decides::Unknown => found.push(LeftToRunTime { condition, inputs: Vec::new() }),
                Decides::Sizes => undecided.push((condition, SIZES_DECIDE)),
                Decides::Chance => undecided.push((condition, CHANCE_DECIDES)),
            }
        }
        self.report.run_time = found;
        for (condition, reason) in undecided {
            self.report.undecided.push((condition, reason.to_owned()));
            self.lower(Verdict::Unknown);
        }
    }
}
