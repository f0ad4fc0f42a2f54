//! What callers see of a program apart from sizes: inputs and outputs, their names, order and kinds.
use super::calls::{self, Pairs};
use super::side::{Input, Kind, Side};
use sizewise_ir::Constant;

/// What is compared of the interfaces.
pub(super) struct Interface {
    pub pairs: Pairs,
    /// What changed, in words.
    pub changes: Vec<String>,
    /// Whether calls of one program do not fit the other.
    pub is_broken: bool,
}

/// Compares the inputs and the outputs.
pub(super) fn compare(old: &Side, new: &Side) -> Interface {
    let (before, after) = (&old.inputs, &new.inputs);
    let mut interface = Interface { pairs: Pairs::new(), changes: Vec::new(), is_broken: false };
    let mut free: Vec<usize> = (0..after.len()).collect();
    let mut unmatched = Vec::new();
    for (i, input) in before.iter().enumerate() {
        let same = |&&j: &&usize| after[j].path == input.path;
        let named = |&&j: &&usize| after[j].placeholder == input.placeholder;
        match free.iter().find(same).or_else(|| free.iter().find(named)).copied() {
            Some(j) => {
                free.retain(|&other| other != j);
                interface.pairs.push((i, j));
            }
            None => unmatched.push(i),
        }
    }
    for i in unmatched {
        // An input of another name at the same place is the same for calls by position.
        if free.contains(&i) && calls::are_at_one_place(&before[i], &after[i]) {
            free.retain(|&other| other != i);
            interface.pairs.push((i, i));
            let (from, to) = (&before[i].path, &after[i].path);
            interface.changes.push(format!("the input {from} is called {to}"));
        } else {
            interface.is_broken = true;
            interface.changes.push(format!("the input {} is removed", before[i].path));
        }
    }
    for j in free {
        interface.is_broken = true;
        interface.changes.push(format!("the input {} is added", after[j].path));
    }
    interface.pairs.sort_unstable();
    if interface.pairs.windows(2).any(|pair| pair[0].1 > pair[1].1) {
        let order: Vec<&str> = after.iter().map(|input| &*input.path).collect();
        interface.changes.push(format!("the inputs are in another order: {}", order.join(", ")));
        interface.is_broken |= calls::are_reordered(before, after, &interface.pairs);
    }
    let changes = calls::changes(old, new, &interface.pairs);
    interface.is_broken |= !changes.is_empty();
    interface.changes.extend(changes);
    for (i, j) in interface.pairs.clone() {
        kinds(&before[i], &after[j], &mut interface);
    }
    if let (Some(before), Some(after)) = (&old.outputs, &new.outputs) {
        outputs(before, after, &mut interface.changes);
    }
    interface
}

/// Compares what two inputs are.
fn kinds(old: &Input, new: &Input, interface: &mut Interface) {
    let path = &new.path;
    let (before, after) = (kind(old), kind(new));
    if before == after {
        return;
    }
    // What one keeps as a number, the other may have as a constant: conditions tell.
    let is_number = |kind: &Kind| match kind {
        Kind::Scalar(_) => true,
        Kind::Constant(value) => !matches!(value, Constant::None | Constant::Str(_)),
        _ => false,
    };
    let are_tensors = matches!((&old.kind, &new.kind), (Kind::Tensor { .. }, Kind::Tensor { .. }));
    let are_numbers = is_number(&old.kind) && is_number(&new.kind);
    interface.is_broken |= !(are_tensors || are_numbers);
    interface.changes.push(format!("the input {path} was {before} and is {after}"));
}

/// What an input is, in words.
fn kind(input: &Input) -> String {
    match &input.kind {
        Kind::Tensor { sizes, dtype, .. } => match sizes.len() {
            1 => format!("a {dtype} tensor of 1 dimension"),
            rank => format!("a {dtype} tensor of {rank} dimensions"),
        },
        Kind::Scalar(_) => "a number".to_owned(),
        Kind::Constant(value) => format!("the constant {value}"),
        Kind::Other => "no tensor".to_owned(),
    }
}

/// Compares the number and the kinds of the outputs.
fn outputs(before: &[String], after: &[String], changes: &mut Vec<String>) {
    if before.len() != after.len() {
        changes.push(format!("there were {} outputs and are {}", before.len(), after.len()));
        return;
    }
    for (i, (was, is)) in before.iter().zip(after).enumerate() {
        if was != is {
            changes.push(format!("output {i} was {was} and is {is}"));
        }
    }
}
