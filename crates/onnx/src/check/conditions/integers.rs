//! Whether integers that a model computes from sizes wrap around.
use super::Check;
use crate::check::integers::{CLAUSE, Fits, integers, within_memory};

impl Check<'_> {
    /// Decides whether integers that are followed fit into their types at all sizes that memory holds.
    pub(super) fn integers(&mut self) {
        for Fits { step, condition: e } in integers(&self.symbolic, &mut self.walk, &self.budget) {
            let guard = self.guard_on(step, e, CLAUSE);
            let mut env = within_memory(&self.symbolic, &self.walk);
            self.decide_in(guard, e, &mut env);
        }
    }
}
