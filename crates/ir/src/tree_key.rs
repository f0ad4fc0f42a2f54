//! Keys of dictionaries as Python writes them.

use std::fmt;

use super::pytree::TreeKey;
use serde_json::Value;
use serde_json::value::RawValue;
use sizewise_expr::escape::python_string;

impl fmt::Display for TreeKey {
    /// As Python writes it: `'k'`, `3`, `True`, `(1, 'a')`, `Color.RED`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeKey::Int(key) => write!(f, "{key}"),
            TreeKey::Str(key) => f.write_str(&python_string(key)),
            TreeKey::Other(text) => match serde_json::from_str::<Value>(text) {
                Ok(key) => f.write_str(&python_key(text, &key)),
                // What JSON has no word for, Python's reader and writer spell as JavaScript does.
                Err(_) => f.write_str(match &**text {
                    "Infinity" => "inf",
                    "-Infinity" => "-inf",
                    "NaN" => "nan",
                    other => other,
                }),
            },
        }
    }
}

/// A key as Python writes it, from its JSON text; tuples are lists in JSON, members of enumerations objects.
fn python_key(text: &str, key: &Value) -> String {
    match key {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        // Integers of Python have any length, those of a `Value` 64 bits.
        Value::Number(_) => text.trim().to_owned(),
        Value::String(text) => python_string(text),
        Value::Array(items) => {
            // Never the default: a list was read from this text.
            let texts: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            let items: Vec<String> =
                texts.iter().zip(items).map(|(text, item)| python_key(text.get(), item)).collect();
            match items.as_slice() {
                [only] => format!("({only},)"),
                items => format!("({})", items.join(", ")),
            }
        }
        Value::Object(fields) => {
            let field = |name: &str| fields.get(name).and_then(Value::as_str);
            match (field("fqn").map(|fqn| fqn.rsplit([':', '.']).next().unwrap_or(fqn)), field("name")) {
                (Some(class), Some(name)) => format!("{class}.{name}"),
                _ => text.to_owned(),
            }
        }
    }
}
