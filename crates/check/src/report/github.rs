//! The report as GitHub workflow commands, which GitHub shows beside the lines of a change.
use super::findings::findings;
use super::model::Report;
use sizewise_expr::escape::{command_data, command_property};
use std::fmt::Write;

/// The report as workflow commands, one a line.
pub fn to_github(report: &Report) -> String {
    let mut out = String::new();
    for finding in findings(report) {
        let command = if finding.rule.level == "note" { "notice" } else { finding.rule.level };
        let (file, line) = match &finding.location {
            Some((file, line)) => (file.as_str(), Some(*line)),
            None => (report.program.path.as_str(), None),
        };
        let line = line.map(|line| format!(",line={line}")).unwrap_or_default();
        let node = finding.node.as_ref().map(|node| format!(" (node {node})")).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "::{command} file={}{line},title={}::{}",
            command_property(file),
            command_property(&format!("sizewise {}", finding.rule.id)),
            command_data(&format!("{}{node}", finding.message))
        );
    }
    out
}
