//! Signature: entry for entry what the graph takes and gives.
use super::rule::Rule;
use super::violation::Violation;
use rustc_hash::FxHashSet;
use sizewise_ir::outline::{
    InputKind, InputOutline, Outline, OutlineStep, OutputKind, SignatureOutline, StepKind, ValueKind,
};

/// Checks the signature and the calls of modules.
pub(super) fn check(outline: &Outline, found: &mut Vec<Violation>) {
    if let Some(signature) = &outline.signature {
        inputs(outline, signature, found);
        outputs(outline, signature, found);
        mutations(signature, found);
    }
    let names: FxHashSet<&str> =
        outline.graph.steps.iter().flat_map(|step| &step.makes).map(|(name, _)| name.as_str()).collect();
    for module in &outline.modules {
        for value in module.values.iter().filter(|value| !names.contains(value.as_str())) {
            let message = format!("the call of module `{}` names `{value}`, which is no value", module.fqn);
            found.push(Violation::new(Rule::ModuleCallValues, message));
        }
    }
}

fn count(rule: Rule, what: &str, signature: usize, graph: usize, found: &mut Vec<Violation>) {
    if signature != graph {
        let message = format!("the signature has {signature} {what}s but the graph {graph}");
        found.push(Violation::new(rule, message));
    }
}

fn inputs(outline: &Outline, signature: &SignatureOutline, found: &mut Vec<Violation>) {
    let steps: Vec<&OutlineStep> =
        outline.graph.steps.iter().filter(|step| step.kind == StepKind::Input).collect();
    count(Rule::InputCount, "input", signature.inputs.len(), steps.len(), found);
    for (spec, step) in signature.inputs.iter().zip(steps) {
        let value = step.makes.first();
        match (&spec.name, value) {
            (Some(name), Some((value, _))) if name == value => {}
            (Some(name), Some((value, _))) => {
                let message = format!("the signature names `{name}` where the graph has `{value}`");
                found.push(Violation::new(Rule::InputName, message).at("", &step.name));
                continue;
            }
            (Some(name), None) => {
                let message = format!("the signature names `{name}` where the graph has a constant");
                found.push(Violation::new(Rule::InputName, message).at("", &step.name));
                continue;
            }
            (None, _) => {}
        }
        if let Some(message) = wrong_kind(spec, value.map(|(_, kind)| *kind)) {
            found.push(Violation::new(Rule::InputKind, message).at("", &step.name));
        }
    }
}

/// What is wrong with the kind of an input.
fn wrong_kind(spec: &InputOutline, kind: Option<ValueKind>) -> Option<String> {
    let (what, wanted) = match spec.kind {
        InputKind::Parameter => ("parameter", ValueKind::Tensor),
        InputKind::Buffer { .. } => ("buffer", ValueKind::Tensor),
        InputKind::TensorConstant => ("constant tensor", ValueKind::Tensor),
        InputKind::CustomObj => ("custom object", ValueKind::CustomObj),
        InputKind::Constant => {
            return kind
                .map(|kind| format!("the signature has a constant where the graph has a {}", kind.name()));
        }
        InputKind::User | InputKind::Token => return None,
    };
    let kind = kind?;
    let fits = kind == wanted || kind == ValueKind::Unknown;
    let target = spec.target.as_deref().unwrap_or_default();
    (!fits).then(|| format!("the {what} `{target}` is a {} in the graph", kind.name()))
}

/// Where a kind of output stands among the others.
fn rank(kind: OutputKind) -> usize {
    match kind {
        OutputKind::Token => 0,
        OutputKind::BufferMutation | OutputKind::ParameterMutation | OutputKind::UserInputMutation => 1,
        OutputKind::Loss
        | OutputKind::GradientToParameter
        | OutputKind::GradientToUserInput
        | OutputKind::User => 2,
    }
}

fn outputs(outline: &Outline, signature: &SignatureOutline, found: &mut Vec<Violation>) {
    let returns = &outline.graph.returns;
    count(Rule::OutputCount, "output", signature.outputs.len(), returns.len(), found);
    let mut highest = 0;
    for (index, (spec, value)) in signature.outputs.iter().zip(returns).enumerate() {
        if let Some(name) = &spec.name
            && spec.name != *value
        {
            let there = value.as_ref().map_or("a constant".to_owned(), |value| format!("`{value}`"));
            let message = format!("output {index} of the signature is `{name}` where the graph has {there}");
            found.push(Violation::new(Rule::OutputName, message).at("", "output"));
        }
        let rank = rank(spec.kind);
        if rank < highest {
            let what = if rank == 0 { "a token" } else { "the new value of state or an input" };
            let message = format!("output {index} is {what} and stands behind outputs of a later kind");
            found.push(Violation::new(Rule::OutputOrder, message).at("", "output"));
        }
        highest = highest.max(rank);
    }
}

fn mutations(signature: &SignatureOutline, found: &mut Vec<Violation>) {
    let mut changed = FxHashSet::default();
    for (index, output) in signature.outputs.iter().enumerate() {
        let Some(target) = &output.target else { continue };
        let is_target = |input: &&InputOutline| match output.kind {
            OutputKind::BufferMutation => {
                matches!(input.kind, InputKind::Buffer { .. }) && input.target.as_ref() == Some(target)
            }
            OutputKind::ParameterMutation | OutputKind::GradientToParameter => {
                input.kind == InputKind::Parameter && input.target.as_ref() == Some(target)
            }
            _ => input.kind == InputKind::User && input.name.as_ref() == Some(target),
        };
        let what = match output.kind {
            OutputKind::BufferMutation => "buffer",
            OutputKind::ParameterMutation | OutputKind::GradientToParameter => "parameter",
            _ => "user input",
        };
        if !signature.inputs.iter().any(|input| is_target(&input)) {
            let message = format!("output {index} is for `{target}`, which is no {what}");
            found.push(Violation::new(Rule::MutationTarget, message).at("", "output"));
        } else if rank(output.kind) == 1 && !changed.insert((what, target)) {
            let message = format!("output {index} changes the {what} `{target}` a second time");
            found.push(Violation::new(Rule::MutationTarget, message).at("", "output"));
        }
    }
}
