//! Writes programs: the model's JSON, and an archive around it.
//!
//! A program that was read is written again with all that it holds. What the reader leaves out is lost: `from_node` of the
//! metadata, weights and constants, of which the archive says that they were left out.

mod emit;
mod graph;
mod program;
mod scalars;
#[cfg(test)]
mod tests;

use std::io::Write;

use crate::ir::program::Program;

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

/// A `.pt2` archive of the program, without weights. The same program gives the same bytes.
///
/// # Errors
/// As [`write_json`].
pub fn write(program: &Program) -> Result<Vec<u8>, WriteError> {
    let model = write_json(program)?;
    let scalars = scalars::weights(program, 0);
    let records = scalars.iter().map(|weight| (weight.fqn.as_str(), weight.record.clone()));
    let weights = emit::object([("config", emit::object(records))]);
    let files: Vec<(String, &[u8])> = scalars
        .iter()
        .map(|weight| (format!("data/weights/{}", weight.file), weight.bytes.as_slice()))
        .collect();
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("archive_format", b"pt2"),
        ("archive_version", b"0"),
        ("byteorder", b"little"),
        (".data/version", b"6\n"),
        ("models/model.json", model.as_bytes()),
        ("data/weights/model_weights_config.json", weights.as_bytes()),
        ("data/constants/model_constants_config.json", br#"{"config": {}}"#),
        (super::archive::WITHOUT_WEIGHTS, b"true"),
    ];
    entries.extend(files.iter().map(|(name, bytes)| (name.as_str(), *bytes)));
    let failed = |error: &dyn std::fmt::Display| WriteError::new("the archive", error.to_string());
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in entries {
        writer.start_file(format!("archive/{name}"), options).map_err(|error| failed(&error))?;
        writer.write_all(content).map_err(|error| failed(&error))?;
    }
    Ok(writer.finish().map_err(|error| failed(&error))?.into_inner())
}
