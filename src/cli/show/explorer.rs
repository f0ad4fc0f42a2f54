//! `sizewise show --as model-explorer`: the graph for Google's Model Explorer, with what a check finds of its nodes.
use super::super::annotate::checked;
use super::super::args::Kernels;
use super::super::failure::Result;
use super::super::files;
use super::super::programs::Loaded;
use super::ShowOptions;
use crate::escape::json_text;
use crate::report::model_explorer;
use serde_json::Value as Json;
use std::process::ExitCode;

/// The options that mean something for ONNX models.
const FOR_MODELS: &[&str] = &["as", "output", "spec", "node-data"];

/// Writes the graph, and the data of its nodes.
pub fn show(options: &ShowOptions, loaded: &Loaded) -> Result<ExitCode> {
    let kernels = Kernels::default();
    let (subject, report) =
        checked(loaded, &options.program.path, options.spec.as_ref(), &kernels, FOR_MODELS)?;
    let mut collection = model_explorer(&report, &subject.outline());
    let data = collection.as_object_mut().and_then(|all| all.remove("nodeData"));
    let text = |json: &Json| json_text(json.to_string()) + "\n";
    if let Some(folder) = &options.node_data {
        files::make_folder(folder)?;
        for (name, data) in data.as_ref().and_then(Json::as_object).into_iter().flatten() {
            files::write(Some(&folder.join(format!("{name}.json"))), &text(data))?;
        }
    }
    files::write(options.output.as_deref(), &text(&collection))?;
    Ok(ExitCode::SUCCESS)
}
