//! The check of one file among many: whatever happens ends its own entry only.
use super::baseline::Baseline;
use super::options::{Counted, FailOn, FleetOptions};
use super::paths::Program;
use crate::check::tool;
use crate::cli::failure::{Failure, Result};
use crate::cli::programs::failed;
use crate::cli::{files, sources, spec};
use crate::escape::visible;
use crate::ir::pt2::{Limits, ReadOptions, models};
use crate::kernels::{Backend, Operators};
use crate::onnx::subject::Subject;
use crate::report::{
    Assumed, Diagnostic, Findings, GraphView, GuardVerdict, Known, Level, Outcome, ProgramInfo, Report,
    ReportForm, Style, cause, sarif_artifact, sarif_results, to_github_of, to_jsonl, to_junit_case,
    to_view_json,
};
use crate::solve::Budget;
use crate::spec::Spec;
use prost::bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Instant;

/// The verdict on a program that could not be checked.
pub const NOT_CHECKED: &str = "not checked";

/// What is the same for every program.
pub struct Job<'o> {
    /// Which findings count, and where specs are.
    pub options: &'o FleetOptions,
    /// The known findings.
    pub baseline: Baseline,
    /// The operators of programs.
    pub operators: Operators,
    /// Those of models, which have no others.
    pub known_operators: Operators,
    /// The backend.
    pub backend: Backend,
    /// The work that a condition may take.
    pub budget: Budget,
    /// The form of the reports.
    pub form: ReportForm,
    /// The folder that paths of source files are relative to.
    pub source_root: Option<PathBuf>,
    /// Whether reports have times.
    pub timings: bool,
    /// The arguments with which processes that check programs are started; none where threads of this one do.
    pub arguments: Option<&'o [OsString]>,
}

/// What is kept of a program: its report is given away as text.
#[derive(Serialize, Deserialize)]
pub struct Entry {
    /// The program, as it was named.
    pub path: String,
    /// The verdict on what counts.
    pub verdict: String,
    /// The exit status.
    pub status: u8,
    /// The time that it took.
    pub seconds: f64,
    /// Whether it has a spec.
    pub has_spec: bool,
    /// The operators without a shape function.
    pub unsupported: Vec<String>,
    /// Why it is not ok.
    pub causes: Vec<String>,
    /// What the first finding says.
    pub says: Option<String>,
    /// The report in its form; findings, for a form that lists those of all programs.
    pub text: String,
    /// The program in the form of a SARIF artifact.
    pub artifact: String,
    /// The findings that a baseline has.
    pub known: Vec<Known>,
    /// How many of them do not count.
    pub dropped: usize,
    /// How many findings of the baseline are there no more.
    pub gone: usize,
}

/// Checks all programs in a file.
pub fn check(job: &Job, program: &Program) -> Vec<Entry> {
    let name = files::text(&program.path);
    let started = Instant::now();
    let opened = match guarded(|| open(job, program)) {
        Ok(opened) => opened,
        Err(failure) => return vec![entry_of_failure(job, &name, &failure, started)],
    };
    let one = |model: &Option<String>| {
        let started = Instant::now();
        let called = model.as_ref().map_or_else(|| name.clone(), |model| format!("{name}#{model}"));
        let entry = guarded(|| {
            let options = ReadOptions { model: model.as_deref(), ..ReadOptions::default() };
            let failed = |error| failed(&called, error);
            let subject = Subject::read(&called, opened.bytes.clone(), &options).map_err(failed)?;
            let subject = subject.on(job.backend).map_err(failed)?;
            let operators = match &subject {
                Subject::Program(_) => &job.operators,
                Subject::Model(_) => &job.known_operators,
            };
            let spec = opened.spec.as_ref();
            let mut report = subject.check(spec, operators, &job.budget).map_err(failed)?;
            if job.form == ReportForm::Html {
                subject.add_costs(&mut report, spec, operators);
            }
            warn(&subject, &called);
            entry(job, report, Some(&subject), &called, started)
        });
        entry.unwrap_or_else(|failure| entry_of_failure(job, &called, &failure, started))
    };
    opened.models.iter().map(one).collect()
}

/// Does work that may fail in any way: a panic is a failure.
fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(Failure::internal(format!(
            "a bug in sizewise, please report it with the file: {}",
            said(&*panic)
        )))
    })
}

/// The message of a panic.
fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

/// A file, the programs in it, and its spec.
struct OpenedFile {
    bytes: Bytes,
    models: Vec<Option<String>>,
    spec: Option<Spec>,
}

fn open(job: &Job, program: &Program) -> Result<OpenedFile> {
    if let Some(problem) = &program.problem {
        return Err(Failure::program(problem));
    }
    let spec = program.spec(job.options.specs.as_deref()).map_err(Failure::usage)?;
    let spec = spec.map(|path| spec::read(&path)).transpose()?;
    // A pipe may never end, and `-` is no file among others.
    match program.path.metadata() {
        Ok(known) if !known.is_file() => return Err(Failure::program("not a regular file")),
        Err(error) => return Err(Failure::program(error)),
        Ok(_) => {}
    }
    let bytes: Bytes = files::read(&program.path).map_err(Failure::program)?.into();
    let found = models(&bytes, &Limits::default()).unwrap_or_default();
    let models = if found.len() < 2 { vec![None] } else { found.into_iter().map(Some).collect::<Vec<_>>() };
    Ok(OpenedFile { bytes, models, spec })
}

/// Prints the warnings about a program.
fn warn(subject: &Subject, name: &str) {
    if let Subject::Program(checker) = subject {
        for warning in &checker.program().warnings {
            files::complain(&format!("warning: {}: {warning}", visible(name)));
        }
    }
}

/// What is kept of a program that could not be checked.
pub fn entry_of_failure(job: &Job, name: &str, failure: &Failure, started: Instant) -> Entry {
    let program = ProgramInfo {
        path: name.to_owned(),
        sha256: String::new(),
        nodes: 0,
        dialect: String::new(),
        torch_version: String::new(),
        onnx: None,
    };
    let mut report = Report::new(tool(), program, Assumed::Contract);
    report.verdict = Outcome::Invalid;
    let message = failure.message.strip_prefix(&format!("{}: ", visible(name))).unwrap_or(&failure.message);
    // A place in a spec is shown below its message, which here is part of a line.
    let message = message.lines().next().unwrap_or_default();
    report.diagnostics.push(Diagnostic::new("not-checked", Level::Error, message.to_owned()));
    let mut entry = match entry(job, report, None, name, started) {
        Ok(entry) => entry,
        // A report of a failure has every form.
        Err(error) => blank(name, error.message),
    };
    entry.verdict = NOT_CHECKED.to_owned();
    entry.status = failure.status;
    entry.says = Some(message.to_owned());
    entry
}

fn blank(name: &str, says: String) -> Entry {
    Entry {
        path: name.to_owned(),
        verdict: NOT_CHECKED.to_owned(),
        status: 0,
        seconds: 0.0,
        has_spec: false,
        unsupported: Vec::new(),
        causes: Vec::new(),
        says: Some(says),
        text: String::new(),
        artifact: String::new(),
        known: Vec::new(),
        dropped: 0,
        gone: 0,
    }
}

/// What is kept of a report. Without a subject it is that of a failure, which always counts.
fn entry(
    job: &Job,
    mut report: Report,
    subject: Option<&Subject>,
    name: &str,
    started: Instant,
) -> Result<Entry> {
    match job.form {
        ReportForm::Sarif | ReportForm::Github => {
            sources::relate_to_checkout(&mut report, job.source_root.as_deref());
        }
        _ => sources::relate(&mut report, job.source_root.as_deref()),
    }
    if !job.timings {
        report.timings.clear();
    }
    let mut findings = Findings::of(&report);
    let counted = match subject {
        Some(_) if report.verdict != Outcome::Invalid => {
            job.options.count(&mut findings, name, &job.baseline)
        }
        // What says nothing of the program is never known.
        _ => Counted::default(),
    };
    let known = counted.all;
    let verdict = findings.verdict();
    let status = status(&findings, job.options.fail_on);
    let (text, artifact) = match job.form {
        ReportForm::Text => (String::new(), String::new()),
        ReportForm::Json | ReportForm::Jsonl => (to_jsonl(&report), String::new()),
        ReportForm::Github => (to_github_of(&findings), String::new()),
        ReportForm::Junit => {
            let seconds = job.timings.then(|| started.elapsed().as_secs_f64());
            (to_junit_case(&findings, seconds, status == 0), String::new())
        }
        ReportForm::Sarif => {
            let results: Vec<String> =
                sarif_results(&findings, None).iter().map(ToString::to_string).collect();
            (results.join(",\n"), sarif_artifact(&report).to_string())
        }
        ReportForm::Html => {
            let graph = subject.map_or_else(GraphView::default, Subject::outline);
            (to_view_json(&report, &graph), String::new())
        }
        form => match subject {
            Some(subject) => {
                let text = subject.render(&report, form, Style::default());
                (text.map_err(|error| failed(name, error))?, String::new())
            }
            None => (refusal(&report), String::new()),
        },
    };
    Ok(Entry {
        path: name.to_owned(),
        verdict: word(verdict).to_owned(),
        status,
        seconds: started.elapsed().as_secs_f64(),
        has_spec: report.assumed == Assumed::Spec,
        unsupported: report.unsupported.iter().map(|item| item.op.clone()).collect(),
        causes: if verdict == Outcome::Ok { Vec::new() } else { causes(&report, &findings.known()) },
        says: findings.first().filter(|_| verdict != Outcome::Ok),
        dropped: known.len().saturating_sub(findings.known().len()),
        known,
        gone: counted.gone,
        text,
        artifact,
    })
}

/// That a program could not be checked, as text.
fn refusal(report: &Report) -> String {
    let why = report.diagnostics.first().map(|first| first.message.as_str()).unwrap_or_default();
    format!("{}: {NOT_CHECKED}: {}\n", visible(&report.program.path), visible(why))
}

/// Why a program is not ok, by the findings that count, each reason once.
fn causes(report: &Report, counting: &[Known]) -> Vec<String> {
    let counts = |about: &str| counting.iter().any(|known| known.about == about);
    let guards = report.guards.iter().filter(|guard| !guard.follows && counts(&guard.shown));
    let mut causes: Vec<String> = guards
        .filter_map(|guard| match guard.verdict {
            GuardVerdict::Implied => None,
            GuardVerdict::Violated => Some(cause(guard)),
            GuardVerdict::Unknown => Some("a condition is undecided".to_owned()),
        })
        .collect();
    causes.extend(
        report.mismatches.iter().filter(|item| counts(&item.value)).map(|_| "shape-mismatch".to_owned()),
    );
    causes.extend(
        report.unsupported.iter().filter(|item| counts(&item.op)).map(|_| "unsupported-operator".to_owned()),
    );
    let errors = report.diagnostics.iter().filter(|diagnostic| diagnostic.level == Level::Error);
    let errors = errors.filter(|diagnostic| counts(&diagnostic.code));
    causes.extend(errors.map(|diagnostic| diagnostic.code.clone()));
    causes.sort_unstable();
    causes.dedup();
    causes
}

fn word(verdict: Outcome) -> &'static str {
    match verdict {
        Outcome::Ok => "ok",
        Outcome::Unknown => "unknown",
        Outcome::Violated => "violated",
        Outcome::Invalid => "invalid",
    }
}

/// The exit status of what counts.
pub fn status(findings: &Findings, fail_on: Option<FailOn>) -> u8 {
    let verdict = match fail_on {
        None | Some(FailOn::Undeclarable) => findings.verdict(),
        Some(FailOn::Unknown | FailOn::Violated) => findings.verdict_on_declarable(),
    };
    match verdict {
        Outcome::Ok => 0,
        Outcome::Violated => 1,
        Outcome::Invalid => 2,
        Outcome::Unknown if fail_on == Some(FailOn::Violated) => 0,
        Outcome::Unknown => 4,
    }
}

/// How bad an exit status is among those of several programs.
pub fn gravity(status: u8) -> u8 {
    match status {
        0 => 0,
        4 => 1,
        1 => 2,
        2 => 3,
        3 => 4,
        _ => 5,
    }
}
