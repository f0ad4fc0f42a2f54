//! Reports, rendered when they are asked for.
use crate::program::Subject;
use pyo3::prelude::*;
use sizewise::check::outline;
use sizewise::report::{self, GraphView, Style, to_github, to_html, to_json, to_sarif, to_text, to_torch};

/// A report, and the program that it is about.
#[pyclass(module = "sizewise._native", frozen)]
pub struct Report {
    report: report::Report,
    subject: Subject,
}

impl Report {
    /// A report of a check.
    pub fn new(report: report::Report, subject: Subject) -> Report {
        Report { report, subject }
    }

    fn outline(&self) -> GraphView {
        match &self.subject {
            Subject::Exported(checker) => outline(checker.program()),
            Subject::Model(model) => model.outline(),
        }
    }
}

#[pymethods]
impl Report {
    /// The report in a format: `json`, `text`, `colour`, `html`, `sarif`, `github`, `torch`.
    fn render(&self, py: Python<'_>, format: &str) -> Option<String> {
        py.detach(|| {
            Some(match format {
                "json" => to_json(&self.report),
                "text" => to_text(&self.report, Style { colour: false }),
                "colour" => to_text(&self.report, Style { colour: true }),
                "html" => to_html(&self.report, &self.outline()),
                "sarif" => to_sarif(&self.report),
                "github" => to_github(&self.report),
                "torch" => to_torch(&self.report),
                _ => return None,
            })
        })
    }
}
