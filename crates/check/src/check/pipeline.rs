//! A check: bind the spec, propagate, decide what is needed, report.
use super::checker::Checker;
use super::error::CheckError;
use super::evaluate::Evaluator;
use super::examine::Examination;
use super::obligation::Source;
use super::prove::Emit;
use super::summary;
use crate::propagate::{Run, propagate};
use crate::report::{Assumed, Diagnostic, Level, Outcome, Report};
use crate::spec::{Assumptions, Contract, Language, Spec, bind};
use indexmap::IndexMap;
use sizewise_expr::{Expr, Int};
use sizewise_solve::Budget;
use std::time::{Duration, Instant};

/// The result of a check, without fixes.
pub(super) struct Examined<'p> {
    pub report: Report,
    /// What was assumed; the environment knows the expressions of the run too.
    pub assumptions: Assumptions<'p>,
    /// The conditions found violated.
    pub violated: Vec<Expr>,
    /// Those of them that follow from no others.
    pub roots: Vec<Expr>,
    /// Those of the violated ones without which the program still runs, with other sizes than it records.
    pub of_records: Vec<Expr>,
    /// The conditions that were left open.
    pub open: Vec<Expr>,
}

impl Examined<'_> {
    /// How many assignments of the named dimensions the spec allows; one without an end counts as one of a million.
    pub fn allowed(&self) -> u128 {
        const MANY: i64 = 1_000_000;
        let facts = self.assumptions.env.known_facts();
        let sizes = self.assumptions.dims.keys().map(|&symbol| {
            let range = facts.range(symbol);
            let end = |bound: Option<Int>| bound.and_then(|bound| bound.to_i64());
            let low = range.and_then(|range| end(range.lower())).unwrap_or(0);
            let high = range.and_then(|range| end(range.upper())).map_or(MANY, |high| high.min(MANY));
            u128::from(high.saturating_sub(low).max(0).unsigned_abs()) + 1
        });
        sizes.fold(1, u128::saturating_mul)
    }
}

/// What is to be examined.
pub(super) struct Task<'t, 'p> {
    /// The spec; none for the program's own contract.
    pub spec: Option<&'t Spec>,
    /// A trace whose expressions the evaluator's contract knows: nothing is propagated then.
    pub trace: Option<&'t Run<'p>>,
    pub budget: &'t Budget,
    /// Whether the report includes the minimal guards.
    pub detailed: bool,
    /// A callback that receives each question as an SMT-LIB 2 file.
    pub emit: Option<Emit<'t>>,
}

impl<'t> Task<'t, '_> {
    /// Everything, from the beginning.
    pub fn whole(spec: Option<&'t Spec>, budget: &'t Budget) -> Self {
        Task { spec, trace: None, budget, detailed: true, emit: None }
    }
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

impl Checker {
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
        let mut report = self.begun(contract, task.spec.is_some());
        let mut assumptions = match bound {
            Ok(assumptions) => assumptions,
            Err(error) => {
                report.verdict = Outcome::Invalid;
                report.diagnostics.push(Diagnostic::new(
                    "spec-does-not-fit",
                    Level::Error,
                    error.to_string(),
                ));
                return Ok(Examined {
                    report,
                    assumptions: contract.assumed(),
                    violated: Vec::new(),
                    roots: Vec::new(),
                    open: Vec::new(),
                    of_records: Vec::new(),
                });
            }
        };
        report.inputs = summary::inputs(&self.program, &assumptions);
        let asked = contract.asked(&mut assumptions);
        report.symbols = summary::symbols(&mut assumptions);
        self.tell("propagating shapes", 0, 0);
        clock.lap("bind");
        let mut run = match task.trace {
            Some(trace) => trace.under(&assumptions),
            None => propagate(&self.program, &assumptions, evaluator.operators())?,
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
            sufficient: Vec::new(),
            simple: Vec::new(),
            open: Vec::new(),
            emit: task.emit,
            asked: &asked,
            hard: 0,
            is_broken: false,
            jobs: self.jobs,
            has_spec: task.spec.is_some(),
            tell: &|done, total| self.tell("deciding conditions", done, total),
        };
        examination.conditions(&mut run);
        examination.failures(&mut run);
        examination.mismatches(&run);
        examination.rest(&mut run);
        if task.detailed {
            examination.trace_causes(&mut run);
            task.spec.into_iter().for_each(|spec| examination.blame_spec(spec));
            examination.without_checks();
        }
        let violated = examination.violated.iter().map(|o| o.condition).collect();
        let (roots, open) = (examination.roots(), std::mem::take(&mut examination.open));
        if task.detailed {
            examination.say_jointly();
            examination.note_left_to_module();
        }
        examination.weaker_ones();
        let of_records = examination.violated.iter().filter(|o| o.source == Source::RecordedSize);
        let of_records = of_records.map(|o| o.condition).collect();
        clock.lap("decide");
        report.timings = clock.laps;
        Ok(Examined { report, assumptions, violated, roots, open, of_records })
    }

    /// A report with what is said of the contract before anything is decided.
    fn begun(&self, contract: &Contract, has_spec: bool) -> Report {
        let program = summary::program(&self.path, &self.sha256, &self.program);
        let mut report = Report::new(summary::tool(), program, Assumed::Contract);
        if has_spec {
            report.assumed = Assumed::Spec;
        } else if contract.language() == Language::Shapes {
            report.assumed = Assumed::Assertions;
        }
        for message in &contract.unreadable {
            report.diagnostics.push(Diagnostic::new("unreadable", Level::Warning, message.clone()));
            report.verdict = Outcome::Unknown;
        }
        if let Some((name, guard)) = contract.guard_of_keywords() {
            let message = format!(
                "the guard `{guard}` speaks of what `**{name}` takes: torch's own module of this program fails at every \
                 call (name 'L' is not defined), although the program itself is right; give these arguments \
                 parameters of their own"
            );
            report.diagnostics.push(Diagnostic::new("guard-of-kwargs", Level::Note, message));
        }
        report
    }
}
