//! Writes programs as ONNX models.
//!
//! The program's graph is the model's graph, and each graph within is a function of the domain `local`, inner ones first (see
//! [`Functions`](super::Functions)). `cond`, `while_loop`, `scan` and `map` are ONNX's `If`, `Loop` and `Scan`, whose bodies call
//! the functions; operators that run one graph are calls of its function. Everything else keeps its name in the domain of its
//! namespace: `aten.add.Tensor` is `add.Tensor` of the domain `aten`.
//!
//! Values are tensors, numbers being tensors without dimensions. Arguments that are values are inputs of a node, and its attribute
//! `inputs` names the parameter of each (`size[1]` is an element of a list); arguments that are literals are attributes by the
//! parameter's name, doubles as tensors, as ONNX's own floats are narrower. In a list of which some elements are inputs, the attribute
//! has 0 in their places. Arguments that are `None`, and results that are `None`, are left out. Dimensions that are no numbers are
//! named by their expressions: `s0`, `2*s0 + 1`.
//!
//! No weights are written: parameters and buffers are inputs.

mod attribute;
mod control;
mod model;
pub mod proto;
#[cfg(test)]
mod tests;
mod types;

pub use model::{model, write};

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
