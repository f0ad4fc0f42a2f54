//! Which parts a spec has below the parameters: those of the inputs, no others.
use super::contract::Contract;
use super::error::SpecError;
use super::parse::Spec;
use super::torch::Containers;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_ir::PathStep;

/// Refuses parts of a spec that no input has, below the parameters.
pub(super) fn check_parts(contract: &Contract, spec: &Spec) -> Result<(), SpecError> {
    let Json::Object(entries) = &spec.tree else { return Ok(()) };
    let mut paths: FxHashMap<&str, Vec<&[PathStep]>> = FxHashMap::default();
    for input in &contract.inputs {
        for path in std::iter::once(&input.input.path).chain(&input.input.aliases) {
            if let Some((PathStep::Parameter(first), rest)) = path.split_first() {
                paths.entry(first).or_default().push(rest);
            }
        }
    }
    let container = keyword_container(contract, spec);
    let containers = Containers::of(contract.program);
    let below = |name: &String, entry: &Json| {
        parts(entry, name, paths.get(name.as_str()).map_or(&[], Vec::as_slice), containers.below(name))
    };
    for (name, entry) in entries {
        match entry {
            Json::Object(fields) if container == Some(name) => {
                fields.iter().try_for_each(|(name, entry)| below(name, entry))?;
            }
            _ => below(name, entry)?,
        }
    }
    Ok(())
}

/// Whether a spec says nothing in a place.
fn is_empty(json: &Json) -> bool {
    match json {
        Json::Null => true,
        Json::Array(items) => items.iter().all(is_empty),
        Json::Object(fields) => fields.values().all(is_empty),
        _ => false,
    }
}

/// Refuses what is in a container of a spec and not in the inputs' container, whose paths these are. Containers may be empty:
/// no path leads there.
fn parts(json: &Json, place: &str, paths: &[&[PathStep]], own: Option<&Containers>) -> Result<(), SpecError> {
    let mut steps: Vec<&PathStep> = Vec::new();
    for path in paths {
        // A leaf, whose entries are its dimensions.
        let Some(step) = path.first() else { return Ok(()) };
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    let below = |step: &PathStep| -> Vec<&[PathStep]> {
        paths.iter().filter(|path| path.first() == Some(step)).map(|path| &path[1..]).collect()
    };
    let inside = |key: &str| own.and_then(|container| container.below(key));
    let is_empty_part =
        |key: &str, item: &Json| is_empty(item) && own.is_some_and(|container| container.has(key));
    match json {
        Json::Array(items) => {
            let said = items.iter().enumerate().filter(|(_, item)| !item.is_null());
            for (i, item) in said.filter(|(i, item)| !is_empty_part(&i.to_string(), item)) {
                let step = steps.iter().find(|s| matches!(s, PathStep::Index(at) if *at == i));
                match step.or(steps.get(i).filter(|s| !matches!(s, PathStep::Index(_)))) {
                    Some(step) => {
                        parts(item, &format!("{place}{step}"), &below(step), inside(&i.to_string()))?
                    }
                    None if steps.is_empty() => {}
                    None => {
                        let message =
                            format!("the input has {} parts, the spec {}", steps.len(), items.len());
                        return Err(SpecError::new(place, message));
                    }
                }
            }
        }
        Json::Object(fields) => {
            let said = fields.iter().filter(|(_, item)| !item.is_null());
            for (key, item) in said.filter(|(key, item)| !is_empty_part(key, item)) {
                let named = |step: &&&PathStep| match step {
                    PathStep::Key(k) => k.name() == *key,
                    PathStep::Field(name) | PathStep::Parameter(name) => **name == **key,
                    PathStep::Index(i) => i.to_string() == *key,
                };
                match steps.iter().find(named) {
                    Some(step) => parts(item, &format!("{place}{step}"), &below(step), inside(key))?,
                    None if steps.is_empty() => {}
                    None => {
                        let known: Vec<String> = steps.iter().map(|s| format!("{place}{s}")).collect();
                        let message = format!("the input has no part \"{key}\"; it has {}", known.join(", "));
                        return Err(SpecError::new(place, message));
                    }
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// The name in a spec that stands for `**kwargs`, which programs record nowhere: the one that is no input's
/// and has entries of inputs only that are passed by keyword.
pub(super) fn keyword_container<'s>(contract: &Contract, spec: &'s Spec) -> Option<&'s String> {
    let Json::Object(entries) = &spec.tree else { return None };
    let inputs = || contract.inputs.iter().map(|input| &input.input);
    let by_keyword = |key: &String| inputs().any(|input| input.keyword.as_deref() == Some(key.as_str()));
    let is_input = |name: &String| {
        inputs().any(|input| {
            let first = std::iter::once(&input.path).chain(&input.aliases).filter_map(|path| path.first());
            *input.placeholder == **name
                || first
                    .into_iter()
                    .any(|step| matches!(step, PathStep::Parameter(known) if **known == **name))
        })
    };
    let stands_for_it = |(name, entry): &(&String, &Json)| match entry {
        Json::Object(fields) => !fields.is_empty() && fields.keys().all(by_keyword) && !is_input(name),
        _ => false,
    };
    entries.iter().find(stands_for_it).map(|(name, _)| name)
}
