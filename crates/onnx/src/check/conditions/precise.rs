//! Sizes that a model counts in floats.
use super::{Check, GuardReport};
use sizewise_env::OpClause;
use sizewise_expr::Expr;
use sizewise_onnx_model::shape::clauses::{Float, Resize};
use sizewise_solve::{Verdict as Decided, decide};

/// The clauses that ask for sizes of which floats say the number exactly.
const CLAUSES: [&OpClause; 2] = [Float::C1, Resize::C9];
/// Floats that are exact up to here are taken to be so for sizes of which no greatest is said.
const USUAL_SIZE: i64 = 4_096;

impl Check<'_> {
    /// Whether a condition is assumed because it asks for no more than exact floats, of sizes that have no greatest one.
    pub(super) fn is_assumed_precise(&mut self, guard: &GuardReport, e: Expr) -> bool {
        if !CLAUSES.iter().any(|known| guard.clause.as_deref() == Some(known.code)) {
            return false;
        }
        let free = self.symbolic.env.pool.free_symbols(&[e]);
        let is_open = |symbol| self.symbolic.named(symbol).is_some_and(|named| named.max.is_none());
        let is_usual = self.symbolic.evaluator(|_| Some(USUAL_SIZE)).truth(e) == Ok(true);
        if !free.into_iter().all(is_open) || !is_usual {
            return false;
        }
        let (pool, facts) = self.asked.facts();
        match decide(pool, facts, e, &self.budget).verdict {
            Decided::Implied { .. } => self.decide(guard.clone(), e),
            _ => {
                self.asked.assume(e);
                self.need(guard, Some(e));
                self.precise.push(guard.shown.clone());
            }
        }
        true
    }
}
