//! `sizewise annotate`: the user's source with the shapes of the values that its lines make.
use super::args::{Kernels, ProgramFile};
use super::check::spec_beside;
use super::failure::{Failure, Result};
use super::programs::{Loaded, failed};
use super::sources::Sources;
use super::{files, operators, spec};
use crate::escape::{json_text, visible};
use crate::onnx::subject::Subject;
use crate::report::{Annotations, Outcome, Report};
use crate::solve::Budget;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `annotate`.
#[derive(Args, Debug)]
pub struct AnnotateOptions {
    /// The exported program or the ONNX model.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The folder that the user's source is in, or a file of it. Recorded paths are found there by their ends. By default
    /// they are looked for in the current folder, and where they say; where there is no such file, the lines that the
    /// program records are shown.
    #[arg(long, value_name = "DIR|FILE")]
    pub source: Option<PathBuf>,
    /// The dynamic-shape spec whose names sizes get, in JSON or as Python. By default it is the file beside the program,
    /// model.spec.json or model.spec.py; where there is none, sizes are named by inputs: x.shape[0].
    #[arg(long, value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// The format.
    #[arg(long, value_enum, default_value_t = AnnotateFormat::Text)]
    pub format: AnnotateFormat,
    /// Where to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// The formats of annotated source.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnnotateFormat {
    /// The lines, with shapes as comments.
    Text,
    /// A page, all in one file.
    Html,
    /// Hints for editors: file, line, column, text.
    Json,
}

/// The options that mean something for ONNX models.
const FOR_MODELS: &[&str] = &["source", "spec", "backend", "format", "output"];

/// Runs the command.
pub fn run(options: &AnnotateOptions) -> Result<ExitCode> {
    let loaded = Loaded::open(&options.program)?;
    let (subject, report) =
        checked(&loaded, &options.program.path, options.spec.as_ref(), &options.operators, FOR_MODELS)?;
    let sources = Sources::new(options.source.as_deref())?;
    let mut annotations = Annotations::new(&report, &subject.outline());
    annotations.attach(options.source.is_some(), &mut |file| sources.find(file));
    let text = match options.format {
        AnnotateFormat::Text => annotations.to_text(),
        AnnotateFormat::Html => annotations.to_html(),
        AnnotateFormat::Json => {
            json_text(serde_json::to_string_pretty(&annotations.to_json()).map_err(Failure::internal)?) + "\n"
        }
    };
    files::write(options.output.as_deref(), &text)?;
    Ok(ExitCode::SUCCESS)
}

/// A program or a model with the report of its check, under the spec that is given or stands beside it.
///
/// # Errors
/// When it cannot be checked, or the spec does not fit.
pub(super) fn checked(
    loaded: &Loaded,
    path: &PathBuf,
    given: Option<&PathBuf>,
    kernels: &Kernels,
    for_models: &[&str],
) -> Result<(Subject, Report)> {
    let subject = loaded.subject(kernels.backend, for_models)?;
    let beside = if given.is_none() && path.as_os_str() != "-" { spec_beside(path)? } else { None };
    let spec = given.or(beside.as_ref()).map(|path| spec::read(path)).transpose()?;
    let operators = operators::load_on(kernels)?;
    let report = subject.check(spec.as_ref(), &operators, &Budget::default());
    let report = report.map_err(|error| failed(loaded.name(), error))?;
    if report.verdict == Outcome::Invalid {
        let why = report.diagnostics.first().map_or("the spec does not fit", |first| first.message.as_str());
        return Err(Failure::usage(format!("{}: {why}", visible(loaded.name()))));
    }
    Ok((subject, report))
}
