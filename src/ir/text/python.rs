//! Writes the graph module's `forward` as Python.

use super::Detail;
use super::readable::Class;
use crate::ir::Program;

/// Writes classes whose `forward` is the program's graph and the graphs within: text that Python parses.
pub fn write_python(program: &Program) -> String {
    let mut text = String::from(
        "import math\nimport operator\n\nimport torch\nfrom torch import device, inf, nan\n\n\n",
    );
    let class = Class { program, detail: Detail::Short, annotate: false };
    class.write(&program.graph, "GraphModule", 0, true, &mut text);
    text
}
