//! The conditions that the values of inputs decide when the model runs.
use super::Check;
use crate::check::Verdict;
use crate::check::findings::LeftToRunTime;
use crate::check::run_time::sentences;
use crate::check::sources::{Decides, SIZES_DECIDE, Sources};
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
        let (mut found, mut of_sizes, mut traced) = (Vec::new(), Vec::new(), 0);
        for (step, clause, sentence) in sentences(&self.walk, shown) {
            let condition = self.condition(step, sentence, clause.to_owned());
            let value = self.walk.run_time.iter().find(|(at, left)| *at == step && left.clause == clause);
            let value = value.and_then(|(_, left)| Some(self.walk.steps.get(step)?.input(left.input)));
            traced += 1;
            let decides = value.filter(|_| traced <= MAX_TRACED).map_or(Decides::Unknown, |v| sources.of(v));
            match decides {
                Decides::Inputs(inputs) => found.push(LeftToRunTime { condition, inputs }),
                Decides::Unknown => found.push(LeftToRunTime { condition, inputs: Vec::new() }),
                Decides::Sizes => {
                    let of = self.walk.steps.get(step).map(|step| sources.sequences(step.input(0)));
                    match of.filter(|of| !of.is_empty()) {
                        Some(inputs) => found.push(LeftToRunTime { condition, inputs }),
                        None => of_sizes.push(condition),
                    }
                }
            }
        }
        self.report.run_time = found;
        for condition in of_sizes {
            self.report.undecided.push((condition, SIZES_DECIDE.to_owned()));
            self.lower(Verdict::Unknown);
        }
    }
}
