//! `sizewise diff`: what a new export of a program changes.
use super::args::{Given, Kernels, ModelChoice};
use super::failure::{Failure, Result};
use super::programs::{Loaded, failed};
use super::{files, operators, spec};
use crate::diff::{Difference, Side, Verdict, diff_of};
use crate::escape;
use crate::kernels::Operators;
use crate::onnx::subject::{Kind, Subject, SubjectError};
use crate::spec::{Spec, is_program};
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `diff`.
#[derive(Args, Debug)]
pub struct DiffOptions {
    /// What the command was given.
    #[command(flatten)]
    pub given: Given,
    /// The exported program or the ONNX model as it was; with --program, or its spec. - for standard input.
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The program, the model or the spec as it is now.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
    /// The program or the model that specs are for.
    #[arg(long, value_name = "PROGRAM")]
    pub program: Option<PathBuf>,
    /// The program of archives that hold several.
    #[command(flatten)]
    pub choice: ModelChoice,
    /// What counts as a failure, with exit status 1: that NEW refuses inputs that OLD accepts, or any difference, also
    /// of outputs and of the interface.
    #[arg(long, value_enum, default_value_t = FailOn::Narrower)]
    pub fail_on: FailOn,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// The format of the report.
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    pub format: DiffFormat,
    /// Where to write the report; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What counts as a failure.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailOn {
    /// NEW refuses inputs that OLD accepts.
    Narrower,
    /// Any difference.
    Different,
}

/// The formats of a difference.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiffFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// A page, all in one file.
    Html,
    /// For a pull request.
    Markdown,
}

/// Runs the command.
pub fn run(options: &DiffOptions) -> Result<ExitCode> {
    if [&options.old, &options.new].iter().all(|path| path.as_os_str() == "-") {
        return Err(Failure::usage("only one of the programs can be standard input"));
    }
    let one = |path: &Option<PathBuf>| path.as_deref().map(|path| open(options, path)).transpose();
    let program = match one(&options.program)? {
        Some(OpenedSide::Spec(..)) => {
            return Err(Failure::usage("--program: a spec; expected a program or a model"));
        }
        Some(OpenedSide::Subject(program)) => Some(program),
        None => None,
    };
    let (old, new) = (open(options, &options.old)?, open(options, &options.new)?);
    let operators = operators::load_on(&options.operators)?;
    let found = diff_of(&old.side(program.as_ref(), &operators)?, &new.side(program.as_ref(), &operators)?);
    let found = found.map_err(|error| failed(&format!("{} and {}", old.name(), new.name()), error.into()))?;
    let text = match options.format {
        DiffFormat::Text => escape::lines(&found.to_text()).into_owned(),
        DiffFormat::Json => {
            let text = serde_json::to_string_pretty(&found.to_json()).map_err(Failure::internal)?;
            escape::json_text(text) + "\n"
        }
        DiffFormat::Html => found.to_html(),
        DiffFormat::Markdown => escape::lines(&found.to_markdown()).into_owned(),
    };
    files::write(options.output.as_deref(), &text)?;
    // The process ends here: freeing the programs first would only take time.
    std::mem::forget((program, old, new));
    Ok(status(&found, options.fail_on))
}

/// What a file holds.
enum OpenedSide {
    Subject(Subject),
    /// A spec, with the name of the file.
    Spec(String, Box<Spec>),
}

fn open(options: &DiffOptions, path: &Path) -> Result<OpenedSide> {
    let bytes = files::read(path).map_err(Failure::program)?;
    let is_called_a_program =
        path.extension().is_some_and(|extension| extension == "pt2" || extension == "onnx");
    if is_called_a_program
        || is_program(&bytes)
        || Kind::by_bytes(&bytes).is_some_and(|kind| kind != Kind::Program)
    {
        let loaded = Loaded::of(path, bytes, &options.choice, &options.given);
        return Ok(OpenedSide::Subject(loaded.subject(options.operators.backend, FOR_MODELS)?));
    }
    let spec = spec::parse(path, &bytes)?;
    if spec.is_of_examples() {
        return Err(Failure::usage(format!("{}: lists example inputs, and is no spec", files::shown(path))));
    }
    Ok(OpenedSide::Spec(files::name(path), Box::new(spec)))
}

/// All options: what an ONNX model knows nothing of is for the other one.
const FOR_MODELS: &[&str] = &["old", "new", "model", "ops", "fail-on", "backend", "format", "output"];

impl OpenedSide {
    fn name(&self) -> &str {
        match self {
            OpenedSide::Subject(subject) => subject.name(),
            OpenedSide::Spec(name, _) => name,
        }
    }

    /// What is compared; a spec is one for the program.
    fn side<'s>(&'s self, program: Option<&'s Subject>, operators: &'s Operators) -> Result<Side<'s>> {
        match (self, program) {
            (OpenedSide::Subject(subject), _) => subject.side(operators),
            (OpenedSide::Spec(name, spec), Some(program)) => program.side_of_spec(name, spec, operators),
            (OpenedSide::Spec(name, _), None) => {
                let expected = "a spec: name the program or the model that it is for with --program";
                return Err(Failure::usage(format!("{}: {expected}", escape::visible(name))));
            }
        }
        .map_err(|error| match error {
            SubjectError::Spec(_) => Failure::usage(format!("{}: {error}", escape::visible(self.name()))),
            error => failed(self.name(), error),
        })
    }
}

fn status(found: &Difference, fail_on: FailOn) -> ExitCode {
    let fails = match fail_on {
        FailOn::Narrower => matches!(found.verdict, Verdict::Narrower | Verdict::Different),
        FailOn::Different => found.verdict != Verdict::Undecided && found.is_change(),
    };
    match found.verdict {
        _ if fails => ExitCode::from(1),
        Verdict::Undecided => ExitCode::from(4),
        _ => ExitCode::SUCCESS,
    }
}
