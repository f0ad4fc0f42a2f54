//! Conditions that are open because of some small sizes, which are looked at one by one.
use super::examine::Examination;
use super::obligation::Obligation;
use super::prove::Proof;
use super::strides;
use super::strides::cases::{Cases, Settled, choice};
use crate::propagate::Run;
use crate::report::{GuardVerdict, Outcome};
use sizewise_env::ShapeEnv;
use sizewise_expr::Expr;

impl<'p> Examination<'_, 'p> {
    /// Decides conditions at whose counterexamples the program runs, size by size: most are of sizes of 0, which the sizes
    /// recorded inside the program leave out.
    pub(super) fn where_it_runs(&self, list: &[Obligation], proofs: &mut [Proof]) {
        // Inputs that are refused for another reason say nothing about these.
        if proofs.iter().any(|proof| proof.verdict == GuardVerdict::Violated) {
            return;
        }
        let harmless = |(i, proof): (usize, &Proof)| proof.is_harmless_there().then_some(i);
        let open: Vec<usize> = proofs.iter().enumerate().filter_map(harmless).collect();
        let Some(&first) = open.first() else { return };
        let conditions: Vec<Expr> = open.iter().map(|&i| list[i].condition).collect();
        match Cases::as_it_runs(self.evaluator, self.budget.clone()).settle(self.assumptions, &conditions) {
            Settled::Proved => {
                for i in open {
                    proofs[i] = Proof::new(GuardVerdict::Implied, proofs[i].decided_by);
                }
            }
            Settled::Broken(proof) => proofs[first] = *proof,
            Settled::Open => {}
        }
    }

    /// Decides whether strides are laid out as in the example, where a view may depend on that. Sizes at which
    /// the layout differs are checked case by case.
    pub(super) fn layout_choices(&mut self, run: &mut Run, base: &mut ShapeEnv) {
        // Inputs that are refused for another reason say nothing about strides.
        if self.report.verdict == Outcome::Violated {
            return;
        }
        let mut open: Vec<(Obligation, Proof)> = Vec::new();
        for (origin, condition) in run.layout_choices.clone() {
            let Some(view) = strides::needs_strides_of(run, origin) else { continue };
            let obligation = choice(condition, Some(origin));
            let mut proof = self.prover().decide(base, &mut run.env, &obligation);
            if proof.verdict == GuardVerdict::Unknown && !proof.inconsistent {
                let view = run.step(view).map_or_else(String::new, |step| step.node());
                proof.reason = Some(format!(
                    "strides are as at the example only where it holds, and `{view}` may need them"
                ));
            }
            if proof.verdict != GuardVerdict::Implied {
                open.push((obligation, proof));
            }
        }
        let Some((first, _)) = open.first() else { return };
        let first = first.clone();
        let conditions: Vec<Expr> = open.iter().map(|(obligation, _)| obligation.condition).collect();
        match Cases::new(self.evaluator, self.prover().budget).settle(self.assumptions, &conditions) {
            Settled::Proved => {}
            Settled::Broken(proof) => self.write(run, base, &first, *proof),
            Settled::Open => {
                for (obligation, proof) in open {
                    self.write(run, base, &obligation, proof);
                }
            }
        }
    }
}
