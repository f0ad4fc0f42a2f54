//! Names of the user's own for a model's inputs and outputs.

use rustc_hash::{FxHashMap, FxHashSet};

use super::metadata;
use crate::OnnxError;
use sizewise_onnx_model::read::message::{AttributeProto, GraphProto, NodeProto, ValueInfoProto};

/// Names the inputs and outputs of a model in their order; those without a name keep theirs. Each renamed one notes
/// in its metadata what it was called.
///
/// # Errors
/// When there are more names than inputs or outputs, a name is empty or taken, or one value is asked to have two.
pub(super) fn rename(graph: &mut GraphProto, inputs: &[String], outputs: &[String]) -> Result<(), OnnxError> {
    let mut names = FxHashMap::default();
    let mut taken = FxHashSet::default();
    for_each_name(graph, &mut |name| {
        taken.insert(name.clone());
    });
    choose(&graph.input, inputs, "inputs", &mut names)?;
    choose(&graph.output, outputs, "outputs", &mut names)?;
    for old in names.keys() {
        taken.remove(old);
    }
    for new in names.values() {
        if !taken.insert(new.clone()) {
            return Err(OnnxError::new(format!("`{new}`"), "two values would have this name".to_owned()));
        }
    }
    for info in graph.input.iter_mut().chain(&mut graph.output) {
        if names.get(&info.name).is_some_and(|new| *new != info.name) {
            info.metadata_props.push(metadata::of_renamed(&info.name));
        }
    }
    for_each_name(graph, &mut |name| {
        if let Some(new) = names.get(name) {
            name.clone_from(new);
        }
    });
    Ok(())
}

fn choose(
    values: &[ValueInfoProto],
    given: &[String],
    what: &str,
    names: &mut FxHashMap<String, String>,
) -> Result<(), OnnxError> {
    if given.len() > values.len() {
        let message = format!("the model has {} {what}, and {} names are given", values.len(), given.len());
        return Err(OnnxError::new("the names".to_owned(), message));
    }
    for (value, name) in values.iter().zip(given) {
        if name.is_empty() {
            return Err(OnnxError::new(format!("`{}`", value.name), "its name is empty".to_owned()));
        }
        if names.insert(value.name.to_owned(), name.clone()).is_some_and(|other| other != *name) {
            let message = format!("it is an input and an output, and cannot be called `{name}` as well");
            return Err(OnnxError::new(format!("`{}`", value.name), message));
        }
    }
    Ok(())
}

/// Visits every name of a value, those in the graphs of its nodes included.
fn for_each_name(graph: &mut GraphProto, visit: &mut dyn FnMut(&mut String)) {
    let infos = graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info);
    infos.map(|info| &mut info.name).for_each(&mut *visit);
    graph.initializer.iter_mut().map(|tensor| &mut tensor.name).for_each(&mut *visit);
    for NodeProto { input, output, attribute, .. } in &mut graph.node {
        input.iter_mut().chain(output).filter(|name| !name.is_empty()).for_each(&mut *visit);
        for AttributeProto { g: inner, .. } in attribute {
            if let Some(inner) = inner {
                for_each_name(inner, visit);
            }
        }
    }
}
