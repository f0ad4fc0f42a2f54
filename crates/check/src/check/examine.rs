//! Deciding everything that a run has gathered, and writing it into the report.
use super::evaluate::{Evaluator, Shapes};
use super::excluded::excluded;
use super::ledger::ledger;
use super::obligation::{Obligation, Source, obligations};
use super::parallel::Parallel;
use super::prove::{Emit, Proof, shapes_json};
use super::satisfiable::{contradiction, unsatisfied};
use super::simpler::with_simple_sizes;
use super::summary;
use super::{minimal, overflow, place};
use crate::propagate::FailureKind;
use crate::propagate::Run;
use crate::report::{
    AssertReport, Cause, ConditionKind, Diagnostic, GuardReport, GuardVerdict, Keeper, Level, MismatchReport,
    Outcome, Report, Traced, UnsupportedReport, int_json,
};
use crate::spec::{Assumptions, DemandKind};
use indexmap::IndexMap;
use sizewise_env::{Origin, ShapeEnv};
use sizewise_expr::{Expr, Pool, is_cancelled, text};
use sizewise_ir::Asked;
use sizewise_solve::{Budget, Verdict, Witness, decide, open_requirements};

/// After this many conditions that only Z3 decides or that stay open, each of the others gets a small budget.
pub(super) const MAX_HARD: u32 = 5;

/// Fills a report from a run.
pub(super) struct Examination<'a, 'p> {
    pub assumptions: &'a Assumptions<'p>,
    pub evaluator: &'a Evaluator<'p>,
    pub budget: &'a Budget,
    /// Whether the minimal guards are wanted.
    pub detailed: bool,
    pub report: &'a mut Report,
    /// The conditions found violated.
    pub violated: Vec<Obligation>,
    /// For conditions that only say that no data passes at some sizes: the stronger one that was tried for a spec to imply.
    pub sufficient: Vec<(Expr, Expr)>,
    /// The simplest form of violated conditions, by their place among the report's conditions.
    pub simple: Vec<(usize, Expr)>,
    /// The conditions that were left open, branches aside.
    pub open: Vec<Expr>,
    /// A callback for progress: how many conditions are decided, and how many there are.
    pub tell: &'a dyn Fn(usize, usize),
    /// A callback that receives each question as an SMT-LIB 2 file.
    pub emit: Option<Emit<'a>>,
    /// The conditions that torch asked for while it traced the program, with the lines.
    pub asked: &'a [(Expr, &'p Asked)],
    /// How many conditions needed Z3, or have stayed open.
    pub hard: u32,
    /// Whether some condition is violated, written into the report or not.
    pub is_broken: bool,
    /// How many threads decide.
    pub jobs: usize,
    /// Whether there is a spec; else the program's own contract is assumed.
    pub has_spec: bool,
}

impl<'p> Examination<'_, 'p> {
    fn lower(&mut self, outcome: Outcome) {
        self.report.verdict = self.report.verdict.max(outcome);
    }

    /// Decides what the program demands of its inputs and what its operators need.
    pub fn conditions(&mut self, run: &mut Run<'p>) {
        // Demands and guards are decided under the spec alone, conditions on data-dependent sizes under the
        // runtime assertions too.
        let mut base = self.assumptions.env.clone();
        if !self.is_satisfiable(&mut base) {
            return;
        }
        let list = obligations(self.assumptions, run);
        let mut found = self.decided_by_threads(run, &base, &list);
        let mut proofs = Vec::with_capacity(list.len());
        for (i, obligation) in list.iter().enumerate() {
            if is_cancelled() {
                break;
            }
            let proof = match found.get_mut(i).and_then(Option::take).filter(|_| self.has_full_budget()) {
                Some(proof) => proof,
                None => {
                    (self.tell)(i, list.len());
                    self.decide(&mut base, &mut run.env, obligation)
                }
            };
            self.hard += u32::from(proof.is_hard());
            self.is_broken |= proof.verdict == GuardVerdict::Violated;
            proofs.push(proof);
        }
        self.where_it_runs(&list, &mut proofs);
        for (obligation, proof) in list.iter().zip(proofs) {
            self.write(run, &base, obligation, proof);
        }
        self.definedness(run, &mut base);
        self.element_counts(run, &mut base);
        self.layout_choices(run, &mut base);
        self.run_time(run, &mut base);
        if self.detailed {
            self.minimal(&mut base, &list);
        }
        self.consequences(&mut base);
        if self.detailed {
            self.put_simply(&base);
            self.counterexamples_nearby(run, &base);
        }
    }

    /// Whether some input satisfies the assumptions. The report says if none does, and also if that stays open.
    fn is_satisfiable(&mut self, base: &mut ShapeEnv) -> bool {
        let name = |pool: &Pool, symbol| summary::name(self.assumptions, pool, symbol).to_owned();
        let found = unsatisfied(base, self.has_spec, &name, self.budget);
        let Some((outcome, diagnostic)) = found else { return true };
        self.report.diagnostics.push(diagnostic);
        self.lower(outcome);
        if outcome == Outcome::Invalid && self.emit.is_some() {
            // The question is emitted with its answer.
            let source = Source::Demand(DemandKind::Contract);
            let obligation = Obligation { condition: base.pool.bool(false), source, origin: None };
            let (pool, facts) = base.facts();
            self.prover().prove(pool, facts, &obligation);
        }
        outcome != Outcome::Invalid
    }

    /// Reports that no input satisfies the assumptions, once.
    fn contradiction(&mut self, proof: &Proof) {
        let found = contradiction(self.has_spec, &proof.because);
        if !self.report.has(&found.code) {
            self.report.diagnostics.push(found);
        }
        self.lower(Outcome::Invalid);
    }

    /// Proofs found by several threads; empty if there is only one.
    fn decided_by_threads(&self, run: &Run, base: &ShapeEnv, list: &[Obligation]) -> Vec<Option<Proof>> {
        if self.jobs < 2 || self.emit.is_some() {
            return Vec::new();
        }
        let threads = Parallel {
            assumptions: self.assumptions,
            evaluator: self.evaluator,
            budget: self.budget,
            base,
            derived: &run.env,
        };
        threads.decide(list, self.jobs, MAX_HARD, self.tell)
    }

    /// Adds the result for one condition to the report.
    pub(super) fn write(&mut self, run: &Run, base: &ShapeEnv, obligation: &Obligation, proof: Proof) {
        if proof.inconsistent {
            self.contradiction(&proof);
        }
        let mut obligation = obligation.clone();
        if proof.runs {
            // What the operator needs is that its result has the recorded shape.
            obligation.source = Source::RecordedSize;
        }
        let obligation = &obligation;
        match proof.verdict {
            GuardVerdict::Violated => {
                self.violated.push(obligation.clone());
                self.is_broken = true;
                self.lower(Outcome::Violated);
            }
            GuardVerdict::Unknown => {
                // Where a branch goes the other way the program may run all the same.
                if !obligation.is_branch() {
                    self.open.push(obligation.condition);
                }
                self.lower(Outcome::Unknown);
            }
            GuardVerdict::Implied => {}
        }
        if let Some(limit) = &proof.limit {
            let shown = summary::condition(self.assumptions, base, obligation.condition);
            let message = format!("`{shown}` is proved for sizes up to {limit}; beyond, doubles round");
            let mut note = Diagnostic::new("rounding", Level::Note, message);
            if let Some(step) = obligation.origin.and_then(|o| run.step(o)) {
                place::note(&mut note, step);
            }
            self.report.diagnostics.push(note);
        }
        let shown = summary::condition(self.assumptions, base, obligation.condition);
        let expr = text::print::expression(&base.pool, obligation.condition);
        let witness = proof.witness.as_ref().map(|witness| witness_json(base, witness));
        let mut report = guard_report(run, base, obligation, proof, (expr, shown), witness);
        // The nodes of assertions have the line of whatever came next.
        if (report.code.is_none() || report.kind != ConditionKind::Precondition)
            && let Some((_, asked)) = self.asked.iter().find(|(asked, _)| *asked == obligation.condition)
        {
            place::place_asked(&mut report, asked);
        }
        self.report.guards.push(report);
    }

    /// Decides whether the assumptions themselves can be evaluated: a guard that divides by zero, say, raises an error.
    fn definedness(&mut self, run: &Run, base: &mut ShapeEnv) {
        let (pool, facts) = base.facts();
        for (mut before, condition) in open_requirements(pool, facts) {
            let obligation = Obligation { condition, source: Source::GuardDivisor, origin: None };
            let proof = self.prover().prove(&mut base.pool, &mut before, &obligation);
            // Only guards without a value are reported.
            if proof.verdict != GuardVerdict::Implied {
                self.write(run, base, &obligation, proof);
            }
        }
    }

    /// Decides whether element counts fit in 64 bits.
    fn element_counts(&mut self, run: &mut Run, base: &mut ShapeEnv) {
        for path in overflow::too_large_inputs(self.assumptions, base) {
            self.report.assumed_too.push(format!("{path} has at most 2^63 - 1 elements"));
        }
        let counts = overflow::counts(self.assumptions, run, base);
        if !counts.bounded.is_empty() {
            let mut facts = base.facts().1.clone();
            overflow::assume_inputs(self.assumptions, &mut base.pool, &mut facts);
            for (origin, condition) in counts.bounded {
                let obligation = Obligation { condition, source: Source::ElementCount, origin: Some(origin) };
                let proof = self.prover().prove(&mut base.pool, &mut facts, &obligation);
                self.write(run, base, &obligation, proof);
            }
        }
        if let Some((origin, symbols, from)) = counts.unbounded {
            let names: Vec<String> = symbols
                .into_iter()
                .map(|s| {
                    let e = base.pool.symbol_expr(s);
                    summary::shown(self.assumptions, base, e)
                })
                .collect();
            let message =
                format!("a result has more than 2^63 - 1 elements from {} = {from} on", names.join(" = "));
            let mut note = Diagnostic::new("overflow", Level::Note, message);
            if let Some(step) = run.step(origin) {
                place::note(&mut note, step);
            }
            self.report.diagnostics.push(note);
        }
    }

    /// The minimal guards: assumptions and obligations without those that follow from the ranges and the rest.
    fn minimal(&mut self, base: &mut ShapeEnv, list: &[Obligation]) {
        let mut conditions: Vec<Expr> = base.known_facts().conditions().to_vec();
        for obligation in list.iter().filter(|o| o.source != Source::RecordedSize) {
            let symbols = base.pool.free_symbols(&[obligation.condition]);
            if symbols.iter().all(|&s| base.symbol(s).is_some())
                && !conditions.contains(&obligation.condition)
            {
                conditions.push(obligation.condition);
            }
        }
        let ranges = minimal::declared_ranges(base.known_facts());
        let kept = minimal::minimal(&mut base.pool, &ranges, &conditions);
        self.report.minimal_guards =
            kept.into_iter().map(|e| text::print::expression(&base.pool, e)).collect();
    }

    /// Steps that fail for every input, or already for the traced one.
    pub fn failures(&mut self, run: &mut Run) {
        // Where no input is allowed, none fails.
        if self.report.verdict == Outcome::Invalid {
            return;
        }
        for failure in std::mem::take(&mut run.failures) {
            let step = &run.steps[failure.origin.0 as usize];
            let simple = failure.condition.map(|condition| {
                let (pool, facts) = run.env.facts();
                with_simple_sizes(pool, &mut facts.clone(), condition)
            });
            let shown = simple.map(|simple| summary::condition(self.assumptions, &run.env, simple));
            if failure.kind != FailureKind::Invalid {
                let code = if failure.kind == FailureKind::DataDependent {
                    "data-dependent"
                } else {
                    "malformed-call"
                };
                let settled = match &shown {
                    Some(shown) if failure.kind == FailureKind::DataDependent => {
                        format!("; `torch._check({shown})` before this line, or its opposite, settles that")
                    }
                    _ => String::new(),
                };
                let message = format!("{}: {}{settled}", step.op(), failure.message);
                let mut note = Diagnostic::new(code, Level::Warning, message);
                place::note(&mut note, step);
                self.report.diagnostics.push(note);
                self.lower(Outcome::Unknown);
                continue;
            }
            // The traced example, or else any other allowed input: at its shapes the step fails.
            let prover = self.prover();
            let (witness, shapes) = self.allowed_input();
            let replayed = shapes.as_ref().map(|s| prover.replay(s));
            let violated = matches!(replayed, Some(Ok(_)));
            let verdict = if violated { GuardVerdict::Violated } else { GuardVerdict::Unknown };
            self.lower(if violated { Outcome::Violated } else { Outcome::Unknown });
            let never = self.note_if_nothing_works(failure.condition.filter(|_| violated), shown.as_deref());
            let expr = failure.condition.map(|c| text::print::expression(&run.env.pool, c));
            let mut guard = GuardReport {
                expr: expr.unwrap_or_else(|| failure.message.clone()),
                kind: ConditionKind::Precondition,
                verdict,
                node: Some(step.node()),
                op: Some(step.op()),
                decided_by: Some("normal-form".to_string()),
                because: Vec::new(),
                witness: violated.then(|| witness_json(&self.assumptions.env, &witness)),
                inputs: shapes.as_ref().filter(|_| violated).map(shapes_json),
                shown: shown.unwrap_or_else(|| failure.message.clone()),
                clause: failure.clause.map(|clause| clause.to_string()),
                consequence: replayed.and_then(Result::ok).map(|replayed| replayed.consequence),
                reason: (!violated).then(|| failure.message.clone()),
                cause: Cause::Operator,
                excludes: None,
                never,
                ..place::nowhere()
            };
            place::place(&mut guard, step, Traced::Needed);
            // What is said already is no error of its own.
            let is_said = |known: &GuardReport| known.verdict == verdict && known.shown == guard.shown;
            guard.follows = violated && self.report.guards.iter().any(is_said);
            self.report.guards.push(guard);
        }
    }

    /// An input that the assumptions allow: the traced example, or another one where none is known.
    fn allowed_input(&self) -> (Witness, Option<Shapes>) {
        let prover = self.prover();
        if let Some(shapes) = prover.shapes_at(&Vec::new()) {
            return (Vec::new(), Some(shapes));
        }
        let mut base = self.assumptions.env.clone();
        let (pool, facts) = base.facts();
        let never = pool.bool(false);
        match decide(pool, facts, never, self.budget).verdict {
            Verdict::Refuted { witness } => {
                let shapes = prover.shapes_at(&witness);
                (witness, shapes)
            }
            _ => (Vec::new(), None),
        }
    }

    pub fn mismatches(&mut self, run: &Run) {
        for mismatch in &run.mismatches {
            let step = &run.steps[mismatch.origin.0 as usize];
            let (_, shapes) = self.allowed_input();
            self.report.mismatches.push(MismatchReport {
                node: step.node(),
                value: mismatch.value.to_string(),
                recorded: mismatch.recorded.clone(),
                derived: mismatch.derived.clone(),
                inputs: shapes.as_ref().map(shapes_json),
                values: None,
                stack: place::stack(step),
            });
            self.lower(Outcome::Violated);
        }
        for mismatch in &run.unused_mismatches {
            let message = format!(
                "`{}` is recorded as {} but computed as {}; nothing uses it",
                mismatch.value, mismatch.recorded, mismatch.derived
            );
            let mut note = Diagnostic::new("unused-mismatch", Level::Note, message);
            place::note(&mut note, &run.steps[mismatch.origin.0 as usize]);
            self.report.diagnostics.push(note);
        }
    }

    pub fn rest(&mut self, run: &mut Run) {
        for (origin, reason) in &run.unsupported {
            let step = &run.steps[origin.0 as usize];
            self.report.unsupported.push(UnsupportedReport {
                node: step.node(),
                op: step.op(),
                reason: reason.clone(),
                stack: place::stack(step),
            });
            self.report.verdict = self.report.verdict.max(Outcome::Unknown);
        }
        if self.detailed {
            self.report.ledger =
                ledger(self.assumptions, self.evaluator.contract(), run, &self.report.guards);
            self.dropped();
        }
        self.unchecked_indices(run);
        self.frozen_data(run);
        for message in std::mem::take(&mut run.unreadable) {
            self.report.diagnostics.push(Diagnostic::new("unreadable", Level::Warning, message));
            self.report.verdict = self.report.verdict.max(Outcome::Unknown);
        }
        for assert in &run.asserts {
            let step = run.step(assert.origin);
            let shown = summary::shown(self.assumptions, &run.env, assert.condition);
            self.report.runtime_asserts.push(AssertReport {
                after_node: step.map(|s| s.node()).unwrap_or_default(),
                op: None,
                inputs: Vec::new(),
                check: format!("torch._check({shown})"),
                expr: shown,
                message: format!("{} needs it ({})", step.map(|s| s.op()).unwrap_or_default(), assert.clause),
            });
        }
    }

    /// Reports the assumptions that nothing enforces.
    fn dropped(&mut self) {
        let dropped: Vec<String> = self
            .report
            .ledger
            .iter()
            .filter(|entry| entry.kept_by == Keeper::Nothing)
            .map(|entry| entry.assumption.clone())
            .collect();
        if !dropped.is_empty() {
            let message = format!(
                "the program records {}, which no assertion in the graph states and nothing else implies",
                dropped.join(", ")
            );
            self.report.diagnostics.push(Diagnostic::new("assertion-dropped", Level::Note, message));
        }
    }
}

/// An assignment of symbols as JSON.
fn witness_json(env: &ShapeEnv, witness: &Witness) -> IndexMap<String, serde_json::Value> {
    witness.iter().map(|(s, v)| (env.pool.symbol_name(*s).to_string(), int_json(v))).collect()
}

fn guard_report(
    run: &Run,
    base: &ShapeEnv,
    obligation: &Obligation,
    proof: Proof,
    (expr, shown): (String, String),
    witness: Option<IndexMap<String, serde_json::Value>>,
) -> GuardReport {
    let step = obligation.origin.and_then(|Origin(i)| run.steps.get(i as usize));
    let violated = proof.verdict == GuardVerdict::Violated;
    let mut guard = GuardReport {
        expr,
        kind: obligation.kind(),
        verdict: proof.verdict,
        node: step.map(|s| s.node()),
        op: step.map(|s| s.op()),
        decided_by: Some(proof.decided_by.to_string()),
        because: proof.because,
        witness: witness.filter(|_| violated),
        inputs: proof.shapes.as_ref().filter(|_| violated).map(shapes_json),
        shown,
        clause: obligation.clause(),
        consequence: proof.consequence,
        reason: proof.reason,
        cause: obligation.cause(&base.pool),
        excludes: excluded(&base.pool, obligation.condition),
        ..place::nowhere()
    };
    if let Some(step) = step {
        place::place(&mut guard, step, Traced::Needed);
    }
    guard
}
