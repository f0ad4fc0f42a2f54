//! Indices that are not checked: data, and what is computed from sizes in a way that is not followed.
use super::examine::Examination;
use super::place;
use crate::propagate::{Run, Step};
use crate::report::{Diagnostic, Level};

/// The most nodes that the note names.
const MAX_NAMED_NODES: usize = 4;

impl Examination<'_, '_> {
    /// Says where indices are looked up of which it is not known whether they are in range.
    pub(super) fn unchecked_indices(&mut self, run: &Run) {
        let steps: Vec<&Step> = run.env.unchecked_indices().iter().filter_map(|at| run.step(*at)).collect();
        let Some(first) = steps.first() else { return };
        let mut nodes: Vec<String> = steps.iter().map(|step| step.node()).collect();
        nodes.dedup();
        let count = nodes.len();
        nodes.truncate(MAX_NAMED_NODES);
        let more = if count > nodes.len() { ", ..." } else { "" };
        let message = format!(
            "whether indices are in range is not checked in {}: {}{more}",
            if count == 1 { "1 node".to_owned() } else { format!("{count} nodes") },
            nodes.join(", ")
        );
        let mut note = Diagnostic::new("index-values", Level::Note, message);
        place::note(&mut note, first);
        self.report.diagnostics.push(note);
    }
}
