//! Changing named dimensions of a spec, and naming dimensions that it leaves to the program.
use super::bind::bind;
use super::dim::{Entry, sum_of};
use super::locate::{entry_of_dim, entry_of_input, places};
use super::parse::Spec;
use super::torch::text::linear;
use super::torch::{Refused, refused};
use super::{Assumptions, Contract};
use serde_json::{Map, Value as Json, json};
use sizewise_expr::{Expr, Symbol};

/// Named dimensions have a size of at least this: torch.export makes 0 and 1 static.
const LEAST: i64 = 2;

/// How often dimensions are left to torch.
const MAX_ROUNDS: usize = 4;

/// A dimension that got a name.
#[derive(Clone, Debug)]
pub struct NamedPlace {
    /// Where it stands: `x.shape[0]`.
    pub path: String,
    /// Its name.
    pub name: String,
    /// The symbol that it stands for.
    pub symbol: Symbol,
    /// The least size.
    pub min: i64,
    /// The greatest size, if there is one.
    pub max: Option<i64>,
}

/// A dimension that a spec computes from a named one.
#[derive(Clone, Debug)]
pub struct Computed {
    /// Where it stands: `x.shape[0]`.
    pub path: String,
    /// A name for it, which the spec does not have.
    pub name: String,
    /// What the spec says: `2*root + 1`.
    pub expression: String,
    /// The named dimension.
    pub root: String,
    /// Its factor.
    pub factor: i64,
    /// What is added.
    pub offset: i64,
}

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

pub(super) fn dim_json(name: &str, min: i64, max: Option<i64>) -> Json {
    json!({"dim": name, "min": min, "max": max})
}

/// The entry `factor * name + offset`, and as people write it.
pub(super) fn linear_entry(name: &str, dim: Json, factor: i64, offset: i64) -> (Json, String) {
    match (factor, offset) {
        (1, 0) => (dim, name.to_owned()),
        _ => {
            let text = linear(name, factor, offset);
            (json!({"derived": text, "root": dim}), text)
        }
    }
}

impl Change {
    /// The change in a form that torch.export takes: a `Dim` has more than one size, and more than 0 and 1, which torch
    /// makes static.
    #[must_use]
    pub fn for_torch(self) -> Change {
        let scaled = |size: i64, factor: i64, offset: i64| size.checked_mul(factor)?.checked_add(offset);
        match self {
            Change::Range { min, max: Some(max) } if min == max => Change::Size(min),
            Change::Range { min, max: Some(max) } if max < LEAST => Change::Auto { min, max: Some(max) },
            Change::Linear { factor, offset, min, max: Some(max), .. } if min == max || max < LEAST => {
                match (scaled(min, factor, offset), scaled(max, factor, offset)) {
                    (Some(min), Some(max)) if min == max => Change::Size(min),
                    (Some(min), max @ Some(_)) => Change::Auto { min, max },
                    _ => self,
                }
            }
            other => other,
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
            Change::Auto { min, max } => {
                let scaled = |size: i64| factor.checked_mul(size)?.checked_add(offset);
                Change::Auto {
                    min: scaled(*min)?.max(0),
                    max: max.map_or(Some(None), |max| scaled(max).map(Some))?,
                }
            }
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
    /// of them; and each of these.
    pub fn with_named(
        &self,
        contract: &Contract,
        assumptions: &Assumptions,
        symbols: &[Symbol],
    ) -> (Spec, Vec<NamedPlace>) {
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
                let path = format!("{}.shape[{i}]", sizes.path);
                placed.push(NamedPlace { path, name, symbol, min, max });
            }
        }
        (named, placed)
    }

    /// The dimensions that the spec computes from others; none if it does not fit the program.
    pub fn computed(&self, contract: &Contract) -> Vec<Computed> {
        let mut taken = Map::new();
        collect_dims(&self.tree, &mut taken);
        let mut computed = Vec::new();
        for place in places(contract, self).unwrap_or_default() {
            let Entry::Derived { expression, root } = place.entry else { continue };
            let Some((factor, offset)) = coefficients(&expression, &root.name) else { continue };
            let (input, dim) = place.path.rsplit_once(".shape[").unwrap_or((&place.path, "0]"));
            let mut name = dimension_name(input, dim.trim_end_matches(']').parse().unwrap_or(0));
            while taken.contains_key(&name) {
                name.push('_');
            }
            taken.insert(name.clone(), Json::Null);
            computed.push(Computed { path: place.path, name, expression, root: root.name, factor, offset });
        }
        computed
    }

    /// The sizes that the spec leaves to the program: where they stand, and what the program records.
    pub(crate) fn inferred(&self, contract: &Contract) -> Vec<(String, Expr)> {
        let places = places(contract, self).unwrap_or_default().into_iter();
        let left = places.filter(|place| matches!(place.entry, Entry::Inferred { .. }));
        left.map(|place| (place.path, place.recorded)).collect()
    }

    /// The spec with those named dimensions left to torch.export that it refuses; `None` where it refuses none.
    pub(crate) fn left_to_torch(&self, contract: &Contract) -> Option<Spec> {
        let mut spec = self.inlined();
        let mut is_changed = false;
        // What is left to torch may be what another size is computed from.
        for _ in 0..MAX_ROUNDS {
            let Ok(mut assumptions) = bind(contract, &spec) else { break };
            let refused = refused(&mut assumptions, contract, &spec);
            if refused.is_empty() {
                break;
            }
            is_changed = true;
            for Refused { name, min, max, .. } in refused {
                spec = spec.with_change(&name, &Change::Auto { min, max });
            }
        }
        is_changed.then_some(spec)
    }

    /// The named dimensions that are sizes by themselves.
    pub fn sizes(&self, contract: &Contract) -> Vec<String> {
        let named = places(contract, self).unwrap_or_default().into_iter();
        named
            .filter_map(|place| if let Entry::Dim(dim) = place.entry { Some(dim.name) } else { None })
            .collect()
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

    /// The spec in the form that torch.export takes: no dimension of one size or of 0 and 1, none computed to less than 0.
    #[must_use]
    pub fn for_torch(&self) -> Spec {
        let mut spec = self.inlined();
        let mut dims = Map::new();
        collect_dims(&spec.tree, &mut dims);
        for (name, fields) in dims {
            let end = |key: &str| fields.get(key).and_then(Json::as_i64);
            let (given, max) = (end("min").unwrap_or(0), end("max"));
            let min = least_root(&spec.tree, &name, given);
            let change = Change::Range { min, max }.for_torch();
            if change != (Change::Range { min: given, max }) {
                spec = spec.with_change(&name, &change);
            }
        }
        spec
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

/// The least size of a dimension from which no other is computed to be less than 0.
fn least_root(json: &Json, name: &str, least: i64) -> i64 {
    match json {
        Json::Array(items) => items.iter().fold(least, |least, item| least_root(item, name, least)),
        Json::Object(fields) if fields.contains_key("derived") => {
            let is_root =
                fields.get("root").and_then(|root| root.get("dim")).and_then(Json::as_str) == Some(name);
            let expression = fields.get("derived").and_then(Json::as_str).filter(|_| is_root);
            match expression.and_then(|text| coefficients(text, name)) {
                Some((factor, offset)) if factor > 0 && offset < 0 => {
                    least.max(offset.saturating_neg().saturating_add(factor - 1) / factor)
                }
                _ => least,
            }
        }
        Json::Object(fields) => fields.values().fold(least, |least, item| least_root(item, name, least)),
        _ => least,
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

/// `a` and `b` where an expression over one name is `a * name + b`.
fn coefficients(expression: &str, name: &str) -> Option<(i64, i64)> {
    let (terms, offset) = sum_of(expression, &[name]).ok()?;
    Some((terms.first()?.1.to_i64()?, offset.to_i64()?))
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
            } else if let Some(roots) = fields.get_mut("roots").and_then(Json::as_array_mut) {
                let root = roots.iter_mut().find(|root| root["dim"] == name);
                match (root, change) {
                    (None, _) => {}
                    (Some(root), Change::Range { min, max }) => *root = dim_json(name, *min, *max),
                    // A sum is left to the model where what it adds up changes otherwise.
                    (Some(_), _) => *json = Json::Null,
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
    fn changes_as_specs() {
        let text = br#"{
            "x": [{"dim": "b", "min": 2, "max": 64}, {"dim": "n"}],
            "y": [{"derived": "2*b", "root": {"dim": "b", "min": 2, "max": 64}}]
        }"#;
        let spec = Spec::parse(text).expect("a spec");
        for (change, x0, root) in [
            (
                Change::Range { min: 4, max: Some(8) },
                json!({"dim": "b", "min": 4, "max": 8}),
                json!({"derived": "2*b", "root": {"dim": "b", "min": 4, "max": 8}}),
            ),
            (
                Change::Linear { root: "_b".into(), factor: 8, offset: 3, min: 1, max: None },
                json!({"derived": "8*_b + 3", "root": {"dim": "_b", "min": 1, "max": null}}),
                json!({"derived": "16*_b + 6", "root": {"dim": "_b", "min": 1, "max": null}}),
            ),
            (Change::Size(6), json!(6), json!(12)),
            (Change::Auto { min: 0, max: None }, json!("AUTO"), json!("AUTO")),
            (
                Change::Auto { min: 2, max: Some(64) },
                json!({"hint": "AUTO", "min": 2, "max": 64}),
                json!({"hint": "AUTO", "min": 4, "max": 128}),
            ),
            (
                Change::Derived { root: "n".into(), factor: 2, offset: -1 },
                json!({"derived": "2*n - 1", "root": {"dim": "n"}}),
                json!({"derived": "4*n - 2", "root": {"dim": "n"}}),
            ),
        ] {
            let changed = spec.with_change("b", &change).to_json();
            assert_eq!(changed["x"][0], x0, "{change:?}");
            assert_eq!(changed["y"][0], root, "{change:?}");
        }
    }

    #[test]
    fn sums_keep_other_ranges_and_are_left_to_the_model_where_a_root_becomes_something_else() {
        let roots = |max: i64| json!([{"dim": "b", "min": 0, "max": max}, {"dim": "n"}]);
        let text = json!({"x": [{"derived": "b + n", "roots": roots(64)}]}).to_string();
        let spec = Spec::parse(text.as_bytes()).expect("a spec");
        for (name, change, x) in [
            ("b", Change::Range { min: 0, max: Some(8) }, json!({"derived": "b + n", "roots": roots(8)})),
            ("b", Change::Size(6), json!(null)),
            ("m", Change::Size(6), json!({"derived": "b + n", "roots": roots(64)})),
        ] {
            assert_eq!(spec.with_change(name, &change).to_json()["x"][0], x, "{name}: {change:?}");
        }
    }
}
