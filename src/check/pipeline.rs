//! Checking a program: from bytes to a report.
use super::evaluate::Evaluator;
use super::obligation::Obligation;
use super::prove::{Proof, Prover, int_json, shapes_json};
use super::{repair, summary};
use crate::decide::Budget;
use crate::expr::{Expr, text};
use crate::fake::{Operators, Value};
use crate::ir::pt2::{self, ReadOptions};
use crate::ir::{GraphInput, Program, ReadError};
use crate::propagate::{FailureKind, Interpreter, Mode, Stop, constant_value, recorded};
use crate::report::{
    AssertReport, ConditionKind, Diagnostic, Fix, GuardReport, GuardVerdict, Level, MismatchReport, Outcome,
    Report, SCHEMA_VERSION, UnsupportedReport,
};
use crate::shape_env::{GuardKind, Origin};
use crate::spec::{Assumptions, Change, Contract, ContractError, DemandKind, Spec, bind};
use indexmap::IndexMap;

/// How often a repaired spec is repaired again.
const MAX_REPAIRS: usize = 3;

/// Why a program cannot be checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Its inputs cannot be told.
    #[error(transparent)]
    Contract(#[from] ContractError),
    /// Its records cannot be read.
    #[error("{0}")]
    Records(String),
}

/// Checks one program under any number of specs.
pub struct Checker {
    path: String,
    sha256: String,
    program: Program,
}

impl Checker {
    /// Reads a program; `path` is its name in reports.
    ///
    /// # Errors
    /// When the bytes are no program.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Checker, CheckError> {
        let program = pt2::read(bytes, &ReadOptions::default())?;
        Ok(Checker { path: path.to_string(), sha256: summary::hash(bytes), program })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// An evaluator of the program.
    ///
    /// # Errors
    /// When the program's inputs cannot be told.
    pub fn evaluator<'s>(&'s self, operators: &'s Operators) -> Result<Evaluator<'s>, CheckError> {
        Ok(Evaluator::new(Contract::load(&self.program)?, operators))
    }

    /// Checks the program under a spec, or under its own contract.
    ///
    /// # Errors
    /// When the program's records cannot be read. A spec that does not fit is a report with the verdict `invalid`.
    pub fn check(
        &self,
        spec: Option<&Spec>,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Report, CheckError> {
        let (mut report, changes) = self.examine(spec, operators, budget)?;
        if let (Some(spec), false) = (spec, changes.is_empty()) {
            report.fixes.extend(self.fix(spec, changes, operators, budget)?);
        }
        Ok(report)
    }

    /// The fix that the proposed changes amount to, if a check of the changed spec comes out well. What a first change leaves
    /// violated may call for further ones.
    fn fix(
        &self,
        spec: &Spec,
        mut changes: IndexMap<String, Change>,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Option<Fix>, CheckError> {
        for _ in 0..MAX_REPAIRS {
            let (changed, text) = repair::apply(spec, &changes);
            let (report, further) = self.examine(Some(&changed), operators, budget)?;
            if report.verdict == Outcome::Ok {
                return Ok(Some(Fix { text, spec: Some(changed.to_json()), proved: true, cost: None }));
            }
            let before = changes.len();
            for (name, change) in further {
                changes.entry(name).or_insert(change);
            }
            if report.verdict != Outcome::Violated || changes.len() == before {
                break;
            }
        }
        Ok(None)
    }

    /// Checks without repairing; says which changes of named dimensions the violated conditions call for.
    fn examine(
        &self,
        spec: Option<&Spec>,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<(Report, IndexMap<String, Change>), CheckError> {
        let contract = Contract::load(&self.program)?;
        let bound = match spec {
            None => Ok(contract.assumed()),
            Some(spec) => bind(&contract, spec),
        };
        let mut report = self.blank();
        for message in &contract.unreadable {
            report.diagnostics.push(diagnostic("unreadable", Level::Warning, message.clone()));
            report.verdict = Outcome::Unknown;
        }
        let assumptions = match bound {
            Ok(assumptions) => assumptions,
            Err(error) => {
                report.verdict = Outcome::Invalid;
                report.diagnostics.push(diagnostic("spec-does-not-fit", Level::Error, error.to_string()));
                return Ok((report, IndexMap::new()));
            }
        };
        report.inputs = summary::inputs(&self.program, &assumptions);
        report.symbols = summary::symbols(&assumptions);
        let evaluator = Evaluator::new(contract, operators);
        let mut run = self.propagate(&assumptions, operators)?;
        let results = run.1;
        let run = &mut run.0;
        report.outputs = summary::outputs(&assumptions, run, &results);
        let mut examination = Examination {
            assumptions: &assumptions,
            evaluator: &evaluator,
            budget,
            report: &mut report,
            violated: Vec::new(),
        };
        examination.conditions(run);
        examination.failures(run);
        examination.mismatches(run);
        examination.rest(run);
        let violated = std::mem::take(&mut examination.violated);
        let changes = self.changes(&assumptions, run, &violated);
        Ok((report, changes))
    }

    /// Runs the program on its symbolic inputs.
    fn propagate<'s>(
        &'s self,
        assumptions: &Assumptions<'s>,
        operators: &'s Operators,
    ) -> Result<(Interpreter<'s>, Vec<Value>), CheckError> {
        let (mut env, mut records) = (assumptions.env.clone(), assumptions.records.clone());
        let mut inputs = Vec::with_capacity(self.program.graph.inputs().len());
        for input in self.program.graph.inputs() {
            inputs.push(match input {
                GraphInput::Constant(constant) => constant_value(&mut env, constant),
                GraphInput::Value(id) => {
                    recorded::value(&mut records, &mut env, self.program.graph.meta(*id))
                        .map_err(|error| CheckError::Records(error.to_string()))?
                }
            });
        }
        let mut run = Interpreter::new(&self.program, env, records, operators, Mode::Verify);
        match run.run(inputs) {
            Ok(results) => Ok((run, results)),
            Err(Stop::Unreadable(error)) => Err(CheckError::Records(error.to_string())),
            Err(Stop::Failed(failure)) => Err(CheckError::Records(failure.message)),
        }
    }

    /// What the violated conditions call for.
    fn changes(
        &self,
        assumptions: &Assumptions,
        run: &mut Interpreter,
        violated: &[Expr],
    ) -> IndexMap<String, Change> {
        let mut dims = IndexMap::new();
        for (symbol, name) in &assumptions.dims {
            if let Some(example) =
                assumptions.env.symbol(*symbol).and_then(|s| s.hint.clone()).and_then(|h| h.as_int())
            {
                dims.insert(*symbol, (name.clone(), example));
            }
        }
        dims.sort_unstable_by(|_, (a, _), _, (b, _)| a.cmp(b));
        let mut env = assumptions.env.clone();
        let (_, facts) = env.facts();
        repair::propose(&mut run.env.pool, facts, &dims, violated)
    }

    fn blank(&self) -> Report {
        Report {
            schema_version: SCHEMA_VERSION,
            tool: summary::tool(),
            program: summary::program(&self.path, &self.sha256, &self.program),
            verdict: Outcome::Ok,
            inputs: Vec::new(),
            outputs: Vec::new(),
            symbols: IndexMap::new(),
            guards: Vec::new(),
            minimal_guards: Vec::new(),
            mismatches: Vec::new(),
            unsupported: Vec::new(),
            fixes: Vec::new(),
            runtime_asserts: Vec::new(),
            diagnostics: Vec::new(),
            timings: IndexMap::new(),
        }
    }
}

fn diagnostic(code: &str, level: Level, message: String) -> Diagnostic {
    Diagnostic { code: code.to_string(), level, message, node: None, location: None }
}

/// Fills a report from a run.
struct Examination<'a, 'p> {
    assumptions: &'a Assumptions<'p>,
    evaluator: &'a Evaluator<'p>,
    budget: &'a Budget,
    report: &'a mut Report,
    /// The conditions found violated.
    violated: Vec<Expr>,
}

impl<'p> Examination<'_, 'p> {
    fn prover(&self) -> Prover<'_, 'p> {
        Prover { assumptions: self.assumptions, evaluator: self.evaluator, budget: self.budget.clone() }
    }

    fn lower(&mut self, outcome: Outcome) {
        self.report.verdict = self.report.verdict.max(outcome);
    }

    /// Decides what the program demands of its inputs and what its operators need.
    fn conditions(&mut self, run: &mut Interpreter<'p>) {
        // Demands and guards are decided under what the spec says alone; sizes that only data decides are
        // compared under what is asserted of them too.
        let mut base = self.assumptions.env.clone();
        std::mem::swap(&mut base.pool, &mut run.env.pool);
        for obligation in obligations(self.assumptions, run) {
            let proof = if base
                .pool
                .free_symbols(&[obligation.condition])
                .iter()
                .all(|&s| base.symbol(s).is_some())
            {
                let (pool, facts) = base.facts();
                self.prover().prove(pool, facts, &obligation)
            } else {
                std::mem::swap(&mut base.pool, &mut run.env.pool);
                let (pool, facts) = run.env.facts();
                let proof = self.prover().prove(pool, facts, &obligation);
                std::mem::swap(&mut base.pool, &mut run.env.pool);
                proof
            };
            if proof.inconsistent {
                let message = format!("no input satisfies all assumptions: {}", proof.because.join(", "));
                if !self.report.diagnostics.iter().any(|d| d.code == "contradictory") {
                    self.report.diagnostics.push(diagnostic("contradictory", Level::Error, message));
                }
                self.lower(Outcome::Invalid);
            }
            match proof.verdict {
                GuardVerdict::Violated => {
                    self.violated.push(obligation.condition);
                    self.lower(Outcome::Violated);
                }
                GuardVerdict::Unknown => self.lower(Outcome::Unknown),
                GuardVerdict::Implied => {}
            }
            let shown = summary::shown(self.assumptions, &base, obligation.condition);
            let expr = text::print::expression(&base.pool, obligation.condition);
            let witness = proof.witness.as_ref().map(|w| {
                w.iter()
                    .map(|(s, v)| (base.pool.symbol_name(*s).to_string(), int_json(v)))
                    .collect::<IndexMap<_, _>>()
            });
            let report = guard_report(run, &obligation, proof, expr, shown, witness);
            self.report.guards.push(report);
        }
        std::mem::swap(&mut base.pool, &mut run.env.pool);
    }

    /// Steps that fail for every input, or already for the traced one.
    fn failures(&mut self, run: &mut Interpreter<'p>) {
        for failure in std::mem::take(&mut run.failures) {
            let step = &run.steps[failure.origin.0 as usize];
            let shown = failure.condition.map(|c| summary::shown(self.assumptions, &run.env, c));
            if failure.kind != FailureKind::Invalid {
                let code = if failure.kind == FailureKind::DataDependent {
                    "data-dependent"
                } else {
                    "malformed-call"
                };
                let mut note = diagnostic(code, Level::Warning, format!("{}: {}", step.op, failure.message));
                (note.node, note.location) = (Some(step.node.to_string()), step.location.clone());
                self.report.diagnostics.push(note);
                self.lower(Outcome::Unknown);
                continue;
            }
            // The traced example is an admitted input; at its shapes the step fails.
            let prover = self.prover();
            let shapes = prover.shapes_at(&Vec::new());
            let replayed = shapes.as_ref().map(|s| prover.replay(s));
            let violated = matches!(replayed, Some(Ok(_)));
            let verdict = if violated { GuardVerdict::Violated } else { GuardVerdict::Unknown };
            self.lower(if violated { Outcome::Violated } else { Outcome::Unknown });
            let expr = failure.condition.map(|c| text::print::expression(&run.env.pool, c));
            self.report.guards.push(GuardReport {
                expr: expr.unwrap_or_else(|| failure.message.clone()),
                kind: ConditionKind::Precondition,
                verdict,
                node: Some(step.node.to_string()),
                op: Some(step.op.to_string()),
                location: step.location.clone(),
                decided_by: Some("normal-form".to_string()),
                because: Vec::new(),
                witness: violated.then(IndexMap::new),
                inputs: shapes.as_ref().filter(|_| violated).map(shapes_json),
                shown: shown.unwrap_or_else(|| failure.message.clone()),
                clause: failure.clause.map(str::to_string),
                code: step.code.clone(),
                consequence: replayed.and_then(Result::ok),
                reason: (!violated).then(|| failure.message.clone()),
            });
        }
    }

    fn mismatches(&mut self, run: &Interpreter<'p>) {
        for mismatch in &run.mismatches {
            let step = &run.steps[mismatch.origin.0 as usize];
            let shapes = self.prover().shapes_at(&Vec::new());
            self.report.mismatches.push(MismatchReport {
                node: step.node.to_string(),
                value: mismatch.value.to_string(),
                recorded: mismatch.recorded.clone(),
                derived: mismatch.derived.clone(),
                inputs: shapes.as_ref().map(shapes_json),
            });
            self.lower(Outcome::Violated);
        }
    }

    fn rest(&mut self, run: &mut Interpreter<'p>) {
        for (origin, reason) in &run.unsupported {
            let step = &run.steps[origin.0 as usize];
            self.report.unsupported.push(UnsupportedReport {
                node: step.node.to_string(),
                op: step.op.to_string(),
                reason: reason.clone(),
            });
            self.report.verdict = self.report.verdict.max(Outcome::Unknown);
        }
        for message in std::mem::take(&mut run.unreadable) {
            self.report.diagnostics.push(diagnostic("unreadable", Level::Warning, message));
            self.report.verdict = self.report.verdict.max(Outcome::Unknown);
        }
        for assert in run.env.runtime_asserts() {
            let step = run.steps.get(assert.origin.0 as usize);
            self.report.runtime_asserts.push(AssertReport {
                after_node: step.map(|s| s.node.to_string()).unwrap_or_default(),
                expr: summary::shown(self.assumptions, &run.env, assert.condition),
                message: format!(
                    "{} needs it ({})",
                    step.map(|s| s.op.to_string()).unwrap_or_default(),
                    assert.clause
                ),
            });
        }
    }
}

/// Everything to be proved, each condition once: the demands, then what the steps need in their order.
fn obligations(assumptions: &Assumptions, run: &Interpreter) -> Vec<Obligation> {
    let mut seen: rustc_hash::FxHashSet<Expr> = rustc_hash::FxHashSet::default();
    let mut list = Vec::new();
    for demand in &assumptions.demands {
        let kind = match demand.kind {
            DemandKind::Contract => ConditionKind::Contract,
            DemandKind::Guard => ConditionKind::Guard,
        };
        if seen.insert(demand.condition) {
            let (condition, origin, clause) = (demand.condition, None, None);
            list.push(Obligation { condition, kind, origin, clause, branch: false });
        }
    }
    let mut steps: Vec<Obligation> = Vec::new();
    for guard in run.env.guards() {
        let branch = guard.kind == GuardKind::Branch;
        let assertion = guard.clause.starts_with("_assert");
        let kind = match (branch, assertion) {
            (true, _) => ConditionKind::Guard,
            (false, true) => ConditionKind::Assertion,
            (false, false) => ConditionKind::Precondition,
        };
        let (condition, origin, clause) = (guard.condition, Some(guard.origin), Some(guard.clause));
        steps.push(Obligation { condition, kind, origin, clause, branch });
    }
    for comparison in &run.comparisons {
        let (condition, origin) = (comparison.condition, Some(comparison.origin));
        let kind = ConditionKind::Contract;
        steps.push(Obligation { condition, kind, origin, clause: Some("recorded size"), branch: false });
    }
    steps.sort_by_key(|o| o.origin.map_or(0, |Origin(i)| i));
    list.extend(steps.into_iter().filter(|o| seen.insert(o.condition)));
    list
}

fn guard_report(
    run: &Interpreter,
    obligation: &Obligation,
    proof: Proof,
    expr: String,
    shown: String,
    witness: Option<IndexMap<String, serde_json::Value>>,
) -> GuardReport {
    let step = obligation.origin.and_then(|Origin(i)| run.steps.get(i as usize));
    let violated = proof.verdict == GuardVerdict::Violated;
    GuardReport {
        expr,
        kind: obligation.kind,
        verdict: proof.verdict,
        node: step.map(|s| s.node.to_string()),
        op: step.map(|s| s.op.to_string()),
        location: step.and_then(|s| s.location.clone()),
        decided_by: Some(proof.decided_by.to_string()),
        because: proof.because,
        witness: witness.filter(|_| violated),
        inputs: proof.shapes.as_ref().filter(|_| violated).map(shapes_json),
        shown,
        clause: obligation.clause.map(str::to_string),
        code: step.and_then(|s| s.code.clone()),
        consequence: proof.consequence,
        reason: proof.reason,
    }
}
