//! Changing named dimensions of a spec, and naming dimensions that it leaves to the program.
use super::dim::Entry;
use super::locate::{entry_of_dim, entry_of_input};
use super::parse::Spec;
use super::{Assumptions, Contract};
use serde_json::{Map, Value as Json, json};
use sizewise_expr::text::read;
use sizewise_expr::{Pool, Symbol};
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
    /// `factor * root + offset` for a new dimension in this range.
    Linear {
        /// The new dimension's name.
        root: String,
        /// The factor.
        factor: i64,
        /// What is added.
        offset: i64,
        /// The new dimension's least size.
        min: i64,
        /// Its greatest size, if there is one.
        max: Option<i64>,
    },
    /// A size computed from another dimension of the spec.
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
    /// What the program makes of it, within this range.
    Auto {
        /// The least size.
        min: i64,
        /// The greatest size, if there is one.
        max: Option<i64>,
    },
}

/// `Dim('b', min=2, max=8)`; a missing bound is left out.
fn dim_text(name: &str, min: i64, max: Option<i64>) -> String {
    format!(
        "Dim('{name}'{})",
        bounds_text(min, max).into_iter().map(|b| format!(", {b}")).collect::<String>()
    )
}

/// `Dim.AUTO(max=8)`; a missing bound is left out.
fn auto_text(min: i64, max: Option<i64>) -> String {
    match bounds_text(min, max) {
        bounds if bounds.is_empty() => "Dim.AUTO".to_string(),
        bounds => format!("Dim.AUTO({})", bounds.join(", ")),
    }
}

fn bounds_text(min: i64, max: Option<i64>) -> Vec<String> {
    let min = Some(min).filter(|&min| min > 0).map(|min| format!("min={min}"));
    min.into_iter().chain(max.map(|max| format!("max={max}"))).collect()
}

fn dim_json(name: &str, min: i64, max: Option<i64>) -> Json {
    json!({"dim": name, "min": min, "max": max})
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
            Change::Linear { root, factor, offset, min, max } => {
                format!(
                    "{root} = {}\n{name} = {}",
                    dim_text(root, *min, *max),
                    linear(root, *factor, *offset)
                )
            }
            Change::Derived { root, factor, offset } => {
                format!("{name} = {}", linear(root, *factor, *offset))
            }
            Change::Size(size) => format!("{name} = {size}"),
            Change::Auto { min, max } => format!("{name} = {}", auto_text(*min, *max)),
        }
    }

    /// The change of a dimension that is `factor * root + offset` when `self` is the change of its root.
    #[must_use]
    pub fn composed(&self, root_name: &str, factor: i64, offset: i64) -> Option<Change> {
        Some(match self {
            Change::Range { .. } => Change::Derived { root: root_name.to_string(), factor, offset },
            Change::Linear { root, factor: f, offset: o, min, max } => Change::Linear {
                root: root.clone(),
                factor: factor.checked_mul(*f)?,
                offset: factor.checked_mul(*o)?.checked_add(offset)?,
                min: *min,
                max: *max,
            },
            Change::Derived { root, factor: f, offset: o } => Change::Derived {
                root: root.clone(),
                factor: factor.checked_mul(*f)?,
                offset: factor.checked_mul(*o)?.checked_add(offset)?,
            },
            Change::Size(size) => Change::Size(factor.checked_mul(*size)?.checked_add(offset)?),
            Change::Auto { .. } => Change::Auto { min: 0, max: None },
        })
    }

    /// The entry that takes the place of the named dimension's.
    fn entry(&self, name: &str, roots: &Map<String, Json>) -> Option<Json> {
        Some(match self {
            Change::Range { min, max } => dim_json(name, *min, *max),
            Change::Linear { root, factor: 1, offset: 0, min, max } => dim_json(root, *min, *max),
            Change::Linear { root, factor, offset, min, max } => {
                json!({"derived": linear(root, *factor, *offset), "root": dim_json(root, *min, *max)})
            }
            Change::Derived { root, factor: 1, offset: 0 } => roots.get(root)?.clone(),
            Change::Derived { root, factor, offset } => {
                json!({"derived": linear(root, *factor, *offset), "root": roots.get(root)?})
            }
            Change::Size(size) => (*size).into(),
            Change::Auto { min: ..=0, max: None } => "AUTO".into(),
            Change::Auto { min, max } => json!({"hint": "AUTO", "min": min, "max": max}),
        })
    }
}

impl Spec {
    /// The spec with a named dimension changed wherever it stands, as the root of derived ones too.
    #[must_use]
    pub fn with_change(&self, name: &str, change: &Change) -> Spec {
        let mut roots = Map::new();
        collect_dims(&self.tree, &mut roots);
        let mut changed = self.clone();
        replace(&mut changed.tree, name, change, &roots);
        changed
    }

    /// The spec with the inferred dimensions that these symbols stand for named, in the range that is assumed
    /// of them; and of each, where it stands, its name, its symbol and its Python definition.
    pub fn with_named(
        &self,
        contract: &Contract,
        assumptions: &Assumptions,
        symbols: &[Symbol],
    ) -> (Spec, Vec<(String, String, Symbol, String)>) {
        let mut named = self.clone();
        let mut env = assumptions.env.clone();
        let mut names: Vec<(Symbol, String)> = Vec::new();
        let mut placed = Vec::new();
        for (input, sizes) in contract.inputs.iter().zip(&assumptions.inputs) {
            for (i, &size) in sizes.allowed.iter().flatten().enumerate() {
                let Some(symbol) = env.pool.as_symbol(size).filter(|s| symbols.contains(s)) else { continue };
                let Some(entry) = entry_of_dim(&mut named, contract, input, i) else { continue };
                if !matches!(self.entry(entry, ""), Ok(Entry::Inferred { .. })) {
                    continue;
                }
                let name = match names.iter().find(|(s, _)| *s == symbol) {
                    Some((_, name)) => name.clone(),
                    None => {
                        let name = dimension_name(&sizes.path, i);
                        names.push((symbol, name.clone()));
                        name
                    }
                };
                let (min, max) = env.bounds(size);
                let (min, max) = (min.and_then(|v| v.to_i64()).unwrap_or(0), max.and_then(|v| v.to_i64()));
                *entry = dim_json(&name, min, max);
                let definition = dim_text(&name, min, max);
                placed.push((format!("{}.shape[{i}]", sizes.path), name, symbol, definition));
            }
        }
        (named, placed)
    }

    /// The spec with an input, by its place, declared static.
    #[must_use]
    pub fn with_static(&self, contract: &Contract, input: usize) -> Spec {
        let mut changed = self.clone();
        if let Some(input) = contract.inputs.get(input)
            && let Some(entry) = entry_of_input(&mut changed, contract, input)
        {
            *entry = Json::Null;
        }
        changed
    }

    /// The spec as JSON.
    pub fn to_json(&self) -> Json {
        self.shapes.as_ref().map_or_else(|| self.tree.clone(), |shapes| shapes.to_json())
    }
}

/// A name for a dimension: `x_0` for `x.shape[0]`, `xs_1_0` for `xs[1].shape[0]`.
pub fn dimension_name(path: &str, dim: usize) -> String {
    let mut name = String::new();
    for c in path.chars() {
        match c {
            c if c.is_alphanumeric() => name.push(c),
            _ if name.is_empty() || name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    if name.starts_with(|c: char| !c.is_alphabetic()) {
        name.insert(0, 'd');
    }
    format!("{}_{dim}", name.trim_end_matches('_'))
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

/// `a` and `b` where an expression over one name is `a * name + b`.
fn coefficients(expression: &str, name: &str) -> Option<(i64, i64)> {
    let mut pool = Pool::new();
    let e = read::closed(&mut pool, expression).ok()?.expr;
    let poly = pool.poly(e);
    let [(monomial, a)] = poly.terms.as_slice() else { return None };
    let symbol = pool.as_symbol(*monomial).filter(|&s| pool.symbol_name(s) == name)?;
    let _ = symbol;
    Some((a.to_i64()?, poly.constant.to_i64()?))
}

fn replace(json: &mut Json, name: &str, change: &Change, roots: &Map<String, Json>) {
    match json {
        Json::Array(items) => items.iter_mut().for_each(|item| replace(item, name, change, roots)),
        Json::Object(fields) => {
            let root = fields.get("root").and_then(|root| root.get("dim")).and_then(Json::as_str);
            if fields.get("dim").and_then(Json::as_str) == Some(name) {
                if let Some(entry) = change.entry(name, roots) {
                    *json = entry;
                }
            } else if root == Some(name) {
                let expression = fields.get("derived").and_then(Json::as_str).unwrap_or_default();
                let Some((factor, offset)) = coefficients(expression, name) else { return };
                let entry = match (change, change.composed(name, factor, offset)) {
                    (Change::Range { min, max }, _) => {
                        Some(json!({"derived": expression, "root": dim_json(name, *min, *max)}))
                    }
                    (_, Some(composed)) => composed.entry(name, roots),
                    _ => None,
                };
                if let Some(entry) = entry {
                    *json = entry;
                }
            } else if !fields.contains_key("dim") && !fields.contains_key("derived") {
                fields.values_mut().for_each(|item| replace(item, name, change, roots));
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
        let text = br#"{
            "x": [{"dim": "b", "min": 2, "max": 64}, {"dim": "n"}],
            "y": [{"derived": "2*b", "root": {"dim": "b", "min": 2, "max": 64}}]
        }"#;
        let spec = Spec::parse(text).expect("a spec");
        for (change, python, x0, root) in [
            (
                Change::Range { min: 4, max: Some(8) },
                "b = Dim('b', min=4, max=8)",
                json!({"dim": "b", "min": 4, "max": 8}),
                json!({"derived": "2*b", "root": {"dim": "b", "min": 4, "max": 8}}),
            ),
            (
                Change::Linear { root: "_b".into(), factor: 8, offset: 3, min: 1, max: None },
                "_b = Dim('_b', min=1)\nb = 8*_b + 3",
                json!({"derived": "8*_b + 3", "root": {"dim": "_b", "min": 1, "max": null}}),
                json!({"derived": "16*_b + 6", "root": {"dim": "_b", "min": 1, "max": null}}),
            ),
            (Change::Size(6), "b = 6", json!(6), json!(12)),
            (Change::Auto { min: 0, max: None }, "b = Dim.AUTO", json!("AUTO"), json!("AUTO")),
            (
                Change::Auto { min: 2, max: Some(64) },
                "b = Dim.AUTO(min=2, max=64)",
                json!({"hint": "AUTO", "min": 2, "max": 64}),
                json!("AUTO"),
            ),
            (
                Change::Derived { root: "n".into(), factor: 2, offset: -1 },
                "b = 2*n - 1",
                json!({"derived": "2*n - 1", "root": {"dim": "n"}}),
                json!({"derived": "4*n - 2", "root": {"dim": "n"}}),
            ),
        ] {
            assert_eq!(change.python("b"), python);
            let changed = spec.with_change("b", &change).to_json();
            assert_eq!(changed["x"][0], x0, "{python}");
            assert_eq!(changed["y"][0], root, "{python}");
        }
    }
}
