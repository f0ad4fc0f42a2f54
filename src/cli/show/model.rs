//! `sizewise show` for ONNX models: text, a graph for Graphviz, the shapes of all values, and the model with these shapes.
use super::super::failure::{Failure, Result};
use super::super::files;
use super::ShowForm;
use crate::escape::{self, json_text};
use crate::onnx::check::{ShownSize, check, guarded_shapes, shapes};
use crate::onnx::subject::ModelFile;
use crate::onnx::{dot, fill};
use crate::onnx_model::read::{Model, message};
use crate::onnx_model::text;
use crate::query::Fields;
use serde_json::json;
use std::path::Path;

/// Writes a model in a form.
pub fn show(file: &ModelFile, form: ShowForm, output: Option<&Path>) -> Result<()> {
    let unread = |error| Failure::program(format!("{}: {error}", escape::visible(&file.name)));
    let model = &file.model;
    match form {
        ShowForm::Shapes => files::write(output, &shapes_text(model)),
        ShowForm::Readable => {
            let message = message(file.bytes.clone()).map_err(unread)?;
            files::write(output, &text::print(&message))
        }
        ShowForm::Dot => files::write(output, &dot::dot(&model.graph, &shapes(model))),
        ShowForm::Onnx => {
            let filled = fill::fill(&file.bytes, &shapes(model), &check(model)).map_err(unread)?;
            files::write_bytes(output, &filled)
        }
        _ => Err(Failure::usage("an ONNX model is shown --as readable, shapes, dot or onnx")),
    }
}

/// The shapes of all values as JSON.
fn shapes_text(model: &Model) -> String {
    let (shapes, guards) = guarded_shapes(model);
    let symbols: Fields = shapes
        .symbols
        .iter()
        .map(|named| {
            let source = named.source.as_ref().map(|(input, dim)| format!("{input}[{dim}]"));
            (named.name.clone(), json!({"source": source, "name": named.declared}))
        })
        .collect();
    let mut values = Fields::new();
    for (name, shown) in shapes.values {
        let mut value = json!({"dtype": shown.dtype.map(|dtype| dtype.name()), "shape": null});
        if let Some(sizes) = shown.shape {
            value["shape"] = sizes.iter().map(ShownSize::json).collect();
            if sizes.iter().any(|size| matches!(size, ShownSize::Open(Some(_)))) {
                value["upper_bound"] = sizes.iter().map(ShownSize::known_json).collect();
            }
        }
        values.insert(name, value);
    }
    json_text(json!({"symbols": symbols, "values": values, "guards": guards}).to_string()) + "\n"
}
