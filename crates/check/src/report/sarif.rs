//! The report as SARIF 2.1.0 (OASIS standard), which code scanning reads.
use super::counted::Findings;
use super::findings::Finding;
use super::identity::{FINGERPRINT, fingerprint, program_uri, uri};
use super::model::{Frame, Outcome, Report, Tool};
use super::rules::RULES;
use rustc_hash::FxHashMap;
use serde_json::{Value as Json, json};
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
        let (artifact, results) = (sarif_artifact(report), sarif_results(&Findings::of(report), Some(0)));
        let mut run = run(&report.tool, report.verdict != Outcome::Invalid);
        run["artifacts"] = json!([artifact]);
        run["results"] = json!(results);
        runs.push((program_uri(&report.program.path), run));
    }
    if runs.len() > 1 {
        runs.iter_mut()
            .for_each(|(program, run)| run["automationDetails"] = json!({"id": format!("{program}/")}));
    }
    let log = log(&runs.into_iter().map(|(_, run)| run).collect::<Vec<_>>());
    let mut text = json_text(serde_json::to_string_pretty(&log).unwrap_or_default());
    text.push('\n');
    text
}

/// A log with one run of many programs, without its artifacts and results: what stands before them, between them and
/// after them.
pub fn sarif_frame(tool: &Tool, is_successful: bool) -> [String; 3] {
    let mut run = run(tool, is_successful);
    run["artifacts"] = json!([]);
    run["results"] = json!([]);
    let text = json_text(serde_json::to_string(&log(&[run])).unwrap_or_default());
    let (start, rest) = text.split_once("\"artifacts\":[").unwrap_or_default();
    let (between, end) = rest.split_once("\"results\":[").unwrap_or_default();
    [format!("{start}\"artifacts\":["), format!("{between}\"results\":["), format!("{end}\n")]
}

fn log(runs: &[Json]) -> Json {
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": runs,
    })
}

/// A run without its artifacts and results.
fn run(tool: &Tool, is_successful: bool) -> Json {
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
    json!({
        "tool": {"driver": {
            "name": tool.name,
            "version": tool.version,
            "semanticVersion": tool.version,
            "rules": rules,
        }},
        "columnKind": "unicodeCodePoints",
        "artifacts": [],
        "invocations": [{"executionSuccessful": is_successful}],
        "results": [],
    })
}

/// The program as an artifact of a run.
pub fn sarif_artifact(report: &Report) -> Json {
    let mut artifact = json!({"location": {"uri": program_uri(&report.program.path)}});
    // Of a file that could not be read there is none.
    if !report.program.sha256.is_empty() {
        artifact["hashes"] = json!({"sha-256": report.program.sha256});
    }
    artifact
}

/// Findings as results of a run in which the program is the artifact at `index`, if that is known.
pub fn sarif_results(findings: &Findings, index: Option<usize>) -> Vec<Json> {
    let program = program_uri(&findings.report.program.path);
    let mut seen = FxHashMap::default();
    let one = |finding: &Finding| {
        let mut result = result(finding, &program, index);
        result["partialFingerprints"] = json!({FINGERPRINT: fingerprint(finding, &program, &mut seen)});
        result
    };
    findings.list.iter().map(one).collect()
}

fn result(finding: &Finding, program: &str, artifact: Option<usize>) -> Json {
    let index = RULES.iter().position(|rule| *rule == finding.rule);
    let mut location = match finding.line {
        Some(frame) => place(frame),
        None => match artifact {
            Some(index) => {
                json!({"physicalLocation": {"artifactLocation": {"uri": program, "index": index}}})
            }
            None => json!({"physicalLocation": {"artifactLocation": {"uri": program}}}),
        },
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

/// A message without links, which SARIF writes as `[text](target)`.
fn plain(message: &str) -> String {
    visible(message).replace("](", "] (")
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn messages_hold_no_links() {
        assert_eq!(plain("[click](http://x) [2, 3]\n"), "[click] (http://x) [2, 3]\\n");
    }
}
