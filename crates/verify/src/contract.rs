//! The metadata contract: what nodes record of where they come from is there and can be read.
//!
//! Source: torch.export IR specification (metadata of nodes), torch, `export/_trace.py` (`_verify_nn_module_stack`,
//! `_verify_stack_trace`) and `_export/serde/serialize.py` (`deserialize_metadata`).
use super::graphs::{Checks, ScopedGraph};
use super::rule::{Rule, Section};
use super::violation::Violation;
use sizewise_ir::{Node, Provenance};

/// Checks what every node records, and that it is recorded.
pub(super) fn check(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        let origin = &node.provenance;
        if let Some(trace) = origin.stack_trace.as_deref()
            && origin.frames().next().is_none()
        {
            let message = format!("the stack trace {} names no line of source", quoted(trace));
            checks.report(Rule::StackTraceForm, graph, node, message);
        }
        module_stack(checks, graph, node);
        functions(checks, graph, node);
    });
    if checks.profile.has(Section::Provenance) {
        recorded(checks);
    }
}

/// The beginning of a text, between backquotes.
fn quoted(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    let more = if start.len() < text.len() { "…" } else { "" };
    format!("`{start}{more}`")
}

/// The entries of a list that torch divides by `;`.
fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split(';').filter(|entry| !entry.is_empty())
}

/// The parts of an entry: commas within parentheses and brackets are no boundaries.
fn parts(entry: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, character) in entry.char_indices() {
        match character {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&entry[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&entry[start..]);
    parts
}

fn module_stack(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node) {
    let Some(stack) = node.provenance.nn_module_stack.as_deref() else { return };
    let is_module = |entry: &str| {
        let parts = parts(entry);
        parts.len() == 3 && !parts[0].is_empty() && !parts[2].is_empty()
    };
    if let Some(wrong) = entries(stack).find(|entry| !is_module(entry)) {
        let message = format!("{} of `nn_module_stack` is no key, path and class", quoted(wrong));
        checks.report(Rule::ModuleStackForm, graph, node, message);
    }
}

fn functions(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node) {
    if let Some(stack) = node.provenance.source_fn_stack.as_deref()
        && let Some(wrong) = entries(stack).find(|entry| parts(entry).len() != 2)
    {
        let message = format!("{} of `source_fn_stack` is no name and target", quoted(wrong));
        checks.report(Rule::SourceFunctionForm, graph, node, message);
    }
    if let Some(function) = node.provenance.torch_fn.as_deref()
        && entries(function).count() != 2
    {
        let message = format!("`torch_fn` is {}, no name and function", quoted(function));
        checks.report(Rule::SourceFunctionForm, graph, node, message);
    }
}

/// One remark for the whole program: torch leaves traces out of calls that it adds itself, so a few without one are
/// nothing unusual.
fn recorded(checks: &mut Checks<'_>) {
    let nodes = checks.program.graph.nodes();
    if nodes.is_empty() {
        return;
    }
    let has_trace =
        |origin: &Provenance| origin.stack_trace.as_deref().is_some_and(|trace| !trace.is_empty());
    if !nodes.iter().any(|node| has_trace(&node.provenance)) {
        let message = format!("none of {} calls records a stack trace", nodes.len());
        checks.found.push(Violation::new(Rule::StackTraceRecorded, message));
    }
    let without: Vec<&Node> = nodes.iter().filter(|node| node.provenance.nn_module_stack.is_none()).collect();
    if let Some(first) = without.first() {
        let message = format!(
            "{} of {} calls do not record the modules around them, first `{}`",
            without.len(),
            nodes.len(),
            first.name
        );
        checks.report_at(Rule::ModuleStackRecorded, "", &first.name, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_within_brackets_are_no_boundaries() {
        for (entry, count) in [
            ("L__self__,,__main__.M", 3),
            ("L__self__l,l,torch.nn.Linear", 3),
            ("a,b,Pair[int, str]", 3),
            ("a,getattr(L['self'], '0'),c", 3),
            ("a,b", 2),
            ("", 1),
            (")),,(", 3),
        ] {
            assert_eq!(parts(entry).len(), count, "{entry}");
        }
    }
}
