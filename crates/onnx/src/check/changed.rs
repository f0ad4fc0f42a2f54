//! What becomes of each size that a fix changes, in words.
use super::declaration::{Declaration, Declared};
use serde_json::Value as Json;
use sizewise_check::report::Changed;
use sizewise_check::spec::range_in_words;
use sizewise_onnx_model::read::Model;
use sizewise_onnx_model::walk::{Given, inputs};

/// An entry of a spec that differs from that of the one before.
pub(super) struct Entry<'j> {
    pub input: String,
    pub dim: usize,
    /// What the model declares.
    given: Option<Given>,
    pub json: &'j Json,
}

/// The entries of a spec that differ from those before. Of dimensions to which the model gives one name, the first says it
/// for all.
pub(super) fn changed_entries<'j>(spec: &'j Json, before: Option<&Json>, model: &Model) -> Vec<Entry<'j>> {
    let mut found: Vec<Entry> = Vec::new();
    for input in inputs(model) {
        let entries = spec.get(&input.name).and_then(Json::as_array);
        for (dim, json) in entries.into_iter().flatten().enumerate() {
            let given = input.shape.as_ref().and_then(|shape| shape.get(dim)).cloned();
            let is_same = before.and_then(|before| before.get(&input.name)?.get(dim)) == Some(json);
            let is_name = matches!(given, Some(Given::Name(_)));
            let is_known = is_name && found.iter().any(|known| known.given == given);
            if !is_same && !is_known {
                found.push(Entry { input: input.name.clone(), dim, given, json });
            }
        }
    }
    found
}

/// The sizes of inputs that declarations change, and entries of a spec.
pub(super) fn changed(changes: &[Declaration], entries: &[Entry]) -> Vec<Changed> {
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
    let entries = entries.iter().filter_map(|Entry { input, dim, given, json }| {
        let place = format!("{input}.shape[{dim}]");
        let name = match given {
            Some(Given::Name(name)) => name.clone(),
            Some(Given::Size(_)) => return None,
            _ => place.clone(),
        };
        Some(Changed { dim: name, source: Some(place), needs: in_words(json)? })
    });
    declared.chain(entries).collect()
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
