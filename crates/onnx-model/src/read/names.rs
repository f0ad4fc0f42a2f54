//! The names that a model gives sizes.
use super::message::{Dimension, TypeProto, TypeValue, ValueInfoProto};
use super::{Model, graphs_of};
use std::collections::BTreeSet;

/// The names `s<n>` and `u<n>` in declared sizes and in stated conditions, each once.
pub(super) fn numbered(model: &Model) -> Vec<String> {
    let mut found = BTreeSet::new();
    model.conditions.iter().for_each(|line| words(line, &mut found));
    let mut open = vec![&model.graph];
    open.extend(model.functions.iter().flat_map(|function| &function.message.node).flat_map(graphs_of));
    while let Some(graph) = open.pop() {
        let values = graph.input.iter().chain(&graph.output).chain(&graph.value_info);
        values.for_each(|value| of_value(value, &mut found));
        open.extend(graph.node.iter().flat_map(graphs_of));
    }
    let functions = model.functions.iter().flat_map(|function| &function.message.value_info);
    functions.for_each(|value| of_value(value, &mut found));
    found.into_iter().collect()
}

fn of_value(value: &ValueInfoProto, found: &mut BTreeSet<String>) {
    let mut next: Option<&TypeProto> = value.r#type.as_ref();
    while let Some(kind) = next.take().and_then(|message| message.value.as_ref()) {
        match kind {
            TypeValue::Tensor(tensor) => {
                for dim in tensor.shape.iter().flat_map(|shape| &shape.dim) {
                    if let Some(Dimension::Name(text)) = &dim.value {
                        words(text, found);
                    }
                }
            }
            TypeValue::Sequence(element) => next = element.elem_type.as_deref(),
            _ => {}
        }
    }
}

/// The words of a text that are names with a number, such as `s0` in `s0 + 1`.
fn words(text: &str, found: &mut BTreeSet<String>) {
    for word in text.split(|c: char| !c.is_alphanumeric() && c != '_') {
        let number = word.strip_prefix(['s', 'u']).filter(|number| !number.is_empty());
        if number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit())) && !found.contains(word) {
            found.insert(word.to_owned());
        }
    }
}
