//! State: what the signature lifts is in the archive, of known sizes, and parameters stay as they are.
use super::graphs::{Callee, Checks, callee};
use super::rule::Rule;
use super::violation::Violation;
use sizewise_ir::outline::{InputKind, InputOutline, Outline, State};
use sizewise_ir::{InputSpec, Meta, OutputSpec, Sym, ValueId};
use std::sync::Arc;

/// Checks the lifted inputs against the archive's lists, where there are any.
pub(super) fn check(outline: &Outline, found: &mut Vec<Violation>) {
    let (Some(signature), Some(state)) = (&outline.signature, &outline.state) else { return };
    for input in &signature.inputs {
        if let Some(message) = missing(input, state) {
            let violation = Violation::new(Rule::StateRecorded, message);
            found.push(violation.at("", input.name.as_deref().unwrap_or_default()));
        }
    }
}

/// What the archive lacks of an input, or has of it and should not.
fn missing(input: &InputOutline, state: &State) -> Option<String> {
    let name = input.target.as_deref()?;
    let (weight, constant) = (state.weights.get(name), state.constants.contains(name));
    match input.kind {
        InputKind::Parameter => match weight {
            None => Some(format!("the parameter `{name}` is not among the archive's weights")),
            Some(false) => Some(format!("`{name}` is among the archive's weights, but not as a parameter")),
            Some(true) => None,
        },
        InputKind::Buffer { persistent: true } => (weight.is_none() && !constant)
            .then(|| format!("the buffer `{name}` is neither among the archive's weights nor its constants")),
        InputKind::Buffer { persistent: false } if weight.is_some() => {
            Some(format!("the buffer `{name}` is not persistent, yet it is among the archive's weights"))
        }
        InputKind::Buffer { persistent: false } | InputKind::TensorConstant | InputKind::CustomObj => {
            (!constant).then(|| format!("`{name}` is not among the archive's constants"))
        }
        InputKind::User | InputKind::Token | InputKind::Constant => None,
    }
}

/// What an input that is state is called, its value and its qualified name.
fn state_input(input: &InputSpec) -> Option<(&'static str, ValueId, &str)> {
    match input {
        InputSpec::Parameter { value, fqn } => Some(("parameter", *value, fqn)),
        InputSpec::Buffer { value, fqn, .. } => Some(("buffer", *value, fqn)),
        InputSpec::TensorConstant { value, fqn } => Some(("constant", *value, fqn)),
        _ => None,
    }
}

/// Refuses state of symbolic shape.
pub(super) fn check_sizes(checks: &mut Checks<'_>) {
    let graph = &checks.program.graph;
    for input in &checks.program.signature.inputs {
        let Some((what, value, fqn)) = state_input(input) else { continue };
        let Meta::Tensor(meta) = graph.meta(value) else { continue };
        let symbolic = |size: &Sym<i64>| matches!(size, Sym::Expr(_));
        let part = if meta.sizes.iter().any(symbolic) {
            "size"
        } else if meta.strides.iter().any(symbolic) {
            "stride"
        } else if symbolic(&meta.storage_offset) {
            "storage offset"
        } else {
            continue;
        };
        let message = format!("the {what} `{fqn}` has a {part} that is no number");
        checks.report_at(Rule::StateSizes, "", graph.name(value), message);
    }
}

/// Remarks state that nothing reads: it takes memory, and a rewriting may have lost what was to read it.
pub(super) fn check_read(checks: &mut Checks<'_>) {
    let program = checks.program;
    let mut read = vec![false; program.graph.value_count()];
    let mut mark = |value: ValueId| read[value.index()] = true;
    program.graph.outputs().iter().for_each(|output| output.for_each_value(&mut mark));
    for node in program.graph.nodes() {
        node.inputs.iter().for_each(|input| input.arg.for_each_value(&mut mark));
    }
    for (what, value, fqn) in program.signature.inputs.iter().filter_map(state_input) {
        if !read[value.index()] {
            let message = format!("nothing reads the {what} `{fqn}`");
            checks.report_at(Rule::StateRead, "", program.graph.name(value), message);
        }
    }
}

/// Remarks where a parameter is written: by an operator that takes it, or as an output.
pub(super) fn check_mutation(checks: &mut Checks<'_>) {
    let program = checks.program;
    for output in &program.signature.outputs {
        if let OutputSpec::ParameterMutation { fqn } = output {
            let message = format!("an output is the new value of the parameter `{fqn}`");
            checks.report_at(Rule::ParameterMutation, "", "output", message);
        }
    }
    let parameters: Vec<(ValueId, &Arc<str>)> = program
        .signature
        .inputs
        .iter()
        .filter_map(|input| match input {
            InputSpec::Parameter { value, fqn } => Some((*value, fqn)),
            _ => None,
        })
        .collect();
    let graph = checks.graphs[0].clone();
    for node in program.graph.nodes() {
        let Callee::Op { name, .. } = callee(node) else { continue };
        let Some(schema) = checks.schema(name).filter(|schema| schema.mutable) else { continue };
        for (parameter, input) in node.matched(schema) {
            let written =
                parameter.and_then(|index| schema.args.get(index)).is_some_and(|spec| spec.is_written());
            if !written {
                continue;
            }
            let mut values = Vec::new();
            input.arg.for_each_value(&mut |value| values.push(value));
            for (_, fqn) in parameters.iter().filter(|(value, _)| values.contains(value)) {
                let message = format!("`{name}` writes the parameter `{fqn}`");
                checks.report(Rule::ParameterMutation, &graph, node, message);
            }
        }
    }
}
