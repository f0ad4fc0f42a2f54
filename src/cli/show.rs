//! `sizewise show`: a program in another form: text, a .pt2 archive, an ONNX model.
use super::args::ProgramFile;
use super::onnx::write_onnx;
use super::{files, programs};
use crate::escape::json_text;
use crate::ir::pt2;
use crate::ir::text::{self, Detail};
use crate::onnx::INLINE_BYTES;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `show`.
#[derive(Args, Debug)]
pub struct ShowOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The form.
    #[arg(long = "as", value_enum, default_value_t = Form::Readable)]
    pub form: Form,
    /// Write strides, devices and offsets as well, and every result, so that the text can be read back.
    #[arg(long)]
    pub full: bool,
    /// Where to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The most bytes of weights that an ONNX model holds; where there are more, all lie in a file beside it. At most 1 GiB.
    #[arg(long, value_name = "BYTES", default_value_t = INLINE_BYTES)]
    pub inline_bytes: usize,
    /// What to call the inputs of an ONNX model, in their order, with commas between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub input_names: Vec<String>,
    /// What to call the outputs of an ONNX model, in their order.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub output_names: Vec<String>,
}

/// The forms of a program.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// As an ExportedProgram prints itself: Python with shapes, signature and ranges.
    Readable,
    /// As an FX graph prints itself.
    Fx,
    /// The graph module's forward as Python.
    Python,
    /// A graph for Graphviz.
    Dot,
    /// Graphs within as functions, inner ones first, as ONNX has them.
    Functions,
    /// The JSON that a .pt2 archive holds.
    Json,
    /// A .pt2 archive, with the weights, constants and sample inputs of the one that was read.
    Pt2,
    /// An ONNX model with the archive's weights: one function for each graph.
    Onnx,
}

/// Runs the command.
pub fn run(options: &ShowOptions) -> ExitCode {
    let loaded = programs::Loaded::open(&options.program);
    let written = loaded.and_then(|loaded| Ok((loaded.load()?, loaded))).and_then(|(program, loaded)| {
        let detail = if options.full { Detail::Full } else { Detail::Short };
        let text = match options.form {
            Form::Pt2 => {
                return programs::write_archive(&program, &loaded, options.output.as_deref());
            }
            Form::Onnx => {
                return write_onnx(options, &program);
            }
            Form::Readable => text::write_readable(&program, detail),
            Form::Fx => text::write_fx(&program, detail),
            Form::Python => text::write_python(&program),
            Form::Functions => text::write_functions(&program),
            Form::Dot => text::write_dot(&program),
            Form::Json => json_text(pt2::write_json(&program).map_err(|error| error.to_string())?),
        };
        files::write(options.output.as_deref(), &text)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            files::complain(&message);
            ExitCode::from(3)
        }
    }
}
