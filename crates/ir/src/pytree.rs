//! Structures of containers, as torch's pytree module writes them.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use serde::Deserialize;

use super::error::{ReadError, ReadErrorKind, ReadResult};

/// The structure of nested containers.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSpec {
    /// What this node is.
    pub kind: TreeKind,
    /// Its elements, in order.
    pub children: Vec<TreeSpec>,
    /// Type, and context as JSON, as the program writes them, where they are not those that the kind alone would be
    /// written with: an ordered dictionary, a deque of a limited length.
    pub written: Option<Box<(Arc<str>, Arc<str>)>>,
}

/// What a node of a structure is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeKind {
    /// A value; Python's `None` is one.
    Leaf,
    /// A tuple.
    Tuple,
    /// A list.
    List,
    /// A deque.
    Deque,
    /// A dictionary of any type, with its keys in order.
    Dict(Vec<TreeKey>),
    /// A named tuple with its type and the names of its fields.
    NamedTuple {
        /// The qualified name of the type.
        class: Arc<str>,
        /// The fields; empty when the program does not record them.
        fields: Vec<Arc<str>>,
    },
    /// A registered dataclass with its type and the names of its fields that hold something.
    Dataclass {
        /// The name of the type by which it was registered.
        class: Arc<str>,
        /// The fields.
        fields: Vec<Arc<str>>,
    },
    /// A registered container of another type.
    Other {
        /// The qualified name of the type.
        class: Arc<str>,
        /// What the container's registration adds, JSON text mostly.
        context: Arc<str>,
    },
}

/// A key of a dictionary.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TreeKey {
    /// A string.
    Str(Arc<str>),
    /// An integer.
    Int(i64),
    /// Any other key, as the program's JSON writes it: `true`, `1.5`, `null`, `[1, "a"]`, an object for a member of
    /// an enumeration.
    Other(Arc<str>),
}

impl TreeKey {
    /// The name by which a spec may speak of the key: a string as it is, everything else as Python writes it.
    pub fn name(&self) -> String {
        match self {
            TreeKey::Str(name) => name.to_string(),
            other => other.to_string(),
        }
    }
}

/// A container among the arguments of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// The way to it, which begins with the parameter's name or its position.
    pub path: Vec<PathStep>,
    /// What it is.
    pub kind: TreeKind,
    /// The number of its elements.
    pub len: usize,
}

/// A step from a container to an element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// From the call to an argument, by the parameter's name.
    Parameter(Arc<str>),
    /// To an element of a list, tuple or the like.
    Index(usize),
    /// To an element of a dictionary.
    Key(TreeKey),
    /// To a field of a named tuple.
    Field(Arc<str>),
}

impl fmt::Display for PathStep {
    /// As Python writes it: `x`, `[0]`, `['k']`, `.field`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathStep::Parameter(name) => f.write_str(name),
            PathStep::Index(index) => write!(f, "[{index}]"),
            PathStep::Key(key) => write!(f, "[{key}]"),
            PathStep::Field(name) => write!(f, ".{name}"),
        }
    }
}

/// A part of a container of a class of its own, to which guards may go by another step than a path does: torch takes
/// the keys that the class was registered with, `['keys']` or `.keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// How many steps of the path follow the one to this part.
    pub steps_after: usize,
    /// The position among the container's parts.
    pub index: usize,
    /// Its name, where the program records it.
    pub name: Option<Arc<str>>,
}

/// The fields of named tuples, by the type's qualified name.
pub type NamedTupleFields = IndexMap<Arc<str>, Vec<Arc<str>>>;

impl TreeSpec {
    /// A single value.
    pub const LEAF: TreeSpec = TreeSpec { kind: TreeKind::Leaf, children: Vec::new(), written: None };

    /// Reads `[1, {"type": .., "context": .., "children_spec": [..]}]`, the form that programs hold.
    ///
    /// # Errors
    /// When the text is no such JSON, of another version than 1, nested more than some 60 levels deep, or when a
    /// dictionary has not as many keys as elements.
    pub fn parse(text: &str, named_tuples: &NamedTupleFields) -> ReadResult<TreeSpec> {
        let (version, root): (u64, RawSpec) = serde_json::from_str(text)
            .map_err(|error| pytree_error(format!("a tree specification cannot be read: {error}")))?;
        if version != 1 {
            return Err(pytree_error(format!(
                "a tree specification of version {version}; expected version 1"
            )));
        }
        build(root, named_tuples)
    }

    /// The form that programs hold: `[1, {"type": .., "context": .., "children_spec": [..]}]`.
    pub fn to_json(&self) -> String {
        let mut text = String::from("[1, ");
        self.push_json(&mut text);
        text.push(']');
        text
    }

    fn push_json(&self, text: &mut String) {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let (class, context) = match (&self.written, plain_form(&self.kind)) {
            (Some(written), _) => (quoted(&written.0), written.1.to_string()),
            (None, Some((class, context))) => (quoted(&class), quoted(&context)),
            (None, None) => ("null".to_owned(), "null".to_owned()),
        };
        text.push_str(&format!("{{\"type\": {class}, \"context\": {context}, \"children_spec\": ["));
        for (index, child) in self.children.iter().enumerate() {
            text.push_str(if index > 0 { ", " } else { "" });
            child.push_json(text);
        }
        text.push_str("]}");
    }

    /// Adds the fields of the named tuples in the structure.
    pub fn named_tuples(&self, fields: &mut NamedTupleFields) {
        if let TreeKind::NamedTuple { class, fields: names } = &self.kind
            && !names.is_empty()
        {
            fields.insert(Arc::clone(class), names.clone());
        }
        self.children.iter().for_each(|child| child.named_tuples(fields));
    }

    /// How many values the structure holds.
    pub fn leaf_count(&self) -> usize {
        match self.kind {
            TreeKind::Leaf => 1,
            _ => self.children.iter().map(TreeSpec::leaf_count).sum(),
        }
    }

    /// The step from this container to its element at `index`.
    pub fn step(&self, index: usize) -> PathStep {
        match &self.kind {
            TreeKind::Dict(keys) if index < keys.len() => PathStep::Key(keys[index].clone()),
            TreeKind::NamedTuple { fields, .. } | TreeKind::Dataclass { fields, .. }
                if index < fields.len() =>
            {
                PathStep::Field(Arc::clone(&fields[index]))
            }
            _ => PathStep::Index(index),
        }
    }

    /// The path to each value, in order, with the parts of containers of other classes on the way.
    pub fn leaves(&self) -> Vec<(Vec<PathStep>, Vec<Part>)> {
        let mut found = Vec::new();
        self.collect_leaves(&mut Vec::new(), &mut Vec::new(), &mut found);
        found
    }

    /// The names of the parts of a container of a class of its own, if it is one: none where they are not recorded.
    fn part_names(&self) -> Option<Vec<Arc<str>>> {
        match &self.kind {
            TreeKind::NamedTuple { fields, .. } | TreeKind::Dataclass { fields, .. } => Some(fields.clone()),
            TreeKind::Other { context, .. } => {
                let context = serde_json::from_str(context).unwrap_or_default();
                Some(names_in(&context, self.children.len()).unwrap_or_default())
            }
            _ => None,
        }
    }

    /// Adds each container with its path, where `path` leads to this structure.
    pub(super) fn containers(&self, path: &mut Vec<PathStep>, found: &mut Vec<Container>) {
        if self.kind != TreeKind::Leaf {
            found.push(Container { path: path.clone(), kind: self.kind.clone(), len: self.children.len() });
        }
        for (index, child) in self.children.iter().enumerate() {
            path.push(self.step(index));
            child.containers(path, found);
            path.pop();
        }
    }

    /// `parts` holds, of the steps of `path`, the number of those before, and the part that it leads to.
    fn collect_leaves(
        &self,
        path: &mut Vec<PathStep>,
        parts: &mut Vec<(usize, Part)>,
        found: &mut Vec<(Vec<PathStep>, Vec<Part>)>,
    ) {
        if self.kind == TreeKind::Leaf {
            let after =
                |(depth, part): &(usize, Part)| Part { steps_after: path.len() - depth - 1, ..part.clone() };
            found.push((path.clone(), parts.iter().map(after).collect()));
        }
        let names = self.part_names();
        for (index, child) in self.children.iter().enumerate() {
            if let Some(names) = &names {
                parts.push((path.len(), Part { steps_after: 0, index, name: names.get(index).cloned() }));
            }
            path.push(self.step(index));
            child.collect_leaves(path, parts, found);
            path.pop();
            if names.is_some() {
                parts.pop();
            }
        }
    }
}

/// The one list of `count` different names in what the registration of a class adds.
fn names_in(context: &serde_json::Value, count: usize) -> Option<Vec<Arc<str>>> {
    use serde_json::Value;
    let mut found: Vec<Vec<Arc<str>>> = Vec::new();
    let mut open = vec![context];
    while let Some(value) = open.pop() {
        let items: Vec<&Value> = match value {
            Value::Array(items) => items.iter().collect(),
            Value::Object(fields) => fields.values().collect(),
            _ => continue,
        };
        let names: Option<Vec<Arc<str>>> = items.iter().map(|item| item.as_str().map(Arc::from)).collect();
        match names.filter(|names| value.is_array() && names.len() == count) {
            Some(names) if names.iter().collect::<FxHashSet<_>>().len() == count => found.push(names),
            _ => open.extend(items),
        }
    }
    if found.len() == 1 { found.pop() } else { None }
}

/// Type and context of a kind in their usual form; `None` for a value.
fn plain_form(kind: &TreeKind) -> Option<(String, String)> {
    let (class, context): (&str, String) = match kind {
        TreeKind::Leaf => return None,
        TreeKind::Tuple => ("builtins.tuple", "null".to_owned()),
        TreeKind::List => ("builtins.list", "null".to_owned()),
        TreeKind::Deque => ("collections.deque", "null".to_owned()),
        TreeKind::Dict(keys) => {
            let key = |key: &TreeKey| match key {
                TreeKey::Str(text) => serde_json::Value::from(&**text).to_string(),
                TreeKey::Int(value) => value.to_string(),
                TreeKey::Other(text) => text.to_string(),
            };
            ("builtins.dict", format!("[{}]", keys.iter().map(key).collect::<Vec<_>>().join(", ")))
        }
        TreeKind::NamedTuple { class, .. } => {
            ("collections.namedtuple", serde_json::Value::from(&**class).to_string())
        }
        TreeKind::Dataclass { class, fields } => {
            let names: Vec<String> =
                fields.iter().map(|name| serde_json::Value::from(&**name).to_string()).collect();
            (class, format!("[[{}], []]", names.join(", ")))
        }
        TreeKind::Other { class, context } => (class, context.to_string()),
    };
    Some((class.to_owned(), context))
}

/// The JSON form; its nesting is bounded by the JSON reader.
#[derive(Deserialize)]
struct RawSpec {
    #[serde(rename = "type")]
    class: Option<String>,
    /// A text that holds JSON; of default dictionaries, and of what registers a conversion of its own, JSON itself.
    context: Option<serde_json::Value>,
    #[serde(rename = "children_spec")]
    children: Vec<RawSpec>,
}

fn pytree_error(message: String) -> ReadError {
    ReadError::new(ReadErrorKind::Pytree, message)
}

fn build(raw: RawSpec, named_tuples: &NamedTupleFields) -> ReadResult<TreeSpec> {
    let count = raw.children.len();
    let recorded = raw.context.unwrap_or(serde_json::Value::Null);
    let own_text = recorded.to_string();
    let context = recorded.as_str().unwrap_or(if recorded.is_null() { "null" } else { &own_text });
    let kind = match raw.class.as_deref() {
        None if count > 0 => return Err(pytree_error("a leaf of a tree specification has elements".into())),
        None => TreeKind::Leaf,
        Some("builtins.tuple") => TreeKind::Tuple,
        Some("builtins.list" | "torch.fx.immutable_collections.immutable_list") => TreeKind::List,
        Some("collections.deque") => TreeKind::Deque,
        Some(
            class @ ("builtins.dict"
            | "collections.OrderedDict"
            | "collections.defaultdict"
            | "torch.fx.immutable_collections.immutable_dict"),
        ) => TreeKind::Dict(dict_keys(class, context, count)?),
        Some("collections.namedtuple") => named_tuple(context, count, named_tuples)?,
        Some(class) => match dataclass_fields(context, count) {
            Some(fields) => TreeKind::Dataclass { class: class.into(), fields },
            None => TreeKind::Other { class: class.into(), context: context.into() },
        },
    };
    let children =
        raw.children.into_iter().map(|child| build(child, named_tuples)).collect::<ReadResult<_>>()?;
    let class = raw.class.as_deref().unwrap_or_default();
    let is_text = recorded.is_string() || recorded.is_null();
    let usual = plain_form(&kind).is_none_or(|(usual, text)| usual == class && text == context && is_text);
    let written = (!usual).then(|| Box::new((class.into(), own_text.into())));
    Ok(TreeSpec { kind, children, written })
}

/// The keys of a dictionary: a JSON list, which a default dictionary wraps in an object. The fields of a dataclass
/// that hold something, of which there are `count`; those that are `None` follow in a second list. `None` when the
/// context is another container's. Source: `torch.export.register_dataclass`.
fn dataclass_fields(context: &str, count: usize) -> Option<Vec<Arc<str>>> {
    let (fields, _): (Vec<String>, Vec<String>) = serde_json::from_str(context).ok()?;
    let is_identifier = |name: &String| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c == '_' || c.is_alphanumeric())
    };
    let fits = fields.len() == count && fields.iter().all(is_identifier);
    fits.then(|| fields.into_iter().map(Arc::from).collect())
}

fn dict_keys(class: &str, context: &str, count: usize) -> ReadResult<Vec<TreeKey>> {
    use serde_json::Value;
    let malformed = || {
        pytree_error(format!(
            "the keys of a {class} are not a list of {count}: {}",
            context.chars().take(80).collect::<String>()
        ))
    };
    let wrapped = serde_json::from_str::<Value>(context).ok().and_then(|mut value| {
        let keys = value.get_mut("dict_context")?.take();
        // Some write the list as a text within.
        Some(keys.as_str().map_or_else(|| keys.to_string(), str::to_owned))
    });
    let keys = list_items(wrapped.as_deref().unwrap_or(context)).ok_or_else(malformed)?;
    if keys.len() != count {
        return Err(malformed());
    }
    let key = |text: &str| match serde_json::from_str(text) {
        Ok(Value::String(text)) => TreeKey::Str(text.into()),
        Ok(Value::Number(number)) if number.as_i64().is_some() => {
            TreeKey::Int(number.as_i64().unwrap_or_default())
        }
        _ => TreeKey::Other(text.into()),
    };
    Ok(keys.into_iter().map(key).collect())
}

/// The texts of a JSON list's elements. They need not be JSON themselves: Python writes `Infinity` and `NaN`.
fn list_items(text: &str) -> Option<Vec<&str>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?;
    let mut items = Vec::new();
    let (mut start, mut depth, mut quoted, mut escaped) = (0, 0_usize, false, false);
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                items.push(inner[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !inner.trim().is_empty() {
        items.push(inner[start..].trim());
    }
    (depth == 0 && !quoted && items.iter().all(|item| !item.is_empty())).then_some(items)
}

/// A named tuple; its context is the type's name, as JSON text or plain.
fn named_tuple(context: &str, count: usize, named_tuples: &NamedTupleFields) -> ReadResult<TreeKind> {
    let class = serde_json::from_str::<String>(context).unwrap_or_else(|_| context.to_owned());
    let fields = named_tuples.get(class.as_str()).cloned().unwrap_or_default();
    if !fields.is_empty() && fields.len() != count {
        let message = format!("named tuple `{class}` has {count} elements but {} fields", fields.len());
        return Err(pytree_error(message));
    }
    Ok(TreeKind::NamedTuple { class: class.into(), fields })
}

#[cfg(test)]
#[path = "pytree_tests.rs"]
mod tests;
