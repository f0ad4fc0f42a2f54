//! What a text says, before names are resolved.

use crate::Bounds;

/// A place: line and column, both from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Spot {
    pub line: usize,
    pub column: usize,
}

/// A whole text.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub graph: RawGraph,
    /// Whether strings may stand without quotes.
    pub fx: bool,
    pub has_signature: bool,
    pub inputs: Vec<InputLine>,
    pub outputs: Vec<OutputLine>,
    pub ranges: Vec<Range>,
}

/// `p_w: PARAMETER target='w'`.
#[derive(Debug)]
pub(super) struct InputLine {
    pub name: String,
    pub kind: String,
    pub target: Option<String>,
    pub persistent: bool,
    pub line: usize,
}

/// `add: BUFFER_MUTATION target='k'`.
#[derive(Debug)]
pub(super) struct OutputLine {
    pub name: String,
    pub kind: String,
    pub target: Option<String>,
    pub line: usize,
}

/// `u0: VR[0, 200]`.
#[derive(Debug)]
pub(super) struct Range {
    pub key: String,
    pub bounds: Bounds,
}

/// A graph.
#[derive(Debug, Default)]
pub(super) struct RawGraph {
    /// The submodule's name; empty for the whole.
    pub name: String,
    pub nodes: Vec<RawNode>,
    pub subgraphs: Vec<RawGraph>,
}

/// A line of a graph.
#[derive(Debug)]
pub(super) struct RawNode {
    pub name: String,
    pub spot: Spot,
    pub kind: RawKind,
    pub annotation: Option<String>,
}

/// What a line does.
#[derive(Debug)]
pub(super) enum RawKind {
    Placeholder,
    GetAttr(String),
    Call {
        target: String,
        args: Vec<Raw>,
        kwargs: Vec<(String, Raw)>,
    },
    /// What plain FX has and exported graphs have not: `call_method`, `call_module`.
    Foreign {
        op: String,
        target: String,
        args: Vec<Raw>,
        kwargs: Vec<(String, Raw)>,
    },
    Output(Raw),
}

/// A value as it is written.
#[derive(Debug, Clone)]
pub(super) struct Raw {
    pub kind: RawValue,
    /// The text, of which FX makes strings without quotes.
    pub text: String,
    pub spot: Spot,
}

/// The kinds of written values.
#[derive(Debug, Clone)]
pub(super) enum RawValue {
    /// `%x`, or a name in Python.
    Ref(String),
    Int(i64),
    Float(f64),
    Complex(f64, f64),
    Bool(bool),
    None,
    Str(String),
    /// A dotted name: `torch.float32`.
    Name(String),
    Device(String),
    List(Vec<Raw>),
    Tuple(Vec<Raw>),
    Dict(Vec<(String, Raw)>),
    /// Text that is no value: a string of FX, if it is anything.
    Bare,
}
