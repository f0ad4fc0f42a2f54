//! A ShapesSpec as JSON that mirrors the inputs.
use super::{Node, Shapes, Variable};
use crate::spec::SpecError;
use serde_json::{Map, Value as Json};
use sizewise_expr::Int;
use sizewise_ir::keys;

/// The fields of a spec, and of a variable.
const FIELDS: [&str; 3] = ["vars", "params", "assumptions"];
const VARIABLE: [&str; 4] = ["min", "max", "optimization_hint", "name"];

/// Whether an object is such a spec: a spec of inputs that have these names has lists of dimensions beside each other, and no
/// `assumptions`, which are texts.
pub(in crate::spec) fn is_own(fields: &Map<String, Json>) -> bool {
    let is_list_of_texts =
        |json: &Json| json.as_array().is_some_and(|items| items.iter().all(Json::is_string));
    if fields.get("assumptions").is_some_and(is_list_of_texts)
        && (fields.contains_key("vars") || fields.contains_key("params"))
    {
        return true;
    }
    let is_object = |key: &str| fields.get(key).is_some_and(Json::is_object);
    let is_range = |json: &Json| match json {
        Json::Object(fields) => fields.keys().all(|key| key != "dim" && key != "derived" && key != "hint"),
        other => !other.is_array() && !other.is_string(),
    };
    let has_ranges = fields.get("vars").and_then(Json::as_object).is_some_and(|v| v.values().all(is_range));
    has_ranges && is_object("params")
}

impl Shapes {
    /// Reads a spec that [`Shapes::to_json`] writes.
    ///
    /// # Errors
    /// When a field is unknown, or is no such value.
    pub(in crate::spec) fn of_own(fields: &Map<String, Json>) -> Result<Shapes, SpecError> {
        only(fields, &FIELDS, "")?;
        let mut shapes = Shapes::default();
        let variables = match fields.get("vars") {
            None | Some(Json::Null) => &Map::new(),
            Some(Json::Object(variables)) => variables,
            Some(_) => return Err(SpecError::new("vars", "expected an object of variables by name")),
        };
        for (name, range) in variables {
            let path = format!("vars.{name}");
            if super::identifier(name, |_| false) != *name {
                return Err(SpecError::new(&path, format!("\"{name}\" is no name for a variable")));
            }
            shapes.variables.insert(name.clone(), variable(range, &path)?);
        }
        shapes.params = match fields.get("params") {
            None | Some(Json::Null) => Node::Static,
            Some(params @ Json::Object(_)) => node(params, "params")?,
            Some(_) => return Err(SpecError::new("params", "expected an object by parameter name")),
        };
        shapes.assumptions = match fields.get("assumptions") {
            None | Some(Json::Null) => Vec::new(),
            Some(Json::Array(items)) => {
                let text = |(i, item): (usize, &Json)| {
                    let wrong =
                        || SpecError::new(&format!("assumptions[{i}]"), "expected the text of a condition");
                    item.as_str().map(str::to_owned).ok_or_else(wrong)
                };
                items.iter().enumerate().map(text).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(SpecError::new("assumptions", "expected a list of conditions")),
        };
        shapes.checked()
    }
}

fn only(fields: &Map<String, Json>, known: &[&str], path: &str) -> Result<(), SpecError> {
    match fields.keys().find(|field| !known.contains(&field.as_str())) {
        None => Ok(()),
        Some(field) => Err(SpecError::new(path, keys::unknown(field, known))),
    }
}

fn variable(json: &Json, path: &str) -> Result<Variable, SpecError> {
    let fields = match json {
        Json::Null => &Map::new(),
        Json::Object(fields) => fields,
        _ => return Err(SpecError::new(path, "expected a range: {\"min\": 0, \"max\": null}, or null")),
    };
    only(fields, &VARIABLE, path)?;
    let mut ends = [None, None, None];
    for (end, name) in ends.iter_mut().zip(VARIABLE) {
        *end = integer(fields.get(name), &format!("{path}.{name}"))?;
    }
    let [min, max, hint] = ends;
    if let (Some(min), Some(max)) = (&min, &max)
        && max < min
    {
        return Err(SpecError::new(path, format!("the range is empty: from {min} to {max}")));
    }
    let name = match fields.get("name") {
        None | Some(Json::Null) => None,
        Some(Json::String(name)) => Some(name.clone()),
        Some(_) => return Err(SpecError::new(&format!("{path}.name"), "expected a name")),
    };
    Ok(Variable { name, min, max, hint, is_size: None })
}

/// An integer; 64 bits need not hold it.
pub(super) fn integer(json: Option<&Json>, path: &str) -> Result<Option<Int>, SpecError> {
    let read = match json {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Number(number)) => number.to_string().parse().ok(),
        Some(Json::String(text)) if text.len() <= 40 => text.parse().ok(),
        Some(_) => None,
    };
    match read {
        Some(value) => Ok(Some(value)),
        None => Err(SpecError::new(path, "expected an integer or null")),
    }
}

/// The part of a tree; serde_json bounds how deep what it reads nests.
fn node(json: &Json, path: &str) -> Result<Node, SpecError> {
    match json {
        Json::Null => Ok(Node::Static),
        Json::String(text) => Ok(Node::Expr(text.clone())),
        Json::Number(_) => Ok(integer(Some(json), path)?.map_or(Node::Static, Node::Size)),
        Json::Array(items) => {
            let item = |(i, item): (usize, &Json)| node(item, &format!("{path}[{i}]"));
            Ok(Node::List(items.iter().enumerate().map(item).collect::<Result<_, _>>()?))
        }
        Json::Object(fields) => {
            let field =
                |(key, value): (&String, &Json)| Ok((key.clone(), node(value, &format!("{path}.{key}"))?));
            Ok(Node::Map(fields.iter().map(field).collect::<Result<_, SpecError>>()?))
        }
        Json::Bool(_) => {
            Err(SpecError::new(path, "expected null, an integer, an expression or a container of these"))
        }
    }
}
