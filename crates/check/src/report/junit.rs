//! Reports as JUnit XML, which CI systems show as tests: a test case a program.
use super::counted::Findings;
use super::model::{Outcome, Report};
use sizewise_expr::escape::html;
use std::fmt::Write;

/// The report as JUnit XML.
pub fn to_junit(report: &Report) -> String {
    to_junit_of(&[to_junit_case(&Findings::of(report), None, false)])
}

/// Findings as the test case of their program, with the seconds that it took: a failure if something is violated or
/// undecided, an error if it could not be checked. If it passes, what was found is its output.
pub fn to_junit_case(findings: &Findings, seconds: Option<f64>, passes: bool) -> String {
    let (path, verdict) = (&findings.report.program.path, findings.verdict());
    let time = seconds.map(|seconds| format!(" time=\"{seconds:.3}\"")).unwrap_or_default();
    let mut case = format!("    <testcase classname=\"sizewise\" name=\"{}\"{time}", html(path));
    let (element, kind) = match verdict {
        Outcome::Ok => return case + "/>\n",
        Outcome::Violated => ("failure", "violated"),
        Outcome::Unknown => ("failure", "unknown"),
        Outcome::Invalid => ("error", "invalid"),
    };
    if passes {
        let _ = write!(case, ">\n      <system-out>{}</system-out>\n    </testcase>\n", lines(findings));
        return case;
    }
    let first = findings.first().unwrap_or_else(|| kind.to_owned());
    let _ = write!(case, ">\n      <{element} type=\"{kind}\" message=\"{}\">", html(&first));
    let _ = write!(case, "{}</{element}>\n    </testcase>\n", lines(findings));
    case
}

/// The findings, a line each.
fn lines(findings: &Findings) -> String {
    let mut text = String::new();
    for finding in findings.weighty() {
        let _ = write!(text, "{}: {}", finding.rule.id, html(&finding.sentences.join(" ")));
        if let Some(line) = finding.line {
            let _ = write!(text, " ({}:{})", html(&line.file), line.line);
        }
        text.push('\n');
    }
    text
}

/// Test cases as one document.
pub fn to_junit_of(cases: &[String]) -> String {
    let count = |element: &str| {
        let start = format!("\n      <{element} ");
        cases.iter().filter(|case| case.contains(&start)).count()
    };
    let counts =
        format!("tests=\"{}\" failures=\"{}\" errors=\"{}\"", cases.len(), count("failure"), count("error"));
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sizewise\" {counts}>\n  <testsuite \
         name=\"sizewise\" {counts} skipped=\"0\">\n{}  </testsuite>\n</testsuites>\n",
        cases.concat()
    )
}
