//! The report as SARIF 2.1.0 (OASIS standard), which code scanning reads.
use super::findings::{Finding, findings};
use super::model::{Frame, Outcome, Report};
use super::rules::RULES;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};
use sizewise_expr::escape::{json_text, visible};

/// The report as SARIF, ending in a line break.
pub fn to_sarif(report: &Report) -> String {
    to_sarif_of([report])
}

/// Reports as one SARIF log, a run each, ending in a line break. Where there are several, their runs are told
/// apart by the program.
pub fn to_sarif_of<'r>(reports: impl IntoIterator<Item = &'r Report>) -> String {
    let mut runs: Vec<(String, Json)> = Vec::new();
    for report in reports {
        runs.push((uri(&report.program.path), run(report)));
    }
    if runs.len() > 1 {
        runs.iter_mut()
            .for_each(|(program, run)| run["automationDetails"] = json!({"id": format!("{program}/")}));
    }
    let runs: Vec<Json> = runs.into_iter().map(|(_, run)| run).collect();
    let log = json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    });
    let mut text = json_text(serde_json::to_string_pretty(&log).unwrap_or_default());
    text.push('\n');
    text
}

/// A report as a run.
fn run(report: &Report) -> Json {
    let rules: Vec<Json> = RULES
        .iter()
        .map(|rule| {
            json!({
                "id": rule.id,
                "shortDescription": {"text": rule.meaning},
                "fullDescription": {"text": rule.meaning},
                "help": {"text": rule.long_help()},
                "defaultConfiguration": {"level": rule.level},
            })
        })
        .collect();
    let program = uri(&report.program.path);
    let mut seen = FxHashMap::default();
    let results: Vec<Json> = findings(report)
        .iter()
        .map(|finding| {
            let mut result = result(finding, &program);
            result["partialFingerprints"] = json!({FINGERPRINT: fingerprint(finding, &program, &mut seen)});
            result
        })
        .collect();
    json!({
        "tool": {"driver": {
            "name": report.tool.name,
            "version": report.tool.version,
            "semanticVersion": report.tool.version,
            "rules": rules,
        }},
        "columnKind": "unicodeCodePoints",
        "artifacts": [{
            "location": {"uri": program},
            "hashes": {"sha-256": report.program.sha256},
        }],
        "invocations": [{"executionSuccessful": report.verdict != Outcome::Invalid}],
        "results": results,
    })
}

fn result(finding: &Finding, program: &str) -> Json {
    let index = RULES.iter().position(|rule| *rule == finding.rule);
    let mut location = match finding.line {
        Some(frame) => place(frame),
        None => json!({"physicalLocation": {"artifactLocation": {"uri": program, "index": 0}}}),
    };
    if let Some(node) = finding.node {
        location["logicalLocations"] = json!([{"name": node, "kind": "member"}]);
    }
    let mut result = json!({
        "ruleId": finding.rule.id,
        "ruleIndex": index,
        "level": finding.rule.level,
        "message": {"text": plain(&finding.sentences.join(" "))},
        "locations": [location],
    });
    let related: Vec<Json> = finding
        .calls
        .iter()
        .enumerate()
        .map(|(id, (frame, says))| {
            let mut related = place(frame);
            related["id"] = json!(id);
            related["message"] = json!({"text": plain(&says_of(frame, says))});
            related
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = Json::Array(related);
    }
    result
}

/// `called from this line, in forward`.
fn says_of(frame: &Frame, says: &str) -> String {
    if frame.function.is_empty() { says.to_string() } else { format!("{says}, in {}", frame.function) }
}

/// A line of source as a location, with its text.
fn place(frame: &Frame) -> Json {
    let mut region = json!({"startLine": frame.line});
    if !frame.code.is_empty() {
        region["snippet"] = json!({"text": visible(&frame.code)});
    }
    json!({"physicalLocation": {"artifactLocation": {"uri": uri(&frame.file)}, "region": region}})
}

/// The name and version of what [`fingerprint`] computes.
const FINGERPRINT: &str = "sizewiseFinding/v1";

/// What tells a finding from others and stays the same where lines move: its kind, the program, what it speaks of, and
/// the file, the function and the text of its line. Those that agree in all that are counted.
fn fingerprint(finding: &Finding, program: &str, seen: &mut FxHashMap<Vec<u8>, u32>) -> String {
    let mut hash = Sha256::new();
    let line = finding.line.map(|frame| [&frame.file, &frame.function, &frame.code]);
    for part in
        [finding.rule.id, program, &finding.about].into_iter().chain(line.into_iter().flatten().map(|s| &**s))
    {
        // Each part with its length, so that no two lists of parts give the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let bytes = hash.finalize().to_vec();
    let hexadecimal = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
    let count = seen.entry(bytes).and_modify(|count| *count += 1).or_insert(1);
    format!("{hexadecimal}:{count}")
}

/// A message without links, which SARIF writes as `[text](target)`.
fn plain(message: &str) -> String {
    visible(message).replace("](", "] (")
}

/// A path as a URI reference (RFC 3986): what may not stand in one is percent-encoded.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    // A first segment with a colon would be read as a scheme.
    if !path.starts_with('/') && path.split('/').next().is_some_and(|first| first.contains(':')) {
        out.push_str("./");
    }
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'@' => {
                out.push(char::from(byte));
            }
            b'\\' => out.push('/'),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{plain, uri};

    #[test]
    fn messages_hold_no_links() {
        assert_eq!(plain("[click](http://x) [2, 3]\n"), "[click] (http://x) [2, 3]\\n");
    }

    #[test]
    fn paths_become_uri_references() {
        for (path, expected) in [
            ("model.py", "model.py"),
            ("a b/ü.py", "a%20b/%C3%BC.py"),
            ("c:\\x.py", "./c:/x.py"),
            ("/tmp/x#1?.pt2", "/tmp/x%231%3F.pt2"),
        ] {
            assert_eq!(uri(path), expected);
        }
    }
}
