//! Broadcasts that the example decides: a size of 1 on the other side would do as well.
use super::super::ways::is_branch;
use super::{Check, GuardReport, Witness};
use sizewise_check::check::simplest;
use sizewise_env::{Guard, OpClause, ShapeEnv};
use sizewise_expr::{Expr, Func};
use sizewise_onnx_model::shape::clauses::{Broadcast, Einsum, Expand, MatMul, Quantized};

/// The most conditions that are assumed for those after them.
const MAX_BEFORE: usize = 300;

/// The clauses of operators whose operands broadcast.
pub(in super::super) const BROADCASTS: &[&OpClause] =
    &[Broadcast::C1, MatMul::C3, Expand::C3, Quantized::C3, Einsum::C3, Einsum::C4];

impl Check<'_> {
    /// All that a broadcast asks for, where its condition keeps the way of the example: a size of 1 on the other side would do
    /// as well. What is not allowed, or not where the conditions before it hold, is left out.
    pub(super) fn with_ones(&self, condition: Expr, before: &mut ShapeEnv) -> Option<Expr> {
        let full = self.walk.env.in_full(condition)?;
        let (pool, facts) = before.facts();
        let simple = simplest(pool, facts, full);
        (simple != condition).then_some(simple)
    }

    /// Assumes a condition, with either way of a broadcast, for those after it. That of a branch is none.
    pub(super) fn assume_before(&self, guard: &Guard, before: &mut ShapeEnv) {
        if !is_branch(guard) && before.known_facts().conditions().len() < MAX_BEFORE {
            before.assume(self.walk.env.in_full(guard.condition).unwrap_or(guard.condition));
        }
    }

    /// What a broadcast asks for where no size is 1.
    pub(super) fn without_ones(&self, condition: Expr) -> Expr {
        // A clone is a handle of the same pool.
        let mut pool = self.walk.env.pool.clone();
        let Some(parts) = pool.as_func(condition, Func::Or).map(<[Expr]>::to_vec) else { return condition };
        let is_one = |e: Expr| {
            let sum = pool.as_func(e, Func::IsZero).map(|operands| pool.poly(operands[0]));
            sum.is_some_and(|sum| sum.terms.len() == 1 && sum.constant.abs().is_one())
        };
        let others: Vec<Expr> = parts.into_iter().filter(|&e| !is_one(e)).collect();
        if others.is_empty() { condition } else { pool.or(&others) }
    }

    /// A condition that a witness breaks as all that the operator asks for, if it breaks that, too.
    pub(super) fn widened(&self, guard: GuardReport, e: Expr, witness: &Witness) -> GuardReport {
        match self.wide.get(&e) {
            Some(&wide) if self.is_broken(wide, witness) => self.on_sizes(guard, wide),
            _ => guard,
        }
    }
}
