//! Reading programs in every form: `.pt2` archives, their JSON, and text.
use super::{files, progress};
use crate::check::Checker;
use crate::ir::outline::Outline;
use crate::ir::pt2::{self, ReadOptions};
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

/// The program in a file.
///
/// # Errors
/// A message that names the file.
pub fn load(path: &Path) -> Result<Program, String> {
    let loaded = Loaded::open(path)?;
    loaded.program().map_err(|error| format!("{}: {error}", files::shown(path)))
}
