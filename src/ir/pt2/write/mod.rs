//! Writes programs: the model's JSON, and an archive around it.
//!
//! A program that was read is written again with all that it holds. What the reader leaves out is lost: `from_node` of the
//! metadata, weights and constants, of which the archive says that they were left out.

mod emit;
mod graph;
mod program;
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
    let entries: [(&str, &str); 8] = [
        ("archive_format", "pt2"),
        ("archive_version", "0"),
        ("byteorder", "little"),
        (".data/version", "6\n"),
        ("models/model.json", &model),
        ("data/weights/model_weights_config.json", r#"{"config": {}}"#),
        ("data/constants/model_constants_config.json", r#"{"config": {}}"#),
        (super::archive::WITHOUT_WEIGHTS, "true"),
    ];
    let failed = |error: &dyn std::fmt::Display| WriteError::new("the archive", error.to_string());
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, content) in entries {
        writer.start_file(format!("archive/{name}"), options).map_err(|error| failed(&error))?;
        writer.write_all(content.as_bytes()).map_err(|error| failed(&error))?;
    }
    Ok(writer.finish().map_err(|error| failed(&error))?.into_inner())
}
