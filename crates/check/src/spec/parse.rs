//! Reading specs from JSON.
use super::dim::{DimSpec, Entry, Hint};
use super::error::SpecError;
use super::file::{PROGRAM_NOT_SPEC, has_graph, json, spec_text};
use super::python;
use super::shapes::{self, Shapes};
use super::torch::{self, Containers};
use super::width;
use serde_json::{Map, Value as Json};
use sizewise_expr::Int;
use sizewise_ir::keys;
use std::sync::Arc;

/// A spec as written: a tree that mirrors the inputs, read entry by entry when it is bound to a program.
#[derive(Clone, Debug)]
pub struct Spec {
    pub(super) tree: Json,
    /// Separately declared named dimensions, in the form that torch writes.
    dims: Map<String, Json>,
    /// Whether the spec has the form that torch writes.
    torch_form: bool,
    /// Additional example inputs, which take the place of a tree.
    pub(super) examples: Option<Vec<Json>>,
    /// What a ShapesSpec says besides the tree, whose entries are expressions then.
    pub(super) shapes: Option<Arc<Shapes>>,
}

/// Containers nested deeper than this are refused.
const MAX_DEPTH: usize = 64;

impl Spec {
    /// The wider entry of this spec and another one at each place; `None` where all are those of this spec.
    ///
    /// # Errors
    /// When the entries do not make a spec together.
    pub fn at_least_as_wide_as(&self, least: &Spec) -> Result<Option<Spec>, SpecError> {
        let (wider, is_own) = width::at_least(&self.to_json(), &least.to_json());
        if is_own { Ok(None) } else { Spec::parse(wider.to_string().as_bytes()).map(Some) }
    }

    /// Reads a spec, in JSON or in the form of Python: a list (one entry an argument) or an object by parameter name, torch's own form
    /// `{"dynamic_shapes": …, "dims": …}`, or additional example inputs `{"additional_inputs": [{"x": [3,
    /// 8]}, …]}` (see [`Spec::of_examples`]).
    ///
    /// # Errors
    /// When the text is neither JSON nor such Python, or neither a list nor an object.
    pub fn parse(text: &[u8]) -> Result<Spec, SpecError> {
        let text = spec_text(text)?;
        let tree = match json(text) {
            Ok(Json::Object(fields)) if shapes::is_torch(&fields) => {
                return Shapes::of_torch(&fields).map(Spec::of_shapes);
            }
            Ok(Json::Object(fields)) if shapes::is_own(&fields) => {
                return Shapes::of_own(&fields).map(Spec::of_shapes);
            }
            Ok(tree) => tree,
            Err(error) => {
                let wrong = |other| if python::looks_like_python(text) { other } else { error };
                match python::read(text).map_err(wrong)? {
                    python::PythonSpec::Dims(tree) => tree,
                    python::PythonSpec::Shapes(shapes) => return shapes.checked().map(Spec::of_shapes),
                }
            }
        };
        if has_graph(&tree) {
            return Err(SpecError::new("", PROGRAM_NOT_SPEC));
        }
        if depth(&tree) > MAX_DEPTH {
            return Err(SpecError::new("", format!("nested more than {MAX_DEPTH} deep")));
        }
        match tree {
            Json::Object(mut fields) if is_torch_form(&fields) => {
                only(&fields, TORCH_FIELDS, "")?;
                let dims = match fields.remove("dims") {
                    None | Some(Json::Null) => Map::new(),
                    Some(Json::Object(dims)) => dims,
                    Some(_) => return Err(SpecError::new("dims", "expected an object of named dimensions")),
                };
                let tree = fields.remove("dynamic_shapes").unwrap_or(Json::Null);
                Ok(Spec { tree, dims, torch_form: true, examples: None, shapes: None })
            }
            Json::Object(mut fields) if fields.len() == 1 && fields.contains_key("additional_inputs") => {
                let examples = match fields.remove("additional_inputs") {
                    Some(Json::Array(examples)) if examples.iter().all(|e| e.is_object() || e.is_array()) => {
                        examples
                    }
                    _ => {
                        let message = "expected a list of examples, each with a list of sizes for a tensor: \
                                       [{\"x\": [3, 8]}]";
                        return Err(SpecError::new("additional_inputs", message));
                    }
                };
                let tree = Json::Object(Map::new());
                Ok(Spec { tree, dims: Map::new(), torch_form: false, examples: Some(examples), shapes: None })
            }
            Json::Object(_) | Json::Array(_) => {
                Ok(Spec { tree, dims: Map::new(), torch_form: false, examples: None, shapes: None })
            }
            Json::Null => Ok(Spec { torch_form: true, ..Spec::of_tree(Json::Object(Map::new())) }),
            _ => Err(SpecError::new("", "expected an object by parameter name or a list of entries")),
        }
    }

    /// Whether the spec is a list of example inputs, from which a program's dynamic dimensions follow.
    pub fn is_of_examples(&self) -> bool {
        self.examples.is_some()
    }

    /// The spec as Python: a file with an assignment to `dynamic_shapes`, to paste beside the call of
    /// `torch.export.export`.
    ///
    /// ```
    /// use sizewise_check::spec::Spec;
    ///
    /// let spec = Spec::parse(br#"{"x": [{"dim": "batch", "min": 2, "max": 64}, "AUTO"]}"#).unwrap();
    /// assert_eq!(spec.to_python(), r#"from torch.export import Dim
    ///
    /// batch = Dim('batch', min=2, max=64)
    ///
    /// dynamic_shapes = {
    ///     'x': [batch, Dim.AUTO],
    /// }
    /// "#);
    /// assert_eq!(Spec::parse(spec.to_python().as_bytes()).unwrap().to_python(), spec.to_python());
    /// ```
    pub fn to_python(&self) -> String {
        self.to_python_with(&Containers::default())
    }

    /// As [`Spec::to_python`], with containers where the inputs of a program have them.
    pub fn to_python_with(&self, containers: &Containers) -> String {
        match &self.shapes {
            Some(shapes) => shapes::write(shapes),
            None => torch::write(&self.for_torch().tree, containers),
        }
    }

    /// A spec of entries as [`Spec::to_json`] writes them. What they say is read where the spec is bound.
    pub fn of_tree(tree: Json) -> Spec {
        Spec { tree, dims: Map::new(), torch_form: false, examples: None, shapes: None }
    }

    /// A spec in the language of ShapesSpec.
    pub fn of_shapes(shapes: Shapes) -> Spec {
        Spec { shapes: Some(Arc::new(shapes.clone())), ..Spec::of_tree(shapes.params.to_json()) }
    }

    /// What it says as a ShapesSpec, if it is one.
    pub fn shapes(&self) -> Option<&Shapes> {
        self.shapes.as_deref()
    }

    /// The same spec with separately declared dimensions written where they are used.
    #[must_use]
    pub fn inlined(&self) -> Spec {
        let mut tree = self.tree.clone();
        if !self.dims.is_empty() {
            self.inline(&mut tree);
        }
        Spec { tree, dims: Map::new(), torch_form: false, ..self.clone() }
    }

    fn inline(&self, json: &mut Json) {
        let dim = |d: &DimSpec| {
            let number = |v: &Int| v.to_i64().map_or(Json::Null, Json::from);
            serde_json::json!({"dim": d.name, "min": number(&d.min), "max": d.max.as_ref().map(number)})
        };
        match json {
            Json::String(word) => match self.word(word, "") {
                Ok(Entry::Dim(d)) => *json = dim(&d),
                Ok(Entry::Derived { expression, root }) => {
                    *json = serde_json::json!({"derived": expression, "root": dim(&root)});
                }
                _ => {}
            },
            Json::Array(items) => items.iter_mut().for_each(|item| self.inline(item)),
            Json::Object(fields) if !fields.contains_key("hint") => {
                fields.values_mut().for_each(|item| self.inline(item));
            }
            _ => {}
        }
    }

    /// Reads the entry of one dimension or scalar.
    pub(super) fn entry(&self, json: &Json, path: &str) -> Result<Entry, SpecError> {
        match json {
            Json::String(text) if self.shapes.is_some() => Ok(Entry::Formula(text.clone())),
            Json::Number(number) if self.shapes.is_some() => {
                let size = number.to_string().parse();
                size.map(Entry::Size).map_err(|_| SpecError::new(path, "expected an integer"))
            }
            _ if self.shapes.is_some() && !json.is_null() => Err(SpecError::new(
                path,
                "unexpected leaf spec type: expected a size, an expression or nothing",
            )),
            Json::Null => Ok(Entry::Static),
            Json::Number(n) => {
                let size: Int = n
                    .to_string()
                    .parse()
                    .map_err(|_| SpecError::new(path, format!("expected an integer size, not {n}")))?;
                if size.is_negative() {
                    return Err(SpecError::new(path, format!("a size is at least 0, not {size}")));
                }
                Ok(Entry::Size(size))
            }
            Json::String(word) => self.word(word, path),
            Json::Object(fields) => self.object(fields, path),
            other => Err(SpecError::new(
                path,
                format!(
                    "expected null, an integer, \"AUTO\", \"DYNAMIC\", \"STATIC\" or an object, not {other}"
                ),
            )),
        }
    }

    /// As [`Spec::entry`], where a size whose minimum is not written is at least `least`.
    pub(super) fn entry_at_least(&self, json: &Json, path: &str, least: &Int) -> Result<Entry, SpecError> {
        let mut entry = self.entry(json, path)?;
        let is_written = |root: &str| {
            let fields = match json {
                Json::Object(fields) => match fields.get("roots").and_then(Json::as_array) {
                    Some(roots) => roots.iter().find(|fields| fields["dim"] == root),
                    None => fields.get("root").or(Some(json)),
                },
                _ => self.dims.get(root),
            };
            fields.and_then(|fields| fields.get("min")).is_some_and(|min| !min.is_null())
        };
        if let Entry::Sum { roots, .. } = &mut entry {
            for dim in roots.iter_mut().filter(|dim| !is_written(&dim.name) && dim.min < *least) {
                dim.min = least.clone();
                if dim.max.as_ref().is_some_and(|max| *max < dim.min) {
                    let message =
                        format!("the range of {} is empty: a size is at least {least} here", dim.name);
                    return Err(SpecError::new(path, message));
                }
            }
        }
        let range = match &mut entry {
            Entry::Inferred { min, max, .. } => {
                min.get_or_insert_with(|| least.clone());
                min.as_ref().zip(max.as_ref())
            }
            Entry::Dim(dim) | Entry::Derived { root: dim, .. } => {
                if !is_written(&dim.name) && dim.min < *least {
                    dim.min = least.clone();
                }
                Some(&dim.min).zip(dim.max.as_ref())
            }
            Entry::Static | Entry::Size(_) | Entry::Sum { .. } | Entry::Formula(_) => None,
        };
        match range {
            Some((min, max)) if max < min => {
                let message = format!("the range is empty: a size is at least {min} here, and at most {max}");
                Err(SpecError::new(path, message))
            }
            _ => Ok(entry),
        }
    }

    fn word(&self, word: &str, path: &str) -> Result<Entry, SpecError> {
        let free = |hint| Entry::Inferred { hint, min: None, max: None };
        match word.strip_prefix("_DimHint.").unwrap_or(word) {
            "AUTO" => Ok(free(Hint::Auto)),
            "DYNAMIC" => Ok(free(Hint::Dynamic)),
            "STATIC" => Ok(Entry::Static),
            _ if self.torch_form => self.declared(word, path),
            _ => Err(SpecError::new(
                path,
                format!(
                    "\"{word}\" is none of \"AUTO\", \"DYNAMIC\" and \"STATIC\"; a named dimension is written \
                     {{\"dim\": \"{word}\"}}"
                ),
            )),
        }
    }

    /// A named or derived dimension in the form that torch writes, where ranges are declared separately.
    fn declared(&self, word: &str, path: &str) -> Result<Entry, SpecError> {
        let root = |name: &str| -> Result<Option<DimSpec>, SpecError> {
            match self.dims.get(name) {
                Some(Json::Object(fields)) => {
                    let path = format!("dims.{name}");
                    only(fields, DECLARED_FIELDS, &path)?;
                    dim_spec(name, fields, &path).map(Some)
                }
                Some(_) => {
                    Err(SpecError::new(&format!("dims.{name}"), "expected an object with `min` and `max`"))
                }
                None => Ok(None),
            }
        };
        if let Some(dim) = root(word)? {
            return Ok(Entry::Dim(dim));
        }
        for name in self.dims.keys() {
            if names_in(word).any(|n| n == name)
                && let Some(root) = root(name)?
            {
                return Ok(Entry::Derived { expression: word.to_string(), root });
            }
        }
        Err(SpecError::new(path, format!("\"{word}\" is not a dimension declared in `dims`")))
    }

    fn object(&self, fields: &Map<String, Json>, path: &str) -> Result<Entry, SpecError> {
        let kinds = [("dim", DIM_FIELDS), ("derived", DERIVED_FIELDS), ("hint", HINT_FIELDS)];
        if let Some((_, known)) = kinds.into_iter().find(|(kind, _)| fields.contains_key(*kind)) {
            only(fields, known, path)?;
        }
        if let Some(name) = fields.get("dim") {
            let name = name.as_str().ok_or_else(|| SpecError::new(path, "`dim` must be a name"))?;
            return Ok(Entry::Dim(dim_spec(name, fields, path)?));
        }
        if let Some(expression) = fields.get("derived") {
            let expression = expression
                .as_str()
                .ok_or_else(|| SpecError::new(path, "`derived` must be the text of an expression"))?;
            let expression = expression.to_string();
            if let Some(roots) = fields.get("roots") {
                let place = format!("{path}.roots");
                let roots = roots.as_array().filter(|roots| roots.len() > 1 && !fields.contains_key("root"));
                let roots = roots.ok_or_else(|| {
                    SpecError::new(&place, "expected a list of several named dimensions, and no `root`")
                })?;
                let at = |(i, root): (usize, &Json)| root_spec(Some(root), &format!("{place}[{i}]"));
                let roots = roots.iter().enumerate().map(at).collect::<Result<_, _>>()?;
                return Ok(Entry::Sum { expression, roots });
            }
            let root = root_spec(fields.get("root"), &format!("{path}.root"))?;
            return Ok(Entry::Derived { expression, root });
        }
        if let Some(hint) = fields.get("hint") {
            let (min, max) = (bound(fields, "min", path)?, bound(fields, "max", path)?);
            if let (Some(min), Some(max)) = (&min, &max)
                && max < min
            {
                return Err(SpecError::new(path, format!("the range is empty: from {min} to {max}")));
            }
            return match hint.as_str().map(|h| h.strip_prefix("_DimHint.").unwrap_or(h)) {
                Some("AUTO") => Ok(Entry::Inferred { hint: Hint::Auto, min, max }),
                Some("DYNAMIC") => Ok(Entry::Inferred { hint: Hint::Dynamic, min, max }),
                Some("STATIC") => Ok(Entry::Static),
                _ => Err(SpecError::new(path, "`hint` must be \"AUTO\", \"DYNAMIC\" or \"STATIC\"")),
            };
        }
        let kinds = ["dim", "derived", "hint"];
        match fields.keys().find(|field| !["min", "max", "root"].contains(&field.as_str())) {
            Some(field) => Err(SpecError::new(path, keys::unknown(field, &kinds))),
            None => Err(SpecError::new(path, "expected an object with `dim`, `derived` or `hint`")),
        }
    }
}

/// The fields of a spec in the form that torch writes, and of a dimension that it declares; `derived` lists
/// what is computed of it.
const TORCH_FIELDS: &[&str] = &["dynamic_shapes", "dims"];
const DECLARED_FIELDS: &[&str] = &["min", "max", "derived"];

/// Whether a spec has the form that torch writes: a parameter may be called `dynamic_shapes`, but then its
/// entry is that of an input beside others.
fn is_torch_form(fields: &Map<String, Json>) -> bool {
    fields.contains_key("dynamic_shapes") && (fields.len() <= 2 || fields.contains_key("dims"))
}

/// The fields of a named dimension, a derived one and a hint.
const DIM_FIELDS: &[&str] = &["dim", "min", "max"];
const DERIVED_FIELDS: &[&str] = &["derived", "root", "roots"];
const HINT_FIELDS: &[&str] = &["hint", "min", "max"];

/// Refuses unknown fields.
fn only(fields: &Map<String, Json>, known: &[&str], path: &str) -> Result<(), SpecError> {
    match fields.keys().find(|field| !known.contains(&field.as_str())) {
        None => Ok(()),
        Some(field) => Err(SpecError::new(path, keys::unknown(field, known))),
    }
}

fn bound(fields: &Map<String, Json>, name: &str, path: &str) -> Result<Option<Int>, SpecError> {
    match fields.get(name) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::Number(n)) if n.to_string().parse::<Int>().is_ok() => Ok(n.to_string().parse().ok()),
        Some(other) => Err(SpecError::new(
            &format!("{path}.{name}"),
            format!("expected an integer or null, not {other}"),
        )),
    }
}

fn dim_spec(name: &str, fields: &Map<String, Json>, path: &str) -> Result<DimSpec, SpecError> {
    let mut letters = name.chars();
    let starts_well = letters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    if !starts_well || !letters.all(|c| c == '_' || c.is_alphanumeric()) {
        return Err(SpecError::new(path, format!("\"{name}\" is not an identifier")));
    }
    let min = bound(fields, "min", path)?.unwrap_or(Int::ZERO);
    let max = bound(fields, "max", path)?;
    if min.is_negative() {
        return Err(SpecError::new(&format!("{path}.min"), format!("a size is at least 0, not {min}")));
    }
    if max.as_ref().is_some_and(|max| *max < min) {
        let max = max.unwrap_or_default();
        return Err(SpecError::new(path, format!("the range of {name} is empty: from {min} to {max}")));
    }
    Ok(DimSpec { name: name.to_string(), min, max })
}

/// The named dimension from which others are computed.
fn root_spec(root: Option<&Json>, place: &str) -> Result<DimSpec, SpecError> {
    let Some(Json::Object(root)) = root else {
        return Err(SpecError::new(place, "expected the object of a named dimension"));
    };
    let name = root.get("dim").and_then(Json::as_str);
    let name = name.ok_or_else(|| SpecError::new(place, "expected `dim`, the root's name"))?;
    only(root, DIM_FIELDS, place)?;
    dim_spec(name, root, place)
}

/// The identifiers in an expression's text.
fn names_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn depth(json: &Json) -> usize {
    // serde_json bounds the nesting of what it reads, so this recursion is bounded too.
    match json {
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Json::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
