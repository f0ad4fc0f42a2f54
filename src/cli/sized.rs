//! What the questions about sizes share: the program, a spec, the operators, the format.
use super::args::{Format, Kernels, ProgramFile};
use super::check::spec_beside;
use super::failure::{Failure, Result};
use super::programs::{Loaded, failed};
use super::{files, operators, spec};
use crate::escape;
use crate::kernels::Operators;
use crate::onnx::subject::{Subject, SubjectError};
use crate::sizing::Sizing;
use clap::Args;
use serde_json::Value as Json;
use std::path::PathBuf;
use std::process::ExitCode;

/// The options that mean something for ONNX models.
const FOR_MODELS: &[&str] = &[
    "spec", "backend", "format", "value", "align", "memory", "maximize", "given", "frontier", "plot", "for",
    "buckets", "padding",
];

/// A program, and the inputs that are allowed.
#[derive(Args, Debug)]
pub struct SizedOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The dynamic-shape spec that says which inputs are allowed, in JSON or as Python. By default it is the file beside the
    /// program, model.spec.json or model.spec.py; where there is none, the program's own contract says so.
    #[arg(long, value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// The operators.
    #[command(flatten)]
    pub operators: Kernels,
    /// The format of the answer.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A file that was read, with what is asked of it.
pub struct Opened {
    subject: Subject,
    operators: Operators,
    spec: Option<crate::spec::Spec>,
}

impl SizedOptions {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn open(&self) -> Result<Opened> {
        let loaded = Loaded::open(&self.program)?;
        let subject = loaded.subject(self.operators.backend, FOR_MODELS)?;
        let operators = operators::load_on(&self.operators)?;
        let path = &self.program.path;
        let beside = if self.spec.is_none() && path.as_os_str() != "-" { spec_beside(path)? } else { None };
        let spec = self.spec.as_ref().or(beside.as_ref()).map(|path| spec::read(path)).transpose()?;
        Ok(Opened { subject, operators, spec })
    }

    /// Prints an answer in the format that is asked for.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn print(&self, json: impl FnOnce() -> Json, text: impl FnOnce() -> String) -> Result<ExitCode> {
        match self.format {
            Format::Json => {
                let text = serde_json::to_string_pretty(&json()).map_err(Failure::internal)?;
                files::write(None, &(escape::json_text(text) + "\n"))?;
            }
            Format::Text => files::write(None, &escape::lines(&text()))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Opened {
    /// How large values get.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn sizing(&self) -> Result<Sizing<'_>> {
        self.subject.sizing(self.spec.as_ref(), &self.operators).map_err(|error| self.unanswered(error))
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        self.subject.name()
    }

    /// The failure of a question.
    pub fn unanswered(&self, error: impl Into<SubjectError>) -> Failure {
        match error.into() {
            SubjectError::Spec(error) => Failure::usage(format!("--spec: {error}{}", error.excerpt)),
            SubjectError::Sizing(error) if error.is_mistaken() => Failure::usage(error),
            SubjectError::Sizing(error) => {
                Failure::undecided(format!("{}: {error}", escape::visible(self.name())))
            }
            error => failed(self.name(), error),
        }
    }
}
