//! The report as text for people: the verdict first, then what is wrong and what to change.
use super::counted::Findings;
use super::errors;
use super::fixes;
use super::model::{AssertReport, Assumed, Diagnostic, GuardReport, GuardVerdict, Level, Outcome, Report};
use super::style::{Detail, Style};
use super::table;
use super::taken;
use super::words::{assumed, fix_settles, plural, short};
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_expr::escape::{coloured_lines, lines, python_string, visible};
use std::fmt::Write;

/// The most conditions of one kind that are listed in full.
const MAX_LISTED: usize = 20;
/// Longer proved conditions are not listed.
const MAX_PROVED: usize = 80;
/// The most proved conditions that are listed.
const MAX_NAMED: usize = 5;
/// The most undecided conditions that are listed.
const MAX_UNDECIDED: usize = 8;

/// The report as text.
pub fn to_text(report: &Report, style: Style) -> String {
    let mut out = String::new();
    if style.detail == Detail::Verdict {
        brief(&mut out, report, style);
    } else {
        whole(&mut out, report, style);
    }
    let out = style.broken(&out);
    if style.colour { coloured_lines(&out) } else { lines(&out).into_owned() }
}

/// The verdict in a line, with the first error and the first fix.
fn brief(out: &mut String, report: &Report, style: Style) {
    let first = Findings::of(report).first();
    let first = first.filter(|_| report.verdict != Outcome::Ok).map(|says| format!(": {}", visible(&says)));
    let path = style.strong(&visible(&report.program.path));
    let _ = writeln!(out, "{path}: {}{}", verdict(report, style), first.unwrap_or_default());
}

fn whole(out: &mut String, report: &Report, style: Style) {
    head(out, report, style);
    for diagnostic in report.diagnostics.iter().filter(|d| d.level == Level::Error) {
        let _ = writeln!(
            out,
            "\n{}: {}",
            style.error(&format!("error[{}]", diagnostic.code)),
            visible(&diagnostic.message)
        );
        place(out, diagnostic.location.as_deref(), diagnostic.node.as_deref());
    }
    table::write(out, report, style);
    fixes::write(out, report, style);
    errors::write(out, report, style);
    undecided(out, report, style);
    unsupported(out, report, style);
    notes(out, report, style);
    let before = out.len();
    implied(out, report, style);
    // Where something is wrong, that is what a reader looks for.
    if report.verdict != Outcome::Violated || style.is_all() {
        constants(out, report);
        outputs(out, report);
        taken::write(out, report);
    }
    timings(out, report, style);
    if out.len() > before {
        out.insert(before, '\n');
    }
    summary(out, report, style);
}

fn head(out: &mut String, report: &Report, style: Style) {
    let program = &report.program;
    let dynamic = report.symbols.values().filter(|size| size.min.is_none() || size.min != size.max).count();
    let _ = writeln!(out, "{}: {}", style.strong(&visible(&program.path)), verdict(report, style));
    let facts = format!(
        "{}, {}, {}{}",
        plural(program.nodes, "node", "nodes"),
        plural(dynamic, "dynamic dimension", "dynamic dimensions"),
        visible(&program.kind()),
        if errors::have_no_lines(report) { ", saved without source lines" } else { "" },
    );
    let _ = writeln!(out, "{}", style.faint(&facts));
}

/// The answer in a line, with what it rests on.
fn verdict(report: &Report, style: Style) -> String {
    let answer = answer(report, style);
    match report.assumed_too.as_slice() {
        [] => answer,
        more => format!("{answer}; assumed: {}", visible(&more.join(", "))),
    }
}

fn answer(report: &Report, style: Style) -> String {
    let of = |wanted: GuardVerdict| report.guards.iter().filter(|g| g.verdict == wanted).count();
    let works = match report.runtime_asserts.len() {
        0 => "works",
        1 if report.program.onnx.is_some() => {
            "works, if its values meet the condition that is left to run time"
        }
        _ if report.program.onnx.is_some() => {
            "works, if its values meet the conditions that are left to run time"
        }
        _ => "works, if its data satisfy the runtime assertions",
    };
    match report.verdict {
        Outcome::Ok if matches!(report.assumed, Assumed::Contract | Assumed::Assertions) => {
            let what = if report.assumed == Assumed::Contract { "guards" } else { "assertions" };
            let own = format!("every input that satisfies the ranges and {what} recorded at export");
            format!("{}, {own} {works}; no spec was given", style.good("ok"))
        }
        Outcome::Ok if report.assumed == Assumed::Declaration => {
            let assumed = "assumed: sizes of at least 1, equal names equal";
            format!("{}, every input that the model declares {works}; {assumed}", style.good("ok"))
        }
        Outcome::Ok if report.has("left-to-module") => {
            format!(
                "{}, every input that the spec allows and the exported module takes {works}",
                style.good("ok")
            )
        }
        Outcome::Ok => format!("{}, every input that the spec allows {works}", style.good("ok")),
        Outcome::Violated => {
            let (broken, _) = errors::count(report);
            format!("{}, {}", style.error("violated"), plural(broken, "error", "errors"))
        }
        Outcome::Unknown => {
            let mut reasons = Vec::new();
            let open = of(GuardVerdict::Unknown);
            if open > 0 {
                reasons.push(plural(open, "condition is undecided", "conditions are undecided"));
            }
            let hidden = report.unsupported.len();
            if hidden > 0 && report.program.onnx.is_some() {
                reasons.push(plural(hidden, "node is not fully followed", "nodes are not fully followed"));
            } else if hidden > 0 {
                reasons.push(plural(hidden, "node has no shape function", "nodes have no shape function"));
            }
            if reasons.is_empty() {
                reasons.push("not everything could be decided".to_string());
            }
            format!("{}, {}", style.warning("unknown"), reasons.join(", "))
        }
        Outcome::Invalid => format!("{}, the spec does not fit the program", style.error("invalid")),
    }
}

fn place(out: &mut String, location: Option<&str>, node: Option<&str>) {
    match (location.map(visible), node.map(visible)) {
        (Some(location), Some(node)) => drop(writeln!(out, "  {location}   node {node}")),
        (Some(location), None) => drop(writeln!(out, "  {location}")),
        (None, Some(node)) => drop(writeln!(out, "  node {node}")),
        (None, None) => {}
    }
}

fn undecided(out: &mut String, report: &Report, style: Style) {
    let open: Vec<&GuardReport> =
        report.guards.iter().filter(|g| g.verdict == GuardVerdict::Unknown).collect();
    if report.verdict == Outcome::Violated && fix_settles(report) && !open.is_empty() {
        let n = plural(open.len(), "more condition is", "more conditions are");
        let they = if open.len() == 1 { "it is" } else { "they are" };
        let _ = writeln!(out, "\n{n} undecided {}; with fix 1 {they} proved", assumed(report));
        return;
    }
    let most = if style.is_all() { usize::MAX } else { MAX_UNDECIDED };
    for guard in open.iter().take(most) {
        let code = style.warning("warning[guard-undecided]");
        let _ = writeln!(out, "\n{code}: `{}` is neither proved nor refuted", short(&guard.shown));
        errors::place(out, report, guard, style);
        if let Some(settled) = &guard.settled_by {
            let _ = writeln!(out, "  suggestion    {}", visible(settled));
        } else if let Some(reason) = &guard.reason {
            let _ = writeln!(out, "  because       {}", visible(reason));
        }
    }
    if open.len() > most {
        let _ = writeln!(out, "\n... and {} more undecided (--all shows them)", open.len() - most);
    }
}

fn unsupported(out: &mut String, report: &Report, style: Style) {
    if report.unsupported.is_empty() {
        return;
    }
    let mut by_op: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for item in &report.unsupported {
        by_op.entry(&item.op).or_default().push(&item.node);
    }
    let code = style.warning("warning[unsupported-operator]");
    if report.program.onnx.is_some() {
        let n = plural(report.unsupported.len(), "node is", "nodes are");
        let _ = writeln!(out, "\n{code}: {n} not fully followed");
        for item in report.unsupported.iter().take(MAX_LISTED) {
            let _ =
                writeln!(out, "  {} = {}: {}", visible(&item.node), visible(&item.op), visible(&item.reason));
        }
        if report.unsupported.len() > MAX_LISTED {
            let _ = writeln!(out, "  ... and {} more", report.unsupported.len() - MAX_LISTED);
        }
        rest(out, report);
        return;
    }
    let _ = writeln!(
        out,
        "\n{code}: {} skipped (no shape function); declare {} with --ops, see docs/operators.md",
        plural(report.unsupported.len(), "node", "nodes"),
        if by_op.len() == 1 { "the operator" } else { "the operators" }
    );
    for (op, nodes) in by_op {
        let shown = nodes.iter().take(3).map(|node| visible(node)).collect::<Vec<_>>().join(", ");
        let more = if nodes.len() > 3 { format!(" and {} more", nodes.len() - 3) } else { String::new() };
        let _ = writeln!(out, "  {}: {shown}{more}", visible(op));
    }
    rest(out, report);
}

/// What is known besides nodes that are not followed, and what can be done where nothing else is open.
fn rest(out: &mut String, report: &Report) {
    let is_open = report.guards.iter().any(|guard| guard.verdict != GuardVerdict::Implied)
        || report.diagnostics.iter().any(|diagnostic| diagnostic.level != Level::Note);
    if report.verdict == Outcome::Unknown && !is_open {
        let they = if report.unsupported.len() == 1 { "it needs" } else { "they need" };
        let _ = writeln!(
            out,
            "  nothing else is open: only what {they} of these sizes is not known; `sizewise eval` tries given sizes"
        );
    }
}

fn notes(out: &mut String, report: &Report, style: Style) {
    // How far dimensions may grow, and what data have to be, is of interest once the rest is in order.
    let is_shown = |d: &Diagnostic| {
        let is_beside = is_beside(report, d) && !style.is_all();
        d.level != Level::Error && !(report.verdict == Outcome::Violated && is_beside)
    };
    for diagnostic in report.diagnostics.iter().filter(|d| is_shown(d)) {
        let word =
            if diagnostic.level == Level::Warning { style.warning("warning") } else { style.faint("note") };
        let _ = writeln!(out, "\n{word}[{}]: {}", diagnostic.code, visible(&diagnostic.message));
        place(out, diagnostic.location.as_deref(), diagnostic.node.as_deref());
    }
    run_time(out, report, style);
}

/// Whether a note says nothing about what is wrong. That a model runs at no size is said of the error itself.
fn is_beside(report: &Report, note: &Diagnostic) -> bool {
    note.level == Level::Note && (note.code != "nothing-works" || report.program.onnx.is_some())
}

/// The conditions that are left to run time. Those of an ONNX model are sentences: equal ones stand in one line.
fn run_time(out: &mut String, report: &Report, style: Style) {
    let count = report.runtime_asserts.len();
    // The last line counts them.
    if count == 0 || report.verdict == Outcome::Violated && !style.is_all() {
        return;
    }
    let _ = match report.program.onnx {
        Some(_) => {
            writeln!(out, "\nleft to run time: {} on values", plural(count, "condition", "conditions"))
        }
        None => {
            let many = plural(count, "condition is", "conditions are");
            writeln!(out, "\n{many} checked only at run time:")
        }
    };
    let mut equal: IndexMap<_, Vec<&AssertReport>> = IndexMap::new();
    for assert in &report.runtime_asserts {
        // Of a program each is listed with its own node.
        let node = if assert.op.is_none() { Some(assert.after_node.as_str()) } else { assert.op.as_deref() };
        equal.entry((assert.expr.as_str(), node, assert.inputs.as_slice())).or_default().push(assert);
    }
    let most = if style.is_all() { usize::MAX } else { MAX_LISTED };
    for asserts in equal.values().take(most) {
        let more = match asserts.len() {
            1 => String::new(),
            n => format!(", and at {}", plural(n - 1, "more node", "more nodes")),
        };
        let _ = writeln!(out, "  {}   {}{more}", visible(&asserts[0].expr), visible(&asserts[0].place()));
    }
    if equal.len() > most {
        let _ = writeln!(out, "  ... and {} more (--all shows them)", equal.len() - most);
    }
}

fn implied(out: &mut String, report: &Report, style: Style) {
    let proved: Vec<&GuardReport> =
        report.guards.iter().filter(|g| g.verdict == GuardVerdict::Implied).collect();
    // Where something is wrong, the last line counts them.
    if proved.is_empty() || report.verdict == Outcome::Violated && !style.is_all() {
        return;
    }
    let most = if style.is_all() { usize::MAX } else { MAX_NAMED };
    let listed: Vec<String> = proved
        .iter()
        .take(most)
        .filter(|g| g.shown.len() <= MAX_PROVED)
        .map(|g| match &g.location {
            Some(location) => format!("{} ({})", short(&g.shown), visible(location)),
            None => short(&g.shown).into_owned(),
        })
        .collect();
    let more = if proved.len() > listed.len() && !listed.is_empty() { ", ..." } else { "" };
    let _ = writeln!(
        out,
        "{}{}{}{more}",
        plural(proved.len(), "condition is proved", "conditions are proved"),
        if listed.is_empty() { "" } else { ": " },
        listed.join(", ")
    );
}

/// The constant inputs, with the one value that each may have.
fn constants(out: &mut String, report: &Report) {
    let python = |value: &Json| match value {
        Json::Bool(true) => "True".to_owned(),
        Json::Bool(false) => "False".to_owned(),
        Json::String(text) => python_string(text),
        other => other.to_string(),
    };
    // What is passed for None is not checked.
    let checked = report.inputs.iter().filter_map(|input| Some((input, input.value.as_ref()?)));
    let parts: Vec<String> = checked
        .filter(|(_, value)| !value.is_null())
        .map(|(input, value)| format!("{} = {}", input.name, python(value)))
        .collect();
    if report.verdict != Outcome::Invalid && !parts.is_empty() {
        let _ = writeln!(out, "specialized: {}", visible(&parts.join(", ")));
    }
}

fn outputs(out: &mut String, report: &Report) {
    if report.verdict == Outcome::Invalid || report.outputs.is_empty() {
        return;
    }
    let mut parts = Vec::new();
    for output in report.outputs.iter().take(8) {
        let dtype =
            sizewise_ir::Dtype::from_name(&output.dtype).map_or(output.dtype.as_str(), |d| d.short_name());
        let show = |v: &Json| v.as_str().map_or_else(|| v.to_string(), str::to_string);
        let Some(shape) = &output.shape else {
            let value = output.value.as_ref().map(|value| format!(" = {}", show(value)));
            parts.push(format!("{} {}{}", output.name, output.dtype, value.unwrap_or_default()));
            continue;
        };
        // A size that is not known, as ONNX writes it.
        let size = |v: &Json| if v.is_null() { "?".to_owned() } else { show(v) };
        let sizes: Vec<String> = shape.iter().map(size).collect();
        let mut part = format!("{} {dtype}[{}]", output.name, sizes.join(", "));
        if let Some(bound) = &output.upper_bound
            && shape.iter().any(Json::is_string)
            && bound.iter().all(Option::is_some)
        {
            let bound: Vec<String> = bound.iter().flatten().map(show).collect();
            let _ = write!(part, ", at most {}", bound.join(" x "));
        }
        parts.push(part);
    }
    let more = if report.outputs.len() > 8 {
        format!("; and {} more", report.outputs.len() - 8)
    } else {
        String::new()
    };
    let _ = writeln!(out, "outputs: {}{more}", visible(&parts.join("; ")));
}

fn timings(out: &mut String, report: &Report, style: Style) {
    if report.timings.is_empty() {
        return;
    }
    let parts: Vec<String> =
        report.timings.iter().map(|(phase, seconds)| format!("{phase} {:.1} ms", seconds * 1e3)).collect();
    let _ = writeln!(out, "{}", style.faint(&parts.join(", ")));
}

/// The report in a line.
fn summary(out: &mut String, report: &Report, style: Style) {
    let of = |verdict| report.guards.iter().filter(|g| g.verdict == verdict).count();
    let mut parts = Vec::new();
    if report.verdict == Outcome::Violated {
        let (errors, follow) = errors::count(report);
        let mut part = plural(errors, "error", "errors");
        if follow > 0 {
            let them = if errors == 1 { "it is" } else { "they are" };
            let holds = plural(follow, "more condition holds", "more conditions hold");
            let _ = write!(part, "; {holds} once {them} fixed");
        }
        parts.push(part);
        parts.push(match report.fixes.len() {
            0 if matches!(report.assumed, Assumed::Contract | Assumed::Assertions) => "no spec".to_string(),
            0 => "no fix".to_string(),
            n if report.fixes.iter().all(|fix| fix.proved) => plural(n, "fix, proved", "fixes, proved"),
            n => plural(n, "fix", "fixes"),
        });
    }
    for (verdict, word) in [(GuardVerdict::Implied, "proved"), (GuardVerdict::Unknown, "undecided")] {
        if of(verdict) > 0 {
            parts.push(format!("{} {word}", plural(of(verdict), "condition", "conditions")));
        }
    }
    if !report.unsupported.is_empty() {
        parts.push(format!("{} skipped", plural(report.unsupported.len(), "node", "nodes")));
    }
    if !report.runtime_asserts.is_empty() {
        parts.push(format!("{} left to run time", report.runtime_asserts.len()));
    }
    let beside = report.diagnostics.iter().filter(|d| is_beside(report, d)).count();
    if report.verdict == Outcome::Violated && !style.is_all() && beside > 0 {
        parts.push(plural(beside, "note", "notes"));
    }
    let word = match report.verdict {
        Outcome::Ok => style.good("ok"),
        Outcome::Violated => style.error("violated"),
        Outcome::Unknown => style.warning("unknown"),
        Outcome::Invalid => style.error("invalid"),
    };
    let tail = if parts.is_empty() { String::new() } else { format!(": {}", parts.join("; ")) };
    let more = match errors::hides_some(report, style) {
        true => " (--all shows everything)",
        false => "",
    };
    let _ = writeln!(out, "\n{word}{tail}{more}");
}
