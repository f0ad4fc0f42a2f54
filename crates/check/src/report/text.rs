//! The report as text for people: the verdict first, then what is wrong and what to change.
use super::model::{GuardReport, GuardVerdict, Level, Outcome, Report};
use super::style::Style;
use indexmap::IndexMap;
use serde_json::Value as Json;
use sizewise_expr::escape::{coloured_lines, lines, python_string, visible};
use std::borrow::Cow;
use std::fmt::Write;

/// The most conditions of one kind that are listed in full.
const MAX_LISTED: usize = 20;
/// The longest condition that is shown whole, in characters.
const MAX_SHOWN: usize = 160;

/// The report as text.
pub fn to_text(report: &Report, style: Style) -> String {
    let mut out = String::new();
    head(&mut out, report, style);
    for diagnostic in report.diagnostics.iter().filter(|d| d.level == Level::Error) {
        let _ = writeln!(
            out,
            "\n{}: {}",
            style.error(&format!("error[{}]", diagnostic.code)),
            visible(&diagnostic.message)
        );
        place(&mut out, diagnostic.location.as_deref(), diagnostic.node.as_deref());
    }
    violated(&mut out, report, style);
    mismatches(&mut out, report, style);
    fixes(&mut out, report, style);
    undecided(&mut out, report, style);
    unsupported(&mut out, report, style);
    notes(&mut out, report, style);
    implied(&mut out, report);
    constants(&mut out, report);
    outputs(&mut out, report);
    timings(&mut out, report, style);
    if style.colour { coloured_lines(&out) } else { lines(&out).into_owned() }
}

/// A condition cut to a readable length; the JSON report has all of it.
fn short(text: &str) -> Cow<'_, str> {
    if text.chars().count() <= MAX_SHOWN {
        return visible(text);
    }
    let start: String = text.chars().take(MAX_SHOWN).collect();
    Cow::Owned(format!("{} ...", visible(&start)))
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn head(out: &mut String, report: &Report, style: Style) {
    let program = &report.program;
    let dynamic = report.symbols.len();
    let _ = writeln!(out, "{}: {}", style.strong(&visible(&program.path)), verdict(report, style));
    let facts = format!(
        "{}, {}, {} IR, torch {}",
        plural(program.nodes, "node", "nodes"),
        plural(dynamic, "dynamic dimension", "dynamic dimensions"),
        program.dialect,
        visible(&program.torch_version)
    );
    let _ = writeln!(out, "{}", style.faint(&facts));
}

/// The answer in a line.
fn verdict(report: &Report, style: Style) -> String {
    let of = |wanted: GuardVerdict| report.guards.iter().filter(|g| g.verdict == wanted).count();
    match report.verdict {
        Outcome::Ok => format!("{}, every admitted input is served", style.good("ok")),
        Outcome::Violated => {
            let errors = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && !g.follows);
            let broken = errors.count() + report.mismatches.len();
            format!("{}, {}", style.error("violated"), plural(broken, "error", "errors"))
        }
        Outcome::Unknown => {
            let mut reasons = Vec::new();
            let open = of(GuardVerdict::Unknown);
            if open > 0 {
                reasons.push(plural(open, "condition is undecided", "conditions are undecided"));
            }
            let hidden = report.unsupported.len();
            if hidden > 0 {
                reasons.push(plural(hidden, "node has no fake kernel", "nodes have no fake kernel"));
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

fn violated(out: &mut String, report: &Report, style: Style) {
    let of = |follows: bool| -> Vec<&GuardReport> {
        let violated = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated);
        violated.filter(|g| g.follows == follows).collect()
    };
    let (broken, consequences) = (of(false), of(true));
    for guard in broken.iter().take(MAX_LISTED) {
        let code = style.error("error[guard-not-implied]");
        let _ = writeln!(out, "\n{code}: your spec allows shapes that break `{}`", short(&guard.shown));
        where_from(out, guard);
        if let Some(inputs) = &guard.inputs {
            let names = guard.witness.as_ref().map(|w| assignment(report, w)).unwrap_or_default();
            let _ = writeln!(
                out,
                "  breaks        {}   {}",
                shapes(report, inputs),
                style.faint(&visible(&names))
            );
        }
        if let Some(consequence) = &guard.consequence {
            let _ = writeln!(out, "  then          {}", visible(consequence));
        }
    }
    if broken.len() > MAX_LISTED {
        let _ =
            writeln!(out, "\n... and {} more (all of them with --format json)", broken.len() - MAX_LISTED);
    }
    if !consequences.is_empty() {
        let shown: Vec<Cow<str>> = consequences.iter().take(3).map(|g| short(&g.shown)).collect();
        let more = if consequences.len() > 3 { ", ..." } else { "" };
        let n = plural(consequences.len(), "condition is", "conditions are");
        let _ = writeln!(out, "\n{n} violated with these: {}{more}", shown.join(", "));
    }
}

fn where_from(out: &mut String, guard: &GuardReport) {
    match (guard.location.as_deref().map(visible), guard.code.as_deref().map(visible)) {
        (Some(location), Some(code)) => drop(writeln!(out, "  {location}   {code}")),
        (Some(location), None) => drop(writeln!(out, "  {location}")),
        _ => {}
    }
    if let (Some(node), Some(op)) = (&guard.node, &guard.op) {
        let clause = guard.clause.as_ref().map(|c| format!(" ({})", visible(c))).unwrap_or_default();
        let _ = writeln!(out, "  needed by     {} = {}{clause}", visible(node), visible(op));
    } else {
        let _ = writeln!(out, "  needed by     the program's own contract: {}", guard.cause.text());
    }
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

/// The inputs with their shapes: `x: f32[2, 8], y: i64[3]`.
fn shapes(report: &Report, inputs: &IndexMap<String, Json>) -> String {
    let mut parts = Vec::new();
    for (name, shape) in inputs {
        let dtype = report.inputs.iter().find(|i| i.name == *name).map_or("", |i| i.dtype.as_str());
        let dtype = sizewise_ir::Dtype::from_name(dtype).map_or(dtype, |d| d.short_name());
        parts.push(match shape {
            Json::Array(sizes) => {
                let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
                format!("{name}: {dtype}[{}]", sizes.join(", "))
            }
            value => format!("{name} = {value}"),
        });
    }
    visible(&parts.join(", ")).into_owned()
}

fn mismatches(out: &mut String, report: &Report, style: Style) {
    for mismatch in report.mismatches.iter().take(MAX_LISTED) {
        let code = style.error("error[shape-mismatch]");
        let _ = writeln!(
            out,
            "\n{code}: `{}` is recorded as {} but computed as {}",
            visible(&mismatch.value),
            visible(&mismatch.recorded),
            visible(&mismatch.derived)
        );
        let _ = writeln!(out, "  node {}", visible(&mismatch.node));
        if let Some(inputs) = &mismatch.inputs {
            let _ = writeln!(out, "  for inputs    {}", shapes(report, inputs));
        }
    }
}

fn fixes(out: &mut String, report: &Report, style: Style) {
    if report.fixes.is_empty() {
        return;
    }
    let _ = writeln!(out);
    for (i, fix) in report.fixes.iter().enumerate() {
        let mut lines = fix.text.lines().map(visible);
        let _ = writeln!(
            out,
            "{}         {}",
            style.good(&format!("fix {}", i + 1)),
            lines.next().unwrap_or_default()
        );
        for line in lines {
            let _ = writeln!(out, "              {line}");
        }
        let state = if fix.proved { "proved" } else { "not proved" };
        match &fix.cost {
            Some(cost) => drop(writeln!(out, "              {state}; {}", visible(cost))),
            None => drop(writeln!(out, "              {state}")),
        }
    }
}

fn undecided(out: &mut String, report: &Report, style: Style) {
    let open: Vec<&GuardReport> =
        report.guards.iter().filter(|g| g.verdict == GuardVerdict::Unknown).collect();
    for guard in open.iter().take(MAX_LISTED) {
        let code = style.warning("warning[guard-undecided]");
        let _ = writeln!(out, "\n{code}: `{}` is neither proved nor refuted", short(&guard.shown));
        where_from(out, guard);
        if let Some(reason) = &guard.reason {
            let _ = writeln!(out, "  because       {}", visible(reason));
        }
    }
    if open.len() > MAX_LISTED {
        let _ = writeln!(out, "\n... and {} more undecided", open.len() - MAX_LISTED);
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
    let _ = writeln!(
        out,
        "\n{code}: {} not checked; the recorded shapes of their results are trusted",
        plural(report.unsupported.len(), "node is", "nodes are")
    );
    for (op, nodes) in by_op {
        let shown = nodes.iter().take(3).map(|node| visible(node)).collect::<Vec<_>>().join(", ");
        let more = if nodes.len() > 3 { format!(" and {} more", nodes.len() - 3) } else { String::new() };
        let _ = writeln!(out, "  {}: {shown}{more}", visible(op));
    }
}

fn notes(out: &mut String, report: &Report, style: Style) {
    for diagnostic in report.diagnostics.iter().filter(|d| d.level != Level::Error) {
        let word =
            if diagnostic.level == Level::Warning { style.warning("warning") } else { style.faint("note") };
        let _ = writeln!(out, "\n{word}[{}]: {}", diagnostic.code, visible(&diagnostic.message));
        place(out, diagnostic.location.as_deref(), diagnostic.node.as_deref());
    }
    if !report.runtime_asserts.is_empty() {
        let _ = writeln!(
            out,
            "\n{} checked only at run time:",
            plural(report.runtime_asserts.len(), "condition is", "conditions are")
        );
        for assert in report.runtime_asserts.iter().take(MAX_LISTED) {
            let _ = writeln!(out, "  {}   after {}", visible(&assert.expr), visible(&assert.after_node));
        }
    }
}

fn implied(out: &mut String, report: &Report) {
    let proved: Vec<&GuardReport> =
        report.guards.iter().filter(|g| g.verdict == GuardVerdict::Implied).collect();
    if proved.is_empty() {
        return;
    }
    let listed: Vec<String> = proved
        .iter()
        .take(5)
        .map(|g| match &g.location {
            Some(location) => format!("{} ({})", short(&g.shown), visible(location)),
            None => short(&g.shown).into_owned(),
        })
        .collect();
    let more = if proved.len() > 5 { ", ..." } else { "" };
    let _ = writeln!(
        out,
        "\n{}: {}{more}",
        plural(proved.len(), "condition is proved", "conditions are proved"),
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
        let Some(shape) = &output.shape else {
            parts.push(format!("{} {dtype}", output.name));
            continue;
        };
        let show = |v: &Json| v.as_str().map_or_else(|| v.to_string(), str::to_string);
        let sizes: Vec<String> = shape.iter().map(show).collect();
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
