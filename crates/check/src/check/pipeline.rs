//! Checking a program: from bytes to a report.
use super::evaluate::Evaluator;
use super::examine::Examination;
use super::run::{Run, propagate};
use super::session::Session;
use super::summary;
use crate::report::{Diagnostic, Level, Outcome, Report, SCHEMA_VERSION};
use crate::spec::{Assumptions, Contract, ContractError, Spec, bind};
use indexmap::IndexMap;
use sizewise_expr::{Expr, is_cancelled};
use sizewise_ir::pt2::{self, ReadOptions};
use sizewise_ir::{Program, ReadError};
use sizewise_kernels::Operators;
use sizewise_solve::Budget;
use std::time::{Duration, Instant};

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
    /// The sizes of the inputs do not determine a symbol.
    #[error("no size of the inputs determines the symbol `{0}`")]
    Undetermined(String),
    /// It was cancelled by a [`CancelToken`](sizewise_expr::CancelToken).
    #[error("the check was cancelled")]
    Cancelled,
    /// A dimension that the program's inputs do not have, with those that they have.
    #[error("no input has the dimension `{0}`; there are {1}")]
    NoDimension(String, String),
}

/// What a check has found out, before any repair.
pub(super) struct Examined<'p> {
    pub report: Report,
    /// What was assumed; the environment knows the expressions of the run too.
    pub assumptions: Assumptions<'p>,
    /// The conditions found violated.
    pub violated: Vec<Expr>,
}

/// What is to be examined.
pub(super) struct Task<'t, 'p> {
    /// The spec; none for the program's own contract.
    pub spec: Option<&'t Spec>,
    /// A trace whose expressions the evaluator's contract knows: nothing is propagated then.
    pub trace: Option<&'t Run<'p>>,
    pub budget: &'t Budget,
    /// Whether the report is to have the minimal guards.
    pub detailed: bool,
    /// Is given each question as an SMT-LIB 2 file.
    pub emit: Option<&'t dyn Fn(&str)>,
}

impl<'t> Task<'t, '_> {
    /// Everything, from the beginning.
    pub fn whole(spec: Option<&'t Spec>, budget: &'t Budget) -> Self {
        Task { spec, trace: None, budget, detailed: true, emit: None }
    }
}

/// Checks one program under any number of specs.
pub struct Checker {
    path: String,
    sha256: String,
    program: Program,
    watch: Option<Watch>,
    reading: Duration,
    jobs: usize,
}

/// How far a check has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// What is being done.
    pub phase: &'static str,
    /// How much of it is done.
    pub done: usize,
    /// How much there is; 0 where that is not known.
    pub total: usize,
}

/// Seconds by phase.
struct Clock {
    last: Instant,
    laps: IndexMap<String, f64>,
}

impl Clock {
    fn new(reading: Duration) -> Clock {
        let laps = [("read".to_string(), reading.as_secs_f64())].into_iter().collect();
        Clock { last: Instant::now(), laps }
    }

    fn lap(&mut self, phase: &str) {
        self.laps.insert(phase.to_string(), self.last.elapsed().as_secs_f64());
        self.last = Instant::now();
    }
}

/// Is told how far a check has come.
pub type Watch = Box<dyn Fn(Progress) + Send + Sync>;

impl Checker {
    /// Reads a program; `path` is its name in reports.
    ///
    /// # Errors
    /// When the bytes are no program.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Checker, CheckError> {
        Checker::read_within(path, bytes, &ReadOptions::default())
    }

    /// As [`Checker::read`], with limits of one's own.
    ///
    /// # Errors
    /// When the bytes are no program, or exceed the limits.
    pub fn read_within(path: &str, bytes: &[u8], options: &ReadOptions<'_>) -> Result<Checker, CheckError> {
        let started = Instant::now();
        let program = pt2::read(bytes, options)?;
        let reading = started.elapsed();
        Ok(Checker {
            path: path.to_string(),
            sha256: summary::hash(bytes),
            program,
            watch: None,
            reading,
            jobs: 1,
        })
    }

    /// Has `watch` told how far checks have come.
    pub fn watched(self, watch: Watch) -> Checker {
        Checker { watch: Some(watch), ..self }
    }

    /// Has up to so many threads decide conditions; the reports are the same.
    pub fn with_jobs(self, jobs: usize) -> Checker {
        Checker { jobs, ..self }
    }

    pub(super) fn tell(&self, phase: &'static str, done: usize, total: usize) {
        if let Some(watch) = &self.watch {
            watch(Progress { phase, done, total });
        }
    }

    /// The program's name in reports.
    pub fn name(&self) -> &str {
        &self.path
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

    /// A session, for checking the program under one spec after another.
    ///
    /// # Errors
    /// When the program's inputs or records cannot be read.
    pub fn session<'s>(&'s self, operators: &'s Operators) -> Result<Session<'s>, CheckError> {
        Session::new(self, operators)
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
        self.check_emitting(spec, operators, budget, None)
    }

    /// As [`Checker::check`]; `emit` is given each question that is decided about the spec (not about its fixes) as an SMT-LIB 2 file that
    /// any solver can check again.
    ///
    /// # Errors
    /// As [`Checker::check`].
    pub fn check_emitting(
        &self,
        spec: Option<&Spec>,
        operators: &Operators,
        budget: &Budget,
        emit: Option<&dyn Fn(&str)>,
    ) -> Result<Report, CheckError> {
        uncancelled(|| {
            let evaluator = self.evaluator(operators)?;
            let mut examined = self.examine(&evaluator, &Task { emit, ..Task::whole(spec, budget) })?;
            if let (Some(spec), false) = (spec, examined.violated.is_empty() || is_cancelled()) {
                let fixes = self.session(operators)?.fixes(spec, &mut examined, budget)?;
                examined.report.fixes.extend(fixes);
            }
            Ok(examined.report)
        })
    }

    /// Checks without repairing.
    pub(super) fn examine<'s>(
        &'s self,
        evaluator: &Evaluator<'s>,
        task: &Task<'_, 's>,
    ) -> Result<Examined<'s>, CheckError> {
        let mut clock = Clock::new(self.reading);
        let contract = evaluator.contract();
        let bound = match task.spec {
            None => Ok(contract.assumed()),
            Some(spec) => bind(contract, spec),
        };
        let mut report = self.blank();
        for message in &contract.unreadable {
            report.diagnostics.push(diagnostic("unreadable", Level::Warning, message.clone()));
            report.verdict = Outcome::Unknown;
        }
        let mut assumptions = match bound {
            Ok(assumptions) => assumptions,
            Err(error) => {
                report.verdict = Outcome::Invalid;
                report.diagnostics.push(diagnostic("spec-does-not-fit", Level::Error, error.to_string()));
                return Ok(Examined { report, assumptions: contract.assumed(), violated: Vec::new() });
            }
        };
        report.inputs = summary::inputs(&self.program, &assumptions);
        report.symbols = summary::symbols(&mut assumptions);
        self.tell("propagating shapes", 0, 0);
        clock.lap("bind");
        let mut run = match task.trace {
            Some(trace) => trace.under(&assumptions),
            None => self.propagate(&assumptions, evaluator.operators())?,
        };
        clock.lap("propagate");
        report.outputs = summary::outputs(&self.program, &assumptions, &mut run);
        let mut examination = Examination {
            assumptions: &assumptions,
            evaluator,
            budget: task.budget,
            detailed: task.detailed,
            report: &mut report,
            violated: Vec::new(),
            emit: task.emit,
            hard: 0,
            jobs: self.jobs,
            has_spec: task.spec.is_some(),
            tell: &|done, total| self.tell("deciding conditions", done, total),
        };
        examination.conditions(&mut run);
        examination.failures(&mut run);
        examination.mismatches(&run);
        examination.rest(&mut run);
        let violated = std::mem::take(&mut examination.violated);
        clock.lap("decide");
        report.timings = clock.laps;
        std::mem::swap(&mut assumptions.env.pool, &mut run.env.pool);
        Ok(Examined { report, assumptions, violated })
    }

    /// Runs the program on its symbolic inputs.
    pub(super) fn propagate<'s>(
        &'s self,
        assumptions: &Assumptions<'s>,
        operators: &'s Operators,
    ) -> Result<Run<'s>, CheckError> {
        propagate(&self.program, assumptions, operators)
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
            ledger: Vec::new(),
            diagnostics: Vec::new(),
            timings: IndexMap::new(),
        }
    }
}

/// What a check comes to, unless it is cancelled meanwhile: then it says nothing.
pub(super) fn uncancelled<T>(check: impl FnOnce() -> Result<T, CheckError>) -> Result<T, CheckError> {
    let result = check();
    if is_cancelled() { Err(CheckError::Cancelled) } else { result }
}

pub(super) fn diagnostic(code: &str, level: Level, message: String) -> Diagnostic {
    Diagnostic { code: code.to_string(), level, message, node: None, location: None }
}
