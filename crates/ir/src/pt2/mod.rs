//! Reads and writes `.pt2` files: the archive, its JSON, and the program in it.

mod archive;
mod convert;
mod json;
mod newer;
mod outline;
mod start;
mod upgrade;
mod version;
mod weights;
mod write;

pub use weights::{Weight, Weights, read_weights};
pub use write::{SourceArchive, WriteError, write, write_json, write_stream, write_to};

use std::borrow::Cow;

use super::error::{ReadError, ReadErrorKind, ReadResult};
use super::other_files::other_file;
use super::outline::Outline;
use super::program::Program;

/// How much a file may ask of the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries of the archive.
    pub entries: usize,
    /// Bytes of the program's JSON.
    pub model_bytes: u64,
    /// Unpacked bytes for each packed one, of entries above a megabyte. Programs compress about fiftyfold.
    pub compression_ratio: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { entries: 200_000, model_bytes: 512 << 20, compression_ratio: 400 }
    }
}

/// How to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadOptions<'n> {
    /// How much a file may ask of the reader.
    pub limits: Limits,
    /// Whether programs of the Edge dialect are read.
    pub edge: bool,
    /// Which program of an archive is read; by default the one called `model`, or the only one.
    pub model: Option<&'n str>,
}

/// The names of the programs in an archive, in its order; none for what is JSON by itself.
///
/// # Errors
/// When the bytes are no archive, or exceed the limits.
pub fn models(bytes: &[u8], limits: &Limits) -> ReadResult<Vec<String>> {
    if bytes.starts_with(b"PK") { archive::models(bytes, limits) } else { Ok(Vec::new()) }
}

/// Reads a program from the bytes of a `.pt2` archive, or of its model's JSON alone.
///
/// # Errors
/// When the bytes are neither, break off, exceed the limits, are of another version, or hold a
/// program that is not well formed. The error says where.
pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> ReadResult<Program> {
    let model = ModelJson::find(bytes, options)?;
    let dialect = |document: &json::ExportedProgram<'_>| {
        version::check_schema(document.schema_version).ok()?;
        version::dialect(document, options).ok()
    };
    if let Some(program) =
        std::str::from_utf8(&model.bytes).ok().and_then(|text| convert::read(text, dialect))
    {
        return Ok(model.finish(program));
    }
    read_whole(&model, options).map(|program| model.finish(program))
}

/// Reads a document as a whole, then builds the program, or says what is wrong.
fn read_whole(model: &ModelJson<'_>, options: &ReadOptions<'_>) -> ReadResult<Program> {
    let place = |error: ReadError| model.place(error);
    let document = parse_model(&model.bytes).map_err(place)?;
    let dialect = version::dialect(&document, options).map_err(place)?;
    convert::program(&document, dialect).map_err(place)
}

/// Reads the outline of a program, for a verifier: it may be malformed in ways in which no [`Program`] is.
///
/// # Errors
/// As [`read`], but not for what is wrong with graphs and signatures.
pub fn outline(bytes: &[u8], options: &ReadOptions<'_>) -> ReadResult<Outline> {
    read_both(bytes, options).map(|(outline, _)| outline)
}

/// Reads the [`outline()`] of a program, and the program itself if it is well formed.
///
/// # Errors
/// As [`outline()`].
pub fn read_both(bytes: &[u8], options: &ReadOptions<'_>) -> ReadResult<(Outline, ReadResult<Program>)> {
    let model = ModelJson::find(bytes, options)?;
    let place = |error: ReadError| model.place(error);
    let document = parse_model(&model.bytes).map_err(place)?;
    let dialect = version::dialect(&document, options).map_err(place)?;
    let state = match &model.entry {
        Some(entry) => archive::read_state(bytes, entry, &options.limits)?,
        None => None,
    };
    let program = convert::program(&document, dialect).map(|program| model.finish(program));
    Ok((outline::outline(&document, state), program.map_err(place)))
}

/// A program's JSON text, and the entry of the archive it is from.
struct ModelJson<'b> {
    bytes: Cow<'b, [u8]>,
    entry: Option<String>,
    /// The version of the schema that it was written in, where that is an older one.
    written: Option<(i64, i64)>,
}

impl<'b> ModelJson<'b> {
    fn find(bytes: &'b [u8], options: &ReadOptions<'_>) -> ReadResult<ModelJson<'b>> {
        match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'{') if options.model.is_some() => {
                let message = "programs are named in archives only; this is the JSON of one program";
                Err(ReadError::new(ReadErrorKind::NoModel, message))
            }
            None => Err(ReadError::new(
                ReadErrorKind::Empty,
                "the file is empty; expected a .pt2 archive or an ONNX model",
            )),
            Some(b'{') => {
                if bytes.len() as u64 > options.limits.model_bytes {
                    let message =
                        format!("{} bytes; at most {} are allowed", bytes.len(), options.limits.model_bytes);
                    return Err(ReadError::new(ReadErrorKind::LimitExceeded, message));
                }
                Ok(ModelJson { bytes: Cow::Borrowed(bytes), entry: None, written: None })
            }
            Some(_) if bytes.starts_with(b"PK") => {
                let model = archive::read_model(bytes, &options.limits, options.model)?;
                Ok(ModelJson {
                    bytes: Cow::Owned(model.bytes),
                    entry: Some(model.name),
                    written: model.written,
                })
            }
            Some(_) => {
                let message = other_file(bytes).unwrap_or(
                    "neither a zip archive nor JSON nor an ONNX model; expected a .pt2 file as torch.export.save writes it",
                );
                Err(ReadError::new(ReadErrorKind::NotAnArchive, message))
            }
        }
    }

    /// The program with what it was written in, and warnings of what was passed over.
    fn finish(&self, mut program: Program) -> Program {
        if let Some(version) = self.written {
            program.schema_version = version;
        }
        program.warnings.extend(newer::warnings(&self.bytes, program.schema_version));
        program
    }

    /// An error with the entry it is in.
    fn place(&self, error: ReadError) -> ReadError {
        match &self.entry {
            Some(entry) => error.in_entry(entry),
            None => error,
        }
    }
}

/// Parses a program's JSON text, of a version that is known.
fn parse_model(bytes: &[u8]) -> ReadResult<json::ExportedProgram<'_>> {
    let document: json::ExportedProgram<'_> = json::parse(bytes).map_err(|error| {
        // Another major version may have another shape: say that rather than where the shapes differ.
        match json::parse::<json::VersionOnly>(bytes)
            .map(|document| version::check_schema(document.schema_version))
        {
            Ok(Err(version)) => version,
            _ if json::parse::<json::ModuleOnly>(bytes)
                .is_ok_and(|document| document.graph_module.is_none()) =>
            {
                let message = "JSON, but not of an exported program: it has no `graph_module`";
                ReadError::new(ReadErrorKind::Schema, message)
            }
            _ => error,
        }
    })?;
    version::check_schema(document.schema_version)?;
    Ok(document)
}

#[cfg(test)]
mod tests;
