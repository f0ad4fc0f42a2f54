//! `sizewise check`: does the spec imply everything that the program needs?
use super::args::{Colour, Effort, Given, Kernels, ModelChoice, report_form};
use super::failure::{Failure, Result};
use super::fix::{self, Fixed};
use super::fleet::{self, Baseline, FleetOptions, Job, List, Program, Settings, gravity, status};
use super::programs::{Loaded, failed};
use super::{files, operators, sources, spec};
use crate::check::{Checker, Emit, EmitForm};
use crate::escape;
use crate::ir::Traced;
use crate::kernels::Operators;
use crate::onnx::subject::Subject;
use crate::replay;
use crate::report::{
    Detail, Diagnostic, Findings, Level, Report, ReportForm, Style, to_junit_case, to_junit_of, to_sarif_of,
};
use crate::spec::Spec;
use clap::Args;
use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `check`.
#[derive(Args, Debug)]
pub struct CheckOptions {
    /// What the command was given.
    #[command(flatten)]
    pub given: Given,
    /// Exported programs (.pt2) and ONNX models: files, folders with such files, patterns such as 'models/**/*.pt2'; - for
    /// standard input, which has a program or a list of paths, one a line.
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// The program of an archive.
    #[command(flatten)]
    pub choice: ModelChoice,
    /// Many programs.
    #[command(flatten)]
    pub fleet: FleetOptions,
    /// The dynamic-shape spec of one program, in JSON or as Python (`dynamic_shapes = ...`, parsed and never run). By
    /// default it is the file beside the program, model.spec.json or model.spec.py; where there is none, the program's own
    /// ranges and guards are assumed.
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
    #[arg(long, default_value = "text", value_parser = report_form())]
    pub format: ReportForm,
    /// Where to write the report; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// When to use colour.
    #[arg(long, value_enum, default_value_t = Colour::Auto)]
    pub color: Colour,
    /// Write the spec changed by the first fix (as Python if the file ends in .py), and report on the changed spec; it
    /// needs --spec unless the program is an ONNX model. Of such a model, a FILE that ends in .onnx is the model with the
    /// declarations of the first fix that has any. A number N prints the changed spec of fix N, and nothing else; the
    /// exit status is that of the check.
    #[arg(long, value_name = "FILE|N")]
    pub fix: Option<PathBuf>,
    /// Say everything in the text: each error in full, what follows from it, notes, and what is proved.
    #[arg(long, conflicts_with = "quiet")]
    pub all: bool,
    /// Say the verdict and the first error only, a line a program; of several, those that are not ok, and the totals.
    #[arg(long, short)]
    pub quiet: bool,
    /// Write each query as an SMT-LIB 2 file to this folder, for other solvers to check.
    #[arg(long, value_name = "DIR")]
    pub emit_smt2: Option<PathBuf>,
    /// Write a certificate of each condition that is proved to this folder: `sizewise certify DIR/*` checks them.
    #[arg(long, value_name = "DIR", conflicts_with = "emit_smt2")]
    pub certificate: Option<PathBuf>,
    /// Add the time of each phase to the report; reports then differ from run to run.
    #[arg(long)]
    pub timings: bool,
    /// The number of threads: of one program they decide conditions, of several each checks one. The reports do not depend
    /// on it.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub jobs: u16,
    /// Be a worker of another process: check the programs that it asks for.
    #[arg(long, hide = true)]
    pub worker: bool,
    /// The arguments of this process from `check` on, with which workers are started; none where it runs another program,
    /// as Python is.
    #[arg(skip)]
    pub arguments: Option<Vec<OsString>>,
}

/// The options that mean something for ONNX models.
const FOR_MODELS: &[&str] =
    &["spec", "backend", "budget", "format", "output", "color", "fix", "timings", "all", "quiet", "ignore"];

/// The options that are for one program.
const FOR_ONE: [&str; 7] = ["spec", "trace", "fix", "emit-smt2", "certificate", "model", "all"];

/// Runs the command.
pub fn run(mut options: CheckOptions) -> Result<ExitCode> {
    let asks_of_many = |fleet: &FleetOptions| fleet.is_any() && !fleet.ignores_notes();
    let is_many = options.paths.len() > 1 || asks_of_many(&options.fleet) || options.fleet.memory.is_some();
    if let Some(settings) = Settings::find()? {
        fill(&mut options, &settings)?;
    }
    options.fleet.check_values()?;
    if options.worker {
        fleet::serve(&job(&options)?).map_err(Failure::internal)?;
        return Ok(ExitCode::SUCCESS);
    }
    let for_one = FOR_ONE.iter().find(|name| options.given.has(name));
    let programs = match options.paths.as_slice() {
        [path] if path.as_os_str() == "-" => {
            let bytes = files::read(path).map_err(Failure::program)?;
            if bytes.trim_ascii().is_empty() {
                let expected = "expected a program, or a list of paths, one a line";
                return Err(Failure::program(format!("standard input is empty: {expected}")));
            }
            match List::of(&bytes) {
                Some(list) => fleet::programs(&options.paths, Some(&list)),
                None => return one(&options, &Loaded::of(path, bytes, &options.choice, &options.given)),
            }
        }
        // What a project's file says of many is not meant for what is asked of one.
        [path]
            if !fleet::is_many(path) && !is_many && (for_one.is_some() || !asks_of_many(&options.fleet)) =>
        {
            let loaded = Loaded::open_at(path, &options.choice, &options.given)?;
            options.spec = options.spec.take().map_or_else(|| spec_beside(path), |spec| Ok(Some(spec)))?;
            return one(&options, &loaded);
        }
        paths if paths.iter().any(|path| path.as_os_str() == "-") => {
            let bytes = files::read(Path::new("-")).map_err(Failure::program)?;
            let expected = "standard input: expected a list of paths, one a line";
            let list = List::of(&bytes).ok_or_else(|| Failure::usage(expected))?;
            fleet::programs(paths, Some(&list))
        }
        paths => fleet::programs(paths, None),
    };
    match for_one {
        None if programs.is_empty() => Err(Failure::usage("these paths stand for no program")),
        None => many(&options, &programs),
        Some(&"spec") => Err(Failure::usage(
            "--spec is for one program; of several, specs stand beside them or in --specs DIR",
        )),
        Some(name) => Err(Failure::usage(format!("--{name} is for one program, not for several"))),
    }
}

/// The spec that stands beside a program, as it counts for one of many. A note names it.
pub(super) fn spec_beside(path: &PathBuf) -> Result<Option<PathBuf>> {
    let [program] = &fleet::programs(std::slice::from_ref(path), None)[..] else { return Ok(None) };
    let spec = program.spec(None).map_err(Failure::usage)?;
    if let Some(spec) = &spec {
        files::complain(&format!("note: the spec is {}", files::shown(spec)));
    }
    Ok(spec)
}

/// Sets the options that a project's file has and the command line has not.
fn fill(options: &mut CheckOptions, settings: &Settings) -> Result<()> {
    settings.fill(&mut options.fleet)?;
    let is_free = |name: &str| !options.given.has(name);
    let number = |key: &str, value: u32, most: u32| match (1..=most).contains(&value) {
        true => Ok(value),
        false => Err(settings.wrong(key, &format!("expected a number from 1 to {most}"))),
    };
    if let Some(format) = settings.format.as_ref().filter(|_| is_free("format")) {
        let form = format.parse().ok().filter(|form: &ReportForm| form.is_of_check());
        options.format = form.ok_or_else(|| settings.wrong("format", "there is no such format"))?;
    }
    if let Some(jobs) = settings.jobs.filter(|_| is_free("jobs")) {
        options.jobs = u16::try_from(number("jobs", jobs, 256)?).unwrap_or(u16::MAX);
    }
    if let Some(budget) = settings.budget.filter(|_| is_free("budget")) {
        options.effort.budget = number("budget", budget, 1000)?;
    }
    if let Some(backend) = settings.backend.as_ref().filter(|_| is_free("backend")) {
        options.operators.backend =
            backend.parse().map_err(|error: String| settings.wrong("backend", &error))?;
    }
    if is_free("ops") {
        options.operators.files.ops.clone_from(&settings.ops);
    }
    if is_free("source-root") {
        options.source_root.clone_from(&settings.source_root);
    }
    Ok(())
}

/// What is the same for several programs.
fn job(options: &CheckOptions) -> Result<Job<'_>> {
    Ok(Job {
        options: &options.fleet,
        baseline: baseline(&options.fleet)?,
        operators: operators::load_on(&options.operators)?,
        known_operators: Operators::new(),
        backend: options.operators.backend,
        budget: options.effort.budget(),
        form: options.format,
        source_root: options.source_root.clone(),
        timings: options.timings,
        arguments: options.arguments.as_deref(),
    })
}

/// The known findings. A file that is not there may never have been written.
fn baseline(options: &FleetOptions) -> Result<Baseline> {
    let Some(path) = &options.baseline else { return Ok(Baseline::default()) };
    let named = match &options.baseline_from {
        Some(file) => format!("{}: `baseline`", files::shown(file)),
        None => "--baseline".to_owned(),
    };
    Baseline::read(path).map_err(|failure| {
        let written = match path.exists() {
            true => String::new(),
            false => format!("; --write-baseline {} writes it", files::shown(path)),
        };
        Failure::usage(format!("{named}: {}{written}", failure.message))
    })
}

/// How text is decorated, and how much is said.
fn style(options: &CheckOptions) -> Style {
    let detail = match (options.all, options.quiet) {
        (true, _) => Detail::All,
        (_, true) => Detail::Verdict,
        _ => Detail::Usual,
    };
    Style { detail, ..options.color.style(options.output.as_deref()) }
}

/// Checks several programs.
fn many(options: &CheckOptions, programs: &[Program]) -> Result<ExitCode> {
    let style = style(options);
    fleet::run(&job(options)?, programs, usize::from(options.jobs), options.output.as_deref(), style)
}

/// Checks the program or model of a file, or all programs of an archive.
fn one(options: &CheckOptions, loaded: &Loaded) -> Result<ExitCode> {
    let mut checked = check_all(options, loaded)?;
    let statuses = checked.iter().map(|(report, _)| {
        let mut findings = Findings::of(report);
        if options.fleet.ignores_notes() {
            findings.retain(|known| !options.fleet.ignore.iter().any(|code| known.has(code)));
        }
        status(&findings, None)
    });
    let status = statuses.max_by_key(|&status| gravity(status)).unwrap_or(0);
    if options.fleet.ignores_notes() {
        let is_left =
            |note: &Diagnostic| note.level == Level::Note && options.fleet.ignore.contains(&note.code);
        checked.iter_mut().for_each(|(report, _)| report.diagnostics.retain(|note| !is_left(note)));
    }
    let relate = match options.format {
        ReportForm::Sarif | ReportForm::Github => sources::relate_to_checkout,
        _ => sources::relate,
    };
    checked.iter_mut().for_each(|(report, _)| relate(report, options.source_root.as_deref()));
    if !options.timings {
        checked.iter_mut().for_each(|(report, _)| report.timings.clear());
    }
    let text = match options.fix.as_deref().and_then(fix::number) {
        Some(number) => {
            checked.iter().map(|(report, _)| fix::text(report, number)).collect::<Result<String>>()?
        }
        None => text(options, &checked)?,
    };
    files::write(options.output.as_deref(), &text)?;
    // The process ends here: freeing the programs first would only take time.
    std::mem::forget(checked);
    Ok(ExitCode::from(status))
}

/// The reports as one text: in sequence; in JSON as a list; in SARIF as runs of one log.
fn text(options: &CheckOptions, checked: &[Checked]) -> Result<String> {
    if checked.len() > 1 && options.format == ReportForm::Sarif {
        return Ok(to_sarif_of(checked.iter().map(|(report, _)| report)));
    }
    if checked.len() > 1 && options.format == ReportForm::Junit {
        let cases = checked.iter().map(|(report, _)| to_junit_case(&Findings::of(report), None, false));
        return Ok(to_junit_of(&cases.collect::<Vec<_>>()));
    }
    let style = style(options);
    let one = |(report, subject): &Checked| {
        subject.render(report, options.format, style).map_err(|error| failed(subject.name(), error))
    };
    let texts: Vec<String> = checked.iter().map(one).collect::<Result<_>>()?;
    Ok(match (texts.as_slice(), options.format) {
        ([only], _) => only.clone(),
        (several, ReportForm::Json) => {
            let items: Vec<&str> = several.iter().map(|text| text.trim_end()).collect();
            format!("[\n{}\n]\n", items.join(",\n"))
        }
        (several, ReportForm::Text) => several.join("\n"),
        (several, _) => several.concat(),
    })
}

/// A report, and what it is about.
type Checked = (Report, Subject);

/// Checks the program or model, or all programs of an archive.
fn check_all(options: &CheckOptions, loaded: &Loaded) -> Result<Vec<Checked>> {
    let subjects = loaded.subjects(options.operators.backend, FOR_MODELS)?;
    let of_one = options.fix.is_some() || emitted(options).is_some() || options.format == ReportForm::Html;
    if subjects.len() > 1 && of_one {
        return Err(Failure::usage(format!(
            "{} holds {} programs: name one with --model for a report of this kind",
            escape::visible(loaded.name()),
            subjects.len()
        )));
    }
    subjects.into_iter().map(|subject| check(options, subject)).collect()
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

fn check(options: &CheckOptions, subject: Subject) -> Result<Checked> {
    let subject = match subject {
        Subject::Program(_) if options.fix.is_some() && options.spec.is_none() => {
            return Err(Failure::usage("--fix changes the spec of --spec, which is missing"));
        }
        Subject::Program(checker) => Subject::Program(Box::new(prepared(options, *checker)?)),
        model => model,
    };
    let spec = options.spec.as_deref().map(spec::read).transpose()?;
    let operators = operators::load_on(&options.operators)?;
    let budget = options.effort.budget();
    let adds_costs = options.all || options.format == ReportForm::Html;
    let checked = |subject: &Subject, spec: Option<&Spec>| {
        let report = subject.check(spec, &operators, &budget);
        let mut report = report.map_err(|error| failed(subject.name(), error))?;
        if adds_costs {
            subject.add_costs(&mut report, spec, &operators);
        }
        Ok::<Report, Failure>(report)
    };
    let report = match (emitted(options), &subject) {
        (Some((form, folder)), Subject::Program(checker)) => {
            let queries = QueryFolder::new(folder, form)?;
            let emit = Emit { form, to: &|text| queries.add(text) };
            let report = checker.check_emitting(spec.as_ref(), &operators, &budget, Some(emit));
            let report = report.map_err(|error| failed(subject.name(), error.into()))?;
            queries.finish()?;
            report
        }
        _ => checked(&subject, spec.as_ref())?,
    };
    let path = options.fix.as_ref().filter(|path| fix::number(path).is_none());
    let Some(path) = path else { return Ok((report, subject)) };
    Ok(match fix::write(path, &subject, &report, spec.as_ref())? {
        None => (report, subject),
        Some(Fixed::Spec(fixed)) => (checked(&subject, Some(&fixed))?, subject),
        Some(Fixed::Model(file)) => {
            let fixed = Subject::Model(file);
            (checked(&fixed, spec.as_ref())?, fixed)
        }
    })
}

/// A checker with the options that are for programs.
fn prepared(options: &CheckOptions, checker: Checker) -> Result<Checker> {
    let checker = match &options.trace {
        Some(trace) => checker
            .with_trace(asked(trace)?)
            .map_err(|error| Failure::program(format!("{}: {error}", files::shown(trace))))?,
        None => checker,
    };
    Ok(checker.with_jobs(usize::from(options.jobs)))
}

/// What is to be written of each question, and where.
fn emitted(options: &CheckOptions) -> Option<(EmitForm, &Path)> {
    let smt2 = options.emit_smt2.as_deref().map(|folder| (EmitForm::Smt2, folder));
    smt2.or_else(|| options.certificate.as_deref().map(|folder| (EmitForm::Certificate, folder)))
}

/// A folder of SMT-LIB 2 files or certificates, numbered in order.
struct QueryFolder<'f> {
    form: EmitForm,
    folder: &'f Path,
    count: Cell<usize>,
    failure: RefCell<Option<Failure>>,
}

impl<'f> QueryFolder<'f> {
    fn new(folder: &'f Path, form: EmitForm) -> Result<QueryFolder<'f>> {
        files::make_folder(folder)?;
        Ok(QueryFolder { form, folder, count: Cell::new(0), failure: RefCell::new(None) })
    }

    fn add(&self, text: &str) {
        self.count.set(self.count.get() + 1);
        if let Err(failure) = files::write(Some(&self.path(self.count.get())), text) {
            self.failure.borrow_mut().get_or_insert(failure);
        }
    }

    fn path(&self, number: usize) -> PathBuf {
        let extension = if self.form == EmitForm::Smt2 { "smt2" } else { "certificate" };
        self.folder.join(format!("{number:04}.{extension}"))
    }

    /// Removes what an earlier run with more questions left. The first file that could not be written is the failure of
    /// the command.
    fn finish(self) -> Result<()> {
        let stale = (self.count.get() + 1..).map(|number| self.path(number));
        stale.take_while(|path| std::fs::remove_file(path).is_ok()).for_each(drop);
        self.failure.into_inner().map_or(Ok(()), Err)
    }
}
