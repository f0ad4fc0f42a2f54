//! Which sizes onnxruntime knows as numbers when it loads a model.
use super::loading::at_load;
use super::{Given, declared, load};
use crate::read::Model;
use crate::read::message::NodeProto;
use crate::shape::{Call, Value};

/// What is known of the sizes that a node is given.
pub(super) struct KnownSizes<'w> {
    pub model: &'w Model,
    pub node: &'w NodeProto,
    pub inputs: &'w [Option<&'w Value>],
    /// Whether the node is one of the main graph.
    pub is_main: bool,
    /// Whether sizes that are not known when the model loads are symbols.
    pub is_symbolic: bool,
    /// Whether the walk is the one that finds what is inferred when the model loads.
    pub is_loading: bool,
}

impl KnownSizes<'_> {
    /// Whether a size of an input is known; `None` where that is not sure.
    pub(super) fn has(&self, at: usize, dim: usize) -> Option<bool> {
        let value = self.inputs.get(at).copied().flatten()?;
        if load::is_sized(value) {
            return Some(true);
        }
        let size = *value.tensor()?.shape.as_ref()?.get(dim)?;
        if self.is_symbolic && size.as_inline().is_none() {
            return Some(false);
        }
        let name = self.node.input.get(at).filter(|_| self.is_main)?;
        if let Some(input) = self.model.graph.input.iter().find(|input| input.name == *name) {
            let stated = declared(&input.name, input.r#type.as_ref()).shape;
            return Some(stated.is_some_and(|sizes| matches!(sizes.get(dim), Some(Given::Size(_)))));
        }
        if self.is_symbolic || self.is_loading {
            return None;
        }
        // Whatever onnxruntime infers, a walk over symbols for the sizes of inputs finds as well.
        let row = at_load(self.model).values.get(self.model.number(name)?)?.as_ref()?;
        if row.get(dim)?.is_none() { Some(false) } else { None }
    }
}

/// Whether both of two sizes are known.
pub(super) fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// Whether it may be that a size of an input is known.
pub(super) fn may_be_known(call: &Call, at: usize, dim: usize) -> bool {
    (call.sizes_at_load)(at, dim) != Some(false)
}
