//! What becomes of each size that a fix changes, in words.
use super::declaration::{Declaration, Declared};
use serde_json::Value as Json;
use sizewise_check::report::Changed;
use sizewise_check::spec::range_in_words;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::walk::{Given, inputs};

/// The sizes of inputs that declarations, and a spec after another one, change. Of dimensions to which the model gives one name, the first stands for all.
pub(super) fn changed(
    changes: &[Declaration],
    spec: Option<(&Json, Option<&Json>)>,
    model: &Model,
) -> Vec<Changed> {
    let declared = changes.iter().filter(|change| !change.is_output).filter_map(|change| {
        let place = change.declared.place(&change.value);
        let needs = match &change.declared {
            Declared::Size(_, Some(size)) if size.bytes().all(|byte| byte.is_ascii_digit()) => {
                format!("{size} only")
            }
            Declared::Size(_, Some(size)) => computed(size),
            Declared::Size(_, None) => "any size".to_owned(),
            _ => return None,
        };
        Some(Changed { dim: place.clone(), source: Some(place), needs })
    });
    let mut rows: Vec<Changed> = declared.collect();
    let Some((spec, before)) = spec else { return rows };
    let mut said: Vec<String> = Vec::new();
    for input in inputs(model) {
        let entries = spec.get(&input.name).and_then(Json::as_array);
        for (dim, entry) in entries.into_iter().flatten().enumerate() {
            let before = before.and_then(|before| before.get(&input.name)?.get(dim));
            if before == Some(entry) {
                continue;
            }
            let place = format!("{}.shape[{dim}]", input.name);
            let name = match input.shape.as_ref().and_then(|shape| shape.get(dim)) {
                Some(Given::Name(name)) if said.contains(name) => continue,
                Some(Given::Name(name)) => {
                    said.push(name.clone());
                    name.clone()
                }
                Some(Given::Size(_)) => continue,
                _ => place.clone(),
            };
            let needs = in_words(entry);
            rows.extend(needs.map(|needs| Changed { dim: name, source: Some(place), needs }));
        }
    }
    rows
}

/// A size that is computed from a new one, `2*_h + 1`, in words; others as they are.
fn computed(size: &str) -> String {
    match size.split_once("*_") {
        Some((factor, root)) => match root.split_once(' ') {
            None => format!("a multiple of {factor}"),
            Some((_, offset)) => format!("{factor}*k {offset}"),
        },
        None => size.to_owned(),
    }
}

/// An entry of a spec in words.
fn in_words(entry: &Json) -> Option<String> {
    let end = |of: &Json, key: &str| of.get(key).and_then(Json::as_i64);
    if let Some(size) = entry.as_i64() {
        return Some(format!("{size} only"));
    }
    if let Some(derived) = entry.get("derived").and_then(Json::as_str) {
        let root = entry.get("root")?;
        let name = root.get("dim")?.as_str()?;
        return Some(format!(
            "{derived}, {name} being {}",
            range_in_words(end(root, "min")?, end(root, "max"))
        ));
    }
    Some(range_in_words(end(entry, "min")?, end(entry, "max")))
}
