//! Conditions that were settled before, and in which revision of the environment.
use super::ShapeEnv;
use super::parts::Symbols;
use sizewise_expr::{Expr, Pool};
use sizewise_solve as decide;

impl ShapeEnv {
    /// Whether the facts settle a condition, by means that cost microseconds.
    pub fn statically(&mut self, condition: Expr) -> Option<bool> {
        if let Some(value) = self.pool.as_bool(condition) {
            return Some(value);
        }
        if let Some(&value) = self.answers.settled.get(&condition) {
            return Some(value);
        }
        if self.answers.open.get(&condition).is_some_and(|&revision| revision >= self.answers.known_since) {
            return None;
        }
        let ShapeEnv { pool, facts, symbols: Symbols { info, hints, .. }, .. } = self;
        let hints = Some(hints).filter(|_| self.hints_hold);
        let possible = |pool: &Pool| Some(hints?.value(pool, info, condition)?.as_bool());
        let settled = decide::quickly_knowing(pool, facts, condition, possible);
        match settled {
            Some(value) => self.answers.settled.insert(condition, value).is_some(),
            None => self.answers.open.insert(condition, self.answers.revision).is_some(),
        };
        settled
    }

    /// From now on guards are recorded, but nothing is learned from them: every step that needs a condition records
    /// it, not only the first.
    pub fn keep_asking(&mut self) {
        self.answers.keeps_asking = true;
        self.revise();
    }

    /// From now on what the program asserts of numbers is taken to hold without being asked: only operators refuse.
    pub fn leave_assertions(&mut self) {
        self.answers.leaves_assertions = true;
        self.revise();
    }

    /// A number that is another one whenever something has become known or was recorded: a question asked again in
    /// the same revision has the same answer, and one that has left the revision as it was has recorded nothing.
    pub fn revision(&self) -> u64 {
        self.answers.revision
    }

    /// Ends the revision at hand: something is about to become known.
    pub(super) fn revise(&mut self) {
        self.note();
        self.answers.known_since = self.answers.revision;
    }

    /// Ends the revision at hand: something is recorded from which nothing follows.
    pub(super) fn note(&mut self) {
        self.answers.revision += 1;
    }
}
