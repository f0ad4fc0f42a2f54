//! Writes ONNX models, with the weights of the program's archive.
use super::args::ProgramFile;
use super::failure::{Failure, Result};
use super::files;
use super::programs::unread;
use crate::escape;
use crate::ir::Program;
use crate::ir::pt2::{ReadOptions, Weights, read_weights};
use crate::kernels::Operators;
use crate::onnx_write::{INLINE_BYTES, OnnxError, Options, Written, model, refused_at_example};
use crate::pass::{decompose_these, without_writes};
use clap::Args;
use prost::Message;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Options for ONNX models.
#[derive(Args, Debug)]
pub struct OnnxOptions {
    /// The most bytes of weights inside an ONNX model, at most 1 GiB; larger weights all go to a file beside it.
    #[arg(long, value_name = "BYTES", default_value_t = INLINE_BYTES, value_parser = inline_bytes)]
    pub inline_bytes: usize,
    /// The names of an ONNX model's inputs, in order, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub input_names: Vec<String>,
    /// The names of an ONNX model's outputs, in order, separated by commas.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub output_names: Vec<String>,
}

fn inline_bytes(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        Ok(bytes) if bytes <= INLINE_BYTES => Ok(bytes),
        Ok(_) => Err(format!("an ONNX model holds at most {INLINE_BYTES} bytes of weights (1 GiB)")),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes the ONNX model of a program, and a file of weights beside it if they are too large. `needed` are the conditions
/// under which it runs. The status is 1 where onnxruntime refuses the model: one with operators that have no counterpart is
/// written all the same, for a runtime that has them; one that it refuses at the sizes of the example is not.
///
/// # Errors
/// A message that names the file, or says why there is no model.
pub fn write_onnx(
    source: &ProgramFile,
    output: Option<&Path>,
    options: &OnnxOptions,
    program: &Program,
    needed: Vec<String>,
) -> Result<ExitCode> {
    let weights = weights(source)?;
    let beside = match output {
        _ if weights.total_bytes() <= options.inline_bytes => None,
        Some(output) if output.as_os_str() != "-" => Some(data_file(output)),
        _ => {
            return Err(Failure::usage(
                "the weights do not fit into the model; name a file to write to with -o",
            ));
        }
    };
    let name =
        beside.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let (input_names, output_names) = (options.input_names.clone(), options.output_names.clone());
    let options = Options { weights: Some(&weights), external: name, input_names, output_names, needed };
    let written = standard_model(program, &options).map_err(Failure::program)?;
    if let Some(refused) = refused_at_example(program, &written) {
        let at = refused.node.map_or_else(String::new, |node| format!(" at {}", escape::visible(&node)));
        let message = escape::visible(&refused.message).into_owned();
        files::complain(&format!(
            "no model is written: onnxruntime refuses it at the example{at}: {message}"
        ));
        return Ok(ExitCode::FAILURE);
    }
    if let Some(path) = &beside {
        files::write_bytes(Some(path), &written.external)?;
    }
    files::write_bytes(output, &written.model.encode_to_vec())?;
    if written.left.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let left: Vec<_> = written.left.iter().map(|op| escape::visible(op).into_owned()).collect();
    let left = left.join(", ");
    files::complain(&format!(
        "onnxruntime refuses this model: no standard operators say what these do: {left}"
    ));
    Ok(ExitCode::FAILURE)
}

/// The model of a program: functional, and with operators that have no counterpart made of others, where that leaves fewer
/// of them.
fn standard_model(program: &Program, options: &Options<'_>) -> std::result::Result<Written, OnnxError> {
    let operators = Operators::new();
    let functional = without_writes(program, &operators);
    let written = model(&functional, options)?;
    if written.left.is_empty() {
        return Ok(written);
    }
    let Ok(made) = decompose_these(&functional, &operators, &written.left) else { return Ok(written) };
    let other = model(&made, options)?;
    Ok(if other.left.len() < written.left.len() { other } else { written })
}

/// The values in a program's archive; none for text and from standard input, which has been read.
fn weights(source: &ProgramFile) -> Result<Weights> {
    if source.as_os_str() == "-" {
        return Ok(Weights::default());
    }
    let bytes = files::read(source).map_err(Failure::program)?;
    let options = ReadOptions { edge: true, model: source.choice.model.as_deref(), ..ReadOptions::default() };
    read_weights(&bytes, &options).map_err(|error| unread(&files::name(source), &error))
}

/// `model.onnx.data` for `model.onnx`.
fn data_file(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".data");
    PathBuf::from(name)
}
