//! Where a condition comes from, in words: what needs it, or why torch.export recorded it.
//! This is the one home of the words of a cause.
use super::model::{Cause, ConditionKind, GuardReport, Traced};
use super::words::{plural, within};
use crate::propagate::condition_text;

/// The longest condition of the exported module that is shown, in characters.
const MAX_CHECKED: usize = 60;
/// How it is said that an operator needs a condition.
pub(super) const NEEDED_BY: &str = "needed by";
/// How it is said that an operator refuses the counterexample of a condition.
pub(super) const FAILS_IN: &str = "fails in";
/// The longest condition of an operator that is shown, in characters.
const MAX_SENTENCE: usize = 100;

/// What needs a condition, or why it was recorded: `needed by view = aten.view.default (view.C1)`.
pub fn origin(guard: &GuardReport) -> String {
    let (word, what) = needed(guard);
    format!("{word} {what}")
}

/// What needs a condition, or why it was recorded, and the word before it: `needed by` or `because`.
pub(super) fn needed(guard: &GuardReport) -> (&'static str, String) {
    needed_for(guard, of_guard(guard))
}

/// The same, behind an error for which the reason was given.
pub(super) fn needed_again(guard: &GuardReport) -> (&'static str, String) {
    needed_for(guard, "as above")
}

/// Why torch.export recorded the condition of an error; `None` if something else is the reason.
pub(super) fn reason(guard: &GuardReport) -> Option<&'static str> {
    let is_recorded = guard.node.is_none() && guard.traced != Traced::Asked && guard.cause != Cause::Declared;
    is_recorded.then(|| of_guard(guard))
}

/// What the exported module checks, where the reason of an error says it.
pub(super) fn checks(guard: &GuardReport) -> Option<&str> {
    // What is divided by a quotient says nothing to people.
    let is_readable = |checks: &&str| checks.chars().count() <= MAX_CHECKED && !checks.contains("// (");
    guard.recorded.as_deref().filter(is_readable).filter(|_| reason(guard).is_some())
}

/// What an operator's condition says, to go behind its code: `: the shapes broadcast`; nothing if that is long.
pub(super) fn says(guard: &GuardReport) -> String {
    let known = guard.says.or_else(|| condition_text(guard.clause.as_deref()?));
    let sentence = known.unwrap_or_default();
    let first = sentence.split_once(". ").map_or(sentence, |(first, _)| first);
    match first.chars().count() {
        1..=MAX_SENTENCE => format!(": {}", within(first)),
        _ => String::new(),
    }
}

fn needed_for(guard: &GuardReport, reason: &str) -> (&'static str, String) {
    let node = guard.node.as_deref().zip(guard.op.as_deref());
    let clause = guard.clause.as_ref().filter(|_| guard.kind != ConditionKind::Runtime);
    let clause = clause.map(|c| format!(" ({c})")).unwrap_or_default();
    let more = match guard.more_nodes {
        0 => String::new(),
        n => format!(", and {}", plural(n, "more node", "more nodes")),
    };
    match (guard.traced, node) {
        (_, Some((node, "aten._assert_scalar.default"))) if guard.kind != ConditionKind::Runtime => {
            let alone = if guard.unneeded { "; no operator refuses the example" } else { "" };
            ("because", format!("the program asserts it when it runs ({node}{more}){alone}"))
        }
        (Traced::Compared, Some((node, op))) => {
            let checks = guard.recorded.as_deref().filter(|checks| checks.chars().count() <= MAX_CHECKED);
            let checks = checks.map(|checks| format!(", `{checks}`")).unwrap_or_default();
            let what = "torch compares the end of a slice with the size that it cuts; the export keeps what the example answers";
            ("because", format!("{what}{checks} ({node} = {op})"))
        }
        // What fails at the counterexample may need less.
        (Traced::Fails, Some((node, op))) => (FAILS_IN, format!("{node} = {op}{clause}{more}")),
        (_, Some((node, op))) => (NEEDED_BY, format!("{node} = {op}{clause}{more}")),
        (Traced::Asked, _) => ("because", asked_by(guard.cause, &guard.shown).to_owned()),
        (_, None) if guard.cause == Cause::Declared => ("declared", guard.because.join(", ")),
        (traced, None) => {
            let line = match traced {
                Traced::First => " (the line is where the size first appears)",
                _ => "",
            };
            ("because", format!("{}{reason}{line}", checked(guard)))
        }
    }
}

/// What the exported module checks, before the reason of it, and whether operators need that.
fn checked(guard: &GuardReport) -> String {
    let alone = "no operator needs it";
    // What the trace made a number may have gone into the graph as one.
    match (checks(guard), guard.unneeded && guard.cause != Cause::Record) {
        (Some(checks), false) => format!("the exported module checks `{checks}`: "),
        (Some(checks), true) => format!("the exported module checks `{checks}`, and {alone}: "),
        (None, true) if reason(guard).is_some() => format!("{alone}: "),
        (None, _) => String::new(),
    }
}

/// Why a condition is there, in words that many conditions share: `needed by aten.view.default`, or why torch.export recorded it.
pub fn cause(guard: &GuardReport) -> String {
    let words = match (&guard.op, guard.traced) {
        (Some(op), _) if op == "aten._assert_scalar.default" => "the program asserts it when it runs",
        (Some(_), Traced::Compared) => "torch compares the end of a slice with the size that it cuts",
        (Some(op), Traced::Fails) => return format!("{FAILS_IN} {op}"),
        (Some(op), _) => return format!("{NEEDED_BY} {op}"),
        (None, Traced::Asked) => asked_by(guard.cause, &guard.shown),
        (None, _) => of_guard(guard),
    };
    words.split(';').next().unwrap_or(words).to_owned()
}

/// What asked for a condition while torch traced the program.
fn asked_by(cause: Cause, shown: &str) -> &'static str {
    match cause {
        Cause::Layout => {
            "torch checks here how memory is laid out; the export keeps only what the example answers"
        }
        Cause::Assertion => "this line asserts it",
        Cause::Operator => "an operator at this line needs it",
        Cause::Record => "this line needs it, or reads the size as a number",
        Cause::Branch if is_number(shown) => {
            "this line reads the size as a number (range(), int(), len()), or compares it; the export keeps only what the example answers"
        }
        Cause::Branch => {
            "this line branches on the size; the export keeps only the branch that the example takes"
        }
        Cause::Forgotten => "the program takes both as one size",
        _ => "torch asked for it at this line",
    }
}

fn of_guard(guard: &GuardReport) -> &'static str {
    let checks = guard.recorded.as_deref().unwrap_or(&guard.shown);
    let shown = if guard.cause == Cause::Branch { checks } else { &guard.shown };
    recorded_because(guard.cause, guard.kind == ConditionKind::Contract, shown)
}

/// Why torch.export recorded a condition that no operator needs.
pub fn recorded_because(cause: Cause, is_contract: bool, shown: &str) -> &'static str {
    match cause {
        Cause::Forgotten => "the program takes both as one size",
        Cause::Specialisation if is_contract => {
            "torch.export takes dynamic sizes to be 2 or more; 0 and 1 are constants to it"
        }
        Cause::Branch if is_small_and_computed(shown) => {
            "the trace compared a computed size that was 0 or 1 in the example, and the export keeps only what the example answers; \
             an example in which it is 2 or more may keep it dynamic"
        }
        // An archive has the condition, and not what asked for it.
        Cause::Specialisation | Cause::Branch => {
            "the trace compared these sizes, and the export keeps only what the example answers"
        }
        Cause::Layout => {
            "torch checks how memory is laid out; the export keeps only what the example answers"
        }
        Cause::Operator => "an operator asked for it while torch traced the program",
        Cause::Divisor => "a guard of the program divides by it",
        Cause::Assertion => "the program asserts it",
        Cause::Overflow => "sizes and element counts have 64 bits",
        Cause::Data => "no data pass the program's own checks otherwise",
        Cause::Declared => "the model declares the size as a number",
        Cause::Record if shown.ends_with(" == 1") || shown.ends_with(" == 0") => {
            "the example has this size, and torch.export makes sizes 0 and 1 static"
        }
        Cause::Record if is_number(shown) => {
            "the trace made this size a number: the code, or a library that it calls, reads it (int(), range(), len()), or compares it \
             with another size"
        }
        Cause::Record if shown.contains("==") => {
            "an operator needs these sizes to agree, or the code compares them"
        }
        Cause::Record if shown.contains(['<', '>']) => {
            "torch.export recorded this range for an `if`, an index, a slice, or a computed size that it takes to be 2 or more"
        }
        Cause::Record => "torch.export recorded this range",
    }
}

/// Whether a condition says that a product or a quotient is 0 or 1.
fn is_small_and_computed(shown: &str) -> bool {
    let size = shown.strip_suffix(" == 1").or_else(|| shown.strip_suffix(" == 0"));
    size.is_some_and(|size| size.contains(['*', '/']) && !size.contains(['%', '=', '<', '>', '!']))
}

/// Whether a condition says that something is a number.
fn is_number(shown: &str) -> bool {
    let right = shown.rsplit_once(" == ").map(|(_, right)| right);
    right.is_some_and(|right| right.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::{is_number, is_small_and_computed};

    #[test]
    fn products_and_quotients_that_are_0_or_1_are_computed_sizes() {
        for (shown, computed) in [
            ("c // 16 == 1", true),
            ("n*m == 0", true),
            ("w % 2 == 0", false),
            ("(h // 2) % 2 == 0", false),
            ("n == 1", false),
            ("c // 16 == 12", false),
            ("a != b or c*d == 1", false),
        ] {
            assert_eq!(is_small_and_computed(shown), computed, "{shown}");
        }
    }

    #[test]
    fn equalities_of_two_sizes_are_no_numbers() {
        for (shown, number) in
            [("x.shape[0] == 16", true), ("seq == p + t", false), ("2*n == m", false), ("n >= 2", false)]
        {
            assert_eq!(is_number(shown), number, "{shown}");
        }
    }
}
