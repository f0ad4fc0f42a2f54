//! `sizewise diff`: what a new export of a program changes.
use super::args::{Given, Kernels, ModelChoice};
use super::failure::{Failure, Result};
use super::programs::{Loaded, failed, unreadable};
use super::{files, operators};
use crate::check::Checker;
use crate::diff::{Difference, Verdict, diff};
use crate::escape;
use crate::onnx::subject::Subject;
use clap::{Args, ValueEnum};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options of `diff`.
#[derive(Args, Debug)]
pub struct DiffOptions {
    /// What the command was given.
    #[command(flatten)]
    pub given: Given,
    /// The exported program as it was: a .pt2 file, or - for standard input.
    #[arg(value_name = "OLD")]
    pub old: PathBuf,
    /// The exported program as it is now.
    #[arg(value_name = "NEW")]
    pub new: PathBuf,
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
    let (old, new) = (open(options, &options.old)?, open(options, &options.new)?);
    let operators = operators::load_on(&options.operators)?;
    let found = diff(program(&old)?, program(&new)?, &operators);
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
    Ok(status(&found, options.fail_on))
}

fn open(options: &DiffOptions, path: &Path) -> Result<Subject> {
    Loaded::open_at(path, &options.choice, &options.given)?.subject(options.operators.backend, ALL)
}

/// The options: an ONNX model is refused whatever they are.
const ALL: &[&str] = &["old", "new", "model", "fail-on", "ops", "backend", "format", "output"];

fn program(subject: &Subject) -> Result<&Checker> {
    subject.program("diff").map_err(|error| unreadable(subject.name(), error))
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
