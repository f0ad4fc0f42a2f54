//! Deciding conditions, and whether there are sizes at all.
use super::{Check, Decided, GuardReport, GuardVerdict, MAX_VIOLATIONS, Outcome, decide};
use crate::check::integers::assume_existing;
use sizewise_check::check::{shown_premises, unsatisfied};
use sizewise_env::ShapeEnv;
use sizewise_expr::{Expr, Pool};

/// Why a condition is open that no rung of the solver decides, and what may close it.
pub(super) const BUDGET: &str =
    "it was not decided within the budget; a larger one (--budget 10) may settle it";
/// What a condition follows from that does not hold at all declared sizes.
const BEFORE: &str = "the conditions before it";

impl Check<'_> {
    /// Whether some sizes are allowed: if none are, what is declared implies everything.
    pub(super) fn is_satisfiable(&mut self) -> bool {
        if self.example().is_some() {
            return true;
        }
        let symbolic = &self.symbolic;
        let name = |pool: &Pool, symbol| symbolic.shown_name(pool, symbol);
        let found = unsatisfied(&mut symbolic.env.clone(), symbolic.has_spec, &name, &self.budget);
        let Some((outcome, diagnostic)) = found else { return true };
        self.diagnostics.push(diagnostic);
        self.lower(outcome);
        outcome != Outcome::Invalid
    }

    /// Decides a condition of which the expression is `e`.
    pub(super) fn decide(&mut self, guard: GuardReport, e: Expr) {
        let mut env = std::mem::take(&mut self.asked);
        self.decide_in(guard, e, &mut env);
        self.asked = env;
    }

    /// As [`Check::decide`] under the facts of an environment.
    pub(super) fn decide_in(&mut self, guard: GuardReport, e: Expr, env: &mut ShapeEnv) {
        let (verdict, rung, facts) = self.decided(e, env);
        let guard = GuardReport { decided_by: Some(rung.to_owned()), ..guard };
        match verdict {
            Decided::Implied { .. } | Decided::Inconsistent { .. } => {
                let because = if guard.because.is_empty() { facts } else { guard.because };
                self.proved.push(GuardReport { verdict: GuardVerdict::Implied, because, ..guard });
            }
            Decided::Refuted { witness } => {
                self.need(&guard, Some(e));
                if self.violations.len() < MAX_VIOLATIONS {
                    let tried = self.breaking(e, Some(&witness));
                    self.refuted(guard, e, tried);
                }
            }
            Decided::Unknown { .. } => {
                self.need(&guard, Some(e));
                self.doubtful.push(e);
                self.leave_open(guard, BUDGET);
            }
        }
    }

    /// The verdict on a condition, where the sizes that break it can exist; with what decided it, and the facts of a proof.
    pub(super) fn decided(&self, e: Expr, env: &mut ShapeEnv) -> (Decided, &'static str, Vec<String>) {
        let (pool, facts) = env.facts();
        let mut answer = decide(pool, facts, e, &self.budget);
        let mut existing = None;
        if matches!(&answer.verdict, Decided::Refuted { witness } if self.sizes_at(witness).is_none()) {
            let env: &mut ShapeEnv = existing.insert(env.clone());
            assume_existing(&self.symbolic, env);
            let (pool, facts) = env.facts();
            answer = decide(pool, facts, e, &self.budget);
        }
        let env = existing.as_ref().unwrap_or(env);
        let name = |symbol| self.symbolic.shown_name(&env.pool, symbol);
        let because = match &answer.verdict {
            Decided::Implied { because } | Decided::Inconsistent { because } => {
                shown_premises(&env.pool, env.known_facts(), because, &name)
            }
            Decided::Refuted { .. } | Decided::Unknown { .. } => Vec::new(),
        };
        (answer.verdict, answer.decided_by.name(), because)
    }

    /// Notes a condition that is implied where those before it hold; how, if it is without them.
    pub(super) fn implied(&mut self, guard: GuardReport, e: Expr) {
        let mut env = std::mem::take(&mut self.asked);
        let (verdict, rung, because) = self.decided(e, &mut env);
        self.asked = env;
        let guard = GuardReport { verdict: GuardVerdict::Implied, ..guard };
        self.proved.push(match verdict.is_implied() {
            true => GuardReport { decided_by: Some(rung.to_owned()), because, ..guard },
            false => GuardReport { because: vec![BEFORE.to_owned()], ..guard },
        });
    }
}
