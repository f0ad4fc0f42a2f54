//! Changing named dimensions of a spec.
use super::parse::Spec;
use serde_json::{Map, Value as Json, json};
use std::fmt::Write;

/// What a named dimension is to become.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The same dimension in another range.
    Range {
        /// The least size.
        min: i64,
        /// The greatest size, if there is one.
        max: Option<i64>,
    },
    /// A multiple of a new dimension, named with an underscore in front, in this range.
    Multiple {
        /// The factor.
        factor: i64,
        /// The new dimension's least size.
        min: i64,
        /// Its greatest size, if there is one.
        max: Option<i64>,
    },
    /// A size computed from another dimension.
    Derived {
        /// The other dimension.
        root: String,
        /// Its factor.
        factor: i64,
        /// What is added.
        offset: i64,
    },
    /// One size.
    Size(i64),
}

/// `Dim('b', min=2, max=8)`; a missing bound is left out.
fn dim_text(name: &str, min: i64, max: Option<i64>) -> String {
    let mut text = format!("Dim('{name}'");
    if min > 0 {
        let _ = write!(text, ", min={min}");
    }
    if let Some(max) = max {
        let _ = write!(text, ", max={max}");
    }
    text.push(')');
    text
}

fn linear(root: &str, factor: i64, offset: i64) -> String {
    let mut text = if factor == 1 { root.to_string() } else { format!("{factor}*{root}") };
    match offset {
        0 => {}
        o if o > 0 => drop(write!(text, " + {o}")),
        o => drop(write!(text, " - {}", -o)),
    }
    text
}

impl Change {
    /// The change as Python, for `torch.export.Dim`.
    pub fn python(&self, name: &str) -> String {
        match self {
            Change::Range { min, max } => format!("{name} = {}", dim_text(name, *min, *max)),
            Change::Multiple { factor, min, max } => {
                format!("_{name} = {}\n{name} = {factor}*_{name}", dim_text(&format!("_{name}"), *min, *max))
            }
            Change::Derived { root, factor, offset } => {
                format!("{name} = {}", linear(root, *factor, *offset))
            }
            Change::Size(size) => format!("{name} = {size}"),
        }
    }

    /// The entry that takes the place of the named dimension's.
    fn entry(&self, name: &str, roots: &Map<String, Json>) -> Option<Json> {
        let dim = |name: &str, min: i64, max: Option<i64>| json!({"dim": name, "min": min, "max": max});
        Some(match self {
            Change::Range { min, max } => dim(name, *min, *max),
            Change::Multiple { factor, min, max } => {
                let root = format!("_{name}");
                json!({"derived": linear(&root, *factor, 0), "root": dim(&root, *min, *max)})
            }
            Change::Derived { root, factor: 1, offset: 0 } => roots.get(root)?.clone(),
            Change::Derived { root, factor, offset } => {
                json!({"derived": linear(root, *factor, *offset), "root": roots.get(root)?})
            }
            Change::Size(size) => (*size).into(),
        })
    }
}

impl Spec {
    /// The spec with a named dimension changed wherever it stands. Dimensions derived from it keep their root, in the new range if
    /// the change is one.
    #[must_use]
    pub fn with_change(&self, name: &str, change: &Change) -> Spec {
        let mut roots = Map::new();
        collect_dims(&self.tree, &mut roots);
        let mut changed = self.clone();
        if let Some(entry) = change.entry(name, &roots) {
            replace(&mut changed.tree, name, &entry);
        }
        changed
    }

    /// The spec as JSON.
    pub fn to_json(&self) -> Json {
        self.tree.clone()
    }
}

/// The objects of named dimensions, by name. serde_json bounds how deep what it read nests.
fn collect_dims(json: &Json, dims: &mut Map<String, Json>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| collect_dims(item, dims)),
        Json::Object(fields) => {
            if let Some(Json::String(name)) = fields.get("dim") {
                dims.insert(name.clone(), json.clone());
            }
            fields.values().for_each(|item| collect_dims(item, dims));
        }
        _ => {}
    }
}

fn replace(json: &mut Json, name: &str, entry: &Json) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, name, entry)),
        Json::Object(fields) => {
            if fields.get("dim").and_then(Json::as_str) == Some(name) {
                *json = entry.clone();
            } else if let Some(root) = fields.get_mut("root") {
                // A root stays a named dimension: only its range can change.
                if root.get("dim").and_then(Json::as_str) == Some(name) && entry.get("dim").is_some() {
                    *root = entry.clone();
                }
            } else {
                fields.values_mut().for_each(|item| replace(item, name, entry));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_as_python_and_as_specs() {
        let spec = Spec::parse(br#"{"x": [{"dim": "b", "min": 2, "max": 64}, {"dim": "n"}], "y": [{"derived": "2*b", "root": {"dim": "b", "min": 2, "max": 64}}]}"#)
            .expect("a spec");
        for (change, python, x0, root) in [
            (
                Change::Range { min: 4, max: Some(8) },
                "b = Dim('b', min=4, max=8)",
                json!({"dim": "b", "min": 4, "max": 8}),
                json!({"dim": "b", "min": 4, "max": 8}),
            ),
            (
                Change::Multiple { factor: 8, min: 1, max: None },
                "_b = Dim('_b', min=1)\nb = 8*_b",
                json!({"derived": "8*_b", "root": {"dim": "_b", "min": 1, "max": null}}),
                json!({"dim": "b", "min": 2, "max": 64}),
            ),
            (Change::Size(6), "b = 6", json!(6), json!({"dim": "b", "min": 2, "max": 64})),
            (
                Change::Derived { root: "n".into(), factor: 2, offset: -1 },
                "b = 2*n - 1",
                json!({"derived": "2*n - 1", "root": {"dim": "n"}}),
                json!({"dim": "b", "min": 2, "max": 64}),
            ),
        ] {
            assert_eq!(change.python("b"), python);
            let changed = spec.with_change("b", &change).to_json();
            assert_eq!(changed["x"][0], x0, "{python}");
            assert_eq!(changed["y"][0]["root"], root, "{python}");
        }
    }
}
