//! Reads programs in every format: `.pt2` archives, their JSON, and text; and ONNX models.
use super::args::{Given, ModelChoice, ProgramFile};
use super::failure::{Failure, Result};
use super::{files, progress};
use crate::check::{CheckError, Checker};
use crate::escape;
use crate::ir::outline::Outline;
use crate::ir::pt2::{self, Limits, ReadOptions, SourceArchive, WriteError};
use crate::ir::text;
use crate::ir::{Program, ReadError, ReadErrorKind, ReadResult};
use crate::kernels::{Backend, Operators};
use crate::onnx::subject::{Kind, Subject, SubjectError};
use crate::solve::Budget;
use prost::bytes::Bytes;
use std::fmt::Display;
use std::path::Path;

const PROGRAMS_ONLY: &str = "an ONNX model; this command takes exported programs (check, eval, show, explain, spec and guards take models, too)";

/// A file that holds a program or a model.
pub struct Loaded {
    name: String,
    bytes: Bytes,
    model: Option<String>,
    given: Given,
}

impl Loaded {
    /// Takes a file's bytes.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn open(file: &ProgramFile) -> Result<Loaded> {
        Loaded::open_at(file, &file.choice, &file.given)
    }

    /// As [`Loaded::open`], for a command whose file need be no program.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn open_at(path: &Path, choice: &ModelChoice, given: &Given) -> Result<Loaded> {
        let bytes = files::read(path).map_err(Failure::program)?;
        Ok(Loaded::of(path, bytes, choice, given))
    }

    /// Bytes that were read from a file.
    pub fn of(path: &Path, bytes: Vec<u8>, choice: &ModelChoice, given: &Given) -> Loaded {
        let (model, given) = (choice.model.clone(), given.clone());
        Loaded { name: files::name(path), bytes: bytes.into(), model, given }
    }

    /// What the file holds.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.name, &self.bytes)
    }

    /// Refuses an ONNX model where an exported program is needed.
    ///
    /// # Errors
    /// When the file is a model.
    pub fn refuse_model(&self) -> Result<()> {
        match self.kind() {
            Kind::Model => Err(unreadable(&self.name, PROGRAMS_ONLY)),
            Kind::Program | Kind::Text => Ok(()),
        }
    }

    /// The program or model in the file, run by a backend. `for_models` are the options that mean something for models:
    /// others are refused by name.
    ///
    /// # Errors
    /// A message that names the file, or the option.
    pub fn subject(&self, backend: Backend, for_models: &[&str]) -> Result<Subject> {
        self.subject_called(&self.name, self.model.as_deref(), backend, for_models)
    }

    fn subject_called(
        &self,
        name: &str,
        model: Option<&str>,
        backend: Backend,
        for_models: &[&str],
    ) -> Result<Subject> {
        if self.kind() == Kind::Model {
            let known = [&["path", "paths", "program"], for_models].concat();
            if let Some(option) = self.given.other_than(&known) {
                return Err(failed(name, SubjectError::NotForModels(format!("--{option}"))));
            }
        }
        let options = ReadOptions { model, ..ReadOptions::default() };
        let failed = |error| failed(name, error);
        let subject = Subject::read(name, self.bytes.clone(), &options).map_err(failed)?;
        Ok(match subject.on(backend).map_err(failed)? {
            Subject::Program(checker) => {
                warn(checker.program());
                Subject::Program(match progress::on_terminal() {
                    Some(watch) => Box::new(checker.watched(watch)),
                    None => checker,
                })
            }
            model => model,
        })
    }

    /// All programs in the file, or the one that is chosen; or the model. Where there are several, each is called by the
    /// file's name and its own.
    ///
    /// # Errors
    /// As for [`Loaded::subject`].
    pub fn subjects(&self, backend: Backend, for_models: &[&str]) -> Result<Vec<Subject>> {
        let models = match self.model {
            Some(_) => Vec::new(),
            None => pt2::models(&self.bytes, &Limits::default()).unwrap_or_default(),
        };
        if models.len() < 2 {
            return Ok(vec![self.subject(backend, for_models)?]);
        }
        let called = |model: &String| {
            self.subject_called(&format!("{}#{model}", self.name), Some(model), backend, for_models)
        };
        models.iter().map(called).collect()
    }

    fn reading(&self) -> ReadOptions<'_> {
        ReadOptions { edge: true, model: self.model.as_deref(), ..ReadOptions::default() }
    }

    /// The file's name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The text, if the file begins as one of the text forms does.
    fn text(&self) -> Option<&str> {
        if self.kind() == Kind::Text { std::str::from_utf8(&self.bytes).ok() } else { None }
    }

    /// The program; Edge programs too.
    ///
    /// # Errors
    /// When it is none, or is not well formed.
    pub fn program(&self) -> ReadResult<Program> {
        match self.text() {
            Some(text) => text::read(text),
            None => pt2::read(&self.bytes, &self.reading()),
        }
    }

    /// The program, with the file's name in the message.
    ///
    /// # Errors
    /// As [`Loaded::program`].
    pub fn load(&self) -> Result<Program> {
        self.refuse_model()?;
        let program = self.program().map_err(|error| unread(&self.name, &error))?;
        warn(&program);
        Ok(program)
    }

    /// The archive, if the file is one, for what is copied from it.
    fn source(&self) -> std::result::Result<Option<SourceArchive<'_>>, WriteError> {
        if !self.bytes.starts_with(b"PK") {
            return Ok(None);
        }
        SourceArchive::open(&self.bytes, self.model.as_deref(), &self.reading().limits).map(Some)
    }

    /// The program's outline, and the program if it is well formed.
    ///
    /// # Errors
    /// When it is none.
    pub fn both(&self) -> ReadResult<(Outline, ReadResult<Program>)> {
        match self.text() {
            Some(text) => Ok((text::outline(text)?, text::read(text))),
            None => pt2::read_both(&self.bytes, &self.reading()),
        }
    }
}

/// The failure of a file that holds no program that can be read.
pub fn unread(name: &str, error: &ReadError) -> Failure {
    let option = if error.kind == ReadErrorKind::SeveralModels { " with --model" } else { "" };
    unreadable(name, format!("{error}{option}"))
}

/// The failure of a program that cannot be worked on.
pub fn unreadable(name: &str, error: impl Display) -> Failure {
    Failure::program(format!("{}: {error}", escape::visible(name)))
}

/// The failure of a question about the program or model of this name.
pub fn failed(name: &str, error: SubjectError) -> Failure {
    match error {
        SubjectError::Check(CheckError::Read(error)) => unread(name, &error),
        SubjectError::NotForModels(_) => Failure::usage(error),
        SubjectError::Check(CheckError::NoDimension(..)) => {
            Failure::usage(format!("{}: {error}", escape::visible(name)))
        }
        error => unreadable(name, error),
    }
}

impl Loaded {
    /// The conditions on sizes under which the program runs, as a check under its own contract finds them; none where it
    /// cannot be checked.
    pub fn needed(&self) -> Vec<String> {
        let options = ReadOptions { model: self.model.as_deref(), ..ReadOptions::default() };
        let Ok(checker) = Checker::read_within(&self.name, &self.bytes, &options) else { return Vec::new() };
        let report = checker.check(None, &Operators::new(), &Budget::default());
        report.map_or_else(|_| Vec::new(), |report| report.minimal_guards)
    }
}

/// Writes an archive of a program, with the weights, constants and samples of the archive that it was loaded from.
///
/// # Errors
/// A message that says what cannot be written.
pub fn write_archive(program: &Program, from: &Loaded, output: Option<&Path>) -> Result<()> {
    let mut source = from.source().map_err(Failure::program)?;
    files::write_anew(output, |out| match out {
        files::Out::File(file) => pt2::write_to(program, source.as_mut(), file),
        files::Out::Stream(stream) => pt2::write_stream(program, source.as_mut(), stream),
    })
}

/// Prints the warnings about a program.
fn warn(program: &Program) {
    for warning in &program.warnings {
        files::complain(&format!("warning: {warning}"));
    }
}
