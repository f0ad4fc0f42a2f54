//! Finding the entry of each dimension in the tree that a spec is.
use super::contract::Contract;
use super::dim::Entry;
use super::error::SpecError;
use super::inputs::{InputKind, ProgramInput};
use super::parse::Spec;
use super::parts::{check_parts, keyword_container};
use rustc_hash::FxHashSet;
use serde_json::{Value as Json, json};
use sizewise_expr::{Expr, Int};
use sizewise_ir::keys;
use sizewise_ir::{Constant, PathStep};

/// One dimension of an input, or a scalar input.
pub(super) struct InputPlace {
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

impl InputPlace {
    /// A name for a symbol that stands for the place.
    pub fn symbol_name(&self) -> String {
        let mut name: String = self.path.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        if !name.starts_with(|c: char| c.is_alphabetic()) {
            name.insert(0, 'd');
        }
        name
    }
}

/// Which dimension of its input each place is.
pub(super) fn dims_of(places: &[InputPlace]) -> impl Iterator<Item = usize> {
    let first = |at: usize| places.iter().position(|other| other.input == places[at].input).unwrap_or(at);
    (0..places.len()).map(move |at| at - first(at))
}

/// The dimensions and scalars of all inputs, in order, with their entries.
pub(super) fn places(contract: &Contract, spec: &Spec) -> Result<Vec<InputPlace>, SpecError> {
    check_names(contract, spec)?;
    check_parts(contract, spec)?;
    let mut places = Vec::new();
    for (at, input) in contract.inputs.iter().enumerate() {
        let json = find(contract, spec, input)?;
        match &input.kind {
            InputKind::Tensor { sizes, .. } => tensor(contract, spec, at, input, sizes, json, &mut places)?,
            InputKind::Scalar(e) => {
                let path = input.path();
                let entry = spec.entry(json, &path)?;
                if matches!(entry, Entry::Dim(_) | Entry::Derived { .. } | Entry::Sum { .. }) {
                    return Err(SpecError::new(&path, NUMBER_ENTRIES));
                }
                let example = contract.example_int(*e);
                places.push(InputPlace { input: at, path, recorded: *e, example, entry });
            }
            InputKind::Constant(value) => places.extend(constant(spec, at, input, value, json)?),
            InputKind::Other => {
                if !is_nothing(json) {
                    let message = "the input is neither a tensor nor a number: expected null";
                    return Err(SpecError::new(&input.path(), message));
                }
            }
        }
    }
    match places.iter().find_map(|place| match &place.entry {
        Entry::Sum { expression, .. } => Some((expression, &place.path)),
        _ => None,
    }) {
        Some((expression, path)) => Err(SpecError::new(
            path,
            format!("`{expression}` is of several dimensions: torch derives `a*dim + b` of one dimension"),
        )),
        None => Ok(places),
    }
}

/// Whether a spec says nothing of an input that has no dimensions.
fn is_nothing(json: &Json) -> bool {
    json.is_null() || matches!(json, Json::Array(items) if items.is_empty())
}

/// The place of a constant input, if a spec may contain it: torch.export makes integers dynamic on request, but
/// no other inputs that are not tensors.
fn constant(
    spec: &Spec,
    at: usize,
    input: &ProgramInput,
    value: &Constant,
    json: &Json,
) -> Result<Option<InputPlace>, SpecError> {
    if is_nothing(json) {
        return Ok(None);
    }
    let path = input.path();
    let refuse = |message: String| Err(SpecError::new(&path, message));
    match (value, input.burned_in) {
        (Constant::Int(value), Some(recorded)) => {
            let entry = spec.entry(json, &path)?;
            if matches!(entry, Entry::Dim(_) | Entry::Derived { .. } | Entry::Sum { .. }) {
                return refuse(NUMBER_ENTRIES.to_string());
            }
            Ok(Some(InputPlace { input: at, path, recorded, example: Some(Int::from(*value)), entry }))
        }
        (Constant::Bool(_), _) if *json == "STATIC" => Ok(None),
        (Constant::Bool(_), _) => refuse(format!(
            "the input is a bool, {value} in the example: torch.export takes \"STATIC\" or null for it"
        )),
        _ => refuse(format!(
            "the input is {value} in the example: torch.export takes null for what is neither a tensor nor \
             an integer"
        )),
    }
}

/// What a spec may say of a number.
const NUMBER_ENTRIES: &str =
    "the input is a number: torch.export takes \"AUTO\", \"DYNAMIC\" or null for it, no named dimension";

/// A number of dimensions in words.
pub(super) fn dimensions(count: usize) -> String {
    if count == 1 { "1 dimension".to_string() } else { format!("{count} dimensions") }
}

fn entries_text(count: usize) -> String {
    if count == 1 { "1 entry".to_string() } else { format!("{count} entries") }
}

fn tensor(
    contract: &Contract,
    spec: &Spec,
    at: usize,
    input: &ProgramInput,
    sizes: &[Expr],
    json: &Json,
    places: &mut Vec<InputPlace>,
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
        Json::Array(entries) if entries.len() != sizes.len() && spec.shapes.is_some() => {
            let (given, rank) = (entries.len(), sizes.len());
            let message = format!("TensorSpec has {given} dims but tensor {whole} has {rank} dims");
            return Err(SpecError::new(&whole, message));
        }
        Json::Object(_) if spec.shapes.is_some() => {
            return Err(SpecError::new(&whole, "expected a TensorSpec: the input is a tensor"));
        }
        Json::Array(entries) if entries.len() != sizes.len() => {
            let message = format!(
                "the tensor has {}, the spec {}",
                dimensions(sizes.len()),
                entries_text(entries.len())
            );
            return Err(SpecError::new(&whole, message));
        }
        Json::Object(entries) => {
            // A number as JSON writes it: `00` and `+0` would be further names of dimension 0.
            let names_none =
                |key: &&String| !(0..sizes.len()).any(|dimension| dimension.to_string() == **key);
            if let Some(key) = entries.keys().find(names_none) {
                let message =
                    format!("the tensor has {}: there is no dimension \"{key}\"", dimensions(sizes.len()));
                return Err(SpecError::new(&whole, message));
            }
        }
        _ => {}
    }
    for (dim, &recorded) in sizes.iter().enumerate() {
        let path = format!("{whole}.shape[{dim}]");
        let entry = spec.entry(entry_of(dim)?, &path)?;
        let example = contract.example_int(recorded);
        places.push(InputPlace { input: at, path, recorded, example, entry });
    }
    Ok(())
}

/// Refuses names that are no parameter's.
pub(super) fn check_names(contract: &Contract, spec: &Spec) -> Result<(), SpecError> {
    let Json::Object(entries) = &spec.tree else {
        return Ok(());
    };
    let mut known: FxHashSet<&str> = FxHashSet::default();
    for input in &contract.inputs {
        for path in std::iter::once(&input.input.path).chain(&input.input.aliases) {
            if let Some(PathStep::Parameter(name)) = path.first() {
                known.insert(name);
            }
        }
        known.insert(&input.input.placeholder);
    }
    let parameters = contract.program.call_signature().and_then(|call| call.forward_arg_names.as_deref());
    known.extend(parameters.into_iter().flatten().map(|name| &**name));
    // The name of `**kwargs` may be recorded nowhere, and what it holds may be nothing.
    let all_known = parameters.is_some() && contract.inputs.iter().all(|i| i.input.keyword.is_none());
    for (name, entry) in entries {
        if !known.contains(name.as_str())
            && (all_known || !entry.is_null())
            && keyword_container(contract, spec) != Some(name)
        {
            let mut names: Vec<String> = contract
                .inputs
                .iter()
                .filter_map(|i| i.input.path.first().map(ToString::to_string))
                .collect();
            names.dedup();
            let near = keys::nearest(name, names.iter().map(String::as_str));
            let near = near.map(|near| format!("; the nearest is `{near}`")).unwrap_or_default();
            if spec.shapes.is_some() {
                let message = format!(
                    "ParamsSpec has entries ['{name}'] that do not match any argument passed to export(){near}. Spec keys \
                     must be forward parameter names that were actually passed. Inputs received: {}",
                    names.join(", ")
                );
                return Err(SpecError::new(name, message));
            }
            return Err(SpecError::new(
                name,
                format!("the program has no such input{near}; it has {}", names.join(", ")),
            ));
        }
    }
    Ok(())
}

/// The entry of an input.
pub(super) fn find<'s>(
    contract: &Contract,
    spec: &'s Spec,
    input: &ProgramInput,
) -> Result<&'s Json, SpecError> {
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
            Some(entry) => descend((contract, spec), entry, first, steps, &input.path()),
            None => Ok(&NULL),
        };
    }
    let Json::Object(entries) = &spec.tree else { return Ok(&NULL) };
    for path in std::iter::once(&input.input.path).chain(&input.input.aliases) {
        if let Some((first @ PathStep::Parameter(name), steps)) = path.split_first()
            && let Some(entry) = entries.get(&**name)
        {
            return descend((contract, spec), entry, first, steps, &input.path());
        }
    }
    if let Some(entry) = entries.get(&*input.input.placeholder) {
        return Ok(entry);
    }
    let keyword = input.input.keyword.as_deref();
    if let Some(keyword) = keyword
        && let Some(container) = keyword_container(contract, spec)
        && let Some(entry) = entries[container.as_str()].get(keyword)
    {
        let named = |step: &PathStep| matches!(step, PathStep::Parameter(name) if **name == *keyword);
        let is_keyword = |path: &&Vec<PathStep>| path.first().is_some_and(named);
        let mut paths = std::iter::once(&input.input.path).chain(&input.input.aliases);
        if let Some((first, steps)) = paths.find(is_keyword).and_then(|path| path.split_first()) {
            return descend((contract, spec), entry, first, steps, &input.path());
        }
    }
    Ok(&NULL)
}

/// The entry below `entry` along `steps`, which lead from the parameter `first` to a leaf.
fn descend<'s>(
    (contract, spec): (&Contract, &Spec),
    entry: &'s Json,
    first: &PathStep,
    steps: &[PathStep],
    path: &str,
) -> Result<&'s Json, SpecError> {
    static NULL: Json = Json::Null;
    let mut at = entry;
    for (depth, step) in steps.iter().enumerate() {
        let mismatch = || {
            let above: String =
                std::iter::once(first).chain(&steps[..depth]).map(ToString::to_string).collect();
            let found = match at {
                Json::Array(items) => format!("a list of {}", entries_text(items.len())),
                Json::Object(_) => "an object".to_string(),
                other => other.to_string(),
            };
            let message = format!(
                "`{above}` has a part `{step}`, the spec has {found} there: it must mirror the inputs"
            );
            SpecError::new(path, message)
        };
        at = match (at, step) {
            (Json::Null, _) => return Ok(&NULL),
            // A SeqSpec may be shorter than the sequence.
            (Json::Array(items), PathStep::Index(i)) if spec.shapes.is_some() => {
                items.get(*i).unwrap_or(&NULL)
            }
            (Json::Array(items), PathStep::Index(i)) => items.get(*i).ok_or_else(mismatch)?,
            (Json::Object(items), PathStep::Key(k)) => items.get(&k.name()).unwrap_or(&NULL),
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

/// Writes the entry of one dimension of a tensor input, also where the spec says nothing of it yet; whether it could.
pub(super) fn set_entry(
    spec: &mut Spec,
    contract: &Contract,
    input: &ProgramInput,
    dim: usize,
    entry: Json,
) -> bool {
    let Ok(found) = find(contract, spec, input).map(std::ptr::from_ref::<Json>) else { return false };
    if let Some(place) = same_place(&mut spec.tree, found) {
        match place {
            Json::Array(entries) if dim < entries.len() => entries[dim] = entry,
            Json::Object(entries) => drop(entries.insert(dim.to_string(), entry)),
            Json::Null => *place = json!({ dim.to_string(): entry }),
            _ => return false,
        }
        return true;
    }
    // A parameter that the spec leaves out.
    let (Json::Object(entries), [PathStep::Parameter(name)]) = (&mut spec.tree, input.input.path.as_slice())
    else {
        return false;
    };
    let is_new = !entries.contains_key(&**name);
    if is_new {
        entries.insert(name.to_string(), json!({ dim.to_string(): entry }));
    }
    is_new
}

/// The entry of a whole input, to be changed; none where the spec says nothing of it.
pub(super) fn entry_of_input<'s>(
    spec: &'s mut Spec,
    contract: &Contract,
    input: &ProgramInput,
) -> Option<&'s mut Json> {
    let found: *const Json = find(contract, spec, input).ok()?;
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
