//! A graph while it is made functional: what its values are in the new one, and the writes to its tensors.
use super::NAME;
use super::aliases::{Aliases, TensorId};
use super::emitter::{Emitter, Made, Pairs, Results};
use crate::error::PassError;
use crate::rewrite::{New, argument_with};
use rustc_hash::FxHashMap;
use sizewise_ir::{Argument, Graph, Input, Meta, Node, PassedAs, ValueId};

/// What a value of the old graph is.
#[derive(Clone, Copy)]
pub enum Slot {
    /// A tensor, which others may share memory with.
    Tensor(TensorId),
    /// A number or an object.
    Other(New),
}

/// The values of one old graph.
pub struct Frame<'g> {
    pub graph: &'g Graph,
    pub slots: Vec<Option<Slot>>,
    /// Whether values keep their names: the graph is not put into another.
    pub own_names: bool,
}

impl<'g> Frame<'g> {
    pub fn new(graph: &'g Graph, own_names: bool) -> Frame<'g> {
        Frame { graph, slots: vec![None; graph.value_count()], own_names }
    }

    pub fn set(&mut self, value: ValueId, slot: Slot) {
        if let Some(place) = self.slots.get_mut(value.index()) {
            *place = Some(slot);
        }
    }

    pub fn tensor(&self, value: ValueId) -> Option<TensorId> {
        match self.slots.get(value.index()).copied().flatten() {
            Some(Slot::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }
}

/// Makes a functional graph of another.
pub struct Functionalizer<'s, 'p> {
    pub emitter: Emitter<'s, 'p>,
    pub aliases: Aliases,
    /// The memories of the graph's inputs.
    pub inputs: Vec<Option<TensorId>>,
}

pub type Done = Result<(), PassError>;

/// An operator that is left, by name.
pub fn left(node: &Node, why: &str) -> PassError {
    PassError::left(NAME, [format!("{} ({why})", node.target)])
}

impl Functionalizer<'_, '_> {
    /// An argument in terms of the new graph, as its tensors are now.
    pub fn argument(&mut self, frame: &Frame<'_>, argument: &Argument) -> Result<Argument, PassError> {
        let mut ids = Vec::new();
        argument.for_each_value(&mut |id| ids.push(id));
        let mut now: FxHashMap<ValueId, New> = FxHashMap::default();
        for id in ids {
            match frame.slots.get(id.index()).copied().flatten() {
                Some(Slot::Tensor(tensor)) => {
                    now.insert(id, New::Value(self.aliases.value(tensor, &mut self.emitter)?));
                }
                Some(Slot::Other(new)) => {
                    now.insert(id, new);
                }
                None => {
                    let message = format!("`{}` is used before it is made", frame.graph.name(id));
                    return Err(PassError::failed(NAME, message));
                }
            }
        }
        Ok(argument_with(argument, &|id| now.get(&id).copied()))
    }

    pub fn arguments(&mut self, frame: &Frame<'_>, node: &Node) -> Result<Vec<Input>, PassError> {
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for input in &node.inputs {
            inputs.push(Input { arg: self.argument(frame, &input.arg)?, ..input.clone() });
        }
        Ok(inputs)
    }

    /// Gives old values their new ones, each tensor a memory of its own.
    pub fn define(&mut self, frame: &mut Frame<'_>, pairs: Pairs) {
        for (old, new) in pairs {
            let slot = match frame.graph.meta(old) {
                Meta::Tensor(_) => Slot::Tensor(self.aliases.own(new)),
                _ => Slot::Other(New::Value(new)),
            };
            frame.set(old, slot);
        }
    }

    /// Writes a tensor, in the tensor's own dtype.
    pub fn write(&mut self, tensor: TensorId, new: ValueId, node: &Node) -> Done {
        let old = self.aliases.value(tensor, &mut self.emitter)?;
        let (Meta::Tensor(before), Meta::Tensor(after)) = (self.emitter.meta(old), self.emitter.meta(new))
        else {
            return Err(left(node, "what it writes is no tensor"));
        };
        if before.sizes.len() != after.sizes.len() {
            return Err(left(node, "it changes the sizes of what it writes"));
        }
        let mut new = new;
        if before.dtype != after.dtype {
            let mut expected = after.clone();
            expected.dtype = before.dtype;
            let dtype = Argument::Dtype(before.dtype);
            let inputs = vec![
                Input { name: "self".into(), arg: Argument::Tensor(new), passed_as: PassedAs::Positional },
                Input { name: "dtype".into(), arg: dtype, passed_as: PassedAs::Keyword },
            ];
            let made = Made { base: "_to_copy".into(), expected: Meta::Tensor(expected) };
            let results = Results::Values(vec![made]);
            let ids = self.emitter.call("aten._to_copy.default", inputs, results, &node.provenance)?;
            new = ids.first().copied().unwrap_or(new);
        }
        self.aliases.write(tensor, new, &mut self.emitter)
    }
}
