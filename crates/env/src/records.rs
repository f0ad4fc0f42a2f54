//! What is recorded when a condition is not settled by the facts, and what operators ask to decide that.
use super::ShapeEnv;
use super::guard::{Clause, Guard, GuardKind, Origin, Required, RuntimeAssert};
use sizewise_expr::Expr;

impl ShapeEnv {
    /// Says which step of the program what follows stems from.
    pub fn set_origin(&mut self, origin: Origin) {
        self.records.origin = origin;
    }

    /// The guards recorded so far.
    pub fn guards(&self) -> &[Guard] {
        &self.records.guards
    }

    /// The runtime assertions recorded so far.
    pub fn runtime_asserts(&self) -> &[RuntimeAssert] {
        &self.records.asserts
    }

    /// Notes that the current step looks up indices of which it is not known whether they are in range.
    pub fn leave_indices_unchecked(&mut self) {
        if !self.leaves_indices_unchecked() {
            self.records.unchecked_indices.push(self.records.origin);
        }
    }

    /// Whether the current step looks up indices of which it is not known whether they are in range.
    pub(crate) fn leaves_indices_unchecked(&self) -> bool {
        self.records.unchecked_indices.last() == Some(&self.records.origin)
    }

    /// The steps that look up indices of which it is not known whether they are in range.
    pub fn unchecked_indices(&self) -> &[Origin] {
        &self.records.unchecked_indices
    }

    /// The assertions that the program itself makes, whether or not they follow from something.
    pub fn stated(&self) -> &[RuntimeAssert] {
        &self.records.stated
    }

    /// Assumptions that nothing is derived from, as there are too many. An assignment that falsifies one is not
    /// allowed.
    pub fn left_out(&self) -> &[Expr] {
        &self.records.left_out
    }

    /// Notes that a condition keeps the way that an operator goes at the example, and what the operator asks for in full.
    pub fn note_in_full(&mut self, condition: Expr, full: Expr) {
        self.records.in_full.insert(condition, full);
    }

    /// All that the operator asks for of which a condition keeps the way at the example, if that was noted.
    pub fn in_full(&self, condition: Expr) -> Option<Expr> {
        self.records.in_full.get(&condition).copied()
    }

    /// Requires a condition of the operator at hand.
    pub fn require(&mut self, condition: Expr, clause: impl Into<Clause>) -> Required {
        let clause = clause.into();
        if self.answers.leaves_assertions && clause.is_stated() {
            return Required::Proved;
        }
        if clause.is_stated() {
            self.state(condition, clause);
            if self.pool.as_bool(condition) == Some(true) {
                self.state_equations(clause);
            }
        }
        if self.pool.as_bool(condition) == Some(false) {
            return Required::Refuted;
        }
        let settled = self.statically(condition);
        if settled == Some(true) {
            return Required::Proved;
        }
        match self.hint(condition) {
            Some(value) if value.as_bool() || !self.follows_example() => {
                self.record_guard(condition, GuardKind::Precondition, clause);
                Required::Guarded
            }
            Some(_) => Required::Refuted,
            None if settled == Some(false) => Required::Refuted,
            None => {
                self.record_assert(condition, clause);
                Required::Asserted
            }
        }
    }

    /// The truth value of a condition that decides which way an operator goes: by the facts, else by the hints, which
    /// records a guard. `None` when it depends on unbacked symbols and is open.
    pub fn branch(&mut self, condition: Expr, clause: impl Into<Clause>) -> Option<bool> {
        if let Some(value) = self.statically(condition) {
            return Some(value);
        }
        let value = self.hint(condition)?.as_bool();
        let held = if value { condition } else { self.pool.not(condition) };
        self.record_guard(held, GuardKind::Branch, clause.into());
        Some(value)
    }

    pub(super) fn record_guard(&mut self, condition: Expr, kind: GuardKind, clause: Clause) {
        self.revise();
        let needed = self.on_path(condition);
        let guard = Guard { condition: needed, kind, origin: self.records.origin, clause };
        if self.records.frozen.0 {
            self.records.refused.push(guard);
            return;
        }
        self.records.guards.push(guard);
        if self.answers.keeps_asking {
            return;
        }
        self.assume(condition);
        let negated = self.pool.not(condition);
        self.answers.settled.insert(negated, false);
    }
}
