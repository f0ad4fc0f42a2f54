//! What can be done besides the fixes, and why there is no fix where there is none.
use super::obligation::NO_DATA_THERE;
use super::prove::TAKEN;
use crate::report::{
    Assumed, Cause, GuardReport, GuardVerdict, Outcome, Report, SymbolReport, Traced, dimensions, origin,
};
use sizewise_env::Clause;

/// The most advice in one report.
const MAX_ADVICE: usize = 3;

/// The most dimensions that advice names.
const MAX_NAMED: usize = 4;

/// Adds advice and the table of dimensions to a report that has its fixes, and says in words where its open conditions come
/// from.
pub(super) fn advise(report: &mut Report) {
    report.dimensions = dimensions(report);
    let open: Vec<usize> =
        (0..report.guards.len()).filter(|&i| report.guards[i].verdict != GuardVerdict::Implied).collect();
    for i in open {
        report.guards[i].origin = Some(origin(&report.guards[i]));
        report.guards[i].settled_by = settled_by(report, &report.guards[i]);
    }
    if report.verdict != Outcome::Violated {
        return;
    }
    let mut help: Vec<String> = Vec::new();
    if report.fixes.is_empty() {
        help.push(why_none(report));
    } else if report.fixes.iter().any(|fix| !fix.proved) {
        help.push(format!("{} to have the fix proved", declare(report)));
    }
    let errors = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && !g.follows);
    for text in read_as_numbers(report).into_iter().chain(errors.filter_map(of_condition)) {
        if help.len() < MAX_ADVICE && !help.contains(&text) {
            help.push(text);
        }
    }
    report.help = help;
}

/// What to do about sizes that the code reads as numbers.
fn read_as_numbers(report: &Report) -> Option<String> {
    let errors = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated && !g.follows);
    let read = errors.filter_map(|guard| {
        let (size, value) = guard.shown.split_once(" == ")?;
        let is_number = value.len() > 1 || !matches!(value, "0" | "1");
        let is_read = guard.cause == Cause::Record && guard.traced == Traced::First && is_number;
        (is_read && !size.contains([' ', '(']) && value.bytes().all(|c| c.is_ascii_digit())).then_some(size)
    });
    let sizes: Vec<&str> = read.collect();
    let (names, they, are) = match sizes.as_slice() {
        [] => return None,
        [size] => ((*size).to_owned(), "it", "is a number"),
        [sizes @ .., last] => (format!("{} and {last}", sizes.join(", ")), "them", "are numbers"),
    };
    Some(format!(
        "{names} {are} in the program: the code, or a library that it calls, reads or compares {they} while it is traced (int(), \
         range(), a layer that loops over steps). For other sizes pad the input, export once for each, or write the loop with \
         torch.while_loop or scan"
    ))
}

/// What to do about the cause of one condition.
fn of_condition(guard: &GuardReport) -> Option<String> {
    let shown = &guard.shown;
    let place = guard.location.as_ref().map(|line| format!(" before {line}")).unwrap_or_default();
    match guard.cause {
        // Data pass at other sizes, and no condition is known that says at which.
        Cause::Data if guard.clause.as_deref() == Some(NO_DATA_THERE) => None,
        Cause::Data => Some(format!(
            "state it in the code, `torch._check({shown})`{place}, so that other inputs are refused"
        )),
        Cause::Record => {
            let (size, value) = shown.split_once(" == ")?;
            // Only sizes of inputs are read or specialized.
            if size.contains([' ', '(']) || guard.clause.as_deref() == Some(Clause::RecordedSize.name()) {
                return None;
            }
            match value {
                "0" | "1" => Some(format!(
                    "torch.export specializes sizes 0 and 1, and {size} was {value} in the example: export again with an \
                     example in which it is 2 or more"
                )),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Why there is no fix, or what to do where there is no spec that could be changed.
fn why_none(report: &Report) -> String {
    let errors = report.guards.iter().filter(|g| g.verdict == GuardVerdict::Violated);
    let at_example = errors.clone().any(|g| g.witness.as_ref().is_some_and(|w| w.is_empty()));
    if !report.unsupported.is_empty() {
        return format!("no fix: no spec can be proved while a node is skipped; {}", declare(report));
    }
    if !report.mismatches.is_empty() {
        return "no fix: the program itself is wrong, whatever the spec is; export it again".to_string();
    }
    if report.has("nothing-works") {
        return "no fix: at no size that the spec allows the program works; its other sizes, or the program, have to change"
            .to_string();
    }
    if at_example {
        return "no fix: the program fails at the very sizes that it was traced with; export it again with an example that runs"
            .to_string();
    }
    if matches!(report.assumed, Assumed::Contract | Assumed::Assertions) {
        return "no spec: none was given; `sizewise spec widen PROGRAM` writes one under which everything is proved"
            .to_string();
    }
    "no fix: no ranges, multiples or relations of the named dimensions were found under which everything is proved; a larger \
     budget (--budget 10) may find some"
        .to_string()
}

/// Asks for declarations of the operators that were skipped.
fn declare(report: &Report) -> String {
    let mut operators: Vec<&str> = report.unsupported.iter().map(|node| node.op.as_str()).collect();
    operators.sort_unstable();
    operators.dedup();
    let more = if operators.len() > MAX_NAMED { " and others" } else { "" };
    operators.truncate(MAX_NAMED);
    format!("declare {}{more} with --ops (docs/operators.md)", operators.join(", "))
}

/// What would settle an undecided condition, in a line.
fn settled_by(report: &Report, guard: &GuardReport) -> Option<String> {
    let reason = guard.reason.as_deref().filter(|_| guard.verdict == GuardVerdict::Unknown)?;
    let ran_out = reason.contains("(budget: ") || reason.contains("the budget leaves");
    if let Some(first) = report.unsupported.first().filter(|_| !ran_out) {
        return Some(format!(
            "a declaration of {} (--ops, see docs/operators.md), if it depends on its result",
            first.op
        ));
    }
    if ran_out {
        return Some(format!("a larger budget (--budget 10), or {}", narrower(report, guard, true)));
    }
    if reason == TAKEN {
        let narrower = narrower(report, guard, false);
        return Some(format!(
            "{narrower} under which it holds; where it does not, the program was seen to run"
        ));
    }
    if guard.witness.is_some() || reason.contains("counterexample") {
        return Some(format!("{} that leaves out where it is false", narrower(report, guard, false)));
    }
    None
}

/// `a maximum for h, w`, if that is asked for and they have none; else `a narrower range for h, w`.
fn narrower(report: &Report, guard: &GuardReport, maximum: bool) -> String {
    let is_word = |c: char| c == '_' || c.is_alphanumeric();
    let words: Vec<&str> = guard.expr.split(|c| !is_word(c)).collect();
    let speaks = report.symbols.iter().filter(|(name, _)| words.contains(&name.as_str()));
    let speaks: Vec<_> = speaks.collect();
    let unbounded: Vec<_> = speaks.iter().filter(|(_, symbol)| maximum && symbol.max.is_none()).collect();
    let name = |(name, symbol): &(&String, &SymbolReport)| {
        symbol.dim.clone().or_else(|| symbol.source.clone()).unwrap_or_else(|| (*name).clone())
    };
    let (what, named): (&str, Vec<String>) = match unbounded.is_empty() {
        true => ("a narrower range for", speaks.iter().map(name).collect()),
        false => ("a maximum for", unbounded.into_iter().map(name).collect()),
    };
    if named.is_empty() {
        return "a narrower range".to_string();
    }
    let more = if named.len() > MAX_NAMED { " and others" } else { "" };
    format!("{what} {}{more}", named[..named.len().min(MAX_NAMED)].join(", "))
}
