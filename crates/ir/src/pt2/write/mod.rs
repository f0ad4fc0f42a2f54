//! Writes programs: the model's JSON, and an archive around it.
//!
//! A program that was read is written again with all that it holds. What the reader leaves out is lost: `from_node`
//! of the metadata. Weights, constants and samples of inputs are copied from the archive that the program was read
//! from; where there is none, the archive says that they were left out.

mod emit;
mod graph;
mod program;
mod scalars;
mod source;
#[cfg(test)]
mod tests;
mod zeros;

use std::io::{Seek, Write};

use crate::program::Program;
use emit::object;
use source::{MODEL, State};

pub use source::SourceArchive;

/// Why a program cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct WriteError {
    /// The value, node or part that cannot be written.
    pub place: String,
    /// Why. No full stop at the end.
    pub message: String,
}

impl WriteError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> WriteError {
        WriteError { place: place.into(), message: message.into() }
    }
}

/// The model's JSON.
///
/// # Errors
/// When nothing is recorded of a value, or it has a dtype that the format has no number for.
pub fn write_json(program: &Program) -> Result<String, WriteError> {
    program::document(program)
}

/// A `.pt2` archive of the program, without weights: `torch.export.load` gives zeros for them. The same program gives
/// the same bytes.
///
/// # Errors
/// As [`write_json`].
pub fn write(program: &Program) -> Result<Vec<u8>, WriteError> {
    let mut bytes = std::io::Cursor::new(Vec::new());
    write_to(program, None, &mut bytes)?;
    Ok(bytes.into_inner())
}

/// Writes a `.pt2` archive of the program, with the weights, constants, samples of inputs and files of the user that
/// are in `source`. What is copied is never in memory as a whole.
///
/// # Errors
/// As [`write_json`], when the source is damaged, or when writing fails.
pub fn write_to<W: Write + Seek>(
    program: &Program,
    source: Option<&mut SourceArchive<'_>>,
    to: W,
) -> Result<(), WriteError> {
    write_entries(program, source, ArchiveWriter { zip: zip::ZipWriter::new(to) })
}

/// As [`write_to`], to where one cannot go back.
///
/// # Errors
/// As [`write_to`].
pub fn write_stream<W: Write>(
    program: &Program,
    source: Option<&mut SourceArchive<'_>>,
    to: W,
) -> Result<(), WriteError> {
    write_entries(program, source, ArchiveWriter { zip: zip::ZipWriter::new_stream(to) })
}

fn write_entries<W: Write + Seek>(
    program: &Program,
    mut source: Option<&mut SourceArchive<'_>>,
    mut writer: ArchiveWriter<W>,
) -> Result<(), WriteError> {
    let model = write_json(program)?;
    let mut state = match &mut source {
        Some(source) => source.state()?,
        None => State::nothing(),
    };
    for (name, content) in [
        ("archive_format", "pt2"),
        ("archive_version", "0"),
        ("byteorder", "little"),
        (".data/version", "6\n"),
    ] {
        writer.entry(name, content)?;
    }
    writer.entry(&format!("models/{MODEL}.json"), &model)?;
    let mut made = scalars::make(program, &mut state)?;
    let without_values = zeros::make(program, &mut state);
    let is_whole = without_values.is_empty();
    made.extend(without_values);
    for (kind, payloads) in [("weights", &state.weights), ("constants", &state.constants)] {
        if let Some(payloads) = payloads {
            let list = payloads.iter().map(|(name, payload)| (name, payload.to_string()));
            let text = object([("config", object(list))]);
            writer.entry(&format!("data/{kind}/{MODEL}_{kind}_config.json"), &text)?;
        }
    }
    for entry in &made {
        writer.entry(&entry.name, &entry.bytes)?;
    }
    source::write_without_samples(&state, &mut writer)?;
    if let Some(source) = source {
        source.copy(&state, &mut writer)?;
    }
    if state.without_weights || !is_whole {
        writer.entry(super::archive::WITHOUT_WEIGHTS, "true")?;
    }
    let failed = |error: &dyn std::fmt::Display| WriteError::new("the archive", error.to_string());
    let mut to = writer.zip.finish().map_err(|error| failed(&error))?;
    to.flush().map_err(|error| failed(&error))
}

/// Where torch begins the content of each entry: at a multiple of so many bytes.
const ALIGNMENT: u16 = 64;

/// An archive that is being written.
struct ArchiveWriter<W: Write + Seek> {
    zip: zip::ZipWriter<W>,
}

impl<W: Write + Seek> ArchiveWriter<W> {
    /// Begins an entry of so many bytes.
    fn begin(&mut self, name: &str, size: u64) -> Result<(), WriteError> {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Stored)
            .with_alignment(ALIGNMENT)
            .large_file(size >= u64::from(u32::MAX));
        let started = self.zip.start_file(format!("archive/{name}"), options);
        started.map_err(|error| WriteError::new(format!("`{name}`"), error.to_string()))
    }

    /// Where the bytes of the entry go.
    fn inner(&mut self) -> &mut zip::ZipWriter<W> {
        &mut self.zip
    }

    /// Writes an entry.
    fn entry(&mut self, name: &str, content: impl AsRef<[u8]>) -> Result<(), WriteError> {
        let content = content.as_ref();
        self.begin(name, content.len() as u64)?;
        let written = self.zip.write_all(content);
        written.map_err(|error| WriteError::new(format!("`{name}`"), error.to_string()))
    }
}
