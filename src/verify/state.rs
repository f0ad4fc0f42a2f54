//! State: what the signature lifts is in the archive.

use super::rule::Rule;
use super::violation::Violation;
use crate::ir::outline::{InputKind, InputOutline, Outline, State};

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
