//! Calls of the main graph that a walk has seen before. Layers of a model repeat their nodes on equal values: what a call
//! made then is what it makes now, if nothing new is in the environment.
use super::{Step, Walk};
use crate::read::domain_of;
use crate::shape::{Attribute, Call, Elements, Value};
use rustc_hash::FxHasher;
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};

/// How many nodes are walked before calls are kept: shorter models repeat little.
const FIRST: usize = 32;
/// How many calls are kept, by their hash. A power of two.
const SLOTS: usize = 256;

/// The calls that are kept.
#[derive(Default)]
pub(super) struct Repeats<'m> {
    slots: Vec<Slot<'m>>,
}

#[derive(Default)]
struct Slot<'m> {
    /// The hash of the last call here.
    hash: u64,
    /// A call that came twice.
    kept: Option<Box<Kept<'m>>>,
}

/// A call, and what it made.
struct Kept<'m> {
    hash: u64,
    step: Step<'m>,
    version: i64,
    attributes: Vec<(String, Attribute)>,
    inputs: Vec<Option<Value>>,
    outputs: SmallVec<[bool; 4]>,
    known: Known,
    made: Vec<Value>,
}

/// How much a walk has learned and noted. Along the main graph the environment only grows, so equal numbers are an equal
/// state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    facts: usize,
    guards: usize,
    asserts: usize,
    symbols: usize,
    notes: [usize; 4],
}

impl Known {
    /// Whether the environment is the same. What was noted may be more.
    fn has_environment_of(self, other: Known) -> bool {
        Known { notes: other.notes, ..self } == other
    }
}

impl Kept<'_> {
    fn is(&self, call: &Call) -> bool {
        let same = |(kept, given): (&Option<Value>, &Option<&Value>)| kept.as_ref() == *given;
        let same_attribute = |((kept, value), (name, given)): (&(String, Attribute), &(&str, Attribute))| {
            kept == name && value == given
        };
        let Step(node) = self.step;
        (domain_of(node), node.op_type.as_str(), self.version) == (call.domain, call.op, call.version)
            && self.attributes.len() == call.attributes.len()
            && self.attributes.iter().zip(call.attributes).all(same_attribute)
            && self.outputs.as_slice() == call.outputs
            && self.inputs.len() == call.inputs.len()
            && self.inputs.iter().zip(call.inputs).all(same)
    }
}

/// The hash of a call on tensors; `None` for one that is not kept.
fn hash(call: &Call) -> Option<u64> {
    let mut hasher = FxHasher::default();
    (call.op, call.version, call.attributes.len()).hash(&mut hasher);
    for input in call.inputs {
        match input {
            None => hasher.write_u8(0),
            Some(Value::Tensor(tensor)) => {
                (tensor.dtype as u8, &tensor.shape).hash(&mut hasher);
                match &tensor.elements {
                    Some(Elements::List(list)) => {
                        list.len().hash(&mut hasher);
                        list.iter().filter_map(crate::shape::Element::int).for_each(|e| e.hash(&mut hasher));
                    }
                    Some(Elements::Fill(_)) => hasher.write_u8(1),
                    None => hasher.write_u8(2),
                }
            }
            Some(_) => return None,
        }
    }
    Some(hasher.finish())
}

impl<'m> Walk<'m> {
    /// What the walk knows and has noted.
    pub(super) fn known(&self) -> Known {
        Known {
            facts: self.env.known_facts().conditions().len(),
            guards: self.env.guards().len(),
            asserts: self.env.runtime_asserts().len(),
            symbols: self.env.pool.symbol_count(),
            notes: [self.failures.len(), self.unknown.len(), self.run_time.len(), self.integers.len()],
        }
    }

    /// The hash of a call whose repeats are looked for. Calls without inputs are quick, and those of what is not known say
    /// so each time.
    pub(super) fn repeatable(&self, call: &Call) -> Option<u64> {
        if self.steps.len() < FIRST || call.inputs.is_empty() { None } else { hash(call) }
    }

    /// What an equal call made, if it would make the same now.
    pub(super) fn made_before(&self, hash: u64, call: &Call) -> Option<Vec<Value>> {
        let kept = self.repeats.slots.get(hash as usize % SLOTS)?.kept.as_deref()?;
        let is_same = kept.hash == hash && kept.known.has_environment_of(self.known()) && kept.is(call);
        is_same.then(|| kept.made.clone())
    }

    /// Keeps what a call made that came for the second time, unless the walk learned or noted something. `before`: what
    /// it knew before the call.
    pub(super) fn keep_for_repeats(&mut self, hash: u64, call: &Call, before: Known, made: &[Value]) {
        if self.repeats.slots.is_empty() {
            self.repeats.slots.resize_with(SLOTS, Slot::default);
        }
        let (known, Some(&step)) = (self.known(), self.steps.last()) else { return };
        let slot = &mut self.repeats.slots[hash as usize % SLOTS];
        if std::mem::replace(&mut slot.hash, hash) != hash || known != before {
            return;
        }
        let inputs = call.inputs.iter().map(|value| value.cloned()).collect();
        slot.kept = Some(Box::new(Kept {
            hash,
            step,
            version: call.version,
            attributes: call
                .attributes
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            inputs,
            outputs: call.outputs.into(),
            known,
            made: made.to_vec(),
        }));
    }
}
