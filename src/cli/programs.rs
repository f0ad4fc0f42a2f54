//! Reading programs in every form: `.pt2` archives, their JSON, and text.
use super::{files, progress};
use crate::check::Checker;
use crate::escape;
use crate::ir::outline::Outline;
use crate::ir::pt2::{self, ReadOptions, Source, WriteError};
use crate::ir::text;
use crate::ir::{Program, ReadResult};
use std::path::Path;

/// A file that holds a program.
pub struct Loaded {
    name: String,
    bytes: Vec<u8>,
}

impl Loaded {
    /// Takes a file's bytes.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn open(path: &Path) -> Result<Loaded, String> {
        Ok(Loaded { name: files::name(path), bytes: files::read(path)? })
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
            None => pt2::read(&self.bytes, &reading()),
        }
    }

    /// The program, with the file's name in the message.
    ///
    /// # Errors
    /// As [`Loaded::program`].
    pub fn load(&self) -> Result<Program, String> {
        self.program().map_err(|error| format!("{}: {error}", escape::visible(&self.name)))
    }

    /// The archive, if the file is one, for what is copied from it.
    fn source(&self) -> Result<Option<Source<'_>>, WriteError> {
        if !self.bytes.starts_with(b"PK") {
            return Ok(None);
        }
        Source::open(std::io::Cursor::new(&self.bytes[..]), None, &reading().limits).map(Some)
    }

    /// The program's outline, and the program if it is well formed.
    ///
    /// # Errors
    /// When it is none.
    pub fn both(&self) -> ReadResult<(Outline, ReadResult<Program>)> {
        match self.text() {
            Some(text) => Ok((text::outline(text)?, text::read(text))),
            None => pt2::read_both(&self.bytes, &reading()),
        }
    }
}

/// A checker of the program in a file, which shows on a terminal how far it has come.
///
/// # Errors
/// A message that names the file.
pub fn checker(path: &Path) -> Result<Checker, String> {
    let name = files::name(path);
    let checker = Checker::read(&name, &files::read(path)?)
        .map_err(|error| format!("{}: {error}", files::shown(path)))?;
    Ok(match progress::on_terminal() {
        Some(watch) => checker.watched(watch),
        None => checker,
    })
}

fn reading() -> ReadOptions {
    ReadOptions { edge: true, ..ReadOptions::default() }
}

/// Writes an archive of a program, with the weights, constants and samples of the archive that it was loaded from.
///
/// # Errors
/// A message that says what cannot be written.
pub fn write_archive(program: &Program, from: &Loaded, output: Option<&Path>) -> Result<(), String> {
    let mut source = from.source().map_err(|error| error.to_string())?;
    files::write_anew(output, |out| match out {
        files::Out::File(file) => pt2::write_to(program, source.as_mut(), file),
        files::Out::Stream(stream) => pt2::write_stream(program, source.as_mut(), stream),
    })
}
