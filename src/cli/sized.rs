//! What the questions about sizes share: the program, a spec, the operators, the format.
use super::args::{Format, Kernels, ProgramFile};
use super::check::spec_beside;
use super::failure::{Failure, Result};
use super::programs::{Loaded, failed};
use super::{files, operators, spec};
use crate::escape;
use crate::kernels::Operators;
use crate::onnx::subject::{Subject, SubjectError};
use crate::report::Outcome;
use crate::sizing::Sizing;
use crate::solve::Budget;
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
pub struct SizedFile {
    subject: Subject,
    operators: Operators,
    spec: Option<crate::spec::Spec>,
}

impl SizedOptions {
    /// Reads the files.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn open(&self) -> Result<SizedFile> {
        let loaded = Loaded::open(&self.program)?;
        let subject = loaded.subject(self.operators.backend, FOR_MODELS)?;
        let operators = operators::load_on(&self.operators)?;
        let path = &self.program.path;
        let beside = if self.spec.is_none() && path.as_os_str() != "-" { spec_beside(path)? } else { None };
        let spec = self.spec.as_ref().or(beside.as_ref()).map(|path| spec::read(path)).transpose()?;
        Ok(SizedFile { subject, operators, spec })
    }
}

impl SizedFile {
    /// How large values get.
    ///
    /// # Errors
    /// When there is no answer.
    pub fn sizing(&self) -> Result<Sizing<'_>> {
        self.subject.sizing(self.spec.as_ref(), &self.operators).map_err(|error| self.unanswered(error))
    }

    /// Prints an answer in the format that is asked for, with what is to be known of it.
    ///
    /// # Errors
    /// When it cannot be written, or the program cannot be checked.
    pub fn print(
        &self,
        format: Format,
        json: impl FnOnce() -> Json,
        text: impl FnOnce() -> String,
    ) -> Result<ExitCode> {
        let note = self.note()?;
        match format {
            Format::Json => {
                let text = serde_json::to_string_pretty(&noted(json(), note)).map_err(Failure::internal)?;
                files::write(None, &(escape::json_text(text) + "\n"))?;
            }
            Format::Text => {
                let note = note.map(|note| format!("\nnote: {note}\n")).unwrap_or_default();
                files::write(None, &escape::lines(&(text() + &note)))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    /// That an answer holds only for some of the inputs that a spec allows, if the program refuses others.
    ///
    /// # Errors
    /// When the program cannot be checked.
    pub fn note(&self) -> Result<Option<String>> {
        let Some(spec) = &self.spec else { return Ok(None) };
        let (operators, budget) = (&self.operators, Budget::small());
        let verdict = match &self.subject {
            // Without fixes and what else a report has.
            Subject::Program(checker) => checker
                .session(operators)
                .and_then(|session| Ok(session.recheck(Some(spec), &budget)?.verdict))
                .map_err(SubjectError::from),
            model @ Subject::Model(_) => {
                model.check(Some(spec), operators, &budget).map(|report| report.verdict)
            }
        };
        let verdict = verdict.map_err(|error| self.unanswered(error))?;
        let refused = match verdict {
            Outcome::Violated => {
                "the program refuses inputs that this spec allows (`sizewise check` names one)"
            }
            Outcome::Unknown => {
                "it is not decided whether the program accepts all inputs that this spec allows"
            }
            Outcome::Ok | Outcome::Invalid => return Ok(None),
        };
        Ok(Some(format!("{refused}; the figures hold for those that it accepts")))
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

/// An object with a note.
pub fn noted(mut json: Json, note: Option<String>) -> Json {
    if let (Some(fields), Some(note)) = (json.as_object_mut(), note) {
        fields.insert("note".to_owned(), note.into());
    }
    json
}
