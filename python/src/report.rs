//! Reports, rendered when they are asked for.
use pyo3::prelude::*;
use sizewise::onnx::subject::Subject;
use sizewise::report::{self, ReportForm, Style};
use std::sync::Arc;

/// A report, and what it is about.
#[pyclass(module = "sizewise._native", frozen)]
pub struct Report {
    report: report::Report,
    subject: Arc<Subject>,
}

impl Report {
    /// A report of a check.
    pub fn new(report: report::Report, subject: Arc<Subject>) -> Report {
        Report { report, subject }
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
            self.subject.render(&self.report, form, style).ok()
        })
    }
}
