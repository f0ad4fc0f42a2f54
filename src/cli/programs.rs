//! Reads programs in every format: `.pt2` archives, their JSON, and text.
use super::args::ProgramFile;
use super::failure::{Failure, Result};
use super::{files, progress};
use crate::check::{CheckError, Checker};
use crate::decide::Budget;
use crate::escape;
use crate::fake::Operators;
use crate::ir::outline::Outline;
use crate::ir::pt2::{self, Limits, ReadOptions, Source, WriteError};
use crate::ir::text;
use crate::ir::{Program, ReadError, ReadErrorKind, ReadResult};
use prost::bytes::Bytes;
use std::fmt::Display;
use std::path::Path;

/// A file that holds a program.
pub struct Loaded {
    name: String,
    bytes: Bytes,
    model: Option<String>,
}

impl Loaded {
    /// Takes a file's bytes.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn open(file: &ProgramFile) -> Result<Loaded> {
        let bytes = files::read(file).map_err(Failure::program)?;
        Ok(Loaded { name: files::name(file), bytes: bytes.into(), model: file.choice.model.clone() })
    }

    /// The ONNX model, if the file is one.
    ///
    /// # Errors
    /// When it is one that cannot be read.
    pub fn model(&self) -> Result<Option<crate::onnx::read::Model>> {
        super::onnx_model::model(&self.name, &self.bytes)
    }

    /// The file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Refuses an ONNX model where an exported program is needed.
    ///
    /// # Errors
    /// When the file is a model.
    pub fn refuse_model(&self) -> Result<()> {
        refuse_model(&self.name, &self.bytes)
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
        if text::is_text(&self.bytes) { std::str::from_utf8(&self.bytes).ok() } else { None }
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
    fn source(&self) -> std::result::Result<Option<Source<'_>>, WriteError> {
        if !self.bytes.starts_with(b"PK") {
            return Ok(None);
        }
        Source::open(&self.bytes, self.model.as_deref(), &self.reading().limits).map(Some)
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

/// A checker of the program in a file, which shows its progress on a terminal.
///
/// # Errors
/// A message that names the file.
pub fn checker(file: &ProgramFile) -> Result<Checker> {
    checker_of(file, file.choice.model.as_deref())
}

/// As [`checker`], for the program of this name in an archive.
///
/// # Errors
/// A message that names the file.
pub fn checker_of(path: &Path, model: Option<&str>) -> Result<Checker> {
    checker_in(&files::name(path), &files::read(path).map_err(Failure::program)?, model)
}

impl Loaded {
    /// A checker of the program.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn checker(&self) -> Result<Checker> {
        checker_in(&self.name, &self.bytes, self.model.as_deref())
    }

    /// The conditions on sizes under which the program runs, as a check under its own contract finds them; none where it
    /// cannot be checked.
    pub fn needed(&self) -> Vec<String> {
        let options = ReadOptions { model: self.model.as_deref(), ..ReadOptions::default() };
        let Ok(checker) = Checker::read_within(&self.name, &self.bytes, &options) else { return Vec::new() };
        let report = checker.check(None, &Operators::new(), &Budget::default());
        report.map_or_else(|_| Vec::new(), |report| report.minimal_guards)
    }

    /// Checkers of all programs in the file, or of the one that is chosen. Where there are several, each is called by
    /// the file's name and its own.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn checkers(&self) -> Result<Vec<Checker>> {
        let models = match self.model {
            Some(_) => Vec::new(),
            None => pt2::models(&self.bytes, &Limits::default()).unwrap_or_default(),
        };
        if models.len() < 2 {
            return Ok(vec![self.checker()?]);
        }
        models
            .iter()
            .map(|model| checker_in(&format!("{}#{model}", self.name), &self.bytes, Some(model)))
            .collect()
    }
}

/// Refuses an ONNX model where an exported program is needed.
fn refuse_model(name: &str, bytes: &[u8]) -> Result<()> {
    if !bytes.starts_with(b"PK") && (name.ends_with(".onnx") || crate::onnx::read::is_model(bytes)) {
        let message = "an ONNX model; this command takes exported programs (check, eval, show, explain, spec and guards take models, too)";
        return Err(unreadable(name, message));
    }
    Ok(())
}

/// As [`checker_of`], for the bytes of a file of this name.
///
/// # Errors
/// A message that names the file.
pub fn checker_in(name: &str, bytes: &[u8], model: Option<&str>) -> Result<Checker> {
    refuse_model(name, bytes)?;
    let options = ReadOptions { model, ..ReadOptions::default() };
    let checker = Checker::read_within(name, bytes, &options).map_err(|error| match error {
        CheckError::Read(error) => unread(name, &error),
        other => unreadable(name, other),
    })?;
    warn(checker.program());
    Ok(match progress::on_terminal() {
        Some(watch) => checker.watched(watch),
        None => checker,
    })
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
