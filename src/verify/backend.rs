//! Backend: delegates, which are opaque but for what is recorded of their results.

use serde_json::Value as Json;

use super::arguments::describe;
use super::graphs::{Callee, Checks, ScopedGraph, callee};
use super::rule::Rule;
use crate::ir::{Argument, Node, Output};

/// The higher-order operator that calls a delegate.
const DELEGATE: &str = "executorch_call_delegate";

/// Checks every delegate.
pub(super) fn check(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        if matches!(callee(node), Callee::HigherOrder(DELEGATE)) {
            module(checks, graph, node);
            arguments(checks, graph, node);
            outputs(checks, graph, node);
        }
    });
}

fn module(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node) {
    let message = match node.inputs.first().map(|input| &input.arg) {
        None => "the delegate has no lowered module".to_owned(),
        Some(Argument::Str(text)) => match lowered_module(text) {
            Ok(()) => return,
            Err(message) => message,
        },
        Some(other) => format!("the delegate's first argument is {}, no lowered module", describe(other)),
    };
    checks.report(Rule::DelegateModule, graph, node, message);
}

/// Checks the text of a lowered module: `name-backend`, or its record as JSON.
fn lowered_module(text: &str) -> Result<(), String> {
    if !text.trim_start().starts_with('{') {
        return match text.split_once('-') {
            Some((name, backend)) if !name.is_empty() && !backend.is_empty() => Ok(()),
            _ => {
                let text: String = text.chars().take(60).collect();
                Err(format!("`{text}` names no lowered module and backend; expected `module-backend`"))
            }
        };
    }
    let record: Json = serde_json::from_str(text)
        .map_err(|error| format!("the record of the lowered module is not JSON: {error}"))?;
    let field = |name: &str| record.get(name).unwrap_or(&Json::Null);
    let backend = field("backend_id").as_str().is_some_and(|name| !name.is_empty());
    for (name, is_right, expected) in [
        ("backend_id", backend, "a name"),
        ("processed_bytes", field("processed_bytes").is_string(), "text"),
        ("compile_specs", field("compile_specs").is_array(), "a list"),
        ("original_module", field("original_module").is_object(), "a program"),
    ] {
        if !is_right {
            return Err(format!("the `{name}` of the lowered module is not {expected}"));
        }
    }
    Ok(())
}

fn arguments(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node) {
    for input in node.inputs.iter().skip(1) {
        let wrong = matches!(
            input.arg,
            Argument::Graph(_)
                | Argument::Operator(_)
                | Argument::List(_)
                | Argument::Map(_)
                | Argument::CustomObj(_)
                | Argument::Str(_)
                | Argument::Strs(_)
        );
        if wrong {
            let message = format!("the delegate is given {}", describe(&input.arg));
            checks.report(Rule::DelegateArguments, graph, node, message);
        }
    }
}

fn outputs(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node) {
    let mut message = node.outputs.is_empty().then(|| "the delegate gives nothing".to_owned());
    for output in &node.outputs {
        if matches!(output, Output::Constant(_)) {
            message = Some("the delegate gives a constant".to_owned());
        }
        for value in output.values() {
            let meta = graph.graph.meta(value);
            if meta.tensor().is_none() {
                message = Some(format!("`{}` is a {}", graph.graph.name(value), meta.kind_name()));
            }
        }
    }
    if let Some(message) = message {
        checks.report(Rule::DelegateOutputs, graph, node, message);
    }
}
