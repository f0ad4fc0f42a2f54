//! The errors of a report as text: what is broken, the line that is responsible, an example, what to change.
use super::model::{
    Assumed, Cause, ConditionKind, Frame, GuardReport, GuardVerdict, MismatchReport, Outcome, Report,
};
use super::origin::{FAILS_IN, NEEDED_BY, checks, needed, needed_again, reason, says};
use super::style::{Style, WHOLE};
use super::words::{
    allows, computed_as, every_element, has_word, plural, settled_too, shapes, short, shown_file,
};
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_expr::escape::visible;
use std::fmt::Write;

/// The most errors that are shown: the first in full, the others in short.
const MAX_SHOWN: usize = 3;
/// The longest condition that is shown, in characters.
const MAX_CONDITION: usize = 100;
/// The longest sentence about what a model needs, in characters.
const MAX_SENTENCE: usize = 80;
/// Of more inputs, only those are shown that differ from the example.
const MAX_INPUTS: usize = 3;
/// The longest line of source that is shown whole, in characters.
const MAX_CODE: usize = 120;
/// Longer conditions are not gathered with others, in characters.
const MAX_ALIKE: usize = 40;
/// The most conditions that stand in one title besides the first.
const MAX_NAMED: usize = 3;
/// The most callers that are named.
const MAX_CALLERS: usize = 3;

/// How many errors there are, and how many conditions follow from them.
pub(super) fn count(report: &Report) -> (usize, usize) {
    let (own, follow) = own_and_follow(report);
    (own.len() + wrong_records(report).len(), follow.len())
}

/// The values whose recorded form is wrong, each once: in general where that is known, rather than in an example.
pub(super) fn wrong_records(report: &Report) -> Vec<&MismatchReport> {
    let mut wrong: Vec<&MismatchReport> = Vec::new();
    let is_number = |mismatch: &MismatchReport| mismatch.derived.parse::<i64>().is_ok();
    for mismatch in &report.mismatches {
        match wrong.iter_mut().find(|known| known.value == mismatch.value) {
            Some(known) if is_number(known) && !is_number(mismatch) => *known = mismatch,
            Some(_) => {}
            None => wrong.push(mismatch),
        }
    }
    wrong
}

/// The violated conditions: those that are errors of their own, and those that follow from them. What only sizes above 2^40
/// break is a remark beside other errors.
pub(super) fn own_and_follow(report: &Report) -> (Vec<&GuardReport>, Vec<&GuardReport>) {
    let violated = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated);
    let (mut follow, mut own): (Vec<&GuardReport>, Vec<_>) = violated.partition(|g| g.follows);
    follow.retain(|g| own.iter().all(|o| o.shown != g.shown));
    if own.iter().any(|guard| !guard.far) {
        own.retain(|guard| !guard.far);
    }
    (own, follow)
}

/// What is said of the conditions that only sizes above 2^40 break, beside other errors.
pub(super) fn far(report: &Report) -> Option<String> {
    let violated = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && !g.follows);
    let (far, near): (Vec<&GuardReport>, Vec<_>) = violated.partition(|guard| guard.far);
    let shown: Vec<String> = far.iter().map(|guard| format!("`{}`", guard.shown)).collect();
    let has_both = !far.is_empty() && !near.is_empty();
    has_both.then(|| format!("only sizes above 2^40 break {}", shown.join(" and ")))
}

/// Whether no error of an exported program can name a line, as the program has none.
pub(super) fn have_no_lines(report: &Report) -> bool {
    let is_violated = report.guards.iter().any(|guard| guard.verdict == GuardVerdict::Violated);
    let names_a_line = report.guards.iter().any(|guard| guard.location.is_some());
    report.program.onnx.is_none() && is_violated && !names_a_line
}

/// The errors in the order in which they are shown: what an operator or the code needs before what only the trace asks for,
/// and what people can read first.
fn ordered(report: &Report) -> Vec<&GuardReport> {
    let (mut own, _) = own_and_follow(report);
    let rank = |guard: &GuardReport| match guard.cause {
        Cause::Specialisation | Cause::Divisor | Cause::Layout => 2,
        Cause::Record if guard.node.is_none() && guard.left_static.is_none() => 1,
        _ => 0,
    };
    own.sort_by_key(|guard| (guard.shown.chars().count() > MAX_CONDITION, rank(guard)));
    own
}

/// Whether a text leaves something out.
pub(super) fn hides_some(report: &Report, style: Style) -> bool {
    let (errors, follow) = count(report);
    report.verdict == Outcome::Violated && !style.is_all() && (errors > MAX_SHOWN || follow > 0)
}

/// The errors.
pub(super) fn write(out: &mut String, report: &Report, style: Style) {
    let (all, own) = (style.is_all(), ordered(report));
    let most = if all { usize::MAX } else { MAX_SHOWN };
    let groups = alike(&own, all);
    let mut reasons: Vec<&str> = Vec::new();
    for (at, group) in groups.iter().take(most).enumerate() {
        let guard = group[0];
        title(out, report, group, style);
        let is_known = reason(guard).is_some_and(|reason| reasons.contains(&reason));
        match at == 0 || all {
            true => in_full_length(out, report, guard, style),
            false => in_short(out, report, guard, is_known, style),
        }
        reasons.extend(reason(guard));
    }
    let hidden: usize = groups.iter().skip(most).map(Vec::len).sum();
    let mismatches = if all { usize::MAX } else { MAX_SHOWN.saturating_sub(own.len()).max(1) };
    let wrong = wrong_records(report);
    for mismatch in wrong.iter().take(mismatches) {
        wrong_record(out, report, mismatch, style);
    }
    let left = hidden + wrong.len().saturating_sub(mismatches);
    if left > 0 {
        let _ = writeln!(out, "\n... and {} (--all shows them)", plural(left, "more error", "more errors"));
    }
    if let Some(says) = far(report) {
        let _ = writeln!(out, "\nnote: {}", visible(&says));
    }
    let (_, follow) = own_and_follow(report);
    if all && !follow.is_empty() {
        let shown: Vec<String> = follow.iter().map(|g| short(&g.shown).into_owned()).collect();
        let _ = writeln!(out, "\n{}: {}", settled_too(own.len(), follow.len()), shown.join(", "));
    }
}

/// The errors, those beside each other that differ in the sizes alone: `n >= 1` and `m >= 1`, needed by one operator.
fn alike<'r>(own: &[&'r GuardReport], all: bool) -> Vec<Vec<&'r GuardReport>> {
    let key = |guard: &GuardReport| {
        let what = (guard.op.clone(), guard.clause.clone(), guard.traced, guard.cause, guard.unneeded);
        (what, guard.beside.is_some(), form(&guard.shown))
    };
    let is_one = |guard: &GuardReport| {
        let is_on_sizes =
            guard.kind != ConditionKind::Runtime && guard.left_static.is_none() && guard.relation.is_none();
        is_on_sizes && !guard.undeclarable && !form(&guard.shown).is_empty()
    };
    let mut groups: Vec<Vec<&GuardReport>> = Vec::new();
    for &guard in own {
        let is_same = |group: &&mut Vec<&GuardReport>| is_one(guard) && key(group[0]) == key(guard);
        match groups.iter_mut().find(is_same).filter(|_| !all) {
            Some(group) => group.push(guard),
            None => groups.push(vec![guard]),
        }
    }
    groups
}

/// A short condition with a mark for each name of a size: `_ % 2 == 0`; nothing for another one.
fn form(shown: &str) -> String {
    if shown.chars().count() > MAX_ALIKE {
        return String::new();
    }
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
    let words = shown.split(' ').map(|word| {
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_') && word.chars().all(is_word);
        if is_name && !matches!(word, "and" | "or" | "not") { "_" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn title(out: &mut String, report: &Report, group: &[&GuardReport], style: Style) {
    let code = style.error("error[guard-not-implied]");
    let mut says = broken(report, group[0]);
    let more: Vec<String> = group[1..].iter().take(MAX_NAMED).map(|guard| condition(report, guard)).collect();
    let left = (group.len() - 1).saturating_sub(more.len());
    match more.split_last() {
        None => {}
        Some(_) if left > 0 => {
            let _ = write!(says, ", {} and {left} more", more.join(", "));
        }
        Some((last, [])) => {
            let _ = write!(says, ", and {last}");
        }
        Some((last, others)) => {
            let _ = write!(says, ", {} and {last}", others.join(", "));
        }
    }
    let _ = writeln!(out, "\n{code}: {says}");
}

/// What is wrong, in a sentence.
pub(super) fn broken(report: &Report, guard: &GuardReport) -> String {
    let allows = allows(report);
    if let Some(path) = &guard.left_static {
        let size = guard.shown.split_once(" == ").map_or(guard.shown.as_str(), |(size, _)| size);
        let number = guard.shown.rsplit(' ').next().unwrap_or_default();
        return format!(
            "your spec leaves {} static at {}, and it has to be equal to {}",
            visible(path),
            visible(number),
            visible(size)
        );
    }
    if let Some(relation) = &guard.relation {
        return format!(
            "your spec makes {} `{}`, and the program needs `{}`: they agree only where {}",
            visible(&relation.size),
            visible(&relation.says),
            visible(&relation.needs),
            condition(report, guard)
        );
    }
    if guard.kind == ConditionKind::Runtime && guard.clause.as_deref() != Some("some data passes") {
        let there = guard.witness.as_ref().map(|witness| assignment(report, witness)).unwrap_or_default();
        return format!("{allows} {}, where no data pass the program's own checks", visible(&there));
    }
    let is_sentence =
        guard.clause.as_ref() != Some(&guard.shown) && !guard.shown.contains(['=', '<', '>', '%']);
    if report.program.onnx.is_some() && is_sentence {
        let any = if report.assumed == Assumed::Spec { " that your spec allows" } else { "" };
        return match report.has("nothing-works") {
            true => format!("the model runs at no size{any}: {}", visible(&needs_that(guard))),
            false => format!("{allows} shapes that a node refuses: it needs that {}", visible(&guard.shown)),
        };
    }
    // Under the spec nothing is left of it that says more.
    if guard.never && guard.shown == "False" {
        return format!("the program works for no shapes that {allows}");
    }
    if guard.never {
        return format!("no shapes that {allows} satisfy {}", condition(report, guard));
    }
    let bound = if guard.undeclarable { ", a bound, which an ONNX file cannot declare" } else { "" };
    format!("{allows} shapes that break {}{bound}", condition(report, guard))
}

/// What a model needs as a sentence, or what is said of its operands where that is long.
fn needs_that(guard: &GuardReport) -> String {
    let refused = guard.consequence.as_deref().and_then(|says| says.split_once(": ")).map(|(_, says)| says);
    match refused {
        Some(says) if guard.shown.chars().count() > MAX_SENTENCE => says.to_owned(),
        _ => format!("it needs that {}", guard.shown),
    }
}

/// A condition in back-ticks; of one that is too long to read, the sizes that it speaks of.
fn condition(report: &Report, guard: &GuardReport) -> String {
    let length = guard.shown.chars().count();
    if length <= MAX_CONDITION {
        return format!("`{}`", visible(&guard.shown));
    }
    let speaks = report.symbols.iter().filter(|(name, _)| has_word(&guard.expr, name));
    let names: Vec<&str> =
        speaks.filter_map(|(_, symbol)| symbol.dim.as_deref().or(symbol.source.as_deref())).collect();
    format!("a condition of {length} characters on {} (--format json has it)", visible(&names.join(", ")))
}

fn in_full_length(out: &mut String, report: &Report, guard: &GuardReport, style: Style) {
    place(out, report, guard, style);
    example(out, report, guard, style);
    if let Some(consequence) = consequence(guard) {
        let _ = writeln!(out, "  then          {}", visible(&consequence));
    }
    if let Some(works) = &guard.works {
        let (shown, _) = changed(report, guard, works);
        let with = guard.works_values.as_ref().map(every_element).unwrap_or_default();
        let _ = writeln!(out, "  works         {}{}", shapes(report, &shown), visible(&with));
    }
}

/// The line, why, and an example. A reason that an error above has is not repeated.
fn in_short(out: &mut String, report: &Report, guard: &GuardReport, is_known: bool, style: Style) {
    arrow(out, guard);
    let (word, what) = if is_known { needed_again(guard) } else { needed_in(report, guard) };
    let _ = writeln!(out, "  {word:<14}{}", visible(&what));
    example(out, report, guard, style);
}

/// What happens at the counterexample; nothing where the condition says it. What the module checks is not said twice.
fn consequence(guard: &GuardReport) -> Option<String> {
    let says_no_more = guard.kind == ConditionKind::Runtime || guard.shown.chars().count() > MAX_CONDITION;
    let consequence = guard.consequence.as_deref().filter(|_| !says_no_more)?;
    let checks = checks(guard).map(|checks| format!("it checks `{checks}`, and ")).unwrap_or_default();
    Some(consequence.replacen(&checks, "", 1))
}

/// What needs a condition; of one on data, what the program checks.
fn needed_in(report: &Report, guard: &GuardReport) -> (&'static str, String) {
    let node = guard.node.as_ref().filter(|_| guard.kind == ConditionKind::Runtime);
    match node.and_then(|node| report.runtime_asserts.iter().find(|assert| assert.after_node == *node)) {
        Some(assert) => {
            ("because", format!("the program checks `{}` when it runs ({})", assert.expr, assert.after_node))
        }
        None => needed(guard),
    }
}

/// The line that is responsible, how the program comes to it, and what needs the condition.
pub(super) fn place(out: &mut String, report: &Report, guard: &GuardReport, style: Style) {
    arrow(out, guard);
    if let Some(code) = &guard.code {
        let _ = writeln!(out, "{WHOLE}   |  {}", style.strong(&one_line(code)));
    }
    let (word, mut what) = needed_in(report, guard);
    // What the operator asks for is said behind its code.
    if let (Some(clause), NEEDED_BY | FAILS_IN) = (&guard.clause, word) {
        what = what.replacen(&format!("({clause})"), &format!("({clause}{})", says(guard)), 1);
    }
    let _ = writeln!(out, "  {word:<14}{}", visible(&what));
    if let Some(beside) = &guard.beside {
        let _ = writeln!(out, "  besides       {}", visible(beside));
    }
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
    let _ = writeln!(
        out,
        "\n{code}: `{value}` is {recorded_as} as {recorded} but {} {derived}",
        computed_as(mismatch)
    );
    let _ = writeln!(out, "  node {}", visible(&mismatch.node));
    if let Some(inputs) = &mismatch.inputs {
        let _ = writeln!(out, "  for inputs    {}", shapes(report, inputs));
    }
}
