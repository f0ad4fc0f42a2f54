//! Calls of the main graph that a walk has seen before. Layers of a model repeat their nodes on equal values: what a call
//! made then is what it makes now, if nothing new is in the environment.
use super::Walk;
use crate::read::message::{AttributeProto, NodeProto};
use crate::shape::{Element, Elements, Value};
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

/// A call of a node outside functions, so that its attributes are its own.
pub(super) struct Asked<'m, 'a> {
    pub node: &'m NodeProto,
    /// The number of its operator.
    pub operator: usize,
    /// The version of its domain.
    pub version: i64,
    /// Its inputs; `None` where one is left out.
    pub inputs: &'a [Option<&'a Value>],
    /// For each output whether it is asked for.
    pub outputs: &'a [bool],
}

/// A call, and what it made.
struct Kept<'m> {
    hash: u64,
    node: &'m NodeProto,
    operator: usize,
    version: i64,
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
    fn is(&self, asked: &Asked) -> bool {
        let same = |(kept, given): (&Option<Value>, &Option<&Value>)| kept.as_ref() == *given;
        self.operator == asked.operator
            && self.version == asked.version
            && are_equal(&self.node.attribute, &asked.node.attribute)
            && self.outputs.as_slice() == asked.outputs
            && self.inputs.len() == asked.inputs.len()
            && self.inputs.iter().zip(asked.inputs).all(same)
    }
}

/// Whether attributes are equal. Most are numbers: their many empty fields are not compared, which would take longer than
/// all else of a call that repeats.
fn are_equal(some: &[AttributeProto], others: &[AttributeProto]) -> bool {
    // 1 is the kind of a float, 2 that of an integer.
    let is_number = |a: &AttributeProto| matches!(a.kind, 1 | 2) && a.ref_attr_name.is_empty();
    let same = |(a, b): (&AttributeProto, &AttributeProto)| {
        if a.kind == b.kind && is_number(a) && is_number(b) {
            return (a.i, a.f.to_bits()) == (b.i, b.f.to_bits()) && a.name == b.name;
        }
        a == b
    };
    some.len() == others.len() && some.iter().zip(others).all(same)
}

/// Tells 0 from -0, which are equal.
fn hash_element(element: &Element, hasher: &mut FxHasher) {
    match element {
        Element::Int(e) | Element::Bool(e) => e.hash(hasher),
        Element::Float(value) => value.to_bits().hash(hasher),
        Element::Quotient(e, divisor) => (e, divisor).hash(hasher),
        Element::Text(text) => text.hash(hasher),
        Element::Open => hasher.write_u8(3),
    }
}

/// The hash of a call on tensors; `None` for one that is not kept.
fn hash(asked: &Asked) -> Option<u64> {
    let mut hasher = FxHasher::default();
    (asked.operator, asked.version, asked.node.attribute.len()).hash(&mut hasher);
    for input in asked.inputs {
        match input {
            None => hasher.write_u8(0),
            Some(Value::Tensor(tensor)) => {
                (tensor.dtype as u8, &tensor.shape).hash(&mut hasher);
                match &tensor.elements {
                    Some(Elements::List(list)) => {
                        list.len().hash(&mut hasher);
                        list.iter().for_each(|element| hash_element(element, &mut hasher));
                    }
                    Some(Elements::Fill(element)) => hash_element(element, &mut hasher),
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
    pub(super) fn repeatable(&self, asked: &Asked) -> Option<u64> {
        let is_left_out = self.steps.len() < FIRST || asked.inputs.is_empty();
        if is_left_out { None } else { hash(asked) }
    }

    /// What an equal call made, if it would make the same now.
    pub(super) fn made_before(&self, hash: u64, asked: &Asked) -> Option<Vec<Value>> {
        let kept = self.repeats.slots.get(hash as usize % SLOTS)?.kept.as_deref()?;
        let is_same = kept.hash == hash && kept.known.has_environment_of(self.known()) && kept.is(asked);
        is_same.then(|| kept.made.clone())
    }

    /// Keeps what a call made that came for the second time, unless the walk learned or noted something. `before`: what
    /// it knew before the call.
    pub(super) fn keep_for_repeats(
        &mut self,
        hash: u64,
        asked: &Asked<'m, '_>,
        before: Known,
        made: &[Value],
    ) {
        if self.repeats.slots.is_empty() {
            self.repeats.slots.resize_with(SLOTS, Slot::default);
        }
        let known = self.known();
        let slot = &mut self.repeats.slots[hash as usize % SLOTS];
        if std::mem::replace(&mut slot.hash, hash) != hash || known != before {
            return;
        }
        let inputs = asked.inputs.iter().map(|value| value.cloned()).collect();
        slot.kept = Some(Box::new(Kept {
            hash,
            node: asked.node,
            operator: asked.operator,
            version: asked.version,
            inputs,
            outputs: asked.outputs.into(),
            known,
            made: made.to_vec(),
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::Asked;
    use crate::read::Model;
    use crate::read::message::NodeProto;
    use crate::shape::{Dtype, Element, Tensor};
    use crate::walk::Walk;
    use sizewise_env::ShapeEnv;

    #[test]
    fn calls_that_come_again_are_kept() {
        let pads: String =
            (0..super::FIRST).map(|at| format!("pad{at} = Constant<value_int = {at}>() ")).collect();
        let relus: String = (1..6).map(|at| format!("r{at} = Relu(x) s{at} = Add(r{at}, x) ")).collect();
        let text = format!(
            "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[N, 3] x) => (float[] s5) {{ {pads} {relus} }}"
        );
        let model = Model::read(text.into_bytes()).expect("a model");
        let mut env = ShapeEnv::new();
        let shape = vec![env.pool.symbol("N"), env.pool.int(3)];
        let mut walk = Walk::new(&model, env, false);
        walk.run(vec![("x".to_owned(), Tensor::new(Dtype::F32, shape).into())]);
        assert!(walk.repeats.slots.iter().any(|slot| slot.kept.is_some()), "nothing was kept");
    }

    #[test]
    fn zeros_of_either_sign_are_told_apart() {
        let hash_of = |number: f64| {
            let zero = Tensor::new(Dtype::F32, Vec::new()).filled(Element::Float(number)).into();
            let node = &NodeProto::default();
            super::hash(&Asked { node, operator: 0, version: 13, inputs: &[Some(&zero)], outputs: &[true] })
        };
        assert_ne!(hash_of(0.0), hash_of(-0.0));
        assert_eq!(hash_of(0.5), hash_of(0.5));
    }
}
