//! What a run takes, in reports.
use crate::subject::Subject;
use sizewise_check::report::Report;
use sizewise_check::spec::Spec;
use sizewise_kernels::Operators;

impl Subject {
    /// Adds to a report what a run takes, under the spec of the check. Where that has no answer, nothing is added.
    pub fn add_costs(&self, report: &mut Report, spec: Option<&Spec>, operators: &Operators) {
        report.costs = self.sizing(spec, operators).ok().map(|mut sizing| sizing.report());
    }
}
