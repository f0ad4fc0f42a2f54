//! A program that was read, to be checked.
use super::error::CheckError;
use super::evaluate::Evaluator;
use super::summary;
use crate::spec::Contract;
use sizewise_ir::Program;
use sizewise_ir::pt2::{self, ReadOptions};
use sizewise_kernels::Operators;
use std::time::{Duration, Instant};

/// Checks one program under any number of specs.
pub struct Checker {
    pub(super) path: String,
    pub(super) sha256: String,
    pub(super) program: Program,
    pub(super) watch: Option<Watch>,
    pub(super) reading: Duration,
    pub(super) jobs: usize,
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
}
