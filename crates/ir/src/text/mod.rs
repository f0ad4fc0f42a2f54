//! Text forms of programs: the graph as FX prints it, and the whole program as `ExportedProgram` prints itself.
//!
//! Both are written and read. What torch prints leaves out much of what a program records; [`Detail::Full`] adds it
//! to the annotations (strides, devices, offsets, whether gradients are recorded) where it is not what a reader would
//! assume, and names every result of a call that has several. Then reading gives the program back, but for hints,
//! provenance, the call's structure, the versions and the names of arguments that operators without a schema take by
//! position. In the `graph():` form, which has no place for them, submodules follow as `graph true_graph_0():`.
mod annotation;
mod checked;
mod dot;
mod flow;
mod fx;
mod input_names;
mod lower;
mod names;
mod outline;
mod python;
mod raw;
mod read_fx;
mod read_readable;
mod readable;
mod scan;
mod sections;
mod show;

#[cfg(test)]
mod tests;

pub use dot::write_dot;
pub use fx::{node_lines, write_fx};
pub use python::{write_functions, write_python};
pub use readable::write_readable;

use super::error::{ReadError, ReadErrorKind, ReadResult};
use super::outline::Outline;
use super::program::Program;

/// How much is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Detail {
    /// What torch writes.
    #[default]
    Short,
    /// Everything that is recorded of values.
    Full,
}

/// The longest text that is read.
const MAX_BYTES: usize = 256 << 20;

/// Reads a program from either text form.
///
/// # Errors
/// When the text is neither, with line, column and a caret below the place; or when the graph is not well formed.
pub fn read(text: &str) -> ReadResult<Program> {
    lower::program(&parse(text)?, text)
}

/// Reads the outline of a text, for a verifier: it may be malformed in ways in which no [`Program`] is.
///
/// # Errors
/// When the text is in neither form.
pub fn outline(text: &str) -> ReadResult<Outline> {
    parse(text).map(|document| outline::outline(&document))
}

/// The signature and the range constraints of a program, as its readable form ends with them.
pub fn write_signature_and_ranges(program: &Program) -> String {
    sections::write(program)
}

/// An expression in the form that torch prints, whichever form it is recorded in; as it is where it cannot be read.
pub fn expression_text(text: &str) -> String {
    show::expr_text(text)
}

/// Whether a text begins as one of the forms does.
pub fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(0);
    ["ExportedProgram:", "class ", "graph"].iter().any(|head| bytes[start..].starts_with(head.as_bytes()))
}

fn parse(text: &str) -> ReadResult<raw::Document> {
    if text.len() > MAX_BYTES {
        let message = format!("{} bytes; at most {MAX_BYTES} are read", text.len());
        return Err(ReadError::new(ReadErrorKind::LimitExceeded, message));
    }
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let is_readable = first.starts_with("ExportedProgram:") || first.starts_with("class ");
    if is_readable { read_readable::read(text) } else { read_fx::read(text) }
}
