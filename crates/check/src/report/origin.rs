//! Where a condition comes from, in words: what needs it, or why torch.export recorded it.
use super::model::{Cause, GuardReport, Traced};
use super::words::plural;

/// What needs a condition, or why it was recorded: `needed by view = aten.view.default (view.C1)`.
pub fn origin(guard: &GuardReport) -> String {
    let (word, what) = needed(guard);
    format!("{word} {what}")
}

/// What needs a condition, or why it was recorded, and the word before it: `needed by` or `recorded`.
pub(super) fn needed(guard: &GuardReport) -> (&'static str, String) {
    let node = guard.node.as_deref().zip(guard.op.as_deref());
    let clause = guard.clause.as_ref().map(|c| format!(" ({c})")).unwrap_or_default();
    let more = match guard.more_nodes {
        0 => String::new(),
        n => format!(", and {}", plural(n, "more node", "more nodes")),
    };
    match (guard.traced, node) {
        (Traced::Forced, Some((node, op))) => {
            ("needed by", format!("{node} = {op}{clause}{more}; torch.export recorded it"))
        }
        (_, Some((node, op))) => ("needed by", format!("{node} = {op}{clause}{more}")),
        (Traced::Asked, _) => ("needed by", asked_by(guard.cause).to_owned()),
        (_, None) if guard.cause == Cause::Declared => ("declared", guard.because.join(", ")),
        (traced, None) => {
            let line =
                if traced == Traced::First { "; this line is where the size first appears" } else { "" };
            ("recorded", format!("at export{}{line}", recorded_because(guard)))
        }
    }
}

/// What asked for a condition while torch traced the program.
fn asked_by(cause: Cause) -> &'static str {
    match cause {
        Cause::Layout => {
            "torch's check of strides at this line; torch.export recorded what the example answers"
        }
        Cause::Assertion => "an assertion of the code at this line",
        Cause::Operator => "an operator at this line; torch.export recorded it",
        Cause::Record => "this line; torch.export recorded it",
        _ => "the path of the example: the code branches on this size at this line",
    }
}

/// Why torch.export recorded a condition that no operator needs.
fn recorded_because(guard: &GuardReport) -> &'static str {
    match guard.cause {
        Cause::Specialisation => ", which specializes sizes 0 and 1",
        Cause::Branch => " as a guard: the code branched on this size",
        Cause::Layout => ": torch's check of strides asked for it",
        Cause::Operator => ": an operator asked for it",
        Cause::Divisor => "; a guard divides by this",
        Cause::Record if guard.shown.ends_with(" == 1") || guard.shown.ends_with(" == 0") => {
            ", which specializes sizes 0 and 1, from an example of that size"
        }
        Cause::Record if is_number(&guard.shown) => {
            ": the code read this size as a number (int(), range(), a comparison)"
        }
        Cause::Record if guard.shown.contains("==") => {
            ": an operator needs these sizes to agree, or the code compared them"
        }
        Cause::Record if guard.shown.contains(">=") => {
            " as a range; torch.export computes ranges as if each dynamic size were 2 or more"
        }
        _ => " as a range",
    }
}

/// Whether a condition says that something is a number.
fn is_number(shown: &str) -> bool {
    let right = shown.rsplit_once(" == ").map(|(_, right)| right);
    right.is_some_and(|right| right.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::is_number;

    #[test]
    fn equalities_of_two_sizes_are_no_numbers() {
        for (shown, number) in
            [("x.shape[0] == 16", true), ("seq == p + t", false), ("2*n == m", false), ("n >= 2", false)]
        {
            assert_eq!(is_number(shown), number, "{shown}");
        }
    }
}
