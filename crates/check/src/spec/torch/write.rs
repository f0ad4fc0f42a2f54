//! Writing a spec in the form of Python.
use super::containers::{Containers, Kind};
use super::text::variable;
use serde_json::{Map, Value as Json};
use sizewise_expr::escape::python_string;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Lines of entries are at most this long where they are written on one line.
const WIDTH: usize = 100;

/// The text of a spec whose dimensions stand where they are used, with the containers of a program.
pub(in crate::spec) fn write(tree: &Json, containers: &Containers) -> String {
    let mut writer = DimsWriter::default();
    let tree = &writer.collect(tree, Some(containers));
    let body = writer.value(tree, Some(containers), 0, "dynamic_shapes = ".len());
    let mut text = String::new();
    for (module, name) in &writer.classes {
        let _ = writeln!(text, "from {module} import {name}");
    }
    text.push_str("from torch.export import Dim\n\n");
    for (name, range) in &writer.dims {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} = Dim({}{range})", variable(name), python_string(name));
    }
    if !writer.dims.is_empty() {
        text.push('\n');
    }
    let _ = writeln!(text, "dynamic_shapes = {body}");
    text
}

/// `, min=2, max=64`; a missing end is left out. `min=0` is written: a size of an ONNX model without it is at least 1.
fn range(fields: &Map<String, Json>) -> String {
    let ends = ["min", "max"].into_iter().filter_map(|end| {
        let value = fields.get(end).filter(|value| !value.is_null())?;
        Some(format!(", {end}={value}"))
    });
    ends.collect()
}

#[derive(Default)]
struct DimsWriter {
    /// The named dimensions with their ranges, in the order in which they occur.
    dims: Vec<(String, String)>,
    /// The classes that the text needs, with their modules.
    classes: BTreeSet<(String, String)>,
}

impl DimsWriter {
    /// Gathers the dimensions and classes, and puts containers in the place of `null`.
    fn collect(&mut self, json: &Json, containers: Option<&Containers>) -> Json {
        if let Some(Kind::Named { module, name, .. }) = containers.map(Containers::kind)
            && module != "__main__"
        {
            self.classes.insert((module.clone(), name.clone()));
        }
        let below = |key: &str| containers.and_then(|containers| containers.below(key));
        match json {
            Json::Null => match containers.and_then(Containers::all_static) {
                Some(container) => self.collect(&container, containers),
                None => Json::Null,
            },
            Json::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(at, item)| self.collect(item, below(&at.to_string()))).collect()
            }
            Json::Object(fields) if entry(fields).is_none() => {
                let items = fields.iter().map(|(key, item)| (key.clone(), self.collect(item, below(key))));
                Json::Object(items.collect())
            }
            Json::Object(fields) => {
                for dim in fields.get("roots").and_then(Json::as_array).into_iter().flatten() {
                    self.declare(dim);
                }
                self.declare(fields.get("root").unwrap_or(json));
                json.clone()
            }
            other => other.clone(),
        }
    }

    fn declare(&mut self, dim: &Json) {
        if let (Some(name), Json::Object(fields)) = (dim.get("dim").and_then(Json::as_str), dim)
            && !self.dims.iter().any(|(known, _)| known == name)
        {
            self.dims.push((name.to_owned(), range(fields)));
        }
    }

    /// A value that begins so many characters into its line, `level` brackets deep.
    fn value(&self, json: &Json, containers: Option<&Containers>, level: usize, column: usize) -> String {
        let flat = self.flat(json, containers);
        if level > 0 && column + flat.len() <= WIDTH {
            return flat;
        }
        let Some(Items { open, close, items }) = Items::of(json, containers) else { return flat };
        let indent = 4 * (level + 1);
        let mut text = format!("{open}\n");
        for (key, item, inner) in items {
            let value = self.value(item, inner, level + 1, indent + key.len() + 1);
            let _ = writeln!(text, "{:indent$}{key}{value},", "");
        }
        let _ = write!(text, "{:1$}{close}", "", 4 * level);
        text
    }

    /// A value on one line.
    fn flat(&self, json: &Json, containers: Option<&Containers>) -> String {
        if let Some(Items { open, close, items }) = Items::of(json, containers) {
            let single = open == "(" && items.len() == 1;
            let items = items.into_iter().map(|(key, item, inner)| key + &self.flat(item, inner));
            let items = items.collect::<Vec<_>>().join(", ");
            return format!("{open}{items}{}{close}", if single { "," } else { "" });
        }
        match json {
            Json::Null => "None".to_owned(),
            Json::String(word) => match word.strip_prefix("_DimHint.").unwrap_or(word) {
                hint @ ("AUTO" | "DYNAMIC" | "STATIC") => format!("Dim.{hint}"),
                other => python_string(other),
            },
            Json::Array(_) => match containers.map(Containers::kind) {
                Some(Kind::Tuple) => "()".to_owned(),
                _ => "[]".to_owned(),
            },
            Json::Object(fields) => entry(fields).unwrap_or_else(|| "{}".to_owned()),
            other => other.to_string(),
        }
    }
}

/// A container: its brackets, and what stands between them: the text of a key, the value, and the containers in it.
struct Items<'j, 't> {
    open: String,
    close: &'static str,
    items: Vec<(String, &'j Json, Option<&'t Containers>)>,
}

impl<'j, 't> Items<'j, 't> {
    /// Nothing for what is empty or no container.
    fn of(json: &'j Json, containers: Option<&'t Containers>) -> Option<Items<'j, 't>> {
        let below = |key: &str| containers.and_then(|containers| containers.below(key));
        let kind = containers.map(Containers::kind).unwrap_or(&Kind::Plain);
        let items: Vec<(&str, &Json, Option<&Containers>)> = match (json, kind) {
            (Json::Array(items), Kind::Named { fields: names, .. }) if items.len() == names.len() => {
                names.iter().zip(items).map(|(name, item)| (&**name, item, below(name))).collect()
            }
            (Json::Array(items), _) if !items.is_empty() => {
                items.iter().enumerate().map(|(i, item)| ("", item, below(&i.to_string()))).collect()
            }
            (Json::Object(fields), Kind::Parts(names))
                if names.iter().any(|name| fields.contains_key(&**name)) =>
            {
                let item = |name: &str| fields.get(name).unwrap_or(&Json::Null);
                names.iter().map(|name| ("", item(name), below(name))).collect()
            }
            (Json::Object(fields), _) if entry(fields).is_none() && !fields.is_empty() => {
                fields.iter().map(|(key, item)| (key.as_str(), item, below(key))).collect()
            }
            _ => return None,
        };
        let is_list = json.is_array() || matches!(kind, Kind::Parts(_));
        let (open, close) = match kind {
            Kind::Tuple if is_list => ("(".to_owned(), ")"),
            Kind::Named { name, .. } => (format!("{name}("), ")"),
            _ if is_list => ("[".to_owned(), "]"),
            _ => ("{".to_owned(), "}"),
        };
        let key = |key: &str| match kind {
            _ if key.is_empty() => String::new(),
            Kind::Named { .. } => format!("{key}="),
            Kind::Parts(_) => String::new(),
            _ => format!("{}: ", key_text(key)),
        };
        let items = items.into_iter().map(|(name, item, inner)| (key(name), item, inner));
        Some(Items { open, close, items: items.collect() })
    }
}

/// The text of a dimension, a derived one, or a hint with a range.
fn entry(fields: &Map<String, Json>) -> Option<String> {
    let text = |key: &str| fields.get(key).and_then(Json::as_str);
    if let Some(name) = text("dim") {
        return Some(variable(name));
    }
    if let (Some(derived), Some(root)) = (text("derived"), fields.get("root")) {
        let name = root.get("dim").and_then(Json::as_str).unwrap_or_default();
        return Some(renamed(derived, name, &variable(name)));
    }
    if let (Some(derived), Some(roots)) = (text("derived"), fields.get("roots").and_then(Json::as_array)) {
        let names = roots.iter().filter_map(|root| root.get("dim")?.as_str());
        return Some(names.fold(derived.to_owned(), |text, name| renamed(&text, name, &variable(name))));
    }
    let hint = text("hint")?;
    let range = range(fields);
    let hint = hint.strip_prefix("_DimHint.").unwrap_or(hint);
    Some(match range.strip_prefix(", ") {
        Some(range) => format!("Dim.{hint}({range})"),
        None => format!("Dim.{hint}"),
    })
}

/// The expression with one name replaced.
fn renamed(text: &str, from: &str, to: &str) -> String {
    if from == to {
        return text.to_owned();
    }
    let word = |c: char| c == '_' || c.is_alphanumeric();
    let mut rest = text;
    let mut out = String::new();
    while let Some(start) = rest.find(word) {
        let length = rest[start..].find(|c| !word(c)).unwrap_or(rest.len() - start);
        let name = &rest[start..start + length];
        out.push_str(&rest[..start]);
        out.push_str(if name == from { to } else { name });
        rest = &rest[start + length..];
    }
    out + rest
}

/// A key: the number of a dimension, or a name.
fn key_text(key: &str) -> String {
    let digits = !key.is_empty() && key.bytes().all(|b| b.is_ascii_digit());
    if digits && (key == "0" || !key.starts_with('0')) { key.to_owned() } else { python_string(key) }
}
