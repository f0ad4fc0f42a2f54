//! How callers pass what a program takes: by position or by name, in which order, in which containers. torch refuses a
//! call that differs from the recorded one in any of these.
use super::side::{Input, Side};
use sizewise_ir::{Container, PathStep, Program, TreeKind};

/// Inputs of both programs that correspond: their positions among the inputs of OLD and of NEW.
pub(super) type Pairs = Vec<(usize, usize)>;

/// A place among the arguments of a call.
struct ArgumentPlace<'i> {
    /// The number of a positional argument; `None` for one that is passed by name.
    position: Option<usize>,
    /// The way to the value within the argument: `['a']`.
    within: &'i str,
}

impl ArgumentPlace<'_> {
    /// The place of an input, if calls are recorded.
    fn of(input: &Input) -> Option<ArgumentPlace<'_>> {
        let call = input.call.as_deref()?;
        let head = call.find(']')? + 1;
        let position =
            call[..head].strip_prefix("args[").and_then(|rest| rest.strip_suffix(']')?.parse().ok());
        Some(ArgumentPlace { position, within: &call[head..] })
    }
}

/// Whether two inputs that differ in their names are the same for calls by position.
pub(super) fn are_at_one_place(old: &Input, new: &Input) -> bool {
    let is_within = match (ArgumentPlace::of(old), ArgumentPlace::of(new)) {
        (Some(was), Some(is)) => was.within == is.within,
        _ => true,
    };
    is_within && !old.is_keyword && !new.is_keyword
}

/// Whether positional arguments that correspond are in another order. Names have none.
pub(super) fn are_reordered(before: &[Input], after: &[Input], pairs: &Pairs) -> bool {
    let positions = pairs.iter().filter_map(|&(i, j)| {
        Some((ArgumentPlace::of(&before[i])?.position?, ArgumentPlace::of(&after[j])?.position?))
    });
    let mut positions: Vec<(usize, usize)> = positions.collect();
    positions.sort_unstable();
    positions.windows(2).any(|pair| pair[0].1 > pair[1].1)
}

/// What else differs in how inputs that correspond are passed, in words.
pub(super) fn changes(old: &Side, new: &Side, pairs: &Pairs) -> Vec<String> {
    let mut changes = Vec::new();
    for &(i, j) in pairs {
        let (before, after) = (&old.inputs[i], &new.inputs[j]);
        let (Some(was), Some(is)) = (ArgumentPlace::of(before), ArgumentPlace::of(after)) else { continue };
        let path = &after.path;
        match (was.position, is.position) {
            (Some(_), None) => {
                changes.push(format!("the input {path} was passed by position and is by name"))
            }
            (None, Some(_)) => {
                changes.push(format!("the input {path} was passed by name and is by position"))
            }
            _ if was.within != is.within => {
                changes.push(format!("the input {} is passed as {path}", before.path));
            }
            _ => {}
        }
    }
    if let (Some(one), Some(other)) = (old.source.program(), new.source.program()) {
        changes.extend(containers(one.program(), other.program()));
    }
    changes
}

/// The containers of arguments that are of another type.
fn containers(old: &Program, new: &Program) -> Vec<String> {
    let of = |program: &Program| program.containers().unwrap_or_default();
    let (before, after) = (of(old), of(new));
    let mut changes = Vec::new();
    // Each is listed by the name of its argument and by its position; one may be both an argument and `*args`.
    for container in &before {
        let here: Vec<&Container> = after.iter().filter(|other| other.path == container.path).collect();
        let is_kept = here.iter().any(|other| is_alike(&container.kind, &other.kind));
        if let (Some(other), false) = (here.first(), is_kept) {
            let (was, is) = (word(&container.kind), word(&other.kind));
            changes.push((&container.path, format!("was {was} and is {is}")));
        }
    }
    // The position of an argument is told by its name.
    let is_named = |path: &[PathStep]| matches!(path.first(), Some(PathStep::Parameter(_)));
    let has_names = changes.iter().any(|(path, _)| is_named(path));
    let shown = changes.into_iter().filter(|(path, _)| is_named(path) || !has_names);
    let text = |path: &[PathStep]| match path.split_first() {
        Some((PathStep::Index(at), rest)) => format!("number {at}{}", joined(rest)),
        _ => joined(path),
    };
    shown.map(|(path, says)| format!("the input {} {says}", text(path))).collect()
}

fn joined(path: &[PathStep]) -> String {
    path.iter().map(ToString::to_string).collect()
}

/// Whether torch takes one for the other.
fn is_alike(old: &TreeKind, new: &TreeKind) -> bool {
    match (old, new) {
        // Keys that were added or removed are inputs that were.
        (TreeKind::Dict(_), TreeKind::Dict(_)) => true,
        (TreeKind::NamedTuple { class: was, .. }, TreeKind::NamedTuple { class: is, .. })
        | (TreeKind::Dataclass { class: was, .. }, TreeKind::Dataclass { class: is, .. })
        | (TreeKind::Other { class: was, .. }, TreeKind::Other { class: is, .. }) => was == is,
        _ => old == new,
    }
}

/// What a container is.
fn word(kind: &TreeKind) -> String {
    match kind {
        TreeKind::Leaf => "a value".to_owned(),
        TreeKind::Tuple => "a tuple".to_owned(),
        TreeKind::List => "a list".to_owned(),
        TreeKind::Deque => "a deque".to_owned(),
        TreeKind::Dict(_) => "a dictionary".to_owned(),
        TreeKind::NamedTuple { class, .. }
        | TreeKind::Dataclass { class, .. }
        | TreeKind::Other { class, .. } => format!("a {class}"),
    }
}
