//! How much work the decision of a condition may take.
//!
//! A report is to come soon even where many conditions are out of reach. So after a few of those the others get less
//! work. Once a condition is violated, the verdict is known: the rest only says how much else is broken, and a fix
//! is checked anew. Then what is easy to decide is decided, and one condition that is not gets a quarter of the budget.
use super::examine::{Examination, MAX_HARD};
use super::obligation::Obligation;
use super::prove::{Proof, Prover, by_rewriting};
use crate::report::GuardVerdict;
use sizewise_env::ShapeEnv;
use sizewise_solve::Budget;

/// [`MAX_HARD`] once a condition is violated.
const MAX_HARD_VIOLATED: u32 = 1;

impl<'p> Examination<'_, 'p> {
    /// Whether what was decided without regard to other conditions counts: not once one of them is violated.
    pub(super) fn has_full_budget(&self) -> bool {
        self.hard < MAX_HARD && !self.is_broken
    }

    /// The budgets of the attempts at a condition, the next one if the last one decides nothing.
    fn attempts(&self) -> Vec<Budget> {
        let small = || Budget { points: 1_000, branches: 4, work: 20_000, ..Budget::small() };
        let brief = || Budget { branches: 0, iterations: 0, rlimit: 0, ..self.budget.percent(1) };
        match (self.is_broken, self.hard) {
            (false, 0..MAX_HARD) => vec![self.budget.clone()],
            (false, _) => vec![small()],
            (true, 0..MAX_HARD_VIOLATED) => {
                vec![by_rewriting(self.budget), brief(), self.budget.percent(25)]
            }
            (true, _) => vec![by_rewriting(self.budget), brief()],
        }
    }

    /// A prover with the budget of the last attempt.
    pub(super) fn prover(&self) -> Prover<'_, 'p> {
        let budget = self.attempts().pop().unwrap_or_else(Budget::small);
        Prover { assumptions: self.assumptions, evaluator: self.evaluator, budget, emit: self.emit }
    }

    /// Decides a condition, see [`Prover::decide`].
    pub(super) fn decide(
        &self,
        base: &mut ShapeEnv,
        derived: &mut ShapeEnv,
        obligation: &Obligation,
    ) -> Proof {
        let mut attempts = self.attempts();
        attempts.pop();
        for budget in attempts {
            let prover = Prover { budget, ..self.silent_prover() };
            let proof = prover.decide(base, derived, obligation);
            if proof.verdict != GuardVerdict::Unknown {
                if self.emit.is_some() {
                    // The question is emitted with its answer; asking again costs nothing.
                    Prover { emit: self.emit, ..prover }.decide(base, derived, obligation);
                }
                return proof;
            }
        }
        self.prover().decide(base, derived, obligation)
    }

    /// The prover of examples for conditions; no question is emitted.
    pub(super) fn silent_prover(&self) -> Prover<'_, 'p> {
        Prover { emit: None, ..self.prover() }
    }
}
