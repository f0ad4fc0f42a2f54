//! What text forms call the inputs of a graph.
use crate::{Graph, GraphInput, InputSpec, Program};

/// The names of a graph's inputs; those of constants come from the signature, where there is one.
pub(super) fn input_names(program: &Program, graph: &Graph, whole: bool) -> Vec<String> {
    let name = |(index, input): (usize, &GraphInput)| match input {
        GraphInput::Value(value) => graph.name(*value).to_string(),
        GraphInput::Constant(_) => match program.signature.inputs.get(index) {
            Some(InputSpec::Constant { name, .. }) if whole => name.to_string(),
            _ => format!("input_{index}"),
        },
    };
    let mut names: Vec<String> = Vec::with_capacity(graph.inputs().len());
    for (index, input) in graph.inputs().iter().enumerate() {
        let mut name = name((index, input));
        // Constants are no values of the graph: their names may be those of values.
        if matches!(input, GraphInput::Constant(_)) {
            while graph.find(&name).is_some() || names.contains(&name) {
                name.push('_');
            }
        }
        names.push(name);
    }
    names
}
