//! A program that was read, to be checked.
use super::asserted::with_assertions;
use super::error::CheckError;
use super::evaluate::Evaluator;
use super::summary;
use crate::spec::Contract;
use sizewise_ir::pt2::{self, ReadOptions};
use sizewise_ir::{Program, Traced};
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

/// The progress of a check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// The phase.
    pub phase: &'static str,
    /// The steps of the phase that are done.
    pub done: usize,
    /// The number of steps; 0 if unknown.
    pub total: usize,
}

/// A callback for the progress of checks.
pub type Watch = Box<dyn Fn(Progress) + Send + Sync>;

impl Checker {
    /// Reads a program; `path` is its name in reports.
    ///
    /// # Errors
    /// When the bytes are no program.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Checker, CheckError> {
        Checker::read_within(path, bytes, &ReadOptions::default())
    }

    /// As [`Checker::read`], with other limits.
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

    /// Reports the progress of checks to `watch`.
    pub fn watched(self, watch: Watch) -> Checker {
        Checker { watch: Some(watch), ..self }
    }

    /// Decides conditions on up to this many threads; the reports are the same.
    pub fn with_jobs(self, jobs: usize) -> Checker {
        Checker { jobs, ..self }
    }

    /// The same program with the lines that asked torch for conditions on its inputs while it was traced. A trace may
    /// have other programs, too.
    ///
    /// # Errors
    /// [`CheckError::OtherTrace`] if a trace has other programs only; as [`Contract::load`].
    pub fn with_trace(&self, programs: Vec<Traced>) -> Result<Checker, CheckError> {
        let contract = Contract::load(&self.program)?;
        let (mut asked, mut other) = (Vec::new(), None);
        for traced in programs {
            match contract.differs(&traced) {
                None => asked.extend(traced.asked),
                Some(why) => other = other.or(Some(why)),
            }
        }
        if let (true, Some(why)) = (asked.is_empty(), other) {
            return Err(CheckError::OtherTrace(why));
        }
        let program = Program { asked, ..self.program.clone() };
        Ok(Checker { path: self.path.clone(), sha256: self.sha256.clone(), program, watch: None, ..*self })
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
    /// When the program's inputs cannot be determined.
    pub fn evaluator<'s>(&'s self, operators: &'s Operators) -> Result<Evaluator<'s>, CheckError> {
        Ok(Evaluator::new(self.contract(operators)?, operators))
    }

    /// The program's contract: ranges, guards, and what it asserts of the sizes of its inputs.
    ///
    /// # Errors
    /// When the program's inputs or records cannot be read.
    pub fn contract<'s>(&'s self, operators: &'s Operators) -> Result<Contract<'s>, CheckError> {
        with_assertions(Contract::load(&self.program)?, operators)
    }
}
