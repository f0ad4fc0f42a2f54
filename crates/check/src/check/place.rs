//! Where a condition stands in the user's code.
use crate::propagate::Step;
use crate::report::{Cause, ConditionKind, Diagnostic, Frame, GuardReport, GuardVerdict, Traced};
use sizewise_ir::SourceLocation;

/// The most frames of a stack that are reported.
const MAX_FRAMES: usize = 32;

/// A report on a condition of which nothing is known yet.
pub(super) fn nowhere() -> GuardReport {
    GuardReport {
        expr: String::new(),
        kind: ConditionKind::Contract,
        verdict: GuardVerdict::Unknown,
        node: None,
        op: None,
        location: None,
        decided_by: None,
        because: Vec::new(),
        witness: None,
        inputs: None,
        shown: String::new(),
        clause: None,
        code: None,
        consequence: None,
        reason: None,
        cause: Cause::Record,
        excludes: None,
        follows: false,
        traced: Traced::Nowhere,
        more_nodes: 0,
        file: None,
        line: None,
        module: None,
        stack: Vec::new(),
        works: None,
        settled_by: None,
        origin: None,
    }
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

/// Gives a warning or a note the node, the line and the stack of a step.
pub(super) fn note(note: &mut Diagnostic, step: &Step) {
    note.node = Some(step.node());
    note.location = step.location();
    note.stack = stack(step);
}

/// The calls on the way to a step, innermost first, without torch's own.
pub(super) fn stack(step: &Step) -> Vec<Frame> {
    let frame = |frame: &SourceLocation| Frame {
        file: frame.file.to_string(),
        line: frame.line,
        function: frame.function.to_string(),
        code: frame.code.to_string(),
        library: frame.is_library(),
    };
    step.provenance().path().iter().take(MAX_FRAMES).map(frame).collect()
}
