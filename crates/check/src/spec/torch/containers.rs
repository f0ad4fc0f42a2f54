//! The containers of a program's inputs: torch.export takes a spec only if its containers are of the same types.
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use sizewise_expr::escape::is_python_keyword;
use sizewise_ir::{Container, PathStep, Program, TreeKey, TreeKind};
use std::sync::Arc;

/// The containers of a program's inputs, by the names that a spec has for the way to them.
#[derive(Clone, Debug, Default)]
pub struct Containers {
    kind: Kind,
    /// The names of its elements in a spec, and the number of elements without names.
    names: Vec<String>,
    len: usize,
    inner: FxHashMap<String, Containers>,
}

/// What a spec has to have in the place of a container.
#[derive(Clone, Debug, Default)]
pub(super) enum Kind {
    /// A list or a dictionary, as the spec has it.
    #[default]
    Plain,
    /// A tuple.
    Tuple,
    /// A list: of a registered class, a dataclass too, torch takes the parts in order. Here are their names, if they have any.
    Parts(Vec<Arc<str>>),
    /// A named tuple of the class `name`, of this module, with these fields.
    Named { module: String, name: String, fields: Vec<Arc<str>> },
}

impl Containers {
    /// The containers among a program's inputs; none where the program does not record how it is called.
    pub fn of(program: &Program) -> Containers {
        let mut root = Containers::default();
        for Container { path, kind, len } in program.containers().unwrap_or_default() {
            let end = path.iter().fold(&mut root, |at, step| at.inner.entry(step_name(step)).or_default());
            end.names = match &kind {
                TreeKind::Dict(keys) => keys.iter().map(TreeKey::name).collect(),
                _ => Vec::new(),
            };
            (end.kind, end.len) = (Kind::of(kind), len);
        }
        root
    }

    pub(super) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// A container in which nothing is dynamic: torch takes no `None` in the place of one. `None` for a value.
    pub(super) fn all_static(&self) -> Option<Json> {
        let item = |name: &str| self.below(name).and_then(Containers::all_static).unwrap_or(Json::Null);
        match (self.names.as_slice(), self.len) {
            ([], 0) => None,
            ([], len) => Some((0..len).map(|at| item(&at.to_string())).collect()),
            (names, _) => Some(Json::Object(names.iter().map(|name| (name.clone(), item(name))).collect())),
        }
    }

    /// Whether it has an entry with a key, or an element with a number.
    pub(in crate::spec) fn has(&self, key: &str) -> bool {
        self.names.iter().any(|name| name == key) || key.parse().is_ok_and(|at: usize| at < self.len)
    }

    /// What stands below a key, or the number of an element.
    pub(in crate::spec) fn below(&self, key: &str) -> Option<&Containers> {
        self.inner.get(key)
    }
}

impl Kind {
    fn of(kind: TreeKind) -> Kind {
        match kind {
            TreeKind::Tuple => Kind::Tuple,
            TreeKind::Dataclass { fields, .. } => Kind::Parts(fields),
            TreeKind::Other { .. } => Kind::Parts(Vec::new()),
            TreeKind::NamedTuple { class, fields } if !fields.is_empty() => match class.rsplit_once('.') {
                Some((module, name)) if is_python_name(name) && module.split('.').all(is_python_name) => {
                    Kind::Named { module: module.to_owned(), name: name.to_owned(), fields }
                }
                _ => Kind::Plain,
            },
            _ => Kind::Plain,
        }
    }
}

/// Whether Python takes a text as a name.
fn is_python_name(text: &str) -> bool {
    let is_word = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && text.chars().all(is_word)
        && !is_python_keyword(text)
}

/// The name that a spec has for a step: the number of an element, or a key.
fn step_name(step: &PathStep) -> String {
    match step {
        PathStep::Index(i) => i.to_string(),
        PathStep::Parameter(name) | PathStep::Field(name) => name.to_string(),
        PathStep::Key(key) => key.name(),
    }
}
