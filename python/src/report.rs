//! Reports, rendered when they are asked for.
use pyo3::prelude::*;
use sizewise::kernels::Operators;
use sizewise::onnx::subject::Subject;
use sizewise::report::{self, ReportForm, Style};
use sizewise::spec::Spec;
use std::sync::Arc;

/// A report, and what it is about.
#[pyclass(module = "sizewise._native", frozen)]
pub struct Report {
    report: report::Report,
    subject: Arc<Subject>,
    /// What it was checked under.
    spec: Option<Spec>,
    operators: Operators,
}

impl Report {
    /// A report of a check.
    pub fn new(
        report: report::Report,
        subject: Arc<Subject>,
        spec: Option<Spec>,
        operators: Operators,
    ) -> Report {
        Report { report, subject, spec, operators }
    }
}

#[pymethods]
impl Report {
    /// The report in a form, by name; `colour` is text with colours. `None` if there is none of this name for it.
    fn render(&self, py: Python<'_>, format: &str) -> Option<String> {
        py.detach(|| {
            let style = Style { colour: format == "colour", ..Style::default() };
            let form: ReportForm = if style.colour { ReportForm::Text } else { format.parse().ok()? };
            if form == ReportForm::Text {
                // Times differ from run to run; JSON has them.
                let mut untimed = self.report.clone();
                untimed.timings.clear();
                return self.subject.render(&untimed, form, style).ok();
            }
            if form == ReportForm::Html {
                let mut priced = self.report.clone();
                self.subject.add_costs(&mut priced, self.spec.as_ref(), &self.operators);
                return self.subject.render(&priced, form, style).ok();
            }
            self.subject.render(&self.report, form, style).ok()
        })
    }
}
