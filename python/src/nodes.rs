//! What is recorded of a node: where it comes from.
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sizewise::ir::{Graph, Node};

/// The node of a name, in the graph or in one nested in it.
pub fn find<'g>(graph: &'g Graph, name: &str) -> Option<&'g Node> {
    let own = graph.nodes().iter().find(|node| &*node.name == name);
    own.or_else(|| graph.subgraphs().find_map(|(_, inner)| find(inner, name)))
}

/// Where a node comes from: `file`, `line`, `source`, `stack` and `module`.
pub fn origin<'py>(py: Python<'py>, node: &Node) -> PyResult<Bound<'py, PyDict>> {
    let origin = PyDict::new(py);
    if let Some(place) = node.provenance.location() {
        origin.set_item("file", place.file)?;
        origin.set_item("line", place.line)?;
        origin.set_item("source", place.code)?;
    }
    if let Some(module) = node.provenance.modules().last().filter(|module| !module.path.is_empty()) {
        origin.set_item("module", module.path)?;
    }
    let frames = node.provenance.frames();
    let stack: Vec<(&str, u32, &str, &str)> =
        frames.map(|frame| (frame.file, frame.line, frame.function, frame.code)).collect();
    origin.set_item("stack", stack)?;
    Ok(origin)
}
