//! The errors of a report as text: what is broken, the line that is responsible, an example, what to change.
use super::model::{Frame, GuardReport, GuardVerdict, MismatchReport, Report};
use super::origin::needed;
use super::style::Style;
use super::words::{has_word, allows, every_element, plural, settled_too, shapes, short, standing};
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_expr::escape::visible;
use std::borrow::Cow;
use std::fmt::Write;

/// Of more errors than this, the first is shown in full, then the fixes, then the others in short.
const MAX_IN_FULL: usize = 2;
/// The most errors that are shown in short.
const MAX_IN_SHORT: usize = 3;
/// Longer conditions are not among the first that are shown in short.
const MAX_READABLE: usize = 60;
/// Of more inputs, only those are shown that differ from the example.
const MAX_INPUTS: usize = 3;
/// The longest line of source that is shown whole, in characters.
const MAX_CODE: usize = 120;
/// The most callers that are named.
const MAX_CALLERS: usize = 3;

/// How many errors there are, and how many conditions follow from them.
pub(super) fn count(report: &Report) -> (usize, usize) {
    let (own, follow) = own_and_follow(report);
    (own.len() + report.mismatches.len(), follow.len())
}

/// The violated conditions: those that are errors of their own, and those that follow from them.
pub(super) fn own_and_follow(report: &Report) -> (Vec<&GuardReport>, Vec<&GuardReport>) {
    let violated = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated);
    let (mut follow, own): (Vec<&GuardReport>, Vec<_>) = violated.partition(|g| g.follows);
    follow.retain(|g| own.iter().all(|o| o.shown != g.shown));
    (own, follow)
}

/// Whether no error of an exported program can name a line, as the program has none.
pub(super) fn have_no_lines(report: &Report) -> bool {
    let is_violated = report.guards.iter().any(|guard| guard.verdict == GuardVerdict::Violated);
    let names_a_line = report.guards.iter().any(|guard| guard.location.is_some());
    report.program.onnx.is_none() && is_violated && !names_a_line
}

/// The errors, with fixes and advice.
pub(super) fn write(out: &mut String, report: &Report, style: Style) {
    let (own, follow) = own_and_follow(report);
    let in_full = if own.len() > MAX_IN_FULL { 1 } else { own.len() };
    for guard in &own[..in_full] {
        in_full_length(out, report, guard, style);
    }
    let many = own.len() > in_full;
    if many {
        fixes(out, report, style);
    }
    // Those that people can read first.
    let mut others = own[in_full..].to_vec();
    others.sort_by_key(|guard| guard.shown.len() > MAX_READABLE);
    for guard in others.into_iter().take(MAX_IN_SHORT) {
        title(out, report, guard, style);
        arrow(out, guard);
        example(out, report, guard, style);
    }
    let left = (own.len() - in_full).saturating_sub(MAX_IN_SHORT);
    if left > 0 {
        let _ = writeln!(
            out,
            "\n... and {} (all of them with --format json)",
            plural(left, "more error", "more errors")
        );
    }
    if !follow.is_empty() {
        let shown: Vec<Cow<str>> = follow.iter().take(3).map(|g| short(&g.shown)).collect();
        let more = if follow.len() > 3 { ", ..." } else { "" };
        let gap = if left > 0 { "" } else { "\n" };
        let too = settled_too(own.len(), follow.len());
        let _ = writeln!(out, "{gap}{too}: {}{more}", shown.join(", "));
    }
    for mismatch in report.mismatches.iter().take(MAX_IN_SHORT) {
        wrong_record(out, report, mismatch, style);
    }
    if report.mismatches.len() > MAX_IN_SHORT {
        let _ = writeln!(out, "\n... and {} more of these", report.mismatches.len() - MAX_IN_SHORT);
    }
    if !many {
        fixes(out, report, style);
    }
}

fn title(out: &mut String, report: &Report, guard: &GuardReport, style: Style) {
    let code = style.error("error[guard-not-implied]");
    let _ = writeln!(out, "\n{code}: {} shapes that break `{}`", allows(report), short(&guard.shown));
}

fn in_full_length(out: &mut String, report: &Report, guard: &GuardReport, style: Style) {
    title(out, report, guard, style);
    place(out, guard, style);
    example(out, report, guard, style);
    if let Some(consequence) = &guard.consequence {
        let _ = writeln!(out, "  then          {}", visible(consequence));
    }
    if let Some(works) = &guard.works {
        let (shown, _) = changed(report, guard, works);
        let with = guard.works_values.as_ref().map(every_element).unwrap_or_default();
        let _ = writeln!(out, "  works         {}{}", shapes(report, &shown), visible(&with));
    }
}

/// The line that is responsible, how the program comes to it, and what needs the condition.
pub(super) fn place(out: &mut String, guard: &GuardReport, style: Style) {
    arrow(out, guard);
    if let Some(code) = &guard.code {
        let _ = writeln!(out, "   |  {}", style.strong(&one_line(code)));
    }
    let (word, what) = needed(guard);
    let _ = writeln!(out, "  {word:<14}{}", visible(&what));
    callers(out, &guard.stack);
}

/// A line of source, cut to a readable length.
fn one_line(code: &str) -> String {
    match code.char_indices().nth(MAX_CODE) {
        Some((end, _)) => format!("{} ...", visible(&code[..end])),
        None => visible(code).into_owned(),
    }
}

/// `--> model.py:14, in forward (encoder.layers.0)`
fn arrow(out: &mut String, guard: &GuardReport) {
    let Some(first) = guard.stack.first() else {
        if let Some(location) = &guard.location {
            let _ = writeln!(out, "  --> {}", visible(location));
        }
        return;
    };
    let module = guard.module.as_ref().map(|module| format!(" ({})", visible(module))).unwrap_or_default();
    let _ = writeln!(out, "  --> {}{module}", frame(first));
}

/// `model.py:14, in forward`
fn frame(frame: &Frame) -> String {
    let function = if frame.function.is_empty() { String::new() } else { format!(", in {}", frame.function) };
    visible(&format!("{}:{}{function}", shown_file(&frame.file), frame.line)).into_owned()
}

/// A path relative to the packages' folder, or as it is if it is relative; else the name of the file.
fn shown_file(file: &str) -> &str {
    for folder in ["site-packages/", "dist-packages/"] {
        if let Some((_, below)) = file.split_once(folder) {
            return below;
        }
    }
    if file.starts_with('/') || file.contains('\\') {
        return file.rsplit(['/', '\\']).next().unwrap_or(file);
    }
    file
}

/// The user's own frames after the first; those of libraries are counted.
fn callers(out: &mut String, stack: &[Frame]) {
    let Some((_, callers)) = stack.split_first() else { return };
    let own: Vec<String> = callers.iter().filter(|f| !f.library).take(MAX_CALLERS).map(frame).collect();
    if own.is_empty() {
        return;
    }
    let library = callers.iter().filter(|f| f.library).count();
    let through = match library {
        0 => String::new(),
        n => format!(", through {}", plural(n, "call in a library", "calls in libraries")),
    };
    let _ = writeln!(out, "  called from   {}{through}", own.join("; "));
}

fn example(out: &mut String, report: &Report, guard: &GuardReport, style: Style) {
    if let Some(inputs) = &guard.inputs {
        let names = guard.witness.as_ref().map(|w| assignment(report, w)).unwrap_or_default();
        let (shown, rest) = changed(report, guard, inputs);
        // An ONNX model has no example: what is left out are inputs of sizes that it declares as numbers.
        let known = if report.program.onnx.is_some() { "declared" } else { "traced" };
        let rest = if rest { format!(", the others as {known}") } else { String::new() };
        let names = style.faint(&visible(&names));
        let _ = writeln!(out, "  for example   {}{rest}   {names}", shapes(report, &shown));
    }
}

/// Of many inputs those whose sizes differ from the example, and whether that leaves some out.
fn changed(
    report: &Report,
    guard: &GuardReport,
    inputs: &IndexMap<String, Json>,
) -> (IndexMap<String, Json>, bool) {
    let differs = |(name, value): (&String, &Json)| {
        let symbol = report.symbols.get(name)?;
        (symbol.hint.as_ref() != Some(value)).then(|| symbol.dim.as_ref().or(symbol.source.as_ref()))?
    };
    let names: Vec<&String> = guard.witness.iter().flatten().filter_map(differs).collect();
    let speaks =
        |size: &Json| size.as_str().is_some_and(|text| names.iter().any(|name| has_word(text, name)));
    let is_open = |size: &Json| report.program.onnx.is_some() && !size.is_number();
    let is_changed = |name: &String| {
        let input = report.inputs.iter().find(|input| input.name == *name);
        let shape = input.and_then(|input| input.shape.as_ref());
        shape.is_none_or(|shape| shape.iter().any(|size| is_open(size) || speaks(size)))
    };
    let kept: IndexMap<String, Json> =
        inputs.iter().filter(|(name, _)| is_changed(name)).map(|(n, v)| (n.clone(), v.clone())).collect();
    if inputs.len() <= MAX_INPUTS || kept.is_empty() || kept.len() == inputs.len() {
        return (inputs.clone(), false);
    }
    (kept, true)
}

/// The witness in the user's own names.
fn assignment(report: &Report, witness: &IndexMap<String, Json>) -> String {
    let own = |name: &String| {
        let symbol = report.symbols.get(name);
        symbol.and_then(|s| s.dim.clone().or_else(|| s.source.clone())).unwrap_or_else(|| name.clone())
    };
    let parts: Vec<String> = witness.iter().map(|(name, value)| format!("{} = {value}", own(name))).collect();
    parts.join(", ")
}

fn wrong_record(out: &mut String, report: &Report, mismatch: &MismatchReport, style: Style) {
    let code = style.error("error[shape-mismatch]");
    let (value, recorded, derived) =
        (visible(&mismatch.value), visible(&mismatch.recorded), visible(&mismatch.derived));
    let recorded_as = if report.program.onnx.is_some() { "declared" } else { "recorded" };
    let _ = writeln!(out, "\n{code}: `{value}` is {recorded_as} as {recorded} but computed as {derived}");
    let _ = writeln!(out, "  node {}", visible(&mismatch.node));
    if let Some(inputs) = &mismatch.inputs {
        let _ = writeln!(out, "  for inputs    {}", shapes(report, inputs));
    }
}

fn fixes(out: &mut String, report: &Report, style: Style) {
    if !report.fixes.is_empty() || !report.help.is_empty() {
        let _ = writeln!(out);
    }
    for (i, fix) in report.fixes.iter().enumerate() {
        let mut lines = fix.text.lines().map(visible);
        let name = style.good(&format!("fix {}", i + 1));
        let _ = writeln!(out, "{name}         {}", lines.next().unwrap_or_default());
        for line in lines {
            let _ = writeln!(out, "              {line}");
        }
        let state = standing(report, fix);
        match &fix.cost {
            Some(cost) => drop(writeln!(out, "              {state}; {}", visible(cost))),
            None => drop(writeln!(out, "              {state}")),
        }
        if let Some(note) = &fix.note {
            let _ = writeln!(out, "              {}", visible(note));
        }
    }
    for help in &report.help {
        let (word, text) =
            help.split_once(": ").filter(|(word, _)| *word == "no fix").unwrap_or(("help", help));
        let _ = writeln!(out, "{:<14}{}", style.good(word), visible(text));
    }
}
