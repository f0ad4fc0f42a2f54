//! `sizewise spec`: the spec of a program, and specs in other forms.
use super::args::{Effort, Kernels, ProgramFile};
use super::failure::{Failure, Result};
use super::{examples, files, operators, programs};
use crate::check::{CheckError, Checker};
use crate::escape;
use crate::report::Outcome;
use crate::spec::{Contract, Spec, Width};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Which spec to write.
#[derive(Subcommand, Debug)]
pub enum SpecCommand {
    /// The program's own spec: named dimensions with their recorded ranges; or what additional examples make dynamic.
    #[command(after_help = examples::SPEC_INIT)]
    Init {
        /// The program and the output.
        #[command(flatten)]
        options: SpecOptions,
        /// An additional example such as '{"x": [3, 8]}': sizes that differ from the traced ones become dynamic; may be
        /// repeated.
        #[arg(long = "example", value_name = "JSON")]
        examples: Vec<String>,
    },
    /// The widest spec that the program supports: any size, narrowed by proved fixes.
    #[command(after_help = examples::SPEC_WIDEN)]
    Widen(SpecOptions),
    /// A spec in another form: Python's, to paste beside torch.export.export, or JSON.
    #[command(after_help = examples::SPEC_SHOW)]
    Show {
        /// The spec, in JSON or as Python; - for standard input.
        #[arg(value_name = "SPEC")]
        path: PathBuf,
        /// The form.
        #[arg(long = "as", value_enum, default_value_t = Form::Python)]
        form: Form,
        /// Where to write the spec; standard output by default.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// The forms of a spec.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// JSON, which mirrors the inputs.
    Json,
    /// Python: dimensions that are assigned to names, and `dynamic_shapes = ...`.
    Python,
}

/// Reads a spec, in JSON or as Python.
///
/// # Errors
/// When the file cannot be read or is no spec.
pub(super) fn read(path: &Path) -> Result<Spec> {
    let text = files::read(path).map_err(Failure::usage)?;
    Spec::parse(&text).map_err(|error| files::unusable(path, error))
}

impl Form {
    /// The form that the name of a file asks for.
    pub(super) fn of(path: &Path) -> Form {
        if path.extension().is_some_and(|extension| extension == "py") { Form::Python } else { Form::Json }
    }

    /// The spec in this form.
    pub(super) fn text(self, spec: &Spec) -> Result<String> {
        match self {
            Form::Python => Ok(spec.to_python()),
            Form::Json => {
                let text =
                    serde_json::to_string_pretty(&spec.inlined().to_json()).map_err(Failure::internal)?;
                Ok(escape::json_text(format!("{text}\n")))
            }
        }
    }
}

/// Options of `spec`.
#[derive(Args, Debug)]
pub struct SpecOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// How much work is done.
    #[command(flatten)]
    pub effort: Effort,
    /// The form of the spec.
    #[arg(long = "as", value_enum, default_value_t = Form::Json)]
    pub form: Form,
    /// Where to write the spec; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A spec, and a note for the user.
type Written = (Json, Option<String>);

/// Runs the command.
pub fn run(command: &SpecCommand) -> Result<ExitCode> {
    let (options, (spec, note)) = match command {
        SpecCommand::Init { options, examples } => (options, init(options, examples)?),
        SpecCommand::Widen(options) => (options, widen(options)?),
        SpecCommand::Show { path, form, output } => {
            let spec = read(path)?;
            if spec.is_of_examples() {
                let message =
                    "lists example inputs, whose spec depends on a program: see `spec init --example`";
                return Err(Failure::usage(format!("{}: {message}", files::shown(path))));
            }
            files::write(output.as_deref(), &form.text(&spec)?)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let spec = Spec::parse(spec.to_string().as_bytes()).map_err(Failure::internal)?;
    files::write(options.output.as_deref(), &options.form.text(&spec)?)?;
    note.map_or(Ok(ExitCode::SUCCESS), |note| Err(Failure::undecided(note)))
}

fn contract<'c>(checker: &'c Checker, options: &SpecOptions) -> Result<Contract<'c>> {
    let unreadable = |error| programs::unreadable(&files::name(&options.program), error);
    Contract::load(checker.program()).map_err(unreadable)
}

fn init(options: &SpecOptions, examples: &[String]) -> Result<Written> {
    let checker = programs::checker(&options.program)?;
    let contract = contract(&checker, options)?;
    if examples.is_empty() {
        return Ok((Spec::initial(&contract, Width::Recorded).to_json(), None));
    }
    let mut parsed = Vec::with_capacity(examples.len());
    for (i, text) in examples.iter().enumerate() {
        let example: Json = serde_json::from_str(text)
            .map_err(|error| Failure::usage(format!("--example {}: `{text}` is not JSON: {error}", i + 1)))?;
        parsed.push(example);
    }
    let spec = Spec::of_examples(&contract, &parsed).map_err(Failure::usage)?;
    Ok((spec.to_json(), None))
}

/// The widest spec: any size, narrowed by the first fix where that is too wide. Where there is no fix, the sizes that
/// the program constrains are left to the program.
fn widen(options: &SpecOptions) -> Result<Written> {
    let checker = programs::checker(&options.program)?;
    let operators = operators::load_on(&options.operators)?;
    let name = files::shown(&options.program);
    let contract = contract(&checker, options)?;
    let check = |spec: Option<&Spec>| {
        let report = checker.check(spec, &operators, &options.effort.budget());
        report.map_err(|error: CheckError| Failure::program(format!("{name}: {error}")))
    };
    for width in [Width::Any, Width::Demanded, Width::Recorded] {
        let spec = Spec::initial(&contract, width);
        let report = check(Some(&spec))?;
        match (report.verdict, report.fixes.into_iter().next().and_then(|fix| fix.spec)) {
            (Outcome::Ok, _) => return Ok((spec.to_json(), None)),
            (_, Some(fixed)) => return Ok((fixed, None)),
            // Nothing can be proved about a program that is undecided under its own contract.
            (Outcome::Unknown, None)
                if width == Width::Recorded && check(None)?.verdict == Outcome::Unknown =>
            {
                let note = format!(
                    "{name}: the spec is the program's own contract, and whether the program keeps it is undecided; \
                     `sizewise check {name}` says more"
                );
                return Ok((spec.to_json(), Some(note)));
            }
            _ => {}
        }
    }
    let why = "no spec was found that implies everything the program needs";
    Err(Failure::undecided(format!("{name}: {why}; `sizewise check {name}` says more")))
}
