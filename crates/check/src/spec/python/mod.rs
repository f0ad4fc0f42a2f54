//! Specs in the form of Python: what `torch.export.export` takes as `dynamic_shapes`, with the dimensions that it
//! names.
//!
//! ```text
//! from torch.export import Dim
//!
//! batch = Dim("batch", min=2, max=64)
//! dynamic_shapes = {"x": (batch, Dim.AUTO), "y": {0: 2*batch + 1}, "mask": None}
//! ```
//!
//! or a `ShapesSpec(...)` of `torch.fx.experimental.dynamic_spec`.
//!
//! The text is parsed and never run: assignments, imports, and one literal. The literal is what is assigned to
//! `dynamic_shapes`, or else the expression that the text ends with. Statements that the literal does not need are
//! skipped, so that a script that exports a model can be given.
mod assemble;
mod calls;
mod dims;
mod expression;
mod formula;
mod read;
mod statements;
mod token;
mod variables;

#[cfg(test)]
mod tests;

pub(super) use read::{PythonSpec, read};

/// Whether a text that is not JSON is meant as Python: it has something that JSON never has outside of strings.
pub(super) fn looks_like_python(text: &str) -> bool {
    let first = text.trim_start();
    let starts = ["#", "'", "(", "from ", "import ", "None", "Dim", "torch"];
    starts.iter().any(|start| first.starts_with(start))
        || first.starts_with(|c: char| c == '_' || c.is_alphabetic()) && !first.starts_with("null")
        || ["None", "Dim(", "Dim.", "'", "(", "#", "*"].iter().any(|mark| text.contains(mark))
}
