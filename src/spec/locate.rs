//! Finding the entry of each dimension in the tree that a spec is.
use super::contract::Contract;
use super::dim::Entry;
use super::inputs::{InputKind, ProgramInput};
use super::parse::{Spec, SpecError};
use crate::expr::{Expr, Int};
use crate::ir::{PathStep, TreeKey};
use serde_json::Value as Json;

/// One dimension of an input, or a scalar input.
pub(super) struct Place {
    /// Which of the program's inputs.
    pub input: usize,
    /// As messages write it: `x.shape[0]`, `n`.
    pub path: String,
    /// What the program records.
    pub recorded: Expr,
    /// The size at the traced example.
    pub example: Option<Int>,
    /// What the spec says.
    pub entry: Entry,
}

impl Place {
    /// A name for a symbol that stands for the place.
    pub fn symbol_name(&self) -> String {
        let mut name: String = self.path.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        if !name.starts_with(|c: char| c.is_alphabetic()) {
            name.insert(0, 'd');
        }
        name
    }
}

/// The dimensions and scalars of all inputs, in order, with their entries.
pub(super) fn places(contract: &Contract, spec: &Spec) -> Result<Vec<Place>, SpecError> {
    check_names(contract, spec)?;
    let mut places = Vec::new();
    for (at, input) in contract.inputs.iter().enumerate() {
        let json = find(contract, spec, input)?;
        match &input.kind {
            InputKind::Tensor { sizes, .. } => tensor(contract, spec, at, input, sizes, json, &mut places)?,
            InputKind::Scalar(e) => {
                let path = input.path();
                let entry = spec.entry(json, &path)?;
                if matches!(entry, Entry::Dim(_) | Entry::Derived { .. }) {
                    let message = "the input is a number: torch.export takes \"AUTO\", \"DYNAMIC\" or null for it, no named dimension";
                    return Err(SpecError::new(&path, message));
                }
                let example = contract.example_int(*e);
                places.push(Place { input: at, path, recorded: *e, example, entry });
            }
            InputKind::Constant(_) | InputKind::Other => {
                if !json.is_null() && !matches!(json, Json::Array(items) if items.is_empty()) {
                    let path = input.path();
                    // A number that was burned in may be declared static, and nothing else.
                    if !matches!(
                        spec.entry(json, &path)?,
                        Entry::Static | Entry::Inferred { .. } | Entry::Size(_)
                    ) {
                        return Err(SpecError::new(
                            &path,
                            "the input is no tensor: it cannot have a named dimension",
                        ));
                    }
                }
            }
        }
    }
    Ok(places)
}

fn tensor(
    contract: &Contract,
    spec: &Spec,
    at: usize,
    input: &ProgramInput,
    sizes: &[Expr],
    json: &Json,
    places: &mut Vec<Place>,
) -> Result<(), SpecError> {
    let whole = input.path();
    let null = Json::Null;
    let entry_of = |dim: usize| -> Result<&Json, SpecError> {
        match json {
            Json::Null => Ok(&null),
            Json::Array(entries) => Ok(entries.get(dim).unwrap_or(&null)),
            Json::Object(entries) => Ok(entries.get(&dim.to_string()).unwrap_or(&null)),
            _ => Err(SpecError::new(
                &whole,
                format!("expected null or a list with one entry a dimension, not {json}"),
            )),
        }
    };
    match json {
        Json::Array(entries) if entries.len() != sizes.len() => {
            let message =
                format!("the tensor has {} dimensions, the spec {} entries", sizes.len(), entries.len());
            return Err(SpecError::new(&whole, message));
        }
        Json::Object(entries) => {
            if let Some(key) = entries.keys().find(|k| k.parse::<usize>().map_or(true, |d| d >= sizes.len()))
            {
                let message =
                    format!("the tensor has {} dimensions: there is no dimension \"{key}\"", sizes.len());
                return Err(SpecError::new(&whole, message));
            }
        }
        _ => {}
    }
    for (dim, &recorded) in sizes.iter().enumerate() {
        let path = format!("{whole}.shape[{dim}]");
        let entry = spec.entry(entry_of(dim)?, &path)?;
        let example = contract.example_int(recorded);
        places.push(Place { input: at, path, recorded, example, entry });
    }
    Ok(())
}

/// Refuses names that are no parameter's.
fn check_names(contract: &Contract, spec: &Spec) -> Result<(), SpecError> {
    let Json::Object(entries) = &spec.tree else {
        return Ok(());
    };
    let mut known: Vec<String> = Vec::new();
    for input in &contract.inputs {
        for path in std::iter::once(&input.input.path).chain(&input.input.aliases) {
            if let Some(PathStep::Parameter(name)) = path.first() {
                known.push(name.to_string());
            }
        }
        known.push(input.input.placeholder.to_string());
    }
    for name in entries.keys() {
        if !known.iter().any(|k| k == name) && !entries[name].is_null() {
            let mut names: Vec<String> = contract
                .inputs
                .iter()
                .filter_map(|i| i.input.path.first().map(ToString::to_string))
                .collect();
            names.dedup();
            return Err(SpecError::new(
                name,
                format!("the program has no such input; it has {}", names.join(", ")),
            ));
        }
    }
    Ok(())
}

/// The entry of an input.
fn find<'s>(contract: &Contract, spec: &'s Spec, input: &ProgramInput) -> Result<&'s Json, SpecError> {
    static NULL: Json = Json::Null;
    if let Json::Array(entries) = &spec.tree {
        // Positional: one entry a parameter.
        let mut parameters: Vec<&PathStep> = Vec::new();
        for other in &contract.inputs {
            if let Some(first) = other.input.path.first()
                && !parameters.contains(&first)
            {
                parameters.push(first);
            }
        }
        if entries.len() > parameters.len() {
            let message = format!("{} entries for {} arguments", entries.len(), parameters.len());
            return Err(SpecError::new("", message));
        }
        let Some((first, steps)) = input.input.path.split_first() else { return Ok(&NULL) };
        let at = parameters.iter().position(|p| *p == first).unwrap_or(usize::MAX);
        return match entries.get(at) {
            Some(entry) => descend(contract, entry, first, steps, &input.path()),
            None => Ok(&NULL),
        };
    }
    let Json::Object(entries) = &spec.tree else { return Ok(&NULL) };
    for path in std::iter::once(&input.input.path).chain(&input.input.aliases) {
        if let Some((first @ PathStep::Parameter(name), steps)) = path.split_first()
            && let Some(entry) = entries.get(&**name)
        {
            return descend(contract, entry, first, steps, &input.path());
        }
    }
    if let Some(entry) = entries.get(&*input.input.placeholder) {
        return Ok(entry);
    }
    Ok(&NULL)
}

/// The entry below `entry` along `steps`, which lead from the parameter `first` to a leaf.
fn descend<'s>(
    contract: &Contract,
    entry: &'s Json,
    first: &PathStep,
    steps: &[PathStep],
    path: &str,
) -> Result<&'s Json, SpecError> {
    static NULL: Json = Json::Null;
    let mut at = entry;
    for (depth, step) in steps.iter().enumerate() {
        let mismatch = || {
            let shown: String = steps[..=depth].iter().map(ToString::to_string).collect();
            SpecError::new(
                path,
                format!("the spec's structure has nothing at `{shown}`: it must mirror the inputs"),
            )
        };
        at = match (at, step) {
            (Json::Null, _) => return Ok(&NULL),
            (Json::Array(items), PathStep::Index(i)) => items.get(*i).ok_or_else(mismatch)?,
            (Json::Object(items), PathStep::Key(TreeKey::Str(k))) => items.get(&**k).unwrap_or(&NULL),
            (Json::Object(items), PathStep::Key(TreeKey::Int(k))) => {
                items.get(&k.to_string()).unwrap_or(&NULL)
            }
            (Json::Object(items), PathStep::Field(name) | PathStep::Parameter(name)) => {
                items.get(&**name).unwrap_or(&NULL)
            }
            // Named tuples and other classes may be written as lists, in the order of their fields.
            (Json::Array(items), PathStep::Field(_) | PathStep::Key(_)) => {
                let position = sibling_position(contract, first, &steps[..depth], step);
                items.get(position).ok_or_else(mismatch)?
            }
            _ => return Err(mismatch()),
        };
    }
    Ok(at)
}

/// The position of `step` among the steps that inputs take from the same container.
fn sibling_position(contract: &Contract, first: &PathStep, container: &[PathStep], step: &PathStep) -> usize {
    let mut siblings: Vec<&PathStep> = Vec::new();
    for input in &contract.inputs {
        if let Some((head, rest)) = input.input.path.split_first()
            && head == first
            && rest.starts_with(container)
            && let Some(sibling) = rest.get(container.len())
            && !siblings.contains(&sibling)
        {
            siblings.push(sibling);
        }
    }
    siblings.iter().position(|s| *s == step).unwrap_or(usize::MAX)
}

/// The entry of one dimension of a tensor input, to be changed; none where the spec says nothing of the input.
pub(super) fn entry_of_dim<'s>(
    spec: &'s mut Spec,
    contract: &Contract,
    input: &ProgramInput,
    dim: usize,
) -> Option<&'s mut Json> {
    let found: *const Json = match find(contract, spec, input).ok()? {
        Json::Array(entries) => entries.get(dim)?,
        Json::Object(entries) => entries.get(&dim.to_string())?,
        _ => return None,
    };
    same_place(&mut spec.tree, found)
}

/// The part of a tree at an address.
fn same_place(tree: &mut Json, address: *const Json) -> Option<&mut Json> {
    if std::ptr::eq(tree, address) {
        return Some(tree);
    }
    match tree {
        Json::Array(items) => items.iter_mut().find_map(|item| same_place(item, address)),
        Json::Object(fields) => fields.values_mut().find_map(|item| same_place(item, address)),
        _ => None,
    }
}
