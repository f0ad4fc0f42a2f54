//! The findings of a report that count: all but those that are known already, or that nobody asked for.
use super::codes::CODES;
use super::findings::{Finding, findings};
use super::model::{Outcome, Report};
use super::rules::{RULES, UNDECLARABLE};
use serde::{Deserialize, Serialize};

/// A finding by what stays the same where lines move.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// Its kind: `guard-not-implied/guard`.
    pub code: String,
    /// What it speaks of: a condition, a value, an operator or the code of a diagnostic.
    pub about: String,
    /// The function and the text of the line of code; empty where no line is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub line: String,
}

/// The codes by which findings are selected: those of diagnostics, and the kinds of findings.
pub fn known_codes() -> impl Iterator<Item = &'static str> {
    CODES.iter().map(|(code, _)| *code).chain(RULES.iter().map(|rule| rule.id))
}

/// Whether findings can have this code.
pub fn is_code(code: &str) -> bool {
    known_codes().any(|known| known == code)
}

/// Whether a code is of notes and warnings alone, and of no condition or record.
pub fn is_of_remarks(code: &str) -> bool {
    is_code(code) && RULES.iter().all(|rule| rule.code() != code)
}

impl Known {
    fn of(finding: &Finding) -> Known {
        let line = finding.line.map(|line| match line.function.as_str() {
            "" => line.code.clone(),
            function => format!("{function}: {}", line.code),
        });
        Known {
            code: finding.rule.id.to_owned(),
            about: finding.about.clone(),
            line: line.unwrap_or_default(),
        }
    }

    /// Whether this code is its own: that of a diagnostic, its kind, or the part of its kind before the `/`.
    pub fn has(&self, code: &str) -> bool {
        let is_kind = self.code == code || self.code.split('/').next() == Some(code);
        is_kind || (self.about == code && is_code(code))
    }
}

/// The findings of a report that count.
pub struct Findings<'r> {
    pub(super) report: &'r Report,
    pub(super) list: Vec<Finding<'r>>,
    dropped: usize,
}

impl<'r> Findings<'r> {
    /// All of a report.
    pub fn of(report: &'r Report) -> Findings<'r> {
        Findings { report, list: findings(report), dropped: 0 }
    }

    /// Keeps those that count.
    pub fn retain(&mut self, mut counts: impl FnMut(&Known) -> bool) {
        let before = self.list.len();
        self.list.retain(|finding| counts(&Known::of(finding)));
        self.dropped += before - self.list.len();
    }

    /// Leaves out remarks where all that they could go with is known.
    pub fn retain_remarks_beside_findings(&mut self) {
        if self.dropped > 0 && self.weighty().next().is_none() {
            self.list.clear();
        }
    }

    /// The findings that a verdict can rest on, by what tells them apart: no remarks.
    pub fn known(&self) -> Vec<Known> {
        let weighty = self.list.iter().filter(|finding| finding.rule.level != "note");
        weighty.map(Known::of).collect()
    }

    /// The verdict that they come to: that of the report if all count.
    pub fn verdict(&self) -> Outcome {
        let has = |level: &str| self.list.iter().any(|finding| finding.rule.level == level);
        match self.report.verdict {
            verdict if self.dropped == 0 => verdict,
            Outcome::Ok => Outcome::Ok,
            verdict @ (Outcome::Violated | Outcome::Invalid) if has("error") || self.has_undeclarable() => {
                verdict
            }
            _ if has("warning") => Outcome::Unknown,
            _ => Outcome::Ok,
        }
    }

    fn has_undeclarable(&self) -> bool {
        self.list.iter().any(|finding| *finding.rule == UNDECLARABLE)
    }

    /// The verdict but for bounds that an ONNX file cannot declare.
    pub fn verdict_on_declarable(&self) -> Outcome {
        let is_error = |finding: &Finding| finding.rule.level == "error";
        match self.verdict() {
            Outcome::Violated if self.has_undeclarable() && !self.list.iter().any(is_error) => {
                let others = self.weighty().any(|finding| *finding.rule != UNDECLARABLE);
                if others { Outcome::Unknown } else { Outcome::Ok }
            }
            verdict => verdict,
        }
    }

    /// What the first finding says, if it is no remark.
    pub fn first(&self) -> Option<String> {
        let finding = self.list.first().filter(|finding| finding.rule.level != "note")?;
        let place = finding.line.map(|line| format!(" ({}:{})", line.file, line.line)).unwrap_or_default();
        Some(format!("{}{place}", finding.sentences.first()?))
    }

    /// The sentences of those that a verdict can rest on, with their kinds.
    pub(super) fn weighty(&self) -> impl Iterator<Item = &Finding<'r>> {
        self.list.iter().filter(|finding| finding.rule.level != "note")
    }
}
