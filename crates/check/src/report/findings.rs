//! The findings of a report as a flat list, for formats that tools read.
use super::model::{GuardReport, GuardVerdict, Level, Report};
use indexmap::IndexMap;
use serde_json::Value as Json;

/// A kind of finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rule {
    /// The stable code.
    pub id: &'static str,
    /// How serious it is: `error`, `warning` or `note`, as SARIF calls them.
    pub level: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

pub(super) const NOT_IMPLIED: Rule = Rule {
    id: "guard-not-implied",
    level: "error",
    meaning: "Your spec allows shapes that break a condition of the program.",
};
pub(super) const MISMATCH: Rule = Rule {
    id: "shape-mismatch",
    level: "error",
    meaning: "A recorded shape is not what the operator gives.",
};
pub(super) const UNDECIDED: Rule =
    Rule { id: "guard-undecided", level: "warning", meaning: "A condition was neither proved nor refuted." };
pub(super) const UNSUPPORTED: Rule = Rule {
    id: "unsupported-operator",
    level: "warning",
    meaning: "An operator has no fake kernel; its recorded shapes are trusted.",
};
pub(super) const DIAGNOSTIC_ERROR: Rule = Rule {
    id: "program-or-spec",
    level: "error",
    meaning: "The program or the spec cannot be used as it is.",
};
pub(super) const DIAGNOSTIC_WARNING: Rule =
    Rule { id: "caveat", level: "warning", meaning: "The answer holds under a caveat." };
pub(super) const DIAGNOSTIC_NOTE: Rule =
    Rule { id: "remark", level: "note", meaning: "Something worth knowing." };

/// Every kind of finding.
pub(super) const RULES: [Rule; 7] =
    [NOT_IMPLIED, MISMATCH, UNDECIDED, UNSUPPORTED, DIAGNOSTIC_ERROR, DIAGNOSTIC_WARNING, DIAGNOSTIC_NOTE];

/// A finding.
pub(super) struct Finding {
    pub rule: Rule,
    pub message: String,
    pub node: Option<String>,
    /// The user's file and line.
    pub location: Option<(String, u32)>,
}

/// `model.py:14` as file and line.
fn file_and_line(location: Option<&String>) -> Option<(String, u32)> {
    let (file, line) = location?.rsplit_once(':')?;
    Some((file.to_string(), line.parse().ok().filter(|line| *line > 0)?))
}

/// The innermost line of the user's own code; where there is none, that of a library.
fn own_line(guard: &GuardReport) -> Option<(String, u32)> {
    let frame = guard.stack.iter().find(|frame| !frame.library).or(guard.stack.first())?;
    Some((frame.file.clone(), frame.line)).filter(|(_, line)| *line > 0)
}

/// Input shapes as `x: [2, 8], n = 3`.
fn shapes(inputs: &IndexMap<String, Json>) -> String {
    let part = |(name, shape): (&String, &Json)| match shape {
        Json::Array(sizes) => {
            let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
            format!("{name}: [{}]", sizes.join(", "))
        }
        value => format!("{name} = {value}"),
    };
    inputs.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The findings of a report, errors first.
pub(super) fn findings(report: &Report) -> Vec<Finding> {
    let mut out = Vec::new();
    let fix = report.fixes.first().map(|fix| {
        let proved = if fix.proved { ", proved" } else { "" };
        format!(" Fix{proved}: {}.", fix.text.lines().map(str::trim).collect::<Vec<_>>().join("; "))
    });
    for guard in &report.guards {
        let (rule, message) = match guard.verdict {
            GuardVerdict::Violated if !guard.follows => {
                let mut message = format!("Your spec allows shapes that break `{}`", guard.shown);
                if let Some(inputs) = &guard.inputs {
                    message += &format!(", such as {}", shapes(inputs));
                }
                message.push('.');
                if let Some(line) =
                    guard.location.as_ref().filter(|_| guard.stack.first().is_some_and(|f| f.library))
                {
                    message += &format!(" {line} needs it.");
                }
                message += fix.as_deref().unwrap_or_default();
                (NOT_IMPLIED, message)
            }
            GuardVerdict::Unknown => {
                let why = guard.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                (UNDECIDED, format!("`{}` is neither proved nor refuted{why}.", guard.shown))
            }
            _ => continue,
        };
        out.push(Finding { rule, message, node: guard.node.clone(), location: own_line(guard) });
    }
    for mismatch in &report.mismatches {
        let message = format!(
            "`{}` is recorded as {} but computed as {}.",
            mismatch.value, mismatch.recorded, mismatch.derived
        );
        out.push(Finding { rule: MISMATCH, message, node: Some(mismatch.node.clone()), location: None });
    }
    for item in &report.unsupported {
        let message = format!("`{}` is not checked: {}.", item.op, item.reason);
        out.push(Finding { rule: UNSUPPORTED, message, node: Some(item.node.clone()), location: None });
    }
    for diagnostic in &report.diagnostics {
        let rule = match diagnostic.level {
            Level::Error => DIAGNOSTIC_ERROR,
            Level::Warning => DIAGNOSTIC_WARNING,
            Level::Note => DIAGNOSTIC_NOTE,
        };
        out.push(Finding {
            rule,
            message: format!("{}: {}", diagnostic.code, diagnostic.message),
            node: diagnostic.node.clone(),
            location: file_and_line(diagnostic.location.as_ref()),
        });
    }
    let rank = |level: &str| ["error", "warning", "note"].iter().position(|l| *l == level);
    out.sort_by_key(|finding| rank(finding.rule.level));
    out
}
