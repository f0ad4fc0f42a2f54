//! The values that nodes of a graph see, and what the nodes share.
use crate::read::message::{AttributeProto, NodeProto};
use crate::read::{Imports, Model, domain_of};
use crate::shape::Value;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// The values of a graph.
pub(super) enum WalkScope<'s> {
    /// Those of the main graph by number.
    Main(&'s Model, Vec<Option<Value>>),
    /// Those of a graph or a function by name, with those of the graphs around.
    Within(FxHashMap<&'s str, Value>, Option<&'s WalkScope<'s>>),
}

impl<'s> WalkScope<'s> {
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        match self {
            WalkScope::Main(model, values) => values.get(model.number(name)?)?.as_ref(),
            WalkScope::Within(values, outer) => {
                values.get(name).or_else(|| outer.and_then(|outer| outer.get(name)))
            }
        }
    }

    /// The inputs of a node of the graph; `at` is its position.
    pub(super) fn inputs(&self, at: usize, node: &NodeProto) -> SmallVec<[Option<&Value>; 4]> {
        match self {
            WalkScope::Main(model, values) => {
                let numbers = model.links.inputs(at, node.input.len());
                numbers.map(|number| values.get(number?)?.as_ref()).collect()
            }
            // A parameter of a function that the call leaves out is as if it were left out here.
            WalkScope::Within(..) => {
                node.input.iter().map(|name| if name.is_empty() { None } else { self.get(name) }).collect()
            }
        }
    }

    /// Domain and name of what a node of the graph calls; `at` is its position. Those of the main graph are read from a
    /// few places, so that they stay in the cache.
    pub(super) fn operator<'n>(&self, at: usize, node: &'n NodeProto) -> (&'n str, &'n str)
    where
        's: 'n,
    {
        match self {
            WalkScope::Main(model, _) => {
                let operator = &model.links.operators()[model.links.operator(at)];
                (&operator.domain, &operator.name)
            }
            WalkScope::Within(..) => (domain_of(node), &node.op_type),
        }
    }

    /// For each output of a node of the graph whether it is asked for; `at` is its position.
    pub(super) fn asked_outputs(&self, at: usize, node: &NodeProto) -> SmallVec<[bool; 4]> {
        match self {
            WalkScope::Main(model, _) if model.links.asks_for_all(at) => {
                SmallVec::from_elem(true, node.output.len())
            }
            _ => node.output.iter().map(|name| !name.is_empty()).collect(),
        }
    }

    /// Keeps the results of a node of the graph; `at` is its position.
    pub(super) fn keep(&mut self, at: usize, node: &'s NodeProto, results: impl Iterator<Item = Value>) {
        match self {
            WalkScope::Main(model, values) => {
                let slots = values.iter_mut().skip(model.links.outputs(at)).take(node.output.len());
                slots.zip(results).for_each(|(slot, value)| *slot = Some(value));
            }
            WalkScope::Within(values, _) => {
                let named = node.output.iter().zip(results).filter(|(name, _)| !name.is_empty());
                values.extend(named.map(|(name, value)| (name.as_str(), value)));
            }
        }
    }
}

/// What nodes of a list share.
#[derive(Clone)]
pub(super) struct Frame<'m> {
    pub imports: &'m Imports,
    /// The version of `ai.onnx` that is imported.
    pub core: Option<i64>,
    /// The attributes of the call, within a function.
    pub given: Vec<(&'m str, &'m AttributeProto)>,
    pub depth: usize,
}

impl<'m> Frame<'m> {
    /// An attribute of the call.
    pub(super) fn given(&self, name: &str) -> Option<&'m AttributeProto> {
        self.given.iter().find(|(given, _)| *given == name).map(|(_, message)| *message)
    }

    /// The frame of a graph within.
    pub(super) fn within(&self) -> Frame<'m> {
        Frame { depth: self.depth + 1, ..self.clone() }
    }
}
