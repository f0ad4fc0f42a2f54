//! Checking one program under many specs: the program is propagated once, each spec only decides conditions.
//!
//! The trace assumes nothing of the inputs' sizes but that they are not negative, so its conditions are all
//! that the program needs, whatever the spec. Each spec then only decides them, the program's symbols
//! being replaced as the spec says.
use super::advice::advise;
use super::checker::Checker;
use super::error::{CheckError, uncancelled};
use super::evaluate::Evaluator;
use super::pipeline::{Examined, Task};
use super::prove::Emit;
use crate::propagate::{Run, propagate};
use crate::report::{Outcome, Report};
use crate::spec::{Contract, Spec};
use sizewise_expr::is_cancelled;
use sizewise_kernels::Operators;
use sizewise_solve::Budget;

/// A program prepared for many specs.
pub struct Session<'c> {
    checker: &'c Checker,
    /// Its contract's pool knows the expressions of the trace.
    evaluator: Evaluator<'c>,
    /// The trace; `None` if there are data-dependent sizes, which depend on what is assumed of the inputs.
    trace: Option<Run<'c>>,
}

impl<'c> Session<'c> {
    /// Propagates the program once.
    pub(super) fn new(checker: &'c Checker, operators: &'c Operators) -> Result<Session<'c>, CheckError> {
        let mut evaluator = checker.evaluator(operators)?;
        let assumptions = evaluator.contract().unconstrained();
        checker.tell("propagating shapes", 0, 0);
        let run = propagate(checker.program(), &assumptions, operators)?;
        // Where no example is known, kernels go by what is assumed of the inputs, which a spec may say otherwise.
        let is_reusable = run.is_closed() && evaluator.contract().has_example();
        let trace = is_reusable.then(|| {
            evaluator.contract_mut().env.pool = run.env.pool.clone();
            run
        });
        Ok(Session { checker, evaluator, trace })
    }

    pub(super) fn checker(&self) -> &'c Checker {
        self.checker
    }

    /// An evaluator of the program.
    pub fn evaluator(&self) -> &Evaluator<'c> {
        &self.evaluator
    }

    pub(super) fn trace(&self) -> Option<&Run<'c>> {
        self.trace.as_ref()
    }

    /// The program's contract; its pool knows the expressions of what was followed.
    pub fn contract(&self) -> &Contract<'c> {
        self.evaluator.contract()
    }

    /// Checks the program under a spec, or under its own contract.
    ///
    /// The report says the same as that of [`Checker::check`], but may list conditions that the spec settles at once.
    ///
    /// # Errors
    /// When the program's records cannot be read. A spec that does not fit is a report with the verdict `invalid`.
    pub fn check(&self, spec: Option<&Spec>, budget: &Budget) -> Result<Report, CheckError> {
        uncancelled(|| {
            let mut examined = self.examine(spec, budget, true)?;
            if let (Some(spec), false) = (spec, examined.violated.is_empty()) {
                let fixes = self.fixes(spec, &mut examined, budget)?;
                examined.report.fixes.extend(fixes);
            }
            advise(&mut examined.report);
            Ok(examined.report)
        })
    }

    /// As [`Session::check`], without fixes and without minimal guards: for
    /// specs that are being edited.
    ///
    /// # Errors
    /// As [`Session::check`].
    pub fn recheck(&self, spec: Option<&Spec>, budget: &Budget) -> Result<Report, CheckError> {
        uncancelled(|| Ok(self.examine(spec, budget, false)?.report))
    }

    pub(super) fn examine(
        &self,
        spec: Option<&Spec>,
        budget: &Budget,
        detailed: bool,
    ) -> Result<Examined<'c>, CheckError> {
        let whole = Task { detailed, ..Task::whole(spec, budget) };
        if let Some(trace) = &self.trace {
            let traced = Task { trace: Some(trace), ..whole };
            let examined = self.checker.examine(&self.evaluator, &traced)?;
            // Where the trace took a branch that the spec leaves open, the spec's own facts may decide it otherwise.
            if examined.report.verdict != Outcome::Unknown {
                return Ok(examined);
            }
        }
        self.checker.examine(&self.evaluator, &whole)
    }
}

impl Checker {
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

    /// As [`Checker::check`]; `emit` is given each question that is decided about the spec (not about its
    /// fixes), as a certificate or as an SMT-LIB 2 file that any solver can check again.
    ///
    /// # Errors
    /// As [`Checker::check`].
    pub fn check_emitting(
        &self,
        spec: Option<&Spec>,
        operators: &Operators,
        budget: &Budget,
        emit: Option<Emit<'_>>,
    ) -> Result<Report, CheckError> {
        uncancelled(|| {
            let evaluator = self.evaluator(operators)?;
            let mut examined = self.examine(&evaluator, &Task { emit, ..Task::whole(spec, budget) })?;
            if let (Some(spec), false) = (spec, examined.violated.is_empty() || is_cancelled()) {
                let fixes = self.session(operators)?.fixes(spec, &mut examined, budget)?;
                examined.report.fixes.extend(fixes);
            }
            advise(&mut examined.report);
            Ok(examined.report)
        })
    }
}
