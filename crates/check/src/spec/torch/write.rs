//! Writing a spec in the form of Python.
use super::containers::Tuples;
use super::text::variable;
use serde_json::{Map, Value as Json};
use sizewise_expr::escape::python_string;
use std::fmt::Write;

/// Lines of entries are at most this long where they are written on one line.
const WIDTH: usize = 100;

/// The text of a spec whose dimensions stand where they are used, with tuples where a program has them.
pub(in crate::spec) fn write(tree: &Json, tuples: &Tuples) -> String {
    let mut writer = Writer::default();
    writer.collect(tree);
    let body = writer.value(tree, Some(tuples), 0, "dynamic_shapes = ".len());
    let mut text = String::from("from torch.export import Dim\n\n");
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
struct Writer {
    /// The named dimensions with their ranges, in the order in which they occur.
    dims: Vec<(String, String)>,
}

impl Writer {
    fn collect(&mut self, json: &Json) {
        match json {
            Json::Array(items) => items.iter().for_each(|item| self.collect(item)),
            Json::Object(fields) => match (fields.get("dim"), fields.get("root")) {
                (Some(Json::String(name)), _) => {
                    if !self.dims.iter().any(|(known, _)| known == name) {
                        self.dims.push((name.clone(), range(fields)));
                    }
                }
                (_, Some(root)) if fields.contains_key("derived") => self.collect(root),
                _ if fields.contains_key("derived") => {
                    fields.get("roots").into_iter().for_each(|roots| self.collect(roots));
                }
                _ => fields.values().for_each(|item| self.collect(item)),
            },
            _ => {}
        }
    }

    /// A value that begins so many characters into its line, `level` brackets deep.
    fn value(&self, json: &Json, tuples: Option<&Tuples>, level: usize, column: usize) -> String {
        let flat = self.flat(json, tuples);
        if level > 0 && column + flat.len() <= WIDTH {
            return flat;
        }
        let Some(([open, close], items)) = Writer::items(json, tuples) else { return flat };
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
    fn flat(&self, json: &Json, tuples: Option<&Tuples>) -> String {
        if let Some(([open, close], items)) = Writer::items(json, tuples) {
            let single = open == '(' && items.len() == 1;
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
            Json::Array(_) => if tuples.is_some_and(Tuples::is_tuple) { "()" } else { "[]" }.to_owned(),
            Json::Object(fields) => entry(fields).unwrap_or_else(|| "{}".to_owned()),
            other => other.to_string(),
        }
    }

    /// The brackets of a container and what stands in it, with keys; nothing for what is empty or no container.
    fn items<'j, 't>(json: &'j Json, tuples: Option<&'t Tuples>) -> Option<Items<'j, 't>> {
        let below = |key: &str| tuples.and_then(|tuples| tuples.below(key));
        match json {
            Json::Array(items) if !items.is_empty() => {
                let items = items.iter().enumerate();
                let items = items.map(|(i, item)| (String::new(), item, below(&i.to_string())));
                let round = tuples.is_some_and(Tuples::is_tuple);
                Some((if round { ['(', ')'] } else { ['[', ']'] }, items.collect()))
            }
            Json::Object(fields) if entry(fields).is_none() && !fields.is_empty() => {
                let items =
                    fields.iter().map(|(key, item)| (format!("{}: ", key_text(key)), item, below(key)));
                Some((['{', '}'], items.collect()))
            }
            _ => None,
        }
    }
}

/// Brackets, and what stands between them: the text of a key, the value, and the tuples in it.
type Items<'j, 't> = ([char; 2], Vec<(String, &'j Json, Option<&'t Tuples>)>);

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
