//! Writes the graph module's `forward` as Python.

use super::Detail;
use super::checked::{TextReader, checked};
use super::readable::Class;
use crate::{Functions, Program};

/// Writes classes whose `forward` is the program's graph and the graphs within: text that Python parses.
pub fn write_python(program: &Program) -> String {
    let checked = checked(program, TextReader::Python);
    let program = &*checked.program;
    let mut text = String::from(
        "import math\nimport operator\n\nimport torch\nfrom torch import device, inf, nan\n\n\n",
    );
    text.push_str(&checked.comments(""));
    let class = Class { program, detail: Detail::Short, annotate: false, functions: None };
    class.write(&program.graph, "GraphModule", 0, true, &mut text);
    text
}

/// Writes the program's graphs as functions, inner ones first; what calls them names them.
pub fn write_functions(program: &Program) -> String {
    let checked = checked(program, TextReader::Text);
    let program = &*checked.program;
    let functions = Functions::new(program);
    let class = Class { program, detail: Detail::Short, annotate: true, functions: Some(&functions) };
    let mut text = checked.comments("");
    for function in functions.iter() {
        let scope = if function.scope.is_empty() { "the program" } else { &function.scope };
        let parameters = class.parameters(function.graph, function.scope.is_empty());
        let parameters = parameters.trim_start_matches(", ");
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(&format!("# {scope}\ndef {}({parameters}):\n", function.name));
        class.body(function.graph, 1, &mut text);
    }
    text
}
