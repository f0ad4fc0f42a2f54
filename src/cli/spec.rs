//! `sizewise spec`: the spec of a program, and specs in other forms.
use super::args::{Effort, Given, Kernels, ModelChoice, ProgramFile};
use super::failure::{Failure, Result};
use super::programs::{Loaded, failed};
use super::{examples, files, operators};
use crate::check::Widest;
use crate::escape;
use crate::kernels::{Backend, Operators};
use crate::onnx::subject::{Kind, Subject};
use crate::spec::{Containers, Language, Spec, is_program};
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
        #[arg(id = "example", long = "example", value_name = "JSON")]
        examples: Vec<String>,
    },
    /// The widest spec that the program supports: any size, narrowed by proved fixes.
    #[command(after_help = examples::SPEC_WIDEN)]
    Widen(SpecOptions),
    /// The spec that a program was exported with, or a spec in another form: Python's, to paste beside
    /// torch.export.export, or JSON.
    #[command(after_help = examples::SPEC_SHOW)]
    Show {
        /// What the command was given.
        #[command(flatten)]
        given: Given,
        /// An exported program; or a spec, in JSON or as Python. - for standard input.
        #[arg(value_name = "PROGRAM|SPEC")]
        path: PathBuf,
        /// The name of the program, where an archive holds several.
        #[command(flatten)]
        choice: ModelChoice,
        /// The form; by default that of the output's extension, else Python's.
        #[arg(id = "as", long = "as", value_enum)]
        form: Option<SpecForm>,
        /// Where to write the spec; standard output by default.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// The forms of a spec.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpecForm {
    /// JSON, which mirrors the inputs.
    Json,
    /// Python: dimensions that are assigned to names, and `dynamic_shapes = ...`.
    Python,
    /// Python with a ShapesSpec: variables, what is computed of them, and assumptions.
    Shapes,
    /// JSON that mirrors the inputs, with the variables and assumptions of a ShapesSpec.
    ShapesJson,
}

/// Reads a spec, in JSON or as Python.
///
/// # Errors
/// When the file cannot be read or is no spec.
pub(super) fn read(path: &Path) -> Result<Spec> {
    let text = files::read(path).map_err(Failure::usage)?;
    parse(path, &text)
}

pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Spec> {
    Spec::parse(text).map_err(|error| files::unusable(path, format!("{error}{}", error.excerpt)))
}

impl SpecForm {
    /// The form that the name of a file asks for: Python's or JSON's by the extension, else `usual`.
    pub(super) fn of(path: Option<&Path>, usual: SpecForm) -> SpecForm {
        match path.and_then(Path::extension).and_then(|extension| extension.to_str()) {
            Some("py") => SpecForm::Python,
            Some("json") => SpecForm::Json,
            _ => usual,
        }
    }

    /// torch's language for specs that the form is of.
    fn language(self) -> Language {
        match self {
            SpecForm::Json | SpecForm::Python => Language::Dims,
            SpecForm::Shapes | SpecForm::ShapesJson => Language::Shapes,
        }
    }

    /// The spec in this form; containers are those of the program that it is for.
    pub(super) fn text(self, spec: &Spec, containers: &Containers) -> Result<String> {
        match self {
            SpecForm::Python | SpecForm::Shapes => Ok(spec.to_python_with(containers)),
            SpecForm::Json | SpecForm::ShapesJson => {
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
    /// The form of the spec; by default that of the output's extension, else JSON; in the language that the program was
    /// exported with.
    #[arg(id = "as", long = "as", value_enum)]
    pub form: Option<SpecForm>,
    /// Where to write the spec; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// A spec, the containers of its program, and a note for the user.
struct Written {
    spec: Spec,
    containers: Containers,
    note: Option<String>,
}

/// Runs the command.
pub fn run(command: &SpecCommand) -> Result<ExitCode> {
    let (options, written) = match command {
        SpecCommand::Init { options, examples } => (options, init(options, examples)?),
        SpecCommand::Widen(options) => (options, widen(options)?),
        SpecCommand::Show { given, path, choice, form, output } => {
            let (spec, containers) = shown(given, path, choice, *form)?;
            let form = form.unwrap_or_else(|| SpecForm::of(output.as_deref(), SpecForm::Python));
            files::write(output.as_deref(), &form.text(&spec, &containers)?)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let form = options.form.unwrap_or_else(|| SpecForm::of(options.output.as_deref(), SpecForm::Json));
    files::write(options.output.as_deref(), &form.text(&written.spec, &written.containers)?)?;
    written.note.map_or(Ok(ExitCode::SUCCESS), |note| Err(Failure::undecided(note)))
}

/// The spec that a program was exported with, or that of a file, and the containers of the program.
fn shown(
    given: &Given,
    path: &Path,
    choice: &ModelChoice,
    form: Option<SpecForm>,
) -> Result<(Spec, Containers)> {
    let is_called_a_program =
        path.extension().is_some_and(|extension| extension == "pt2" || extension == "onnx");
    let failure = if is_called_a_program { Failure::program } else { Failure::usage };
    let bytes = files::read(path).map_err(failure)?;
    if Kind::of(&files::name(path), &bytes) == Kind::Model || is_program(&bytes) {
        let subject = Loaded::of(path, bytes, choice, given).subject(Backend::Cpu, &["as", "output"])?;
        let spec = subject.recorded_spec(form.map(SpecForm::language), &Operators::new());
        return Ok((spec.map_err(|error| failed(subject.name(), error))?, subject.containers()));
    }
    if is_called_a_program && Spec::parse(&bytes).is_err() {
        let message = "neither an exported program nor a spec";
        return Err(failure(format!("{}: {message}", files::shown(path))));
    }
    let spec = parse(path, &bytes)?;
    if spec.is_of_examples() {
        let message = "lists example inputs, whose spec depends on a program: see `spec init --example`";
        return Err(Failure::usage(format!("{}: {message}", files::shown(path))));
    }
    let spec = match form.map(SpecForm::language) {
        None => spec,
        Some(language) => spec.in_language(language).map_err(|error| files::unusable(path, error))?,
    };
    Ok((spec, Containers::default()))
}

fn init(options: &SpecOptions, examples: &[String]) -> Result<Written> {
    let subject = options.subject(&["backend", "as", "output"])?;
    let operators = operators::load_on(&options.operators)?;
    let failed = |error| failed(subject.name(), error);
    let spec = if examples.is_empty() {
        subject.recorded_spec(options.form.map(SpecForm::language), &operators).map_err(failed)?
    } else {
        let mut parsed = Vec::with_capacity(examples.len());
        for (i, text) in examples.iter().enumerate() {
            let example: Json = serde_json::from_str(text).map_err(|error| {
                Failure::usage(format!("--example {}: `{text}` is not JSON: {error}", i + 1))
            })?;
            parsed.push(example);
        }
        let checker = subject.program("--example").map_err(failed)?;
        let contract = checker.contract(&operators).map_err(|error| failed(error.into()))?;
        Spec::of_examples(&contract, &parsed).map_err(Failure::usage)?
    };
    Ok(Written { spec, containers: subject.containers(), note: None })
}

/// The widest spec that the program supports.
fn widen(options: &SpecOptions) -> Result<Written> {
    let subject = options.subject(&["backend", "budget", "as", "output"])?;
    let operators = operators::load_on(&options.operators)?;
    let name = files::shown(&options.program);
    let language = options.form.map(SpecForm::language);
    let found = subject.widest_spec(language, &operators, &options.effort.budget());
    let found = found.map_err(|error| failed(subject.name(), error))?;
    let Some(Widest { spec, is_proved }) = found else {
        let why = "no spec was found that implies everything the program needs";
        return Err(Failure::undecided(format!("{name}: {why}; `sizewise check {name}` says more")));
    };
    let note = (!is_proved).then(|| {
        format!(
            "{name}: the spec is the program's own contract, and whether the program keeps it is undecided; \
             `sizewise check {name}` says more"
        )
    });
    Ok(Written { spec, containers: subject.containers(), note })
}

impl SpecOptions {
    fn subject(&self, for_models: &[&str]) -> Result<Subject> {
        Loaded::open(&self.program)?.subject(self.operators.backend, for_models)
    }
}
