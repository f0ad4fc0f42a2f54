//! Writing ONNX models, with the weights of the archive that the program is from.
use super::args::ProgramFile;
use super::files;
use super::show::ShowOptions;
use crate::escape;
use crate::fake::Operators;
use crate::ir::Program;
use crate::ir::pt2::{ReadOptions, Weights, read_weights};
use crate::onnx::{INLINE_BYTES, Options, model};
use crate::pass::without_writes;
use prost::Message;
use std::path::{Path, PathBuf};

/// Writes the model of a program that was read as `show` says, and a file of weights beside it where they are too many bytes.
///
/// # Errors
/// A message that names the file, or says why there is no model.
pub fn write_onnx(show: &ShowOptions, program: &Program) -> Result<(), String> {
    let (output, inline) = (show.output.as_deref(), show.inline_bytes);
    let weights = weights(&show.program)?;
    let beside = match output {
        _ if weights.total_bytes() <= inline.min(INLINE_BYTES) => None,
        Some(output) if output.as_os_str() != "-" => Some(data_file(output)),
        _ => return Err("the weights do not fit the model; name a file to write to".to_owned()),
    };
    let name =
        beside.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let (input_names, output_names) = (show.input_names.clone(), show.output_names.clone());
    let options = Options { weights: Some(&weights), external: name, input_names, output_names };
    let functional = without_writes(program, &Operators::new());
    let written = model(&functional, &options).map_err(|error| error.to_string())?;
    if let Some(path) = &beside {
        files::write_bytes(Some(path), &written.external)?;
    }
    files::write_bytes(output, &written.model.encode_to_vec())?;
    if !written.left.is_empty() {
        let left: Vec<_> = written.left.iter().map(|op| escape::visible(op).into_owned()).collect();
        files::complain(&format!("warning: no standard operators say what these do: {}", left.join(", ")));
    }
    Ok(())
}

/// The values in a program's archive; none for text and from standard input, which has been read.
fn weights(source: &ProgramFile) -> Result<Weights, String> {
    if source.as_os_str() == "-" {
        return Ok(Weights::default());
    }
    let bytes = files::read(source)?;
    let options = ReadOptions { edge: true, model: source.choice.model.as_deref(), ..ReadOptions::default() };
    read_weights(&bytes, &options).map_err(|error| format!("{}: {error}", files::shown(source)))
}

/// `model.onnx.data` for `model.onnx`.
fn data_file(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".data");
    PathBuf::from(name)
}
