//! Reports, rendered when they are asked for.
use pyo3::prelude::*;
use sizewise::check::{Checker, outline};
use sizewise::report::{self, Style, to_github, to_html, to_json, to_sarif, to_text, to_torch};
use std::sync::Arc;

/// A report, and the program that it is about.
#[pyclass(module = "sizewise._native", frozen)]
pub struct Report {
    report: report::Report,
    checker: Arc<Checker>,
}

impl Report {
    /// A report of a check.
    pub fn new(report: report::Report, checker: Arc<Checker>) -> Report {
        Report { report, checker }
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
                "html" => to_html(&self.report, &outline(self.checker.program())),
                "sarif" => to_sarif(&self.report),
                "github" => to_github(&self.report),
                "torch" => to_torch(&self.report),
                _ => return None,
            })
        })
    }
}
