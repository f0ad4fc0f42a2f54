//! Writing a spec in the form of Python.
use serde_json::{Map, Value as Json};
use sizewise_expr::escape::python_string;
use std::fmt::Write;

/// Words that Python does not take as names, and names that the text needs itself.
const TAKEN: [&str; 38] = [
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "Dim",
    "dynamic_shapes",
    "torch",
];
/// Lines of entries are at most this long where they are written on one line.
const WIDTH: usize = 100;

/// The text of a spec whose dimensions stand where they are used.
pub(in crate::spec) fn write(tree: &Json) -> String {
    let mut writer = Writer::default();
    writer.collect(tree);
    let body = writer.value(tree, 0, "dynamic_shapes = ".len());
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

/// The name of a variable for a dimension.
fn variable(name: &str) -> String {
    if TAKEN.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// `, min=2, max=64`; a missing end is left out, and a least size of 0, which every dimension has.
fn range(fields: &Map<String, Json>) -> String {
    let ends = ["min", "max"].into_iter().filter_map(|end| {
        let value = fields.get(end).filter(|value| !value.is_null())?;
        (end == "max" || value.as_i64() != Some(0)).then(|| format!(", {end}={value}"))
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
                _ => fields.values().for_each(|item| self.collect(item)),
            },
            _ => {}
        }
    }

    /// A value that begins so many characters into its line, `level` brackets deep.
    fn value(&self, json: &Json, level: usize, column: usize) -> String {
        let flat = self.flat(json);
        let (open, close, items): (char, char, Vec<(String, &Json)>) = match json {
            _ if column + flat.len() <= WIDTH && level > 0 => return flat,
            Json::Array(items) if !items.is_empty() => {
                ('[', ']', items.iter().map(|item| (String::new(), item)).collect())
            }
            Json::Object(fields) if entry(fields).is_none() && !fields.is_empty() => {
                ('{', '}', fields.iter().map(|(key, item)| (format!("{}: ", key_text(key)), item)).collect())
            }
            _ => return flat,
        };
        let indent = 4 * (level + 1);
        let mut text = format!("{open}\n");
        for (key, item) in items {
            let value = self.value(item, level + 1, indent + key.len() + 1);
            let _ = writeln!(text, "{:indent$}{key}{value},", "");
        }
        let _ = write!(text, "{:1$}{close}", "", 4 * level);
        text
    }

    /// A value on one line.
    fn flat(&self, json: &Json) -> String {
        match json {
            Json::Null => "None".to_owned(),
            Json::String(word) => match word.strip_prefix("_DimHint.").unwrap_or(word) {
                hint @ ("AUTO" | "DYNAMIC" | "STATIC") => format!("Dim.{hint}"),
                other => python_string(other),
            },
            Json::Array(items) => {
                format!("[{}]", items.iter().map(|item| self.flat(item)).collect::<Vec<_>>().join(", "))
            }
            Json::Object(fields) => match entry(fields) {
                Some(text) => text,
                None => {
                    let items =
                        fields.iter().map(|(key, item)| format!("{}: {}", key_text(key), self.flat(item)));
                    format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
                }
            },
            other => other.to_string(),
        }
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
