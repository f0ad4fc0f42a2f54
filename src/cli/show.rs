//! `sizewise show`: a program in another format: text, a .pt2 archive, an ONNX model.
mod explorer;
mod model;

use super::args::ProgramFile;
use super::failure::{Failure, Result};
use super::onnx::{OnnxOptions, write_onnx};
use super::{files, programs};
use crate::escape::json_text;
use crate::ir::pt2;
use crate::ir::text::{self, Detail};
use crate::kernels::Backend;
use crate::onnx::subject::{Kind, Subject};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `show`.
#[derive(Args, Debug)]
pub struct ShowOptions {
    /// The exported program.
    #[command(flatten)]
    pub program: ProgramFile,
    /// The format.
    #[arg(id = "as", long = "as", value_enum, default_value_t = ShowForm::Readable)]
    pub form: ShowForm,
    /// Write strides, devices, offsets and every result too, so that the text can be read back.
    #[arg(long)]
    pub full: bool,
    /// Where to write; standard output by default.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The spec whose names sizes get, and under which conditions are judged; of --as model-explorer alone.
    #[arg(long, value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// Where to write data of nodes for Model Explorer: bytes.json, shapes.json, conditions.json and findings.json.
    #[arg(long, value_name = "DIR")]
    pub node_data: Option<PathBuf>,
    /// Options for ONNX models.
    #[command(flatten)]
    pub onnx: OnnxOptions,
}

/// The formats of a program.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShowForm {
    /// As torch prints an ExportedProgram: Python with shapes, signature and ranges.
    Readable,
    /// As torch prints an FX graph.
    Fx,
    /// The graph module's forward as Python.
    Python,
    /// A graph for Graphviz.
    Dot,
    /// Subgraphs as functions, inner ones first, as in ONNX.
    Functions,
    /// The JSON that a .pt2 archive holds.
    Json,
    /// A .pt2 archive, with the weights, constants and sample inputs of the one that was read.
    Pt2,
    /// An ONNX model with the archive's weights: one function for each graph.
    Onnx,
    /// The shapes of all values of an ONNX model, as JSON.
    Shapes,
    /// The graph as JSON for Google's Model Explorer, with shapes, bytes, conditions and findings.
    ModelExplorer,
}

/// Runs the command.
pub fn run(options: &ShowOptions) -> Result<ExitCode> {
    let loaded = programs::Loaded::open(&options.program)?;
    let output = options.output.as_deref();
    if options.form == ShowForm::ModelExplorer {
        return explorer::show(options, &loaded);
    }
    for (given, name) in [(&options.spec, "spec"), (&options.node_data, "node-data")] {
        if given.is_some() {
            return Err(Failure::usage(format!("--{name} is for --as model-explorer")));
        }
    }
    if loaded.kind() == Kind::Model {
        if let Subject::Model(file) = loaded.subject(Backend::Cpu, &["as", "output"])? {
            model::show(&file, options.form, output)?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let program = loaded.load()?;
    let detail = if options.full { Detail::Full } else { Detail::Short };
    let text = match options.form {
        ShowForm::Pt2 => {
            programs::write_archive(&program, &loaded, output)?;
            return Ok(ExitCode::SUCCESS);
        }
        ShowForm::Onnx => {
            return write_onnx(&options.program, output, &options.onnx, &program, loaded.needed());
        }
        ShowForm::ModelExplorer => return Ok(ExitCode::SUCCESS),
        ShowForm::Shapes => return Err(Failure::usage("shapes are shown of ONNX models")),
        ShowForm::Readable => text::write_readable(&program, detail),
        ShowForm::Fx => text::write_fx(&program, detail),
        ShowForm::Python => text::write_python(&program),
        ShowForm::Functions => text::write_functions(&program),
        ShowForm::Dot => text::write_dot(&program),
        ShowForm::Json => json_text(pt2::write_json(&program).map_err(Failure::program)?),
    };
    files::write(output, &text)?;
    Ok(ExitCode::SUCCESS)
}
