//! The conditions that the values of inputs decide when the model runs.
use super::{AssertReport, Check, GuardReport};
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
            let guard = self.guard(step, sentence, left.clause);
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
}
