//! `sizewise check`: does the spec imply everything that the program needs?
use super::args::{Colour, Effort, Kernels, ProgramFile};
use super::failure::{Failure, Result};
use super::spec::{self, Form};
use super::{files, onnx_model, operators, programs, sources};
use crate::check::{CheckError, Checker, outline};
use crate::ir::Traced;
use crate::replay;
use crate::report::{
    Outcome, Report, Style, to_github, to_html, to_json, to_sarif, to_sarif_of, to_text, to_torch,
};
use crate::spec::{Containers, Spec};
use clap::{Args, ValueEnum};
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The dynamic-shape spec, in JSON or as Python (`dynamic_shapes = ...`, parsed and never run); without one, the
    /// program's own ranges and guards are assumed.
    #[arg(long, value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// The trace that `sizewise.record` wrote while the program was exported: reports then name the lines of the code that
    /// asked for conditions on sizes.
    #[arg(long, value_name = "TRACE")]
    pub trace: Option<PathBuf>,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// How much work is done.
    #[command(flatten)]
    pub effort: Effort,
    /// The folder that paths of source files are given relative to. By default, the current folder; in `sarif` and
    /// `github` the checkout, which is the folder with `.git` around the file.
    #[arg(long, value_name = "DIR")]
    pub source_root: Option<PathBuf>,
    /// The format of the report.
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// Where to write the report; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
    /// Write the spec changed by the first fix (as Python if the file ends in .py), and report on the changed spec; it
    /// needs --spec unless the program is an ONNX model. Of such a model, a FILE that ends in .onnx is the model with the
    /// declarations of the first fix that has any.
    #[arg(long, value_name = "FILE")]
    pub fix: Option<PathBuf>,
    /// Write each query as an SMT-LIB 2 file to this folder, for other solvers to check.
    #[arg(long, value_name = "DIR")]
    pub emit_smt2: Option<PathBuf>,
    /// Add the time of each phase to the report; reports then differ from run to run.
    #[arg(long)]
    pub timings: bool,
    /// The number of threads that decide conditions; the report does not depend on it.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
}

/// The formats of the report of a check.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReportFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// Constraint violations in torch's wording, with fixes to paste; empty if nothing is violated.
    Torch,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// GitHub workflow commands, shown beside the source lines.
    Github,
    /// A self-contained HTML page.
    Html,
}

/// Runs the command.
pub fn run(options: &CheckOptions) -> Result<ExitCode> {
    let loaded = programs::Loaded::open(&options.program)?;
    if let Some(mut model) = loaded.model()? {
        model.backend = options.operators.backend;
        return onnx_model::report(&model, &loaded, options);
    }
    if options.fix.is_some() && options.spec.is_none() {
        return Err(Failure::usage("--fix changes the spec of --spec, which is missing"));
    }
    let mut checked = check_all(options, &loaded)?;
    let relate = match options.format {
        ReportFormat::Sarif | ReportFormat::Github => sources::relate_to_checkout,
        _ => sources::relate,
    };
    checked.iter_mut().for_each(|(report, _)| relate(report, options.source_root.as_deref()));
    if !options.timings {
        checked.iter_mut().for_each(|(report, _)| report.timings.clear());
    }
    files::write(options.output.as_deref(), &text(options, &checked))?;
    let verdicts = checked.iter().map(|(report, _)| report.verdict);
    let status = verdicts.max_by_key(|&verdict| gravity(verdict)).map_or(0, status);
    // The process ends here: freeing the programs first would only take time.
    std::mem::forget(checked);
    Ok(ExitCode::from(status))
}

/// The exit status for a verdict.
pub(super) fn status(verdict: Outcome) -> u8 {
    match verdict {
        Outcome::Ok => 0,
        Outcome::Violated => 1,
        Outcome::Invalid => 2,
        Outcome::Unknown => 4,
    }
}

/// The exit status of several programs is that of the worst verdict.
fn gravity(verdict: Outcome) -> u8 {
    match verdict {
        Outcome::Ok => 0,
        Outcome::Unknown => 1,
        Outcome::Violated => 2,
        Outcome::Invalid => 3,
    }
}

/// The reports as one text: in sequence; in JSON as a list; in SARIF as runs of one log.
fn text(options: &CheckOptions, checked: &[(Report, Checker)]) -> String {
    let colour = options.color.on_stdout(options.output.as_deref());
    let one = |(report, checker): &(Report, Checker)| match options.format {
        ReportFormat::Text => to_text(report, Style { colour }),
        ReportFormat::Json => to_json(report),
        ReportFormat::Torch => to_torch(report),
        ReportFormat::Sarif => to_sarif(report),
        ReportFormat::Github => to_github(report),
        ReportFormat::Html => to_html(report, &outline(checker.program())),
    };
    if checked.len() > 1 && matches!(options.format, ReportFormat::Sarif) {
        return to_sarif_of(checked.iter().map(|(report, _)| report));
    }
    let texts: Vec<String> = checked.iter().map(one).collect();
    match (texts.as_slice(), options.format) {
        ([only], _) => only.clone(),
        (several, ReportFormat::Json) => {
            let items: Vec<&str> = several.iter().map(|text| text.trim_end()).collect();
            format!("[\n{}\n]\n", items.join(",\n"))
        }
        (several, ReportFormat::Text) => several.join("\n"),
        (several, _) => several.concat(),
    }
}

/// Checks the program, or all programs of an archive.
fn check_all(options: &CheckOptions, loaded: &programs::Loaded) -> Result<Vec<(Report, Checker)>> {
    let checkers = loaded.checkers()?;
    let of_one =
        options.fix.is_some() || options.emit_smt2.is_some() || matches!(options.format, ReportFormat::Html);
    if checkers.len() > 1 && of_one {
        return Err(Failure::usage(format!(
            "{} holds {} programs: name one with --model for a report of this kind",
            files::shown(&options.program),
            checkers.len()
        )));
    }
    checkers.into_iter().map(|checker| check(options, checker)).collect()
}

/// The conditions of a trace, with the lines that asked for them.
fn asked(trace: &Path) -> Result<Vec<Traced>> {
    let failed = |message: String| Failure::program(format!("{}: {message}", files::shown(trace)));
    let file = std::fs::File::open(trace).map_err(|error| failed(error.to_string()))?;
    let found = replay::asked(std::io::BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
    if found.is_empty() {
        files::complain(&format!(
            "{}: the trace names no lines of conditions on inputs",
            files::shown(trace)
        ));
    }
    Ok(found)
}

fn check(options: &CheckOptions, checker: Checker) -> Result<(Report, Checker)> {
    let checker = match &options.trace {
        Some(trace) => checker
            .with_trace(asked(trace)?)
            .map_err(|error| Failure::program(format!("{}: {error}", files::shown(trace))))?,
        None => checker,
    };
    let checker = checker.with_jobs(usize::from(options.jobs));
    let spec = options.spec.as_deref().map(spec::read).transpose()?;
    let operators = operators::load_on(&options.operators)?;
    let failed = |error: CheckError| programs::unreadable(checker.name(), error);
    let budget = options.effort.budget();
    let report = match &options.emit_smt2 {
        None => checker.check(spec.as_ref(), &operators, &budget).map_err(failed)?,
        Some(folder) => {
            let queries = QueryFolder::new(folder)?;
            let report = checker
                .check_emitting(spec.as_ref(), &operators, &budget, Some(&|text| queries.add(text)))
                .map_err(failed)?;
            queries.finish()?;
            report
        }
    };
    let Some(path) = &options.fix else { return Ok((report, checker)) };
    let fixed = match report.fixes.first().and_then(|fix| fix.spec.clone()) {
        Some(spec) => spec,
        None if report.verdict == Outcome::Ok => spec.map(|spec| spec.to_json()).unwrap_or_default(),
        None => {
            files::complain(&format!("no fix was found, {} is not written", files::shown(path)));
            return Ok((report, checker));
        }
    };
    let fixed = Spec::parse(fixed.to_string().as_bytes()).map_err(Failure::internal)?;
    let form = Form::of(Some(path), Form::Json);
    files::write(Some(path), &form.text(&fixed, &Containers::of(checker.program()))?)?;
    let report = checker.check(Some(&fixed), &operators, &budget).map_err(failed)?;
    Ok((report, checker))
}

/// A folder of SMT-LIB 2 files, numbered in order.
struct QueryFolder<'f> {
    folder: &'f Path,
    count: Cell<usize>,
    failure: RefCell<Option<Failure>>,
}

impl<'f> QueryFolder<'f> {
    fn new(folder: &'f Path) -> Result<QueryFolder<'f>> {
        files::make_folder(folder)?;
        Ok(QueryFolder { folder, count: Cell::new(0), failure: RefCell::new(None) })
    }

    fn add(&self, text: &str) {
        self.count.set(self.count.get() + 1);
        let path = self.folder.join(format!("{:04}.smt2", self.count.get()));
        if let Err(failure) = files::write(Some(&path), text) {
            self.failure.borrow_mut().get_or_insert(failure);
        }
    }

    /// The first file that could not be written is the failure of the command.
    fn finish(self) -> Result<()> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }
}
