//! Writes programs as ONNX models that onnxruntime runs.
//!
//! The program's graph is the model's graph, and each graph within is a function of the domain `local`, inner ones
//! first (see [`Functions`](sizewise_ir::Functions)). `cond`, `while_loop`, `scan` and `map` are ONNX's `If`, `Loop`
//! and `Scan`, whose bodies call the functions; operators that run one graph are calls of its function. In autocast
//! regions operands are cast before the operators that autocast touches. Other operators are written by standard ones
//! where these say the same for all sizes; assertions, which the format cannot say, are left out, and so is what
//! nothing uses.
//!
//! What has no counterpart keeps its name in the domain of its namespace: `aten.bernoulli.p` is `bernoulli.p` of the
//! domain `aten`. Arguments of such a node that are values are inputs, and its attribute `input_names` names the
//! parameter of each (`size[1]` is an element of a list); arguments that are literals are attributes by the
//! parameter's name, doubles as tensors, as ONNX's own floats are narrower. In a list of which some elements are
//! inputs, the attribute has 0 in their places. Arguments that are `None`, and results that are `None`, are left out.
//!
//! Values are tensors, numbers being tensors without dimensions: integers of `int64`, floats of `float64`. Dimensions
//! that are no numbers are named by their expressions: `s0`, `2*s0 + 1`. Parameters, buffers and constants whose
//! values are given are initialisers, and inputs otherwise. The outputs are those of the graph: new values of buffers
//! come before the user's results. Nodes name their line, their modules and their operator in `metadata_props`.

mod attribute;
mod autocast;
mod body;
mod call;
mod control;
mod example;
mod items;
mod live;
mod metadata;
mod model;
mod nodes;
mod ops;
mod rename;
#[cfg(test)]
mod scatter_tests;
#[cfg(test)]
mod stated_tests;
#[cfg(test)]
mod tests;
mod types;
mod value;
mod weights;

pub use example::refused_at_example;
pub use model::{Options, Written, model, write};
pub use weights::INLINE_BYTES;

/// Why a program has no ONNX form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct OnnxError {
    /// The value or node that has none.
    pub place: String,
    /// Why. No full stop at the end.
    pub message: String,
}

impl OnnxError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> OnnxError {
        OnnxError { place: place.into(), message: message.into() }
    }
}
