//! Conditions that a file states for itself: they are compared with those of the model, and never assumed.
use super::{Check, Decided, decide};
use crate::check::names;
use sizewise_check::report::StatedReport;
use sizewise_expr::{Expr, Sort};

/// The most conditions of a file that are read.
const MAX_STATED: usize = 1_000;

impl Check<'_> {
    /// Compares the conditions that the file states with those that the walk met. For each whether the model needs it, and
    /// whether its conditions follow from all of them; `None` if it states none.
    pub(super) fn contract(&mut self) -> (Vec<StatedReport>, Option<bool>) {
        if self.model.conditions.is_empty() {
            return (Vec::new(), None);
        }
        let mut all = Vec::new();
        let own: Vec<Expr> = self.walk.env.guards().iter().map(|guard| guard.condition).collect();
        let mut needing = self.symbolic.env.clone();
        own.iter().for_each(|&condition| needing.assume(condition));
        let mut stating = self.symbolic.env.clone();
        // What is not followed, or undecided, or fails at the example may need it.
        let is_known = self.failed.is_empty() && self.are_sizes_complete() && self.undecided.is_empty();
        for line in self.model.conditions.iter().take(MAX_STATED) {
            let verdict = match self.condition_of(line) {
                None => "unknown",
                Some(condition) => {
                    stating.assume(condition);
                    let (pool, facts) = needing.facts();
                    match decide(pool, facts, condition, &self.budget).verdict {
                        Decided::Implied { .. } | Decided::Inconsistent { .. } => "needed",
                        Decided::Refuted { .. } if is_known => "not needed",
                        Decided::Refuted { .. } | Decided::Unknown { .. } => "unknown",
                    }
                }
            };
            all.push(StatedReport { expr: line.clone(), verdict });
        }
        let mut follows = |condition: Expr| {
            let (pool, facts) = stating.facts();
            matches!(decide(pool, facts, condition, &self.budget).verdict, Decided::Implied { .. })
        };
        let failed = !self.failed.is_empty() || !self.are_sizes_complete();
        (all, Some(!failed && own.iter().all(|&condition| follows(condition))))
    }

    /// The condition of a line, over the symbols and the names of sizes.
    fn condition_of(&mut self, line: &str) -> Option<Expr> {
        let symbols = &self.symbolic.symbols;
        let known = |word: &str| {
            let named =
                |at: &usize| symbols[*at].1.name == word || symbols[*at].1.declared.as_deref() == Some(word);
            (0..symbols.len()).find(named).map(|at| symbols[at].1.name.clone())
        };
        names::read_as(&mut self.symbolic.env.pool, line, &known, Sort::Bool)
    }
}
