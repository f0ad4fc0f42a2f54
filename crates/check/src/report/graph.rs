//! A program's graph as data for pages: nodes with the shapes of their results.
use serde::Serialize;
use serde_json::Value as Json;
use sizewise_ir::SourceLocation;
use std::ops::Range;

/// The graph.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GraphView {
    /// The user's inputs.
    pub inputs: Vec<ValueView>,
    /// The nodes in order; those of subgraphs follow the node that calls them.
    pub nodes: Vec<NodeView>,
    /// The names of the values that the user gets.
    pub outputs: Vec<String>,
    /// What the program holds: parameters, buffers and constants.
    #[serde(skip)]
    pub state: Vec<ValueView>,
    /// The graphs within nodes; those of a graph follow it.
    #[serde(skip)]
    pub inner: Vec<InnerGraph>,
}

/// A graph within a node.
#[derive(Clone, Debug)]
pub struct InnerGraph {
    /// Its name.
    pub name: String,
    /// The node that calls it, by its place in [`GraphView::nodes`].
    pub caller: usize,
    /// Its nodes, those of graphs within them included.
    pub nodes: Range<usize>,
    /// Its inputs.
    pub inputs: Vec<ValueView>,
    /// The names of what it gives.
    pub outputs: Vec<String>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeView {
    /// Its name.
    pub name: String,
    /// Its operator.
    pub op: String,
    /// The nesting depth of its graph; 0 for the program's own.
    pub depth: usize,
    /// The values that it uses.
    pub uses: Vec<String>,
    /// Its results.
    pub values: Vec<ValueView>,
    /// The user's line.
    pub location: Option<String>,
    /// The text of that line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// The module around it: `encoder.layers.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// Where that line is.
    #[serde(skip)]
    pub place: Option<CodeLine>,
}

/// A line of the user's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLine {
    /// The file, as the program records it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The function around it.
    pub function: String,
}

impl CodeLine {
    /// The place of a frame.
    pub fn of(frame: &SourceLocation<'_>) -> CodeLine {
        CodeLine { file: frame.file.to_owned(), line: frame.line, function: frame.function.to_owned() }
    }
}

/// A value.
#[derive(Clone, Debug, Serialize)]
pub struct ValueView {
    /// Its name.
    pub name: String,
    /// The dtype, or what kind of value it is.
    pub kind: String,
    /// The sizes of a tensor: integers, or expressions in the program's symbols.
    pub sizes: Option<Vec<Json>>,
    /// The value of an integer, in the program's symbols.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Json>,
}
