//! Keys of dictionaries as Python writes them.

use std::fmt;

use super::pytree::TreeKey;
use sizewise_expr::escape::python_string;

impl fmt::Display for TreeKey {
    /// As Python writes it: `'k'`, `3`, `True`, `(1, 'a')`, `Color.RED`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TreeKey::Int(key) => write!(f, "{key}"),
            TreeKey::Str(key) => f.write_str(&python_string(key)),
            TreeKey::Other(text) => match serde_json::from_str(text) {
                Ok(key) => f.write_str(&python_key(&key)),
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

/// A key as Python writes it; tuples are lists in JSON, members of enumerations objects.
fn python_key(key: &serde_json::Value) -> String {
    use serde_json::Value;
    match key {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => python_string(text),
        Value::Array(items) => match items.as_slice() {
            [only] => format!("({},)", python_key(only)),
            items => format!("({})", items.iter().map(python_key).collect::<Vec<_>>().join(", ")),
        },
        Value::Object(fields) => {
            let text = |field: &str| fields.get(field).and_then(Value::as_str);
            match (text("fqn").map(|fqn| fqn.rsplit([':', '.']).next().unwrap_or(fqn)), text("name")) {
                (Some(class), Some(name)) => format!("{class}.{name}"),
                _ => key.to_string(),
            }
        }
    }
}
