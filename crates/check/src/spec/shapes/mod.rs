//! Specs in the language of `torch.fx.experimental.dynamic_spec`: variables with ranges, a size computed from them in
//! each place, and conditions that are assumed of them.
//!
//! They are read from Python, from the JSON that torch writes (`to_jsonable()`), and from one that mirrors the inputs:
//!
//! ```text
//! {"vars": {"b": {"min": 2, "max": 128}}, "params": {"x": ["b", null, "2*b + 1"]}, "assumptions": ["b % 2 == 0"]}
//! ```
mod fold;
mod given;
mod node;
mod own;
mod text;
mod torch;
mod write;

pub(crate) use fold::bound;
pub use node::Node;
pub(super) use own::is_own;
pub use text::in_python;
pub(super) use torch::is_torch;
pub(crate) use write::declaration;
pub(super) use write::write;

use crate::spec::SpecError;
use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use serde_json::{Map, Value as Json, json};
use sizewise_expr::escape::is_python_keyword;
use sizewise_expr::text::read;
use sizewise_expr::{Int, Pool, Sort};

/// A variable of a spec.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Variable {
    /// What torch calls it, where that is not its name here.
    pub name: Option<String>,
    /// The least value, if said.
    pub min: Option<Int>,
    /// The greatest value, if there is one.
    pub max: Option<Int>,
    /// `optimization_hint`.
    pub hint: Option<Int>,
    /// Whether it is a `ShapeVar` (or an `IntVar`), if said.
    pub is_size: Option<bool>,
}

/// A ShapesSpec.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shapes {
    /// The variables, by names that expressions have for them.
    pub variables: IndexMap<String, Variable>,
    /// What it says of the parameters.
    pub params: Node,
    /// Conditions on the variables.
    pub assumptions: Vec<String>,
}

impl Shapes {
    /// The spec, if what it says can be read: expressions over its variables, and conditions.
    ///
    /// # Errors
    /// The first place where that is not so.
    pub(super) fn checked(self) -> Result<Shapes, SpecError> {
        let mut pool = Pool::new();
        self.params.each_expression("", &mut |text, path| self.check(&mut pool, text, path, false))?;
        for (i, text) in self.assumptions.iter().enumerate() {
            self.check(&mut pool, text, &format!("assumptions[{i}]"), true)?;
        }
        Ok(self)
    }

    fn check(&self, pool: &mut Pool, text: &str, path: &str, is_condition: bool) -> Result<(), SpecError> {
        let wrong = |message: String| Err(SpecError::new(path, message));
        let read = match read::closed(pool, text) {
            Ok(read) => read,
            Err(error) => return wrong(format!("in `{text}`: {error}")),
        };
        let known: FxHashSet<&str> = self.variables.keys().map(String::as_str).collect();
        for symbol in pool.free_symbols(&[read.expr]) {
            let name = pool.symbol_name(symbol);
            if !known.contains(name) {
                let names: Vec<&str> = self.variables.keys().take(20).map(String::as_str).collect();
                let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
                return wrong(format!(
                    "`{text}` uses `{name}`, which is no variable of the spec; it has {names}"
                ));
            }
        }
        match (is_condition, pool.sort(read.expr)) {
            (true, Sort::Bool) | (false, Sort::Int) => Ok(()),
            (true, _) => wrong(format!("expected SymBool, got `{text}`")),
            (false, _) => wrong(format!("expected LeafIntSpec, got `{text}`")),
        }
    }

    /// As JSON, which [`Spec::parse`](crate::spec::Spec::parse) reads.
    pub fn to_json(&self) -> Json {
        let number = |v: &Option<Int>| v.as_ref().map_or(Json::Null, int_json);
        let variables = self.variables.iter().map(|(key, variable)| {
            let mut fields = Map::new();
            fields.insert("min".to_owned(), number(&variable.min));
            fields.insert("max".to_owned(), number(&variable.max));
            if variable.hint.is_some() {
                fields.insert("optimization_hint".to_owned(), number(&variable.hint));
            }
            if let Some(name) = &variable.name {
                fields.insert("name".to_owned(), name.as_str().into());
            }
            (key.clone(), Json::Object(fields))
        });
        let variables: Map<String, Json> = variables.collect();
        json!({"vars": variables, "params": self.params.to_json(), "assumptions": self.assumptions})
    }

    /// The assumptions as torch takes them.
    pub(crate) fn assumptions_in_python(&self) -> Vec<String> {
        write::assumptions(self)
    }

    /// The spec as Python in few lines.
    pub(crate) fn to_compact_python(&self) -> String {
        write::compact(self)
    }

    /// The spec with more conditions.
    #[must_use]
    pub(crate) fn assuming(&self, more: &[String]) -> Shapes {
        let mut changed = self.clone();
        changed.assumptions.extend(more.iter().cloned());
        changed
    }
}

/// A number as JSON; one that 64 bits do not hold as text.
fn int_json(value: &Int) -> Json {
    value.to_i64().map_or_else(|| value.to_string().into(), Json::from)
}

/// A name like this one that is an identifier, is read as a symbol, and is not taken.
pub(super) fn identifier(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut name: String = wanted.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c == '_' || c.is_alphabetic()) {
        name.insert(0, 'v');
    }
    if is_python_keyword(&name) || !is_symbol(&name) {
        name.push('_');
    }
    if !is_symbol(&name) {
        name = "v".to_owned();
    }
    let mut free = name.clone();
    let mut number = 1;
    while taken(&free) {
        free = format!("{name}_{number}");
        number += 1;
    }
    free
}

/// Whether the reader of expressions takes a name for a symbol.
fn is_symbol(name: &str) -> bool {
    let mut pool = Pool::new();
    let symbol = read::closed(&mut pool, name).ok().and_then(|read| pool.as_symbol(read.expr));
    symbol.is_some_and(|symbol| pool.symbol_name(symbol) == name && pool.symbol_count() == 1)
}
