//! Models that run at no size: a node refuses operands whose sizes the file has as numbers.
use super::Check;
use crate::walk::Step;
use sizewise_env::GuardKind;

impl Check<'_> {
    /// Notes a node that refuses its operands whatever the sizes of the inputs are: what it refuses is no condition on sizes,
    /// and neither sizes nor data choose whether it runs.
    pub(super) fn runs_nowhere(&mut self) {
        let report = &self.report;
        let chooses = self.walk.steps.iter().any(Step::has_graphs)
            || self.walk.env.guards().iter().any(|guard| guard.kind == GuardKind::Branch)
            || !(report.by_example.is_empty() && self.wide.is_empty());
        if chooses || report.works.is_some() {
            return;
        }
        let mut broken = report.violations.iter().filter(|violation| violation.data.is_none());
        let refuses = broken.find(|violation| violation.condition.expr == "False");
        self.report.runs_nowhere =
            refuses.map(|violation| (violation.condition.node.clone(), violation.message.clone()));
    }
}
