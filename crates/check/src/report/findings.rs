//! The findings of a report as a flat list, for formats that tools read.
use super::errors::{broken, far, own_and_follow};
use super::model::{Frame, GuardReport, GuardVerdict, Outcome, Report};
use super::origin::needed;
use super::rules::{self, DIAGNOSTIC_NOTE, MISMATCH, Rule, UNDECIDED, UNSUPPORTED};
use super::words::{assumed, computed_as, every_element, fix_settles, plural, settled_too, shapes, standing};

/// The most conditions that a remark names.
const MAX_NAMED: usize = 3;

/// A finding.
pub(super) struct Finding<'r> {
    /// Its kind.
    pub rule: &'static Rule,
    /// What is wrong, an example, and what to do.
    pub sentences: Vec<String>,
    /// The node.
    pub node: Option<&'r str>,
    /// The innermost line of the user's own code; where there is none, that of a library.
    pub line: Option<&'r Frame>,
    /// The other calls on the way to the node, innermost first, and what each has to do with the line.
    pub calls: Vec<(&'r Frame, &'static str)>,
    /// What it speaks of: a condition, a value or an operator.
    pub about: String,
}

impl<'r> Finding<'r> {
    /// A finding at the lines of a stack.
    fn at(rule: &'static Rule, stack: &'r [Frame], about: &str) -> Finding<'r> {
        let own = stack.iter().position(|frame| !frame.library).unwrap_or(0);
        let line = stack.get(own).filter(|frame| frame.line > 0);
        let others = stack.iter().enumerate().filter(|(i, frame)| *i != own && frame.line > 0);
        let says = |i: usize| if i < own { "through this line" } else { "called from this line" };
        let calls = others.map(|(i, frame)| (frame, says(i))).collect();
        Finding { rule, sentences: Vec::new(), node: None, line, calls, about: about.to_string() }
    }

    fn saying(mut self, sentences: impl IntoIterator<Item = String>) -> Finding<'r> {
        self.sentences.extend(sentences);
        self
    }
}

/// The findings of a report, errors first.
pub(super) fn findings(report: &Report) -> Vec<Finding<'_>> {
    let (own, follow) = own_and_follow(report);
    let errors = own.len();
    let mut out: Vec<Finding> = own.into_iter().map(|guard| violated(report, guard)).collect();
    out.extend(folded(errors, &follow));
    out.extend(far(report).map(|says| {
        Finding::at(&DIAGNOSTIC_NOTE, &[], "sizes above 2^40").saying([format!("{}.", capital(&says))])
    }));
    out.extend(undecided(report));
    out.extend(left_to_run_time(report));
    let recorded = if report.program.onnx.is_some() { "declared" } else { "recorded" };
    for mismatch in &report.mismatches {
        let mut finding = Finding::at(&MISMATCH, &mismatch.stack, &mismatch.value);
        finding.node = Some(&mismatch.node);
        out.push(finding.saying([format!(
            "`{}` is {recorded} as {} but {} {}.",
            mismatch.value,
            mismatch.recorded,
            computed_as(mismatch),
            mismatch.derived
        )]));
    }
    for item in &report.unsupported {
        let mut finding = Finding::at(&UNSUPPORTED, &item.stack, &item.op);
        finding.node = Some(&item.node);
        let declare =
            report.program.onnx.is_none().then(|| "Declare it with --ops (docs/operators.md).".to_string());
        let unchecked = format!("`{}` is not checked: {}.", item.op, item.reason);
        out.push(finding.saying([unchecked]).saying(declare));
    }
    for diagnostic in &report.diagnostics {
        let mut finding =
            Finding::at(rules::diagnostic(diagnostic.level), &diagnostic.stack, &diagnostic.code);
        finding.node = diagnostic.node.as_deref();
        out.push(finding.saying([format!("{}: {}", diagnostic.code, diagnostic.message)]));
    }
    let rank = |level: &str| ["error", "warning", "note"].iter().position(|l| *l == level);
    out.sort_by_key(|finding| rank(finding.rule.level));
    out
}

/// A text that begins with a capital letter.
fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// A violated condition: what breaks it, what happens then, what needs it, what works and what to change.
fn violated<'r>(report: &'r Report, guard: &'r GuardReport) -> Finding<'r> {
    let mut finding = Finding::at(rules::violated(guard), &guard.stack, &guard.shown);
    finding.node = guard.node.as_deref();
    let example = guard
        .inputs
        .as_ref()
        .map(|inputs| format!(", such as {}", shapes(report, inputs)))
        .unwrap_or_default();
    let mut sentences = vec![format!("{}{example}.", capital(&broken(report, guard)))];
    if let Some(consequence) = &guard.consequence {
        sentences.push(format!("Then {consequence}."));
    }
    let (word, what) = needed(guard);
    sentences.push(format!("{} {what}.", capital(word)));
    if let Some(works) = &guard.works {
        let with = guard.works_values.as_ref().map(every_element).unwrap_or_default();
        sentences.push(format!("Shapes nearby that work: {}{with}.", shapes(report, works)));
    }
    if let Some(fix) = report.fixes.first() {
        let standing = standing(report, fix);
        let text = fix.text.lines().map(str::trim).collect::<Vec<_>>().join("; ");
        let cost = fix.cost.as_ref().map(|cost| format!(" ({cost})")).unwrap_or_default();
        let note = fix.note.as_ref().map(|note| format!(" {note}.")).unwrap_or_default();
        sentences.push(format!("Fix, {standing}: {text}{cost}.{note}"));
    }
    sentences.extend(report.help.iter().map(|help| match help.split_once(": ") {
        Some((word @ ("no fix" | "no spec"), why)) => format!("{}: {why}.", capital(word)),
        _ => format!("Help: {help}."),
    }));
    finding.saying(sentences)
}

/// The conditions that hold wherever those of the errors do.
fn folded<'r>(errors: usize, follow: &[&'r GuardReport]) -> Option<Finding<'r>> {
    if follow.is_empty() {
        return None;
    }
    let named: Vec<String> = follow.iter().take(MAX_NAMED).map(|g| format!("`{}`", g.shown)).collect();
    let more = if follow.len() > MAX_NAMED { ", ..." } else { "" };
    let text = format!("{}: {}{more}.", capital(&settled_too(errors, follow.len())), named.join(", "));
    Some(Finding::at(&DIAGNOSTIC_NOTE, &[], "follows").saying([text]))
}

/// What only running the program can check.
fn left_to_run_time(report: &Report) -> Option<Finding<'_>> {
    let n = match report.runtime_asserts.len() {
        0 => return None,
        n => plural(n, "condition is", "conditions are"),
    };
    let named = report.runtime_asserts.iter().take(MAX_NAMED);
    let named: Vec<String> = named
        .map(|a| match a.op {
            Some(_) => format!("{} ({})", a.expr, a.place()),
            None => format!("`{}` {}", a.expr, a.place()),
        })
        .collect();
    let more = if report.runtime_asserts.len() > MAX_NAMED { ", ..." } else { "" };
    let text = format!("{n} checked only at run time: {}{more}.", named.join(", "));
    Some(Finding::at(&DIAGNOSTIC_NOTE, &[], "run time").saying([text]))
}

/// The undecided conditions; where a fix settles them, one remark.
fn undecided(report: &Report) -> Vec<Finding<'_>> {
    let open = report.guards.iter().filter(|guard| guard.verdict == GuardVerdict::Unknown);
    if report.verdict == Outcome::Violated && fix_settles(report) {
        let n = match open.count() {
            0 => return Vec::new(),
            n => plural(n, "more condition is", "more conditions are"),
        };
        let text = format!("{n} undecided {}; with the fix they are proved.", assumed(report));
        return vec![Finding::at(&DIAGNOSTIC_NOTE, &[], "undecided").saying([text])];
    }
    open.map(open_condition).collect()
}

/// An undecided condition, and what would settle it.
fn open_condition(guard: &GuardReport) -> Finding<'_> {
    let mut finding = Finding::at(&UNDECIDED, &guard.stack, &guard.shown);
    finding.node = guard.node.as_deref();
    let why = match (&guard.settled_by, &guard.reason) {
        (Some(settled), _) => Some(format!("Suggestion: {settled}.")),
        (None, reason) => reason.as_ref().map(|reason| format!("Because {reason}.")),
    };
    finding.saying([format!("`{}` is neither proved nor refuted.", guard.shown)]).saying(why)
}
