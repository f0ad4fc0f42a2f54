//! The report as GitHub workflow commands, which GitHub shows beside the lines of a change.
use super::findings::findings;
use super::model::Report;
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
            property(file),
            property(&format!("sizewise {}", finding.rule.id)),
            data(&format!("{}{node}", finding.message))
        );
    }
    out
}

/// A message: line breaks are encoded.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property: what separates properties is encoded as well.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::{data, property};

    #[test]
    fn what_commands_mean_by_is_encoded() {
        assert_eq!(data("100%\nof a, b: c"), "100%25%0Aof a, b: c");
        assert_eq!(property("a:b,c%"), "a%3Ab%2Cc%25");
    }
}
