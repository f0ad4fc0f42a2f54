//! Why a program could not be read, and where.

use std::fmt;

/// The result of reading.
pub type ReadResult<T> = Result<T, ReadError>;

/// A program that could not be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}{message}")]
pub struct ReadError {
    /// What is wrong, for programs.
    pub kind: ReadErrorKind,
    /// Where it is wrong.
    pub place: Box<Place>,
    /// What is wrong and what was expected, for people. No full stop at the end.
    pub message: String,
}

/// What is wrong with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadErrorKind {
    /// There are no bytes.
    Empty,
    /// Neither a zip archive nor JSON text.
    NotAnArchive,
    /// A zip archive that breaks off or whose entries do not have the recorded checksum.
    DamagedArchive,
    /// More entries, more bytes or a higher compression ratio than the limits allow.
    LimitExceeded,
    /// Two entries have one name.
    DuplicateEntry,
    /// An entry's name is absolute or climbs out of the archive.
    UnsafeEntryName,
    /// A zip archive that is no `.pt2`.
    NotAProgram,
    /// A `.pt2` archive without a model.
    NoModel,
    /// Several models, none called `model`.
    SeveralModels,
    /// A schema or archive version that this reader does not know.
    Version,
    /// A dialect that this reader does not know, or that the caller did not ask for.
    Verifier,
    /// Text that is not JSON.
    Syntax,
    /// JSON of another shape than the export schema's.
    Schema,
    /// A union tag that the schema of this version does not have.
    UnknownTag,
    /// The graph is not well formed: a name is used before it is made, made twice or never.
    Graph,
    /// The signature does not fit the graph.
    Signature,
    /// A tree specification is malformed or does not fit the inputs.
    Pytree,
    /// An expression cannot be read.
    Expression,
}

/// Where reading failed, as precisely as known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The archive's entry.
    pub entry: Option<String>,
    /// The path in the JSON document: `graph_module.graph.nodes[3].target`.
    pub json_path: Option<String>,
    /// Line and column in the JSON document, from 1.
    pub line_column: Option<(usize, usize)>,
    /// The graph's node, by name.
    pub node: Option<String>,
}

impl fmt::Display for Place {
    /// `m/models/model.json: line 1 column 20: at graph.nodes[3]: node `add`: `, nothing when empty.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(entry) = &self.entry {
            write!(f, "{entry}: ")?;
        }
        if let Some((line, column)) = self.line_column {
            write!(f, "line {line} column {column}: ")?;
        }
        if let Some(path) = &self.json_path {
            write!(f, "at {path}: ")?;
        }
        if let Some(node) = &self.node {
            write!(f, "node `{node}`: ")?;
        }
        Ok(())
    }
}

impl ReadError {
    /// An error whose place is not known yet.
    pub fn new(kind: ReadErrorKind, message: impl Into<String>) -> ReadError {
        ReadError { kind, place: Box::default(), message: message.into() }
    }

    /// The same error, in this entry of the archive.
    #[must_use]
    pub fn in_entry(mut self, entry: &str) -> ReadError {
        self.place.entry.get_or_insert_with(|| entry.to_owned());
        self
    }

    /// The same error, below this path of the JSON document.
    #[must_use]
    pub fn under(mut self, prefix: impl FnOnce() -> String) -> ReadError {
        let path = match self.place.json_path.take() {
            Some(path) => format!("{}.{path}", prefix()),
            None => prefix(),
        };
        self.place.json_path = Some(path);
        self
    }

    /// The same error, at this node, unless it already has one (the innermost stays).
    #[must_use]
    pub fn at_node(mut self, node: &str) -> ReadError {
        self.place.node.get_or_insert_with(|| node.to_owned());
        self
    }
}
