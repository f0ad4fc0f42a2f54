//! Backend: delegates, which are opaque but for their lowered modules and what is recorded of their results.
use super::arguments::describe;
use super::graphs::{Callee, Checks, ScopedGraph, callee};
use super::lowered_module::{self, LoweredModule, Operand};
use super::rule::Rule;
use sizewise_ir::{Argument, Node, Output, ValueId};

/// The higher-order operator that calls a delegate.
const DELEGATE: &str = "executorch_call_delegate";

/// Checks every delegate.
pub(super) fn check(checks: &mut Checks<'_>) {
    checks.each_node(|checks, graph, node| {
        if matches!(callee(node), Callee::HigherOrder(DELEGATE)) {
            let module = module(checks, graph, node);
            arguments(checks, graph, node);
            outputs(checks, graph, node);
            if let Some(module) = module {
                operands(checks, graph, node, &module);
                results(checks, graph, node, &module);
            }
        }
    });
}

/// Checks the lowered module, and gives it where it is recorded with the call.
fn module(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node) -> Option<LoweredModule> {
    let message = match node.inputs.first().map(|input| &input.arg) {
        None => "the delegate has no lowered module".to_owned(),
        Some(Argument::Str(text)) if text.trim_start().starts_with('{') => match lowered_module::read(text) {
            Ok(module) => return Some(module),
            Err(message) => message,
        },
        Some(Argument::Str(text)) => match text.split_once('-') {
            Some((name, backend)) if !name.is_empty() && !backend.is_empty() => return None,
            _ => {
                let text: String = text.chars().take(60).collect();
                format!("`{text}` names no lowered module and backend; expected `module-backend`")
            }
        },
        Some(other) => format!("the delegate's first argument is {}, no lowered module", describe(other)),
    };
    checks.report(Rule::DelegateModule, graph, node, message);
    None
}

/// Checks that a delegate is given what its lowered module takes.
fn operands(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, module: &LoweredModule) {
    let given = &node.inputs[1..];
    let values: usize = given.iter().map(|input| count(&input.arg)).sum();
    if values != module.takes.len() {
        let message = format!(
            "the delegate is given {values} operands, its lowered module takes {}",
            module.takes.len()
        );
        checks.report(Rule::DelegateArguments, graph, node, message);
        return;
    }
    let mut operands = Vec::new();
    given.iter().for_each(|input| input.arg.for_each_value(&mut |value| operands.push(value)));
    if operands.len() != values {
        // Some are numbers.
        return;
    }
    fit(checks, Rule::DelegateArguments, graph, node, operands.iter().zip(&module.takes));
}

/// How many operands an argument is.
fn count(argument: &Argument) -> usize {
    match argument {
        Argument::Tensors(items) => items.len(),
        Argument::OptionalTensors(items) => items.len(),
        Argument::Ints(items) => items.len(),
        Argument::SymInts(items) => items.len(),
        Argument::Floats(items) => items.len(),
        _ => 1,
    }
}

/// Checks that a delegate gives what its lowered module gives.
fn results(checks: &mut Checks<'_>, graph: &ScopedGraph<'_>, node: &Node, module: &LoweredModule) {
    let values: Vec<_> = node.output_values().collect();
    if values.len() != module.gives.len() {
        if values.len() != module.returns {
            let message = format!(
                "the delegate gives {} values, its lowered module {}",
                values.len(),
                module.gives.len()
            );
            checks.report(Rule::DelegateOutputs, graph, node, message);
        }
        return;
    }
    fit(checks, Rule::DelegateOutputs, graph, node, values.iter().zip(&module.gives));
}

/// Checks that values are recorded as the tensors of the lowered module that they are.
fn fit<'m>(
    checks: &mut Checks<'_>,
    rule: Rule,
    graph: &ScopedGraph<'_>,
    node: &Node,
    pairs: impl Iterator<Item = (&'m ValueId, &'m Operand)>,
) {
    for (value, wanted) in pairs {
        if let Some(differs) = graph.graph.meta(*value).tensor().and_then(|meta| wanted.differs(meta)) {
            let (own, name) = (&wanted.name, graph.graph.name(*value));
            checks.report(rule, graph, node, format!("`{own}` of the lowered module {differs}, as `{name}`"));
        }
    }
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
