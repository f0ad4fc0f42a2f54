//! `sizewise show` for ONNX models: text, a graph for Graphviz, and the model with the shapes of its values.
use super::failure::{Failure, Result};
use super::show::Form;
use super::{files, onnx_model};
use crate::escape;
use crate::onnx::check::{check, shapes};
use crate::onnx::read::{Model, message};
use crate::onnx::{dot, fill, text};
use std::path::Path;
use std::process::ExitCode;

/// Writes a model in a form.
pub fn show(model: &Model, name: &str, bytes: &[u8], form: Form, output: Option<&Path>) -> Result<ExitCode> {
    let unread = |error| Failure::program(format!("{}: {error}", escape::visible(name)));
    match form {
        Form::Shapes => return onnx_model::show(model, output),
        Form::Readable => {
            let message = message(bytes.to_vec()).map_err(unread)?;
            files::write(output, &text::print(&message))?;
        }
        Form::Dot => files::write(output, &dot::dot(&model.graph, &shapes(model)))?,
        Form::Onnx => {
            let filled = fill::fill(bytes, &shapes(model), &check(model)).map_err(unread)?;
            files::write_bytes(output, &filled)?;
        }
        _ => return Err(Failure::usage("an ONNX model is shown --as readable, shapes, dot or onnx")),
    }
    Ok(ExitCode::SUCCESS)
}
