//! Where a condition stands in the user's code.
use crate::propagate::Step;
use crate::report::{Cause, ConditionKind, Diagnostic, Frame, GuardReport, GuardVerdict, Traced};
use sizewise_ir::{Asked, AskedBy, SourceLocation};

/// The most frames of a stack that are reported.
const MAX_FRAMES: usize = 32;

/// A report on a condition of which nothing is known yet.
pub(super) fn nowhere() -> GuardReport {
    let unknown = GuardReport::new(String::new(), ConditionKind::Contract, GuardVerdict::Unknown);
    GuardReport { cause: Cause::Record, traced: Traced::Nowhere, ..unknown }
}

/// Gives a condition the line, the module and the stack of a step.
pub(super) fn place(guard: &mut GuardReport, step: &Step, traced: Traced) {
    guard.traced = traced;
    let provenance = step.provenance();
    guard.module = provenance.module().filter(|path| !path.is_empty()).map(str::to_string);
    guard.location = step.location();
    guard.code = step.code();
    guard.stack = stack(step);
    guard.file = guard.stack.first().map(|frame| frame.file.clone());
    guard.line = guard.stack.first().map(|frame| frame.line);
}

/// Gives a condition the line at which torch asked for it while it traced the program, and what asked. Whether the line
/// is known.
pub(super) fn place_asked(guard: &mut GuardReport, asked: &Asked) -> bool {
    guard.cause = match asked.by {
        AskedBy::Branch => Cause::Branch,
        AskedBy::Operator => Cause::Operator,
        AskedBy::Layout => Cause::Layout,
        AskedBy::Assertion => Cause::Assertion,
        AskedBy::Unknown => Cause::Record,
    };
    let lines: Vec<SourceLocation> = asked.provenance.frames().collect();
    let Some(line) = lines.first() else { return false };
    guard.traced = Traced::Asked;
    (guard.node, guard.op, guard.clause, guard.more_nodes) = (None, None, None, 0);
    guard.location = Some(line.to_string());
    (guard.file, guard.line) = (Some(line.file.to_string()), Some(line.line));
    guard.code = Some(line.code.to_string());
    guard.stack = lines.iter().take(MAX_FRAMES).map(frame).collect();
    true
}

/// Gives a warning or a note the node, the line and the stack of a step.
pub(super) fn note(note: &mut Diagnostic, step: &Step) {
    note.node = Some(step.node());
    note.location = step.location();
    note.stack = stack(step);
}

/// The calls on the way to a step, innermost first, without torch's own.
pub(super) fn stack(step: &Step) -> Vec<Frame> {
    step.provenance().path().iter().take(MAX_FRAMES).map(frame).collect()
}

fn frame(line: &SourceLocation) -> Frame {
    Frame {
        file: line.file.to_string(),
        line: line.line,
        function: line.function.to_string(),
        code: line.code.to_string(),
        library: line.is_library(),
    }
}
