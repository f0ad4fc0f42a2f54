//! Deciding many conditions on several threads.
//!
//! No decision depends on what was decided before, so each thread decides under a copy of the facts, and the
//! report is written in order from what they found: it is the same however many threads there are.
use super::evaluate::Evaluator;
use super::obligation::Obligation;
use super::prove::{Proof, Prover};
use crate::report::GuardVerdict;
use crate::spec::Assumptions;
use sizewise_env::ShapeEnv;
use sizewise_expr::{CancelToken, is_cancelled};
use sizewise_solve::Budget;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc;

/// How many conditions a thread takes at a time.
const BLOCK: usize = 32;

/// What all threads share.
pub(super) struct Parallel<'a, 'p> {
    pub assumptions: &'a Assumptions<'p>,
    pub evaluator: &'a Evaluator<'p>,
    pub budget: &'a Budget,
    /// What the spec says.
    pub base: &'a ShapeEnv,
    /// What the run has recorded in addition.
    pub derived: &'a ShapeEnv,
}

impl Parallel<'_, '_> {
    /// Decides conditions on up to `jobs` threads until `most` of them were hard or one is violated, and reports
    /// progress to `tell`.
    /// Conditions that were not decided are `None`: all of them where threads would cost more than they save.
    pub fn decide(
        &self,
        list: &[Obligation],
        jobs: usize,
        most: u32,
        tell: &dyn Fn(usize, usize),
    ) -> Vec<Option<Proof>> {
        let mut proofs: Vec<Option<Proof>> = Vec::new();
        proofs.resize_with(list.len(), || None);
        let jobs = jobs.min(list.len() / (2 * BLOCK));
        if jobs < 2 {
            return proofs;
        }
        let (next, hard) = (AtomicUsize::new(0), AtomicU32::new(0));
        let (sender, receiver) = mpsc::channel();
        let token = CancelToken::current().unwrap_or_default();
        let work = |sender: mpsc::Sender<(usize, Proof)>| {
            let (mut base, mut derived) = (self.base.with_own_pool(), self.derived.clone());
            derived.pool = base.pool.clone();
            let budget = self.budget.clone();
            let prover =
                Prover { assumptions: self.assumptions, evaluator: self.evaluator, budget, emit: None };
            loop {
                let first = next.fetch_add(BLOCK, Ordering::Relaxed);
                let Some(rest) = list.get(first..).filter(|rest| !rest.is_empty()) else { return };
                for (obligation, at) in rest.iter().take(BLOCK).zip(first..) {
                    if hard.load(Ordering::Relaxed) >= most || is_cancelled() {
                        return;
                    }
                    let proof = prover.decide(&mut base, &mut derived, obligation);
                    let violated = proof.verdict == GuardVerdict::Violated;
                    hard.fetch_add(
                        if violated { most } else { u32::from(proof.is_hard()) },
                        Ordering::Relaxed,
                    );
                    if sender.send((at, proof)).is_err() {
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                let sender = sender.clone();
                let thread = std::thread::Builder::new().stack_size(sizewise_expr::STACK_BYTES);
                // The caller decides what no thread has taken.
                if thread.spawn_scoped(scope, || token.during(|| work(sender))).is_err() {
                    break;
                }
            }
            drop(sender);
            for (done, (at, proof)) in receiver.iter().enumerate() {
                tell(done, list.len());
                proofs[at] = Some(proof);
            }
        });
        proofs
    }
}
