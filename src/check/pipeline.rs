//! Checking a program: from bytes to a report.
use super::evaluate::Evaluator;
use super::examine::Examination;
use super::summary;
use crate::decide::Budget;
use crate::expr::Expr;
use crate::fake::{Operators, Value};
use crate::ir::pt2::{self, ReadOptions};
use crate::ir::{GraphInput, Program, ReadError};
use crate::propagate::{Interpreter, Mode, Stop, constant_value, recorded};
use crate::report::{Diagnostic, Level, Outcome, Report, SCHEMA_VERSION};
use crate::shape_env::ShapeEnv;
use crate::spec::{Assumptions, Contract, ContractError, Spec, bind};
use indexmap::IndexMap;
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
}

/// What a check has found out, before any repair.
pub(super) struct Examined<'p> {
    pub report: Report,
    pub assumptions: Assumptions<'p>,
    /// The facts of the assumptions, in an environment that knows the expressions of the run.
    pub env: ShapeEnv,
    /// The conditions found violated.
    pub violated: Vec<Expr>,
}

/// Checks one program under any number of specs.
pub struct Checker {
    path: String,
    sha256: String,
    program: Program,
    watch: Option<Watch>,
    reading: Duration,
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
    pub fn read_within(path: &str, bytes: &[u8], options: &ReadOptions) -> Result<Checker, CheckError> {
        let started = Instant::now();
        let program = pt2::read(bytes, options)?;
        let reading = started.elapsed();
        Ok(Checker { path: path.to_string(), sha256: summary::hash(bytes), program, watch: None, reading })
    }

    /// Has `watch` told how far checks have come.
    pub fn watched(self, watch: Watch) -> Checker {
        Checker { watch: Some(watch), ..self }
    }

    pub(super) fn tell(&self, phase: &'static str, done: usize, total: usize) {
        if let Some(watch) = &self.watch {
            watch(Progress { phase, done, total });
        }
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
        let mut examined = self.examine(spec, operators, budget)?;
        if let (Some(spec), false) = (spec, examined.violated.is_empty()) {
            let fixes = self.fixes(spec, &mut examined, operators, budget)?;
            examined.report.fixes.extend(fixes);
        }
        Ok(examined.report)
    }

    /// Checks without repairing.
    pub(super) fn examine(
        &self,
        spec: Option<&Spec>,
        operators: &Operators,
        budget: &Budget,
    ) -> Result<Examined<'_>, CheckError> {
        let mut clock = Clock::new(self.reading);
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
                let assumptions = contract.assumed();
                let env = assumptions.env.clone();
                return Ok(Examined { report, assumptions, env, violated: Vec::new() });
            }
        };
        report.inputs = summary::inputs(&self.program, &assumptions);
        report.symbols = summary::symbols(&assumptions);
        let evaluator = Evaluator::new(contract, operators);
        self.tell("propagating shapes", 0, 0);
        clock.lap("bind");
        let mut run = self.propagate(&assumptions, operators)?;
        clock.lap("propagate");
        let results = run.1;
        let run = &mut run.0;
        report.outputs = summary::outputs(&assumptions, run, &results);
        let mut examination = Examination {
            assumptions: &assumptions,
            evaluator: &evaluator,
            budget,
            report: &mut report,
            violated: Vec::new(),
            hard: std::cell::Cell::new(0),
            tell: &|done, total| self.tell("deciding conditions", done, total),
        };
        examination.conditions(run);
        examination.failures(run);
        examination.mismatches(run);
        examination.rest(run);
        let violated = std::mem::take(&mut examination.violated);
        clock.lap("decide");
        report.timings = clock.laps;
        let mut env = assumptions.env.clone();
        std::mem::swap(&mut env.pool, &mut run.env.pool);
        Ok(Examined { report, assumptions, env, violated })
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

pub(super) fn diagnostic(code: &str, level: Level, message: String) -> Diagnostic {
    Diagnostic { code: code.to_string(), level, message, node: None, location: None }
}
