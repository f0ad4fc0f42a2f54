//! The report as GitHub workflow commands, which GitHub shows beside the lines of a change.
use super::counted::Findings;
use super::findings::Finding;
use super::model::Report;
use sizewise_expr::escape::{command_data, command_property};
use std::fmt::Write;

/// The most calls that a message lists.
const MAX_CALLS: usize = 4;

/// The report as workflow commands, one a line.
pub fn to_github(report: &Report) -> String {
    to_github_of(&Findings::of(report))
}

/// Findings as workflow commands, one a line.
pub fn to_github_of(findings: &Findings) -> String {
    let (report, mut out) = (findings.report, String::new());
    for finding in &findings.list {
        let command = if finding.rule.level == "note" { "notice" } else { finding.rule.level };
        let file = finding.line.map_or(report.program.path.as_str(), |line| line.file.as_str());
        let line = finding.line.map(|line| format!(",line={0},endLine={0}", line.line)).unwrap_or_default();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "::{command} file={}{line},title={}::{}",
            command_property(&file.replace('\\', "/")),
            command_property(&format!("sizewise {}", finding.rule.code())),
            message(finding)
        );
    }
    out
}

/// The sentences, a line each, and the calls on the way to the line.
fn message(finding: &Finding) -> String {
    let mut lines: Vec<String> = finding.sentences.clone();
    if let Some(code) = finding.line.map(|line| line.code.as_str()).filter(|code| !code.is_empty()) {
        lines.insert(1.min(lines.len()), format!("    {code}"));
    }
    for (frame, says) in finding.calls.iter().take(MAX_CALLS) {
        lines.push(format!("{}:{}, {says}", frame.file, frame.line));
    }
    if let Some(node) = finding.node {
        lines.push(format!("node {node}"));
    }
    let lines: Vec<String> = lines.iter().map(|line| command_data(line)).collect();
    // What GitHub reads as the end of a line.
    lines.join("%0A")
}
